/* Shapes and types of the matrix instructions, for test_semantics_matrix. */
#ifndef AOTHIP_TEST_SEMANTICS_SHAPES_H
#define AOTHIP_TEST_SEMANTICS_SHAPES_H

#include "oracle_matrix.h"

struct row {
    const char *name[2]; /* gfx90a; gfx942 and gfx950; WMMA: null, its name */
    unsigned m, n, k, blocks;
    enum oracle_element a, b, d;
};

static const struct row mfmas[] = {
    {{"f32_32x32x1f32", "f32_32x32x1_2b_f32"}, 32, 32, 1, 2, M_F32, M_F32, M_F32},
    {{"f32_16x16x1f32", "f32_16x16x1_4b_f32"}, 16, 16, 1, 4, M_F32, M_F32, M_F32},
    {{"f32_4x4x1f32", "f32_4x4x1_16b_f32"}, 4, 4, 1, 16, M_F32, M_F32, M_F32},
    {{"f32_32x32x2f32", "f32_32x32x2_f32"}, 32, 32, 2, 1, M_F32, M_F32, M_F32},
    {{"f32_16x16x4f32", "f32_16x16x4_f32"}, 16, 16, 4, 1, M_F32, M_F32, M_F32},
    {{"f32_32x32x4f16", "f32_32x32x4_2b_f16"}, 32, 32, 4, 2, M_F16, M_F16, M_F32},
    {{"f32_16x16x4f16", "f32_16x16x4_4b_f16"}, 16, 16, 4, 4, M_F16, M_F16, M_F32},
    {{"f32_4x4x4f16", "f32_4x4x4_16b_f16"}, 4, 4, 4, 16, M_F16, M_F16, M_F32},
    {{"f32_32x32x8f16", "f32_32x32x8_f16"}, 32, 32, 8, 1, M_F16, M_F16, M_F32},
    {{"f32_16x16x16f16", "f32_16x16x16_f16"}, 16, 16, 16, 1, M_F16, M_F16, M_F32},
    {{"i32_32x32x4i8", "i32_32x32x4_2b_i8"}, 32, 32, 4, 2, M_I8, M_I8, M_I32},
    {{"i32_16x16x4i8", "i32_16x16x4_4b_i8"}, 16, 16, 4, 4, M_I8, M_I8, M_I32},
    {{"i32_4x4x4i8", "i32_4x4x4_16b_i8"}, 4, 4, 4, 16, M_I8, M_I8, M_I32},
    {{"i32_32x32x8i8", NULL}, 32, 32, 8, 1, M_I8, M_I8, M_I32},
    {{"i32_16x16x16i8", NULL}, 16, 16, 16, 1, M_I8, M_I8, M_I32},
    {{NULL, "i32_32x32x16_i8"}, 32, 32, 16, 1, M_I8, M_I8, M_I32},
    {{NULL, "i32_16x16x32_i8"}, 16, 16, 32, 1, M_I8, M_I8, M_I32},
    {{"f32_32x32x2bf16", NULL}, 32, 32, 2, 2, M_BF16, M_BF16, M_F32},
    {{"f32_16x16x2bf16", NULL}, 16, 16, 2, 4, M_BF16, M_BF16, M_F32},
    {{"f32_4x4x2bf16", NULL}, 4, 4, 2, 16, M_BF16, M_BF16, M_F32},
    {{"f32_32x32x4bf16", NULL}, 32, 32, 4, 1, M_BF16, M_BF16, M_F32},
    {{"f32_16x16x8bf16", NULL}, 16, 16, 8, 1, M_BF16, M_BF16, M_F32},
    {{"f32_32x32x4bf16_1k", "f32_32x32x4_2b_bf16"}, 32, 32, 4, 2, M_BF16, M_BF16, M_F32},
    {{"f32_16x16x4bf16_1k", "f32_16x16x4_4b_bf16"}, 16, 16, 4, 4, M_BF16, M_BF16, M_F32},
    {{"f32_4x4x4bf16_1k", "f32_4x4x4_16b_bf16"}, 4, 4, 4, 16, M_BF16, M_BF16, M_F32},
    {{"f32_32x32x8bf16_1k", "f32_32x32x8_bf16"}, 32, 32, 8, 1, M_BF16, M_BF16, M_F32},
    {{"f32_16x16x16bf16_1k", "f32_16x16x16_bf16"}, 16, 16, 16, 1, M_BF16, M_BF16, M_F32},
    {{"f64_16x16x4f64", "f64_16x16x4_f64"}, 16, 16, 4, 1, M_F64, M_F64, M_F64},
    {{"f64_4x4x4f64", "f64_4x4x4_4b_f64"}, 4, 4, 4, 4, M_F64, M_F64, M_F64},
    {{NULL, "f32_16x16x8_xf32"}, 16, 16, 8, 1, M_F32, M_F32, M_F32},
    {{NULL, "f32_32x32x4_xf32"}, 32, 32, 4, 1, M_F32, M_F32, M_F32},
    {{NULL, "f32_16x16x32_fp8_fp8"}, 16, 16, 32, 1, M_FP8, M_FP8, M_F32},
    {{NULL, "f32_16x16x32_fp8_bf8"}, 16, 16, 32, 1, M_FP8, M_BF8, M_F32},
    {{NULL, "f32_16x16x32_bf8_fp8"}, 16, 16, 32, 1, M_BF8, M_FP8, M_F32},
    {{NULL, "f32_16x16x32_bf8_bf8"}, 16, 16, 32, 1, M_BF8, M_BF8, M_F32},
    {{NULL, "f32_32x32x16_fp8_fp8"}, 32, 32, 16, 1, M_FP8, M_FP8, M_F32},
    {{NULL, "f32_32x32x16_fp8_bf8"}, 32, 32, 16, 1, M_FP8, M_BF8, M_F32},
    {{NULL, "f32_32x32x16_bf8_fp8"}, 32, 32, 16, 1, M_BF8, M_FP8, M_F32},
    {{NULL, "f32_32x32x16_bf8_bf8"}, 32, 32, 16, 1, M_BF8, M_BF8, M_F32},
};

static const struct row mfmas_gfx950[] = {
    {{NULL, "f32_32x32x16_f16"}, 32, 32, 16, 1, M_F16, M_F16, M_F32},
    {{NULL, "f32_32x32x16_bf16"}, 32, 32, 16, 1, M_BF16, M_BF16, M_F32},
    {{NULL, "f32_16x16x32_f16"}, 16, 16, 32, 1, M_F16, M_F16, M_F32},
    {{NULL, "f32_16x16x32_bf16"}, 16, 16, 32, 1, M_BF16, M_BF16, M_F32},
    {{NULL, "i32_32x32x32_i8"}, 32, 32, 32, 1, M_I8, M_I8, M_I32},
    {{NULL, "i32_16x16x64_i8"}, 16, 16, 64, 1, M_I8, M_I8, M_I32},
};

/* Their elements are those of CBSZ and BLGP. */
static const enum oracle_element narrow_pairs[][2] = {
    {M_FP8_OCP, M_FP8_OCP}, {M_FP8_OCP, M_BF8_OCP}, {M_BF8_OCP, M_FP8_OCP}, {M_BF8_OCP, M_BF8_OCP},
    {M_FP8_OCP, M_FP4},     {M_BF6, M_BF8_OCP},     {M_FP6, M_FP6},         {M_BF6, M_BF6},
    {M_FP4, M_FP4},         {M_FP4, M_FP6}};

static const struct row wmmas[] = {
    {{NULL, "f32_16x16x16_f16"}, 16, 16, 16, 1, M_F16, M_F16, M_F32},
    {{NULL, "f32_16x16x16_bf16"}, 16, 16, 16, 1, M_BF16, M_BF16, M_F32},
    {{NULL, "f16_16x16x16_f16"}, 16, 16, 16, 1, M_F16, M_F16, M_F16},
    {{NULL, "bf16_16x16x16_bf16"}, 16, 16, 16, 1, M_BF16, M_BF16, M_BF16},
    {{NULL, "i32_16x16x16_iu8"}, 16, 16, 16, 1, M_I8, M_I8, M_I32},
    {{NULL, "i32_16x16x16_iu4"}, 16, 16, 16, 1, M_I4, M_I4, M_I32},
    {{NULL, "f32_16x16x16_fp8_fp8"}, 16, 16, 16, 1, M_FP8_OCP, M_FP8_OCP, M_F32},
    {{NULL, "f32_16x16x16_fp8_bf8"}, 16, 16, 16, 1, M_FP8_OCP, M_BF8_OCP, M_F32},
    {{NULL, "f32_16x16x16_bf8_fp8"}, 16, 16, 16, 1, M_BF8_OCP, M_FP8_OCP, M_F32},
    {{NULL, "f32_16x16x16_bf8_bf8"}, 16, 16, 16, 1, M_BF8_OCP, M_BF8_OCP, M_F32},
};

/* Of gfx12. */
static const struct row wmmas_gfx12[] = {
    {{NULL, "i32_16x16x32_iu4"}, 16, 16, 32, 1, M_I4, M_I4, M_I32},
};

static const struct row smfmacs[] = {
    {{NULL, "f32_16x16x32_f16"}, 16, 16, 32, 1, M_F16, M_F16, M_F32},
    {{NULL, "f32_32x32x16_f16"}, 32, 32, 16, 1, M_F16, M_F16, M_F32},
    {{NULL, "f32_16x16x32_bf16"}, 16, 16, 32, 1, M_BF16, M_BF16, M_F32},
    {{NULL, "f32_32x32x16_bf16"}, 32, 32, 16, 1, M_BF16, M_BF16, M_F32},
    {{NULL, "i32_16x16x64_i8"}, 16, 16, 64, 1, M_I8, M_I8, M_I32},
    {{NULL, "i32_32x32x32_i8"}, 32, 32, 32, 1, M_I8, M_I8, M_I32},
    {{NULL, "f32_16x16x64_bf8_bf8"}, 16, 16, 64, 1, M_BF8, M_BF8, M_F32},
    {{NULL, "f32_16x16x64_bf8_fp8"}, 16, 16, 64, 1, M_BF8, M_FP8, M_F32},
    {{NULL, "f32_16x16x64_fp8_bf8"}, 16, 16, 64, 1, M_FP8, M_BF8, M_F32},
    {{NULL, "f32_16x16x64_fp8_fp8"}, 16, 16, 64, 1, M_FP8, M_FP8, M_F32},
    {{NULL, "f32_32x32x32_bf8_bf8"}, 32, 32, 32, 1, M_BF8, M_BF8, M_F32},
    {{NULL, "f32_32x32x32_bf8_fp8"}, 32, 32, 32, 1, M_BF8, M_FP8, M_F32},
    {{NULL, "f32_32x32x32_fp8_bf8"}, 32, 32, 32, 1, M_FP8, M_BF8, M_F32},
    {{NULL, "f32_32x32x32_fp8_fp8"}, 32, 32, 32, 1, M_FP8, M_FP8, M_F32},
};

/* Of gfx950, of twice the depth. */
static const struct row smfmacs_gfx950[] = {
    {{NULL, "f32_16x16x64_f16"}, 16, 16, 64, 1, M_F16, M_F16, M_F32},
    {{NULL, "f32_32x32x32_f16"}, 32, 32, 32, 1, M_F16, M_F16, M_F32},
    {{NULL, "f32_16x16x64_bf16"}, 16, 16, 64, 1, M_BF16, M_BF16, M_F32},
    {{NULL, "f32_32x32x32_bf16"}, 32, 32, 32, 1, M_BF16, M_BF16, M_F32},
    {{NULL, "i32_16x16x128_i8"}, 16, 16, 128, 1, M_I8, M_I8, M_I32},
    {{NULL, "i32_32x32x64_i8"}, 32, 32, 64, 1, M_I8, M_I8, M_I32},
    {{NULL, "f32_16x16x128_bf8_bf8"}, 16, 16, 128, 1, M_BF8, M_BF8, M_F32},
    {{NULL, "f32_16x16x128_bf8_fp8"}, 16, 16, 128, 1, M_BF8, M_FP8, M_F32},
    {{NULL, "f32_16x16x128_fp8_bf8"}, 16, 16, 128, 1, M_FP8, M_BF8, M_F32},
    {{NULL, "f32_16x16x128_fp8_fp8"}, 16, 16, 128, 1, M_FP8, M_FP8, M_F32},
    {{NULL, "f32_32x32x64_bf8_bf8"}, 32, 32, 64, 1, M_BF8, M_BF8, M_F32},
    {{NULL, "f32_32x32x64_bf8_fp8"}, 32, 32, 64, 1, M_BF8, M_FP8, M_F32},
    {{NULL, "f32_32x32x64_fp8_bf8"}, 32, 32, 64, 1, M_FP8, M_BF8, M_F32},
    {{NULL, "f32_32x32x64_fp8_fp8"}, 32, 32, 64, 1, M_FP8, M_FP8, M_F32},
};

#endif
