#!/bin/sh
# The emulator's decoder and disassembler against LLVM's: random words, and every instruction of
# every code object of this build.
set -eu
objects=
if [ -d images/object ]; then
	objects=$(find images/object -name '*.co' | sort)
fi
# Whether or not this build has images for gfx12.
if [ -f tests/tools/emu/hip/emu_kernels.gfx1201.co ]; then
	objects="$objects tests/tools/emu/hip/emu_kernels.gfx1201.co"
fi
# shellcheck disable=SC2086 # object names are kernel symbols, without blanks
exec tests/tools/emu/isa/test_decode_llvm $objects
