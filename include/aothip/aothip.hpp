/*
 * aothip for C++17: the C API of aothip.h, whose rules hold, with contexts that close themselves and
 * failures that are thrown. Nothing but this header and -laothip.
 *
 *     aothip::context context;                 // the images beside the library
 *     aothip::attn_fwd p;                      // zeroed, struct_size set
 *     p.q = aothip::bhsd(q, AOTHIP_F16, batch, heads, seq, dim);
 *     ...
 *     context.run(p, stream);
 *
 * Device memory is the caller's, here as there: run() returns before the GPU is done.
 */
#ifndef AOTHIP_HPP
#define AOTHIP_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "aothip.h"

namespace aothip
{

/* What a call of the library failed with; what() is aothip_last_error(). */
class error : public std::runtime_error
{
  public:
    error(aothip_status status, const char *text, int hip_error)
        : std::runtime_error(text), status_(status), hip_error_(hip_error)
    {
    }
    aothip_status status() const noexcept
    {
        return status_;
    }
    /* The hipError_t behind it; 0 if HIP was not the cause. */
    int hip_error() const noexcept
    {
        return hip_error_;
    }

  private:
    aothip_status status_;
    int hip_error_;
};

/* Throws `error` for any status but AOTHIP_OK. */
inline void check(aothip_status status)
{
    if (status != AOTHIP_OK)
        throw error(status, aothip_last_error(), aothip_last_hip_error());
}

/* The structs of aothip.h as they are to be before anything is filled in. */
struct attn_fwd : aothip_attn_fwd_params {
    attn_fwd() : aothip_attn_fwd_params{}
    {
        struct_size = sizeof(aothip_attn_fwd_params);
    }
};
struct attn_bwd : aothip_attn_bwd_params {
    explicit attn_bwd(const aothip_attn_fwd_params &forward) : aothip_attn_bwd_params{}
    {
        struct_size = sizeof(aothip_attn_bwd_params);
        fwd = &forward; /* must live until run() */
    }
    explicit attn_bwd(aothip_attn_fwd_params &&) = delete;
};
struct attn_merge : aothip_attn_merge_params {
    attn_merge() : aothip_attn_merge_params{}
    {
        struct_size = sizeof(aothip_attn_merge_params);
    }
};

/* A contiguous tensor of shape (batch, heads, seq, dim), or one of (batch, seq, heads, dim). */
inline aothip_tensor bhsd(void *data, aothip_dtype dtype, std::int64_t batch, std::int64_t heads,
                          std::int64_t seq, std::int64_t dim) noexcept
{
    return {data, {batch, heads, seq, dim}, {heads * seq * dim, seq * dim, dim, 1}, dtype};
}
inline aothip_tensor bshd(void *data, aothip_dtype dtype, std::int64_t batch, std::int64_t seq,
                          std::int64_t heads, std::int64_t dim) noexcept
{
    return {data, {batch, heads, seq, dim}, {seq * heads * dim, dim, heads * dim, 1}, dtype};
}

/* An opened image directory. Moved, never copied; destroyed only when no launched kernel runs. */
class context
{
  public:
    /* nullptr: as aothip_open(NULL) finds them. */
    explicit context(const char *directory = nullptr)
    {
        aothip_context *opened = nullptr;
        check(aothip_open(directory, &opened));
        handle_.reset(opened);
    }
    explicit context(const std::string &directory) : context(directory.c_str())
    {
    }

    /* For the functions of aothip.h. */
    aothip_context *get() const noexcept
    {
        return handle_.get();
    }
    const char *directory() const noexcept
    {
        return aothip_directory(get());
    }

    void run(const aothip_attn_fwd_params &p, void *stream = nullptr) const
    {
        check(aothip_attn_fwd(get(), &p, stream));
    }
    void run(const aothip_attn_bwd_params &p, void *stream = nullptr) const
    {
        check(aothip_attn_bwd(get(), &p, stream));
    }
    void run(const aothip_attn_merge_params &p, void *stream = nullptr) const
    {
        check(aothip_attn_merge(get(), &p, stream));
    }
    /* params.probs alone. */
    void run_probs(const aothip_attn_fwd_params &p, void *stream = nullptr) const
    {
        check(aothip_attn_probs(get(), &p, stream));
    }

    /* Bytes of workspace that run() can use. */
    std::size_t workspace(const aothip_attn_fwd_params &p, void *stream = nullptr) const
    {
        std::size_t bytes = 0;
        check(aothip_attn_fwd_workspace(get(), &p, stream, &bytes));
        return bytes;
    }
    std::size_t workspace(const aothip_attn_bwd_params &p, void *stream = nullptr) const
    {
        std::size_t bytes = 0;
        check(aothip_attn_bwd_workspace(get(), &p, stream, &bytes));
        return bytes;
    }

    void check_device(int device) const
    {
        check(aothip_check_device(get(), device));
    }
    void check_stream(void *stream) const
    {
        check(aothip_check_stream(get(), stream));
    }
    void warm_up(void *stream = nullptr) const
    {
        check(aothip_warm_up(get(), stream));
    }
    aothip_device_info device_of(void *stream = nullptr) const
    {
        aothip_device_info info{};
        info.struct_size = sizeof(info);
        check(aothip_stream_device(get(), stream, &info));
        return info;
    }

    /* A function of the HIP runtime: hip_function<int(void **, std::size_t)>("hipMalloc"). */
    template <class Function> Function *hip_function(const char *name) const
    {
        void *found = aothip_hip_function(get(), name);
        if (!found)
            throw error(AOTHIP_E_NO_HIP, aothip_last_error(), aothip_last_hip_error());
        return reinterpret_cast<Function *>(found);
    }

    /* Calls visit(entry) for every kernel in the images, until it returns false if it returns
     * anything. What it throws comes out of here. */
    template <class Visit> void list(Visit &&visit) const
    {
        struct state {
            Visit &visit;
            std::exception_ptr thrown;
        } asked{visit, nullptr};
        auto call = [](const aothip_entry *entry, void *user) -> int {
            state &its = *static_cast<state *>(user);
            try {
                if constexpr (std::is_void_v<decltype(its.visit(*entry))>)
                    its.visit(*entry);
                else
                    return its.visit(*entry) ? 0 : 1;
                return 0;
            } catch (...) {
                its.thrown = std::current_exception();
                return 1;
            }
        };
        const aothip_status status = aothip_list(get(), call, &asked);
        if (asked.thrown)
            std::rethrow_exception(asked.thrown);
        check(status);
    }

  private:
    struct closer {
        void operator()(aothip_context *opened) const noexcept
        {
            aothip_close(opened);
        }
    };
    std::unique_ptr<aothip_context, closer> handle_;
};

} // namespace aothip
#endif
