/* What the files of libaotriton_v2.so share: the context, the error table, and forward attention.
 */
#ifndef AOTHIP_SHIM_H
#define AOTHIP_SHIM_H

#include <aothip/aothip.h>
#include <aotriton/flash.h>

namespace shim
{

namespace ao = AOTRITON_NS;

/*
 * The process's context on the default image directory, opened on the first call and never closed;
 * null after a failure, with *error filled.
 */
aothip_context *context(hipError_t *error);

/* The one table from our codes to HIP's. A failed HIP call gives its own code. */
hipError_t to_hip(aothip_status status);

/* Records `reason` as the thread's last error and returns `status` as HIP's. */
hipError_t refuse(aothip_status status, const char *reason);

/* The tensors of forward attention, whatever entry point they came through. */
struct fwd {
    const ao::TensorView<4> &q, &k, &v, &bias, &out, &encoded_softmax;
    const ao::TensorView<2> &lse;
    float scale, dropout_p;
    bool varlen;
};

/* Which keys a query sees; window values are read only if `windowed`. */
struct window {
    bool windowed;
    std::int32_t left, right;
};

/* Refuses what has no kernel, with the reason; then launches. */
hipError_t attn_fwd(const fwd &given, const window &keys, ao::Stream stream);

} // namespace shim

#endif
