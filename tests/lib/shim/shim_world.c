/* Images and a fake HIP for the test of the C++ names. */
#include "shim_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "fake_hip.h"
#include "make_image.h"

static char directory[256], hidden[300];

void world_begin(void)
{
    static const char *const targets[WORLD_DEVICES] = {"gfx942:sramecc+:xnack-",
                                                       "gfx90a:sramecc+:xnack-", "gfx1100",
                                                       "gfx906:sramecc+:xnack-", "gfx1151"};
    static const char *const gpus[] = {"gfx942", "gfx90a", "gfx1100", "gfx1151"};
    make_directory(directory);
    snprintf(hidden, sizeof(hidden), "%s-hidden", directory);
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        struct make_image image = make_image(gpus[i], NULL);
        make_image_write(&image, directory, gpus[i]);
        free(image.bytes);
    }
    fake_hip_reset();
    fake_hip.devices = WORLD_DEVICES;
    for (int i = 0; i < WORLD_DEVICES; i++)
        fake_hip.targets[i] = targets[i];
    setenv("AOTHIP_IMAGES", directory, 1);
}

void world_end(void)
{
    remove_directory(directory);
}

void world_hide_images(void)
{
    rename(directory, hidden);
}

void world_show_images(void)
{
    rename(hidden, directory);
}

void *world_stream(int device)
{
    return fake_hip_stream(device);
}

void world_fail_at(int n, int error)
{
    fake_hip.calls = 0;
    fake_hip.fail_at = n;
    fake_hip.fail_with = (hipError_t)error;
}

struct world_launch world_launches(void)
{
    const struct attn_fwd_args *args = &fake_hip.args;
    const struct world_launch launch = {
        .launches = fake_hip.launches,
        .calls = fake_hip.calls,
        .queries = fake_hip.queries,
        .symbol = fake_hip.symbol,
        .device = fake_hip.device,
        .q = args->problem.q,
        .k = args->problem.k,
        .v = args->problem.v,
        .o = args->o,
        .lse = args->lse,
        .o_seq_stride = args->o_stride.seq,
        .seq_q = args->problem.seq_q,
        .seq_k = args->problem.seq_k,
        .key_first = args->problem.key_first,
        .key_last = args->problem.key_last,
        .scale = args->problem.scale,
    };
    fake_hip.launches = fake_hip.calls = fake_hip.queries = 0;
    return launch;
}
