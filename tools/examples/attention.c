/*
 * Attention from a C program: one causal forward pass in half precision, checked by eye.
 *
 *     cc -std=c99 -D__HIP_PLATFORM_AMD__ attention.c -laothip -lamdhip64 && ./a.out
 */
#include <aothip/aothip.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1, HEADS = 2, ROWS = 5, DIM = 64, ELEMENTS = BATCH * HEADS * ROWS * DIM };

static void must(hipError_t error, const char *what)
{
    if (error != hipSuccess) {
        fprintf(stderr, "%s: %s\n", what, hipGetErrorName(error));
        exit(1);
    }
}

/* (batch, head, row, channel), contiguous in this order. */
static struct aothip_tensor tensor(void *data)
{
    struct aothip_tensor t = {0};
    const int64_t size[4] = {BATCH, HEADS, ROWS, DIM};
    const int64_t stride[4] = {HEADS * ROWS * DIM, ROWS * DIM, DIM, 1};
    t.data = data;
    memcpy(t.size, size, sizeof(size));
    memcpy(t.stride, stride, sizeof(stride));
    t.dtype = AOTHIP_F16;
    return t;
}

int main(void)
{
    struct aothip_context *context;
    struct aothip_attn_fwd_params params;
    uint16_t host[ELEMENTS];
    void *q, *k, *v, *o;

    must(hipMalloc(&q, sizeof(host)), "hipMalloc");
    must(hipMalloc(&k, sizeof(host)), "hipMalloc");
    must(hipMalloc(&v, sizeof(host)), "hipMalloc");
    must(hipMalloc(&o, sizeof(host)), "hipMalloc");
    /* q = 0: every visible key has the same weight. Row n of v is n, in half precision. */
    must(hipMemset(q, 0, sizeof(host)), "hipMemset");
    must(hipMemset(k, 0, sizeof(host)), "hipMemset");
    for (int i = 0; i < ELEMENTS; i++) {
        static const uint16_t number[ROWS] = {0x0000, 0x3c00, 0x4000, 0x4200, 0x4400};
        host[i] = number[i / DIM % ROWS];
    }
    must(hipMemcpy(v, host, sizeof(host), hipMemcpyHostToDevice), "hipMemcpy");

    if (aothip_open(NULL, &context) != AOTHIP_OK) {
        fprintf(stderr, "aothip_open: %s\n", aothip_last_error());
        return 1;
    }
    memset(&params, 0, sizeof(params));
    params.struct_size = sizeof(params);
    params.q = tensor(q);
    params.k = tensor(k);
    params.v = tensor(v);
    params.o = tensor(o);
    params.scale = 0.125f;
    params.mask = AOTHIP_MASK_CAUSAL_TOP_LEFT;
    if (aothip_attn_fwd(context, &params, NULL) != AOTHIP_OK) {
        fprintf(stderr, "aothip_attn_fwd: %s\n", aothip_last_error());
        return 1;
    }
    must(hipMemcpy(host, o, sizeof(host), hipMemcpyDeviceToHost), "hipMemcpy");

    /* Row m is the mean of 0 .. m: 0, 0.5, 1, 1.5, 2. */
    for (int m = 0; m < ROWS; m++)
        printf("row %d: 0x%04x\n", m, host[m * DIM]);
    aothip_close(context);
    hipFree(q);
    hipFree(k);
    hipFree(v);
    hipFree(o);
    return 0;
}
