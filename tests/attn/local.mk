# Attention on the emulator: all features, forward and backward.
attn_test_cppflags = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
attn_test_sources = tests/attn/problem.c tests/attn/problem.h tests/attn/problem_run.c
attn_test_libs = tools/libprogram.la lib/libaothip.la -lm

check_PROGRAMS += tests/attn/test_attn_pairs
tests_attn_test_attn_pairs_SOURCES = tests/attn/test_attn_pairs.c tests/attn/pairs.c \
	tests/attn/pairs.h $(attn_test_sources)
tests_attn_test_attn_pairs_CPPFLAGS = $(attn_test_cppflags)
tests_attn_test_attn_pairs_LDADD = $(attn_test_libs)
attn_scripts = tests/attn/attn_pairs_fwd.sh tests/attn/attn_pairs_bwd.sh \
	tests/attn/attn_pairs_strict.sh
dist_check_SCRIPTS += $(attn_scripts)
TESTS += $(attn_scripts)

# GPUs that run the code of another.
check_PROGRAMS += tests/attn/test_attn_siblings
tests_attn_test_attn_siblings_SOURCES = tests/attn/test_attn_siblings.c $(attn_test_sources) \
	$(gen_matrix_sources)
tests_attn_test_attn_siblings_CPPFLAGS = $(attn_test_cppflags) -I$(top_srcdir)/gen
tests_attn_test_attn_siblings_LDADD = $(attn_test_libs)
TESTS += tests/attn/test_attn_siblings

# Failures that others' users have met.
check_PROGRAMS += tests/attn/test_attn_known
tests_attn_test_attn_known_SOURCES = tests/attn/test_attn_known.c tests/attn/known_cases.h \
	$(attn_test_sources)
tests_attn_test_attn_known_CPPFLAGS = $(attn_test_cppflags)
tests_attn_test_attn_known_LDADD = $(attn_test_libs)
dist_check_SCRIPTS += tests/attn/attn_known_fwd.sh tests/attn/attn_known_bwd.sh
TESTS += tests/attn/attn_known_fwd.sh tests/attn/attn_known_bwd.sh
SLOW_TESTS += tests/attn/attn_known_fwd.sh tests/attn/attn_known_bwd.sh

# K and V of FP8.
check_PROGRAMS += tests/attn/test_attn_fp8
tests_attn_test_attn_fp8_SOURCES = tests/attn/test_attn_fp8.c $(attn_test_sources)
tests_attn_test_attn_fp8_CPPFLAGS = $(attn_test_cppflags)
tests_attn_test_attn_fp8_LDADD = $(attn_test_libs)
TESTS += tests/attn/test_attn_fp8
SLOW_TESTS += tests/attn/test_attn_fp8

# Offsets beyond 32 bits.
check_PROGRAMS += tests/attn/test_attn_far
tests_attn_test_attn_far_SOURCES = tests/attn/test_attn_far.c $(attn_test_sources)
tests_attn_test_attn_far_CPPFLAGS = $(attn_test_cppflags)
tests_attn_test_attn_far_LDADD = $(attn_test_libs)
TESTS += tests/attn/test_attn_far
SLOW_TESTS += tests/attn/test_attn_far
