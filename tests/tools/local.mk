check_PROGRAMS += tests/tools/ref/test_ref
tests_tools_ref_test_ref_SOURCES = tests/tools/ref/test_ref.c
tests_tools_ref_test_ref_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
tests_tools_ref_test_ref_LDADD = tools/libref.la -lm
TESTS += tests/tools/ref/test_ref

check_PROGRAMS += tests/tools/ref/test_ref_features
tests_tools_ref_test_ref_features_SOURCES = tests/tools/ref/test_ref_features.c
tests_tools_ref_test_ref_features_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
tests_tools_ref_test_ref_features_LDADD = tools/libref.la -lm
TESTS += tests/tools/ref/test_ref_features

check_PROGRAMS += tests/tools/ref/test_ref_fp8
tests_tools_ref_test_ref_fp8_SOURCES = tests/tools/ref/test_ref_fp8.c
tests_tools_ref_test_ref_fp8_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
tests_tools_ref_test_ref_fp8_LDADD = tools/libref.la -lm
TESTS += tests/tools/ref/test_ref_fp8

check_PROGRAMS += tests/tools/ref/test_ref_bwd
tests_tools_ref_test_ref_bwd_SOURCES = tests/tools/ref/test_ref_bwd.c
tests_tools_ref_test_ref_bwd_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
tests_tools_ref_test_ref_bwd_LDADD = tools/libref.la -lm
TESTS += tests/tools/ref/test_ref_bwd

check_PROGRAMS += tests/tools/common/test_npy
tests_tools_common_test_npy_SOURCES = tests/tools/common/test_npy.c
tests_tools_common_test_npy_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
tests_tools_common_test_npy_LDADD = tools/libnpy.la
TESTS += tests/tools/common/test_npy

# The programs from end to end, on the emulator and on runtimes that go wrong.
check_PROGRAMS += tests/tools/common/npy_tool
tests_tools_common_npy_tool_SOURCES = tests/tools/common/npy_tool.c
tests_tools_common_npy_tool_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms)
tests_tools_common_npy_tool_LDADD = tools/libnpy.la tools/libref.la -lm

# -rpath makes libtool build a shared library although it is never installed.
check_LTLIBRARIES += tests/tools/libfake_runtime.la tests/tools/libfake_runtime_old.la
tests_tools_libfake_runtime_la_SOURCES = tests/tools/programs/fake_runtime.c
tests_tools_libfake_runtime_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
tests_tools_libfake_runtime_old_la_SOURCES = tests/tools/programs/fake_runtime.c
tests_tools_libfake_runtime_old_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_HIP_OLD
tests_tools_libfake_runtime_old_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere

dist_check_SCRIPTS += tests/tools/programs/bench.sh tests/tools/programs/predict.sh tests/tools/programs/measure.sh tests/tools/programs/tune.sh tests/tools/programs/picture.sh tests/tools/programs/check.sh tests/tools/programs/inspect.sh tests/tools/programs/run.sh tests/tools/programs/replay.sh \
	tests/tools/programs/man.sh \
	tests/tools/package/readme.sh tests/tools/programs/environment.sh
TESTS += tests/tools/programs/bench.sh tests/tools/programs/predict.sh tests/tools/programs/measure.sh tests/tools/programs/tune.sh tests/tools/programs/picture.sh tests/tools/programs/check.sh tests/tools/programs/inspect.sh tests/tools/programs/run.sh tests/tools/programs/replay.sh \
	tests/tools/programs/man.sh \
	tests/tools/package/readme.sh tests/tools/programs/environment.sh
SLOW_TESTS += tests/tools/programs/tune.sh tests/tools/programs/check.sh tests/tools/package/readme.sh
EXTRA_DIST += tests/tools/tool_test_lib.sh tests/tools/programs/timeline_check.py

# aothip-torch.
dist_check_SCRIPTS += tests/tools/torch/swap.sh
TESTS += tests/tools/torch/swap.sh
EXTRA_DIST += tests/tools/torch/test_swap.py

# Image directories, examples and packages.
dist_check_SCRIPTS += tests/tools/programs/images.sh tests/tools/package/examples.sh tests/tools/package/package.sh \
	tests/tools/package/therock.sh
TESTS += tests/tools/programs/images.sh tests/tools/package/examples.sh tests/tools/package/package.sh tests/tools/package/therock.sh
SLOW_TESTS += tests/tools/package/package.sh tests/tools/package/therock.sh
EXTRA_DIST += tools/examples/attention.c tools/examples/attention.cc tools/examples/attention.rs

# A real model's attention; it installs NumPy and the model's package, so it is no part of check.
EXTRA_DIST += tests/real/minilm.py tests/real/page.txt
check-real: all
	$(PYTHON3) $(srcdir)/tests/real/minilm.py --build=.
PYTHON3 = python3
.PHONY: check-real

# The readers of foreign files under mutation; make fuzz drives them with libFuzzer.
check_PROGRAMS += tests/tools/common/fuzz_npy
tests_tools_common_fuzz_npy_SOURCES = tests/tools/common/fuzz_npy.c tools/common/elf_names.c tools/common/elf_names.h
tests_tools_common_fuzz_npy_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
tests_tools_common_fuzz_npy_LDADD = tools/libnpy.la
TESTS += tests/tools/common/fuzz_npy
fuzz: fuzz-npy
fuzz-npy:
	$(MKDIR_P) tests/tools/npy_corpus
	$(FUZZ_CC) -std=gnu11 -g -O1 -DFUZZ_ENGINE -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined \
	    -fno-sanitize-recover=all $(tools_rooms) $(tests_rooms) \
	    $(srcdir)/tests/tools/common/fuzz_npy.c $(srcdir)/tools/common/npy.c $(srcdir)/tools/common/elf_names.c \
	    -o tests/tools/fuzz_npy_engine
	tests/tools/fuzz_npy_engine -max_total_time=$(FUZZ_SECONDS) -max_len=4096 tests/tools/npy_corpus
clean-fuzz-npy:
	rm -rf tests/tools/npy_corpus tests/tools/fuzz_npy_engine
CLEAN_LOCAL += clean-fuzz-npy
.PHONY: fuzz-npy
