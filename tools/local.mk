# The reference, for the tools and for every test that needs an arbiter.
noinst_LTLIBRARIES += tools/libref.la
tools_libref_la_SOURCES = tools/ref.c tools/ref.h tools/ref_bwd.c tools/ref_dtype.c tools/ref_head.c \
	tools/ref_judge.c tools/ref_problem.c tools/ref_problem.h tools/half.h
tools_libref_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
tools_libref_la_LIBADD = -lm

noinst_LTLIBRARIES += tools/libnpy.la
tools_libnpy_la_SOURCES = tools/npy.c tools/npy.h tools/npy_write.c
tools_libnpy_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools

# What the programs share: options, a device, attention on host tensors.
noinst_LTLIBRARIES += tools/libprogram.la
tools_libprogram_la_SOURCES = tools/attn.c tools/attn.h tools/cli.c tools/cli.h \
	tools/device.c tools/device.h
tools_libprogram_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
tools_libprogram_la_LIBADD = tools/libref.la lib/libaothip_hip.la

bin_PROGRAMS += tools/aothip-check tools/aothip-run
dist_man_MANS += tools/aothip-check.1 tools/aothip-run.1

tools_aothip_check_SOURCES = tools/check.c tools/check_cases.c tools/check_cases.h \
	tools/check_env.c tools/check_env.h tools/check_variables.def tools/check_torch.c tools/check_live.c \
	tools/elf_names.c tools/elf_names.h tools/check_print.c tools/check_report.h
tools_aothip_check_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
tools_aothip_check_LDFLAGS = $(program_ldflags)
tools_aothip_check_LDADD = tools/libprogram.la lib/libaothip.la -lm

tools_aothip_run_SOURCES = tools/run.c tools/run.h tools/run_extra.c tools/run_files.c
tools_aothip_run_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
tools_aothip_run_LDFLAGS = $(program_ldflags)
tools_aothip_run_LDADD = tools/libprogram.la tools/libnpy.la lib/libaothip.la -lm

bin_PROGRAMS += tools/aothip-replay
dist_man_MANS += tools/aothip-replay.1

tools_aothip_replay_SOURCES = tools/replay.c tools/replay_read.c tools/replay_read.h
tools_aothip_replay_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools $(JANSSON_CFLAGS)
tools_aothip_replay_LDFLAGS = $(program_ldflags)
tools_aothip_replay_LDADD = tools/libprogram.la lib/libaothip.la $(JANSSON_LIBS) -lm

bin_PROGRAMS += tools/aothip-bench
dist_man_MANS += tools/aothip-bench.1

tools_aothip_bench_SOURCES = tools/bench.c tools/bench_report.c tools/bench_report.h \
	tools/bench_shape.c tools/bench_shape.h
tools_aothip_bench_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools $(JANSSON_CFLAGS)
tools_aothip_bench_LDFLAGS = $(program_ldflags)
tools_aothip_bench_LDADD = tools/libprogram.la lib/libaothip.la $(JANSSON_LIBS) -lm

bin_PROGRAMS += tools/aothip-inspect
dist_man_MANS += tools/aothip-inspect.1

tools_aothip_inspect_SOURCES = tools/inspect.c tools/inspect_count.c tools/inspect_count.h \
	tools/inspect_file.c tools/inspect_file.h tools/cli.c tools/cli.h
tools_aothip_inspect_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir)/tools/emu
tools_aothip_inspect_LDADD = tools/emu/libemu.la lib/libaothip_core.la -lm -lpthread

bin_PROGRAMS += tools/aothip-images
dist_man_MANS += tools/aothip-images.1
tools_aothip_images_SOURCES = tools/images.c tools/images_tree.c tools/images_tree.h \
	tools/cli.c tools/cli.h gen/gen_file.c gen/gen_file.h
tools_aothip_images_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools -I$(top_srcdir) $(JANSSON_CFLAGS)
tools_aothip_images_LDADD = tools/emu/libemu.la lib/libaothip_core.la $(JANSSON_LIBS) -lm -lpthread

# Archives and wheel; ROCM is the release whose headers were used, unless it is given.
EXTRA_DIST += tools/package lib/python/wheel.py lib/therock/README.md lib/therock/CMakeLists.txt \
	lib/therock/BUILD_TOPOLOGY.toml lib/therock/artifact-aothip.toml lib/therock/package.json
packages: all
	ROCM='$(ROCM)'; test -n "$$ROCM" || ROCM=`printf '#include <hip/hip_version.h>\nHIP_VERSION_MAJOR.HIP_VERSION_MINOR\n' | \
	    $(CPP) $(HIP_CPPFLAGS) -P - | tr -d ' \n'`; export ROCM; \
	VERSION='$(PACKAGE_VERSION)' AOTRITON_VERSION='$(AOTRITON_VERSION)' GPU_ARCHS='$(GPU_ARCHS)' \
	    srcdir='$(srcdir)' MAKE='$(MAKE)' PYTHON3='$(PYTHON3)' PACKAGES='$(PACKAGES)' \
	    $(SHELL) $(srcdir)/tools/package
.PHONY: packages

# The static checks of .clang-tidy over all C and C++ of the host; some minutes. Exits 0 when they
# find nothing.
CLANG_TIDY = clang-tidy-19
tidy_flags = -D_GNU_SOURCE -Iinclude -I$(abs_builddir)/include -Ilib -I. -Igen/kernel -Igen -Itools \
	-Itools/emu -DPACKAGE_VERSION='"0"' $(HIP_CPPFLAGS) $(JANSSON_CFLAGS) $(ZSTD_CFLAGS)
tidy: include/aotriton/config.h
	@command -v $(CLANG_TIDY) >/dev/null || { echo 'make tidy: there is no $(CLANG_TIDY); it is in' \
	    'the package clang-tidy-19; or name another with CLANG_TIDY=' >&2; exit 1; }
	cd $(srcdir) && find lib gen tools -name '*.c' | sort | \
	    xargs -P 2 -I FILE $(CLANG_TIDY) --quiet FILE -- -std=gnu11 $(tidy_flags)
	cd $(srcdir) && find lib -name '*.cc' | sort | \
	    xargs -P 2 -I FILE $(CLANG_TIDY) --quiet FILE -- -std=c++17 $(tidy_flags)
.PHONY: tidy
