/* LDS instructions that move data between lanes, and transfers between device memory and LDS. */
#include "access_handlers.h"

/* Rows are copied first: the destination may be the source. */
struct gather {
    uint32_t data[64], poison[64];
};

static void read_data(const struct emu_wave *w, unsigned row, struct gather *g)
{
    memcpy(g->data, emu_row(w, row), w->lanes * sizeof *g->data);
    for (unsigned l = 0; w->strict && l < w->lanes; l++)
        g->poison[l] = emu_get_poison(w, row, l);
}

static void give(struct emu_wave *w, const struct emu_op *op, unsigned lane, uint32_t data,
                 uint32_t poison)
{
    emu_row(w, op->d[0])[lane] = data;
    if (w->strict && poison)
        emu_set_poison(w, op->d[0], lane, poison);
}

/* gfx9 and gfx12 exchange among all lanes; gfx11 within each half of 32, also in wave64. */
static unsigned lane_named(const struct emu_wave *w, const struct emu_op *op, unsigned l,
                           uint32_t addr)
{
    unsigned n = (addr + (uint32_t)op->insn->offset) / 4;
    if (op->insn->family < EMU_GFX11 || op->insn->family >= EMU_GFX12)
        return n % w->lanes;
    return n % 32 + (l & 32);
}

static void bpermute(struct emu_wave *w, const struct emu_op *op, bool inactive)
{
    struct gather g;
    uint32_t addr[64];
    uint64_t exec = emu_exec(w);
    read_data(w, op->s[1], &g);
    memcpy(addr, emu_row(w, op->s[0]), w->lanes * sizeof *addr);
    EMU_EACH_LANE(l, exec)
    {
        unsigned from = lane_named(w, op, l, addr[l]);
        bool on = inactive || exec >> from & 1;
        give(w, op, l, on ? g.data[from] : 0, on && w->strict ? g.poison[from] : 0);
    }
}

void EMU_DO(ds_bpermute_b32)(struct emu_wave *w, const struct emu_op *op)
{
    bpermute(w, op, false);
}

void EMU_DO(ds_bpermute_fi_b32)(struct emu_wave *w, const struct emu_op *op)
{
    bpermute(w, op, true);
}

void EMU_DO(ds_permute_b32)(struct emu_wave *w, const struct emu_op *op)
{
    struct gather g, out = {{0}, {0}};
    uint64_t exec = emu_exec(w);
    const uint32_t *addr = emu_row(w, op->s[0]);
    read_data(w, op->s[1], &g);
    EMU_EACH_LANE(l, exec)
    {
        unsigned to = lane_named(w, op, l, addr[l]);
        out.data[to] = g.data[l];
        out.poison[to] = w->strict ? g.poison[l] : 0;
    }
    EMU_EACH_LANE(l, exec)
    give(w, op, l, out.data[l], out.poison[l]);
}

static unsigned reverse5(unsigned x)
{
    return (x & 1) << 4 | (x & 2) << 2 | (x & 4) | (x & 8) >> 2 | (x & 16) >> 4;
}

/* The four modes of DS_SWIZZLE's 16-bit offset. */
static unsigned swizzle_source(unsigned offset, unsigned i)
{
    unsigned mask = offset & 31, lane = i & 31;
    if (offset >= 0xe000) /* FFT */
        return (reverse5(lane) >> __builtin_popcount(mask) | (lane & mask)) | (i & 32);
    if (offset >= 0xc000) { /* rotate */
        unsigned by = offset >> 5 & 31;
        by = offset & 0x400 ? 32 - by : by;
        return ((lane & mask) | ((lane + by) & ~mask & 31)) | (i & 32);
    }
    if (offset & 0x8000) /* quad permutation */
        return (i & ~3u) | (offset >> (2 * (i & 3)) & 3);
    return (((lane & mask) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)) | (i & 32);
}

void EMU_DO(ds_swizzle_b32)(struct emu_wave *w, const struct emu_op *op)
{
    struct gather g;
    uint64_t exec = emu_exec(w);
    read_data(w, op->s[0], &g);
    EMU_EACH_LANE(l, exec)
    {
        unsigned from = swizzle_source((unsigned)op->insn->offset & 0xffff, l);
        bool on = exec >> from & 1;
        give(w, op, l, on ? g.data[from] : 0, on && w->strict ? g.poison[from] : 0);
    }
}

/* Bits at .. at + bits - 1 of consecutive words. */
static uint32_t field(const uint32_t *x, unsigned at, unsigned bits)
{
    uint64_t pair = x[at / 32];

    if (at % 32 + bits > 32)
        pair |= (uint64_t)x[at / 32 + 1] << 32;
    return (uint32_t)(pair >> at % 32) & ((1u << bits) - 1);
}

static void put_field(uint32_t *x, unsigned at, unsigned bits, uint32_t value)
{
    x[at / 32] |= value << at % 32;
    if (at % 32 + bits > 32)
        x[at / 32 + 1] |= value >> (32 - at % 32);
}

/*
 * ds_read_b64_tr_b16, b8, b4, ds_read_b96_tr_b6: the 16 lanes of a row read n by 16 elements, n
 * being those of a lane, a row of them in 16 / n lanes, and each gets a column. Of 6 bits each lane
 * reads from a multiple of 16 bytes.
 */
static void transpose(struct emu_wave *w, const struct emu_op *op, unsigned bits)
{
    const unsigned words = bits == 6 ? 3 : 2, n = 32 * words / bits;
    const uint64_t exec = emu_exec(w);
    uint32_t data[64][3] = {{0}}, poison[64][3] = {{0}};
    struct emu_where a;
    uint64_t odd = 0;

    emu_where_lds(w, op, &a, (unsigned)op->insn->offset, 4 * words, EMU_READ);
    EMU_EACH_LANE(l, a.mask)
    {
        odd |= (uint64_t)(bits == 6 && a.addr[l] % 16) << l;
        memcpy(data[l], a.p[l], 4 * words);
        for (unsigned r = 0; w->strict && r < words; r++)
            poison[l][r] = emu_lane_poison(&a, l, 4 * r, 4);
    }
    if (odd)
        emu_fault(w, odd, "LDS address of ds_read_b96_tr_b6 is no multiple of 16");
    EMU_EACH_LANE(l, exec)
    {
        uint32_t x[3] = {0}, never[3] = {0};
        for (unsigned k = 0; k < n; k++) {
            unsigned from = (l & ~15u) + 16 / n * k + l % 16 / n, at = l % n * bits;
            put_field(x, bits * k, bits, field(data[from], at, bits));
            put_field(never, bits * k, bits, field(poison[from], at, bits));
        }
        for (unsigned r = 0; r < words; r++) {
            emu_row(w, op->d[0] + r)[l] = x[r];
            if (never[r])
                emu_set_poison(w, op->d[0] + r, l, never[r]);
        }
    }
}

#define TRANSPOSE(width, bits)                                                                     \
    void EMU_DO(ds_read_b##width##_tr_b##bits)(struct emu_wave * w, const struct emu_op *op)       \
    {                                                                                              \
        transpose(w, op, bits);                                                                    \
    }
TRANSPOSE(64, 16)
TRANSPOSE(64, 8)
TRANSPOSE(64, 4)
TRANSPOSE(96, 6)

void EMU_DO(ds_nop)(struct emu_wave *w, const struct emu_op *op)
{
    (void)w, (void)op;
}

/* A byte or a half sign-extended, or zero-extended, or the dword, by the type in M0[18:16]. */
static uint32_t direct_value(unsigned type, uint32_t dword)
{
    switch (type) {
    case 0:
        return dword & 0xff;
    case 1:
        return dword & 0xffff;
    case 4:
        return (uint32_t)(int8_t)dword;
    case 5:
        return (uint32_t)(int16_t)dword;
    default:
        return dword;
    }
}

/* Lanes of the quads in which any lane is active. */
static uint64_t active_quads(uint64_t exec)
{
    uint64_t first = (exec | exec >> 1 | exec >> 2 | exec >> 3) & UINT64_C(0x1111111111111111);
    return first * 15;
}

/* One dword of LDS for all lanes; a work-group processor's whole LDS is out of its reach. */
EMU_DEVICE_DATA void EMU_DO(lds_direct_load)(struct emu_wave *w, const struct emu_op *op)
{
    enum { WGP_MODE = 1 << 29 };
    struct emu_where a;
    uint64_t exec = emu_exec(w), lanes = active_quads(exec);
    uint32_t m0 = w->s[EMU_S_M0], x = 0, poison;
    unsigned type = m0 >> 16 & 7, bytes = type == 2 ? 4 : 1 + (type & 1), first;

    if (w->group->kernel->rsrc1 & WGP_MODE)
        emu_fault(w, exec, "lds_direct_load in a kernel of WGP mode: only CU mode has it");
    if (m0 & 3)
        emu_fault(w, exec, "lds_direct_load of offset 0x%x in LDS: it is no multiple of 4",
                  m0 & 0xffff);
    if (type == 3 || type > 5)
        emu_fault(w, exec, "lds_direct_load of type %u: M0 has 0x%x", type, m0);
    if (!exec)
        return;
    first = (unsigned)__builtin_ctzll(exec);
    a.mask = UINT64_C(1) << first;
    a.addr[first] = m0 & 0xffff;
    emu_where_lds_at(w, &a, bytes, EMU_READ);
    memcpy(&x, a.p[first], bytes);
    x = direct_value(type, x);
    poison = w->strict ? direct_value(type, emu_lane_poison(&a, first, 0, bytes)) : 0;
    EMU_EACH_LANE(l, lanes)
    {
        emu_row(w, op->d[0])[l] = x;
        if (emu_get_poison(w, op->d[0], l))
            w->vp[(size_t)op->d[0] * w->lanes + l] = 0;
        if (poison)
            emu_set_poison(w, op->d[0], l, poison);
    }
}

EMU_DEVICE_DATA void emu_lds_dma(struct emu_wave *w, const struct emu_op *op,
                                 struct emu_where *from, unsigned bytes,
                                 void (*body)(uint32_t *d, size_t stride, const uint8_t *p))
{
    struct emu_where to;
    const unsigned words = bytes > 4 ? bytes / 4 : 1;
    /* gfx950 has more than 64 KiB */
    uint32_t reach = op->insn->family == EMU_GFX950 ? 0x3ffff : 0xffff;
    uint32_t base = (w->s[EMU_S_M0] & reach) + (uint32_t)op->insn->offset;
    to.mask = from->mask | from->zero;
    for (unsigned l = 0; l < w->lanes; l++)
        to.addr[l] = base + 4 * words * l;
    emu_where_lds_at(w, &to, 4 * words, EMU_WRITE);
    EMU_EACH_LANE(l, to.mask)
    {
        uint8_t shadow[16] = {0};
        uint32_t x[4] = {0}, bits[4] = {0};
        body(x, 1, from->p[l]);
        memcpy(to.p[l], x, 4 * words);
        if (!w->strict)
            continue;
        for (unsigned i = 0; i < bytes; i++)
            shadow[i] = (uint8_t)emu_lane_poison(from, l, i, 1);
        body(bits, 1, shadow);
        for (unsigned i = 0; i < words; i++)
            emu_lane_set_poison(&to, l, 4 * i, 4, bits[i]);
    }
}

static void dma_dword(uint32_t *d, size_t stride, const uint8_t *p)
{
    (void)stride;
    memcpy(d, p, 4);
}

static void dma_dwordx3(uint32_t *d, size_t stride, const uint8_t *p)
{
    (void)stride;
    memcpy(d, p, 12);
}

static void dma_dwordx4(uint32_t *d, size_t stride, const uint8_t *p)
{
    (void)stride;
    memcpy(d, p, 16);
}

static void dma_ubyte(uint32_t *d, size_t stride, const uint8_t *p)
{
    (void)stride;
    *d = *p;
}

static void dma_sbyte(uint32_t *d, size_t stride, const uint8_t *p)
{
    (void)stride;
    *d = (uint32_t)(int8_t)*p;
}

static void dma_ushort(uint32_t *d, size_t stride, const uint8_t *p)
{
    uint16_t x;
    (void)stride;
    memcpy(&x, p, 2);
    *d = x;
}

static void dma_sshort(uint32_t *d, size_t stride, const uint8_t *p)
{
    int16_t x;
    (void)stride;
    memcpy(&x, p, 2);
    *d = (uint32_t)x;
}

#define DMA(name, where, bytes, body)                                                              \
    void EMU_DO(name)(struct emu_wave * w, const struct emu_op *op)                                \
    {                                                                                              \
        struct emu_where a;                                                                        \
        where(w, op, &a, bytes, EMU_READ);                                                         \
        emu_lds_dma(w, op, &a, bytes, body);                                                       \
    }
DMA(global_load_lds_dword, emu_where_global, 4, dma_dword)
DMA(global_load_lds_dwordx3, emu_where_global, 12, dma_dwordx3)
DMA(global_load_lds_dwordx4, emu_where_global, 16, dma_dwordx4)
DMA(global_load_lds_ubyte, emu_where_global, 1, dma_ubyte)
DMA(global_load_lds_sbyte, emu_where_global, 1, dma_sbyte)
DMA(global_load_lds_ushort, emu_where_global, 2, dma_ushort)
DMA(global_load_lds_sshort, emu_where_global, 2, dma_sshort)
DMA(scratch_load_lds_dword, emu_where_scratch, 4, dma_dword)
DMA(scratch_load_lds_ubyte, emu_where_scratch, 1, dma_ubyte)
DMA(scratch_load_lds_sbyte, emu_where_scratch, 1, dma_sbyte)
DMA(scratch_load_lds_ushort, emu_where_scratch, 2, dma_ushort)
DMA(scratch_load_lds_sshort, emu_where_scratch, 2, dma_sshort)
DMA(buffer_load_lds_b32, emu_where_buffer, 4, dma_dword)
DMA(buffer_load_lds_u8, emu_where_buffer, 1, dma_ubyte)
DMA(buffer_load_lds_i8, emu_where_buffer, 1, dma_sbyte)
DMA(buffer_load_lds_u16, emu_where_buffer, 2, dma_ushort)
DMA(buffer_load_lds_i16, emu_where_buffer, 2, dma_sshort)

EMU_DEVICE_DATA void EMU_DO(buffer_store_lds_dword)(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_where to, from;
    uint32_t base = (w->s[EMU_S_M0] & 0xffff) + (uint32_t)op->insn->offset;
    emu_where_buffer(w, op, &to, 4, EMU_WRITE);
    from.mask = to.mask;
    for (unsigned l = 0; l < w->lanes; l++)
        from.addr[l] = base + 4 * l;
    emu_where_lds_at(w, &from, 4, EMU_READ);
    EMU_EACH_LANE(l, to.mask)
    {
        if (w->strict && emu_lane_poison(&from, l, 0, 4))
            emu_fault(w, UINT64_C(1) << l, "stores LDS that was never written");
        memcpy(to.p[l], from.p[l], 4);
        if (w->strict)
            emu_lane_set_poison(&to, l, 0, 4, 0);
    }
}

#define CACHE(name, effects, cls)                                                                  \
    void EMU_DO(name)(struct emu_wave * w, const struct emu_op *op)                                \
    {                                                                                              \
        (void)w, (void)op;                                                                         \
    }
EMU_MEM_CACHE(CACHE)
