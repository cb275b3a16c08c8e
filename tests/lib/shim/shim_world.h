/* The world in which test_shim.cc runs: images and a fake HIP, behind a header that C++ can read.
 */
#ifndef AOTHIP_SHIM_WORLD_H
#define AOTHIP_SHIM_WORLD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WORLD_DEVICES = 5 };
/* gfx942 (304 units), gfx90a, gfx1100, gfx906 (without images), gfx1151 */

/* Writes images into a fresh directory and points AOTHIP_IMAGES there; removes them again. */
void world_begin(void);
void world_end(void);

/* Hides the image directory from the library, and shows it again. */
void world_hide_images(void);
void world_show_images(void);

/* A stream of `device`. */
void *world_stream(int device);

/* Makes the n-th HIP call from now on fail with `error`; 0 ends that. */
void world_fail_at(int n, int error);

/* What the last launch was given. */
struct world_launch {
    int launches, calls, queries; /* since the last world_launches(), which starts anew */
    const char *symbol;
    int device;
    uint64_t q, k, v, o, lse;
    int64_t o_seq_stride;
    int seq_q, seq_k, key_first, key_last;
    float scale;
};
struct world_launch world_launches(void);

#ifdef __cplusplus
}
#endif
#endif
