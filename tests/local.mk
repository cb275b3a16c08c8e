EXTRA_DIST += tests/tap.h tests/attn/each_gpu.h tests/gen/table_test_lib.sh tests/rooms.py tests/rooms.txt
# The order of the house: who may use whom, and who may do what.
dist_check_SCRIPTS += tests/rooms.sh tests/layers.sh tests/doors.sh
TESTS += tests/rooms.sh tests/layers.sh tests/doors.sh
# Under Wine, which it installs: not part of make check.
EXTRA_DIST += tests/windows.sh
check-windows: all
	command -v wine >/dev/null || { test "`id -u`" -eq 0 && \
	    apt-get install -q -y --no-install-recommends wine wine64 </dev/null; } || \
	    { echo 'check-windows: sudo apt-get install wine wine64' >&2; exit 1; }
	$(SHELL) $(srcdir)/tools/windows .
	@srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/windows.sh >windows/check.log; failed=$$?; \
	    grep -v '^ok' windows/check.log; exit $$failed
.PHONY: check-windows
include tests/lib/local.mk
include tests/gen/local.mk
include tests/tools/local.mk
include tests/tools/emu/local.mk
include tests/attn/local.mk
include tests/random/local.mk
