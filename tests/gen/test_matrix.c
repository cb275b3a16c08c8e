/*
 * The matrix reader: what a good matrix means, and that every fault is told with file and line.
 */
#include "matrix.h"

#include "aothip/aothip.h"
#include "format.h"
#include "kernarg.h"
#include "tap.h"

#define GPUS                                                                                       \
    "gpu gfx942 targets=gfx942 wave=64 registers=512 register_pool=512 lds=65536\n"                \
    "gpu gfx1100 targets=gfx1100 wave=32 registers=256 register_pool=1536 lds=65536\n"
#define SIBLING "sibling gfx1102 of=gfx1100 register_pool=1024\n"
#define ROW_END " tile_q=128 tile_k=64 waves=4 waves_per_eu=2 registers=256 scratch=0\n"
#define ROW(gpu) "attn_fwd gpu=" gpu " dtype=f16 dim=128 unaligned=no score=no paged=no" ROW_END
#define GOOD GPUS ROW("gfx942") ROW("gfx1100")

/* Parses and returns what was printed; the caller frees it. */
static char *parse(struct matrix *m, const char *text, int *errors)
{
    char *printed = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&printed, &size);
    *errors = matrix_parse(m, text, "m.def", out);
    fclose(out);
    return printed;
}

static void test_good(void)
{
    struct matrix m;
    int errors;
    char *printed = parse(&m, GOOD, &errors);
    is_int(errors, 0, "a good matrix has no errors");
    is_str(printed, "", "and prints none");
    is_int(m.gpu_count, 2, "two GPUs");
    is_int(m.kernel_count, 2, "two kernels");
    const struct matrix_kernel *k = m.kernels;
    is_str(k->symbol, "attn_fwd_f16_d128_t128x64", "the symbol says what the kernel is");
    is_int(k->line, 3, "line of the row");
    is_int(k->dtype, AOTHIP_F16, "dtype");
    is_int(matrix_threads(&m, &k[0]), 256, "threads of 4 waves of 64");
    is_int(matrix_threads(&m, &k[1]), 128, "threads of 4 waves of 32");
    is_int(k->op->format_op, FORMAT_OP_ATTN_FWD, "operation");
    is_int(k->op->kernarg_size, sizeof(struct attn_fwd_args), "argument bytes");
    is_int(matrix_find_gpu(&m, "gfx1100"), 1, "finds a GPU");
    is_int(matrix_find_gpu(&m, "gfx1101"), -1, "does not find another");
    matrix_free(&m);
    free(printed);
}

/* What only clang 22 makes is passed over elsewhere; the others move up. */
static void test_leave_out(void)
{
    struct matrix m;
    int errors;
    char *printed = parse(
        &m,
        GPUS "attn_fwd gpu=gfx942,gfx1100 dtype=f16 dim=64 unaligned=no score=bias paged=no" ROW_END
             "attn_fwd gpu=gfx942 dtype=f16 dim=64 unaligned=no other_clang=no score=keep "
             "paged=no" ROW_END
             "attn_fwd gpu=gfx942,gfx1100 dtype=f16 dim=64 unaligned=no other_clang=yes score=yes "
             "paged=no" ROW_END,
        &errors);
    is_int(errors, 0, "kernels of one compiler are no error");
    is_str(printed, "", "and nothing is printed");
    is_int(m.kernel_count, 5, "two, one, two kernels");
    matrix_leave_out(&m);
    is_int(m.kernel_count, 4, "without the one");
    is_str(m.kernels[2].symbol, "attn_fwd_f16_d64_t128x64_score", "what comes behind it is there");
    is_int(m.kernels[2].rank, 1, "next to the first one");
    is_int(m.kernels[3].rank, 1, "as for the other GPU");
    matrix_free(&m);
    free(printed);
}

/* Kernels of attn_fwd may differ in their tiles alone, also behind one for more channels. */
static void test_choice(void)
{
    struct matrix m;
    int errors;
    char *printed = parse(
        &m,
        GPUS "attn_fwd gpu=gfx942,gfx1100 dtype=f16 dim=64,128 unaligned=no score=no paged=no "
             "tile_q=128 tile_k=64 waves=4 waves_per_eu=2 registers=256 scratch=0\n"
             "attn_fwd gpu=gfx942,gfx1100 dtype=f16 dim=64,128 unaligned=no score=no paged=no "
             "tile_q=64,32 tile_k=64 waves=4 waves_per_eu=2 registers=256 scratch=0\n",
        &errors);
    is_str(printed, "", "smaller tiles are no fault");
    is_int(errors ? 0 : m.kernel_count, 12, "but kernels");
    matrix_free(&m);
    free(printed);
}

/* A sibling has the kernels of the GPU that it is one of, and a register file of its own. */
static void test_sibling(void)
{
    struct matrix m;
    int errors;
    char *printed = parse(&m, GPUS SIBLING ROW("gfx942") ROW("gfx1100"), &errors);
    is_str(printed, "", "a sibling is good");
    is_int(errors ? 0 : m.gpu_count, 3, "and a GPU");
    is_str(m.gpus[2].targets[0], "gfx1102", "its target is its name");
    is_int(m.gpus[2].code, 1, "its code is gfx1100's");
    is_int(m.gpus[1].code, 1, "which has its own");
    is_int(m.gpus[2].register_pool, 1024, "its registers are as stated");
    is_int(m.gpus[2].wave, 32, "all else as the other's");
    is_int(m.kernel_count, 2, "no kernel is there twice");
    ok(!matrix_serves(&m, &m.kernels[0], 2) && matrix_serves(&m, &m.kernels[1], 2),
       "it is served by gfx1100's kernel only");
    matrix_free(&m);
    free(printed);
}

/* Axes multiply out in the order written, the last one fastest; ranks count per GPU. */
static void test_axes(void)
{
    static const char text[] =
        GPUS "attn_fwd gpu=gfx942,gfx1100 dtype=bf16,f16 score=no,yes \\\n  dim=64 unaligned=no "
             "paged=no \\\n"
             "  tile_q=128 tile_k=64 waves=4 waves_per_eu=2 registers=256 scratch=0\n"
             "# the general kernel\n"
             "attn_fwd gpu=gfx942 dtype=f16 score=yes dim=128 unaligned=yes paged=yes" ROW_END;
    static const struct {
        const char *gpu, *symbol;
        int rank, line;
        uint32_t features;
    } want[] = {
        {"gfx942", "attn_fwd_bf16_d64_t128x64", 0, 3, 0},
        {"gfx942", "attn_fwd_bf16_d64_t128x64_score", 1, 3, FORMAT_FEATURE_SCORE},
        {"gfx942", "attn_fwd_f16_d64_t128x64", 2, 3, 0},
        {"gfx942", "attn_fwd_f16_d64_t128x64_score", 3, 3, FORMAT_FEATURE_SCORE},
        {"gfx1100", "attn_fwd_bf16_d64_t128x64", 0, 3, 0},
        {"gfx1100", "attn_fwd_bf16_d64_t128x64_score", 1, 3, FORMAT_FEATURE_SCORE},
        {"gfx1100", "attn_fwd_f16_d64_t128x64", 2, 3, 0},
        {"gfx1100", "attn_fwd_f16_d64_t128x64_score", 3, 3, FORMAT_FEATURE_SCORE},
        {"gfx942", "attn_fwd_f16_d128_t128x64_unaligned_score_paged", 4, 7,
         FORMAT_FEATURE_SCORE | FORMAT_FEATURE_UNALIGNED | FORMAT_FEATURE_STRIDED |
             FORMAT_FEATURE_PAGED},
    };
    struct matrix m;
    int errors, count = sizeof(want) / sizeof(want[0]);
    char *printed = parse(&m, text, &errors);
    is_str(printed, "", "axes: no errors");
    is_int(m.kernel_count, count, "axes: all combinations");
    for (int i = 0; i < m.kernel_count && i < count; i++) {
        const struct matrix_kernel *k = &m.kernels[i];
        is_str(m.gpus[k->gpu].name, want[i].gpu, "axes: gpu");
        is_str(k->symbol, want[i].symbol, "axes: symbol");
        is_int(k->rank, want[i].rank, "axes: rank");
        is_int(k->line, want[i].line, "axes: line where the statement begins");
        is_int(matrix_features(k), want[i].features, "axes: features");
    }
    matrix_free(&m);
    free(printed);
}

/* With fewer channels of v a kernel says so, and leaves the others to the next one. */
static void test_narrow(void)
{
    static const char text[] =
        GPUS "attn_fwd gpu=gfx942 dtype=f16 dim=192 dim_v=128 unaligned=no score=no paged=no "
             "tile_q=256 tile_k=64 waves=8 waves_per_eu=2 registers=256 scratch=0\n"
             "attn_fwd gpu=gfx942 dtype=f16 dim=192,256 unaligned=no score=no paged=no tile_q=64 "
             "tile_k=64 waves=4 waves_per_eu=2 registers=256 scratch=0\n" ROW("gfx1100");
    struct matrix m;
    int errors;
    char *printed = parse(&m, text, &errors), *macros = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&macros, &size);
    is_str(printed, "", "fewer channels of v: no errors");
    is_int(m.kernel_count, 4, "which hide no kernel for as many");
    if (m.kernel_count) {
        is_str(m.kernels[0].symbol, "attn_fwd_f16_d192x128_t256x64", "the symbol says them");
        matrix_print_macros(&m, &m.kernels[0], out);
    }
    fclose(out);
    ok(strstr(macros, " -DKERNEL_DIM=192 -DKERNEL_DIM_V=128 ") != NULL, "so do the macros");
    matrix_free(&m);
    free(printed);
    free(macros);
}

static void test_macros(void)
{
    struct matrix m;
    int errors;
    free(parse(&m, GOOD, &errors));
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    matrix_print_macros(&m, &m.kernels[1], out);
    fclose(out);
    is_str(text,
           " -DKERNEL_SYMBOL=attn_fwd_f16_d128_t128x64 -DKERNEL_DTYPE=2 -DKERNEL_DIM=128"
           " -DKERNEL_UNALIGNED=0 -DKERNEL_SCORE=0 -DKERNEL_PAGED=0 -DKERNEL_TILE_Q=128"
           " -DKERNEL_TILE_K=64"
           " -DKERNEL_WAVES=4 -DKERNEL_WAVES_PER_EU=2 -DKERNEL_WAVE=32 -DKERNEL_THREADS=128"
           " -DKERNEL_REGISTERS=256",
           "macros of a row");
    free(text);
    matrix_free(&m);
}

#define A(key_values) GPUS "attn_fwd " key_values "\n" ROW("gfx1100")
#define FULL(gpu, dtype, dim, score, tile_q, tile_k, waves, per_eu, registers)                     \
    A("gpu=" gpu " dtype=" dtype " dim=" dim " score=" score                                       \
      " unaligned=no paged=no tile_q=" tile_q " scratch=0 tile_k=" tile_k " waves=" waves          \
      " waves_per_eu=" per_eu " registers=" registers)
#define GPU(keys) "gpu " keys "\n" ROW("gfx90a")
#define GPU90 " wave=64 registers=512 register_pool=512 lds=65536"

static const struct {
    const char *name, *text, *message;
} faults[] = {
    {"empty", "# nothing\n", "m.def:0: declares no GPU"},
    {"GPU without kernels", GPUS ROW("gfx942"), "m.def:2: gfx1100 has no kernel"},
    {"misspelt statement", GPUS "atn_fwd gpu=gfx942\n",
     "m.def:3: unknown statement 'atn_fwd'; did you mean 'attn_fwd'?"},
    {"unknown statement", GPUS "convolution gpu=gfx942\n",
     "m.def:3: unknown statement 'convolution'; known are: gpu sibling attn_fwd attn_fwd_f32 "
     "attn_fwd_fp8 attn_fwd_cache attn_split"},
    {"misspelt key", A("gpu=gfx942 dtype=f16 dim=64 unaligned=no score=no paged=no tile_g=64"),
     "m.def:3: unknown key 'tile_g'; did you mean 'tile_q'?"},
    {"missing key", A("gpu=gfx942 dtype=f16 dim=64 unaligned=no score=no paged=no tile_q=64"),
     "m.def:3: 'attn_fwd' lacks: tile_k waves waves_per_eu registers scratch"},
    {"key given twice", A("gpu=gfx942 gpu=gfx1100"), "m.def:3: key 'gpu' is given twice"},
    {"no value", A("gpu="), "m.def:3: 'gpu=' is not of the form key=value"},
    {"only commas", FULL("gfx942", ",", "64", "no", "128", "64", "4", "2", "256"),
     "m.def:3: 'dtype' has no value"},
    {"stray word", A("gpu=gfx942 dtype"), "m.def:3: 'dtype' is not of the form key=value"},
    {"misspelt GPU", FULL("gfx924", "f16", "64", "no", "128", "64", "4", "2", "256"),
     "m.def:3: unknown gpu 'gfx924'; did you mean 'gfx942'?"},
    {"unknown dtype", FULL("gfx942", "f8", "64", "no", "128", "64", "4", "2", "256"),
     "m.def:3: unknown dtype 'f8'; known are: f32 f16 bf16"},
    {"unknown feature value", FULL("gfx942", "f16", "64", "maybe", "128", "64", "4", "2", "256"),
     "m.def:3: unknown score 'maybe'; known are: no yes bias slopes softcap dropout padding "
     "keep"},
    {"value twice", FULL("gfx942", "f16,f16", "64", "no", "128", "64", "4", "2", "256"),
     "m.def:3: dtype has 'f16' twice"},
    {"not a number", FULL("gfx942", "f16", "64x", "no", "128", "64", "4", "2", "256"),
     "m.def:3: dim=64x is not a number"},
    {"negative number", FULL("gfx942", "f16", "-64", "no", "128", "64", "4", "2", "256"),
     "m.def:3: dim=-64 is not a number"},
    {"dim too large", FULL("gfx942", "f16", "1024", "no", "128", "64", "4", "2", "256"),
     "m.def:3: dim=1024 is out of range: 16 to 512"},
    {"dim no multiple", FULL("gfx942", "f16", "72", "no", "128", "64", "4", "2", "256"),
     "m.def:3: dim=72 is not a multiple of 16"},
    {"tile not shared evenly", FULL("gfx942", "f16", "64", "no", "128", "64", "3", "2", "256"),
     "m.def:3: tile_q=128 does not give each of waves=3 a multiple of 16 rows"},
    {"tile not shared evenly by waves that share keys",
     FULL("gfx942", "f16", "64", "no", "48", "64", "4", "2", "256"),
     "m.def:3: tile_q=48 does not give each of waves=4 a multiple of 16 rows"},
    {"small tile with score terms", FULL("gfx942", "f16", "64", "yes", "32", "64", "4", "2", "256"),
     "m.def:3: tile_q=32 does not give each of waves=4 a multiple of 16 rows"},
    {"smaller tile for fewer channels",
     GPUS ROW("gfx942") "attn_fwd gpu=gfx942 dtype=f16 dim=64 unaligned=no score=no paged=no "
                        "tile_q=64 tile_k=64 waves=4 waves_per_eu=2 registers=256 scratch=0\n",
     "m.def:4: attn_fwd_f16_d64_t64x64 for gfx942 would never be taken: "
     "attn_fwd_f16_d128_t128x64 of line 3 comes first"},
    {"dim beyond the tile", FULL("gfx942", "f16", "128", "no", "512", "64", "4", "2", "256"),
     "m.def:3: dim=128 does not fit the tile: O (512x128) and S (512x64) need 384 registers of "
     "256"},
    {"rows not shared by teams", FULL("gfx942", "f16", "256", "no", "96", "64", "4", "2", "256"),
     "m.def:3: tile_q=96 does not give teams of waves=4 32 rows each"},
    {"rows of a wave's own beyond whole channels",
     FULL("gfx942", "f16", "384", "no", "128", "64", "4", "1", "512"),
     "m.def:3: attn_fwd beyond dim=256 with 32 rows for each wave is of dim=512, waves=4, "
     "tile_k=64 and no terms"},
    {"rows of a wave's own with terms",
     FULL("gfx942", "f16", "512", "yes", "128", "64", "4", "1", "512"),
     "m.def:3: attn_fwd beyond dim=256 with 32 rows for each wave is of dim=512, waves=4, "
     "tile_k=64 and no terms"},
    {"dim beyond the teams", FULL("gfx942", "f16", "512", "no", "128", "64", "4", "2", "256"),
     "m.def:3: dim=512 does not fit the tile: O (128x512) and S (128x64) need 288 registers of "
     "256"},
    {"more than 1024 threads", FULL("gfx942", "f16", "64", "no", "272", "64", "17", "1", "256"),
     "m.def:3: waves=17 is out of range: 1 to 16"},
    {"sibling of none", GPUS "sibling gfx1102 of=gfx1101 register_pool=1024\n",
     "m.def:3: unknown gpu 'gfx1101'; did you mean 'gfx1100'?"},
    {"sibling of a sibling", GPUS SIBLING "sibling gfx1103 of=gfx1102 register_pool=1024\n",
     "m.def:4: gfx1102 cannot have a sibling"},
    {"sibling twice", GPUS SIBLING SIBLING, "m.def:4: gfx1102 is already declared in line 3"},
    {"sibling without a name", GPUS "sibling of=gfx1100 register_pool=1024\n",
     "m.def:3: 'sibling' needs a name"},
    {"sibling without registers", GPUS "sibling gfx1102 of=gfx1100\n",
     "m.def:3: 'sibling' lacks: register_pool"},
    {"sibling behind kernels", GOOD SIBLING, "m.def:5: a sibling must come before the kernels"},
    {"kernel of a sibling", GPUS SIBLING ROW("gfx1102"),
     "m.def:4: gfx1102 is a sibling of gfx1100 and has the kernels of that"},
    {"too many registers for a sibling",
     GPUS SIBLING "attn_fwd gpu=gfx1100 dtype=f16 dim=64 unaligned=no score=no paged=no tile_q=128 "
                  "tile_k=64 waves=4 waves_per_eu=5 registers=256 scratch=0\n",
     "m.def:4: registers=256 times waves_per_eu=5 is 1280; a SIMD of gfx1102 has 1024"},
    {"budget over hardware", FULL("gfx1100", "f16", "64", "no", "64", "64", "4", "2", "257"),
     "m.def:3: registers=257: a lane of gfx1100 has at most 256"},
    {"budget over the SIMD", FULL("gfx942", "f16", "64", "no", "128", "64", "4", "3", "256"),
     "m.def:3: registers=256 times waves_per_eu=3 is 768; a SIMD of gfx942 has 512"},
    {"duplicate", GPUS ROW("gfx942") ROW("gfx1100") ROW("gfx942"),
     "m.def:5: attn_fwd_f16_d128_t128x64 for gfx942 is already in line 3"},
    {"shadowed",
     GPUS ROW("gfx942") ROW(
         "gfx1100") "attn_fwd gpu=gfx942 dtype=f16 dim=64 unaligned=no score=no paged=no" ROW_END,
     "m.def:5: attn_fwd_f16_d64_t128x64 for gfx942 would never be taken: "
     "attn_fwd_f16_d128_t128x64 of line 3 comes first"},
    {"rows with pages",
     GPUS "attn_fwd gpu=gfx942 dtype=f16 dim=64 unaligned=rows score=no paged=yes" ROW_END,
     "m.def:3: unaligned=rows is of attn_fwd and attn_split, without pages"},
    {"rows of another kernel",
     GPUS "attn_bwd_dq gpu=gfx942 dtype=f16 dim=64 unaligned=rows score=no paged=no" ROW_END,
     "m.def:3: unaligned=rows is of attn_fwd and attn_split, without pages"},
    {"shared keys of long rows at any address",
     GPUS "attn_split gpu=gfx942 dtype=f16 dim=256 unaligned=rows score=no paged=no" ROW_END,
     "m.def:3: attn_split beyond dim=128 is unaligned=yes, or unaligned=no of f16 or bf16"},
    {"long rows of FP8 that are not in pages",
     GPUS "attn_fwd_cache gpu=gfx942 dtype=f16 dim=256 unaligned=no score=no paged=no" ROW_END,
     "m.def:3: attn_fwd_cache beyond dim=128 is unaligned=yes, or paged=yes"},
    {"shared keys as attn_fwd walks, with too many rows",
     GPUS "attn_split gpu=gfx942 dtype=f16 dim=64 unaligned=no score=no paged=yes" ROW_END,
     "m.def:3: attn_split up to dim=128 without unaligned=yes has 16 rows for each wave or for "
     "two: "
     "not tile_q=128 of waves=4"},
    {"a mask for all queries, of single elements",
     GPUS "attn_fwd gpu=gfx942 dtype=f16 dim=64 unaligned=yes score=padding paged=no" ROW_END,
     "m.def:3: score=padding is of attn_fwd without pages, up to dim=128 or with 32 rows for each "
     "wave of 64 lanes, and not unaligned=yes"},
    {"of other kernels",
     GPUS "attn_bwd_dq gpu=gfx942 dtype=f16 dim=64 unaligned=no score=padding paged=no" ROW_END,
     "m.def:3: score=padding is of attn_fwd without pages, up to dim=128 or with 32 rows for each "
     "wave of 64 lanes, and not unaligned=yes"},
    {"fewer channels of v up to 128",
     GPUS "attn_fwd gpu=gfx942 dtype=f16 dim=128 dim_v=64 unaligned=no score=no paged=no" ROW_END,
     "m.def:3: dim_v=64 is less than dim, and of attn_fwd beyond dim=128 on wave64 with 32 rows "
     "for each wave, without features"},
    {"or not fewer",
     GPUS "attn_fwd gpu=gfx942 dtype=f16 dim=256 dim_v=256 unaligned=no score=no paged=no" ROW_END,
     "m.def:3: dim_v=256 is less than dim, and of attn_fwd beyond dim=128 on wave64 with 32 rows "
     "for each wave, without features"},
    {"or with a feature",
     GPUS "attn_fwd gpu=gfx942 dtype=f16 dim=256 dim_v=128 unaligned=no score=no paged=yes" ROW_END,
     "m.def:3: dim_v=128 is less than dim, and of attn_fwd beyond dim=128 on wave64 with 32 rows "
     "for each wave, without features"},
    {"all channels in LDS, with all terms",
     GPUS "attn_fwd gpu=gfx942 dtype=f16 dim=256 unaligned=no score=yes paged=no" ROW_END,
     "m.def:3: attn_fwd beyond dim=128 with 32 rows for each of waves=4 knows one term at most, "
     "and each of 256 threads carries whole lines of 64 channels of K, and 2, 4 or 8 rows of V"},
    {"or too many of them for a thread's rows of V",
     GPUS "attn_fwd gpu=gfx942 dtype=f16 dim=192 unaligned=no score=no paged=no" ROW_END,
     "m.def:3: attn_fwd beyond dim=128 with 32 rows for each of waves=4 knows one term at most, "
     "and each of 256 threads carries whole lines of 64 channels of K, and 2, 4 or 8 rows of V"},
    {"GPU twice", GOOD GPUS, "m.def:5: gfx942 is already declared in line 1"},
    {"GPU without a name", "gpu targets=gfx90a" GPU90 "\n", "m.def:1: 'gpu' needs a name"},
    {"no GPU's name", GPU("radeon targets=radeon" GPU90), "m.def:1: 'radeon' is no name of a GPU"},
    {"foreign target", GPU("gfx90a targets=gfx942" GPU90),
     "m.def:1: target 'gfx942' is not one of gfx90a"},
    {"longer name as target", GPU("gfx90a targets=gfx90ab" GPU90),
     "m.def:1: target 'gfx90ab' is not one of gfx90a"},
    {"unknown feature", GPU("gfx90a targets=gfx90a:xnak+" GPU90),
     "m.def:1: unknown feature in target 'gfx90a:xnak+'"},
    {"feature without a sign", GPU("gfx90a targets=gfx90a:xnack" GPU90),
     "m.def:1: unknown feature in target 'gfx90a:xnack'"},
    {"features out of order", GPU("gfx90a targets=gfx90a:xnack+:sramecc+" GPU90),
     "m.def:1: features of target 'gfx90a:xnack+:sramecc+' must be in alphabetical order"},
    {"ambiguous targets", GPU("gfx90a targets=gfx90a,gfx90a:xnack+" GPU90),
     "m.def:1: targets 'gfx90a' and 'gfx90a:xnack+' would both fit a device"},
    {"target twice", GPU("gfx90a targets=gfx90a,gfx90a" GPU90),
     "m.def:1: target 'gfx90a' is given twice"},
    {"misspelt GPU key", GPU("gfx90a targets=gfx90a wafe=64 registers=512 lds=65536"),
     "m.def:1: unknown key 'wafe'; did you mean 'wave'?"},
    {"odd wave", GPU("gfx90a targets=gfx90a wave=48 registers=512 register_pool=512 lds=65536"),
     "m.def:1: wave=48 is not a multiple of 32"},
    {"continued to the end", GPUS ROW("gfx942") "attn_fwd \\\n gpu=gfx942 \\",
     "m.def:4: 'attn_fwd' lacks: dtype dim unaligned"},
};

static void test_faults(void)
{
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct matrix m;
        int errors;
        char *printed = parse(&m, faults[i].text, &errors);
        ok(errors > 0 && !m.kernels && !m.gpus, "%s: refused, nothing kept", faults[i].name);
        contains(printed, faults[i].message, faults[i].name);
        free(printed);
    }
}

/* All faults at once, so that one run tells them all. */
static void test_several(void)
{
    struct matrix m;
    int errors;
    char *printed = parse(&m, GPUS "atn_fwd\n\nattn_fwd gpu=gfx1 dtype=f16\n", &errors);
    is_int(errors, 2, "every fault is counted");
    contains(printed, "m.def:3: ", "the first fault");
    contains(printed, "m.def:5: ", "and the next");
    free(printed);
}

/* The general kernels of an operation: any head dim, any alignment, every feature. */
static int is_general(const struct matrix_kernel *k, int dim, int paged)
{
    return k->dim >= dim && k->unaligned == MATRIX_UNALIGNED_YES && k->score == MATRIX_SCORE_YES &&
           k->paged >= paged;
}

/* Whether an operation is there for some problems only, beside others that serve all. */
static int is_special(int op)
{
    return op == FORMAT_OP_ATTN_BWD_FUSED || op == FORMAT_OP_ATTN_BWD_BEGIN;
}

/* Every legal problem finds a kernel on every GPU: see the limits in aothip.h. */
static void test_shipped(const char *file)
{
    struct matrix m;
    is_int(matrix_read(&m, file, stderr), 0, "images/matrix.def has no errors");
    for (int g = 0; g < m.gpu_count; g++)
        for (int op = FORMAT_OP_ATTN_FWD; op < FORMAT_OP_END; op++)
            for (int dtype = AOTHIP_F32; dtype <= AOTHIP_BF16 && !is_special(op); dtype++) {
                int served = 0, paged = op <= FORMAT_OP_ATTN_PROBS;
                for (int i = 0; i < m.kernel_count; i++) {
                    const struct matrix_kernel *k = &m.kernels[i];
                    served |= matrix_serves(&m, k, g) && k->op->format_op == op &&
                              k->dtype == dtype && is_general(k, 512, paged);
                }
                ok(served, "images/matrix.def serves every problem: %s, operation %d, dtype %d",
                   m.gpus[g].name, op, dtype);
            }
    ok(m.gpu_count >= 4, "images/matrix.def knows the four GPUs");
    matrix_free(&m);
}

int main(void)
{
    struct matrix m;
    const char *srcdir = getenv("srcdir");
    char file[4096];
    snprintf(file, sizeof(file), "%s/images/matrix.def", srcdir ? srcdir : ".");
    test_good();
    test_choice();
    test_leave_out();
    test_sibling();
    test_axes();
    test_narrow();
    test_macros();
    test_faults();
    test_several();
    test_shipped(file);
    FILE *null = fopen("/dev/null", "w");
    is_int(matrix_read(&m, "/nonexistent/matrix.def", null), 1, "a missing file is an error");
    fclose(null);
    return tap_done();
}
