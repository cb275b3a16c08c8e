/*
 * CARRIES_BOTH: how the tiles of walk_operands.h come to LDS where each thread carries the same
 * quad of channels of four rows of both streamed tensors, and X0 alone is wanted as columns, too.
 * Half of the perms and six stores instead of eight, and no wave waits for those that turn X0.
 */
#ifndef AOTHIP_ATTN_BWD_WALK_QUADS_H
#define AOTHIP_ATTN_BWD_WALK_QUADS_H

/* A tensor that streams by: rows of it; the next tile to load; bytes that a whole one has, and the
 * last one. Uniform. */
struct streamed {
    struct rows mine;
    char *first;
    u32 bytes, rest;
};

/* What streams by, for one query head. Uniform. */
struct stream {
    struct streamed x[2];
    int tile, tiles; /* the next one; of whole ones there are some */
};

DEVICE void set_rows(struct stream &x, const struct rows &x0, const struct rows &x1)
{
    x.x[0].mine = x0;
    x.x[1].mine = x1;
}

/* What a tile of `rows` rows has. */
DEVICE u32 span_of(const struct rows &x, int rows)
{
    return rows > 0 ? (u32)(rows - 1) * (u32)x.pitch + (u32)x.dim * 2 : 0;
}

/* Goes to tile `tile`; to the next one. */
DEVICE void rewind(struct stream &x, int tile, int end)
{
    x.tile = tile;
    x.tiles = end / STREAM_ROWS;
#pragma unroll
    for (int t = 0; t < 2; t++) {
        struct streamed &y = x.x[t];
        y.first = view_of(y.mine, tile * STREAM_ROWS, end).first;
        y.bytes = span_of(y.mine, STREAM_ROWS);
        y.rest = span_of(y.mine, end % STREAM_ROWS);
    }
}

DEVICE void advance(struct stream &x)
{
    x.tile++;
#pragma unroll
    for (int t = 0; t < 2; t++)
        x.x[t].first += x.x[t].mine.pitch * STREAM_ROWS;
}

/* What a thread carries: a quad of channels of UNIT_ROWS rows, of both tensors. Eight neighbours
 * have half of a row's first 64 channels, or its last, the next eight that of other rows, and so
 * both fill the banks: see lds_tiles.h. */
struct duty {
    u32 row, quad;
};

constexpr int QUAD_BYTES = 8;

DEVICE struct duty duty_of(u32 unit)
{
    static_assert(UNIT_ROWS == 4 && SLAB == 128, "all of a tile");
    return {(unit / 8 % 2 + unit / 64 * 2) * 4, unit % 8 + unit / 16 % 4 * 8};
}

/* The thread's duty in one register. */
DEVICE u32 pack_duty(const struct duty &x)
{
    return x.row | x.quad << 8;
}

DEVICE struct duty unpack_duty(u32 x)
{
    x = stay_here(x);
    return {x % 256, x >> 8};
}

struct cargo {
    u32x2 quad[2][UNIT_ROWS];
};

/* The stream's tile, on its way. */
DEVICE void load_cargo(struct cargo &to, const struct duty &duty, const struct stream &x, int)
{
    const bool whole = x.tile < x.tiles, some = x.tile == x.tiles;
#pragma unroll
    for (int t = 0; t < 2; t++) {
        const struct streamed &y = x.x[t];
        const u32 beyond = some ? y.rest : 0;
        const __amdgpu_buffer_rsrc_t from = __builtin_amdgcn_make_buffer_rsrc(
            y.first, 0, (int)(whole ? y.bytes : beyond), DESCRIPTOR_WORD3);
        const u32 offset = offset_of(y.mine, duty.row, duty.quad * 4);
#pragma unroll
        for (u32 n = 0; n < UNIT_ROWS; n++)
            to.quad[t][n] = __builtin_amdgcn_raw_buffer_load_b64(
                from, (int)(offset + n * (u32)y.mine.pitch), 0, 0);
    }
}

/* Where a thread stores what it carries. */
struct stores {
    char *row[2], *turned;
};

DEVICE struct stores find_stores(const struct duty &duty)
{
    const u32 at = duty.row * ROW_BYTES + duty.quad * QUAD_BYTES;
    return {{held_place(row_tile[0] + at), held_place(row_tile[1] + at)},
            held_place(turned_tile[0] + turned_quad_at(duty.quad * 4, duty.row / 4))};
}

/* Quads of channels of four rows as rows, and as columns. */
DEVICE void store_rows(char *to, const u32x2 (&x)[UNIT_ROWS])
{
#pragma unroll
    for (int n = 0; n < UNIT_ROWS; n++)
        *(u32x2 *)(to + n * ROW_BYTES) = x[n];
}

DEVICE void store_turned(char *to, const u32x2 (&x)[UNIT_ROWS])
{
    const int pair = VT_PAIR_STEP, next = 3 - pair; /* (0, pair), (next, last) */
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const u32 select = i % 2 ? UPPER_HALVES : LOWER_HALVES;
        *(u32x2 *)(to + turned_step(i)) =
            u32x2{__builtin_amdgcn_perm(x[pair][i / 2], x[0][i / 2], select),
                  __builtin_amdgcn_perm(x[3][i / 2], x[next][i / 2], select)};
    }
}

template <enum lse_form>
DEVICE void store_cargo(struct cargo &from, const struct duty &, const struct stream &,
                        const struct stores &to)
{
    store_rows(to.row[0], from.quad[0]);
    store_turned(to.turned, from.quad[0]);
    store_rows(to.row[1], from.quad[1]);
}

#endif
