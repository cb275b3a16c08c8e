/* Target IDs: parsing, the rule of fitting, e_flags. */
#include "target.h"

#include "tap.h"

static const char *const malformed[] = {
    "",
    "gfx",
    "gfX942",
    "amdgcn",
    "gfx942:",
    "gfx942::xnack-",
    "gfx942:xnack",
    "gfx942:xnack*",
    "gfx942:xnack-:",
    "gfx942:xnack-:xnack-",
    "gfx942:sramecc+:sramecc-",
    "gfx942:tsan+",
    "gfx942 ",
    "gfx942_",
    "gfx9421234567890",
};

/* code, device, fits */
static const struct {
    const char *code, *device;
    int fits;
} fitting[] = {
    {"gfx942", "gfx942", 1},
    {"gfx942", "gfx942:sramecc+:xnack-", 1},
    {"gfx942", "gfx942:sramecc-:xnack+", 1},
    {"gfx942", "gfx90a:sramecc+:xnack-", 0},
    {"gfx94", "gfx942", 0},
    {"gfx942", "gfx94", 0},
    {"gfx90a:xnack-", "gfx90a:sramecc+:xnack-", 1},
    {"gfx90a:xnack-", "gfx90a:sramecc+:xnack+", 0},
    {"gfx90a:xnack+", "gfx90a:sramecc+:xnack+", 1},
    {"gfx90a:xnack+", "gfx90a:sramecc+:xnack-", 0},
    {"gfx90a:xnack+", "gfx90a", 0},
    {"gfx90a:xnack-", "gfx90a", 0},
    {"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", 1},
    {"gfx90a:sramecc-:xnack-", "gfx90a:sramecc+:xnack-", 0},
    {"gfx90a:sramecc+", "gfx90a:sramecc+:xnack-", 1},
    {"gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack-", 1},
    {"gfx1100", "gfx1100", 1},
    {"gfx1100", "gfx1101", 0},
    {"gfx11-generic", "gfx1100", 0},
};

static struct target parse(const char *text)
{
    struct target target;
    if (target_parse(text, strlen(text), &target))
        ok(0, "\"%s\" parses", text);
    return target;
}

static void test_parse(void)
{
    struct target target;
    char text[TARGET_TEXT_MAX];
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        ok(target_parse(malformed[i], strlen(malformed[i]), &target) == -1, "\"%s\" is refused",
           malformed[i]);
    target = parse("gfx90a:sramecc+:xnack-");
    is_str(target.gpu, "gfx90a", "GPU");
    is_int(target.sramecc, TARGET_ON, "sramecc+");
    is_int(target.xnack, TARGET_OFF, "xnack-");
    is_int(target_features(&target), 2, "two features stated");
    is_str(target_print(&target, text), "gfx90a:sramecc+:xnack-", "printed again");
    target = parse("gfx1151");
    is_int(target_features(&target), 0, "none stated");
    is_str(target_print(&target, text), "gfx1151", "printed again");
    is_int(target_parse("gfx942garbage", 6, &target), 0, "only `length` bytes are read");
    is_str(target.gpu, "gfx942", "up to there");
}

static void test_fits(void)
{
    for (size_t i = 0; i < sizeof(fitting) / sizeof(fitting[0]); i++) {
        struct target code = parse(fitting[i].code), device = parse(fitting[i].device);
        ok(target_fits(&code, &device) == fitting[i].fits, "%s %s %s", fitting[i].code,
           fitting[i].fits ? "fits" : "does not fit", fitting[i].device);
    }
}

/* e_flags as clang 19 writes them into code objects of version 5. */
static const struct {
    const char *code;
    unsigned flags;
    int matches;
} flags[] = {
    {"gfx90a", 0x53f, 1},
    {"gfx90a:xnack+", 0x73f, 1},
    {"gfx90a:xnack-", 0x63f, 1},
    {"gfx90a:xnack-", 0x73f, 0},
    {"gfx90a:xnack-", 0x53f, 0},
    {"gfx90a", 0x63f, 0},
    {"gfx90a:sramecc+:xnack-", 0xe3f, 1},
    {"gfx942", 0x54c, 1},
    {"gfx942", 0x53f, 0},
    {"gfx1100", 0x041, 1},
    {"gfx1151", 0x04a, 1},
    {"gfx1151", 0x041, 0},
    {"gfx9999", 0x0ff, 1},
};

static void test_flags(void)
{
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct target code = parse(flags[i].code);
        ok(target_matches_elf_flags(&code, flags[i].flags) == flags[i].matches,
           "e_flags 0x%x are%s of %s", flags[i].flags, flags[i].matches ? "" : " not",
           flags[i].code);
    }
}

int main(void)
{
    test_parse();
    test_fits();
    test_flags();
    return tap_done();
}
