/*
 * The counters file: kernels whose counts are known by hand.
 */
#include <sys/wait.h>

#include "test_exec_asm.h"

static char path[] = "/tmp/test_counters_XXXXXX";

static char *file_text(void)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

    if (f)
        fclose(f);
    text[n] = 0;
    return text;
}

/* The number behind "name": in the last launch of the file; -1 when absent. */
static long long count(const char *name)
{
    char key[64];
    const char *last = NULL, *p;

    snprintf(key, sizeof key, "\"%s\": ", name);
    for (p = file_text(); (p = strstr(p, key)); p++)
        last = p;
    return last ? atoll(last + strlen(key)) : -1;
}

struct expected {
    const char *name;
    long long value;
};

static void check(const char *gpu, const struct expected *e)
{
    for (; e->name; e++) {
        char what[64];

        snprintf(what, sizeof what, "%s: %s", gpu, e->name);
        is_int(count(e->name), e->value, what);
    }
}

/*
 * Two waves of 64. The harness adds a scalar load, a shift, a wait and the end. In LDS, 32 lanes a
 * pass read 8 dwords of bank 0: 7 cycles beyond the first, 4 passes in all; the write of neighbours
 * has no conflict, nor have 8 lanes of 16 bytes. In memory, 64 neighbouring dwords are 4 lines,
 * dwords 16 bytes apart are 16 lines; lane 0 and 1 alone, one line.
 */
static void wide(void)
{
    static const char body[] = "v_mov_b32 v1, 1\n"
                               "ds_write_b32 v5, v1\n"
                               "s_waitcnt lgkmcnt(0)\n"
                               "s_barrier\n"
                               "v_and_b32 v6, 7, v0\n"
                               "v_lshlrev_b32 v6, 7, v6\n"
                               "ds_read_b32 v7, v6\n"
                               "v_and_b32 v6, 63, v0\n"
                               "v_lshlrev_b32 v6, 4, v6\n"
                               "ds_read_b128 v[12:15], v6\n"
                               "global_load_dword v8, v5, s[2:3]\n"
                               "v_lshlrev_b32 v9, 4, v0\n"
                               "global_store_dword v9, v1, s[2:3]\n"
                               "v_mov_b32 v10, 0\n"
                               "v_mov_b32 v11, 0\n"
                               "v_exp_f32 v1, v1\n"
                               "s_nop 4\n"
                               "v_mfma_f32_16x16x16_f16 v[16:19], v[10:11], v[10:11], 0\n"
                               "v_mfma_f32_32x32x8_f16 v[16:31], v[10:11], v[10:11], 0\n"
                               "s_mov_b64 s[10:11], exec\n"
                               "s_mov_b64 exec, 3\n"
                               "global_atomic_add v5, v1, s[2:3]\n"
                               "s_mov_b64 exec, s[10:11]\n"
                               "s_branch .Lx\n.Lx:\n";
    static const struct expected want[] = {
        {"salu", 2 * 3},
        {"branch", 2 * (1 + 1)},      /* the end is one */
        {"message", 2 * (2 + 1 + 1)}, /* waits, barrier, nop */
        {"smem", 2 * 1},
        {"valu", 2 * (1 + 8)},
        {"trans", 2 * 1},
        {"matrix", 2 * 2},
        {"lds", 2 * 3},
        {"vmem", 2 * 3},
        {"matrix_passes", 2 * (4 + 8)},
        {"lds_conflict_cycles", 2 * 2 * 7},
        {"lds_bytes", 2 * 64 * (4 + 4 + 16)},
        {"vmem_transactions", 2 * (4 + 16 + 1)},
        {"bytes_loaded", 2 * (64 + 2) * 4},
        {"bytes_stored", 2 * (64 + 2) * 4},
        {"barriers", 1},
        {"waves", 2},
        {"workgroups", 1},
        {NULL, 0},
    };
    struct asm_result r;

    ok(asm_run("gfx942", body, 128, &r) && r.ran, "gfx942: runs");
    check("gfx942", want);
}

/*
 * Which lanes of an LDS access are served together. 16 bytes a lane have one of eight places side
 * by side in the banks. Loads of gfx9 take lanes 0-3 with 20-23, 4-7 with 16-19, 8-11 with 28-31,
 * 12-15 with 24-27, and so on; all others eight that follow each other.
 *   neighbours: lane l at 16 l. Free of conflicts in both.
 *   crossed: bit 2 of that place turned over in lanes with bit 4. Consecutive lanes still have
 *     eight different places; quads 0 and 5 have the same four, and so on: a cycle more for each of
 *     the eight passes.
 *   paired: quads 0 to 3 have places 0 to 3, quads 4 to 7 the others: the other way round.
 * 8 bytes: 16 lanes that follow each other; at 16 l each pass has every other place twice.
 */
#define NEIGHBOURS "v_and_b32 v6, 63, v0\nv_lshlrev_b32 v6, 4, v6\n"
#define CROSSED                                                                                    \
    "v_bfe_u32 v7, v0, 4, 1\nv_lshlrev_b32 v7, 2, v7\nv_and_b32 v6, 63, v0\n"                      \
    "v_xor_b32 v6, v6, v7\nv_lshlrev_b32 v6, 4, v6\n"
#define PAIRED                                                                                     \
    "v_and_b32 v6, 0x23, v0\nv_bfe_u32 v7, v0, 4, 1\nv_lshlrev_b32 v7, 2, v7\n"                    \
    "v_or_b32 v6, v6, v7\nv_bfe_u32 v7, v0, 2, 2\nv_lshlrev_b32 v7, 3, v7\n"                       \
    "v_or_b32 v6, v6, v7\nv_lshlrev_b32 v6, 4, v6\n"

static void passes(void)
{
    static const struct {
        const char *name, *at, *access;
        unsigned gfx9, gfx11; /* conflicts of 64 lanes; of 32 */
    } cases[] = {
        {"a load of 16 bytes, neighbours", NEIGHBOURS, "ds_read_b128 v[8:11], v6", 0, 0},
        {"a store of 16 bytes, neighbours", NEIGHBOURS, "ds_write_b128 v6, v[8:11]", 0, 0},
        {"a load of 16 bytes, crossed", CROSSED, "ds_read_b128 v[8:11], v6", 8, 0},
        {"a store of 16 bytes, crossed", CROSSED, "ds_write_b128 v6, v[8:11]", 0, 0},
        {"a load of 16 bytes, paired", PAIRED, "ds_read_b128 v[8:11], v6", 0, 4},
        {"a store of 16 bytes, paired", PAIRED, "ds_write_b128 v6, v[8:11]", 8, 4},
        {"a load of 8 bytes of every 16", NEIGHBOURS, "ds_read_b64 v[8:9], v6", 4, 2},
        {"a store of 8 bytes, crossed", CROSSED, "ds_write_b64 v6, v[8:9]", 4, 2},
        {"a load of 4 bytes of every 16", NEIGHBOURS, "ds_read_b32 v8, v6", 6, 3},
        {"two loads of 8 bytes", PAIRED, "ds_read2_b64 v[8:11], v6 offset1:1", 24, 12},
    };
    struct asm_result r;

    for (unsigned g = 0; g < 4; g++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            bool wide64 = asm_is_wide(asm_gpus[g]);
            char body[1024], what[96];

            snprintf(body, sizeof body, "%sv_mov_b32 v8, 0\nv_mov_b32 v9, 0\n%s\n%s\n", cases[i].at,
                     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0", cases[i].access);
            snprintf(what, sizeof what, "%s: %s", asm_gpus[g], cases[i].name);
            if (!asm_run(asm_gpus[g], body, wide64 ? 64 : 32, &r) || !r.ran)
                ok(0, "%s", what);
            else
                is_int(count("lds_conflict_cycles"), wide64 ? cases[i].gfx9 : cases[i].gfx11, what);
        }
}

/* Three waves of 32: a loop of five turns, dual issue, a matrix product of 8 passes. */
static void narrow(void)
{
    static const char body[] = "s_mov_b32 s10, 5\n.Lloop:\ns_sub_u32 s10, s10, 1\n"
                               "s_cmp_lg_u32 s10, 0\ns_cbranch_scc1 .Lloop\n"
                               "v_dual_mov_b32 v10, 0 :: v_dual_mov_b32 v11, 0\n"
                               "v_dual_mov_b32 v12, 0 :: v_dual_mov_b32 v13, 0\n"
                               "v_dual_mov_b32 v14, 0 :: v_dual_mov_b32 v15, 0\n"
                               "v_dual_mov_b32 v16, 0 :: v_dual_mov_b32 v17, 0\n"
                               "v_wmma_f32_16x16x16_f16 v[24:31], v[10:17], v[10:17], v[24:31]\n"
                               "global_load_b128 v[20:23], v5, s[2:3]\n";
    static const struct expected want[] = {
        {"salu", 3 * (1 + 5 * 2)},
        {"branch", 3 * (5 + 1)},
        {"message", 3 * 1},
        {"valu", 3 * (1 + 4)},
        {"matrix", 3},
        {"matrix_passes", 3 * 8},
        {"vmem_transactions", 3 * 3}, /* 31 * 4 + 16 = 140 bytes, in 3 lines of 64 */
        {"bytes_loaded", 3 * 32 * 16},
        {"bytes_stored", 0},
        {"lds_conflict_cycles", 0},
        {"waves", 3},
        {NULL, 0},
    };
    struct asm_result r;

    ok(asm_run("gfx1100", body, 96, &r) && r.ran, "gfx1100: runs");
    check("gfx1100", want);
}

static void form(void)
{
    const char *text = file_text();
    struct asm_result r;

    contains(text, "[\n{\"kernel\": \"k\", \"device\": 1, \"target\": \"gfx942",
             "a list of launches");
    contains(text, "\"grid\": [1, 1, 1], \"block\": [128, 1, 1], \"lds\": 1024",
             "with their sizes");
    contains(text, "\"faulted\": false}\n]\n", "closed after each launch");
    ok(asm_run("gfx1151", "s_trap 2\n", 32, &r) && !r.ran, "a launch that faults");
    contains(file_text(), "\"faulted\": true}\n]\n", "is counted, too");
}

/* In a child, since the environment is read once: what a full disk makes it say. */
static void full_disk(void)
{
    char said[256] = "";
    int ends[2];
    ssize_t n;
    pid_t child;

    if (pipe(ends) != 0)
        abort();
    fflush(stdout);
    child = fork();
    if (child == 0) {
        struct asm_result r;

        dup2(ends[1], STDERR_FILENO);
        setenv("AOTHIP_EMU_COUNTERS", "/dev/full", 1);
        _exit(asm_run("gfx942", "s_nop 0\n", 64, &r) && r.ran &&
                      asm_run("gfx942", "s_nop 0\n", 64, &r) && r.ran
                  ? 0
                  : 1);
    }
    close(ends[1]);
    n = read(ends[0], said, sizeof said - 1);
    said[n > 0 ? n : 0] = 0;
    close(ends[0]);
    int status = -1;
    ok(waitpid(child, &status, 0) == child && status == 0, "a full disk stops no launch");
    is_str(said, "hipemu: cannot write /dev/full: No space left on device\n", "but is told, once");
}

int main(void)
{
    int fd;

    asm_need_tools();
    fd = mkstemp(path);
    if (fd < 0)
        return 99;
    close(fd);
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    setenv("AOTHIP_EMU_COUNTERS", path, 1);
    full_disk();
    wide();
    narrow();
    passes();
    form();
    unlink(path);
    return tap_done();
}
