/*
 * Instruction counts of a kernel and of its key loop.
 */
#include "key_loop.h"

#include <stdio.h>
#include <string.h>

bool inspect_family(const char *processor, enum emu_family *family)
{
    if (!strcmp(processor, "gfx90a"))
        *family = EMU_GFX90A;
    else if (!strncmp(processor, "gfx94", 5))
        *family = EMU_GFX942;
    else if (!strcmp(processor, "gfx950"))
        *family = EMU_GFX950;
    else if (!strncmp(processor, "gfx110", 6))
        *family = EMU_GFX11;
    else if (!strncmp(processor, "gfx115", 6))
        *family = EMU_GFX11_5;
    else if (!strncmp(processor, "gfx120", 6))
        *family = EMU_GFX12;
    else
        return false;
    return true;
}

/* ---- classes ---- */

static bool begins(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strncmp(name, *list, strlen(*list)))
            return true;
    return false;
}

static void count_sopp(struct inspect_counts *c, const struct emu_insn *in, const char *name)
{
    if (in->flags & EMU_F_BRANCH)
        c->branch++;
    else if (!strncmp(name, "s_wait", 6))
        c->wait++;
    else if (!strcmp(name, "s_nop"))
        c->nop++;
    else if (!strcmp(name, "s_barrier") || !strcmp(name, "s_barrier_wait"))
        c->barrier++;
    else
        c->other++;
}

static void count_salu(struct inspect_counts *c, const struct emu_insn *in, const char *name)
{
    static const char *const jumps[] = {"s_setpc", "s_swappc", "s_call", "s_cbranch", NULL};

    if (!strncmp(name, "s_waitcnt_", 10))
        c->wait++;
    else if (in->flags & EMU_F_BRANCH || begins(name, jumps))
        c->branch++;
    else
        c->salu++;
}

static void count_vector(struct inspect_counts *c, const struct emu_insn *in, const char *name)
{
    static const char *const trans[] = {"v_exp_",  "v_log_", "v_rcp_", "v_rsq_",
                                        "v_sqrt_", "v_sin_", "v_cos_", NULL};

    if (in->flags & EMU_F_MATRIX)
        c->matrix++;
    else if (begins(name, trans))
        c->trans++;
    else
        c->valu++;
    c->acc += !strncmp(name, "v_accvgpr", 9);
    c->perm += !strcmp(name, "v_perm_b32");
    c->exchange +=
        in->ext == EMU_EXT_DPP16 || in->ext == EMU_EXT_DPP8 || !strncmp(name, "v_permlane", 10);
}

static void count_insn(struct inspect_counts *c, const struct emu_insn *in)
{
    const char *name = emu_rows[in->row].name;

    c->total++;
    switch (in->enc) {
    case EMU_SOPP:
        count_sopp(c, in, name);
        break;
    case EMU_SOP1:
    case EMU_SOP2:
    case EMU_SOPC:
    case EMU_SOPK:
        count_salu(c, in, name);
        break;
    case EMU_SMEM:
        c->smem++;
        break;
    case EMU_DS:
        c->lds++;
        c->exchange += strstr(name, "swizzle") || strstr(name, "permute");
        break;
    case EMU_SCRATCH:
        c->scratch++;
        c->vmem++;
        break;
    case EMU_FLAT:
    case EMU_GLOBAL:
    case EMU_MUBUF:
    case EMU_MTBUF:
    case EMU_MIMG:
        c->vmem++;
        break;
    default:
        count_vector(c, in, name);
    }
}

/* ---- loops ---- */

static bool count_range(const struct inspect_kernel *k, uint32_t begin, uint32_t end,
                        struct inspect_counts *c, char *err, size_t errlen)
{
    struct emu_insn in;

    memset(c, 0, sizeof *c);
    for (uint32_t at = begin; at < end; at += in.size) {
        if (!emu_decode_newer(k->family, k->meta->wavefront_size, k->code, k->size - at, at, &in)) {
            snprintf(err, errlen, "%s: no instruction at offset 0x%x", k->meta->name, at);
            return false;
        }
        count_insn(c, &in);
    }
    return true;
}

/* The next branch back from *at on; leaves *at behind it. False when there is none. */
static bool next_loop(const struct inspect_kernel *k, uint32_t *at, uint32_t *begin)
{
    struct emu_insn in;

    while (*at < k->size) {
        unsigned n =
            emu_decode_newer(k->family, k->meta->wavefront_size, k->code, k->size - *at, *at, &in);

        if (!n)
            return false;
        *at += n;
        if (in.enc == EMU_SOPP && in.flags & EMU_F_BRANCH && in.simm16 < 0 &&
            (uint32_t)(-in.simm16) * 4 <= *at) {
            *begin = *at - (uint32_t)(-in.simm16) * 4;
            return true;
        }
    }
    return false;
}

/*
 * Does a smaller loop with matrix instructions lie inside? Branches back to one place are one loop,
 * with a short cut from its middle.
 */
static bool is_outer(const struct inspect_kernel *k, uint32_t begin, uint32_t end, unsigned matrix)
{
    uint32_t at = begin, inner;
    struct inspect_counts c;

    while (next_loop(k, &at, &inner) && at <= end)
        if (inner > begin && at - inner < end - begin && count_range(k, inner, at, &c, NULL, 0) &&
            (c.matrix || !matrix))
            return true;
    return false;
}

static void find_key_loop(struct inspect_kernel *k)
{
    uint32_t at = 0, begin;
    struct inspect_counts c;

    while (next_loop(k, &at, &begin)) {
        bool better;

        if (!count_range(k, begin, at, &c, NULL, 0) || is_outer(k, begin, at, c.matrix))
            continue;
        /* Of loops that overlap, neither inside the other, the shorter one is the inner one. */
        better =
            c.matrix > k->loop.matrix ||
            (c.matrix && c.matrix == k->loop.matrix && at - begin < k->loop_end - k->loop_begin) ||
            (!c.matrix && !k->loop.matrix && c.valu > k->loop.valu) || !k->has_loop;
        if (!better)
            continue;
        k->has_loop = true;
        k->loop = c;
        k->loop_begin = begin;
        k->loop_end = at;
    }
}

/* How long its code is. Hand-written ones often do not say: up to the next kernel, or the end of
 * the segment. 0: it is not in the file. */
static uint64_t code_size(const struct emu_object *object, const struct emu_kernel_meta *meta)
{
    uint64_t end = 0;

    if (meta->code_size)
        return meta->code_size;
    for (size_t i = 0; i < object->nsegments; i++) {
        const struct emu_segment *s = &object->segments[i];

        if (meta->entry >= s->vaddr && meta->entry - s->vaddr < s->filesz)
            end = s->vaddr + s->filesz;
    }
    for (size_t i = 0; i < object->nkernels; i++)
        if (object->kernels[i].entry > meta->entry && object->kernels[i].entry < end)
            end = object->kernels[i].entry;
    return end > meta->entry ? (end - meta->entry) & ~(uint64_t)3 : 0;
}

bool inspect_kernel(const struct emu_object *object, const struct emu_kernel_meta *meta,
                    struct inspect_kernel *out, char *err, size_t errlen)
{
    const uint64_t size = code_size(object, meta);
    uint64_t offset;

    memset(out, 0, sizeof *out);
    out->meta = meta;
    if (!inspect_family(object->target.processor, &out->family)) {
        snprintf(err, errlen, "%s: no instruction table for %s", meta->name,
                 object->target.processor);
        return false;
    }
    if (!size || !emu_object_offset(object, meta->entry, size, &offset)) {
        snprintf(err, errlen, "%s: its code is not in the file", meta->name);
        return false;
    }
    out->code = object->image + offset;
    out->size = (size_t)size;
    out->address = meta->entry;
    if (!count_range(out, 0, (uint32_t)out->size, &out->all, err, errlen))
        return false;
    find_key_loop(out);
    return true;
}
