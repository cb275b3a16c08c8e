/* v3 of the C++ names, forward: versions, windows, dropout, sequences. */
#include "shim_calls_v3.h"

#include <new>
#include <type_traits>

namespace calls_v3_forward
{

#if AOTRITON_VERSION_MINOR >= 10

using namespace calls_v3;
using namespace ao::v3::flash;

static const aothip_attn_fwd_params &got = fake_aothip.fwd;

static hipError_t attend(const attn_fwd_params &p)
{
    return attn_fwd(p, fwd_version, nullptr);
}

/* The constructor runs in the library: it writes the struct and not a byte more. */
template <typename Params> static const Params *construct(const char *name)
{
    alignas(16) static unsigned char room[64 + sizeof(Params) + 64];
    int touched = 0;
    std::memset(room, 0xa5, sizeof(room));
    const Params *const made = new (room + 64) Params;
    for (std::size_t i = 0; i < 64; i++)
        touched += room[i] != 0xa5 || room[64 + sizeof(Params) + i] != 0xa5;
    is_int(touched, 0, name);
    return made;
}

static void test_constructors()
{
    const auto *fwd = construct<attn_fwd_params>("16.2 #16: attn_fwd_params() keeps to its struct");
    ok(!fwd->Q && !fwd->K && !fwd->V && !fwd->B && !fwd->A && !fwd->L && !fwd->Out &&
           !fwd->encoded_softmax && !fwd->persistent_atomic_counter && !fwd->philox_seed_output,
       "16.2 #16: views are null");
    ok(fwd->Q.dtype() == ao::kUnknown && !fwd->Max_seqlen_q && !fwd->Max_seqlen_k,
       "16.2 #16: and zeros");
    const auto *bwd = construct<attn_bwd_params>("16.2 #16: attn_bwd_params() keeps to its struct");
    ok(!bwd->D && !bwd->DB && !bwd->L && !bwd->Max_seqlen_q, "16.2 #16: lazy tensors are null");
#if AOTRITON_VERSION_MINOR >= 11
    ok(!bwd->DQ_ACC && !bwd->DQ_ACC.cookie && !bwd->D.acquire && !bwd->D.dispose,
       "16.2 #16: in every member");
#endif
#if AOTRITON_VERSION_MINOR >= 14
    unsigned word = 1;
    std::memcpy(&word, &fwd->varlen_bits, sizeof(word));
    is_int(word, 0, "16.5 #44: varlen_bits");
#else
    ok(!fwd->varlen_type && !bwd->varlen_type && !fwd->cu_seqlens_q, "varlen_type");
#endif
    ok(std::is_trivially_copyable_v<attn_fwd_params> && std::is_trivially_copyable_v<T4> &&
           std::is_trivially_copyable_v<ao::Stream>,
       "16.2 #13: passed as plain structs");
    static_assert(attn_fwd_params::kVersion == fwd_version, "version");
    static_assert(attn_bwd_params::kVersion == bwd_version, "version");
}

static void test_versions()
{
    const auto &unreadable = *static_cast<const attn_fwd_params *>(forbidden());
    const attn_fwd_params p = make_fwd();
    for (std::int32_t version = -1; version < 9; version++) {
        fake_aothip_reset();
        if (accepts_fwd(version)) {
            is_int(attn_fwd(p, version, nullptr), hipSuccess, "16.2 #17: a version that is served");
            is_int(fake_aothip.fwd_calls, 1, "16.5 #40 to #44: with its struct");
        } else {
            is_int(attn_fwd(unreadable, version, nullptr), hipErrorInvalidSymbol,
                   "16.2 #17: another version, no field read");
            is_int(fake_aothip.fwd_calls, 0, "16.2 #17: no GPU work");
        }
    }
    is_int(attn_fwd(p, fwd_version, nullptr, static_cast<const attn_options *>(forbidden())),
           hipSuccess, "16.2 #18: options are not read");
}

static void test_dense()
{
    attn_fwd_params p = make_fwd();
    fake_aothip_reset();
    is_int(attn_fwd(p, fwd_version, reinterpret_cast<hipStream_t>(0x77)), hipSuccess, "v3, dense");
    ok(is_at(got.q.data, 0x10000000) && is_at(got.k.data, 0x20000000) &&
           is_at(got.v.data, 0x30000000) && is_at(got.o.data, 0x40000000) &&
           is_at(got.lse, 0x50000000) && got.scale == 0.125f && is_at(fake_aothip.stream, 0x77),
       "tensors");
    is_int(got.mask, AOTHIP_MASK_NONE, "no mask");
    is_int(got.lse_base2, minor_version <= 10, "16.5 #40, #41: base of L");
    ok(!got.bias.data && !got.probs.data && !got.dropout_seed_pointer && !got.sequences, "bare");
    p.A = T2(0x1000, {2, 8}, {8, 1}, ao::kFloat32);
    p.philox_seed_ptr = T0(reinterpret_cast<std::intptr_t>(forbidden()), ao::kUInt64);
    p.philox_seed_output = p.philox_offset_output = p.philox_offset1 = p.philox_seed_ptr;
    p.persistent_atomic_counter = T0(reinterpret_cast<std::intptr_t>(forbidden()), ao::kInt32);
    is_int(attend(p), hipSuccess, "16.4 #30: whatever the counter is");
    ok(!got.dropout_seed_pointer && !got.dropout_offset_pointer && !got.dropout_seed_output &&
           !got.dropout_offset_output,
       "16.4 #27: p = 0: the pointers stay out");
    ok(!got.alibi_slopes, "A has no effect");
    p.dropout_p = 0.5f;
    p.philox_offset2 = 7;
    called(attend(p));
    ok(got.dropout_p == 0.5f && got.dropout_offset == 7 && got.dropout_seed == 0 &&
           is_at(got.dropout_seed_output, reinterpret_cast<std::uintptr_t>(forbidden())),
       "16.4 #28: dropout and its outputs");
    p.B = T4(0x60000000, {2, 8, 100, 300}, {0, 0, 0, 1}, ao::kFloat16);
    p.encoded_softmax = T4(0x61000000, {2, 8, 100, 300}, {240000, 30000, 300, 1}, ao::kFloat16);
    called(attend(p));
    ok(is_at(got.bias.data, 0x60000000) && got.bias.stride[2] == 0, "16.4 #26: an expanded bias");
    ok(is_at(got.probs.data, 0x61000000) && !got.probs_dropped, "16.4 #29: encoded_softmax");
    p.causal_type = 2;
    is_int(attend(p), hipErrorInvalidValue, "causal_type 2");
    p = make_fwd();
    const attn_fwd_params kept = p;
    called(attend(p));
    ok(!std::memcmp(&kept, &p, sizeof(p)), "the struct is as before");
    p.L = T2();
    called(attend(p));
    ok(!got.lse, "16.4 #24: a null L");
    p.L = T2(0x50000000, {16, 99}, {99, 1}, ao::kFloat32);
    is_int(attend(p), hipErrorInvalidValue, "16.4 #31: an L too small");
}

static void test_windows()
{
    constexpr std::int32_t top = WindowValue::TopLeftAligned, all = AOTHIP_WINDOW_UNBOUNDED;
    constexpr std::int32_t bottom = WindowValue::BottomRightAligned;
    static const struct {
        const char *what;
        std::int8_t type;
        std::int32_t given_left, given_right, mask, left, right;
    } cases[] = {
        {"None: the fields are not read", 0, 5, 6, AOTHIP_MASK_NONE, 0, 0},
        {"top-left", 3, top, top, AOTHIP_MASK_CAUSAL_TOP_LEFT, all, 0},
        {"bottom-right", 3, bottom, bottom, AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, all, 0},
        {"left top, right bottom", 3, top, bottom, AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, all, 0},
        {"left bottom, right top", 3, bottom, top, AOTHIP_MASK_CAUSAL_TOP_LEFT, all, 0},
        {"both sides, not swapped", 3, 17, 3, AOTHIP_MASK_WINDOW_TOP_LEFT, 17, 3},
        {"left alone", 3, 17, top, AOTHIP_MASK_WINDOW_TOP_LEFT, 17, 0},
        {"left with bottom-right", 3, 17, bottom, AOTHIP_MASK_WINDOW_MIXED, 17, 0},
        {"right alone", 3, top, 9, AOTHIP_MASK_WINDOW_TOP_LEFT, all, 9},
        {"right 0", 3, bottom, 0, AOTHIP_MASK_CAUSAL_TOP_LEFT, all, 0},
        {"negative left", 3, -4, 9, AOTHIP_MASK_WINDOW_TOP_LEFT, -4, 9},
        {"negative right", 3, 12, -1, AOTHIP_MASK_WINDOW_TOP_LEFT, 12, -1},
        {"-1 on both sides", 3, -1, -1, AOTHIP_MASK_WINDOW_TOP_LEFT, -1, -1},
    };
    for (const auto &test : cases) {
        attn_fwd_params p = make_fwd();
        p.causal_type = test.type;
        p.window_left = test.given_left;
        p.window_right = test.given_right;
        fake_aothip_reset();
        called(attend(p));
        ok(got.mask == test.mask &&
               (test.mask == AOTHIP_MASK_NONE ||
                (got.window_left == test.left && got.window_right == test.right)),
           "16.4 #25: %s: mask %d, %d, %d", test.what, got.mask, got.window_left, got.window_right);
        attn_bwd_params backward = make_bwd();
        backward.causal_type = test.type;
        backward.window_left = test.given_left;
        backward.window_right = test.given_right;
        called(attn_bwd(backward, bwd_version, nullptr));
        ok(got.mask == test.mask &&
               (test.mask == AOTHIP_MASK_NONE ||
                (got.window_left == test.left && got.window_right == test.right)),
           "16.4 #25: %s: backward alike", test.what);
    }
}

static void test_compact()
{
    attn_fwd_params p = make_fwd();
    make_packed(&p);
    set_lengths(&p, numbers(0x81, 4), numbers(0x82, 4));
#if AOTRITON_VERSION_MINOR >= 14
    p.varlen_bits = bits(0x0b0b);
#endif
    fake_aothip_reset();
    is_int(attend(p), hipSuccess, "16.4 #31: compact sequences, Max_seqlen_k = 0");
    ok(got.sequences == 3 && got.q_seqs.packed && got.k_seqs.packed && got.q_seqs.max == 60 &&
           is_at(got.q_seqs.cumulative, 0x81) && is_at(got.k_seqs.cumulative, 0x82) &&
           !got.q_seqs.starts && !got.q_seqs.lengths && !got.index64,
       "their places");
    is_int(got.k_seqs.max, 0, "16.4 #27: dropout does not depend on Max_seqlen_k");
    is_int(got.lse_layout, packed_lse ? AOTHIP_LSE_HEADS_COMPACT : AOTHIP_LSE_ROWS,
           "16.5 #41, #42: layout of L");
    is_int(got.lse_size, packed_lse ? 800 : 1440, "16.4 #31: nothing is written beyond L");
    p.L = T2(0x50000000, {8, 60}, {60, 1}, ao::kFloat32);
    called(attend(p));
    is_int(got.lse_size, 480, "16.4 #31: also where it is too small for the sequences");
    set_lengths(&p, numbers(0x81, 4, ao::kInt64), numbers(0x82, 4, ao::kInt64));
    called(attend(p));
    is_int(got.index64, 1, "arrays of int64");
    set_lengths(&p, numbers(0x81, 4, ao::kInt64), numbers(0x82, 4));
    is_int(attend(p), hipErrorInvalidValue, "mixed arrays are refused");
    set_lengths(&p, numbers(0x81, 4), numbers(0x82, 3));
    is_int(attend(p), hipErrorInvalidValue, "as are those of different length");
    set_lengths(&p, numbers(0x81, 4), T1());
    is_int(attend(p), hipErrorInvalidValue, "or none for the keys");
    set_lengths(&p, numbers(0x81, 4), numbers(0x82, 4));
    p.B = T4(0x60000000, {3, 8, 60, 90}, {43200, 5400, 90, 1}, ao::kFloat16);
    called(attend(p));
    is_int(got.k_seqs.max, 90, "a bias says how many columns it has");
}

static void test_padded()
{
    attn_fwd_params p = make_fwd();
    set_lengths(&p, numbers(0x81, 3), numbers(0x82, 3));
    p.Max_seqlen_q = 100;
    p.Max_seqlen_k = 300;
#if AOTRITON_VERSION_MINOR >= 14
    p.varlen_bits = bits(0x0202);
#else
    p.varlen_type = VarlenType::PaddedVarlen;
#endif
    fake_aothip_reset();
    is_int(attend(p), hipSuccess, "16.4 #32: padded sequences");
    ok(got.sequences == 2 && !got.q_seqs.packed && !got.k_seqs.packed && got.q_seqs.max == 100 &&
           is_at(got.q_seqs.cumulative, 0x81) && is_at(got.k_seqs.cumulative, 0x82) &&
           !got.q_seqs.starts && got.lse_layout == AOTHIP_LSE_ROWS,
       "their places");
}

#if AOTRITON_VERSION_MINOR >= 12
static void test_strided()
{
    attn_fwd_params p = make_fwd();
    make_packed(&p);
    set_lengths(&p, numbers(0x81, 4), numbers(0x82, 4));
    set_positions(&p, numbers(0x83, 4), numbers(0x84, 3));
#if AOTRITON_VERSION_MINOR >= 14
    p.varlen_bits = bits(0x1313);
#else
    p.varlen_type = VarlenType::StridedVarlen;
#endif
    fake_aothip_reset();
    is_int(attend(p), hipSuccess, "16.5 #42: strided sequences");
    ok(got.sequences == 3 && got.q_seqs.packed && is_at(got.q_seqs.starts, 0x83) &&
           is_at(got.k_seqs.starts, 0x84) && is_at(got.q_seqs.cumulative, 0x81) &&
           got.lse_layout == AOTHIP_LSE_HEADS_COMPACT,
       "their places");
    set_positions(&p, numbers(0x83, 3), numbers(0x84, 3));
    is_int(attend(p), hipErrorInvalidValue, "the pitch of L is missing");
}
#endif

#if AOTRITON_VERSION_MINOR >= 14
static void test_bits()
{
    enum { Q0 = 1, K0 = 2, Q1 = 4, K1 = 8 };
    static const struct {
        unsigned word, arrays;
        bool packed; /* q lies in one batch entry */
        hipError_t wanted;
        const char *what;
    } cases[] = {
        {0x0000, 0, false, hipSuccess, "dense"},
        {0x0000, Q0, false, hipErrorInvalidValue, "MAX with lengths"},
        {0x0b0b, Q0 | K0, true, hipSuccess, "compact"},
        {0x0b0b, Q0, true, hipErrorInvalidValue, "compact without lengths of k"},
        {0x0202, Q0 | K0, false, hipSuccess, "padded"},
        {0x0404, Q0 | K0, false, hipSuccess, "padded, lengths by themselves"},
        {0x1313, Q0 | K0 | Q1 | K1, true, hipSuccess, "strided"},
        {0x1313, Q0 | K0 | Q1, true, hipErrorInvalidValue, "strided without positions of k"},
        {0x150b, Q0 | K0 | K1, true, hipSuccess, "seqused_k"},
        {0x140b, Q0 | K0 | K1, true, hipErrorInvalidValue, "packed k as batch entries"},
        {0x0d0b, Q0 | K0, true, hipErrorInvalidValue, "REUSE with INDIVIDUAL"},
        {0x0808, 0, false, hipErrorInvalidValue, "REUSE with MAX"},
        {0x0606, Q0 | K0, false, hipErrorInvalidValue, "length 3"},
        {0x1818, Q1 | K1, false, hipErrorInvalidValue, "position 3"},
        {0x0b01, K0, true, hipErrorInvalidValue, "stacked q without lengths"},
        {0x2b0b, Q0 | K0, true, hipErrorInvalidValue, "a reserved bit of k"},
        {0x0b2b, Q0 | K0, true, hipErrorInvalidValue, "a reserved bit of q"},
        {0x40b0b, Q0 | K0, true, hipErrorInvalidValue, "a reserved bit"},
        {0x10b0b, Q0 | K0, true, hipSuccess, "L by rows"},
        {0x20b0b, Q0 | K0, true, hipErrorInvalidValue, "L of layout 2"},
    };
    for (const auto &test : cases) {
        attn_fwd_params p = make_fwd();
        attn_bwd_params b = make_bwd();
        if (test.packed)
            make_packed(&p), make_packed(&b);
        const std::uint64_t n = test.packed ? 4 : 3;
        set_lengths(&p, test.arrays & Q0 ? numbers(0x81, n) : T1(),
                    test.arrays & K0 ? numbers(0x82, n) : T1());
        set_positions(&p, test.arrays & Q1 ? numbers(0x83, n) : T1(),
                      test.arrays & K1 ? numbers(0x84, n) : T1());
        p.varlen_bits = bits(test.word);
        fake_aothip_reset();
        ok(attend(p) == test.wanted, "16.4 #32: bits %05x: %s", test.word, test.what);
        is_int(fake_aothip.fwd_calls, test.wanted == hipSuccess, "as refused or called");
        if (test.wanted == hipSuccess)
            ok(!(test.word >> 16 & 1) == (got.lse_layout != AOTHIP_LSE_TOTAL),
               "16.5 #44: layout of L");
        b.seqinfo_q0 = p.seqinfo_q0, b.seqinfo_k0 = p.seqinfo_k0;
        b.seqinfo_q1 = p.seqinfo_q1, b.seqinfo_k1 = p.seqinfo_k1;
        b.varlen_bits = p.varlen_bits;
        b.DK = b.K, b.DV = b.V, b.DQ = b.Q, b.DO = b.Out;
        ok(attn_bwd(b, bwd_version, nullptr) == test.wanted, "backward alike");
    }
}

static void test_places()
{
    attn_fwd_params p = make_fwd();
    make_packed(&p);
    set_lengths(&p, numbers(0x81, 4), numbers(0x82, 3));
    set_positions(&p, T1(), numbers(0x84, 4));
    p.varlen_bits = bits(0x150b);
    fake_aothip_reset();
    called(attend(p));
    ok(is_at(got.q_seqs.cumulative, 0x81) && !got.q_seqs.starts && !got.k_seqs.cumulative &&
           is_at(got.k_seqs.lengths, 0x82) && is_at(got.k_seqs.starts, 0x84),
       "16.4 #32: seqused_k");
    /* k in three batch entries of 66 rows, told by a pitch */
    set_lengths(&p, numbers(0x81, 4), numbers(0x82, 3));
    set_positions(&p, T1(), T1());
    p.Max_seqlen_k = 66;
    p.varlen_bits = bits(0x050b);
    is_int(attend(p), hipSuccess, "implied positions of stacked k");
    ok(got.k.size[0] == 3 && got.k.size[2] == 66 && got.k.stride[0] == 66 * 128 &&
           got.v.size[0] == 3 && !got.k_seqs.packed && is_at(got.k_seqs.lengths, 0x82),
       "are batch entries");
    p.Max_seqlen_k = 67;
    ok(attend(p) != hipSuccess, "that must fit");
    attn_bwd_params b = make_bwd();
    make_packed(&b);
    b.DK = b.K, b.DV = b.V, b.DQ = b.Q, b.DO = b.Out;
    b.Max_seqlen_k = 66;
    set_lengths(&b, numbers(0x81, 4), numbers(0x82, 3));
    b.varlen_bits = bits(0x050b);
    is_int(attn_bwd(b, bwd_version, nullptr), hipSuccess, "backward");
    ok(fake_aothip.bwd.dk.size[0] == 3 && fake_aothip.bwd.dv.stride[0] == 66 * 128, "alike");
}

/* Sequences that all have room for the same number of rows. */
static void test_rooms()
{
    attn_fwd_params p = make_fwd();
    make_packed(&p);
    set_lengths(&p, numbers(0x81, 4), numbers(0x82, 4));
    p.Max_seqlen_q = 33, p.Max_seqlen_k = 66;
    p.varlen_bits = bits(0x0303);
    fake_aothip_reset();
    is_int(attend(p), hipSuccess, "16.4 #32: stacked q with implied positions");
    ok(got.q.size[0] == 3 && got.q.size[2] == 33 && got.o.stride[0] == 33 * got.o.stride[2] &&
           !got.q_seqs.packed && is_at(got.q_seqs.cumulative, 0x81) && got.q_seqs.max == 33,
       "are batch entries");
    is_int(got.lse_layout, AOTHIP_LSE_HEADS, "16.5 #44: L by heads, a row for each place");
    p.varlen_bits = bits(0x10303);
    called(attend(p));
    is_int(got.lse_layout, AOTHIP_LSE_TOTAL, "16.5 #44: or by rows");
    attn_bwd_params b = make_bwd();
    make_packed(&b);
    b.DK = b.K, b.DV = b.V, b.DQ = b.Q, b.DO = b.Out;
    b.Max_seqlen_q = 33, b.Max_seqlen_k = 66;
    set_lengths(&b, numbers(0x81, 4), numbers(0x82, 4));
    b.varlen_bits = bits(0x0303);
    is_int(attn_bwd(b, bwd_version, nullptr), hipSuccess, "backward");
    ok(fake_aothip.bwd.dq.size[0] == 3 && fake_aothip.bwd.d_o.size[2] == 33, "alike");

    set_lengths(&p, T1(), T1());
    set_positions(&p, numbers(0x83, 4, ao::kInt64), numbers(0x84, 3, ao::kInt64));
    p.varlen_bits = bits(0x1111);
    is_int(attend(p), hipSuccess, "16.4 #32: positions, and one length for all");
    ok(got.sequences == 3 && got.q_seqs.packed && is_at(got.q_seqs.starts, 0x83) &&
           is_at(got.k_seqs.starts, 0x84) && !got.q_seqs.cumulative && !got.k_seqs.lengths &&
           got.q_seqs.max == 33 && got.k_seqs.max == 66 && got.index64,
       "their places");
    is_int(got.lse_layout, AOTHIP_LSE_HEADS_COMPACT, "16.5 #44: the pitch of L is read");
    p.Max_seqlen_k = 0;
    is_int(attend(p), hipSuccess, "16.4 #24: no keys at all");
    ok(got.k.size[2] == 0 && got.v.size[2] == 0, "are no rows");
    set_positions(&p, T1(), numbers(0x84, 3));
    is_int(attend(p), hipErrorInvalidValue, "without positions of q nothing tells how many");
}

/* Structs of 0.12 and 0.13 are told by their version. */
static void test_old_structs()
{
    attn_fwd_params p = make_fwd();
    make_packed(&p);
    set_lengths(&p, numbers(0x81, 4), numbers(0x82, 4));
    p.varlen_bits = bits(0xffffffff); /* unused bytes of the old struct */
    for (std::int8_t type = 0; type < 4; type++) {
        set_old_type(&p, type);
        if (type == 2) {
            p.Q = bshd(0x10000000, 3, 8, 100), p.K = p.V = bshd(0x20000000, 3, 2, 300);
            p.Out = p.Q, p.L = T2(0x5000, {24, 100}, {100, 1}, ao::kFloat32);
        } else {
            make_packed(&p);
        }
        set_positions(&p, type == 3 ? numbers(0x83, 4) : T1(), type == 3 ? numbers(0x84, 4) : T1());
        fake_aothip_reset();
        is_int(attn_fwd(p, 3, nullptr), hipSuccess, "16.5 #44: a forward struct of version 3");
        ok(got.sequences == 3 && got.q_seqs.packed == (type != 2) &&
               !got.q_seqs.starts == (type != 3),
           "16.5 #44: varlen_type %d", type);
    }
    attn_bwd_params b = make_bwd();
    set_lengths(&b, numbers(0x81, 3), numbers(0x82, 3));
    set_old_type(&b, 2);
    b.varlen_bits = bits(0xffffffff);
    is_int(attn_bwd(b, 6, nullptr), hipSuccess, "16.5 #44: a backward struct of version 6");
    ok(got.sequences == 2 && !got.q_seqs.packed, "16.5 #44: padded");
}
#endif

void test()
{
    test_constructors();
    test_versions();
    test_dense();
    test_windows();
    test_compact();
    test_padded();
#if AOTRITON_VERSION_MINOR >= 12
    test_strided();
#endif
#if AOTRITON_VERSION_MINOR >= 14
    test_bits();
    test_places();
    test_rooms();
    test_old_structs();
#endif
}

#else

void test()
{
}

#endif

} // namespace calls_v3_forward
