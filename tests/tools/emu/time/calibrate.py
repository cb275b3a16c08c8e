#!/usr/bin/env python3
"""What the clock predicts beside what was measured and published.

usage: calibrate.py LIBHIPEMU [PEERS]

PEERS holds others' code objects: aiter/fwd_hd128_bf16_*.co, as AITER publishes them for MI300X, and
aotriton/gfx942.attn_fwd.f_d*.hsaco, AOTriton's kernels. Without it only the small kernels are run,
which are assembled here. Exits 1 if a small kernel is off its target."""

import math
import os
import struct
import sys

import emu_clock
import micro

def row(what, unit, measured, predicted, target, ok, note=""):
    print(f"{what:52s} {unit:6s} {measured:>12s} {predicted:>12s} {target:>10s}  "
          f"{'yes' if ok else 'NO':3s} {note}".rstrip())


def compare(what, unit, measured, predicted, percent, note="", digits=0):
    off = 100 * (predicted / measured - 1)
    row(what, unit, f"{measured:.{digits}f}", f"{predicted:.{digits}f}", f"{percent} %",
        abs(off) <= percent, f"{off:+.1f} %{', ' + note if note else ''}")
    return abs(off) <= percent


def title(text):
    print(f"\n{text}\n{'':52s} {'unit':6s} {'measured':>12s} {'predicted':>12s} {'target':>10s}  met")


def small(library, gpu):
    os.environ["AOTHIP_EMU_GPU"] = gpu
    bench = micro.Bench(emu_clock.Emulator(library), gpu)
    bad = 0
    title(f"{gpu}: LDS and matrix instructions")
    for what, source, measured, predicted in micro.rates(bench):
        bad += not compare(what, "clk", measured, predicted, 10, source, 1)
    if gpu == "gfx1100":
        title(f"{gpu}: stamps of vector instructions (tinygrad, hardware traces)")
        stamps = list(micro.stamps(bench))
        good = sum(abs(want - got) <= 1 for _, want, got in stamps)
        exact = sum(want == got for _, want, got in stamps)
        share = 100 * good / len(stamps)
        row(f"{len(stamps)} stamps within one clock", "%", "100", f"{share:.1f}", "90", share >= 90,
            f"{100 * exact / len(stamps):.1f} % exact")
        bad += share < 90
        for name, want, got in stamps:
            if abs(want - got) > 1:
                print(f"    {name}: {want} clocks measured, {got} predicted")
    return bad


AITER = {"causal_rtna": "_ZN5aiter31fmha_fwd_hd128_bf16_causal_rtnaE",
         "rtna": "_ZN5aiter24fmha_fwd_hd128_bf16_rtnaE",
         "rtne": "_ZN5aiter24fmha_fwd_hd128_bf16_rtneE",
         "rtz": "_ZN5aiter23fmha_fwd_hd128_bf16_rtzE"}


class Aiter:
    def __init__(self, library, peers):
        self.e, self.peers, self.functions = emu_clock.Emulator(library), peers, {}

    def time(self, which, b, h, s):
        if which not in self.functions:
            self.functions[which] = self.e.function(
                f"{self.peers}/aiter/fwd_hd128_bf16_{which}.co", AITER[which])
        grid, block, args = emu_clock.aiter_arguments(self.e, b, h, s, 256,
                                                      causal=which == "causal_rtna")
        r = self.e.time(self.functions[which], grid, block, args)
        self.e.free()
        return r


# attn-dsl-bench, MI300X, AITER, b16 h16 causal bf16: keys, steps of 32 keys a tile, executed FLOPs,
# MfmaUtil, clocks a tile of 256 rows (mean duration of a workgroup, of two tiles, from OccupancyPercent)
COUNTERS = [(1024, 20, 85899345920, 42.16, 70800), (2048, 36, 309237645312, 50.13, 111000),
            (4096, 68, 1168231104512, 64.54, 192300), (8192, 132, 4535485464576, 67.65, 354700),
            (16384, 260, 17867063951360, 72.09, 681900)]
SPREAD = 1.087  # cycles of the whole GPU to those of its workgroups in these counters: 1 / 0.92


def counters(a):
    title("gfx942: AITER forward d128 bf16, causal, rtna, b16 h16 (attn-dsl-bench, MI300X counters)")
    tiles = []
    for keys, steps, flops, util, tile in COUNTERS:
        r = a.time("causal_rtna", 16, 16, keys)
        tiles.append((steps, r.group_cycles / 2))
        row(f"{keys} keys: executed matrix FLOPs", "", f"{flops / 1e9:.3f}G",
            f"{r.matrix_flops / 1e9:.3f}G", "exact", round(r.matrix_flops) == flops)
        compare(f"{keys} keys: clocks of a tile of 256 rows", "clk", tile, tiles[-1][1], 5)
        mine = 100 * r.matrix_busy / SPREAD
        row(f"{keys} keys: matrix utilisation, after a spread of {SPREAD}", "%", f"{util:.1f}",
            f"{mine:.1f}", "4 points", abs(mine - util) <= 4, f"{mine - util:+.1f}")
    (x0, y0), (x1, y1) = tiles[1], tiles[-1]
    slope = (y1 - y0) / (x1 - x0)
    row("slope: clocks of 32 keys", "clk", "2540-2760", f"{slope:.0f}", "5 %",
        0.95 * 2540 <= slope <= 1.05 * 2760)
    compare("intercept: clocks of a tile without keys", "clk", 20000, y0 - x0 * slope, 25)


# moonmath-ai/amd-kernels, MI300X: b, h, s, milliseconds of rtne, rtna, rtz
TIMES = [(2, 24, 8192, 3.792, 3.605, 3.303), (2, 24, 16384, 14.691, 13.801, 12.629),
         (1, 32, 16384, 9.031, 8.656, 7.989), (4, 16, 16384, 18.337, 17.567, 16.183),
         (1, 64, 16384, 18.333, 17.535, 16.161), (2, 24, 32768, 54.794, 52.363, 48.549),
         (2, 16, 65536, 136.3, 130.3, 121.7), (2, 8, 86016, 118.9, 114.5, 106.5),
         (1, 16, 131072, 269.3, 258.1, 239.6)]


def steady(a, which):
    """Clocks of 32 keys, of a workgroup of 4096 keys, and the result of the latter."""
    short, longer = a.time(which, 2, 24, 2048), a.time(which, 2, 24, 4096)
    return (longer.group_cycles - short.group_cycles) / 64, longer.group_cycles, longer


def long_time(of_4096, b, h, s):
    """Milliseconds: beyond 4096 keys a workgroup goes on as between 2048 and 4096."""
    slope, group, r = of_4096
    rounds = math.ceil(b * h * (s // 256) / r.units)
    group += slope * (s - 4096) / 32
    return (rounds * (group + 500) / r.gigahertz / 1000 + r.launch_us) / 1000


def times(a):
    title("gfx942: AITER forward d128 bf16, no mask (moonmath-ai/amd-kernels, MI300X)")
    squares, n, last = 0, 0, {}
    kinds = {which: steady(a, which) for which in ("rtne", "rtna", "rtz")}
    for b, h, s, *measured in TIMES:
        for which, ms in zip(kinds, measured):
            last[which] = mine = long_time(kinds[which], b, h, s)
            compare(f"b{b} h{h} s{s} {which}", "ms", ms, mine, 8, "", 2)
            squares, n = squares + (mine / ms - 1) ** 2, n + 1
    rms = 100 * math.sqrt(squares / n)
    row("all of them, root of the mean square", "%", "0", f"{rms:.1f}", "8", rms <= 8)
    base = kinds["rtz"]
    for which, ratio in (("rtna", 1.077), ("rtne", 1.124)):
        slope, _, r = kinds[which]
        compare(f"{which} : rtz, as cycles by clock", "", ratio, last[which] / last["rtz"], 4,
                f"cycles {slope / base[0]:.3f}, {r.gigahertz:.3f} and {base[2].gigahertz:.3f} GHz", 3)


def aotriton(library, peers):
    title("gfx942: AOTriton forward, clocks of 32 keys for 128 rows (attn-dsl-bench, MI300X; B-)")
    e = emu_clock.Emulator(library)
    for dim, measured in ((128, 2985), (64, 1751)):
        groups, function = [], None
        for s in (1024, 2048):
            q, k, v, o = (e.memory(16 * s * dim * 2) for _ in range(4))
            lse = e.memory(16 * s * 4)
            stride = struct.pack("<3Q", 16 * s * dim, s * dim, dim)
            args = struct.pack("<3Qf4x2Q", q, k, v, dim ** -0.5, lse, o) + 4 * stride
            args += struct.pack("<3i4x2Q2i2Q2i2Q", 16, 16, 0, 0, 0, s, s, 0, 0, 304, 1, 0, 0)
            path = f"{peers}/aotriton/gfx942.attn_fwd.f_d{dim}.hsaco"
            function = function or e.function(path, "attn_fwd")
            r = e.time(function, (16, s // 128, 1), (256, 1, 1), args, 32768)
            groups.append(r.group_cycles)
            e.free()
        compare(f"d{dim}", "clk", measured, (groups[1] - groups[0]) / 32, 15,
                "its tile there is not known" if dim == 64 else "")


# The same sweep, b16 h16 causal bf16, the whole launch: head dim, keys, executed FLOPs, MfmaUtil,
# clocks of the GPU
CAUSAL = [(64, 1024, 38654705664, 12.7, 490000), (128, 1024, 77309411328, 16.3, 764000)]


def aotriton_causal(library, peers):
    title("gfx942: AOTriton forward, causal, tiles from a counter, b16 h16 (attn-dsl-bench; B-)")
    e = emu_clock.Emulator(library)
    for dim, s, flops, util, clocks in CAUSAL:
        q, k, v, o = (e.memory(16 * 16 * s * dim * 2) for _ in range(4))
        lse, counter = e.memory(16 * 16 * s * 4), e.upload(bytes(16))
        stride = struct.pack("<3Q", 16 * s * dim, s * dim, dim)
        args = struct.pack("<3Qf4x2Q", q, k, v, dim ** -0.5, lse, o) + 4 * stride
        args += struct.pack("<3i4x2Q2i2Q", 16, 16, 0, 0, 0, s, s, 0, 0)
        args += struct.pack("<2iQ2i2Q", -2147483647, -2147483647, counter, 304, 16, 0, 0)
        path = f"{peers}/aotriton/gfx942.attn_fwd.f_d{dim}_bf_c.hsaco"
        r = e.time(e.function(path, "attn_fwd"), (2 * 304, 1, 1), (256, 1, 1), args, 32768)
        e.free()
        row(f"d{dim}, {s} keys: executed matrix FLOPs", "", f"{flops / 1e9:.3f}G",
            f"{r.matrix_flops / 1e9:.3f}G", "exact", round(r.matrix_flops) == flops)
        compare(f"d{dim}, {s} keys: clocks of the launch, with a spread of {SPREAD}", "clk", clocks,
                r.cycles.middle * SPREAD, 15)
        mine = 100 * r.matrix_busy / SPREAD
        row(f"d{dim}, {s} keys: matrix utilisation, after this spread", "%", f"{util:.1f}",
            f"{mine:.1f}", "4 points", abs(mine - util) <= 4, f"{mine - util:+.1f}")


def main():
    library = os.path.abspath(sys.argv[1])
    peers = sys.argv[2] if len(sys.argv) > 2 else None
    os.environ["AOTHIP_EMU_MODE"] = "plain"
    # a process has the devices that it began with
    if os.environ.get("CALIBRATE"):
        gpu = os.environ["CALIBRATE"]
        bad = small(library, gpu)
        if peers and gpu == "gfx942":
            a = Aiter(library, peers)
            counters(a)
            times(a)
            aotriton(library, peers)
            aotriton_causal(library, peers)
        return bad > 0
    bad = 0
    print("What the emulator's clock predicts beside what was measured and published.\n"
          "Printed by make -s calibrate PEERS=DIR; the last column says whether the target is met.")
    for gpu in ("gfx942", "gfx1100", "gfx1201"):
        sys.stdout.flush()
        environment = dict(os.environ, CALIBRATE=gpu)
        bad += os.spawnve(os.P_WAIT, sys.executable, [sys.executable] + sys.argv, environment) != 0
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
