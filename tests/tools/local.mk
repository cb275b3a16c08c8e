check_PROGRAMS += tests/tools/test_ref
tests_tools_test_ref_SOURCES = tests/tools/test_ref.c
tests_tools_test_ref_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir)/tests
tests_tools_test_ref_LDADD = tools/libref.la -lm
TESTS += tests/tools/test_ref

check_PROGRAMS += tests/tools/test_npy
tests_tools_test_npy_SOURCES = tests/tools/test_npy.c
tests_tools_test_npy_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir)/tests
tests_tools_test_npy_LDADD = tools/libnpy.la
TESTS += tests/tools/test_npy
