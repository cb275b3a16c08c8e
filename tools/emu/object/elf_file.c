/* Reads an AMDGPU ELF: header, segments, dynamic symbols, relocations, kernel descriptors. */
#include "emu_elf.h"

#include <elf.h>
#include <inttypes.h>
#include <stdarg.h>
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

static void tell(char *err, size_t errlen, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void tell(char *err, size_t errlen, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (err && errlen)
        vsnprintf(err, errlen, format, ap);
    va_end(ap);
}

/* What went wrong, as the result that says so. */
#define fail(...) (tell(__VA_ARGS__), false)

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

const struct emu_symbol *emu_object_symbol(const struct emu_object *o, const char *name)
{
    for (size_t i = 0; i < o->nsymbols; i++)
        if (o->symbols[i].defined && strcmp(o->symbols[i].name, name) == 0)
            return &o->symbols[i];
    return NULL;
}

const struct emu_kernel_meta *emu_object_kernel(const struct emu_object *o, const char *name)
{
    for (size_t i = 0; i < o->nkernels; i++)
        if (strcmp(o->kernels[i].name, name) == 0)
            return &o->kernels[i];
    /* The descriptor's own name, as some callers pass it. */
    for (size_t i = 0; i < o->nkernels; i++)
        if (strcmp(o->kernels[i].symbol, name) == 0)
            return &o->kernels[i];
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
    return true;
}

static bool read_segments(struct emu_object *o, const Elf64_Ehdr *h, Elf64_Phdr *dynamic,
                          Elf64_Phdr *notes, size_t *nnotes, char *err, size_t errlen)
{
    o->segments = calloc(h->e_phnum, sizeof *o->segments);
    if (!o->segments)
        return fail(err, errlen, "code object: out of memory");
    for (unsigned i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, o->image + h->e_phoff + i * sizeof p, sizeof p);
        if (p.p_type != PT_LOAD && p.p_type != PT_DYNAMIC && p.p_type != PT_NOTE)
            continue;
        if (!inside(p.p_offset, p.p_filesz, o->size))
            return fail(err, errlen, "code object: segment %u lies outside the file", i);
        if (p.p_type == PT_DYNAMIC)
            *dynamic = p;
        else if (p.p_type == PT_NOTE)
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

struct dynamic_info {
    uint64_t symtab, strtab, strsz, hash, gnu_hash, rela, relasz;
    bool has_symtab, has_strtab, has_hash, has_gnu_hash, has_rela;
};

static void read_dynamic(const struct emu_object *o, const Elf64_Phdr *dyn, struct dynamic_info *d)
{
    memset(d, 0, sizeof *d);
    for (uint64_t at = 0; dyn->p_filesz - at >= sizeof(Elf64_Dyn); at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn e;
        memcpy(&e, o->image + dyn->p_offset + at, sizeof e);
        switch (e.d_tag) {
        case DT_NULL:
            return;
        case DT_SYMTAB:
            d->symtab = e.d_un.d_ptr, d->has_symtab = true;
            break;
        case DT_STRTAB:
            d->strtab = e.d_un.d_ptr, d->has_strtab = true;
            break;
        case DT_STRSZ:
            d->strsz = e.d_un.d_val;
            break;
        case DT_HASH:
            d->hash = e.d_un.d_ptr, d->has_hash = true;
            break;
        case DT_GNU_HASH:
            d->gnu_hash = e.d_un.d_ptr, d->has_gnu_hash = true;
            break;
        case DT_RELA:
            d->rela = e.d_un.d_ptr, d->has_rela = true;
            break;
        case DT_RELASZ:
            d->relasz = e.d_un.d_val;
            break;
        default:
            break;
        }
    }
}

static bool read_u32(const struct emu_object *o, uint64_t vaddr, uint32_t *out)
{
    uint64_t off;
    if (!emu_object_offset(o, vaddr, 4, &off))
        return false;
    memcpy(out, o->image + off, 4);
    return true;
}

/* Number of symbols from the hash tables: the dynamic table itself does not state its length. */
static bool count_symbols(const struct emu_object *o, const struct dynamic_info *d, uint64_t *count)
{
    uint32_t n;
    if (d->has_hash) {
        if (!read_u32(o, d->hash + 4, &n))
            return false;
        *count = n;
        return true;
    }
    uint32_t nbuckets, base, bloom;
    if (!d->has_gnu_hash || !read_u32(o, d->gnu_hash, &nbuckets) ||
        !read_u32(o, d->gnu_hash + 4, &base) || !read_u32(o, d->gnu_hash + 8, &bloom) ||
        nbuckets > MAX_SYMBOLS || bloom > MAX_SYMBOLS || base > MAX_SYMBOLS)
        return false;
    uint64_t buckets = d->gnu_hash + 16 + 8ull * bloom, chains = buckets + 4ull * nbuckets;
    uint32_t last = 0;
    for (uint32_t i = 0; i < nbuckets; i++) {
        if (!read_u32(o, buckets + 4ull * i, &n))
            return false;
        last = n > last ? n : last;
    }
    if (last < base) {
        *count = base;
        return true;
    }
    do {
        if (!read_u32(o, chains + 4ull * (last - base), &n) || last == MAX_SYMBOLS)
            return false;
        last++;
    } while (!(n & 1));
    *count = last;
    return true;
}

static bool read_symbols(struct emu_object *o, const struct dynamic_info *d, char *err,
                         size_t errlen)
{
    uint64_t n, symoff, stroff;
    if (!d->has_symtab || !d->has_strtab)
        return fail(err, errlen, "code object: no dynamic symbol table");
    if (!count_symbols(o, d, &n) || n > MAX_SYMBOLS)
        return fail(err, errlen, "code object: the symbol hash table is malformed");
    if (!emu_object_offset(o, d->symtab, n * sizeof(Elf64_Sym), &symoff))
        return fail(err, errlen, "code object: the dynamic symbol table lies outside the file");
    if (!emu_object_offset(o, d->strtab, d->strsz, &stroff) || d->strsz == 0 ||
        o->image[stroff + d->strsz - 1] != 0)
        return fail(err, errlen, "code object: the dynamic string table is malformed");
    o->symbols = calloc(n ? n : 1, sizeof *o->symbols);
    if (!o->symbols)
        return fail(err, errlen, "code object: out of memory");
    for (uint64_t i = 0; i < n; i++) {
        Elf64_Sym s;
        memcpy(&s, o->image + symoff + i * sizeof s, sizeof s);
        if (s.st_name >= d->strsz)
            return fail(err, errlen, "code object: symbol %" PRIu64 " has no name", i);
        o->symbols[o->nsymbols++] = (struct emu_symbol){
            .name = (const char *)o->image + stroff + s.st_name,
            .value = s.st_value,
            .size = s.st_size,
            .type = ELF64_ST_TYPE(s.st_info),
            .defined = s.st_shndx != SHN_UNDEF,
        };
    }
    return true;
}

static bool read_relocs(struct emu_object *o, const struct dynamic_info *d, char *err,
                        size_t errlen)
{
    if (!d->has_rela || d->relasz == 0)
        return true;
    uint64_t off, n = d->relasz / sizeof(Elf64_Rela);
    if (n > MAX_RELOCS || !emu_object_offset(o, d->rela, d->relasz, &off))
        return fail(err, errlen, "code object: the relocation table lies outside the file");
    o->relocs = calloc(n, sizeof *o->relocs);
    if (!o->relocs)
        return fail(err, errlen, "code object: out of memory");
    for (uint64_t i = 0; i < n; i++) {
        Elf64_Rela r;
        memcpy(&r, o->image + off + i * sizeof r, sizeof r);
        uint64_t sym = ELF64_R_SYM(r.r_info);
        if (sym >= o->nsymbols)
            return fail(err, errlen, "code object: relocation %" PRIu64 " names symbol %" PRIu64, i,
                        sym);
        o->relocs[o->nrelocs++] = (struct emu_reloc){
            r.r_offset, r.r_addend, (uint32_t)ELF64_R_TYPE(r.r_info), (uint32_t)sym};
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
    const struct emu_symbol *s = emu_object_symbol(o, k->symbol);
    uint8_t raw[KD_SIZE];
    if (!s)
        return fail(err, errlen, "code object: kernel %s: no symbol %s", k->name, k->symbol);
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
    for (size_t i = 0; i < o->nsymbols; i++)
        if (o->symbols[i].type == STT_FUNC && o->symbols[i].value == k->entry)
            k->code_size = o->symbols[i].size;
    return true;
}

static bool read_object(struct emu_object *o, char *err, size_t errlen)
{
    Elf64_Ehdr h;
    Elf64_Phdr dynamic = {0}, notes[MAX_SEGMENTS];
    size_t nnotes = 0;
    struct dynamic_info d;
    if (!read_header(o, &h, err, errlen) || !read_target(o, h.e_flags, err, errlen) ||
        !read_segments(o, &h, &dynamic, notes, &nnotes, err, errlen))
        return false;
    if (dynamic.p_type != PT_DYNAMIC)
        return fail(err, errlen, "code object: no dynamic segment");
    read_dynamic(o, &dynamic, &d);
    if (!read_symbols(o, &d, err, errlen) || !read_relocs(o, &d, err, errlen) ||
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
    free(o->symbols);
    free(o->segments);
    free(o->image);
    free(o);
}
