/* Functions of the HIP runtime beside those that the C library calls; memory for one call. */
#include "shim.h"

#include <cstdlib>
#include <dlfcn.h>
#include <link.h>

#include "../old_glibc.h"

namespace shim
{

/* A runtime that was loaded out of sight of RTLD_DEFAULT: whichever object has the name. */
struct search {
    const char *name;
    void *found;
};

static int look_into(dl_phdr_info *object, std::size_t, void *context)
{
    search *const wanted = static_cast<search *>(context);
    void *const handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle) {
        wanted->found = dlsym(handle, wanted->name);
        dlclose(handle); /* only the count that RTLD_NOLOAD raised */
    }
    return wanted->found != nullptr;
}

/* In the order of the C library: the runtime that was asked for, then any that is there. */
void *hip_function(const char *name)
{
    const char *const file = std::getenv("AOTHIP_HIP_LIBRARY");
    search wanted = {name, nullptr};
    if (file && *file) {
        dl_phdr_info object = {};
        object.dlpi_name = file;
        look_into(&object, sizeof(object), &wanted);
        return wanted.found;
    }
    wanted.found = dlsym(RTLD_DEFAULT, name);
    if (!wanted.found)
        dl_iterate_phdr(look_into, &wanted);
    return wanted.found;
}

/* The functions that scratch memory needs; those that a runtime lacks are null. */
struct memory_functions {
    hipError_t (*malloc_async)(void **, std::size_t, hipStream_t);
    hipError_t (*free_async)(void *, hipStream_t);
    hipError_t (*malloc_now)(void **, std::size_t);
    hipError_t (*free_now)(void *);
    hipError_t (*last_error)();

    template <typename Function> static void find(Function *function, const char *name)
    {
        *function = reinterpret_cast<Function>(hip_function(name));
    }
    memory_functions()
    {
        find(&malloc_async, "hipMallocAsync");
        find(&free_async, "hipFreeAsync");
        find(&malloc_now, "hipMalloc");
        find(&free_now, "hipFree");
        find(&last_error, "hipGetLastError");
    }
};

static const memory_functions &memory()
{
    static const memory_functions found;
    return found;
}

scratch::scratch(hipStream_t stream) : stream_(stream)
{
}

hipError_t scratch::allocate(std::size_t bytes)
{
    const memory_functions &hip = memory();
    if (bytes == 0)
        return hipSuccess;
    pooled_ = hip.malloc_async && hip.free_async &&
              hip.malloc_async(&data_, bytes, stream_) == hipSuccess;
    if (pooled_)
        return hipSuccess;
    /* HIP remembers that failure, and whoever asks it next would take it for its own */
    if (hip.malloc_async && hip.last_error)
        (void)hip.last_error();
    data_ = nullptr;
    if (!hip.malloc_now || !hip.free_now)
        return refuse(AOTHIP_E_NO_HIP, "delta: hipMalloc() was not found to allocate it");
    const hipError_t error = hip.malloc_now(&data_, bytes);
    if (error != hipSuccess) {
        data_ = nullptr;
        aothip_set_error(AOTHIP_E_HIP, "delta: hipMalloc() failed");
    }
    return error;
}

scratch::~scratch()
{
    if (!data_)
        return;
    /* nobody is left to tell of a failure; what was launched before is not affected */
    if (pooled_)
        (void)memory().free_async(data_, stream_);
    else
        (void)memory().free_now(data_);
}

} // namespace shim
