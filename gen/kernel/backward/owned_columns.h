/*
 * The wave's columns of the owned tensors of stream_walk.h: where they are held throughout a walk,
 * in registers or LDS, and how they become operands.
 */
#ifndef AOTHIP_ATTN_BWD_OWNED_H
#define AOTHIP_ATTN_BWD_OWNED_H

/*
 * Of V that comes again, LDS has room for some: the lane's chunks of the first KEPT_STEPS of
 * owned_frag(). What comes from memory is then on its way while those are multiplied.
 */
#define KEPT_STEPS (OWNED_AGAIN && KERNEL_DIM == 128 ? 3 : 0)

static SHARED u32x4 kept_chunk[KEPT_STEPS ? KEPT_STEPS : 1][KEPT_STEPS ? THREADS : 1];

/* The wave's columns of the owned tensors. */
struct owned {
    int first, end; /* the wave's first column; that behind the workgroup's last existing one */
    block_frag frag[2][OWNED_IN_LDS ? 1 : WALK_DIM / 16];
#if LIFTS && !OWNS_KEYS
    struct lift lift; /* of the lane's row */
#endif
#if SUMS_DQ
    block_frag turned[OWNED_ROWS * WALK_BLOCKS / KERNEL_WAVES / 16]; /* of K: fused_walk.h */
#endif
#if OWNED_AGAIN
    __amdgpu_buffer_rsrc_t buffer; /* of V */
    u32 pitch, again;              /* of V; where the lane's first chunk of it lies in the buffer */
    int dim, room;                 /* of V; channels from there to the row's end */
#endif
};

DEVICE struct rows owned_rows(const struct attn_bwd_args &args, const struct place &p, int t)
{
    if (OWNS_KEYS)
        return t == 0 ? k_rows(args, p) : v_rows(args, p);
    return t == 0 ? q_rows(args, p) : do_rows(args, p);
}

#if LIFTS && !OWNS_KEYS
/* Lifts dO of the lane's row. */
DEVICE void lift_owned(struct owned &y)
{
    const u32 pair = lift_pair_of(y.lift.d_o);
#pragma unroll
    for (int step = 0; step < WALK_DIM / 16; step++)
        y.frag[1][step] = lift_chunk(y.frag[1][step], pair);
}
#endif

/* Slab `slab` of the wave's columns of owned tensor t. */
DEVICE void load_owned(struct owned &y, const struct place &p, int t, int slab)
{
    const struct rows x = owned_rows(args_here(), p, t);
    const struct rows_view view = view_of(x, awaited_long(y.first), awaited_long(y.end));
#if OWNED_AGAIN
    if (t == 1) {
        y.buffer = describe(view, x);
        y.pitch = stay_apart((u32)x.pitch);
        y.dim = stay_apart(x.dim);
        const u32 lane = lane_id();
#pragma unroll
        for (int step = 0; step < KEPT_STEPS; step++)
            kept_chunk[step][thread_id()] =
                load_chunk(view, x, lane % BLOCK, 16 * step + CHUNK * (lane / BLOCK));
        return;
    }
#endif
#if OWNED_IN_LDS
#pragma unroll 1
    for (u32 at = lane_id(); at < BLOCK * SLAB_CHUNKS; at += KERNEL_WAVE) {
        u32 row = at / SLAB_CHUNKS, chunk = at % SLAB_CHUNKS;
        *(u32x4 *)(owned_tile[t] + row_chunk_at(wave_id() * BLOCK + row, chunk)) =
            load_chunk(view, x, row, (u32)slab * SLAB + chunk * CHUNK);
    }
#else
    const u32 lane = stay_here(lane_id());
#pragma unroll
    for (int step = 0; step < SLAB_STEPS; step++)
        y.frag[t][slab % WALK_SLABS * SLAB_STEPS + step] = load_chunk(
            view, x, lane % BLOCK, (u32)slab * SLAB + 16 * step + CHUNK * (lane / BLOCK));
#if LIFTS && !OWNS_KEYS
    if (OWNED_PER_TILE && t == 1)
        lift_owned(y);
#endif
#endif
}

/* All slabs of both owned tensors, where they are held throughout the walk. */
DEVICE void hold_owned(struct owned &y, const struct place &p)
{
#pragma unroll
    for (int slab = 0; slab < WALK_SLABS; slab++) {
        load_owned(y, p, 0, slab);
        load_owned(y, p, 1, slab);
    }
}

DEVICE block_frag owned_frag(const struct owned &y, int t, int slab, int step)
{
    if (OWNED_IN_LDS)
        return row_frag(owned_tile[t], (int)wave_id(), step);
#if OWNED_AGAIN
    if (t == 1) {
        step += slab * SLAB_STEPS;
        if (step < KEPT_STEPS)
            return kept_chunk[step][stay_here(thread_id())];
        return load_chunk_at(y.buffer, 16 * step < y.room ? y.again : NOWHERE, 32 * step);
    }
#endif
    return y.frag[t][slab % WALK_SLABS * SLAB_STEPS + step];
}

/* Where V comes from again; anew in each step, or V would be loaded once, and spilled. */
DEVICE void find_again(struct owned &y)
{
#if OWNED_AGAIN
    const u32 lane = stay_here(lane_id());
    y.again = lane % BLOCK * y.pitch + CHUNK_BYTES * (lane / BLOCK);
    y.room = y.dim - CHUNK * (int)(lane / BLOCK);
#else
    (void)y;
#endif
}

#endif
