/*
 * A HIP runtime that computes nothing: it counts calls, fails one on demand, and records launches.
 * Linked into a test, whose symbols the library then finds in the process.
 */
#ifndef AOTHIP_FAKE_HIP_H
#define AOTHIP_FAKE_HIP_H

#include <stdatomic.h>

#include <hip/hip_runtime_api.h>

#include "args.h"

enum { FAKE_HIP_DEVICES = 8, FAKE_HIP_LOG = 8, FAKE_HIP_STREAMS = 1024 };

/* One launch as it was asked for. */
struct fake_hip_launch {
    const char *symbol;
    unsigned grid[3], threads;
    union args_any args;
};

struct fake_hip {
    int devices;                           /* set by the test; at most FAKE_HIP_DEVICES */
    const char *targets[FAKE_HIP_DEVICES]; /* gcnArchName of each */
    int load_microseconds;                 /* how long a load takes: opens windows for races */
    int any_symbol;           /* find every function in every module: real code objects */
    int fail_at;              /* the call, counted from 1, to fail; 0: none */
    hipError_t fail_with;     /* what it returns */
    _Atomic int calls;        /* of all functions */
    _Atomic int failed;       /* calls failed on demand */
    _Atomic int queries;      /* of the current device or a stream's */
    _Atomic int driver_calls; /* that hand over an image or launch */
    _Atomic int loads, unloads, launches;     /* successful ones */
    struct attn_fwd_args args;                /* of the last launch */
    struct fake_hip_launch log[FAKE_HIP_LOG]; /* the first launches */
    unsigned grid[3], block[3], lds;          /* of the last launch */
    const char *symbol;                       /* of the last launch's kernel */
    int device;                               /* on which the last launch's kernel was loaded */
    hipStream_t stream;                       /* of the last launch */
    _Atomic int waits;                        /* for events behind kernels that ran */
    _Atomic int unloaded_running;             /* modules unloaded before their kernels were done */
    hipStream_t captured;                     /* a stream that is being captured, or NULL */
    int captured_blocking;                    /* it is one that the null stream waits for */
    _Atomic int spoilt;                       /* calls that make the capture void */
    _Atomic int wrong_device;                 /* loads or launches on a device not right */
};
extern struct fake_hip fake_hip;

/* Forgets calls and faults; devices stay. */
void fake_hip_reset(void);

/* Newer than some headers; and what spoils a capture. */
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device);

/* Counts a call of a function beside those of fake_hip.c; whether it is to fail. */
int fake_hip_fails(void);

/* A stream of `device`, the first or that of `number`. */
hipStream_t fake_hip_stream(int device);
hipStream_t fake_hip_stream_of(int device, int number);

#endif
