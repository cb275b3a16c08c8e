/* Memory for parts of the keys, as attention gets it and as it is kept for streams and graphs. */
#include "shim_calls.h"

namespace calls_kept
{

constexpr std::size_t MiB = std::size_t{1} << 20;

static hipStream_t stream(std::uintptr_t handle)
{
    return reinterpret_cast<hipStream_t>(handle);
}

static hipError_t forward(hipStream_t on)
{
    const T4 q = bshd(0x10000000, 2, 8, 100), k = bshd(0x20000000, 2, 2, 300),
             v = bshd(0x30000000, 2, 2, 300), o = bshd(0x40000000, 2, 8, 100), none;
    const T2 lse(0x50000000, {16, 100}, {100, 1}, ao::kFloat32);
    const shim::dropout drop = {};
    return shim::attn_fwd({q, k, v, none, o, lse, 0.25f, {}, nullptr, drop}, none, ao::Stream(on));
}

static void *taken(std::uintptr_t handle, std::size_t bytes)
{
    return shim::kept(stream(handle), bytes).data();
}

static void attend_again()
{
    called(forward(stream(0x100)));
}

static void test_attention()
{
    const aothip_attn_fwd_params &p = fake_aothip.fwd;
    fake_aothip_reset();
    called(forward(stream(0x100)));
    ok(!p.workspace && !p.workspace_size && !fake_aothip.allocations, "none where it is of no use");
    fake_aothip.fwd_workspace_bytes = 96;
    called(forward(stream(0x100)));
    void *const first = p.workspace;
    ok(first && p.workspace_size == 96, "as many bytes as are of use");
    ok(fake_aothip.allocations == 1 && !fake_aothip.spoilt && !fake_aothip.pool_allocations,
       "by hipMalloc(), which spoils no capture");
    called(forward(stream(0x100)));
    ok(p.workspace == first && fake_aothip.allocations == 1 && !fake_aothip.frees, "stay");
    fake_aothip.within = attend_again;
    called(forward(stream(0x100)));
    ok(fake_aothip.fwd_calls == 5 && p.workspace && p.workspace != first &&
           fake_aothip.pool_allocations == 1 && fake_aothip.pool_frees == 1,
       "another thread's call meanwhile has memory of its own, from the pool");
    fake_aothip.no_launches = 1;
    is_int(forward(stream(0x100)), hipErrorFileNotFound, "a failing launch");
    fake_aothip.no_launches = 0;
    called(forward(stream(0x100)));
    ok(p.workspace == first, "leaves it to the next one");
    fake_aothip.status = AOTHIP_E_IO;
    is_int(forward(stream(0x200)), hipErrorFileNotFound, "a failure before");
    ok(fake_aothip.allocations == 1 && fake_aothip.pool_allocations == 1, "takes none");
    fake_aothip_reset();
    fake_aothip.fwd_workspace_bytes = 96;
    fake_aothip.no_memory = 1;
    called(forward(stream(0x200)));
    ok(p.workspace && fake_aothip.pool_allocations == 1 && fake_aothip.pool_frees == 1,
       "without memory, that of the pool");
    is_int(fake_aothip.errors_taken, 1, "HIP's last error is not left for others");
    fake_aothip.no_pools = 1;
    called(forward(stream(0x200)));
    ok(!p.workspace && !p.workspace_size, "or none");
    fake_aothip.capturing = 7;
    fake_aothip.fwd_workspace_bytes = 2 * MiB;
    called(forward(stream(0x200)));
    ok(!p.workspace && !fake_aothip.spoilt, "nor in a capture");
}

static void test_streams()
{
    fake_aothip_reset();
    void *const first = taken(0x100, 96);
    is_int(fake_aothip.allocations, 0, "what a stream has");
    ok(taken(0x100, MiB / 4) == first, "serves up to a quarter of a MiB");
    void *const other = taken(0x200, 96);
    ok(other && other != first && fake_aothip.allocations == 1, "another stream has its own");
    ok(taken(0x100, MiB / 4 + 1) && fake_aothip.allocations == 2 && fake_aothip.frees == 1,
       "more is allocated anew, and the old given back");
    ok(!fake_aothip.spoilt, "which spoils no capture");
    fake_aothip.no_memory = 1;
    ok(!taken(0x100, MiB), "or it fails");
    is_int(fake_aothip.errors_taken, 1, "without a trace in HIP");
    fake_aothip.no_memory = 0;
    ok(taken(0x100, 96) && fake_aothip.allocations == 2 && fake_aothip.frees == 1,
       "and the stream has what it had");
    ok(!taken(0x100, 64 * MiB + 1), "64 MiB are the most");
    ok(!taken(2, 96), "hipStreamPerThread is many streams");
    fake_aothip.device = 1;
    void *const null_1 = taken(0, 96);
    fake_aothip.device = 0;
    void *const null_0 = taken(0, 96);
    ok(null_0 && null_1 && null_0 != null_1, "the null streams of two devices");
    ok(taken(0x700, 96) && fake_aothip.device == 0, "a stream of a device that is not current");
}

static void test_graphs()
{
    fake_aothip_reset();
    void *const outside = taken(0x300, 2 * MiB);
    fake_aothip.capturing = 8;
    void *const first = taken(0x300, 2 * MiB);
    ok(first && first != outside && fake_aothip.allocations == 2 && !fake_aothip.spoilt,
       "a graph has memory of its own");
    ok(taken(0x300, 2 * MiB) == first, "for all calls of a stream");
    void *const other = taken(0x400, 2 * MiB);
    ok(other && other != first, "another stream of the graph has other memory");
    void *const more = taken(0x300, 4 * MiB);
    ok(more && more != first, "as has who needs more");
    fake_aothip.capturing = 9;
    void *const second = taken(0x300, 2 * MiB);
    ok(second && second != first && second != other && second != more,
       "another graph's is its own");
    is_int(fake_aothip.allocations, 5, "five so far");
    fake_aothip_destroy_graphs();
    fake_aothip.capturing = 10;
    void *const again = taken(0x300, 2 * MiB);
    ok((again == first || again == other || again == second) && fake_aothip.allocations == 5,
       "destroyed graphs' memory serves the next");
    fake_aothip.no_graphs = 1;
    ok(!taken(0x400, 2 * MiB) && fake_aothip.errors_taken == 1, "no memory that no graph holds");
    fake_aothip.no_objects = 1;
    ok(!taken(0x400, 2 * MiB) && fake_aothip.errors_taken == 2, "nor with no object");
    fake_aothip.no_graphs = fake_aothip.no_objects = 0;
    ok(taken(0x400, 2 * MiB) && fake_aothip.allocations == 5, "which leave it for others");
    fake_aothip.capturing = 0;
    ok(taken(0x300, 2 * MiB) == outside, "beside it the stream keeps its own");
    fake_aothip.capturing = 11;
    ok(!taken(0, 96), "the null stream has no graph");
    fake_aothip_destroy_graphs();
}

/* Last, since it takes all there is. */
static void test_bound()
{
    fake_aothip_reset();
    ok(taken(0x500, 16 * MiB) && taken(0x500, 32 * MiB), "a stream that needs more and more");
    for (std::uintptr_t handle = 0x500; handle < 0x503; handle++)
        ok(taken(handle, 64 * MiB), "64 MiB of stream %#x", static_cast<unsigned>(handle));
    ok(!taken(0x503, 64 * MiB) && !taken(0x503, 64 * MiB), "256 MiB are the most of all");
    is_int(fake_aothip.allocations, 5, "not allocated");
    ok(taken(0x503, 32 * MiB), "less is to be had");
    const int frees = fake_aothip.frees;
    ok(!taken(0x503, 64 * MiB) && taken(0x503, 32 * MiB) && fake_aothip.frees == frees,
       "and stays where more is not");
    fake_aothip.fwd_workspace_bytes = 65 * MiB;
    called(forward(stream(0x500)));
    ok(fake_aothip.fwd.workspace_size == 64 * MiB && !fake_aothip.pool_allocations,
       "who could use more has 64 MiB");
}

void test()
{
    test_attention();
    test_streams();
    test_graphs();
    test_bound();
}

} // namespace calls_kept
