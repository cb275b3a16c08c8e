EXTRA_DIST += tests/tap.h tests/rooms.py tests/rooms.txt
# The order of the house: who may use whom, and who may do what.
dist_check_SCRIPTS += tests/rooms.sh tests/layers.sh tests/doors.sh
TESTS += tests/rooms.sh tests/layers.sh tests/doors.sh
include tests/lib/local.mk
include tests/gen/local.mk
include tests/tools/local.mk
include tests/tools/emu/local.mk
include tests/attn/local.mk
include tests/random/local.mk
