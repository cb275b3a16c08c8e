# Tests of lib/: each room through the library's objects, then the API over a fake HIP runtime.
check_LTLIBRARIES += tests/lib/libtestlib.la
tests_lib_libtestlib_la_SOURCES = tests/lib/store/make_image.c tests/lib/store/make_image.h \
	tests/lib/problem/fake_problem.c tests/lib/problem/fake_problem.h \
	tests/lib/problem/rules.h tests/lib/fault.h tests/lib/fault_wrap.h tests/lib/runtime/fake_hip.h
EXTRA_DIST += tests/lib/fault_windows.c
tests_lib_libtestlib_la_CPPFLAGS = $(test_lib_cppflags)
tests_lib_libtestlib_la_LIBADD = lib/libaothip_core.la

test_lib_cppflags = $(AM_CPPFLAGS) $(tests_rooms) $(ZSTD_CFLAGS)
test_lib_programs = \
	tests/lib/test_api \
	tests/lib/select/test_args \
	tests/lib/select/test_args_options \
	tests/lib/store/test_bundle \
	tests/lib/test_fault \
	tests/lib/runtime/test_hip \
	tests/lib/runtime/test_limit \
	tests/lib/launch/test_plan \
	tests/lib/launch/test_plan_bwd \
	tests/lib/select/test_select \
	tests/lib/test_status \
	tests/lib/store/test_store \
	tests/lib/store/test_target \
	tests/lib/store/test_tune \
	tests/lib/problem/test_validate \
	tests/lib/problem/test_validate_fp8 \
	tests/lib/problem/test_validate_options
check_PROGRAMS += $(test_lib_programs)
TESTS += tests/lib/shim/generations.sh $(test_lib_programs)

tests_lib_select_test_args_CPPFLAGS = $(test_lib_cppflags)
tests_lib_select_test_args_LDADD = tests/lib/libtestlib.la
tests_lib_select_test_args_options_CPPFLAGS = $(test_lib_cppflags)
tests_lib_select_test_args_options_LDADD = tests/lib/libtestlib.la -lm
tests_lib_store_test_bundle_CPPFLAGS = $(test_lib_cppflags)
tests_lib_store_test_bundle_LDADD = tests/lib/libtestlib.la
tests_lib_select_test_select_CPPFLAGS = $(test_lib_cppflags)
tests_lib_select_test_select_LDADD = tests/lib/libtestlib.la
tests_lib_test_status_CPPFLAGS = $(test_lib_cppflags)
tests_lib_test_status_LDADD = tests/lib/libtestlib.la
tests_lib_store_test_store_CPPFLAGS = $(test_lib_cppflags)
tests_lib_store_test_store_LDADD = tests/lib/libtestlib.la
tests_lib_store_test_target_CPPFLAGS = $(test_lib_cppflags)
tests_lib_store_test_target_LDADD = tests/lib/libtestlib.la
tests_lib_store_test_tune_CPPFLAGS = $(test_lib_cppflags)
tests_lib_store_test_tune_LDADD = tests/lib/libtestlib.la
tests_lib_problem_test_validate_CPPFLAGS = $(test_lib_cppflags)
tests_lib_problem_test_validate_LDADD = tests/lib/libtestlib.la
tests_lib_problem_test_validate_fp8_CPPFLAGS = $(test_lib_cppflags)
tests_lib_problem_test_validate_fp8_LDADD = tests/lib/libtestlib.la
tests_lib_problem_test_validate_options_CPPFLAGS = $(test_lib_cppflags)
tests_lib_problem_test_validate_options_LDADD = tests/lib/libtestlib.la

# The API over a fake HIP runtime that the library finds in the program itself, with allocations and
# file operations wrapped.
test_lib_api_ldflags = $(AM_LDFLAGS) -export-dynamic \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free \
	-Wl,--wrap=ZSTD_createDCtx,--wrap=ZSTD_freeDCtx \
	-Wl,--wrap=open,--wrap=statx,--wrap=read,--wrap=opendir,--wrap=readdir \
	-Wl,--wrap=mkdir,--wrap=fopen,--wrap=fclose,--wrap=rename
tests_lib_test_api_SOURCES = tests/lib/test_api.c tests/lib/runtime/fake_hip.c tests/lib/fault.c tests/lib/fault_posix.c
tests_lib_test_api_CPPFLAGS = $(test_lib_cppflags)
tests_lib_test_api_LDFLAGS = $(test_lib_api_ldflags)
tests_lib_test_api_LDADD = tests/lib/libtestlib.la
tests_lib_test_fault_SOURCES = tests/lib/test_fault.c tests/lib/runtime/fake_hip.c \
	tests/lib/runtime/fake_hip_tools.c tests/lib/fault.c tests/lib/fault_posix.c
tests_lib_test_fault_CPPFLAGS = $(test_lib_cppflags)
tests_lib_test_fault_LDFLAGS = $(test_lib_api_ldflags)
tests_lib_test_fault_LDADD = tests/lib/libtestlib.la
tests_lib_runtime_test_limit_SOURCES = tests/lib/runtime/test_limit.c tests/lib/runtime/fake_hip.c tests/lib/fault.c tests/lib/fault_posix.c
tests_lib_runtime_test_limit_CPPFLAGS = $(test_lib_cppflags)
tests_lib_runtime_test_limit_LDFLAGS = $(test_lib_api_ldflags)
tests_lib_runtime_test_limit_LDADD = tests/lib/libtestlib.la
tests_lib_launch_test_plan_SOURCES = tests/lib/launch/test_plan.c tests/lib/launch/plan_test.h tests/lib/runtime/fake_hip.c
tests_lib_launch_test_plan_CPPFLAGS = $(test_lib_cppflags)
tests_lib_launch_test_plan_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_lib_launch_test_plan_LDADD = tests/lib/libtestlib.la
tests_lib_launch_test_plan_bwd_SOURCES = tests/lib/launch/test_plan_bwd.c tests/lib/launch/plan_test.h tests/lib/runtime/fake_hip.c
tests_lib_launch_test_plan_bwd_CPPFLAGS = $(test_lib_cppflags)
tests_lib_launch_test_plan_bwd_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_lib_launch_test_plan_bwd_LDADD = tests/lib/libtestlib.la
test_lib_programs += tests/lib/store/test_changed_file
tests_lib_store_test_changed_file_SOURCES = tests/lib/store/test_changed_file.c tests/lib/runtime/fake_hip.c
tests_lib_store_test_changed_file_CPPFLAGS = $(test_lib_cppflags)
tests_lib_store_test_changed_file_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_lib_store_test_changed_file_LDADD = tests/lib/libtestlib.la
test_lib_programs += tests/lib/runtime/test_first_call
tests_lib_runtime_test_first_call_SOURCES = tests/lib/runtime/test_first_call.c tests/lib/runtime/fake_hip.c
tests_lib_runtime_test_first_call_CPPFLAGS = $(test_lib_cppflags)
tests_lib_runtime_test_first_call_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_lib_runtime_test_first_call_LDADD = tests/lib/libtestlib.la

# Finding a runtime: three of them as shared objects.
test_lib_fake_ldflags = $(AM_LDFLAGS) -module -avoid-version -rpath /nonexistent
check_LTLIBRARIES += tests/lib/libfakehip.la tests/lib/libfakehip_old.la \
	tests/lib/libfakehip_lacking.la
tests_lib_libfakehip_la_SOURCES = tests/lib/runtime/fake_hip.c
tests_lib_libfakehip_la_CPPFLAGS = $(test_lib_cppflags)
tests_lib_libfakehip_la_LDFLAGS = $(test_lib_fake_ldflags)
tests_lib_libfakehip_old_la_SOURCES = tests/lib/runtime/fake_hip.c
tests_lib_libfakehip_old_la_CPPFLAGS = $(test_lib_cppflags) -DFAKE_HIP_OLD
tests_lib_libfakehip_old_la_LDFLAGS = $(test_lib_fake_ldflags)
tests_lib_libfakehip_lacking_la_SOURCES = tests/lib/runtime/fake_hip.c
tests_lib_libfakehip_lacking_la_CPPFLAGS = $(test_lib_cppflags) -DFAKE_HIP_NO_LAUNCH
tests_lib_libfakehip_lacking_la_LDFLAGS = $(test_lib_fake_ldflags)
tests_lib_runtime_test_hip_CPPFLAGS = $(test_lib_cppflags) \
	-DFAKE_HIP_NEW='"$(abs_builddir)/tests/lib/.libs/libfakehip.so"' \
	-DFAKE_HIP_BEFORE_5_6='"$(abs_builddir)/tests/lib/.libs/libfakehip_old.so"' \
	-DFAKE_HIP_LACKING='"$(abs_builddir)/tests/lib/.libs/libfakehip_lacking.so"'
tests_lib_runtime_test_hip_LDADD = lib/libaothip_core.la

# The C++ names, compiled as a consumer does and linked with the C library as a shared one, so that
# there is one copy of the C API in the process, whose last error the test reads. (By their files:
# a directory that libtool knew would come first at run time, with the library that has its own.)
test_lib_programs += tests/lib/shim/test_shim
test_lib_abi = $(aotriton_abi)/$(AOTRITON_VERSION)
tests_lib_shim_test_shim_SOURCES = tests/lib/shim/test_shim.cc tests/lib/shim/shim_world.c \
	tests/lib/shim/shim_world.h tests/lib/runtime/fake_hip.c
tests_lib_shim_test_shim_CPPFLAGS = $(test_lib_cppflags) -I$(top_builddir)/include
tests_lib_shim_test_shim_LDFLAGS = $(AM_LDFLAGS) -export-dynamic \
	-Wl,-rpath,$(abs_top_builddir)/$(test_lib_abi):$(abs_top_builddir)/lib/.libs
tests_lib_shim_test_shim_LDADD = $(test_lib_abi)/$(aotriton_library) lib/.libs/libaothip.so \
	tests/lib/libtestlib.la
tests_lib_shim_test_shim_DEPENDENCIES = $(test_lib_abi)/$(aotriton_library) lib/libaothip.la \
	tests/lib/libtestlib.la

# Rules that need no program: exports, headers, folders.
test_lib_scripts = tests/lib/install/cmake.sh tests/lib/install/relocate.sh tests/lib/install/shared_zstd.sh \
	tests/lib/install/exports.sh \
	tests/lib/shim/windows_names.sh tests/lib/runtime/set_user_id.sh
dist_check_SCRIPTS += $(test_lib_scripts) tests/lib/install/headers.sh tests/lib/shim/generations.sh
TESTS += $(test_lib_scripts)
SLOW_TESTS += tests/lib/shim/generations.sh tests/lib/install/headers.sh tests/lib/test_end_to_end
if !SANITIZE
TESTS += tests/lib/install/headers.sh
endif
EXTRA_DIST += tests/lib/lib_test_lib.sh tests/lib/shim/exports_0.8.2.txt tests/lib/shim/exports_0.9.2.txt \
	tests/lib/shim/exports_0.10.0.txt tests/lib/shim/exports_0.11.2.txt tests/lib/shim/exports_0.12.0.txt \
	tests/lib/shim/exports_0.13.0.txt

# make bench: the host path, on images of its own and on the built ones.
EXTRA_PROGRAMS += tests/lib/bench_host
tests_lib_bench_host_SOURCES = tests/lib/bench_host.c tests/lib/bench_shim.cc \
	tests/lib/bench_shim.h tests/lib/runtime/fake_hip.c
tests_lib_bench_host_CPPFLAGS = $(test_lib_cppflags) -I$(top_builddir)/include
tests_lib_bench_host_LDFLAGS = $(AM_LDFLAGS) -export-dynamic \
	-Wl,-rpath,$(abs_top_builddir)/lib/.libs
tests_lib_bench_host_LDADD = lib/.libs/$(aotriton_library) lib/libaothip.la tests/lib/libtestlib.la
tests_lib_bench_host_DEPENDENCIES = lib/.libs/$(aotriton_library) lib/libaothip.la \
	tests/lib/libtestlib.la
bench-host: tests/lib/bench_host$(EXEEXT)
	@echo 'host path, small images:' && tests/lib/bench_host$(EXEEXT)
	@for images in images/aotriton.images; do test ! -d $$images || { \
	    echo 'host path, the built images of gfx942:' && \
	    tests/lib/bench_host$(EXEEXT) $$images gfx942:sramecc+:xnack-; }; done
bench: bench-host
CLEANFILES += tests/lib/bench_host$(EXEEXT)
.PHONY: bench bench-host

# What the C++ names of a release hand on: make tests/lib/abi/0.12.1/test_shim_calls. The files of
# the library are compiled into it, over a C API that only remembers.
shim_calls_sources = tests/lib/shim/test_shim_calls.cc tests/lib/shim/shim_calls_v2.cc \
	tests/lib/shim/shim_calls_v3.cc tests/lib/shim/shim_calls_v3_bwd.cc \
	tests/lib/shim/shim_calls_kept.cc
EXTRA_DIST += $(shim_calls_sources) tests/lib/shim/shim_names.h tests/lib/shim/shim_calls.h tests/lib/shim/shim_calls_v3.h \
	tests/lib/shim/consumer.cc tests/lib/shim/members.cc tests/lib/shim/two_builds.c
check_LTLIBRARIES += tests/lib/libfakeaothip.la
tests_lib_libfakeaothip_la_SOURCES = tests/lib/shim/fake_aothip.c tests/lib/shim/fake_aothip.h
tests_lib_libfakeaothip_la_CPPFLAGS = $(test_lib_cppflags)
tests/lib/abi/%/test_shim_calls: $(shim_calls_sources) tests/lib/shim/shim_names.h tests/lib/shim/shim_calls.h \
		tests/lib/shim/shim_calls_v3.h tests/lib/libfakeaothip.la $(aotriton_inputs)
	$(AM_V_at)$(call aotriton_config,$*,tests/lib/abi/$*/include/aotriton/config.h)
	$(AM_V_GEN)$(call include_all,$(aotriton_sources:lib/%=%) $(shim_calls_sources:tests/%=%)) | \
	$(CXX) -Daotriton_v2_EXPORTS -Itests/lib/abi/$*/include -I$(top_srcdir)/include \
	    $(lib_rooms) $(tests_rooms) $(HIP_CPPFLAGS) $(CPPFLAGS) $(AM_CXXFLAGS) \
	    $(CXXFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -rdynamic -x c++ - -x none -o $@ \
	    tests/lib/.libs/libfakeaothip.a $(LIBS)
clean-abi-tests:
	rm -rf tests/lib/abi
CLEAN_LOCAL += clean-abi-tests

# The built images on the emulator.
test_lib_programs += tests/lib/test_end_to_end
test_lib_built = -DIMAGES='"$(abs_top_builddir)/images/aotriton.images"' \
	-DEMULATOR='"$(abs_top_builddir)/tools/emu/.libs/libhipemu.so"'
tests_lib_test_end_to_end_CPPFLAGS = $(test_lib_cppflags) $(tools_rooms) $(test_lib_built)
tests_lib_test_end_to_end_LDADD = tools/libprogram.la lib/libaothip.la -lm

# Launches with every tensor there is, written down and run again.
test_lib_programs += tests/lib/launch/test_capture
tests_lib_launch_test_capture_CPPFLAGS = $(test_lib_cppflags) $(tools_rooms) $(test_lib_built) \
	-DREPLAY='"$(abs_top_builddir)/tools/aothip-replay"'
tests_lib_launch_test_capture_LDADD = tools/libprogram.la lib/libaothip.la tests/lib/libtestlib.la -lm
tests_lib_launch_test_capture_DEPENDENCIES = tools/libprogram.la lib/libaothip.la \
	tests/lib/libtestlib.la tools/aothip-replay$(EXEEXT)

# The library while streams are captured into graphs.
test_lib_programs += tests/lib/runtime/test_graph
tests_lib_runtime_test_graph_CPPFLAGS = $(test_lib_cppflags) $(tools_rooms) $(test_lib_built)
tests_lib_runtime_test_graph_LDADD = tools/libprogram.la lib/libaothip.la tests/lib/libtestlib.la \
	-lm -ldl

# The handlers of XLA's custom calls, whose files are compiled into it.
test_lib_programs += tests/lib/python/test_xla
tests_lib_python_test_xla_SOURCES = tests/lib/python/test_xla.c $(xla_sources)
tests_lib_python_test_xla_CPPFLAGS = $(test_lib_cppflags) $(tools_rooms) $(test_lib_built) \
	-I$(top_srcdir)/lib/python/xla
tests_lib_python_test_xla_LDADD = tools/libprogram.la lib/libaothip.la -lm

# Which kernel is chosen, over the built images' indexes.
test_lib_programs += tests/lib/select/test_coverage
tests_lib_select_test_coverage_CPPFLAGS = $(test_lib_cppflags) $(test_lib_built)
tests_lib_select_test_coverage_LDADD = tests/lib/libtestlib.la

# The readers under mutation: a fixed number of rounds as a test, and as long as one likes with
# libFuzzer: make fuzz FUZZ_SECONDS=600.
test_lib_programs += tests/lib/store/fuzz_image
tests_lib_store_fuzz_image_SOURCES = tests/lib/store/fuzz_image.c
tests_lib_store_fuzz_image_CPPFLAGS = $(test_lib_cppflags)
tests_lib_store_fuzz_image_LDADD = tests/lib/libtestlib.la
test_lib_programs += tests/lib/problem/fuzz_params
tests_lib_problem_fuzz_params_CPPFLAGS = $(test_lib_cppflags)
tests_lib_problem_fuzz_params_LDADD = tests/lib/libtestlib.la
FUZZ_SECONDS = 60
# libFuzzer of this version is what tools/bootstrap installs.
FUZZ_CC = clang-19
fuzz: tests/lib/store/fuzz_image$(EXEEXT)
	$(MKDIR_P) tests/lib/fuzz_corpus
	tests/lib/store/fuzz_image$(EXEEXT) --corpus tests/lib/fuzz_corpus
	$(FUZZ_CC) -std=gnu11 -g -O1 -DFUZZ_ENGINE -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined \
	    -fno-sanitize-recover=all $(test_lib_cppflags) $(srcdir)/tests/lib/store/fuzz_image.c \
	    $(patsubst %,$(srcdir)/%,$(filter %.c,$(lib_store))) $(srcdir)/lib/status/variable_posix.c \
	    $(srcdir)/lib/status/status_set.c -o tests/lib/fuzz_image_engine $(ZSTD_LIBS)
	tests/lib/fuzz_image_engine -max_total_time=$(FUZZ_SECONDS) -max_len=65536 \
	    tests/lib/fuzz_corpus
clean-fuzz:
	rm -rf tests/lib/fuzz_corpus tests/lib/fuzz_image_engine
CLEAN_LOCAL += clean-fuzz
.PHONY: fuzz

# A consumer linked with a HIP runtime, for which the emulator stands in, and the C++ names.
test_lib_programs += tests/lib/shim/test_drop_in
tests_lib_shim_test_drop_in_SOURCES = tests/lib/shim/test_drop_in.cc tests/lib/shim/drop_in.cc tests/lib/shim/drop_in.h tests/lib/shim/shim_names.h
tests_lib_shim_test_drop_in_CPPFLAGS = -I$(top_builddir)/include -I$(top_srcdir)/include \
	$(tools_rooms) $(tests_rooms) $(HIP_CPPFLAGS) $(test_lib_built)
tests_lib_shim_test_drop_in_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,$(abs_top_builddir)/lib/.libs
tests_lib_shim_test_drop_in_LDADD = -Llib/.libs -laotriton$(AOTRITON_SUFFIX)_v2 tools/emu/libhipemu.la \
	tools/libref.la -lm
tests_lib_shim_test_drop_in_DEPENDENCIES = lib/.libs/$(aotriton_library) tools/emu/libhipemu.la \
	tools/libref.la

# The same for each other release: make tests/lib/abi/0.12.1/test_drop_in.
tests/lib/abi/%/test_drop_in: tests/lib/shim/test_drop_in.cc tests/lib/shim/drop_in.cc tests/lib/shim/drop_in.h tests/lib/shim/shim_names.h \
		tools/libref.la tools/emu/libhipemu.la $(aotriton_abi)/%/$(aotriton_library)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(CXX) -I$(aotriton_abi)/$*/include -I$(top_srcdir)/include $(tools_rooms) $(tests_rooms) \
	    $(HIP_CPPFLAGS) $(test_lib_built) $(CPPFLAGS) $(AM_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) \
	    $(LDFLAGS) $(srcdir)/tests/lib/shim/test_drop_in.cc $(srcdir)/tests/lib/shim/drop_in.cc -o $@ \
	    $(aotriton_abi)/$*/$(aotriton_library) tools/emu/.libs/libhipemu.so tools/.libs/libref.a \
	    '-Wl,-rpath,$(abs_top_builddir)/$(aotriton_abi)/$*:$(abs_top_builddir)/tools/emu/.libs' -lm

# The crate.
dist_check_SCRIPTS += tests/lib/rust.sh
TESTS += tests/lib/rust.sh
EXTRA_DIST += lib/rust/Cargo.toml lib/rust/Cargo.lock lib/rust/README.md lib/rust/build.rs lib/rust/src/lib.rs \
	lib/rust/src/ffi.rs lib/rust/examples/causal.rs lib/rust/tests/device.rs lib/rust/tests/layout.rs
clean-rust:
	rm -rf tests/lib/rust
CLEAN_LOCAL += clean-rust

# The Python module.
dist_check_SCRIPTS += tests/lib/python/python.sh tests/lib/python/torch_wheel.sh
TESTS += tests/lib/python/python.sh tests/lib/python/torch_wheel.sh
# What a call from Python costs the host, with a HIP that does nothing: make host-time PYTHON=PROGRAM
host-time: all tests/tools/libfake_runtime.la
	@command -v '$(PYTHON)' >/dev/null || \
	    { echo 'host-time: there is no $(PYTHON): make check-clients brings it; or name another with torch by PYTHON=' >&2; exit 1; }
	AOTHIP_HIP_LIBRARY=tests/tools/.libs/libfake_runtime.so AOTHIP_IMAGES=images/aotriton.images \
	FAKE_HIP_TARGET='$(firstword $(GPU_ARCHS)):sramecc+:xnack-' AOTHIP_LIBRARY=lib/.libs/libaothip.so.0 \
	    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='$(srcdir)/lib/python' $(PYTHON) '$(srcdir)/tests/lib/python/host_time.py'
PYTHON = clients/bin/python3
# Installs packages, so it is no part of check.
check-clients: all
	srcdir='$(srcdir)' GPU_ARCHS='$(GPU_ARCHS)' $(SHELL) $(srcdir)/tests/lib/python/clients.sh
.PHONY: check-clients host-time
python_pages = lib/python/README.md lib/python/doors/flash-attn.md lib/python/doors/functions.md \
	lib/python/doors/jax.md lib/python/doors/pyaotriton.md lib/python/doors/pytorch.md lib/python/doors/several-cards.md \
	lib/python/doors/transformers.md
EXTRA_DIST += tests/lib/python/clients.sh tests/lib/python/torch_without_cuda.py
EXTRA_DIST += tests/lib/python/checks.py tests/lib/python/host_time.py tests/lib/python/test_distributed.py tests/lib/python/test_quick.py \
	tests/lib/python/test_aothip.py \
	tests/lib/python/test_calls.py tests/lib/python/test_torch.py \
	tests/lib/python/test_torch_operators.py tests/lib/python/test_pytorch_door.py \
	tests/lib/python/test_examples.py tests/lib/python/test_jax.py tests/lib/python/test_pyaotriton.py \
	tests/lib/python/test_diffusers.py tests/lib/python/test_flash_attn.py tests/lib/python/test_transformers.py \
	$(python_pages) lib/python/aothip_autoload.py lib/python/flash_attn_2_cuda.py lib/python/aothip/__init__.py \
	lib/python/aothip/_arrays.py lib/python/aothip/_autograd.py lib/python/aothip/_jagged.py lib/python/aothip/_lib.py \
	lib/python/aothip/_quick.py lib/python/aothip/_torch.py lib/python/aothip/pytorch.py lib/python/aothip/pytorch_lower.py lib/python/aothip/transformers.py lib/python/aothip/jax.py \
	lib/python/aothip/attention.py lib/python/aothip/merge.py lib/python/aothip/flash.py lib/python/aothip/sdpa.py
