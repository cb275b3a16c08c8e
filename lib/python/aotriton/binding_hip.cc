/* HIP for pyaotriton: error codes, memory that is copied to and from, tensors allocated late. */
#include "binding.h"
#include "hip_door.h"

#include <array>
#include <cstdint>
#include <set>

namespace binding
{

static hipError_t error_of(int code)
{
    return static_cast<hipError_t>(code);
}

static void *address(std::intptr_t number)
{
    return reinterpret_cast<void *>(number);
}

/* Device memory for as long as the object lives. What a call came to, last_state() says. */
class HipMemory
{
  public:
    HipMemory() = default;
    HipMemory(const HipMemory &) = delete;
    HipMemory &operator=(const HipMemory &) = delete;
    ~HipMemory()
    {
        release();
    }

    void alloc(std::size_t bytes)
    {
        release();
        state_ = error_of(hip_door_malloc(&memory_, bytes));
        bytes_ = state_ == hipSuccess ? bytes : 0;
    }
    void release()
    {
        if (memory_)
            state_ = error_of(hip_door_free(memory_));
        memory_ = nullptr;
        bytes_ = 0;
    }
    std::intptr_t get_pointer() const
    {
        return reinterpret_cast<std::intptr_t>(memory_);
    }
    void load_from_host(std::intptr_t host, std::size_t bytes)
    {
        state_ = bytes > bytes_ ? hipErrorInvalidValue
                                : error_of(hip_door_upload(memory_, address(host), bytes));
    }
    void store_to_host(std::intptr_t host, std::size_t bytes)
    {
        state_ = bytes > bytes_ ? hipErrorInvalidValue
                                : error_of(hip_door_download(address(host), memory_, bytes));
    }
    void zero_memory()
    {
        state_ = error_of(hip_door_zero(memory_, bytes_));
    }
    hipError_t last_state() const
    {
        return state_;
    }

  private:
    void *memory_ = nullptr;
    std::size_t bytes_ = 0;
    hipError_t state_ = hipSuccess;
};

static void add_errors(py::module_ &module)
{
    py::enum_<hipError_t> error(module, "hipError_t");
#define PYAOTRITON_ERROR(name) error.value(#name, name);
#include "hip_errors.def"
#undef PYAOTRITON_ERROR
    error.export_values();
}

void add_hip(py::module_ &module)
{
    add_errors(module);
    module.def("hipDeviceSynchronize", [] { return error_of(hip_door_synchronize()); });
    module.def("hipGetLastError", [] { return error_of(hip_door_last_error()); });
    py::class_<HipMemory>(module, "HipMemory")
        .def(py::init<>())
        .def("alloc", &HipMemory::alloc)
        .def("free", &HipMemory::release)
        .def("get_pointer", &HipMemory::get_pointer)
        .def("load_from_host", &HipMemory::load_from_host)
        .def("store_to_host", &HipMemory::store_to_host)
        .def("zero_memory", &HipMemory::zero_memory)
        .def("last_state", &HipMemory::last_state);
}

#if AOTRITON_VERSION_MINOR >= 11

/* What a lazy tensor holds: the shape to allocate and, once asked for, the memory. */
template <int Rank> struct late {
    aot::TensorView<Rank> like;
    void *memory;
};

/* Those that no call has taken yet: a call takes each once, and Python may hand it over twice.
 * Calls run without Python's lock, which guards this. */
template <int Rank> static std::set<late<Rank> *> &waiting()
{
    static std::set<late<Rank> *> all;
    return all;
}

/* Memory of float32 in the shape of `like`, dense and zero. */
template <int Rank> static aot::TensorView<Rank> take(void *cookie)
{
    const py::gil_scoped_acquire locked;
    auto *const own = static_cast<late<Rank> *>(cookie);
    std::array<std::uint64_t, Rank> strides{};
    std::uint64_t count = 1;
    if (waiting<Rank>().count(own) == 0)
        return {};
    for (int i = Rank - 1; i >= 0; i--) {
        strides[static_cast<std::size_t>(i)] = count;
        count *= own->like.size(i);
    }
    if (!own->memory && (hip_door_malloc(&own->memory, 4 * count + 16) != hipSuccess ||
                         hip_door_zero(own->memory, 4 * count) != hipSuccess))
        return {};
    return {reinterpret_cast<std::intptr_t>(own->memory), own->like.sizes(), strides,
            aot::kFloat32};
}

template <int Rank> static void done(void *cookie)
{
    const py::gil_scoped_acquire locked;
    auto *const own = static_cast<late<Rank> *>(cookie);
    if (waiting<Rank>().erase(own) == 0)
        return;
    if (own->memory) /* waits for what was launched */
        (void)hip_door_free(own->memory);
    delete own;
}

template <int Rank>
static aot::LazyTensor<Rank> make_late(const aot::TensorView<Rank> &like, const py::object &)
{
    aot::LazyTensor<Rank> made;
    auto *const own = new late<Rank>{like, nullptr};
    waiting<Rank>().insert(own);
    made.cookie = own;
#if AOTRITON_VERSION_MINOR >= 12
    made.acquire = [](aot::LazyTensor<Rank> *self) { return take<Rank>(self->cookie); };
    made.dispose = [](aot::LazyTensor<Rank> *self) { done<Rank>(self->cookie); };
#else
    made.acquire = &take<Rank>;
    made.dispose = &done<Rank>;
#endif
    return made;
}

#if AOTRITON_VERSION_MINOR >= 12
template <int Rank> static aot::LazyTensor<Rank> make_eager(const aot::TensorView<Rank> &view)
{
    aot::LazyTensor<Rank> made;
    made.eager = view;
    return made;
}
#endif

void add_lazy(py::module_ module)
{
    const py::class_<aot::LazyTensor<4>> of_rank_4(module, "LT4");
    const py::class_<aot::LazyTensor<2>> of_rank_2(module, "LT2");
    module.def("dq_acc", &make_late<4>, py::arg("dq"), py::arg("device_index"));
    module.def("delta", &make_late<2>, py::arg("lse"), py::arg("device_index"));
#if AOTRITON_VERSION_MINOR >= 12
    module.def("eager_delta", &make_eager<2>);
    module.def("eager_null_dq_acc", &make_eager<4>);
#endif
}

#endif

} // namespace binding
