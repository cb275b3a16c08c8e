#!/bin/sh
# The backward problems, each on one GPU, where the emulator is stricter than the hardware.
exec tests/attn/test_attn_pairs strict
