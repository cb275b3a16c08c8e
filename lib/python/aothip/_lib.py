"""libaothip.so through ctypes: the structs and functions of aothip.h, word for word.

Which library: the file named by AOTHIP_LIBRARY, else lib/ beside this module (as in the wheel), or
libaothip.so.0 from the loader's path. On Windows it is called aothip.dll.
"""

import ctypes
import os
import sys
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p

F32, F16, BF16, BOOL = 1, 2, 3, 4
FP8_E4M3, FP8_E5M2, FP8_E4M3_FNUZ, FP8_E5M2_FNUZ = 5, 6, 7, 8
MASK_NONE, MASK_CAUSAL_TOP_LEFT, MASK_CAUSAL_BOTTOM_RIGHT = 0, 1, 2
MASK_WINDOW_TOP_LEFT, MASK_WINDOW_BOTTOM_RIGHT = 3, 4
WINDOW_UNBOUNDED = 2**31 - 1
LSE_ROWS, LSE_HEADS = 0, 1


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_int64 * 4), ("stride", c_int64 * 4),
                ("dtype", c_int32)]


class Seqs(ctypes.Structure):
    _fields_ = [("cumulative", c_void_p), ("lengths", c_void_p), ("starts", c_void_p),
                ("packed", c_int32), ("max", c_int32)]


class Scale(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("stride", c_int64 * 2)]


class FwdParams(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("q", Tensor), ("k", Tensor), ("v", Tensor), ("o", Tensor),
        ("lse", c_void_p), ("scale", c_float), ("mask", c_int32),
        ("window_left", c_int32), ("window_right", c_int32),
        ("lse_layout", c_int32), ("lse_base2", c_int32), ("lse_size", c_int64),
        ("sequences", c_int32), ("index64", c_int32), ("q_seqs", Seqs), ("k_seqs", Seqs),
        ("bias", Tensor), ("keep", Tensor), ("alibi_slopes", c_void_p), ("alibi_stride", c_int64),
        ("softcap", c_float),
        ("dropout_p", c_float), ("probs_dropped", c_int32),
        ("dropout_seed", c_uint64), ("dropout_offset", c_uint64),
        ("dropout_seed_pointer", c_void_p), ("dropout_offset_pointer", c_void_p),
        ("dropout_seed_output", c_void_p), ("dropout_offset_output", c_void_p),
        ("probs", Tensor), ("sinks", c_void_p),
        ("block_table", c_void_p), ("block_table_stride", c_int64),
        ("block_table_columns", c_int32), ("rotary_interleaved", c_int32),
        ("batch_index", c_void_p),
        ("k_new", Tensor), ("v_new", Tensor), ("rotary_cos", c_void_p), ("rotary_sin", c_void_p),
        ("rotary_stride", c_int64), ("rotary_dim", c_int32), ("rotary_rows", c_int32),
        ("splits", c_int32), ("reserved", c_int32),
        ("workspace", c_void_p), ("workspace_size", c_size_t),
        ("q_scale", Scale), ("k_scale", Scale), ("v_scale", Scale),
    ]


class BwdParams(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("fwd", POINTER(FwdParams)),
        ("d_o", Tensor), ("dq", Tensor), ("dk", Tensor), ("dv", Tensor), ("dbias", Tensor),
        ("dsinks", c_void_p), ("dalibi", c_void_p), ("delta", c_void_p),
        ("workspace", c_void_p), ("workspace_size", c_size_t),
        ("atomics", c_int32), ("reserved", c_int32),
    ]


class MergeParams(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("o", Tensor), ("lse", Tensor), ("part_o", Tensor), ("part_lse", Tensor),
        ("lse_base2", c_int32), ("reserved", c_int32),
    ]


class DeviceInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("device", c_int32), ("compute_units", c_int32),
                ("memory_bytes", c_uint64), ("target", ctypes.c_char * 48),
                ("gpu", ctypes.c_char * 16), ("name", ctypes.c_char * 256)]


class Error(RuntimeError):
    """A failure of the library; `status` is the name of its code, such as AOTHIP_E_NO_IMAGES."""

    def __init__(self, status, text):
        super().__init__(f"{text} ({status})")
        self.status = status


class ArgumentError(Error, ValueError):
    """An argument breaks a rule of aothip.h."""


class UnsupportedError(Error, NotImplementedError):
    """Legal, but no kernel in the images of this GPU computes it."""


_ERRORS = {1: ArgumentError, 2: UnsupportedError}
_OF_THE_MACHINE = (3, 5)  # NO_HIP, NO_DEVICE

_FUNCTIONS = {
    "aothip_open": (c_int, [c_char_p, POINTER(c_void_p)]),
    "aothip_attn_fwd": (c_int, [c_void_p, POINTER(FwdParams), c_void_p]),
    "aothip_attn_fwd_workspace": (c_int, [c_void_p, POINTER(FwdParams), c_void_p,
                                          POINTER(c_size_t)]),
    "aothip_attn_bwd": (c_int, [c_void_p, POINTER(BwdParams), c_void_p]),
    "aothip_attn_bwd_workspace": (c_int, [c_void_p, POINTER(BwdParams), c_void_p,
                                          POINTER(c_size_t)]),
    "aothip_attn_merge": (c_int, [c_void_p, POINTER(MergeParams), c_void_p]),
    "aothip_warm_up": (c_int, [c_void_p, c_void_p]),
    "aothip_stream_device": (c_int, [c_void_p, c_void_p, POINTER(DeviceInfo)]),
    "aothip_hip_function": (c_void_p, [c_void_p, c_char_p]),
    "aothip_directory": (c_char_p, [c_void_p]),
    "aothip_status_name": (c_char_p, [c_int]),
    "aothip_last_error": (c_char_p, []),
    "aothip_version": (c_char_p, []),
}


_NAME = "aothip.dll" if sys.platform == "win32" else "libaothip.so.0"


def _load():
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", _NAME)
    path = os.environ.get("AOTHIP_LIBRARY") or (beside if os.path.exists(beside) else _NAME)
    try:
        library = ctypes.CDLL(path)
    except OSError as why:
        raise ImportError(f"aothip: cannot load {path}: {why}; set AOTHIP_LIBRARY to the file "
                          f"{_NAME}") from None
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()


def check(status):
    """Raises for any status but AOTHIP_OK."""
    if status:
        text = lib.aothip_last_error().decode()
        if status in _OF_THE_MACHINE:
            text += "; aothip-check --environment looks for the reason"
        raise _ERRORS.get(status, Error)(lib.aothip_status_name(status).decode(), text)


_context = None


def context():
    """The context of this process: images as aothip_open(NULL) finds them. Never closed, since
    kernels may still run when Python exits."""
    global _context
    if _context is None:
        made = c_void_p()
        check(lib.aothip_open(None, ctypes.byref(made)))
        _context = made
    return _context


def version():
    """Version of the library that runs: "0.1.0"."""
    return lib.aothip_version().decode()


def device():
    """The current device as the HIP runtime describes it: a dict."""
    info = DeviceInfo(struct_size=ctypes.sizeof(DeviceInfo))
    check(lib.aothip_stream_device(context(), None, ctypes.byref(info)))
    return {"device": info.device, "name": info.name.decode(), "gpu": info.gpu.decode(),
            "target": info.target.decode(), "compute_units": info.compute_units,
            "memory_bytes": info.memory_bytes}


def present(name):
    """The library `name` if the process has it already, and None what the whole process sees;
    OSError if it has not."""
    if sys.platform != "win32":
        mode = os.RTLD_LAZY | os.RTLD_NOLOAD if name else ctypes.DEFAULT_MODE
        return ctypes.CDLL(name, mode)
    kernel = ctypes.WinDLL("kernel32")
    kernel.GetModuleHandleW.restype, kernel.GetModuleHandleW.argtypes = c_void_p, [ctypes.c_wchar_p]
    handle = kernel.GetModuleHandleW(name)
    if not handle:
        raise OSError(f"{name} is not in this process")
    return ctypes.CDLL(name, handle=handle)


def hip_function(name):
    """Address of a function of the HIP runtime that the library calls."""
    address = lib.aothip_hip_function(context(), name.encode())
    if not address:
        raise Error("AOTHIP_E_NO_HIP", lib.aothip_last_error().decode())
    return address


def warm_up(stream=0):
    """Loads every kernel onto the stream's device: see aothip_warm_up() in aothip.h."""
    check(lib.aothip_warm_up(context(), stream))
