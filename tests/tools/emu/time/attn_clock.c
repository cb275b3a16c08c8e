/*
 * How long the emulator's clock says that fixed problems take, a line each: clocks of all launches
 * of a call that fills the GPU. clock.sh holds them against images/counts.
 */
#include "clock_calls.h"
#include "gpus.h"

#include <stdio.h>
#include <string.h>

/* Not whole launches, which would take minutes. */
enum { SAMPLES = 32 };

static const struct problem problems[] = {
    {"d64", 8, 16, 16, 1024, 192, 64, 0, 0, AOTHIP_F16},
    {"d128", 8, 16, 16, 1024, 192, 128, 0, 0, AOTHIP_F16},
    {"d128_bf16", 8, 16, 16, 1024, 192, 128, 0, 0, AOTHIP_BF16},
    {"d192", 8, 16, 16, 512, 128, 192, 0, 0, AOTHIP_F16},
    {"d192x128", 8, 16, 16, 1024, 192, 192, 0, NARROW, AOTHIP_F16},
    {"d192x128_causal", 8, 16, 16, 512, 512, 192, AOTHIP_MASK_CAUSAL_TOP_LEFT, NARROW, AOTHIP_BF16},
    {"d256", 8, 16, 16, 512, 128, 256, 0, 0, AOTHIP_F16},
    {"d256_more_keys", 8, 16, 16, 512, 512, 256, 0, 0, AOTHIP_BF16},
    {"d256_bias", 8, 16, 16, 512, 128, 256, 0, BIAS, AOTHIP_F16},
    {"d256_pages", 8, 16, 16, 512, 128, 256, 0, PAGES, AOTHIP_F16},
    {"d512", 8, 8, 8, 256, 64, 512, 0, 0, AOTHIP_F16},
    {"d512_more_keys", 8, 16, 16, 256, 384, 512, 0, 0, AOTHIP_BF16},
    {"d512_pages", 8, 16, 16, 256, 256, 512, 0, PAGES, AOTHIP_F16},
    {"d64_f32", 8, 8, 8, 512, 128, 64, 0, 0, AOTHIP_F32},
    {"d64_77_keys", 8, 16, 16, 1024, 77, 64, 0, 0, AOTHIP_F16},
    {"d64_causal", 8, 16, 16, 384, 384, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16},
    {"d128_causal", 8, 16, 16, 384, 384, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16},
    /* whose K and V a GPU's last cache does not hold */
    {"d128_heads", 1, 64, 64, 1024, 1024, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_BF16},
    {"d128_gqa", 8, 16, 4, 1024, 128, 128, 0, 0, AOTHIP_F16},
    {"d64_bias", 8, 16, 16, 1024, 128, 64, 0, BIAS, AOTHIP_F16},
    {"d128_bias", 8, 16, 16, 1024, 128, 128, 0, BIAS, AOTHIP_F16},
    {"d128_keep", 8, 16, 16, 1024, 128, 128, 0, KEEP, AOTHIP_F16},
    {"d64_padding", 8, 16, 16, 1024, 192, 64, 0, KEEP | PADDING, AOTHIP_F16},
    {"d128_padding", 8, 16, 16, 1024, 192, 128, 0, KEEP | PADDING, AOTHIP_F16},
    {"d128_slopes", 8, 16, 16, 1024, 128, 128, 0, SLOPES, AOTHIP_F16},
    {"d128_dropout", 8, 16, 16, 1024, 128, 128, 0, DROPOUT, AOTHIP_F16},
    {"d128_odd", 8, 16, 16, 1024, 128, 128, 0, ODD, AOTHIP_F16},
    {"d128_pages", 8, 16, 16, 1024, 128, 128, 0, PAGES, AOTHIP_F16},
    {"d128_batch", 8, 8, 8, 1024, 1024, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_BF16},
    {"decode_d64", 16, 32, 32, 1, 512, 64, 0, 0, AOTHIP_F16},
    {"decode_d128", 16, 32, 32, 1, 512, 128, 0, 0, AOTHIP_F16},
    {"decode_d128_gqa", 16, 32, 4, 1, 2048, 128, 0, 0, AOTHIP_F16},
    {"d64_32_rows_bias", 8, 32, 8, 8, 2048, 64, 0, BIAS, AOTHIP_F16},
    {"d128_32_rows", 8, 32, 8, 8, 2048, 128, 0, 0, AOTHIP_F16},
    {"d64_64_rows", 8, 32, 4, 8, 2048, 64, 0, 0, AOTHIP_F16},
    {"d128_64_rows", 8, 32, 4, 8, 2048, 128, 0, 0, AOTHIP_F16},
    {"d192_64_rows", 8, 32, 4, 8, 2048, 192, 0, 0, AOTHIP_F16},
    {"d256_64_rows_bias", 8, 32, 4, 8, 2048, 256, 0, BIAS, AOTHIP_F16},
    {"d256_pages_bias", 8, 16, 16, 512, 128, 256, 0, BIAS | PAGES, AOTHIP_F16},
    {"d128_fp8", 8, 16, 16, 1024, 192, 128, 0, FP8 | ALL_FP8, AOTHIP_BF16},
    {"d128_kv_fp8", 8, 16, 16, 1024, 192, 128, 0, FP8, AOTHIP_BF16},
    {"d256_kv_fp8", 8, 16, 16, 512, 128, 256, 0, FP8, AOTHIP_BF16},
    {"d256_kv_fp8_bias", 8, 16, 16, 512, 128, 256, 0, FP8 | BIAS, AOTHIP_BF16},
    {"d256_64_kv_fp8", 8, 32, 4, 8, 2048, 256, 0, FP8, AOTHIP_BF16},
    {"decode_kv_fp8", 16, 32, 4, 1, 2048, 128, 0, FP8, AOTHIP_BF16},
    {"bwd_d64", 8, 8, 8, 256, 256, 64, 0, BACKWARD, AOTHIP_F16},
    {"bwd_d128", 8, 8, 8, 256, 256, 128, 0, BACKWARD, AOTHIP_F16},
    {"bwd_d128_bf16", 8, 8, 8, 256, 256, 128, 0, BACKWARD, AOTHIP_BF16},
    {"bwd_d128_causal", 8, 8, 8, 384, 384, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, BACKWARD, AOTHIP_F16},
    {"bwd_d128_gqa", 8, 8, 2, 256, 256, 128, 0, BACKWARD, AOTHIP_F16},
    {"bwd_d64_bias", 8, 8, 8, 256, 256, 64, 0, BACKWARD | BIAS, AOTHIP_F16},
    {"bwd_d64_fused", 20, 8, 8, 512, 256, 64, 0, BACKWARD | ATOMICS, AOTHIP_BF16},
    {"bwd_d128_fused", 20, 8, 8, 512, 256, 128, 0, BACKWARD | ATOMICS, AOTHIP_BF16},
};

/* Prints the longest launch's kernel, the number of launches, the clocks of all. */
static void print_one(const struct calls *c, const char *target, const struct problem *p)
{
    const char *kernel = "";
    double most = 0, sum = 0;

    for (size_t i = 0; i < c->time.count(); i++) {
        const struct emu_time_result *r = c->time.get(i);

        sum += r->cycles.middle;
        if (r->cycles.middle > most) {
            most = r->cycles.middle;
            kernel = r->kernel;
        }
    }
    printf("%-8.*s %-16s %-50s %zu %9.0f\n", (int)strcspn(target, ":"), target, p->name, kernel,
           c->time.count(), sum);
}

/* Batches are for 304 compute units; GPUs with fewer have as much less to do. */
static int time_all(struct calls *c, const struct device *device, char *memory)
{
    struct aothip_device_info info = {.struct_size = sizeof(info)};

    if (aothip_stream_device(c->context, device->stream, &info))
        return 0;
    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
        struct problem p = problems[i];

        if (p.options & ALL_FP8 && !gpus_fp8(device->properties.target))
            continue;
        p.batch = (p.batch * info.compute_units + 303) / 304;
        if (!calls_time(c, device, memory, &p, EMU_TIME_SAMPLES_ONLY, SAMPLES))
            return 0;
        print_one(c, device->properties.target, &p);
    }
    return 1;
}

int main(void)
{
    struct calls c = {0};

    return !(calls_open(&c, gpus_asked(GPUS_EVERY)) && calls_devices(&c, time_all));
}
