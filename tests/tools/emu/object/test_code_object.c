/*
 * Code objects: what the reader says of real ones, and that no damage to one makes it crash: cut
 * off at every length, every byte of the headers and tables changed. Run under sanitizers.
 */
#include "emu_elf.h"
#include "tests/tap.h"

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
    ok(k && k == emu_object_kernel(o, "add.kd"), "found by its descriptor's name too");
    ok(!emu_object_kernel(o, "ad"), "no kernel of another name");
    const struct emu_symbol *s = emu_object_symbol(o, "scale_by");
    int value = 0;
    ok(s && s->size == 4 && emu_object_read(o, s->value, &value, 4) && value == 3, "a global");
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
    for (size_t i = 0; i < o->nsymbols; i++)
        total += (unsigned)strlen(o->symbols[i].name);
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
        /* headers, dynamic tables and notes at the front; then anywhere, line tables included */
        size_t at = i < 4000 ? (seed >> 33) % (size < 4096 ? size : 4096) : (seed >> 33) % size;
        uint8_t old = data[at];
        data[at] = i & 1 ? (uint8_t)(old ^ 1u << (seed >> 20 & 7)) : (uint8_t)(seed >> 24);
        silent += !survive(data, size);
        data[at] = old;
    }
    is_int(silent, 0, "every changed byte has a text or opens");
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
        uint64_t head[3] = {where, 16, strlen(ids[i])};
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
    const char *ids[] = {"host-x86_64-unknown-linux--", "hipv4-amdgcn-amd-amdhsa--gfx11-generic",
                         "hipv4-amdgcn-amd-amdhsa--gfx942",
                         "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-", "hip-amdgcn-amd-amdhsa--gfx90a"};
    const struct {
        const char *device;
        int entry;
    } cases[] = {{"gfx942:sramecc+:xnack-", 3},
                 {"gfx942:sramecc+:xnack+", 2},
                 {"gfx1151", 1},
                 {"gfx90a:sramecc+:xnack-", 4},
                 {"gfx906", -1}};
    char err[256];
    const void *elf;
    size_t n, total = bundle(b, ids, 5);
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
    const char *dir = argc > 1 ? argv[1] : "tests/tools/emu";
    const char *const all[] = {"gfx90a", "gfx942", "gfx1100", "gfx1151"};
    targets();
    bundles();
    for (size_t i = 0; i < 4; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/emu_kernels.%s.co", dir, all[i]);
        read_whole(path);
        facts(all[i]);
        damage(all[i]);
        free(data);
    }
    return tap_done();
}
