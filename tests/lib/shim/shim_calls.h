/* What the tests of the C++ names' arguments share: tensors, and a problem in the release's form.
 */
#ifndef AOTHIP_SHIM_CALLS_H
#define AOTHIP_SHIM_CALLS_H

#include "shim_names.h"

#include <cstring>

#include <sys/mman.h>

#include "fake_aothip.h"
#include "tap.h"

constexpr bool packed_lse = minor_version >= 12;

/* A (B, S, H, D) tensor seen as (B, H, S, D), as PyTorch's permute() makes it. */
inline T4 bshd(std::intptr_t base, std::uint64_t batch, std::uint64_t heads, std::uint64_t seq,
               std::uint64_t dim = 64, ao::DType dtype = ao::kFloat16)
{
    return {base, {batch, heads, seq, dim}, {seq * heads * dim, dim, heads * dim, 1}, dtype};
}

inline T1 numbers(std::intptr_t base, std::uint64_t count, ao::DType dtype = ao::kInt32)
{
    return {base, {count}, {1}, dtype};
}

inline bool is_at(const void *pointer, std::uintptr_t address)
{
    return reinterpret_cast<std::uintptr_t>(pointer) == address;
}

/* Memory that no one can read: what is only pointed at stays untouched. */
inline void *forbidden()
{
    static void *const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page;
}

/* A call that must succeed, for the sake of what it hands on. */
inline void called(hipError_t error)
{
    if (error != hipSuccess)
        ok(0, "a call fails with %d: %s", error, fake_aothip.error);
}

/* The parts of the test. */
namespace calls_v2
{
void test();
}
namespace calls_v3_forward
{
void test();
}
namespace calls_v3_backward
{
void test();
}
namespace calls_kept
{
void test();
}

#endif
