EXTRA_DIST += tests/tap.h
include tests/lib/local.mk
include tests/gen/local.mk
include tests/tools/local.mk
include tests/tools/emu/local.mk
include tests/attn/local.mk
