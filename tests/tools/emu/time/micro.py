"""Small kernels with published measurements: what hardware did, beside what the clock says.

stamps(): deltas between the execution stamps of vector instructions on a gfx1100, as the hardware
tests of tinygrad (extra/assembly/amd/test/test_sqtt_correct.py, 1c66e413) expect them.
rates(): latencies and rates of LDS and of matrix instructions."""

import os
import subprocess
import tempfile

import emu_clock

HEADER = """.text
.globl k
.p2align 8
.type k,@function
k:
%s
s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
.amdhsa_group_segment_fixed_size %d
.amdhsa_next_free_vgpr 128
.amdhsa_next_free_sgpr 32
%s
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: %d
    .kernarg_segment_align: 8
    .group_segment_fixed_size: %d
    .private_segment_fixed_size: 0
    .wavefront_size: %d
    .sgpr_count: 32
    .vgpr_count: 128
    .max_flat_workgroup_size: 1024
    .args: []
...
.end_amdgpu_metadata
"""


def assemble(gpu, body, name, lds=16384, arguments=0):
    """The code object of a kernel k; name: of the file without its ending; bytes of LDS and of
    arguments, whose address is in s[0:1] if there are any."""
    wide = gpu.startswith("gfx9")
    more = [".amdhsa_accum_offset 64" if wide else ".amdhsa_wavefront_size32 1"]
    if arguments:
        more += [".amdhsa_user_sgpr_kernarg_segment_ptr 1", f".amdhsa_kernarg_size {arguments}"]
    with open(name + ".s", "w", encoding="ascii") as f:
        f.write(HEADER % ("\n".join(body), lds, "\n".join(more), arguments or 8, lds,
                          64 if wide else 32))
    subprocess.run([os.environ.get("LLVM_MC") or "llvm-mc-19", "-triple=amdgcn-amd-amdhsa",
                    "-mcpu=" + gpu, "-filetype=obj", name + ".s", "-o", name + ".o"], check=True)
    subprocess.run([os.environ.get("LD_LLD") or "ld.lld-19", "-shared", name + ".o", "-o",
                    name + ".co"], check=True)
    return name + ".co"


class Bench:
    """Runs bodies of kernels, one workgroup each, under the clock."""

    def __init__(self, emulator, gpu):
        self.e, self.gpu, self.wave = emulator, gpu, 64 if gpu.startswith("gfx9") else 32
        self.directory = tempfile.TemporaryDirectory()
        self.n = 0

    def run(self, body, waves=1, flags=emu_clock.SAMPLES_ONLY):
        self.n += 1
        path = assemble(self.gpu, body, f"{self.directory.name}/{self.n}")
        function = self.e.function(path, "k")
        return self.e.time(function, (1, 1, 1), (waves * self.wave, 1, 1), bytes(8), 0, flags)

    def executed(self, body):
        """When the vector instructions of the only wave execute."""
        r = self.run(body, flags=emu_clock.EVENTS | emu_clock.SAMPLES_ONLY)
        return [r.event[i].start for i in range(r.events) if r.event[i].pipe == 2]

    def cycles(self, body, waves=1):
        return self.run(body, waves).group_cycles


def mov(d, s="1.0"):
    return f"v_mov_b32_e32 v{d}, {s}"


def chain(n):
    return [mov(0)] + [f"v_add_f32_e32 v{i}, v{i - 1}, v{i - 1}" for i in range(1, n)]


def nop(n):
    return f"s_nop {n}"


def add(d, s):
    return f"v_add_f32_e32 v{d}, v{s}, v{s}"


def deltas(fast, slow):
    """A chain's: the first 6, so many 5, so many 9."""
    return [6] + [5] * fast + [9] * slow


def sequences():
    """(name, body, expected deltas of execution stamps; None: not published)"""
    chains = {2: (0, 0), 3: (1, 0), 4: (2, 0), 5: (2, 1), 6: (2, 2), 7: (3, 2), 8: (3, 3),
              12: (4, 6), 14: (4, 8), 15: (5, 8), 16: (6, 8), 18: (8, 8), 20: (10, 8)}
    for n, (fast, slow) in chains.items():
        yield f"chain of {n}", chain(n), deltas(fast, slow)
    warm = {2: [5], 3: [5] * 2, 4: [5] * 3, 5: [5] * 3 + [9], 6: [5] * 4 + [9],
            7: [5] * 4 + [9] * 2, 8: [5] * 4 + [9] * 3}
    for n, expected in warm.items():
        yield f"chain of {n}, warm", [mov(0), nop(100)] + chain(n), [None] + expected
    for n in range(2, 9):
        yield f"chain of {n} behind s_nop", [nop(100)] + chain(n), deltas(*chains[n])
    for n in range(2, 9):
        yield f"{n} independent", [mov(i) for i in range(n)], [1] * (n - 1)
    for gap, last in enumerate((6, 5, 4, 3, 3, 4, 3, 3, 3, 3)):
        yield (f"use after {gap} others", [mov(0)] + [mov(10 + i) for i in range(gap)] + [add(1, 0)],
               [1] * gap + [last])
    for n, expected in ((0, 6), (1, 7), (2, 9), (3, 9), (4, 10), (5, 11)):
        yield f"use behind s_nop {n}", [mov(0), nop(n), add(1, 0)], [expected]
    for n in (0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 15, 22, 23, 31, 32, 63):
        yield f"s_nop {n}", [mov(0), nop(n), mov(1)], [n + 4 + 4 * (11 <= n <= 22)]
    for n in range(4):
        yield f"chain of 3 with s_nop {n}", [mov(0), add(1, 0), nop(n), add(2, 1)], [6, 5]
        yield f"3 independent with s_nop {n}", [mov(0), mov(1), nop(n), mov(2)], [1, n + 4]
    for n, expected in ((1, 7), (2, 6), (3, 6), (4, 6)):
        yield f"s_delay_alu {n}", [mov(0), f"s_delay_alu {n}", add(1, 0)], [expected]
    for n, expected in ((1, 8), (2, 6), (3, 5)):
        yield (f"s_delay_alu {n} after 1", [mov(0), mov(5), f"s_delay_alu {n}", add(1, 0)],
               [None, expected])
    for n, expected in ((1, 7), (2, 7), (3, 5), (4, 4)):
        yield (f"s_delay_alu {n} after 2", [mov(0), mov(5), mov(6), f"s_delay_alu {n}", add(1, 0)],
               [None, None, expected])


def stamps(bench):
    """(name, expected, predicted) of each stamp."""
    for name, body, expected in sequences():
        at = bench.executed(body + [nop(0)] * 16)
        for i, want in enumerate(expected):
            if want is not None:
                yield name, want, at[i + 1] - at[i]


def per_instruction(bench, op, waves=1, tail=()):
    """Clocks from one of many to the next, of all waves together."""
    few, many = (bench.cycles([op] * n + list(tail), waves) for n in (64, 192))
    return (many - few) / 128 / waves


def latency(bench, op):
    pair = [op, "s_waitcnt lgkmcnt(0)"]
    few, many = (bench.cycles(pair * n) for n in (16, 48))
    return (many - few) / 32


def rates(bench):
    """(what, source, measured, predicted)"""
    done = ["s_waitcnt lgkmcnt(0)"]
    if bench.gpu == "gfx942":
        name = {"read": "ds_read_b{0} v[32:{1}], v0", "write": "ds_write_b{0} v0, v[32:{1}]"}
        source = "gcnasm ubench, MI308X"
        table = [("read", 32, 32, 6.6), ("read", 64, 44, 11.7), ("read", 128, 48, 23),
                 ("write", 32, 39, None), ("write", 64, 48, 14.9), ("write", 128, 60, 31.3)]
        scale = {32: 2, 64: 3, 128: 4}
        for way, bits, delay, clocks in table:
            last = 32 + bits // 32 - 1
            op = name[way].format(bits, last).replace("v[32:32]", "v32")
            # neighbouring lanes at neighbouring addresses
            setup = f"v_lshlrev_b32_e32 v0, {scale[bits]}, v0"
            yield (f"LDS {way} of {bits // 8} bytes, latency", source, delay,
                   latency(Setup(bench, setup), op))
            if clocks:
                yield (f"LDS {way} of {bits // 8} bytes, one wave's rate", source, clocks,
                       per_instruction(Setup(bench, setup), op, 1, done))
        matrix = "ROCm amd_matrix_instruction_calculator"
        yield ("MFMA 32x32x8 f16", matrix, 32,
               per_instruction(bench, "v_mfma_f32_32x32x8_f16 a[0:15], v[32:33], v[34:35], a[0:15]"))
        yield ("MFMA 16x16x16 f16", matrix, 16,
               per_instruction(bench, "v_mfma_f32_16x16x16_f16 a[0:3], v[32:33], v[34:35], a[0:3]"))
        yield ("v_exp_f32", "gcnasm, MI50", 16, per_instruction(bench, "v_exp_f32_e32 v1, v2"))
    elif bench.gpu == "gfx1201":
        source = "gcnasm ubench, gfx1201"
        # 200 TFLOP/s with 64 compute units are 16 clocks each at 3.05 GHz
        yield "WMMA 16x16x16 f16, four accumulators", source, 16, wmma(bench, 4)
        yield "the same with a v_exp_f32 each: 164 of 200 TFLOP/s", source, 19.5, wmma(
            bench, 4, "v_exp_f32_e32 v40, v41")
        yield ("branch taken", "tinygrad SQTT trace of gfx1200", 9,
               per_instruction(bench, "s_branch 1\ns_mov_b32 s5, 1"))
        yield ("barrier of four waves", "gfx1100's, none measured", 14,
               4 * per_instruction(bench, "s_barrier_signal -1\ns_barrier_wait -1", 4))
        load, here = "s_load_b32 s4, s[2:3], 0x0\n", Setup(bench, "s_getpc_b64 s[2:3]")
        yield ("the first scalar load from a place", "gfx1100's, none measured", 1345,
               per_instruction(here, load + "s_wait_kmcnt 0"))
    else:
        source = "tinygrad SQTT traces of gfx1100"
        setup = Setup(bench, "v_lshlrev_b32_e32 v0, 2, v0")
        wide = Setup(bench, "v_lshlrev_b32_e32 v0, 4, v0")
        yield "LDS load of 4 bytes, latency", source, 32, latency(setup, "ds_load_b32 v64, v0")
        yield ("LDS load of 16 bytes, latency", source, 36.5,
               latency(wide, "ds_load_b128 v[64:67], v0"))
        yield "LDS store of 4 bytes, latency", source, 33, latency(setup, "ds_store_b32 v0, v64")
        yield ("WMMA 16x16x16 f16, four accumulators", "ROCm amd_matrix_instruction_calculator", 32,
               wmma(bench, 8))
        yield "transcendental", source, 4, per_instruction(bench, "v_exp_f32_e32 v1, v2")
        yield "transcendental, dependent", source, 9.5, per_instruction(bench, "v_exp_f32_e32 v1, v1")
        yield "scalar, dependent", source, 2, per_instruction(bench, "s_add_u32 s4, s4, s4")
        yield "branch not taken", source, 3, per_instruction(bench, "s_cbranch_scc1 1")
        yield ("branch taken", "tinygrad SQTT trace of gfx1200", 9,
               per_instruction(bench, "s_branch 1\ns_mov_b32 s5, 1"))
        yield "barrier of four waves", source, 14, 4 * per_instruction(bench, "s_barrier", 4)
        yield "v_cmpx until the branch on EXEC issues", source, 16, exec_branch(bench)


def exec_branch(bench):
    """Clocks from v_cmpx to s_cbranch_execz, which is not taken."""
    compare, branch = "v_cmpx_le_u32_e32 0, v0", "s_cbranch_execz 0"
    few, many = (bench.cycles([compare, branch] * n) for n in (16, 48))
    return (many - few) / 32 - per_instruction(bench, branch)


def wmma(bench, rows, beside=None):
    """Clocks of each of many that do not depend on each other; rows: of A."""
    ops = []
    for d in (0, 8, 16, 24):
        ops += [f"v_wmma_f32_16x16x16_f16 v[{d}:{d + 7}], v[64:{63 + rows}], "
                f"v[72:{71 + rows}], v[{d}:{d + 7}]"] + ([beside] if beside else [])
    few, many = (bench.cycles(ops * n) for n in (16, 48))
    return (many - few) / 128


class Setup:
    """A bench whose kernels begin with an instruction."""

    def __init__(self, bench, first):
        self.bench, self.first = bench, first

    def cycles(self, body, waves=1):
        return self.bench.cycles([self.first] + body, waves)
