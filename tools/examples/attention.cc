/*
 * Attention from C++, as attention.c does it in C: forward, and what a failure looks like.
 *
 *     c++ -std=c++17 attention.cc -laothip && ./a.out
 *
 * HIP's functions are asked of the library, so that no HIP headers are needed.
 */
#include <aothip/aothip.hpp>

#include <array>
#include <cstdio>
#include <vector>

namespace
{

constexpr int BATCH = 1, HEADS = 2, ROWS = 5, DIM = 64;
using values = std::array<std::uint16_t, BATCH * HEADS * ROWS * DIM>; /* f16 */

/* Device memory that holds one tensor. */
class buffer
{
  public:
    buffer(const aothip::context &context, const values &host)
        : free_(context.hip_function<int(void *)>("hipFree")),
          copy_(context.hip_function<int(void *, const void *, std::size_t, int)>("hipMemcpy"))
    {
        auto *allocate = context.hip_function<int(void **, std::size_t)>("hipMalloc");
        if (allocate(&memory_, sizeof(host)) || copy_(memory_, host.data(), sizeof(host), 1))
            throw std::runtime_error("no device memory");
    }
    buffer(const buffer &) = delete;
    ~buffer()
    {
        free_(memory_);
    }
    values read() const
    {
        values host;
        if (copy_(host.data(), memory_, sizeof(host), 2))
            throw std::runtime_error("hipMemcpy failed");
        return host;
    }
    aothip_tensor tensor() const
    {
        return aothip::bhsd(memory_, AOTHIP_F16, BATCH, HEADS, ROWS, DIM);
    }

  private:
    int (*free_)(void *);
    int (*copy_)(void *, const void *, std::size_t, int);
    void *memory_ = nullptr;
};

} // namespace

int main()
{
    try {
        const aothip::context context;
        values ones, counted;
        ones.fill(0x3c00);
        for (std::size_t i = 0; i < counted.size(); i++) { /* row r of V: r, for r from 0 to 4 */
            const std::uint16_t f16[ROWS] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
            counted[i] = f16[i / DIM % ROWS];
        }
        const buffer q(context, ones), k(context, ones), v(context, counted), o(context, ones);

        aothip::attn_fwd p;
        p.q = q.tensor();
        p.k = k.tensor();
        p.v = v.tensor();
        p.o = o.tensor();
        p.scale = 0.125f; /* 1 / sqrt(DIM) */
        p.mask = AOTHIP_MASK_CAUSAL_TOP_LEFT;
        context.run(p); /* on the null stream */

        const values result = o.read();
        for (int row = 0; row < ROWS; row++) /* the mean of 0 .. row */
            std::printf("row %d: 0x%04x\n", row, static_cast<unsigned>(result[row * DIM]));

        int kernels = 0;
        context.list([&](const aothip_entry &entry) { kernels += entry.dim_max > 0; });
        if (!kernels)
            throw std::runtime_error("no kernels are listed");

        p.k.size[1] = 3;
        try {
            context.run(p);
        } catch (const aothip::error &why) {
            std::fprintf(stderr, "as it should: %s\n", why.what());
            return why.status() == AOTHIP_E_ARGUMENT ? 0 : 1;
        }
        return 1;
    } catch (const std::exception &why) {
        std::fprintf(stderr, "%s\n", why.what());
        return 1;
    }
}
