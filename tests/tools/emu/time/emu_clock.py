"""libhipemu.so and its clock (tools/emu/time/clock.h) through ctypes, without further packages.

AOTHIP_EMU_GPU must be set before the first call."""

import ctypes
import os
import struct

CAUSES = 13
INSTRUCTIONS, EVENTS, SAMPLES_ONLY = 1, 2, 4


class Range(ctypes.Structure):
    _fields_ = [("low", ctypes.c_double), ("middle", ctypes.c_double), ("high", ctypes.c_double)]


class Instruction(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint32), ("size", ctypes.c_uint32), ("text", ctypes.c_char_p),
                ("source", ctypes.c_char_p), ("executed", ctypes.c_double),
                ("issued", ctypes.c_double), ("stalled", ctypes.c_double * CAUSES)]


class Event(ctypes.Structure):
    _fields_ = [("start", ctypes.c_uint64), ("end", ctypes.c_uint64), ("offset", ctypes.c_uint32),
                ("wave", ctypes.c_uint16), ("group", ctypes.c_uint16), ("simd", ctypes.c_uint8),
                ("pipe", ctypes.c_uint8), ("pad", ctypes.c_uint8 * 2)]


class Result(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("kernel", ctypes.c_char_p), ("target", ctypes.c_char_p),
                ("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3),
                ("lds", ctypes.c_uint32), ("timed", ctypes.c_bool), ("why", ctypes.c_char_p),
                ("cycles", Range), ("microseconds", Range), ("gigahertz", ctypes.c_double),
                ("clock_law", ctypes.c_char_p), ("launch_us", ctypes.c_double),
                ("uncertainty", ctypes.c_double), ("clock_uncertainty", ctypes.c_double),
                ("extrapolated", ctypes.c_bool), ("bound", ctypes.c_int),
                ("summary", ctypes.c_double * CAUSES), ("matrix_busy", ctypes.c_double),
                ("vector_busy", ctypes.c_double), ("lds_busy", ctypes.c_double),
                ("l1_busy", ctypes.c_double), ("dram_busy", ctypes.c_double),
                ("matrix_flops", ctypes.c_double), ("workgroups", ctypes.c_double),
                ("sampled", ctypes.c_uint32), ("units", ctypes.c_uint32),
                ("resident", ctypes.c_uint32), ("waves_per_simd", ctypes.c_uint32),
                ("rounds", ctypes.c_double), ("group_cycles", ctypes.c_double),
                ("instructions", ctypes.c_size_t), ("instruction", ctypes.POINTER(Instruction)),
                ("events", ctypes.c_size_t), ("event", ctypes.POINTER(Event)),
                ("memory_bytes", ctypes.c_double), ("memory_rate", ctypes.c_double),
                ("gigahertz_most", ctypes.c_double),
                ("parameter_uncertainty", ctypes.c_double),
                ("launch_uncertainty", ctypes.c_double)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("event_limit", ctypes.c_uint32), ("sample_limit", ctypes.c_uint32)]


class Emulator:
    def __init__(self, library):
        self.l = ctypes.CDLL(library)
        self.l.emu_last_text.restype = ctypes.c_char_p
        self.l.emu_last_fault.restype = ctypes.c_char_p
        self.l.emu_time_get.restype = ctypes.POINTER(Result)
        self.l.emu_time_count.restype = ctypes.c_size_t
        self.l.emu_time_cause_name.restype = ctypes.c_char_p
        self.l.emu_time_start.restype = ctypes.c_bool
        self.blocks = []

    def check(self, error, what):
        if error:
            raise RuntimeError(f"{what}: {self.l.emu_last_text().decode()} "
                               f"{self.l.emu_last_fault().decode()}")

    def memory(self, size):
        p = ctypes.c_void_p()
        self.check(self.l.hipMalloc(ctypes.byref(p), ctypes.c_size_t(size)), "hipMalloc")
        self.blocks.append(p)
        return p.value

    def upload(self, data):
        p = self.memory(len(data))
        self.check(self.l.hipMemcpy(ctypes.c_void_p(p), data, ctypes.c_size_t(len(data)), 1),
                   "hipMemcpy")
        return p

    def free(self):
        for p in self.blocks:
            self.l.hipFree(p)
        self.blocks = []

    def function(self, path, name):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.l.hipModuleLoad(ctypes.byref(module), os.fsencode(path)), path)
        self.check(self.l.hipModuleGetFunction(ctypes.byref(function), module, name.encode()), name)
        return function

    def launch(self, function, grid, block, kernarg, lds=0):
        bytes_ = ctypes.create_string_buffer(kernarg, len(kernarg))
        size = ctypes.c_size_t(len(kernarg))
        extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(bytes_), 2, ctypes.addressof(size), 3)
        self.check(self.l.hipModuleLaunchKernel(function, *grid, *block, lds, None, None, extra),
                   "launch")

    def time(self, function, grid, block, kernarg, lds=0, flags=SAMPLES_ONLY, samples=0):
        """The clock's Result of one launch; what it points to is there until the next call."""
        self.l.emu_time_clear()
        options = Options(ctypes.sizeof(Options), flags, 0, samples)
        if not self.l.emu_time_start(ctypes.byref(options)):
            raise RuntimeError("the clock did not start")
        self.launch(function, grid, block, kernarg, lds)
        self.l.emu_time_stop()
        r = Result.from_buffer_copy(self.l.emu_time_get(self.l.emu_time_count() - 1).contents)
        if not r.timed:
            raise RuntimeError(f"not timed: {r.why.decode()}")
        return r

    def cause(self, i):
        return self.l.emu_time_cause_name(i).decode()


def aiter_arguments(e, b, h, s, tile, hk=None, causal=False):
    """Grid, block and arguments of AITER's forward kernel of head dim 128 (mha_fwd.cu)."""
    hk, d = hk or h, 128
    q, k, v = (e.memory(b * s * n * d * 2) for n in (h, hk, hk))
    o, lse = e.memory(b * s * h * d * 2), e.memory(4 * b * s * h)

    def p(x):
        return struct.pack("<Qq", x, 0)

    def i(x):
        return struct.pack("<Iiii", x & 0xffffffff, 0, 0, 0)

    opt = 5 - (2 if causal and (h % 8 or s > 16384) else 0)
    a = p(o) + p(q) + p(k) + p(v) + p(lse) + struct.pack("<fiii", d ** -0.5, 0, 0, 0)
    a += i(s) + i(h * d * 2) + i(tile * h * d * 2) + i(d * 2) + i(s * h * d * 2) + i(h // hk)
    a += i(hk * d * 2) + i(d * 2) + i(s * hk * d * 2) + i(opt) + i(1) + i(s) + i(d) + i(d) + i(h)
    a += i(hk * d * 2) + i(d * 2) + i(s * hk * d * 2) + i(h * d * 2) + i(d * 2) + i(s * h * d * 2)
    a += p(0) + p(0) + i(4 * s) + p(0) + p(0) + p(0) * 3 + i(0) * 6
    tiles = -(-s // tile)
    return (-(-tiles // 2) if causal else tiles, h, b), (512, 1, 1), a
