/*
 * Q of FP8, which becomes elements of 16 bits on its way to where load_q() brings it. A part of
 * query_rows.h.
 */
#ifndef AOTHIP_FWD_QUERY_CODES_H
#define AOTHIP_FWD_QUERY_CODES_H

static_assert(MMA_STRAIGHT || KERNEL_WAVE == 64, "an operand is a chunk");

/* Where one of the chunks that this thread brings lies in the tile, and in LDS if it goes there. */
struct q_place {
    u32 row, channel;
    char *to;
};

#if Q_IN_LDS

constexpr int Q_LOADS = STAGES * KERNEL_TILE_Q * CHUNKS / THREADS;

DEVICE struct q_place q_place_of(int i)
{
    const u32 rows = THREADS / CHUNKS, loads = KERNEL_TILE_Q / rows, chunk = thread_id() % CHUNKS;
    const u32 row = thread_id() / CHUNKS + (u32)i % loads * rows, stage = (u32)i / loads;
    return {row, stage * STAGE_DIM + chunk * CHUNK,
            q_tile + stage * Q_STAGE_BYTES + row * Q_ROW_BYTES + chunk * CHUNK_BYTES};
}

#else

constexpr int Q_LOADS = STAGES * QK_STEPS;

DEVICE struct q_place q_place_of(int i)
{
    return {TEAM_ID * COLUMNS + lane_column(), DEPTH * (u32)i + CHUNK * lane_half(), nullptr};
}

#endif

/* As many are on their way at once. */
constexpr int Q_AT_ONCE = Q_LOADS < 8 ? Q_LOADS : 8;

DEVICE void load_q_codes(struct queries &q, const struct job &job, const struct sequence &sequence,
                         const struct attn_problem &a, u32 sign)
{
    const struct slice slice = {fp8_row_of_q(a, sequence, job.head, job.first_row), a.q_stride.seq,
                                a.dim_qk};
    const auto rows = describe_codes({slice.base, rows_of(job)}, slice, 0);
    const bool e4m3 = late_fp8().q_dtype == FP8_NATIVE_E4M3;
#pragma unroll
    for (int first = 0; first < Q_LOADS; first += Q_AT_ONCE) {
        u32x2 codes[Q_AT_ONCE];
        u32x4 x[Q_AT_ONCE];
#pragma unroll
        for (int i = 0; i < Q_AT_ONCE; i++) {
            const struct q_place at = q_place_of(first + i);
            codes[i] = __builtin_amdgcn_raw_buffer_load_b64(
                rows, (int)code_offset(slice, at.row, at.channel), 0, 0);
        }
        if (e4m3)
            elements_of_codes<FP8_NATIVE_E4M3>(x, codes);
        else
            elements_of_codes<FP8_NATIVE_E5M2>(x, codes);
#pragma unroll
        for (int i = 0; i < Q_AT_ONCE; i++)
#if Q_IN_LDS
            *(u32x4 *)q_place_of(first + i).to = TIMES_SIGN(x[i], sign);
#else
            q.frag[first + i] = TIMES_SIGN(x[i], sign);
#endif
    }
    (void)q;
}

#endif
