#!/bin/sh
# The emulator's decoder and disassembler against LLVM's: random words, and every instruction of
# every code object of this build. With sanitizers random words alone: what they see is how these are
# read.
set -eu
objects=
case $(ldd tests/tools/emu/isa/.libs/test_decode_llvm tests/tools/emu/isa/test_decode_llvm 2>/dev/null) in
*asan*) exec tests/tools/emu/isa/test_decode_llvm ;;
esac
if [ -d images/object ]; then
	objects=$(find images/object -name '*.co' | sort)
fi
# Whether or not this build has images for gfx12.
if [ -f tests/tools/emu/hip/emu_kernels.gfx1201.co ]; then
	objects="$objects tests/tools/emu/hip/emu_kernels.gfx1201.co"
fi
# shellcheck disable=SC2086 # object names are kernel symbols, without blanks
exec tests/tools/emu/isa/test_decode_llvm $objects
