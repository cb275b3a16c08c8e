/*
 * Vector ALU operations of one lane: machines, operand types, and the table of oracle_valu.def over
 * the functions of oracle_valu_*.h.
 */
#include "oracle_valu.h"

#include "oracle_valu_arith.h"
#include "oracle_valu_convert.h"
#include "oracle_valu_trans.h"
#include "oracle_valu_int.h"
#include "oracle_valu_dot.h"

const struct oracle_machine oracle_machines[ORACLE_TARGETS] = {
    {"gfx90a", "gfx90a", "", 64, false, G90A},
    {"gfx942", "gfx942", "", 64, false, G942},
    {"gfx950", "gfx950", "", 64, false, G950},
    {"gfx1100", "gfx1100", "+wavefrontsize32,-wavefrontsize64", 32, true, G1100},
    {"gfx1151", "gfx1151", "+wavefrontsize32,-wavefrontsize64", 32, true, G1151},
    {"gfx1201", "gfx1201", "+wavefrontsize32,-wavefrontsize64", 32, true, G12},
    {"gfx1100 wave64", "gfx1100", "-wavefrontsize32,+wavefrontsize64", 64, true, G1100},
    {"gfx1201 wave64", "gfx1201", "-wavefrontsize32,+wavefrontsize64", 64, true, G12},
};

unsigned oracle_bits(char type)
{
    switch (type) {
    case 'c':
        return 8;
    case 'h':
    case 'T':
    case 'e':
    case 's':
    case 'w':
    case 'x':
        return 16;
    case 'd':
    case 'I':
    case 'U':
    case 'q':
    case 'F':
    case 'N':
        return 64;
    case 'z':
        return 128;
    case 'm':
        return 1;
    default:
        return 32;
    }
}

const struct sf_format *oracle_format(char type)
{
    switch (type) {
    case 'f':
    case 't':
    case 'F':
        return &sf_f32;
    case 'h':
    case 'T':
    case 'Y':
        return &sf_f16;
    case 'd':
        return &sf_f64;
    case 'e':
        return &sf_bf16;
    default:
        return NULL;
    }
}

/* bf16 follows the f32 fields, f16 and f64 share theirs. */
struct sf_env oracle_env(uint32_t mode, const struct sf_format *f)
{
    bool single = f == &sf_f32 || f == &sf_bf16;
    unsigned denorm = mode >> (single ? 4 : 6) & 3;

    return (struct sf_env){(enum sf_round)(mode >> (single ? 0 : 2) & 3), denorm & 1, denorm >> 1};
}

#define OP(kind, sem, n9, n11, sig, targets, flags, body)                                          \
    static void do_##sem(struct oracle_lane *x)                                                    \
    {                                                                                              \
        body;                                                                                      \
    }
#include "oracle_valu.def"
#undef OP

#define OP(kind, sem, n9, n11, sig, targets, flags, body)                                          \
    {kind, #sem, {n9, n11}, sig, targets, flags, do_##sem},
const struct oracle_op oracle_valu[] = {
#include "oracle_valu.def"
};
const unsigned oracle_valu_count = sizeof oracle_valu / sizeof *oracle_valu;
