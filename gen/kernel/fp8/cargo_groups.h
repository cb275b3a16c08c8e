/*
 * V of FP8 on its way to LDS: four rows of a group of V_GROUP channels a thread. Included by
 * cargo_store.h, in whose and cargo_aligned.h's place these are.
 */
#ifndef AOTHIP_CARGO_GROUPS_H
#define AOTHIP_CARGO_GROUPS_H

/* v_perm: bytes 0 and 1, or 2 and 3, of two registers in turn, the second argument's first. */
#define LOWER_TURNS 0x05010400u
#define UPPER_TURNS 0x07030602u

DEVICE void load_words(u32x2 &to, __amdgpu_buffer_rsrc_t from, u32 offset, int further)
{
    to = __builtin_amdgcn_raw_buffer_load_b64(from, (int)offset, further, 0);
}

DEVICE void load_words(u32x4 &to, __amdgpu_buffer_rsrc_t from, u32 offset, int further)
{
    to = __builtin_amdgcn_raw_buffer_load_b128(from, (int)offset, further, 0);
}

/* The rows of a view from `offset` on: one after the other. */
template <enum rows_exist exist>
DEVICE void load_groups(v_words (&to)[4], struct tile_view view, const struct slice &x, u32 offset)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const bool all = exist == ROWS_ALL;
        load_words(to[i], describe(view, x, all ? 0 : i), offset, all ? i * (int)x.pitch : 0);
    }
}

template <enum rows_exist exist>
DEVICE void load_v(struct cargo &to, const struct courier &c, const struct slice &v,
                   const struct tile_views &from)
{
    static_assert(RUNS == 1 || (RUNS == 2 && KERNEL_WAVE == 64), "a half of the lanes has a run");
    if (RUNS == 1 || vt_has_first_run())
        load_groups<exist>(to.v, from.v[0], v, c.v_from);
    else
        load_groups<exist>(to.v, from.v[RUNS - 1], v, c.v_from);
}

/* If asked to, makes V that is not finite 0; returns whether any lane had to. See contain.h. */
DEVICE bool isolate_v(struct cargo &x, bool wanted)
{
    u32 any = 0;
    if (!wanted)
        return false;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < V_WORDS; j++) {
            const u32 bad = select_nonfinite(x.v[i][j]);
            x.v[i][j] &= ~bad;
            any |= bad;
        }
    return in_any_lane(any != 0);
}

/* Four rows of a group of channels become as many rows of a quad of keys. */
DEVICE void store_v(char *tile, const struct cargo &from, const struct courier &c)
{
#pragma unroll
    for (int word = 0; word < V_WORDS; word++) {
        const u32 x0 = from.v[0][word], x1 = from.v[1][word];
        const u32 x2 = from.v[2][word], x3 = from.v[3][word];
        const u32 turns[4] = {
            __builtin_amdgcn_perm(x1, x0, LOWER_TURNS), __builtin_amdgcn_perm(x3, x2, LOWER_TURNS),
            __builtin_amdgcn_perm(x1, x0, UPPER_TURNS), __builtin_amdgcn_perm(x3, x2, UPPER_TURNS)};
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int i = 4 * word + j;
            *(u32 *)(tile + c.vt_at[i % VT_COLUMNS] + vt_channel_step(i)) = __builtin_amdgcn_perm(
                turns[j / 2 * 2 + 1], turns[j / 2 * 2], j % 2 ? UPPER_HALVES : LOWER_HALVES);
        }
    }
}

#endif
