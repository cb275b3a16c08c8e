# Tests of lib/: each room through the library's objects, then the API over a fake HIP runtime.
check_LTLIBRARIES += tests/lib/libtestlib.la
tests_lib_libtestlib_la_SOURCES = tests/lib/make_image.c tests/lib/make_image.h tests/lib/problem.h
tests_lib_libtestlib_la_CPPFLAGS = $(test_lib_cppflags)
tests_lib_libtestlib_la_LIBADD = lib/libaothip_core.la

test_lib_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests -I$(top_srcdir)/tests/lib $(ZSTD_CFLAGS)
test_lib_programs = \
	tests/lib/test_args \
	tests/lib/test_bundle \
	tests/lib/test_select \
	tests/lib/test_status \
	tests/lib/test_store \
	tests/lib/test_target \
	tests/lib/test_validate
check_PROGRAMS += $(test_lib_programs)
TESTS += $(test_lib_programs)

tests_lib_test_args_CPPFLAGS = $(test_lib_cppflags)
tests_lib_test_args_LDADD = tests/lib/libtestlib.la
tests_lib_test_bundle_CPPFLAGS = $(test_lib_cppflags)
tests_lib_test_bundle_LDADD = tests/lib/libtestlib.la
tests_lib_test_select_CPPFLAGS = $(test_lib_cppflags)
tests_lib_test_select_LDADD = tests/lib/libtestlib.la
tests_lib_test_status_CPPFLAGS = $(test_lib_cppflags)
tests_lib_test_status_LDADD = tests/lib/libtestlib.la
tests_lib_test_store_CPPFLAGS = $(test_lib_cppflags)
tests_lib_test_store_LDADD = tests/lib/libtestlib.la
tests_lib_test_target_CPPFLAGS = $(test_lib_cppflags)
tests_lib_test_target_LDADD = tests/lib/libtestlib.la
tests_lib_test_validate_CPPFLAGS = $(test_lib_cppflags)
tests_lib_test_validate_LDADD = tests/lib/libtestlib.la
