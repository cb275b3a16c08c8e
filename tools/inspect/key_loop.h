/*
 * Counts the instructions of a kernel and finds its key loop. Works on a code object's bytes alone:
 * no GPU, no runtime.
 */
#ifndef AOTHIP_INSPECT_COUNT_H
#define AOTHIP_INSPECT_COUNT_H

#include "code_object.h"
#include "insn.h"

/*
 * Every instruction is in exactly one class; the last four are marks that an instruction of some
 * class may carry besides. A VOPD pair is one VALU instruction.
 */
#define INSPECT_COUNTS(X)                                                                          \
    X(total, "instructions")                                                                       \
    X(matrix, "MFMA, WMMA")                                                                        \
    X(valu, "vector arithmetic without matrix and transcendental")                                 \
    X(trans, "exp, log, rcp, rsq, sqrt, sin, cos")                                                 \
    X(lds, "LDS")                                                                                  \
    X(vmem, "global, buffer, flat, scratch")                                                       \
    X(smem, "scalar loads")                                                                        \
    X(salu, "scalar arithmetic")                                                                   \
    X(branch, "branches")                                                                          \
    X(wait, "s_waitcnt and its kin")                                                               \
    X(nop, "s_nop")                                                                                \
    X(barrier, "s_barrier")                                                                        \
    X(other, "s_delay_alu, s_clause, s_setprio, messages ...")                                     \
    X(acc, "mark: moves between vector and accumulation registers")                                \
    X(perm, "mark: v_perm_b32")                                                                    \
    X(exchange, "mark: lane exchange by DPP, permlane, ds_swizzle, ds_permute, ds_bpermute")       \
    X(scratch, "mark: scratch memory accesses")

#define INSPECT_MEMBER(name, text) unsigned name;
struct inspect_counts {
    INSPECT_COUNTS(INSPECT_MEMBER)
};
#undef INSPECT_MEMBER

/* A kernel's code, decoded. */
struct inspect_kernel {
    const struct emu_kernel_meta *meta;
    enum emu_family family;
    const uint8_t *code; /* inside the object's image */
    size_t size;         /* bytes */
    uint64_t address;    /* virtual, of code[0] */
    struct inspect_counts all, loop;
    bool has_loop;
    uint32_t loop_begin, loop_end; /* byte offsets; end is behind the branch back */
};

/*
 * Decodes kernel `meta` of `object` and counts. False and a text in err when its code is not inside
 * the file or an instruction does not decode.
 *
 * The key loop is the innermost loop (the code from the target of a branch back to that branch, no
 * other such stretch with matrix instructions inside) with the most matrix instructions; without
 * any, the innermost with the most vector instructions; the first of equals.
 */
bool inspect_kernel(const struct emu_object *object, const struct emu_kernel_meta *meta,
                    struct inspect_kernel *out, char *err, size_t errlen);

/* The family whose instructions a processor runs; false if it is not one of the emulated. */
bool inspect_family(const char *processor, enum emu_family *family);

#endif
