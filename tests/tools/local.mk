check_PROGRAMS += tests/tools/test_ref
tests_tools_test_ref_SOURCES = tests/tools/test_ref.c
tests_tools_test_ref_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir)/tests
tests_tools_test_ref_LDADD = tools/libref.la -lm
TESTS += tests/tools/test_ref

check_PROGRAMS += tests/tools/test_ref_features
tests_tools_test_ref_features_SOURCES = tests/tools/test_ref_features.c
tests_tools_test_ref_features_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir)/tests
tests_tools_test_ref_features_LDADD = tools/libref.la -lm
TESTS += tests/tools/test_ref_features

check_PROGRAMS += tests/tools/test_ref_bwd
tests_tools_test_ref_bwd_SOURCES = tests/tools/test_ref_bwd.c
tests_tools_test_ref_bwd_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir)/tests
tests_tools_test_ref_bwd_LDADD = tools/libref.la -lm
TESTS += tests/tools/test_ref_bwd

check_PROGRAMS += tests/tools/test_npy
tests_tools_test_npy_SOURCES = tests/tools/test_npy.c
tests_tools_test_npy_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir)/tests
tests_tools_test_npy_LDADD = tools/libnpy.la
TESTS += tests/tools/test_npy

# The programs from end to end, on the emulator and on runtimes that go wrong.
check_PROGRAMS += tests/tools/npy_tool
tests_tools_npy_tool_SOURCES = tests/tools/npy_tool.c
tests_tools_npy_tool_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
tests_tools_npy_tool_LDADD = tools/libnpy.la tools/libref.la -lm

# -rpath makes libtool build a shared library although it is never installed.
check_LTLIBRARIES += tests/tools/libfake_runtime.la tests/tools/libfake_runtime_old.la
tests_tools_libfake_runtime_la_SOURCES = tests/tools/fake_runtime.c
tests_tools_libfake_runtime_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
tests_tools_libfake_runtime_old_la_SOURCES = tests/tools/fake_runtime.c
tests_tools_libfake_runtime_old_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_HIP_OLD
tests_tools_libfake_runtime_old_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere

dist_check_SCRIPTS += tests/tools/bench.sh tests/tools/check.sh tests/tools/inspect.sh tests/tools/run.sh tests/tools/replay.sh \
	tests/tools/man.sh \
	tests/tools/readme.sh tests/tools/environment.sh
TESTS += tests/tools/bench.sh tests/tools/check.sh tests/tools/inspect.sh tests/tools/run.sh tests/tools/replay.sh \
	tests/tools/man.sh \
	tests/tools/readme.sh tests/tools/environment.sh
EXTRA_DIST += tests/tools/tool_test_lib.sh

# Image directories, examples and packages.
dist_check_SCRIPTS += tests/tools/images.sh tests/tools/examples.sh tests/tools/package.sh \
	tests/tools/therock.sh
TESTS += tests/tools/images.sh tests/tools/examples.sh tests/tools/package.sh tests/tools/therock.sh
EXTRA_DIST += tools/examples/attention.c tools/examples/attention.rs

# A real model's attention; it installs NumPy and the model's package, so it is no part of check.
EXTRA_DIST += tests/real/minilm.py tests/real/page.txt
check-real: all
	$(PYTHON3) $(srcdir)/tests/real/minilm.py --build=.
PYTHON3 = python3
.PHONY: check-real

# The readers of foreign files under mutation; make fuzz drives them with libFuzzer.
check_PROGRAMS += tests/tools/fuzz_npy
tests_tools_fuzz_npy_SOURCES = tests/tools/fuzz_npy.c tools/elf_names.c tools/elf_names.h
tests_tools_fuzz_npy_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir)/tests
tests_tools_fuzz_npy_LDADD = tools/libnpy.la
TESTS += tests/tools/fuzz_npy
fuzz: fuzz-npy
fuzz-npy:
	$(MKDIR_P) tests/tools/npy_corpus
	$(FUZZ_CC) -std=gnu11 -g -O1 -DFUZZ_ENGINE -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined \
	    -fno-sanitize-recover=all -I$(srcdir)/tools -I$(srcdir)/tests \
	    $(srcdir)/tests/tools/fuzz_npy.c $(srcdir)/tools/npy.c $(srcdir)/tools/elf_names.c \
	    -o tests/tools/fuzz_npy_engine
	tests/tools/fuzz_npy_engine -max_total_time=$(FUZZ_SECONDS) -max_len=4096 tests/tools/npy_corpus
clean-fuzz-npy:
	rm -rf tests/tools/npy_corpus tests/tools/fuzz_npy_engine
CLEAN_LOCAL += clean-fuzz-npy
.PHONY: fuzz-npy
