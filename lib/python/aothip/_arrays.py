"""Where arrays live. A `Side` brings arguments to the device for one call and results back.

NumpySide and TorchHostSide copy host memory to the current device and back, and are done when the
call returns. TorchSide passes the addresses of tensors on a GPU on, and works on torch's current
stream.
"""

import ctypes
import os
import sys
from ctypes import c_char_p, c_int, c_size_t, c_void_p

from . import _lib

try:
    import numpy
except ImportError:  # torch does without it
    numpy = None

# The types of FP8, as torch and the package ml_dtypes call them.
FP8 = {"float8_e4m3fn": _lib.FP8_E4M3, "float8_e5m2": _lib.FP8_E5M2,
       "float8_e4m3fnuz": _lib.FP8_E4M3_FNUZ, "float8_e5m2fnuz": _lib.FP8_E5M2_FNUZ}
_DTYPES = {"float32": _lib.F32, "float16": _lib.F16, "bfloat16": _lib.BF16, "bool": _lib.BOOL,
           **FP8}


def library_of(*arrays):
    """Whose all of these (None is allowed) are: "numpy" or "torch". Errors: TypeError."""
    given = [x for x in arrays if x is not None]
    if numpy and all(isinstance(x, numpy.ndarray) for x in given):
        return "numpy"
    if all(hasattr(x, "data_ptr") for x in given):
        return "torch"
    raise TypeError("aothip: arguments must be all NumPy arrays or all torch tensors, not " +
                    ", ".join(sorted({type(x).__name__ for x in given})))


def side_of(*arrays):
    """The side that all of these (None is allowed) live on. Errors: TypeError."""
    if library_of(*arrays) == "numpy":
        return NumpySide()
    first = next(x for x in arrays if x is not None)
    return TorchHostSide(first) if first.device.type == "cpu" else TorchSide(first)


def int32_like(first, x):
    """x as an array of int32, of the library and on the device of `first`."""
    if not hasattr(first, "data_ptr"):
        return numpy.asarray(x, numpy.int32)
    import torch

    if type(x) is torch.Tensor and x.dtype is torch.int32 and x.device == first.device:
        return x
    return torch.as_tensor(x, dtype=torch.int32, device=first.device)


def float32_of(x):
    """x in float32, differentiable for torch."""
    return x.float() if hasattr(x, "data_ptr") else numpy.asarray(x, numpy.float32)


def type_name(x):
    """"float16" """
    return str(getattr(x, "dtype", "")).replace("torch.", "")


def _dtype(name, what, fp8=None):
    """The code of a type; bytes are of type `fp8`, if that is given."""
    if fp8 and name == "uint8":
        name = fp8
    if name not in _DTYPES:
        raise TypeError(f"aothip: {what} has type {name}; float16, bfloat16 and float32 are known, "
                        "and of q, k and v those of FP8")
    return _DTYPES[name]


def _check_whole(x, dtype, what):
    """Raises TypeError of fractions where whole numbers are wanted: they would be cut off."""
    kind = type_name(x)
    if dtype.startswith("int") and "float" in kind:
        raise TypeError(f"aothip: {what} has type {kind}, not {dtype}")


def _fill(address, shape, strides, dtype, axes):
    """The tensor whose axes (batch, head, sequence, channel) are these of `shape` and `strides`;
    None is a new axis of size 1."""
    t = _lib.Tensor(data=address, dtype=dtype)
    t.size[:] = [1 if a is None else shape[a] for a in axes]
    t.stride[:] = [0 if a is None else strides[a] for a in axes]
    return t


def _dense_strides(shape):
    strides = [1]
    for n in shape[:0:-1]:
        strides.insert(0, strides[0] * max(n, 1))
    return strides


class _Hip:
    """The few functions that copying needs, of the runtime that libaothip.so calls."""

    _functions = {
        "hipMalloc": (c_int, c_void_p, c_size_t),
        "hipFree": (c_int, c_void_p),
        "hipMemcpy": (c_int, c_void_p, c_void_p, c_size_t, c_int),
        "hipDeviceSynchronize": (c_int,),
        "hipGetErrorName": (c_char_p, c_int),
    }

    def __init__(self):
        _lib.device()  # without a GPU, that error says so
        self._found = {name: ctypes.CFUNCTYPE(*types)(_lib.hip_function(name))
                       for name, types in self._functions.items()}

    def __call__(self, name, *arguments):
        error = self._found[name](*arguments)
        if error:
            raise RuntimeError(f"aothip: {name}: {self._found['hipGetErrorName'](error).decode()}")

    def free(self, address):
        self._found["hipFree"](address)

    def allocate(self, size):
        address = c_void_p()
        self("hipMalloc", ctypes.addressof(address), max(size, 16))
        return address.value

    def copy(self, to, source, size, kind):
        if size:
            self("hipMemcpy", to, source, size, kind)


def _check_runtime(torch):
    """Raises if torch's streams and addresses are not of the runtime that the library calls."""
    mark = "hipModuleLaunchKernel"
    names = [None]  # what the whole process sees, which torch's libraries see first too
    names += [os.path.join(path, "lib", "libtorch_hip.so") for path in torch.__path__]
    if sys.platform == "win32":
        names = ["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"]  # symbols have no common scope
    for name in names:
        try:
            found = getattr(_lib.present(name), mark)
        except (OSError, AttributeError):
            continue
        if ctypes.cast(found, c_void_p).value != _lib.hip_function(mark):
            raise RuntimeError("aothip: torch has loaded another HIP runtime than aothip, whose "
                               "tensors mean nothing to it: import torch before aothip is called")
        return


_hip = None

_TO_DEVICE, _TO_HOST = 1, 2


class _HostSide:
    """Copies. What differs between NumPy and torch: _name, _pack, _memory and _assign."""

    stream = None

    def __init__(self):
        global _hip
        _hip = _hip or _Hip()
        self.memory, self.results = [], []

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                _hip("hipDeviceSynchronize")
                for address, packed, to in self.results:
                    host, size = self._memory(packed)
                    _hip.copy(host, address, size, _TO_HOST)
                    if to is not packed:
                        self._assign(to, packed)
        finally:
            for address in self.memory:
                _hip.free(address)

    def scratch(self, size):
        self.memory.append(_hip.allocate(size))
        return self.memory[-1]

    def _upload(self, packed, to, what, written):
        host, size = self._memory(packed)
        address = self.scratch(size)
        _hip.copy(address, host, size, _TO_DEVICE)
        if written:
            self._check_writable(to, what)
            self.results.append((address, packed, to))
        return address

    def tensor(self, x, axes, what="an argument", written=False, fp8=None):
        """x with its axes in the order (batch, head, sequence, channel); None in `axes` is a new
        axis of size 1. written: the device's changes come back into x. fp8: what bytes are."""
        dtype = _dtype(self._name(x, what), what, fp8)
        packed = self._pack(x)
        shape = tuple(packed.shape)
        address = self._upload(packed, x, what, written)
        return _fill(address, shape, _dense_strides(shape), dtype, axes)

    def vector(self, x, dtype, what, written=False):
        """Address of x as a packed array of `dtype` ("float32", "int32", "int64")."""
        if x is None:
            return None
        _check_whole(x, dtype, what)
        return self._upload(self._pack(self.like(x, dtype)), x, what, written)

    def floats(self, x, what):
        """x as float32: address, and strides in elements."""
        packed = self._pack(self.like(x, "float32"))
        return self._upload(packed, x, what, False), _dense_strides(tuple(packed.shape))


class NumpySide(_HostSide):
    def _name(self, x, what):
        if not isinstance(x, numpy.ndarray):
            raise TypeError(f"aothip: {what} must be a NumPy array as the others, "
                            f"not {type(x).__name__}")
        if not x.dtype.isnative:
            raise TypeError(f"aothip: {what} has another byte order than this machine")
        return x.dtype.name

    def _pack(self, x):
        return numpy.ascontiguousarray(x)

    def _memory(self, packed):
        return packed.ctypes.data, packed.nbytes

    def _assign(self, to, packed):
        to[...] = packed

    def _check_writable(self, to, what):
        if not to.flags.writeable:
            raise ValueError(f"aothip: {what} is written, but this array is read-only")

    def zeros(self, shape, like, dtype=None):
        return numpy.zeros(shape, dtype or like.dtype)

    def empty(self, shape, like, dtype=None):
        return numpy.empty(shape, dtype or like.dtype)

    def like(self, x, dtype):
        return numpy.asarray(x, dtype)

    def random(self):
        return numpy.random.randint(0, 2**63, 2, numpy.int64)  # numpy.random.seed() decides


class _Torch:
    """What the two kinds of tensors have in common."""

    def __init__(self, first):
        super().__init__()
        import torch

        self.torch, self.device = torch, first.device

    def _name(self, x, what):
        if not isinstance(x, self.torch.Tensor):
            raise TypeError(f"aothip: {what} must be a torch tensor as the others, "
                            f"not {type(x).__name__}")
        if x.device != self.device:
            raise TypeError(f"aothip: {what} is on {x.device}, the others on {self.device}")
        return str(x.dtype).replace("torch.", "")

    def zeros(self, shape, like, dtype=None):
        kind = getattr(self.torch, dtype) if dtype else like.dtype
        return self.torch.zeros(shape, dtype=kind, device=self.device)

    def empty(self, shape, like, dtype=None):
        kind = getattr(self.torch, dtype) if dtype else like.dtype
        return self.torch.empty(shape, dtype=kind, device=self.device)

    def like(self, x, dtype):
        return self.torch.as_tensor(x, device=self.device).to(getattr(self.torch, dtype))

    def random(self):
        # torch.manual_seed() decides. On their device, so that a captured graph draws each time.
        return self.torch.randint(0, 2**63 - 1, (2,), device=self.device)


class TorchHostSide(_Torch, _HostSide):
    def _pack(self, x):
        return x.detach().contiguous()

    def _memory(self, packed):
        return packed.data_ptr(), packed.numel() * packed.element_size()

    def _assign(self, to, packed):
        to.detach().copy_(packed)

    def _check_writable(self, to, what):
        pass


class TorchSide(_Torch):
    def __init__(self, first):
        super().__init__(first)
        if self.device.type != "cuda":  # as torch calls ROCm's GPUs too
            raise TypeError("aothip: torch tensors must be on a GPU or in host memory, not on "
                            f"{self.device}")
        _check_runtime(self.torch)
        self.alive = []
        self.stream = self.torch.cuda.current_stream(self.device).cuda_stream

    def __enter__(self):
        self.guard = self.torch.cuda.device(self.device)
        self.guard.__enter__()
        return self

    def __exit__(self, *why):
        # Freed memory may be used again only by work that comes later on the same stream.
        self.alive.clear()
        self.guard.__exit__(*why)

    def _address(self, x):
        self.alive.append(x)
        return x.data_ptr()

    def scratch(self, size):
        return self._address(self.torch.empty(max(size, 16), dtype=self.torch.uint8,
                                              device=self.device))

    def tensor(self, x, axes, what="an argument", written=False, fp8=None):
        dtype = _dtype(self._name(x, what), what, fp8)
        if x.stride(-1) != 1 and x.shape[-1] > 1:
            if written:
                raise ValueError(f"aothip: {what} must have a contiguous last dimension")
            # torch calls an empty tensor contiguous, whatever its strides.
            x = x.contiguous() if x.numel() else x.new_empty(x.shape)
        return _fill(self._address(x), x.shape, x.stride(), dtype, axes)

    def vector(self, x, dtype, what, written=False):
        if x is None:
            return None
        _check_whole(x, dtype, what)
        if written and (str(x.dtype) != "torch." + dtype or not x.is_contiguous()):
            raise ValueError(f"aothip: {what} must be contiguous and of type {dtype}")
        # An empty tensor has no address, but is not absent.
        return self._address(self.like(x, dtype).contiguous()) or self.scratch(0)

    def floats(self, x, what):
        x = self.like(x, "float32")  # scales that were expanded stay so
        return self._address(x), x.stride()
