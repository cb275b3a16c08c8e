/*
 * The few functions of HIP that pyaotriton offers, in C, as lib/runtime/hip.h cannot be included
 * from C++. Each returns a hipError_t; hipErrorSharedObjectInitFailed where there is no runtime.
 */
#ifndef HIP_DOOR_H
#define HIP_DOOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

int hip_door_malloc(void **memory, size_t bytes);
int hip_door_free(void *memory);
int hip_door_upload(void *to, const void *from, size_t bytes);
int hip_door_download(void *to, const void *from, size_t bytes);
int hip_door_zero(void *memory, size_t bytes);
int hip_door_synchronize(void);
int hip_door_last_error(void); /* and clears it; hipSuccess where the runtime cannot tell */

#ifdef __cplusplus
}
#endif
#endif
