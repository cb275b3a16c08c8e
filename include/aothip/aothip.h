/*
 * aothip: scaled-dot-product attention on AMD GPUs from precompiled kernels.
 *
 *     S = scale * Q K^T                      (per batch entry and query head)
 *     P = softmax(S over the visible keys)
 *     O = P V,   lse = ln(sum over the visible keys of exp(S))
 *
 * (Vaswani et al. 2017, eq. 1, in the tiled form of Dao et al. 2022.)
 *
 * This header is the specification. It is plain C99 and may be included from C++.
 *
 * Common rules
 * - Tensors live in device memory; the library never reads or writes them from the host.
 * - Strides count elements of the tensor's own type, never bytes.
 * - All work is asynchronous on the caller's stream; the library never synchronises and, after the
 *   first call of a kernel on a device, can be captured in a HIP graph.
 * - Every function may be called from any number of threads at once, on one context or on several,
 *   except that aothip_close() needs the context to be idle.
 * - Every function that can fail returns an aothip_status. Alongside, the calling thread's
 *   aothip_last_error() holds one line that names the argument, file, kernel or GPU at fault.
 *   A call that fails has launched nothing and written nothing.
 * - Nothing is printed unless the environment variable AOTHIP_LOG is set to 1 (failures) or
 *   2 (failures, image loading and every launch); it goes to stderr.
 * - For bug reports, AOTHIP_CAPTURE=DIR writes every launch of contexts opened since into DIR, with
 *   its tensors, for aothip-replay(1). It waits for the stream around each launch, and a call that
 *   cannot write the capture's end fails although it has launched.
 */
#ifndef AOTHIP_H
#define AOTHIP_H

#include <stddef.h>
#include <stdint.h>

#define AOTHIP_VERSION_MAJOR 0
#define AOTHIP_VERSION_MINOR 1
#define AOTHIP_VERSION_PATCH 0

#if defined(__GNUC__)
#define AOTHIP_API __attribute__((visibility("default")))
#else
#define AOTHIP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Values are frozen; new ones are appended. The texts stand in lib/status.def. */
enum aothip_status {
    AOTHIP_OK = 0,
    AOTHIP_E_ARGUMENT = 1,    /* an argument breaks a rule stated in this header */
    AOTHIP_E_UNSUPPORTED = 2, /* legal, but no kernel in the images of this GPU computes it */
    AOTHIP_E_NO_HIP = 3,      /* no HIP runtime could be found, or it lacks a needed function */
    AOTHIP_E_HIP = 4,         /* a HIP call failed: see aothip_last_hip_error() */
    AOTHIP_E_NO_DEVICE = 5,   /* no such device, or no GPU at all */
    AOTHIP_E_NO_IMAGES = 6,   /* no image directory, or none for this GPU in it */
    AOTHIP_E_IO = 7,          /* an image file could not be read */
    AOTHIP_E_FORMAT = 8,      /* an image file breaks the format (images/FORMAT.md) */
    AOTHIP_E_CHECKSUM = 9,    /* an image file is damaged */
    AOTHIP_E_VERSION = 10,    /* an image file was made for another version of this library */
    AOTHIP_E_TARGET = 11,     /* a code object does not fit this GPU */
    AOTHIP_E_MEMORY = 12      /* host memory ran out */
};

/* Element types of tensors. Values are frozen. */
enum aothip_dtype {
    AOTHIP_F32 = 1, /* IEEE 754 binary32 */
    AOTHIP_F16 = 2, /* IEEE 754 binary16 */
    AOTHIP_BF16 = 3 /* upper half of a binary32 */
};

/* Which keys a query sees. Query row m and key n count from 0 within their sequences. */
enum aothip_mask {
    AOTHIP_MASK_NONE = 0,               /* all keys */
    AOTHIP_MASK_CAUSAL_TOP_LEFT = 1,    /* n <= m */
    AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT = 2 /* n <= m + seq_k - seq_q */
};

/*
 * A four-dimensional view of device memory: (batch, head, sequence, channel), whatever the order in
 * memory. Element (b, h, s, d) lies at data + b*stride[0] + h*stride[1] + s*stride[2] + d.
 * stride[3] must be 1; the other strides may be any value from 0 to 2^48, so BHSD, BSHD, packed QKV
 * and broadcast tensors all fit. The stride of a dimension of size 1 is ignored. An output must not
 * overlap itself or any input; overlaps that need no search to be seen are refused. data needs the
 * natural alignment of dtype only; where all of q, k, v and o have 16-byte-aligned data, strides of
 * multiples of 8 elements and head dims of multiples of 8, faster kernels run.
 */
struct aothip_tensor {
    void *data;
    int64_t size[4];
    int64_t stride[4];
    int32_t dtype; /* enum aothip_dtype */
};

/*
 * Arguments of aothip_attn_fwd(). Zero the struct, set struct_size = sizeof(struct ...), fill in
 * the rest. Fields are only ever appended, and a field beyond the caller's struct_size counts as
 * zero, so a program built with an older header keeps its meaning; one built with a newer header
 * works as long as the fields that this library does not know are zero.
 *
 *   q    (batch, heads_q, seq_q, dim_qk)   F16 or BF16 (the images of this release)
 *   k    (batch, heads_k, seq_k, dim_qk)   type of q
 *   v    (batch, heads_k, seq_k, dim_v)    type of q
 *   o    (batch, heads_q, seq_q, dim_v)    type of q; written
 *   lse  (batch, heads_q, seq_q) F32, contiguous; written; may be NULL
 *
 * All sizes at most 2^30. dim_qk and dim_v from 1 to what the images hold, 128 in this release.
 * heads_q must be a multiple of heads_k: query head h reads key head h / (heads_q / heads_k).
 * Where batch, heads_q or seq_q is 0 there is nothing to do. Where seq_k is 0 no row sees a key.
 * The data of a tensor without elements may be NULL.
 *
 * lse is the natural logarithm. A row that sees no key gets o = 0 and lse = +infinity.
 * scale is used as it is: 0 and negative values work; NaN and infinities are refused.
 */
struct aothip_attn_fwd_params {
    size_t struct_size;
    struct aothip_tensor q, k, v, o;
    float *lse;
    float scale;
    int32_t mask; /* enum aothip_mask */
};

/* An opened image directory and what has been loaded from it. */
struct aothip_context;

/*
 * Opens the images in `directory`, or, if that is NULL, in the directory named by the environment
 * variable AOTHIP_IMAGES, or, if that is unset or empty, in "aotriton.images" beside this library.
 * Only the directory is looked at; image files are opened on the first use of a GPU, and
 * no HIP function is called. *context is NULL after a failure; else the caller owns it.
 * Errors: ARGUMENT (context NULL), NO_IMAGES, MEMORY.
 */
AOTHIP_API enum aothip_status aothip_open(const char *directory, struct aothip_context **context);

/*
 * Unloads everything and frees the context; NULL is allowed. No call on it may be under way, and
 * no launched kernel may still be running.
 */
AOTHIP_API void aothip_close(struct aothip_context *context);

/* The directory the context reads from. Valid until aothip_close(). */
AOTHIP_API const char *aothip_directory(const struct aothip_context *context);

/*
 * Says whether attention can run on HIP device number `device`: the device exists, its image file
 * is present and sound, and holds code objects that fit the device. Launches nothing and loads
 * nothing onto the GPU.
 * Errors: ARGUMENT, NO_HIP, HIP, NO_DEVICE, NO_IMAGES, IO, FORMAT, CHECKSUM, VERSION, TARGET,
 * MEMORY.
 */
AOTHIP_API enum aothip_status aothip_check_device(struct aothip_context *context, int device);

/* The same for the device of `stream` (a hipStream_t; NULL is the current device's null stream). */
AOTHIP_API enum aothip_status aothip_check_stream(struct aothip_context *context, void *stream);

/*
 * Forward attention on `stream` (a hipStream_t; NULL is the current device's null stream), on that
 * stream's device. The struct is not referred to after the call.
 * Errors: ARGUMENT, UNSUPPORTED and all those of aothip_check_device().
 */
AOTHIP_API enum aothip_status aothip_attn_fwd(struct aothip_context *context,
                                              const struct aothip_attn_fwd_params *params,
                                              void *stream);

/*
 * Loads every kernel of the images onto the device of `stream` (a hipStream_t; NULL is the current
 * device's null stream), so that no later call there reads a file or loads a module: for programs
 * that must not stall, and before capturing a HIP graph. What is loaded already costs nothing.
 * After a failure some kernels may be loaded; a later call goes on from there.
 * Errors: all those of aothip_check_device().
 */
AOTHIP_API enum aothip_status aothip_warm_up(struct aothip_context *context, void *stream);

/* A GPU as the HIP runtime describes it. Set struct_size before the call. */
struct aothip_device_info {
    size_t struct_size;
    int32_t device;        /* HIP device number */
    int32_t compute_units; /* as HIP counts them: work-group processors on RDNA */
    uint64_t memory_bytes;
    char target[48]; /* "gfx942:sramecc+:xnack-" */
    char gpu[16];    /* "gfx942" */
    char name[256];  /* "AMD Instinct MI300X" */
};

/*
 * Describes the device of `stream` (a hipStream_t; NULL is the current device's null stream). Needs
 * no images. Errors: ARGUMENT, NO_HIP, HIP, NO_DEVICE, MEMORY.
 */
AOTHIP_API enum aothip_status aothip_stream_device(struct aothip_context *context, void *stream,
                                                   struct aothip_device_info *info);

/* One kernel in the images, as aothip_list() shows it. Strings live during the callback only. */
struct aothip_entry {
    size_t struct_size;
    const char *gpu;    /* "gfx942" */
    const char *file;   /* full path of the image file */
    const char *symbol; /* the kernel's name */
    int32_t dtype;      /* enum aothip_dtype */
    int32_t dim_max;    /* serves head dims up to this */
    int32_t masked;     /* 1 if it can mask */
    int32_t aligned;    /* 1 if it needs 16-byte-aligned rows */
    int32_t tile_q, tile_k, threads;
    int32_t lds_bytes, vgprs, sgprs;
    uint64_t frame_bytes, code_bytes; /* compressed; inflated */
};

/*
 * Calls `visit` for every entry of every GPU in the directory, sorted by GPU and position in the
 * file, until it returns non-zero; that is no error. Needs no GPU and no HIP.
 * Errors: ARGUMENT, IO, FORMAT, CHECKSUM, VERSION, MEMORY.
 */
AOTHIP_API enum aothip_status
aothip_list(struct aothip_context *context,
            int (*visit)(const struct aothip_entry *entry, void *user), void *user);

/* "AOTHIP_E_FORMAT"; "AOTHIP_E_?" for a value that is none. Static. */
AOTHIP_API const char *aothip_status_name(enum aothip_status status);

/* A short sentence for the code. Static. */
AOTHIP_API const char *aothip_status_text(enum aothip_status status);

/*
 * One line on the calling thread's last failure, "" if there was none. A success does not clear it.
 * Valid until the thread's next failing call.
 */
AOTHIP_API const char *aothip_last_error(void);

/* The hipError_t behind the calling thread's last failure; 0 if HIP was not the cause. */
AOTHIP_API int aothip_last_hip_error(void);

/*
 * Makes `text` the calling thread's last failure as if a function here had returned `status`, and
 * returns `status`. For libraries on top of this one that refuse what they cannot pass on. The text
 * is copied and cut to 511 bytes; NULL counts as "".
 */
AOTHIP_API enum aothip_status aothip_set_error(enum aothip_status status, const char *text);

/* "0.1.0": the version of the library that runs, as against AOTHIP_VERSION_* of this header. */
AOTHIP_API const char *aothip_version(void);

#ifdef __cplusplus
}
#endif
#endif
