#!/bin/sh
# The kernels once more, where the emulator is stricter than the hardware.
exec tests/gen/kernel/test_attn_fwd strict
