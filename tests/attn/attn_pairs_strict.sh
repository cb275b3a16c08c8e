#!/bin/sh
# Some of the backward problems where the emulator is stricter than the hardware.
exec tests/attn/test_attn_pairs strict
