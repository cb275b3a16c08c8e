/*
 * Reads an AMDGPU ELF: header, segments, symbols, relocations, kernel descriptors.
 *
 * Symbols and relocations are taken from the sections that AMD's loader takes them from (ROCr of
 * ROCm 5.6 to 7.2, libamdhsacode/amd_elf_image.cpp, amd_hsa_code.cpp, loader/executable.cpp),
 * though the dynamic segment would say the same: an object that its rules cannot load must not load
 * here.
 */
#include "code_object.h"
#include "tell.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ELFOSABI_HSA = 64,
    MACHINE_AMDGPU = 224,
    NOTE_AMDGPU_METADATA = 32,
    KD_SIZE = 64,
    /* Plausibility limits: far above anything a compiler writes, low enough for malloc. */
    MAX_SEGMENTS = 256,
    MAX_SYMBOLS = 1 << 20,
    MAX_RELOCS = 1 << 20,
};

static bool inside(uint64_t off, uint64_t n, uint64_t size)
{
    return off <= size && n <= size - off;
}

bool emu_object_offset(const struct emu_object *o, uint64_t vaddr, uint64_t size, uint64_t *off)
{
    for (size_t i = 0; i < o->nsegments; i++) {
        const struct emu_segment *s = &o->segments[i];
        if (vaddr >= s->vaddr && inside(vaddr - s->vaddr, size, s->filesz)) {
            *off = s->offset + (vaddr - s->vaddr);
            return true;
        }
    }
    return false;
}

bool emu_object_read(const struct emu_object *o, uint64_t vaddr, void *out, size_t size)
{
    for (size_t i = 0; i < o->nsegments; i++) {
        const struct emu_segment *s = &o->segments[i];
        if (vaddr < s->vaddr || !inside(vaddr - s->vaddr, size, s->memsz))
            continue;
        uint64_t at = vaddr - s->vaddr;
        size_t have = at < s->filesz ? (size_t)(s->filesz - at) : 0;
        if (have > size)
            have = size;
        if (have)
            memcpy(out, o->image + s->offset + at, have);
        memset((uint8_t *)out + have, 0, size - have);
        return true;
    }
    return false;
}

/* ExecutableImpl::LoadCodeObject() passes over local symbols. */
static const struct emu_symbol *find_symbol(const struct emu_symbols *table, const char *name,
                                            unsigned type)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct emu_symbol *s = &table->symbol[i];
        if (s->defined && s->global && s->type == type && strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}

/*
 * The names of variables come from comgr, which looks into the dynamic table (comgr-symbol.cpp,
 * SymbolHelper::iterateTable), their addresses from ROCr and the other table.
 */
const struct emu_symbol *emu_object_variable(const struct emu_object *o, const char *name)
{
    return find_symbol(&o->dynamic, name, STT_OBJECT) ? find_symbol(&o->symbols, name, STT_OBJECT)
                                                      : NULL;
}

const struct emu_kernel_meta *emu_object_kernel(const struct emu_object *o, const char *name)
{
    for (size_t i = 0; i < o->nkernels; i++)
        if (strcmp(o->kernels[i].name, name) == 0)
            return find_symbol(&o->dynamic, name, STT_FUNC) ? &o->kernels[i] : NULL;
    return NULL;
}

static bool read_header(struct emu_object *o, Elf64_Ehdr *h, char *err, size_t errlen)
{
    if (o->size < sizeof *h)
        return fail(err, errlen, "code object: %zu bytes are too short for an ELF header", o->size);
    memcpy(h, o->image, sizeof *h);
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return fail(err, errlen, "code object: no ELF magic");
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
        return fail(err, errlen, "code object: not a little-endian ELF64");
    if (h->e_machine != MACHINE_AMDGPU)
        return fail(err, errlen, "code object: e_machine is %u, expected %d (AMDGPU)", h->e_machine,
                    MACHINE_AMDGPU);
    if (h->e_ident[EI_OSABI] != ELFOSABI_HSA)
        return fail(err, errlen, "code object: EI_OSABI is %u, expected %d (HSA)",
                    h->e_ident[EI_OSABI], ELFOSABI_HSA);
    o->abi_version = h->e_ident[EI_ABIVERSION];
    if (o->abi_version < 2 || o->abi_version > 4)
        return fail(err, errlen, "code object: ABI version %u is not v4, v5 or v6 (2, 3, 4)",
                    o->abi_version);
    if (h->e_type != ET_DYN)
        return fail(err, errlen, "code object: e_type is %u, expected a linked object (ET_DYN)",
                    h->e_type);
    if (h->e_phentsize != sizeof(Elf64_Phdr))
        return fail(err, errlen, "code object: e_phentsize is %u", h->e_phentsize);
    if (h->e_phnum == 0 || h->e_phnum > MAX_SEGMENTS ||
        !inside(h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr), o->size))
        return fail(err, errlen, "code object: program headers lie outside the file");
    if (h->e_shnum == 0 || h->e_shentsize != sizeof(Elf64_Shdr) ||
        !inside(h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr), o->size))
        return fail(err, errlen, "code object: section headers are missing or outside the file");
    return true;
}

static bool read_target(struct emu_object *o, uint32_t flags, char *err, size_t errlen)
{
    const struct emu_processor *p = emu_processor_mach(flags & 0xff);
    if (!p)
        return fail(err, errlen, "code object: unknown processor, EF_AMDGPU_MACH 0x%02x",
                    flags & 0xff);
    o->flags = flags;
    snprintf(o->target.processor, sizeof o->target.processor, "%s", p->name);
    o->target.mach = p->mach;
    o->target.xnack = (enum emu_feature)(flags >> 8 & 3);
    o->target.sramecc = (enum emu_feature)(flags >> 10 & 3);
    /* Isa::IsCompatible() in ROCr's isa.cpp: version 1 of each generic processor, or later; only
     * version 6 of code objects states it. */
    if (strstr(p->name, "-generic") && (o->abi_version < 4 || flags >> 24 == 0))
        return fail(err, errlen, "code object: code for %s states no version of it", p->name);
    return true;
}

static bool read_segments(struct emu_object *o, const Elf64_Ehdr *h, Elf64_Phdr *notes,
                          size_t *nnotes, char *err, size_t errlen)
{
    o->segments = calloc(h->e_phnum, sizeof *o->segments);
    if (!o->segments)
        return fail(err, errlen, "code object: out of memory");
    for (unsigned i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, o->image + h->e_phoff + i * sizeof p, sizeof p);
        if (p.p_type != PT_LOAD && p.p_type != PT_NOTE)
            continue;
        if (!inside(p.p_offset, p.p_filesz, o->size))
            return fail(err, errlen, "code object: segment %u lies outside the file", i);
        if (p.p_type == PT_NOTE)
            notes[(*nnotes)++] = p;
        if (p.p_type != PT_LOAD)
            continue;
        /* A 1 GiB object is no object; the limit keeps vaddr arithmetic far from wrapping. */
        if (p.p_memsz < p.p_filesz || p.p_memsz > 1u << 30 || p.p_vaddr > 1u << 30)
            return fail(err, errlen, "code object: segment %u has impossible sizes", i);
        struct emu_segment *s = &o->segments[o->nsegments++];
        *s = (struct emu_segment){p.p_vaddr, p.p_offset, p.p_filesz, p.p_memsz, p.p_flags};
        if (s->vaddr + s->memsz > o->span)
            o->span = s->vaddr + s->memsz;
    }
    if (o->nsegments == 0)
        return fail(err, errlen, "code object: no loadable segment");
    return true;
}

/* Section header i, whose contents lie in the file. */
static bool section_at(const struct emu_object *o, const Elf64_Ehdr *h, unsigned i, Elf64_Shdr *s,
                       char *err, size_t errlen)
{
    if (i >= h->e_shnum)
        return fail(err, errlen, "code object: there is no section %u", i);
    memcpy(s, o->image + h->e_shoff + i * sizeof *s, sizeof *s);
    if (s->sh_type != SHT_NOBITS && !inside(s->sh_offset, s->sh_size, o->size))
        return fail(err, errlen, "code object: section %u lies outside the file", i);
    return true;
}

static bool read_symbols(const struct emu_object *o, const Elf64_Ehdr *h, const Elf64_Shdr *table,
                         struct emu_symbols *out, char *err, size_t errlen)
{
    Elf64_Shdr names;
    uint64_t n = table->sh_size / sizeof(Elf64_Sym);
    if (!section_at(o, h, table->sh_link, &names, err, errlen))
        return false;
    if (names.sh_type != SHT_STRTAB || names.sh_size == 0 ||
        o->image[names.sh_offset + names.sh_size - 1] != 0 || n > MAX_SYMBOLS)
        return fail(err, errlen, "code object: a symbol table or its names are malformed");
    out->symbol = calloc(n ? n : 1, sizeof *out->symbol);
    if (!out->symbol)
        return fail(err, errlen, "code object: out of memory");
    for (uint64_t i = 0; i < n; i++) {
        Elf64_Sym s;
        memcpy(&s, o->image + table->sh_offset + i * sizeof s, sizeof s);
        if (s.st_name >= names.sh_size)
            return fail(err, errlen, "code object: symbol %" PRIu64 " has no name", i);
        out->symbol[out->count++] = (struct emu_symbol){
            .name = (const char *)o->image + names.sh_offset + s.st_name,
            .value = s.st_value,
            .size = s.st_size,
            .type = ELF64_ST_TYPE(s.st_info),
            .defined = s.st_shndx != SHN_UNDEF,
            .global = ELF64_ST_BIND(s.st_info) != STB_LOCAL,
        };
    }
    return true;
}

/* Those of a section without a target are left to the loader; the linker has applied the others. */
static bool read_relocs(struct emu_object *o, const Elf64_Shdr *table, char *err, size_t errlen)
{
    uint64_t n = table->sh_size / sizeof(Elf64_Rela);
    if (n > MAX_RELOCS - o->nrelocs)
        return fail(err, errlen, "code object: too many relocations");
    struct emu_reloc *more = reallocarray(o->relocs, o->nrelocs + n + 1, sizeof *more);
    if (!more)
        return fail(err, errlen, "code object: out of memory");
    o->relocs = more;
    for (uint64_t i = 0; i < n; i++) {
        Elf64_Rela r;
        memcpy(&r, o->image + table->sh_offset + i * sizeof r, sizeof r);
        uint64_t sym = ELF64_R_SYM(r.r_info);
        if (sym && sym >= o->dynamic.count)
            return fail(err, errlen, "code object: relocation %" PRIu64 " names symbol %" PRIu64, i,
                        sym);
        o->relocs[o->nrelocs++] = (struct emu_reloc){
            r.r_offset, r.r_addend, (uint32_t)ELF64_R_TYPE(r.r_info), (uint32_t)sym};
    }
    return true;
}

/*
 * The two symbol tables, of each kind the last as in GElfImage::pullElf(), and then the
 * relocations, which name symbols of the dynamic one. GElfImage::getSymbolTable() would take the
 * dynamic table for both if LOADER_USE_DYNSYM were set; who wants to run on ROCm as it comes cannot
 * rely on that.
 */
static bool read_sections(struct emu_object *o, const Elf64_Ehdr *h, char *err, size_t errlen)
{
    Elf64_Shdr s, symbols = {0}, dynamic = {0};
    unsigned dynamic_at = 0;
    for (unsigned i = 0; i < h->e_shnum; i++) {
        if (!section_at(o, h, i, &s, err, errlen))
            return false;
        if (s.sh_type == SHT_SYMTAB)
            symbols = s;
        if (s.sh_type == SHT_DYNSYM)
            dynamic = s, dynamic_at = i;
    }
    if (!symbols.sh_type)
        return fail(err, errlen,
                    "code object: no symbol table (section of type SHT_SYMTAB), where ROCm's "
                    "loader looks for kernels; was it stripped?");
    if (!read_symbols(o, h, &symbols, &o->symbols, err, errlen) ||
        (dynamic.sh_type && !read_symbols(o, h, &dynamic, &o->dynamic, err, errlen)))
        return false;
    for (unsigned i = 0; i < h->e_shnum; i++) {
        section_at(o, h, i, &s, err, errlen);
        if (s.sh_type != SHT_RELA || s.sh_info)
            continue;
        if (!dynamic.sh_type || s.sh_link != dynamic_at)
            return fail(err, errlen, "code object: relocations of other symbols than dynamic ones");
        if (!read_relocs(o, &s, err, errlen))
            return false;
    }
    return true;
}

static bool read_notes(struct emu_object *o, const Elf64_Phdr *notes, size_t nnotes, char *err,
                       size_t errlen)
{
    for (size_t i = 0; i < nnotes; i++) {
        const uint8_t *p = o->image + notes[i].p_offset;
        uint64_t n = notes[i].p_filesz, at = 0;
        while (n - at >= sizeof(Elf64_Nhdr)) {
            Elf64_Nhdr h;
            memcpy(&h, p + at, sizeof h);
            uint64_t name = at + sizeof h, desc = name + (((uint64_t)h.n_namesz + 3) & ~3ull);
            uint64_t end = desc + (((uint64_t)h.n_descsz + 3) & ~3ull);
            if (desc > n || h.n_descsz > n - desc)
                return fail(err, errlen, "code object: a note is longer than its segment");
            if (h.n_type == NOTE_AMDGPU_METADATA && h.n_namesz == 7 &&
                memcmp(p + name, "AMDGPU", 7) == 0)
                return emu_note_read(o, p + desc, h.n_descsz, err, errlen);
            if (end > n)
                break;
            at = end;
        }
    }
    return fail(err, errlen, "code object: no AMDGPU metadata note");
}

static bool read_descriptor(struct emu_object *o, struct emu_kernel_meta *k, char *err,
                            size_t errlen)
{
    const struct emu_symbol *s = find_symbol(&o->symbols, k->symbol, STT_OBJECT);
    uint8_t raw[KD_SIZE];
    if (!s)
        return fail(err, errlen, "code object: kernel %s: its symbol table (SHT_SYMTAB) lacks %s",
                    k->name, k->symbol);
    if (s->size != KD_SIZE || !emu_object_read(o, s->value, raw, sizeof raw))
        return fail(err, errlen, "code object: kernel %s: the descriptor is not 64 mapped bytes",
                    k->name);
    k->kd_addr = s->value;
    memcpy(&k->kd.group_segment, raw + 0, 4);
    memcpy(&k->kd.private_segment, raw + 4, 4);
    memcpy(&k->kd.kernarg_size, raw + 8, 4);
    memcpy(&k->kd.entry_offset, raw + 16, 8);
    memcpy(&k->kd.rsrc3, raw + 44, 4);
    memcpy(&k->kd.rsrc1, raw + 48, 4);
    memcpy(&k->kd.rsrc2, raw + 52, 4);
    memcpy(&k->kd.properties, raw + 56, 2);
    memcpy(&k->kd.kernarg_preload, raw + 58, 2);
    if (((k->kd.kernarg_preload & 127u) + (k->kd.kernarg_preload >> 7)) * 4 > k->kernarg_size ||
        (k->kd.kernarg_preload & 127) > 16)
        return fail(err, errlen,
                    "code object: kernel %s: %u dwords from %u of its arguments are preloaded; it "
                    "has %u bytes of them, and a wave 16 registers",
                    k->name, k->kd.kernarg_preload & 127u, k->kd.kernarg_preload >> 7,
                    k->kernarg_size);
    k->entry = k->kd_addr + (uint64_t)k->kd.entry_offset;
    bool mapped = false;
    for (size_t i = 0; i < o->nsegments && !mapped; i++)
        mapped = (o->segments[i].flags & PF_X) && k->entry >= o->segments[i].vaddr &&
                 inside(k->entry - o->segments[i].vaddr, 4, o->segments[i].filesz);
    if (!mapped || (k->entry & 3))
        return fail(err, errlen,
                    "code object: kernel %s: the entry point 0x%" PRIx64
                    " is not in an executable segment",
                    k->name, k->entry);
    for (size_t i = 0; i < o->symbols.count; i++)
        if (o->symbols.symbol[i].type == STT_FUNC && o->symbols.symbol[i].value == k->entry)
            k->code_size = o->symbols.symbol[i].size;
    return true;
}

static bool read_object(struct emu_object *o, char *err, size_t errlen)
{
    Elf64_Ehdr h;
    Elf64_Phdr notes[MAX_SEGMENTS];
    size_t nnotes = 0;
    if (!read_header(o, &h, err, errlen) || !read_target(o, h.e_flags, err, errlen) ||
        !read_segments(o, &h, notes, &nnotes, err, errlen) || !read_sections(o, &h, err, errlen) ||
        !read_notes(o, notes, nnotes, err, errlen))
        return false;
    for (size_t i = 0; i < o->nkernels; i++)
        if (!read_descriptor(o, &o->kernels[i], err, errlen))
            return false;
    o->lines = emu_line_open(o->image, o->size);
    return true;
}

struct emu_object *emu_object_open(const void *data, size_t size, char *err, size_t errlen)
{
    struct emu_object *o = calloc(1, sizeof *o);
    if (!o || !(o->image = malloc(size ? size : 1))) {
        free(o);
        tell(err, errlen, "code object: out of memory for %zu bytes", size);
        return NULL;
    }
    if (size)
        memcpy(o->image, data, size);
    o->size = size;
    if (!read_object(o, err, errlen)) {
        emu_object_close(o);
        return NULL;
    }
    return o;
}

void emu_object_close(struct emu_object *o)
{
    if (!o)
        return;
    emu_note_free(o);
    emu_line_close(o->lines);
    free(o->relocs);
    free(o->symbols.symbol);
    free(o->dynamic.symbol);
    free(o->segments);
    free(o->image);
    free(o);
}
