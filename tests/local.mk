EXTRA_DIST += tests/gpus.h tests/tap.h tests/tap.sh tests/attn/each_gpu.h tests/gen/table_test_lib.sh tests/rooms.py tests/rooms.txt
# The order of the house: who may use whom, and who may do what.
dist_check_SCRIPTS += tests/rooms.sh tests/layers.sh tests/doors.sh
TESTS += tests/rooms.sh tests/layers.sh tests/doors.sh
# Under Wine, which it installs: not part of make check.
EXTRA_DIST += tests/windows.sh tests/windows_library.sh tests/windows_packages.sh tests/windows_helper.c
check-windows: all
	$(SHELL) $(srcdir)/tools/windows --wine --packages .
	@failed=0; for test in windows windows_library windows_packages; do \
	    srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/$$test.sh >windows/$$test.log || failed=1; \
	    grep -v '^ok' windows/$$test.log; done; exit $$failed
.PHONY: check-windows
# Attention on GPU=gfx950 alone, as on the GPUs of reference: tests/gpus.h. It takes some minutes.
gpu_tests = tests/attn/% tests/gen/kernel/test_attn_% tests/gen/kernel/attn_fwd_strict.sh
check-gpu:
	@test -n '$(GPU)' || { echo 'check-gpu: name it, such as GPU=gfx950' >&2; exit 1; }
	AOTHIP_TEST_GPUS='$(GPU)' $(MAKE) $(AM_MAKEFLAGS) check \
	    TESTS='$(filter-out %_siblings %_tiny,$(filter $(gpu_tests),$(TESTS)))'
.PHONY: check-gpu
# What takes long comes first, so that no core waits for the other at the end.
include tests/random/local.mk
include tests/attn/local.mk
include tests/tools/local.mk
include tests/tools/emu/local.mk
include tests/gen/local.mk
include tests/lib/local.mk
