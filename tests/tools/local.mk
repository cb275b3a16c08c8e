check_PROGRAMS += tests/tools/test_ref
tests_tools_test_ref_SOURCES = tests/tools/test_ref.c
tests_tools_test_ref_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir)/tests
tests_tools_test_ref_LDADD = tools/libref.la -lm
TESTS += tests/tools/test_ref
