# The generator: its parts in C, the whole by scripts with a small matrix and kernel of their own.
gen_test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/gen $(tests_rooms)

check_PROGRAMS += tests/gen/test_matrix
tests_gen_test_matrix_SOURCES = tests/gen/test_matrix.c $(gen_matrix_sources)
tests_gen_test_matrix_CPPFLAGS = $(gen_test_cppflags)
TESTS += tests/gen/test_matrix

# The generator's readers under mutation; make fuzz drives them with libFuzzer.
fuzz_matrix_sources = tests/gen/fuzz_matrix.c $(gen_matrix_sources) gen/object.c gen/msgpack.c
check_PROGRAMS += tests/gen/fuzz_matrix
tests_gen_fuzz_matrix_SOURCES = $(fuzz_matrix_sources)
tests_gen_fuzz_matrix_CPPFLAGS = $(gen_test_cppflags)
TESTS += tests/gen/fuzz_matrix
fuzz: fuzz-matrix
fuzz-matrix:
	$(MKDIR_P) tests/gen/matrix_corpus && cp $(srcdir)/tests/gen/small/small.def tests/gen/matrix_corpus
	$(FUZZ_CC) -std=gnu11 -g -O1 -DFUZZ_ENGINE -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined \
	    -fno-sanitize-recover=all $(gen_test_cppflags) \
	    `for f in $(filter %.c,$(fuzz_matrix_sources)); do echo $(srcdir)/$$f; done` \
	    -o tests/gen/fuzz_matrix_engine
	tests/gen/fuzz_matrix_engine -max_total_time=$(FUZZ_SECONDS) -max_len=4096 tests/gen/matrix_corpus
clean-fuzz-matrix:
	rm -rf tests/gen/matrix_corpus tests/gen/fuzz_matrix_engine
CLEAN_LOCAL += clean-fuzz-matrix
.PHONY: fuzz-matrix

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

# The shipped code objects under AMD's own loader and code object manager.
check_PROGRAMS += tests/gen/test_amd_loader
tests_gen_test_amd_loader_SOURCES = tests/gen/test_amd_loader.c tests/gen/fake_thunk.c
tests_gen_test_amd_loader_CPPFLAGS = $(gen_test_cppflags)
tests_gen_test_amd_loader_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_gen_test_amd_loader_LDADD = lib/libaothip_core.la $(ZSTD_LIBS) -ldl

gen_scripts = tests/gen/roundtrip.sh tests/gen/reproducible.sh tests/gen/incremental.sh \
	tests/gen/failing.sh tests/gen/jobs.sh
dist_check_SCRIPTS += $(gen_scripts)
TESTS += $(gen_scripts)
SLOW_TESTS += tests/gen/reproducible.sh tests/gen/incremental.sh tests/gen/failing.sh \
	tests/gen/configure.sh tests/gen/dist.sh tests/gen/test_amd_loader
# Sanitizers have nothing to see in these.
gen_plain_scripts = tests/gen/configure.sh tests/gen/dist.sh tests/gen/kernel/counts.sh tests/gen/kernel/bounds.sh \
	tests/gen/kernel/inflight.sh tests/gen/launches/launches.sh tests/gen/kernel/other_compiler.sh \
	tests/gen/kernel/family.sh
dist_check_SCRIPTS += $(gen_plain_scripts)
SLOW_TESTS += tests/gen/kernel/other_compiler.sh
if !SANITIZE
TESTS += $(gen_plain_scripts) tests/gen/test_amd_loader
endif
EXTRA_DIST += tests/gen/gen_test_lib.sh tests/gen/small

# The kernels, as shipped, on the emulator.
check_PROGRAMS += tests/gen/kernel/test_attn_fwd
tests_gen_kernel_test_attn_fwd_SOURCES = tests/gen/kernel/test_attn_fwd.c
tests_gen_kernel_test_attn_fwd_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
tests_gen_kernel_test_attn_fwd_LDADD = tools/libprogram.la lib/libaothip.la -lm
check_PROGRAMS += tests/gen/kernel/test_attn_fwd_memory
tests_gen_kernel_test_attn_fwd_memory_SOURCES = tests/gen/kernel/test_attn_fwd_memory.c
tests_gen_kernel_test_attn_fwd_memory_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
tests_gen_kernel_test_attn_fwd_memory_LDADD = tools/libprogram.la lib/libaothip.la
TESTS += tests/gen/kernel/test_attn_fwd_memory
dist_check_SCRIPTS += tests/gen/kernel/attn_fwd_strict.sh tests/gen/kernel/tiles.sh
TESTS += tests/gen/kernel/test_attn_fwd tests/gen/kernel/attn_fwd_strict.sh tests/gen/kernel/tiles.sh
SLOW_TESTS += tests/gen/kernel/test_attn_fwd tests/gen/kernel/attn_fwd_strict.sh tests/gen/kernel/tiles.sh

kernel_test_cppflags = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
kernel_test_ldadd = tools/libprogram.la lib/libaothip.la -lm

check_PROGRAMS += tests/gen/kernel/test_attn_decode
tests_gen_kernel_test_attn_decode_SOURCES = tests/gen/kernel/test_attn_decode.c tests/gen/kernel/problem_maker.h
tests_gen_kernel_test_attn_decode_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_decode_LDADD = $(kernel_test_ldadd)

check_PROGRAMS += tests/gen/kernel/test_attn_append
tests_gen_kernel_test_attn_append_SOURCES = tests/gen/kernel/test_attn_append.c tests/gen/kernel/problem_maker.h
tests_gen_kernel_test_attn_append_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_append_LDADD = $(kernel_test_ldadd)

check_PROGRAMS += tests/gen/kernel/test_attn_merge_part
tests_gen_kernel_test_attn_merge_part_SOURCES = tests/gen/kernel/test_attn_merge_part.c tests/gen/kernel/problem_maker.h
tests_gen_kernel_test_attn_merge_part_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_merge_part_LDADD = $(kernel_test_ldadd)
TESTS += tests/gen/kernel/test_attn_merge_part

check_PROGRAMS += tests/gen/kernel/test_attn_f32
tests_gen_kernel_test_attn_f32_SOURCES = tests/gen/kernel/test_attn_f32.c tests/gen/kernel/problem_maker.h
tests_gen_kernel_test_attn_f32_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_f32_LDADD = $(kernel_test_ldadd)

check_PROGRAMS += tests/gen/kernel/test_attn_fwd_fp8
tests_gen_kernel_test_attn_fwd_fp8_SOURCES = tests/gen/kernel/test_attn_fwd_fp8.c tests/gen/kernel/problem_maker.h
tests_gen_kernel_test_attn_fwd_fp8_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_fwd_fp8_LDADD = $(kernel_test_ldadd)

TESTS += tests/gen/kernel/test_attn_decode tests/gen/kernel/test_attn_append tests/gen/kernel/test_attn_f32
TESTS += tests/gen/kernel/test_attn_fwd_fp8

# What is hard for any kernel: NaN behind a mask, scores at the end of f32's range, arrays on the
# device that lie.
check_PROGRAMS += tests/gen/kernel/test_attn_nonfinite tests/gen/kernel/test_attn_large tests/gen/kernel/test_attn_bounds
tests_gen_kernel_test_attn_nonfinite_SOURCES = tests/gen/kernel/test_attn_nonfinite.c tests/gen/kernel/problem_maker.h
tests_gen_kernel_test_attn_nonfinite_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_nonfinite_LDADD = $(kernel_test_ldadd)
tests_gen_kernel_test_attn_large_SOURCES = tests/gen/kernel/test_attn_large.c tests/gen/kernel/problem_maker.h
tests_gen_kernel_test_attn_large_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_large_LDADD = $(kernel_test_ldadd)
tests_gen_kernel_test_attn_bounds_SOURCES = tests/gen/kernel/test_attn_bounds.c tests/gen/kernel/problem_maker.h
tests_gen_kernel_test_attn_bounds_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_bounds_LDADD = $(kernel_test_ldadd)
TESTS += tests/gen/kernel/test_attn_nonfinite tests/gen/kernel/test_attn_large tests/gen/kernel/test_attn_bounds

# The backward kernels, with the problems of tests/attn.
check_PROGRAMS += tests/gen/kernel/test_attn_bwd
tests_gen_kernel_test_attn_bwd_SOURCES = tests/gen/kernel/test_attn_bwd.c tests/attn/problem.c \
	tests/attn/problem.h tests/attn/problem_run.c
tests_gen_kernel_test_attn_bwd_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_bwd_LDADD = $(kernel_test_ldadd)
check_PROGRAMS += tests/gen/kernel/test_attn_bwd_tiny
tests_gen_kernel_test_attn_bwd_tiny_SOURCES = tests/gen/kernel/test_attn_bwd_tiny.c \
	tests/attn/problem.c tests/attn/problem.h tests/attn/problem_run.c
tests_gen_kernel_test_attn_bwd_tiny_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_bwd_tiny_LDADD = $(kernel_test_ldadd)
check_PROGRAMS += tests/gen/kernel/test_attn_bwd_fused
tests_gen_kernel_test_attn_bwd_fused_SOURCES = tests/gen/kernel/test_attn_bwd_fused.c \
	tests/attn/problem.c tests/attn/problem_run.c
tests_gen_kernel_test_attn_bwd_fused_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_bwd_fused_LDADD = $(kernel_test_ldadd)
TESTS += tests/gen/kernel/test_attn_bwd tests/gen/kernel/test_attn_bwd_tiny \
	tests/gen/kernel/test_attn_bwd_fused
SLOW_TESTS += tests/gen/kernel/test_attn_bwd tests/gen/kernel/test_attn_bwd_fused
check_PROGRAMS += tests/gen/kernel/test_attn_fwd_terms
tests_gen_kernel_test_attn_fwd_terms_SOURCES = tests/gen/kernel/test_attn_fwd_terms.c \
	tests/attn/problem.c tests/attn/problem.h tests/attn/problem_run.c
tests_gen_kernel_test_attn_fwd_terms_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_fwd_terms_LDADD = $(kernel_test_ldadd)
TESTS += tests/gen/kernel/test_attn_fwd_terms
check_PROGRAMS += tests/gen/kernel/test_attn_fwd_pages
tests_gen_kernel_test_attn_fwd_pages_SOURCES = tests/gen/kernel/test_attn_fwd_pages.c tests/gen/kernel/problem_maker.h \
	tests/attn/problem.c tests/attn/problem.h tests/attn/problem_run.c
tests_gen_kernel_test_attn_fwd_pages_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_fwd_pages_LDADD = $(kernel_test_ldadd)
TESTS += tests/gen/kernel/test_attn_fwd_pages
check_PROGRAMS += tests/gen/kernel/test_attn_fwd_padding
tests_gen_kernel_test_attn_fwd_padding_SOURCES = tests/gen/kernel/test_attn_fwd_padding.c \
	tests/gen/kernel/problem_maker.h
tests_gen_kernel_test_attn_fwd_padding_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_fwd_padding_LDADD = $(kernel_test_ldadd)
TESTS += tests/gen/kernel/test_attn_fwd_padding
launch_sources = tests/gen/launches/launch_walk.h tests/gen/launches/launch_counters.h
check_PROGRAMS += tests/gen/launches/attn_fwd_launches tests/gen/launches/attn_bwd_launches
tests_gen_launches_attn_fwd_launches_SOURCES = tests/gen/launches/attn_fwd_launches.c $(launch_sources)
tests_gen_launches_attn_fwd_launches_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_launches_attn_fwd_launches_LDADD = tools/libprogram.la lib/libaothip.la
tests_gen_launches_attn_bwd_launches_SOURCES = tests/gen/launches/attn_bwd_launches.c $(launch_sources)
tests_gen_launches_attn_bwd_launches_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_launches_attn_bwd_launches_LDADD = tools/libprogram.la lib/libaothip.la
check_PROGRAMS += tests/gen/kernel/test_attn_bwd_cost
tests_gen_kernel_test_attn_bwd_cost_SOURCES = tests/gen/kernel/test_attn_bwd_cost.c
tests_gen_kernel_test_attn_bwd_cost_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_attn_bwd_cost_LDADD = tools/libprogram.la lib/libaothip.la
TESTS += tests/gen/kernel/test_attn_bwd_cost
# The order of workgroups: by its header, and by what the kernels do, launched part by part.
check_PROGRAMS += tests/gen/kernel/test_deal
tests_gen_kernel_test_deal_SOURCES = tests/gen/kernel/test_deal.c gen/kernel/deal.h
tests_gen_kernel_test_deal_CPPFLAGS = $(kernel_test_cppflags)
tests_gen_kernel_test_deal_LDADD = tools/libprogram.la lib/libaothip_core.la -lm
TESTS += tests/gen/kernel/test_deal
