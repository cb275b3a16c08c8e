/*
 * global_load_tr_b128 and _b64 of gfx12: a 16 x 16 matrix of 16-bit or 8-bit elements, of which
 * each lane of wave32 loads eight neighbours, and gets eight that other lanes loaded. RDNA 4's
 * manual (11.6.2) leaves open which; this is what others saw on gfx1201. In wave64 lanes 32.. give
 * no address, and get what wave32 has in the upper half of its registers, as is so of all operands
 * of WMMA. Which lane a wave64 gets it from has not been seen.
 */
#include "access_handlers.h"

enum { ELEMENTS = 8 };

/* The lane that loaded what lane l gets as its e-th element; it is that lane's l % 8-th. */
static unsigned lane_of(unsigned bits, unsigned l, unsigned e)
{
    if (bits == 16)
        return (l & ~7u) + e;
    return (l & 16) + e / 4 * 8 + (l >> 3 & 1) * 4 + e % 4;
}

static uint32_t field(const uint32_t *x, unsigned bits, unsigned n)
{
    return x[n * bits / 32] >> n * bits % 32 & ((1u << bits) - 1);
}

EMU_DEVICE_DATA static void transpose(struct emu_wave *w, const struct emu_op *op, unsigned bits)
{
    const unsigned words = ELEMENTS * bits / 32, kept = w->lanes == 64 ? words / 2 : words;
    uint32_t data[32][4] = {{0}}, poison[32][4] = {{0}};
    const uint64_t exec = emu_exec(w);
    struct emu_where a;

    if (!exec)
        return;
    if (w->strict && exec != emu_all_lanes(w))
        emu_fault(w, emu_all_lanes(w) & ~exec, "transposing load with inactive lanes");
    a.mask = exec & UINT32_MAX;
    a.zero = a.partial = 0;
    emu_vector_addresses(w, op, a.addr);
    emu_where_global_at(w, &a, 4 * words, EMU_READ);
    EMU_EACH_LANE(l, a.mask)
    {
        memcpy(data[l], a.p[l], 4 * words);
        for (unsigned r = 0; w->strict && r < words; r++)
            poison[l][r] = emu_lane_poison(&a, l, 4 * r, 4);
    }
    EMU_EACH_LANE(l, exec)
    {
        const unsigned per = 32 / bits, first = l / 32 * kept;

        for (unsigned r = 0; r < kept; r++) {
            uint32_t x = 0, never = 0;

            for (unsigned i = 0; i < per; i++) {
                const unsigned from = lane_of(bits, l % 32, (first + r) * per + i);

                x |= field(data[from], bits, l % 8) << i * bits;
                never |= field(poison[from], bits, l % 8) << i * bits;
            }
            emu_row(w, op->d[0] + r)[l] = x;
            if (never)
                emu_set_poison(w, op->d[0] + r, l, never);
        }
    }
}

void EMU_DO(global_load_tr_b128)(struct emu_wave *w, const struct emu_op *op)
{
    transpose(w, op, 16);
}

void EMU_DO(global_load_tr_b64)(struct emu_wave *w, const struct emu_op *op)
{
    transpose(w, op, 8);
}
