#!/usr/bin/env python3
"""Workgroups that take tiles from a counter, under the clock: as when whoever is free gets the next.

usage: queue.py LIBHIPEMU GPU

How long a tile takes is what a launch of a single workgroup takes more than one without tiles."""

import heapq
import os
import struct
import sys
import tempfile

import emu_clock
import micro

# A wave fetches, all learn of it in LDS. Every eighth tile is eight times as long as the first.
BODY = """
    {load2} s[4:5], s[0:1], 0x0
    {load1} s6, s[0:1], 0x8
    v_mov_b32_e32 v1, 0
    v_mov_b32_e32 v2, 1
    s_waitcnt lgkmcnt(0)
next:
    s_barrier
    v_cmp_eq_u32_e32 vcc{lo}, 0, v0
    s_and_saveexec_{b} {saved}, vcc{lo}
    s_cbranch_execz taken
    {atomic}
    s_waitcnt vmcnt(0)
    {write} v1, v3
    s_waitcnt lgkmcnt(0)
taken:
    s_or_{b} exec{lo}, exec{lo}, {saved}
    s_barrier
    {read} v4, v1
    s_waitcnt lgkmcnt(0)
    v_readfirstlane_b32 s7, v4
    s_cmp_ge_u32 s7, s6
    s_cbranch_scc1 end
    s_and_b32 s10, s7, 7
    s_add_u32 s10, s10, 1
    s_mul_i32 s10, s10, 30
work:
""" + 16 * "    v_fma_f32 v5, v5, v5, v5\n" + """
    s_sub_u32 s10, s10, 1
    s_cmp_lg_u32 s10, 0
    s_cbranch_scc1 work
    s_branch next
end:
"""
LDS = 60000  # so that a unit holds one
WORDS = {"gfx942": {"load2": "s_load_dwordx2", "load1": "s_load_dword", "lo": "", "b": "b64",
                    "saved": "s[8:9]", "write": "ds_write_b32", "read": "ds_read_b32",
                    "atomic": "global_atomic_add v3, v1, v2, s[4:5] sc0"},
         "gfx1100": {"load2": "s_load_b64", "load1": "s_load_b32", "lo": "_lo", "b": "b32",
                     "saved": "s8", "write": "ds_store_b32", "read": "ds_load_b32",
                     "atomic": "global_atomic_add_u32 v3, v1, v2, s[4:5] glc"}}


class Queue:
    def __init__(self, library, gpu, directory):
        self.e, self.wave = emu_clock.Emulator(library), 64 if gpu.startswith("gfx9") else 32
        path = micro.assemble(gpu, [BODY.format(**WORDS[gpu])], directory + "/queue", LDS, 16)
        self.function = self.e.function(path, "k")

    def time(self, groups, first, behind, flags=0):
        """Tiles from the first one to that before `behind`."""
        counter = self.e.upload(struct.pack("<I", first))
        r = self.e.time(self.function, (groups, 1, 1), (4 * self.wave, 1, 1),
                        struct.pack("<QI4x", counter, behind), 0, flags)
        self.e.free()
        return r


def scheduled(each, tiles, units):
    """Clocks, when whoever is free takes the next tile."""
    ends = [0] * units
    for i in range(tiles):
        heapq.heappush(ends, heapq.heappop(ends) + each[i % 8])
    return max(ends)


def main():
    library, gpu = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.environ["AOTHIP_EMU_GPU"] = gpu
    os.environ["AOTHIP_EMU_MODE"] = "plain"
    with tempfile.TemporaryDirectory() as directory:
        queue = Queue(library, gpu, directory)
        none = queue.time(1, 0, 0)
        each = [queue.time(1, i, i + 1).cycles.middle - none.cycles.middle for i in range(8)]
        bad = 0
        for part, rounds, flags in ((1, 3, 0), (1, 3, emu_clock.SAMPLES_ONLY), (1, 3, 16), (0.5, 7, 0),
                                    (1, 12, 0)):
            groups = int(none.units * part)
            tiles = int(groups * rounds) + 5
            r = queue.time(groups, 0, tiles, flags)
            want = none.cycles.middle + scheduled(each, tiles, groups)
            off = 100 * (r.cycles.middle / want - 1)
            bad += abs(off) > 3
            print(f"{'ok' if abs(off) <= 3 else 'not ok'} {gpu}: {groups} workgroups take {tiles} "
                  f"tiles, flags {flags}: {r.cycles.middle:.0f} clocks for {want:.0f}, {off:+.1f} %")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
