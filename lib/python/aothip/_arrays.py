"""Where arrays live. A `Side` brings arguments to the device for one call and results back.

NumpySide copies host arrays to the current device and back, and is done when the call returns.
TorchSide passes the addresses of tensors on, and works on torch's current stream.
"""

import ctypes
import os

from . import _lib

try:
    import numpy
except ImportError:  # torch does without it
    numpy = None

_DTYPES = {"float32": _lib.F32, "float16": _lib.F16, "bfloat16": _lib.BF16, "bool": _lib.BOOL}


def side_of(*arrays):
    """The side that all of these (None is allowed) live on. Errors: TypeError."""
    given = [x for x in arrays if x is not None]
    if numpy and all(isinstance(x, numpy.ndarray) for x in given):
        return NumpySide()
    if all(type(x).__module__.split(".")[0] == "torch" or hasattr(x, "data_ptr") for x in given):
        return TorchSide(given[0])
    raise TypeError("aothip: arguments must be all NumPy arrays or all torch tensors, not " +
                    ", ".join(sorted({type(x).__name__ for x in given})))


def _dtype(name, what):
    if name not in _DTYPES:
        raise TypeError(f"aothip: {what} has type {name}; float16, bfloat16 and float32 are known")
    return _DTYPES[name]


def _fill(address, shape, strides, dtype):
    t = _lib.Tensor(data=address, dtype=dtype)
    t.size[:], t.stride[:] = shape, strides
    return t


class _Hip:
    """The few functions of the HIP runtime that copying needs."""

    def __init__(self):
        named = os.environ.get("AOTHIP_HIP_LIBRARY")
        names = [named] if named else ["libamdhip64.so" + end for end in (".7", ".6", ".5", "")]
        for name in names:
            try:
                self.lib = ctypes.CDLL(name)
                break
            except OSError as why:
                last = why
        else:
            raise ImportError(f"aothip: no HIP runtime: {last}")
        self.lib.hipGetErrorName.restype = ctypes.c_char_p

    def __call__(self, name, *arguments):
        error = getattr(self.lib, name)(*arguments)
        if error:
            raise RuntimeError(f"aothip: {name}: {self.lib.hipGetErrorName(error).decode()}")

    def allocate(self, size):
        address = ctypes.c_void_p()
        self("hipMalloc", ctypes.byref(address), ctypes.c_size_t(max(size, 16)))
        return address.value


_hip = None

_TO_DEVICE, _TO_HOST = 1, 2


class NumpySide:
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
                    _hip("hipMemcpy", ctypes.c_void_p(packed.ctypes.data),
                         ctypes.c_void_p(address), ctypes.c_size_t(packed.nbytes), _TO_HOST)
                    if to is not packed:
                        to[...] = packed
        finally:
            for address in self.memory:
                _hip.lib.hipFree(ctypes.c_void_p(address))

    def scratch(self, size):
        self.memory.append(_hip.allocate(size))
        return self.memory[-1]

    def _upload(self, packed):
        address = self.scratch(packed.nbytes)
        if packed.nbytes:
            _hip("hipMemcpy", ctypes.c_void_p(address), ctypes.c_void_p(packed.ctypes.data),
                 ctypes.c_size_t(packed.nbytes), _TO_DEVICE)
        return address

    def tensor(self, x, axes, what="an argument", written=False):
        """x with its axes in the order (batch, head, sequence, channel); None in `axes` is a new
        axis of size 1. written: the device's changes come back into x."""
        dtype = _dtype(x.dtype.name, what)
        packed = numpy.ascontiguousarray(x)
        address = self._upload(packed)
        if written:
            self.results.append((address, packed, x))
        shape, strides = packed.shape, [n // packed.itemsize for n in packed.strides]
        return _fill(address, [1 if a is None else shape[a] for a in axes],
                     [0 if a is None else strides[a] for a in axes], dtype)

    def zeros(self, shape, like, dtype=None):
        return numpy.zeros(shape, dtype or like.dtype)

    def output(self, x, axes):
        return self.tensor(x, axes, written=True)

    def vector(self, x, dtype, what, written=False):
        """Address of x as a packed array of `dtype` ("float32", "int32")."""
        if x is None:
            return None
        packed = numpy.ascontiguousarray(x, dtype)
        address = self._upload(packed)
        if written:
            self.results.append((address, packed, x))
        return address

    def like(self, x, dtype):
        return numpy.asarray(x, dtype)

    def random(self):
        words = numpy.random.randint(0, 2**31, 2)  # numpy.random.seed() decides
        return int(words[0]) << 31 | int(words[1]), 0


class TorchSide:
    def __init__(self, first):
        import torch

        self.torch, self.device, self.alive = torch, first.device, []
        if self.device.type != "cuda":
            raise TypeError(f"aothip: torch tensors must be on a GPU, not on {self.device}")
        self.stream = torch.cuda.current_stream(self.device).cuda_stream

    def __enter__(self):
        self.guard = self.torch.cuda.device(self.device)
        self.guard.__enter__()
        return self

    def __exit__(self, *why):
        # Freed memory may be used again only by work that comes later on the same stream.
        self.alive.clear()
        self.guard.__exit__(*why)

    def _keep(self, x):
        self.alive.append(x)
        return x

    def scratch(self, size):
        return self._keep(self.torch.empty(max(size, 16), dtype=self.torch.uint8,
                                           device=self.device)).data_ptr()

    def tensor(self, x, axes, what="an argument", written=False):
        dtype = _dtype(str(x.dtype).replace("torch.", ""), what)
        if x.device != self.device:
            raise TypeError(f"aothip: {what} is on {x.device}, the others on {self.device}")
        if x.stride(-1) != 1 and x.shape[-1] > 1:
            if written:
                raise ValueError(f"aothip: {what} must have a contiguous last dimension")
            x = x.contiguous()
        self._keep(x)
        return _fill(x.data_ptr(), [1 if a is None else x.shape[a] for a in axes],
                     [0 if a is None else x.stride(a) for a in axes], dtype)

    def zeros(self, shape, like, dtype=None):
        kind = getattr(self.torch, dtype) if dtype else like.dtype
        return self.torch.zeros(shape, dtype=kind, device=self.device)

    def output(self, x, axes):
        return self.tensor(x, axes, written=True)

    def vector(self, x, dtype, what, written=False):
        if x is None:
            return None
        if written and (str(x.dtype) != "torch." + dtype or not x.is_contiguous()):
            raise ValueError(f"aothip: {what} must be contiguous and of type {dtype}")
        return self._keep(self.like(x, dtype).contiguous()).data_ptr()

    def like(self, x, dtype):
        return self.torch.as_tensor(x, device=self.device).to(getattr(self.torch, dtype))

    def random(self):
        words = self.torch.randint(0, 2**31, (2,))  # torch.manual_seed() decides
        return int(words[0]) << 31 | int(words[1]), 0
