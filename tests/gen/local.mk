# The generator: its parts in C, the whole by scripts with a small matrix and kernel of their own.
gen_test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/gen -I$(top_srcdir)/tests

check_PROGRAMS += tests/gen/test_matrix
tests_gen_test_matrix_SOURCES = tests/gen/test_matrix.c $(gen_matrix_sources)
tests_gen_test_matrix_CPPFLAGS = $(gen_test_cppflags)
TESTS += tests/gen/test_matrix

check_PROGRAMS += tests/gen/test_object
tests_gen_test_object_SOURCES = tests/gen/test_object.c gen/object.c gen/msgpack.c
tests_gen_test_object_CPPFLAGS = $(gen_test_cppflags)
TESTS += tests/gen/test_object

check_PROGRAMS += tests/gen/test_image
tests_gen_test_image_SOURCES = tests/gen/test_image.c gen/image.c
tests_gen_test_image_CPPFLAGS = $(gen_test_cppflags) $(ZSTD_CFLAGS)
tests_gen_test_image_LDADD = lib/libaothip_core.la $(ZSTD_LIBS)
TESTS += tests/gen/test_image

check_PROGRAMS += tests/gen/roundtrip_check
tests_gen_roundtrip_check_SOURCES = tests/gen/roundtrip_check.c $(gen_matrix_sources)
tests_gen_roundtrip_check_CPPFLAGS = $(gen_test_cppflags)
tests_gen_roundtrip_check_LDADD = lib/libaothip_core.la $(ZSTD_LIBS)

gen_scripts = tests/gen/roundtrip.sh tests/gen/reproducible.sh tests/gen/incremental.sh \
	tests/gen/failing.sh tests/gen/configure.sh tests/gen/dist.sh tests/gen/jobs.sh tests/gen/counts.sh
dist_check_SCRIPTS += $(gen_scripts)
TESTS += $(gen_scripts)
EXTRA_DIST += tests/gen/gen_test_lib.sh tests/gen/small.def tests/gen/kernel

# The kernels, as shipped, on the emulator.
check_PROGRAMS += tests/gen/test_attn_fwd
tests_gen_test_attn_fwd_SOURCES = tests/gen/test_attn_fwd.c
tests_gen_test_attn_fwd_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir)/tests
tests_gen_test_attn_fwd_LDADD = tools/libprogram.la lib/libaothip.la -lm
dist_check_SCRIPTS += tests/gen/attn_fwd_strict.sh
TESTS += tests/gen/test_attn_fwd tests/gen/attn_fwd_strict.sh
