/* Target IDs and the choice of one code object out of a clang offload bundle. */
#include "code_object.h"
#include "tell.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/* Machine numbers of LLVM's AMDGPUUsage; features as the processor table there states them. */
static const struct emu_processor processors[] = {
    {"gfx900", 0x02c, true, false, false, "gfx9-generic"},
    {"gfx906", 0x02f, true, true, false, "gfx9-generic"},
    {"gfx908", 0x030, true, true, false, NULL},
    {"gfx90a", 0x03f, true, true, true, NULL},
    {"gfx942", 0x04c, true, true, true, "gfx9-4-generic"},
    {"gfx950", 0x04f, true, true, false, "gfx9-4-generic"},
    {"gfx1030", 0x036, false, false, false, "gfx10-3-generic"},
    {"gfx1100", 0x041, false, false, true, "gfx11-generic"},
    {"gfx1101", 0x046, false, false, true, "gfx11-generic"},
    {"gfx1102", 0x047, false, false, true, "gfx11-generic"},
    {"gfx1103", 0x044, false, false, true, "gfx11-generic"},
    {"gfx1150", 0x043, false, false, true, "gfx11-generic"},
    {"gfx1151", 0x04a, false, false, true, "gfx11-generic"},
    {"gfx1152", 0x055, false, false, true, "gfx11-generic"},
    {"gfx1153", 0x058, false, false, true, "gfx11-generic"},
    {"gfx1200", 0x048, false, false, false, "gfx12-generic"},
    {"gfx1201", 0x04e, false, false, false, "gfx12-generic"},
    {"gfx9-generic", 0x051, true, false, false, NULL},
    {"gfx9-4-generic", 0x05f, true, true, false, NULL},
    {"gfx10-3-generic", 0x053, false, false, false, NULL},
    {"gfx11-generic", 0x054, false, false, false, NULL},
    {"gfx12-generic", 0x059, false, false, false, NULL},
};

static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
static const char compressed_magic[] = "CCOB";
enum {
    BUNDLE_MAGIC = sizeof bundle_magic - 1,
    MAX_ENTRIES = 4096,
    MAX_ID = 1024,
};

const struct emu_processor *emu_processor_at(unsigned i)
{
    return i < sizeof processors / sizeof *processors ? &processors[i] : NULL;
}

const struct emu_processor *emu_processor_find(const char *name)
{
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++)
        if (strcmp(processors[i].name, name) == 0)
            return &processors[i];
    return NULL;
}

const struct emu_processor *emu_processor_mach(uint32_t mach)
{
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++)
        if (processors[i].mach == mach)
            return &processors[i];
    return NULL;
}

static bool parse_feature(const char *text, size_t n, bool has, const char *name,
                          enum emu_feature *out)
{
    size_t len = strlen(name);
    if (!has || n != len + 1 || memcmp(text, name, len) != 0 || *out != EMU_FEATURE_ANY ||
        (text[len] != '+' && text[len] != '-'))
        return false;
    *out = text[len] == '+' ? EMU_FEATURE_ON : EMU_FEATURE_OFF;
    return true;
}

bool emu_target_parse(const char *text, size_t n, struct emu_target *out, char *err, size_t errlen)
{
    int shown = n > 64 ? 64 : (int)n;
    const char *colon = memchr(text, ':', n);
    size_t name_len = colon ? (size_t)(colon - text) : n;
    memset(out, 0, sizeof *out);
    if (name_len == 0 || name_len >= sizeof out->processor)
        return fail(err, errlen, "target '%.*s': no processor name", shown, text);
    memcpy(out->processor, text, name_len);
    const struct emu_processor *p = emu_processor_find(out->processor);
    if (!p)
        return fail(err, errlen, "target '%.*s': unknown processor", shown, text);
    out->mach = p->mach;
    out->xnack = p->has_xnack ? EMU_FEATURE_ANY : EMU_FEATURE_NONE;
    out->sramecc = p->has_sramecc ? EMU_FEATURE_ANY : EMU_FEATURE_NONE;
    for (size_t at = name_len; at < n;) {
        const char *f = text + at + 1;
        const char *end = memchr(f, ':', n - at - 1);
        size_t len = end ? (size_t)(end - f) : n - at - 1;
        if (!parse_feature(f, len, p->has_xnack, "xnack", &out->xnack) &&
            !parse_feature(f, len, p->has_sramecc, "sramecc", &out->sramecc))
            return fail(err, errlen, "target '%.*s': feature '%.*s' does not belong to %s", shown,
                        text, len > 64 ? 64 : (int)len, f, p->name);
        at += 1 + len;
    }
    return true;
}

static const char *feature_text(enum emu_feature f, const char *on, const char *off)
{
    return f == EMU_FEATURE_ON ? on : f == EMU_FEATURE_OFF ? off : "";
}

void emu_target_print(const struct emu_target *t, char out[64])
{
    snprintf(out, 64, "%s%s%s", t->processor, feature_text(t->sramecc, ":sramecc+", ":sramecc-"),
             feature_text(t->xnack, ":xnack+", ":xnack-"));
}

static bool feature_fits(enum emu_feature code, enum emu_feature device)
{
    return (code != EMU_FEATURE_ON && code != EMU_FEATURE_OFF) || code == device;
}

bool emu_target_fits(const struct emu_target *code, const struct emu_target *device)
{
    if (strcmp(code->processor, device->processor) != 0) {
        const struct emu_processor *p = emu_processor_find(device->processor);
        if (!p || !p->generic || strcmp(p->generic, code->processor) != 0)
            return false;
    }
    return feature_fits(code->xnack, device->xnack) && feature_fits(code->sramecc, device->sramecc);
}

bool emu_bundle_is(const void *data, size_t size)
{
    return size >= BUNDLE_MAGIC && memcmp(data, bundle_magic, BUNDLE_MAGIC) == 0;
}

bool emu_bundle_entry(const void *data, size_t size, uint64_t i, struct emu_bundle_entry *out,
                      char *err, size_t errlen)
{
    const uint8_t *p = data;
    uint64_t count, at = BUNDLE_MAGIC + 8;
    if (err && errlen)
        *err = 0;
    if (size < at)
        return fail(err, errlen, "offload bundle: %zu bytes are too short", size);
    memcpy(&count, p + BUNDLE_MAGIC, 8);
    if (count > MAX_ENTRIES)
        return fail(err, errlen, "offload bundle: %llu entries", (unsigned long long)count);
    if (i >= count)
        return false;
    for (uint64_t e = 0; e <= i; e++) {
        uint64_t field[3]; /* offset, size, length of the ID */
        if (size - at < sizeof field)
            return fail(err, errlen, "offload bundle: entry %llu is cut off",
                        (unsigned long long)e);
        memcpy(field, p + at, sizeof field);
        at += sizeof field;
        if (field[2] > MAX_ID || field[2] > size - at)
            return fail(err, errlen, "offload bundle: the ID of entry %llu is cut off",
                        (unsigned long long)e);
        *out = (struct emu_bundle_entry){(const char *)p + at, field[2], field[0], field[1]};
        at += field[2];
    }
    if (out->offset > size || out->size > size - out->offset)
        return fail(err, errlen, "offload bundle: entry '%.*s' lies outside the bundle",
                    (int)out->id_len, out->id);
    return true;
}

/* The target part of "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+"; NULL for host and other entries.
 */
static const char *entry_target(const struct emu_bundle_entry *e, size_t *len)
{
    static const char *const kinds[] = {"hip-", "hipv4-", "hcc-"}; /* as comgr, see below */
    static const char triple[] = "amdgcn-amd-amdhsa-";
    size_t skip = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !skip; i++)
        if (e->id_len > strlen(kinds[i]) && memcmp(e->id, kinds[i], strlen(kinds[i])) == 0)
            skip = strlen(kinds[i]);
    if (!skip || e->id_len < skip + sizeof triple - 1 ||
        memcmp(e->id + skip, triple, sizeof triple - 1) != 0)
        return NULL;
    skip += sizeof triple - 1;
    /* The environment field of the triple is empty: "--". */
    if (skip < e->id_len && e->id[skip] == '-')
        skip++;
    *len = e->id_len - skip;
    return e->id + skip;
}

/*
 * End of an ELF whose size nobody told us: its headers' word, as ElfSize() of ROCr has it in
 * amd_elf_image.cpp; what the program headers speak of is added to the sections.
 */
static size_t elf_extent(const void *data)
{
    Elf64_Ehdr h;
    memcpy(&h, data, sizeof h);
    uint64_t end = sizeof h, sections = h.e_shoff + (uint64_t)h.e_shnum * h.e_shentsize;
    if (sections > end && h.e_shoff < 1ull << 40)
        end = sections;
    unsigned count = h.e_shentsize == sizeof(Elf64_Shdr) && end == sections ? h.e_shnum : 0;
    for (unsigned i = 0; i < count; i++) {
        Elf64_Shdr s;
        memcpy(&s, (const uint8_t *)data + h.e_shoff + i * sizeof s, sizeof s);
        if (s.sh_type != SHT_NOBITS && s.sh_offset < 1ull << 40 && s.sh_size < 1ull << 40 &&
            s.sh_offset + s.sh_size > end)
            end = s.sh_offset + s.sh_size;
    }
    if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > 1u << 20)
        return (size_t)end;
    for (unsigned i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, (const uint8_t *)data + h.e_phoff + i * sizeof p, sizeof p);
        if (p.p_offset < 1ull << 40 && p.p_filesz < 1ull << 40 && p.p_offset + p.p_filesz > end)
            end = p.p_offset + p.p_filesz;
    }
    return (size_t)end;
}

/*
 * comgr takes the first entry of kind hip, hipv4 or hcc that fits, passing over empty ones
 * (lookUpCodeObject() in comgr-metadata.cpp), HIP one for the generic processor only where there is
 * none for the device's own (FatBinaryInfo::ExtractFatBinaryUsingCOMGR() in hip_fatbin.cpp).
 */
static bool select_entry(const void *data, size_t size, const struct emu_target *device,
                         const void **elf, size_t *elf_size, char *err, size_t errlen)
{
    struct emu_bundle_entry e;
    char present[256] = "", wanted[64];
    bool found = false, own = false;
    uint64_t i;
    for (i = 0; emu_bundle_entry(data, size, i, &e, err, errlen); i++) {
        size_t len;
        const char *text = entry_target(&e, &len);
        struct emu_target t;
        if (!text)
            continue;
        size_t used = strlen(present);
        snprintf(present + used, sizeof present - used, " %.*s", (int)len, text);
        if (e.size == 0 || !emu_target_parse(text, len, &t, NULL, 0) ||
            !emu_target_fits(&t, device))
            continue;
        bool this_own = strcmp(t.processor, device->processor) == 0;
        if (found && (own || !this_own))
            continue;
        found = true;
        own = this_own;
        *elf = (const uint8_t *)data + e.offset;
        *elf_size = (size_t)e.size;
    }
    if (err && errlen && *err)
        return false;
    if (found)
        return true;
    emu_target_print(device, wanted);
    return fail(err, errlen, "offload bundle: nothing for %s; present:%s", wanted,
                *present ? present : " none");
}

bool emu_code_select(const void *data, size_t size, const struct emu_target *device,
                     const void **elf, size_t *elf_size, char *err, size_t errlen)
{
    char scratch[256];
    if (!err || !errlen)
        err = scratch, errlen = sizeof scratch;
    if (size >= 4 && memcmp(data, compressed_magic, 4) == 0)
        return fail(err, errlen,
                    "code object: a compressed offload bundle (CCOB); rebuild with "
                    "-no-offload-compress or unbundle it first");
    if (size >= 4 && memcmp(data, ELFMAG, SELFMAG) == 0) {
        *elf = data;
        *elf_size = size == SIZE_MAX ? elf_extent(data) : size;
    } else if (emu_bundle_is(data, size)) {
        if (!select_entry(data, size, device, elf, elf_size, err, errlen))
            return false;
    } else {
        return fail(err, errlen, "code object: neither an ELF nor an offload bundle");
    }
    return true;
}
