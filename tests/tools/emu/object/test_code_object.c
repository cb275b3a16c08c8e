/*
 * Code objects: what the reader says of real ones, and that no damage to one makes it crash: cut
 * off at every length, every byte of the headers and tables changed. Run under sanitizers.
 */
#include "code_object.h"
#include "tap.h"

#include <elf.h>

static uint8_t *data;
static size_t size;

static void read_whole(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        printf("Bail out! cannot open %s\n", path);
        exit(1);
    }
    data = malloc(1 << 20);
    size = fread(data, 1, 1 << 20, f);
    fclose(f);
}

static void facts(const char *target)
{
    char err[256] = "", printed[64];
    const char *file = "";
    unsigned line = 0;
    struct emu_object *o = emu_object_open(data, size, err, sizeof err);
    if (!ok(o != NULL, "%s opens: %s", target, err))
        return;
    emu_target_print(&o->target, printed);
    is_str(printed, target, "target");
    const struct emu_kernel_meta *k = emu_object_kernel(o, "add");
    ok(k && k->nargs == 4, "kernel add has four arguments");
    ok(k && k->args[3].offset == 24 && k->args[3].size == 4, "the last at 24, of 4 bytes");
    ok(k && strcmp(k->args[0].kind, "global_buffer") == 0, "the first is a buffer");
    is_int(k ? k->kernarg_size : 0, 28, "kernarg size");
    is_int(k ? k->wavefront_size : 0, strncmp(target, "gfx11", 5) == 0 ? 32 : 64, "wave size");
    ok(k && k->code_size > 0 && k->entry % 4 == 0, "the entry point");
    ok(!emu_object_kernel(o, "add.kd"), "not found by its descriptor's name, as in HIP");
    ok(!emu_object_kernel(o, "ad"), "no kernel of another name");
    const struct emu_symbol *s = emu_object_variable(o, "scale_by");
    int value = 0;
    ok(s && s->size == 4 && emu_object_read(o, s->value, &value, 4) && value == 3, "a global");
    ok(!emu_object_variable(o, "add") && !emu_object_variable(o, "add.kd."),
       "a kernel is no variable");
    ok(!emu_object_read(o, o->span, &value, 4), "nothing past the last segment");
    ok(o->lines && k && emu_line_find(o->lines, k->entry, &file, &line), "a line table");
    contains(file, "emu_kernels.hip", "names the file");
    ok(line > 10 && line < 60, "and the line: %u", line);
    emu_object_close(o);
}

/* Opens what it is given and reads everything an owner would read. */
static bool survive(const uint8_t *p, size_t n)
{
    char err[256] = "";
    const char *file;
    unsigned line, total = 0;
    struct emu_object *o = emu_object_open(p, n, err, sizeof err);
    if (!o)
        return *err != 0;
    for (size_t i = 0; i < o->nkernels; i++) {
        total += o->kernels[i].kd.rsrc1 + (unsigned)strlen(o->kernels[i].name);
        if (o->lines && emu_line_find(o->lines, o->kernels[i].entry, &file, &line))
            total += (unsigned)strlen(file);
    }
    for (size_t i = 0; i < o->symbols.count; i++)
        total += (unsigned)strlen(o->symbols.symbol[i].name);
    for (size_t i = 0; i < o->dynamic.count; i++)
        total += (unsigned)strlen(o->dynamic.symbol[i].name);
    emu_object_close(o);
    return total + 1 > 0;
}

static void damage(const char *target)
{
    unsigned silent = 0, cut = 0;
    uint64_t seed = 99;
    for (size_t n = 0; n < size; n += n < 2048 ? 1 : 61) {
        uint8_t *exact = malloc(n ? n : 1); /* its own allocation: an overrun is seen */
        memcpy(exact, data, n);
        silent += !survive(exact, n);
        free(exact);
        cut++;
    }
    is_int(silent, 0, "every truncation has a text or opens");
    tap_diag("%s: %u lengths", target, cut);
    silent = 0;
    for (unsigned i = 0; i < 6000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        /* headers, dynamic tables and notes at the front; symbols and section headers at the end;
         * then anywhere, line tables included */
        size_t at = (seed >> 33) % (i < 5000 && size > 4096 ? 4096 : size);
        if (i >= 3000 && i < 5000)
            at = size - 1 - at;
        uint8_t old = data[at];
        data[at] = i & 1 ? (uint8_t)(old ^ 1u << (seed >> 20 & 7)) : (uint8_t)(seed >> 24);
        silent += !survive(data, size);
        data[at] = old;
    }
    is_int(silent, 0, "every changed byte has a text or opens");
}

/* The i-th section header, where the file is writable. */
static Elf64_Shdr *section(uint8_t *image, Elf64_Word type)
{
    Elf64_Ehdr *h = (Elf64_Ehdr *)image;
    Elf64_Shdr *s = (Elf64_Shdr *)(image + h->e_shoff);
    for (unsigned i = 0; i < h->e_shnum; i++)
        if (s[i].sh_type == type)
            return &s[i];
    abort();
}

static struct emu_object *open_copy(const uint8_t *image, char err[256])
{
    err[0] = 0;
    return emu_object_open(image, size, err, 256);
}

/*
 * AMD's loader finds descriptors and variables in SHT_SYMTAB, and comgr the names that may be asked
 * for in SHT_DYNSYM: a kernel that one of them lacks must not be found here either.
 */
static void tables(void)
{
    char err[256];
    uint8_t *copy = malloc(size);
    memcpy(copy, data, size);
    Elf64_Shdr *symbols = section(copy, SHT_SYMTAB), *dynamic = section(copy, SHT_DYNSYM);
    const char *names =
        (char *)copy +
        ((Elf64_Shdr *)(copy + ((Elf64_Ehdr *)copy)->e_shoff))[symbols->sh_link].sh_offset;

    symbols->sh_type = SHT_PROGBITS;
    ok(!open_copy(copy, err), "an object without a symbol table is refused");
    contains(err, "SHT_SYMTAB", "the text names what ROCm looks for");
    symbols->sh_type = SHT_SYMTAB;

    Elf64_Sym *s = (Elf64_Sym *)(copy + symbols->sh_offset);
    while (strcmp(names + s->st_name, "add.kd"))
        s++;
    unsigned char info = s->st_info;
    s->st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
    ok(!open_copy(copy, err), "a local descriptor is passed over");
    contains(err, "lacks add.kd", "and named");
    s->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    ok(!open_copy(copy, err), "so is one that is no object");
    s->st_info = info;

    dynamic->sh_type = SHT_PROGBITS;
    struct emu_object *o = open_copy(copy, err);
    ok(!o, "relocations of a dynamic table that is not there");
    section(copy, SHT_RELA)->sh_type = SHT_PROGBITS;
    o = open_copy(copy, err);
    ok(o && !emu_object_kernel(o, "add") && !emu_object_variable(o, "scale_by"),
       "without a dynamic table nothing can be asked for: %s", err);
    emu_object_close(o);
    memcpy(copy, data, size);

    ((Elf64_Ehdr *)copy)->e_flags = 0x054; /* gfx11-generic */
    ok(!open_copy(copy, err), "code for a generic processor, in version 5 of code objects");
    contains(err, "states no version", "is refused for its missing version");
    copy[EI_ABIVERSION] = 4;
    ((Elf64_Ehdr *)copy)->e_flags = 0x01000054;
    o = open_copy(copy, err);
    ok(o != NULL, "version 1 in version 6 opens: %s", err);
    emu_object_close(o);
    free(copy);
}

static void targets(void)
{
    const struct {
        const char *code, *device;
        bool fits;
    } cases[] = {
        {"gfx942", "gfx942:sramecc+:xnack-", true},
        {"gfx942:xnack-", "gfx942:sramecc+:xnack-", true},
        {"gfx942:xnack+", "gfx942:sramecc+:xnack-", false},
        {"gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-", true},
        {"gfx942:sramecc-", "gfx942:sramecc+:xnack-", false},
        {"gfx90a", "gfx942:sramecc+:xnack-", false},
        {"gfx94", "gfx942:sramecc+:xnack-", false},
        {"gfx9-4-generic", "gfx942:sramecc+:xnack-", true},
        {"gfx11-generic", "gfx1151", true},
        {"gfx11-generic", "gfx942:sramecc+:xnack-", false},
        {"gfx1100", "gfx1100", true},
        {"gfx1100", "gfx1101", false},
    };
    const char *bad[] = {"",
                         "gfx",
                         "gfx942:",
                         "gfx942:xnack",
                         "gfx1100:xnack+",
                         "gfx942:xnack+:xnack+",
                         "gfx942:fast+",
                         "gfx99999999999999999999999999"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct emu_target c = {0}, d = {0};
        bool known = emu_target_parse(cases[i].code, strlen(cases[i].code), &c, NULL, 0);
        emu_target_parse(cases[i].device, strlen(cases[i].device), &d, NULL, 0);
        ok((known && emu_target_fits(&c, &d)) == cases[i].fits, "%s on %s", cases[i].code,
           cases[i].device);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct emu_target t;
        char err[128] = "";
        ok(!emu_target_parse(bad[i], strlen(bad[i]), &t, err, sizeof err) && *err, "refused: '%s'",
           bad[i]);
    }
}

static size_t bundle(uint8_t *out, const char *const *ids, unsigned n)
{
    uint64_t count = n, at = 24 + 8, where = 4096;
    memcpy(out, "__CLANG_OFFLOAD_BUNDLE__", 24);
    memcpy(out + 24, &count, 8);
    for (unsigned i = 0; i < n; i++) {
        uint64_t head[3] = {where, strstr(ids[i], "gfx1100") ? 0 : 16, strlen(ids[i])};
        memcpy(out + at, head, sizeof head);
        memcpy(out + at + sizeof head, ids[i], head[2]);
        at += sizeof head + head[2];
        memset(out + where, (int)i, 16);
        where += 16;
    }
    return where;
}

static void bundles(void)
{
    static uint8_t b[8192];
    const char *ids[] = {
        "host-x86_64-unknown-linux--",      "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic",
        "hipv4-amdgcn-amd-amdhsa--gfx942",  "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-",
        "hip-amdgcn-amd-amdhsa--gfx90a",    "hipv4-amdgcn-amd-amdhsa--gfx11-generic",
        "hipv4-amdgcn-amd-amdhsa--gfx1100", /* empty */
        "openmp-amdgcn-amd-amdhsa--gfx906", "hcc-amdgcn-amd-amdhsa--gfx908"};
    const struct {
        const char *device;
        int entry;
    } cases[] = {{"gfx942:sramecc+:xnack-", 2}, /* the first, not the one that says more */
                 {"gfx942:sramecc+:xnack+", 2}, {"gfx950", 1}, {"gfx1151", 5}, {"gfx1100", 5},
                 {"gfx90a:sramecc+:xnack-", 4}, {"gfx908", 8}, {"gfx906", -1}};
    char err[256];
    const void *elf;
    size_t n, total = bundle(b, ids, sizeof ids / sizeof *ids);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct emu_target d;
        emu_target_parse(cases[i].device, strlen(cases[i].device), &d, NULL, 0);
        bool found = emu_code_select(b, total, &d, &elf, &n, err, sizeof err);
        if (cases[i].entry < 0) {
            ok(!found, "nothing for %s", cases[i].device);
            contains(err, "gfx90a", "and the text lists what there is");
        } else {
            ok(found && n == 16 && *(const uint8_t *)elf == cases[i].entry, "entry for %s",
               cases[i].device);
        }
    }
    struct emu_target d;
    emu_target_parse("gfx942", 6, &d, NULL, 0);
    unsigned silent = 0;
    for (size_t cut = 24; cut < total; cut++) {
        uint8_t *exact = malloc(cut);
        memcpy(exact, b, cut);
        err[0] = 0;
        silent += !emu_code_select(exact, cut, &d, &elf, &n, err, sizeof err) && !*err;
        free(exact);
    }
    is_int(silent, 0, "a bundle cut off anywhere has a text or an entry");
    uint64_t huge = UINT64_MAX;
    memcpy(b + 32, &huge, 8);
    ok(!emu_code_select(b, total, &d, &elf, &n, err, sizeof err), "an offset that wraps");
    ok(!emu_code_select("CCOB....", 8, &d, &elf, &n, err, sizeof err), "a compressed bundle");
    contains(err, "compressed", "says what it is");
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : "tests/tools/emu/hip";
    const char *const all[] = {"gfx90a", "gfx942", "gfx1100", "gfx1151"};
    targets();
    bundles();
    for (size_t i = 0; i < 4; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/emu_kernels.%s.co", dir, all[i]);
        read_whole(path);
        facts(all[i]);
        tables();
        damage(all[i]);
        free(data);
    }
    return tap_done();
}
