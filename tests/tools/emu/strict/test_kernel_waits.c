/*
 * Wait states along all ways through kernels, whether or not a test takes them: compilers have left
 * one out where several branches lead to an instruction.
 *
 *     test_kernel_waits GPU [FILE.co ...]
 *
 * Without files: kernels that lack one, along a way that is never taken, and kernels that do not.
 * gfx12 and wave64 of gfx11 are not looked through: what may lack there is counted as they run.
 */
#include "handles.h"
#include "strict.h"

#include "test_exec_asm.h"

struct tally {
    unsigned kernels, waiting;
};

static void *file_bytes(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;

    *n = 0;
    if (f && !fseek(f, 0, SEEK_END) && (*n = (size_t)ftell(f)) && (bytes = malloc(*n))) {
        rewind(f);
        if (fread(bytes, 1, *n, f) != *n)
            *n = 0;
    }
    if (f)
        fclose(f);
    return bytes;
}

static void show_op(const struct emu_kernel *k, unsigned at)
{
    const struct emu_insn *insn = k->program->ops[at].insn;
    char text[256] = "?";

    if (insn)
        emu_disasm(insn, text, sizeof text);
    printf("#   %x: %s\n", at * 4, text);
}

static void look_through(const struct emu_kernel *k, const char *path, struct tally *t)
{
    const struct emu_strict_program *s;

    if (!emu_strict_prepare(k, false)) {
        ok(0, "%s: out of memory", path);
        return;
    }
    s = k->program->strict;
    t->kernels++;
    t->waiting += s->may_hazard;
    if (s->may_hazard) {
        printf("# %s, %s:\n", path, k->name);
        show_op(k, s->way.from);
        show_op(k, s->way.to);
    }
}

static void look_into(const char *path, const void *bytes, size_t n, struct tally *t)
{
    struct emu_module *m = NULL;

    if (!bytes || !n || emu_module_load(bytes, n, &m) != hipSuccess) {
        ok(0, "%s is read: %s", path, emu_last_text());
        return;
    }
    for (size_t i = 0; i < m->object->nkernels; i++) {
        struct ihipModuleSymbol_t *f;

        if (emu_module_function(m, m->object->kernels[i].name, &f) == hipSuccess)
            look_through(&f->kernel, path, t);
        else
            ok(0, "%s: %s: %s", path, m->object->kernels[i].name, emu_last_text());
    }
    emu_module_close(m);
}

static void look_into_file(const char *path, struct tally *t)
{
    size_t n;
    void *bytes = file_bytes(path, &n);

    look_into(path, bytes, n, t);
    free(bytes);
}

/* SCC is 0 in all of them: the branch is not taken. */
static const struct planted {
    const char *name, *gpus, *body;
    bool waits;
} planted[] = {
    {"a matrix result, read where a branch leads, a state too soon", "gfx90a gfx942 gfx950",
     "s_cmp_eq_u32 0, 1\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 3\n"
     "v_mfma_f32_16x16x16f16 v[16:19], v[10:11], v[10:11], 0\ns_cbranch_scc1 .Lsoon\n"
     "s_nop 15\n.Lsoon:\ns_nop 1\nv_add_f32 v20, v16, v17\n",
     true},
    {"and late enough", "gfx90a gfx942 gfx950",
     "s_cmp_eq_u32 0, 1\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 3\n"
     "v_mfma_f32_16x16x16f16 v[16:19], v[10:11], v[10:11], 0\ns_cbranch_scc1 .Lsoon\n"
     "s_nop 15\n.Lsoon:\ns_nop 15\nv_add_f32 v20, v16, v17\n",
     false},
    {"a transcendental result, after a loop of scalar instructions", "gfx1100",
     "s_cmp_eq_u32 0, 1\nv_exp_f32 v7, v6\n.Lloop:\ns_cbranch_scc1 .Lloop\nv_add_f32 v8, v7, v7\n",
     true},
    {"a WMMA's result, where a branch leads past the v_nop", "gfx1100 gfx1151",
     "s_cmp_eq_u32 0, 1\nv_wmma_f32_16x16x16_f16 v[16:23], v[24:31], v[24:31], v[16:23]\n"
     "s_cbranch_scc1 .Lsoon\nv_nop\n.Lsoon:\n"
     "v_wmma_f32_16x16x16_f16 v[32:39], v[16:23], v[24:31], v[32:39]\n",
     true},
    {"and none past it", "gfx1100 gfx1151",
     "s_cmp_eq_u32 0, 1\nv_wmma_f32_16x16x16_f16 v[16:23], v[24:31], v[24:31], v[16:23]\n"
     ".Lloop:\ns_cbranch_scc1 .Lloop\nv_nop\n"
     "v_wmma_f32_16x16x16_f16 v[32:39], v[16:23], v[24:31], v[32:39]\n",
     false},
};

static void look_into_planted(const char *gpu)
{
    asm_need_tools();
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        const struct planted *p = &planted[i];
        struct tally t = {0, 0};
        char *image;

        if (!strstr(p->gpus, gpu))
            continue;
        image = asm_build(gpu, p->body);
        look_into(p->name, image, image ? SIZE_MAX : 0, &t);
        ok(t.kernels == 1 && t.waiting == p->waits, "%s: %s", gpu, p->name);
        free(image);
    }
}

int main(int argc, char **argv)
{
    struct tally t = {0, 0};

    if (argc < 2) {
        fprintf(stderr, "usage: test_kernel_waits GPU [FILE.co ...]\n");
        return 2;
    }
    setenv("AOTHIP_EMU_GPU", argv[1], 1);
    ok(hipSetDevice(0) == hipSuccess, "%s is emulated", argv[1]);
    if (argc == 2) {
        look_into_planted(argv[1]);
        return tap_done();
    }
    for (int i = 2; i < argc; i++)
        look_into_file(argv[i], &t);
    ok(t.kernels > 0 && t.waiting == 0, "%s: %u kernels, of which %u may lack a wait state",
       argv[1], t.kernels, t.waiting);
    return tap_done();
}
