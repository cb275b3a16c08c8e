/*
 * Arguments changed at random: whatever a caller sends is refused with a text or becomes a launch
 * within HIP's limits, and nothing on the way overflows (the sanitizers watch).
 */
#include <stdlib.h>

#include "args.h"
#include "fake_problem.h"
#include "select.h"
#include "tap.h"
#include "validate.h"

enum { ROUNDS = 40000, WORDS_FWD = sizeof(struct aothip_attn_fwd_params) / 4 };

static const unsigned seed = 20261121;
static uint64_t state;
static int refused, accepted, broken, sound;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

/* What breaks arithmetic, and what is legal in many places. */
static int64_t draw_value(void)
{
    static const int64_t values[] = {0,
                                     1,
                                     2,
                                     3,
                                     16,
                                     64,
                                     100,
                                     255,
                                     4096,
                                     1 << 20,
                                     1 << 30,
                                     (1 << 30) + 1,
                                     INT32_MAX,
                                     INT32_MIN,
                                     -1,
                                     -2,
                                     (int64_t)1 << 48,
                                     ((int64_t)1 << 48) + 1,
                                     INT64_MAX,
                                     INT64_MIN,
                                     0x3f000000,
                                     0x7f800000,
                                     0x10000000,
                                     0x40000040,
                                     0x50000004,
                                     0x600000000};
    return values[draw(sizeof(values) / sizeof(values[0]))];
}

static void change(void *memory, uint32_t words)
{
    char *bytes = memory;
    for (uint32_t i = 1 + draw(4); i > 0; i--) {
        const int64_t value = draw_value();
        const uint32_t word = 2 + draw(words - 2); /* not struct_size, but for its test elsewhere */
        if (word % 2 == 0 && word + 2 <= words && draw(2))
            memcpy(bytes + 4 * word, &value, 8);
        else
            memcpy(bytes + 4 * word, &value, 4);
    }
}

/* A problem with a few of the options, none of them wrong. */
static struct aothip_attn_fwd_params draw_problem(void)
{
    static void (*const options[])(struct aothip_attn_fwd_params *) = {
        problem_add_bias,  problem_add_keep, problem_drop,
        problem_add_probs, problem_append,   problem_rotate};
    static void (*const shapes[])(struct aothip_attn_fwd_params *) = {problem_pack, problem_page,
                                                                      problem_decode};
    struct aothip_attn_fwd_params p = problem_make();
    if (draw(3) == 0)
        shapes[draw(3)](&p);
    else
        for (int i = 0; i < 6; i++)
            if (draw(4) == 0)
                options[i](&p);
    p.mask = (int32_t)draw(6);
    return p;
}

/* That the quick way of telling a sound problem never errs. */
static void check_sound(const struct aothip_attn_fwd_params *p)
{
    struct validate_fwd checked = {.params = p};
    struct status why;
    status_clear(&why);
    if (!validate_is_sound(&checked))
        return;
    sound++;
    if (validate_examine(&checked, &why) && !broken++)
        tap_diag("sound, it seems, but: %s", why.text);
}

/* That a grid which args accepted can be launched. */
static void check_grid(const struct args_grid *grid, const struct status *why)
{
    if (why->code) {
        broken += why->code != AOTHIP_E_UNSUPPORTED || !why->text[0];
        return;
    }
    broken += (uint64_t)grid->x * grid->threads > UINT32_MAX || grid->y > 65535 || grid->z > 65535;
}

/* Arguments and needs of every kernel for a problem that passed. */
static void fill_fwd(const struct validate_fwd *checked)
{
    static const struct format_entry entry = {
        .tile_q = 64, .tile_k = 64, .threads = 256, .symbol = "fuzz"};
    const struct aothip_attn_fwd_params *p = checked->params;
    const int32_t splits = p->splits > 1 ? p->splits : 8;
    const struct args_workspace workspace = args_fwd_workspace(p, splits);
    union args_any args;
    struct args_grid grid = {0, 0, 0, 0};
    const struct args_order order = {draw(2) * (1 + draw(500)), draw(2) * (1 + draw(5000))};
    struct status why;
    select_need_attn_fwd(p, checked->plain);
    status_clear(&why);
    if (p->k.size[1]) {
        args_attn_fwd(p, checked->plain, &order, &entry, &args.fwd, &grid, &why);
        check_grid(&grid, &why);
        broken += why.code == AOTHIP_OK && args.problem.batch < 0;
    }
    status_clear(&why);
    if (p->k.size[1] && workspace.size < ((uint64_t)1 << 48)) {
        args_attn_split(p, &workspace, splits, 0, &entry, &args.split, &grid, &why);
        check_grid(&grid, &why);
    }
    status_clear(&why);
    args_attn_append(p, &workspace, &entry, &args.append, &grid, &why);
    check_grid(&grid, &why);
    status_clear(&why);
    if (p->probs.data) {
        args_attn_probs(p, &entry, &args.probs, &grid, &why);
        check_grid(&grid, &why);
    }
}

static void fuzz_fwd(void)
{
    struct aothip_attn_fwd_params p = draw_problem();
    struct validate_fwd checked;
    struct status why;
    status_clear(&why);
    change(&p, WORDS_FWD);
    check_sound(&p);
    if (validate_attn_fwd(&p, &checked, &why)) {
        refused++;
        broken += !why.text[0];
        return;
    }
    accepted++;
    fill_fwd(&checked);
}

static void fuzz_bwd(void)
{
    static const struct format_entry entries[] = {
        {.op = FORMAT_OP_ATTN_BWD_DELTA, .tile_q = 64, .tile_k = 64, .threads = 256},
        {.op = FORMAT_OP_ATTN_BWD_DKDV, .tile_q = 64, .tile_k = 64, .threads = 256},
        {.op = FORMAT_OP_ATTN_BWD_DBIAS, .tile_q = 64, .tile_k = 64, .threads = 256},
        {.op = FORMAT_OP_ATTN_BWD_DSCALAR, .tile_q = 64, .tile_k = 64, .threads = 256},
        {.op = FORMAT_OP_ATTN_BWD_SUM, .tile_q = 16, .tile_k = 64, .threads = 64},
        {.op = FORMAT_OP_ATTN_BWD_FUSED, .tile_q = 32, .tile_k = 128, .threads = 256},
        {.op = FORMAT_OP_ATTN_BWD_BEGIN, .tile_q = 64, .tile_k = 16, .threads = 256}};
    static const struct args_parts shared = {4, 2, 3, 64, 1};
    struct aothip_attn_fwd_params p = problem_make();
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &p};
    struct validate_bwd checked;
    struct status why;
    b.d_o = problem_tensor(0xb0000000, 2, 8, 100, 64);
    b.dq = problem_tensor(0xb1000000, 2, 8, 100, 64);
    b.dk = problem_tensor(0xb2000000, 2, 2, 300, 64);
    b.dv = problem_tensor(0xb3000000, 2, 2, 300, 64);
    if (draw(2))
        change(&p, WORDS_FWD);
    if (draw(2))
        change(&b, sizeof(b) / 4);
    b.fwd = &p;
    status_clear(&why);
    if (validate_attn_bwd(&b, &checked, &why)) {
        refused++;
        broken += !why.text[0];
        return;
    }
    accepted++;
    for (int i = 0; i < 5; i++) {
        struct attn_bwd_share_args args;
        struct args_bwd_room room;
        struct args_grid grid = {0, 0, 0, 0};
        const struct args_order order = {draw(2) * (1 + draw(500)), draw(2) * (1 + draw(5000))};
        if (entries[i].op == FORMAT_OP_ATTN_BWD_DBIAS && !checked.params->dbias.data)
            continue;
        args_bwd_room(checked.params, checked.fwd.params, &shared, 0xc0000000, &room);
        status_clear(&why);
        args_attn_bwd(checked.params, checked.fwd.params, &room, &order, &entries[i], &args, &grid,
                      &why);
        check_grid(&grid, &why);
    }
}

static void fuzz_merge(void)
{
    static const struct format_entry entry = {.tile_q = 64, .threads = 256, .symbol = "fuzz"};
    struct aothip_attn_merge_params p = problem_merge();
    struct attn_merge_part_args args;
    struct args_grid grid = {0, 0, 0, 0};
    struct validate_merge checked;
    struct status why;
    change(&p, sizeof(p) / 4);
    status_clear(&why);
    if (validate_attn_merge(&p, &checked, &why)) {
        refused++;
        broken += !why.text[0];
        return;
    }
    accepted++;
    select_need_merge(checked.params);
    args_attn_merge(checked.params, &entry, &args, &grid, &why);
    check_grid(&grid, &why);
}

int main(void)
{
    tap_diag("seed %u", seed);
    state = seed;
    for (int i = 0; i < ROUNDS; i++)
        fuzz_fwd();
    ok(!broken, "%d forward problems accepted, %d refused, all in order", accepted, refused);
    ok(accepted > ROUNDS / 20 && refused > ROUNDS / 20, "a good many of each");
    ok(sound > accepted / 2, "%d of those accepted without a closer look", sound);
    refused = accepted = 0;
    for (int i = 0; i < ROUNDS; i++)
        fuzz_bwd();
    ok(!broken, "%d backward problems accepted, %d refused, all in order", accepted, refused);
    ok(accepted > ROUNDS / 20 && refused > ROUNDS / 20, "a good many of each");
    refused = accepted = 0;
    for (int i = 0; i < ROUNDS; i++)
        fuzz_merge();
    ok(!broken, "%d merges accepted, %d refused, all in order", accepted, refused);
    ok(accepted > ROUNDS / 20 && refused > ROUNDS / 20, "a good many of each");
    return tap_done();
}
