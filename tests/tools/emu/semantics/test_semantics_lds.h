/* Instructions of LDS, for test_semantics_lds. */
#ifndef AOTHIP_TEST_SEMANTICS_LDS_H
#define AOTHIP_TEST_SEMANTICS_LDS_H

#include "oracle_memory.h"

enum form {
    READ,
    READ2,
    WRITE,
    WRITE2,
    ATOMIC,
    EXCHANGE2,
    SWIZZLE,
    PERMUTE,
    BPERMUTE,
    BPERMUTE_FI,
    ADDTID_R,
    ADDTID_W,
    APPEND,
    CONDXCHG,
    TRANSPOSE,
    TO_LDS
};

struct row {
    enum form form;
    const char *name[2];
    unsigned kind;  /* oracle_load, oracle_store, oracle_atomic, or the element's bytes */
    unsigned width; /* atomics: 32, 64 */
    char type;      /* of the data */
    unsigned targets;
};

#define LD(n9, n11, kind)                                                                          \
    {                                                                                              \
        READ, {n9, n11}, kind, 0, 'b', ALL                                                         \
    }
#define ST(n9, n11, kind)                                                                          \
    {                                                                                              \
        WRITE, {n9, n11}, kind, 0, 'b', ALL                                                        \
    }
#define AT(op, width, type, n9, n9r, n11, n11r, targets)                                           \
    {ATOMIC, {n9, n11}, op, width, type, targets},                                                 \
    {                                                                                              \
        ATOMIC, {n9r, n11r}, op, width, type, targets                                              \
    }
#define AT32(op, base9, base11)                                                                    \
    AT(op, 32, 'u', "ds_" base9 "_u32", "ds_" base9 "_rtn_u32", "ds_" base11 "_u32",               \
       "ds_" base11 "_rtn_u32", ALL),                                                              \
        AT(op, 64, 'U', "ds_" base9 "_u64", "ds_" base9 "_rtn_u64", "ds_" base11 "_u64",           \
           "ds_" base11 "_rtn_u64", ALL)
#define ATI(op, base)                                                                              \
    AT(op, 32, 'i', "ds_" base "_i32", "ds_" base "_rtn_i32", "ds_" base "_i32",                   \
       "ds_" base "_rtn_i32", ALL),                                                                \
        AT(op, 64, 'I', "ds_" base "_i64", "ds_" base "_rtn_i64", "ds_" base "_i64",               \
           "ds_" base "_rtn_i64", ALL)
#define ATB(op, base9, base11)                                                                     \
    AT(op, 32, 'b', "ds_" base9 "_b32", "ds_" base9 "_rtn_b32", "ds_" base11 "_b32",               \
       "ds_" base11 "_rtn_b32", ALL),                                                              \
        AT(op, 64, 'q', "ds_" base9 "_b64", "ds_" base9 "_rtn_b64", "ds_" base11 "_b64",           \
           "ds_" base11 "_rtn_b64", ALL)
#define ATF(op, base9, base11, targets)                                                            \
    AT(op, 32, 'n', "ds_" base9 "_f32", "ds_" base9 "_rtn_f32", "ds_" base11 "_f32",               \
       "ds_" base11 "_rtn_f32", targets),                                                          \
        AT(op, 64, 'N', "ds_" base9 "_f64", "ds_" base9 "_rtn_f64", "ds_" base11 "_f64",           \
           "ds_" base11 "_rtn_f64", targets)

static const struct row rows[] = {
    LD("ds_read_u8", "ds_load_u8", L_U8),
    LD("ds_read_i8", "ds_load_i8", L_I8),
    LD("ds_read_u16", "ds_load_u16", L_U16),
    LD("ds_read_i16", "ds_load_i16", L_I16),
    LD("ds_read_b32", "ds_load_b32", L_B32),
    LD("ds_read_b64", "ds_load_b64", L_B64),
    LD("ds_read_b96", "ds_load_b96", L_B96),
    LD("ds_read_b128", "ds_load_b128", L_B128),
    LD("ds_read_u8_d16", "ds_load_u8_d16", L_D16_U8),
    LD("ds_read_u8_d16_hi", "ds_load_u8_d16_hi", L_HI_U8),
    LD("ds_read_i8_d16", "ds_load_i8_d16", L_D16_I8),
    LD("ds_read_i8_d16_hi", "ds_load_i8_d16_hi", L_HI_I8),
    LD("ds_read_u16_d16", "ds_load_u16_d16", L_D16_B16),
    LD("ds_read_u16_d16_hi", "ds_load_u16_d16_hi", L_HI_B16),
    {READ2, {"ds_read2_b32", "ds_load_2addr_b32"}, 4, 1, 'b', ALL},
    {READ2, {"ds_read2st64_b32", "ds_load_2addr_stride64_b32"}, 4, 64, 'b', ALL},
    {READ2, {"ds_read2_b64", "ds_load_2addr_b64"}, 8, 1, 'b', ALL},
    {READ2, {"ds_read2st64_b64", "ds_load_2addr_stride64_b64"}, 8, 64, 'b', ALL},
    ST("ds_write_b8", "ds_store_b8", S_B8),
    ST("ds_write_b16", "ds_store_b16", S_B16),
    ST("ds_write_b32", "ds_store_b32", S_B32),
    ST("ds_write_b64", "ds_store_b64", S_B64),
    ST("ds_write_b96", "ds_store_b96", S_B96),
    ST("ds_write_b128", "ds_store_b128", S_B128),
    ST("ds_write_b8_d16_hi", "ds_store_b8_d16_hi", S_HI_B8),
    ST("ds_write_b16_d16_hi", "ds_store_b16_d16_hi", S_HI_B16),
    {WRITE2, {"ds_write2_b32", "ds_store_2addr_b32"}, 4, 1, 'b', ALL},
    {WRITE2, {"ds_write2st64_b32", "ds_store_2addr_stride64_b32"}, 4, 64, 'b', ALL},
    {WRITE2, {"ds_write2_b64", "ds_store_2addr_b64"}, 8, 1, 'b', ALL},
    {WRITE2, {"ds_write2st64_b64", "ds_store_2addr_stride64_b64"}, 8, 64, 'b', ALL},
    {EXCHANGE2, {"ds_wrxchg2_rtn_b32", "ds_storexchg_2addr_rtn_b32"}, 4, 1, 'b', ALL},
    {EXCHANGE2, {"ds_wrxchg2st64_rtn_b32", "ds_storexchg_2addr_stride64_rtn_b32"}, 4, 64, 'b', ALL},
    {EXCHANGE2, {"ds_wrxchg2st64_rtn_b64", "ds_storexchg_2addr_stride64_rtn_b64"}, 8, 64, 'b', ALL},
    {EXCHANGE2, {"ds_wrxchg2_rtn_b64", "ds_storexchg_2addr_rtn_b64"}, 8, 1, 'b', ALL},
    AT32(A_ADD, "add", "add"),
    AT32(A_SUB, "sub", "sub"),
    AT32(A_RSUB, "rsub", "rsub"),
    AT32(A_INC, "inc", "inc"),
    AT32(A_DEC, "dec", "dec"),
    AT32(A_MIN_U, "min", "min"),
    AT32(A_MAX_U, "max", "max"),
    ATI(A_MIN_I, "min"),
    ATI(A_MAX_I, "max"),
    ATB(A_AND, "and", "and"),
    ATB(A_OR, "or", "or"),
    ATB(A_XOR, "xor", "xor"),
    ATB(A_MSKOR, "mskor", "mskor"),
    ATB(A_CMPST, "cmpst", "cmpstore"),
    {ATOMIC, {"ds_wrxchg_rtn_b32", "ds_storexchg_rtn_b32"}, A_SWAP, 32, 'b', ALL},
    {ATOMIC, {"ds_wrxchg_rtn_b64", "ds_storexchg_rtn_b64"}, A_SWAP, 64, 'q', ALL},
    {ATOMIC, {"ds_wrap_rtn_b32", "ds_wrap_rtn_b32"}, A_WRAP, 32, 'u', BEFORE12},
    {ATOMIC, {NULL, "ds_sub_gs_reg_rtn"}, A_SUB, 32, 'u', NONE},
    ATF(A_MIN_F, "min", "min", BEFORE12),
    ATF(A_MAX_F, "max", "max", BEFORE12),
    ATF(A_MIN_F, "min", "min_num", G12),
    ATF(A_MAX_F, "max", "max_num", G12),
    ATF(A_CMPST_F, "cmpst", "cmpstore", BEFORE12),
    AT(A_CSUB, 32, 'u', NULL, NULL, "ds_sub_clamp_u32", "ds_sub_clamp_rtn_u32", G12),
    AT(A_COND_SUB, 32, 'u', NULL, NULL, "ds_cond_sub_u32", "ds_cond_sub_rtn_u32", G12),
    AT(A_ADD_F, 32, 'n', "ds_add_f32", "ds_add_rtn_f32", "ds_add_f32", "ds_add_rtn_f32", ALL),
    AT(A_ADD_F, 64, 'N', "ds_add_f64", "ds_add_rtn_f64", NULL, NULL, ALL),
    AT(A_PK_ADD_F16, 32, 'H', "ds_pk_add_f16", "ds_pk_add_rtn_f16", "ds_pk_add_f16",
       "ds_pk_add_rtn_f16", G942 | G950 | G12),
    AT(A_PK_ADD_BF16, 32, 'G', "ds_pk_add_bf16", "ds_pk_add_rtn_bf16", "ds_pk_add_bf16",
       "ds_pk_add_rtn_bf16", G942 | G950 | G12),
    {TRANSPOSE, {"ds_read_b64_tr_b16", NULL}, 16, 64, 'b', G950},
    {TRANSPOSE, {"ds_read_b64_tr_b8", NULL}, 8, 64, 'b', G950},
    {TRANSPOSE, {"ds_read_b64_tr_b4", NULL}, 4, 64, 'b', G950},
    {TRANSPOSE, {"ds_read_b96_tr_b6", NULL}, 6, 96, 'b', G950},
    {TO_LDS, {"global_load_lds_dwordx3", NULL}, 3, 0, 'b', G950},
    {TO_LDS, {"global_load_lds_dwordx4", NULL}, 4, 0, 'b', G950},
    {SWIZZLE, {"ds_swizzle_b32", "ds_swizzle_b32"}, 0, 0, 'b', ALL},
    {PERMUTE, {"ds_permute_b32", "ds_permute_b32"}, 0, 0, 'b', ALL},
    {BPERMUTE, {"ds_bpermute_b32", "ds_bpermute_b32"}, 0, 0, 'b', ALL},
    {BPERMUTE_FI, {NULL, "ds_bpermute_fi_b32"}, 0, 0, 'b', G12},
    {ADDTID_R, {"ds_read_addtid_b32", "ds_load_addtid_b32"}, 0, 0, 'b', ALL},
    {ADDTID_W, {"ds_write_addtid_b32", "ds_store_addtid_b32"}, 0, 0, 'b', ALL},
    {APPEND, {"ds_append", "ds_append"}, 1, 0, 'b', ALL},
    {APPEND, {"ds_consume", "ds_consume"}, 0, 0, 'b', ALL},
    {CONDXCHG, {"ds_condxchg32_rtn_b64", "ds_condxchg32_rtn_b64"}, 0, 64, 'q', ALL},
};

#endif
