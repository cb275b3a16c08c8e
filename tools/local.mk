# The reference, for the tools and for every test that needs an arbiter.
noinst_LTLIBRARIES += tools/libref.la
tools_libref_la_SOURCES = tools/ref/ref_fwd.c tools/ref/ref.h tools/ref/ref_bwd.c tools/ref/ref_dtype.c tools/ref/ref_head.c \
	tools/ref/ref_judge.c tools/ref/ref_merge.c tools/ref/ref_problem.c tools/ref/ref_problem.h tools/ref/ref_rows.c tools/ref/ref_rows.h tools/ref/ref_fp8.h tools/ref/half.h
tools_libref_la_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms)
tools_libref_la_LIBADD = -lm

# Files that take the old one's place when they are whole.
noinst_LTLIBRARIES += tools/libfile.la
tools_libfile_la_SOURCES = tools/common/new_file.c tools/common/new_file.h
tools_libfile_la_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms)

noinst_LTLIBRARIES += tools/libnpy.la
tools_libnpy_la_SOURCES = tools/common/npy.c tools/common/npy.h tools/common/npy_write.c
tools_libnpy_la_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms)
tools_libnpy_la_LIBADD = tools/libfile.la

# What the programs share: options, a device, attention on host tensors.
noinst_LTLIBRARIES += tools/libprogram.la
tools_libprogram_la_SOURCES = tools/common/attn.c tools/common/attn.h tools/common/cli.c tools/common/cli.h \
	tools/common/device.c tools/common/device.h tools/common/device_time.c tools/common/device_time.h \
	tools/common/profile.c tools/common/profile.h tools/common/timeline.c tools/common/timeline.h
tools_libprogram_la_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms)
tools_libprogram_la_LIBADD = tools/libref.la tools/libfile.la lib/libaothip_hip.la

if WINDOWS
noinst_LTLIBRARIES += tools/libmingw.la
tools_libmingw_la_SOURCES = tools/mingw/posix_mingw.c tools/mingw/files_mingw.c tools/mingw/posix_mingw.h \
	lib/status/wide_windows.c
tools_libmingw_la_CPPFLAGS = $(AM_CPPFLAGS)
mingw_library = tools/libmingw.la
noinst_LTLIBRARIES += tools/libmain.la
tools_libmain_la_SOURCES = tools/mingw/program_mingw.c
tools_libmain_la_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms)
mingw_main = tools/libmain.la
tools_libprogram_la_LIBADD += tools/libmain.la tools/libmingw.la
check_system = tools/check/environment/driver_windows.c tools/check/environment/python_windows.c \
	tools/check/environment/torch_libraries_windows.c
check_libraries = -lversion
bench_system = tools/bench/own_program_windows.c
images_system = tools/images/tree_lock_windows.c
else
mingw_library =
mingw_main =
check_system = tools/check/environment/driver_posix.c tools/check/environment/python_posix.c \
	tools/check/environment/torch_libraries_posix.c tools/common/elf_names.c
check_libraries =
bench_system = tools/bench/own_program_posix.c
images_system = tools/images/tree_lock_posix.c
endif
EXTRA_DIST += tools/windows tools/mingw/README.md tools/mingw/posix_mingw.c tools/mingw/files_mingw.c tools/mingw/posix_mingw.h \
	tools/mingw/program_mingw.c tools/check/environment/driver_posix.c \
	tools/check/environment/python_posix.c \
	tools/check/environment/torch_libraries_posix.c tools/check/environment/driver_windows.c \
	tools/check/environment/python_windows.c \
	tools/check/environment/torch_libraries_windows.c \
	tools/common/elf_names.c tools/bench/own_program_posix.c tools/bench/own_program_windows.c \
	tools/images/tree_lock_posix.c tools/images/tree_lock_windows.c

bin_PROGRAMS += tools/aothip-check tools/aothip-run
dist_man_MANS += tools/check/aothip-check.1 tools/run/aothip-run.1

tools_aothip_check_SOURCES = tools/check/check.c tools/check/cases.c tools/check/cases.h \
	tools/check/print.c tools/check/result.h tools/check/runtime_abort.c \
	tools/check/runtime_abort.h $(check_environment) \
	$(check_system) tools/common/elf_names.h
check_environment = \
	tools/check/environment/environment.c tools/check/environment/environment.h \
	tools/check/environment/findings.c tools/check/environment/findings.h \
	tools/check/environment/live.c tools/check/environment/live.h \
	tools/check/environment/driver.h tools/check/environment/python.h tools/check/environment/torch_libraries.h \
	tools/check/environment/torch.c tools/check/environment/torch.h \
	tools/check/environment/torch_package.c tools/check/environment/torch_package.h \
	tools/check/environment/variables.def
tools_aothip_check_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) -I$(top_srcdir)/tools/check/environment
tools_aothip_check_LDFLAGS = $(program_ldflags)
tools_aothip_check_LDADD = tools/libprogram.la $(aothip_library) $(check_libraries) -lm

tools_aothip_run_SOURCES = tools/run/run.c tools/run/run_job.h tools/run/run_outputs.c tools/run/run_files.c tools/run/run_verify.c
tools_aothip_run_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms)
tools_aothip_run_LDFLAGS = $(program_ldflags)
tools_aothip_run_LDADD = tools/libprogram.la tools/libnpy.la $(aothip_library) -lm

bin_PROGRAMS += tools/aothip-replay
dist_man_MANS += tools/replay/aothip-replay.1

tools_aothip_replay_SOURCES = tools/replay/replay.c tools/replay/recording.c tools/replay/recording.h
tools_aothip_replay_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(JANSSON_CFLAGS)
tools_aothip_replay_LDFLAGS = $(program_ldflags)
tools_aothip_replay_LDADD = tools/libprogram.la $(aothip_library) $(JANSSON_LIBS) -lm

bin_PROGRAMS += tools/aothip-bench
dist_man_MANS += tools/bench/aothip-bench.1

tools_aothip_bench_SOURCES = tools/bench/bench.c tools/bench/session.c tools/bench/session.h \
	tools/bench/bench_tune.c tools/bench/bench_tune.h \
	tools/bench/shapes/workload.c tools/bench/shapes/workload.h tools/bench/shapes/variants.c tools/bench/shapes/variants.h \
	tools/bench/shapes/shape_list.c tools/bench/shapes/shape_list.h tools/bench/shapes/bench_tensors.c \
	tools/bench/shapes/bench_tensors.h \
	tools/bench/event_times.c tools/bench/event_times.h tools/bench/bench_counters.c tools/bench/bench_counters.h \
	tools/bench/result/prediction.c tools/bench/result/prediction.h tools/bench/result/prediction_read.c tools/bench/result/bench_result.h \
	tools/bench/elsewhere.c tools/bench/elsewhere.h tools/bench/own_program.h $(bench_system) \
	tools/bench/report.c tools/bench/report.h tools/bench/report_machine.c tools/bench/report_machine.h \
	tools/bench/page/page.c tools/bench/page/page.h tools/bench/page/chart.c tools/bench/page/chart.h \
	tools/bench/page/roofline.c tools/bench/page/roofline.h tools/bench/page/beside.c tools/bench/page/beside.h \
	tools/bench/page/points.c tools/bench/page/points.h \
	tools/bench/measure/measure.c tools/bench/measure/measure.h tools/bench/measure/measuring.h \
	tools/bench/measure/measure_unit.c tools/bench/measure/measure_chip.c tools/bench/measure/probe.c \
	tools/bench/measure/probe.h tools/bench/measure/measure_code.h
nodist_tools_aothip_bench_SOURCES = tools/bench/measure/measure_code.c
tools_aothip_bench_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) -I$(top_srcdir)/tools/bench/shapes \
	-I$(top_srcdir)/tools/bench/result -I$(top_srcdir)/tools/bench/page \
	-I$(top_srcdir)/tools/bench/measure $(JANSSON_CFLAGS)
tools_aothip_bench_LDFLAGS = $(program_ldflags)
tools_aothip_bench_LDADD = tools/libprogram.la $(aothip_library) $(JANSSON_LIBS) -lm

# The kernels of --measure, for each GPU that may be there, whatever there are images for.
measure_source = $(srcdir)/tools/bench/measure/measure_kernels.s
tools/bench/measure/measure_code.c: $(measure_source) $(srcdir)/tools/bench/measure/embed.sh
	$(AM_V_GEN)$(MKDIR_P) tools/bench/measure && $(SHELL) $(srcdir)/tools/bench/measure/embed.sh \
	    '$(DEVICE_CLANG)' $(measure_source) gfx90a gfx942 gfx950 gfx1100 gfx1101 gfx1102 gfx1103 \
	    gfx1150 gfx1151 gfx1152 gfx1153 gfx1200 gfx1201 >$@.tmp && mv $@.tmp $@
CLEANFILES += tools/bench/measure/measure_code.c
EXTRA_DIST += tools/bench/measure/measure_kernels.s tools/bench/measure/embed.sh

# The README's picture, drawn from what the clock said when the numbers were made.
noinst_PROGRAMS += tools/bench-picture
tools_bench_picture_SOURCES = tools/bench/page/picture.c tools/bench/page/points.c tools/bench/page/points.h \
	tools/bench/page/chart.c tools/bench/page/chart.h tools/bench/page/beside.c tools/bench/page/beside.h \
	tools/bench/result/prediction.c tools/bench/result/prediction.h tools/bench/result/prediction_read.c \
	tools/bench/result/bench_result.h tools/bench/shapes/workload.c tools/bench/shapes/workload.h
tools_bench_picture_CPPFLAGS = $(tools_aothip_bench_CPPFLAGS)
tools_bench_picture_LDADD = tools/libprogram.la lib/libaothip.la $(JANSSON_LIBS) -lm

EXTRA_DIST += tools/bench/page/mi300x.json tools/bench/page/mi300x.svg
update-picture: all tools/bench-picture$(EXEEXT)
	@for seq in 512 1024 2048 4096 8192 16384; do for mask in none tl; do \
	    echo batch=`expr 16384 / $$seq`,heads=16,seq=$$seq,dim=128,dtype=bf16,mask=$$mask; done; done | \
	    AOTHIP_IMAGES=images/$(images_store) tools/aothip-bench$(EXEEXT) --emulate gfx942 --json --both --file - >picture.tmp
	mv picture.tmp $(srcdir)/tools/bench/page/mi300x.json
	tools/bench-picture$(EXEEXT) $(srcdir)/tools/bench/page/mi300x.json >picture.tmp
	mv picture.tmp $(srcdir)/tools/bench/page/mi300x.svg
.PHONY: update-picture

bin_PROGRAMS += tools/aothip-inspect
dist_man_MANS += tools/inspect/aothip-inspect.1

tools_aothip_inspect_SOURCES = tools/inspect/inspect.c tools/inspect/key_loop.c tools/inspect/key_loop.h \
	tools/inspect/inspect_file.c tools/inspect/inspect_file.h tools/common/cli.c tools/common/cli.h
tools_aothip_inspect_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(emu_rooms)
tools_aothip_inspect_LDADD = $(mingw_main) tools/emu/libemu.la lib/libaothip_core.la $(mingw_library) -lm -lpthread

bin_PROGRAMS += tools/aothip-images
dist_man_MANS += tools/images/aothip-images.1
tools_aothip_images_SOURCES = tools/images/images.c tools/images/tree.c tools/images/tree.h \
	tools/images/tree_lock.h $(images_system) \
	tools/common/cli.c tools/common/cli.h gen/gen_file.c gen/gen_file.h
tools_aothip_images_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(emu_rooms) -I$(top_srcdir)/gen $(JANSSON_CFLAGS)
tools_aothip_images_LDADD = $(mingw_main) tools/emu/libemu.la lib/libaothip_core.la $(mingw_library) $(JANSSON_LIBS) -lm -lpthread

dist_bin_SCRIPTS = tools/torch/aothip-torch
dist_man_MANS += tools/torch/aothip-torch.1

# For Windows, in a build that was configured with --host=x86_64-w64-mingw32 (tools/windows does so):
# two libraries and the programs in windows/bin; for C, headers, the import libraries of mingw-w64 and
# of Microsoft's linker, and the CMake package beside that. They contain all that Windows itself does
# not bring.
if WINDOWS
.DEFAULT_GOAL = windows
windows_programs = aothip-check aothip-run aothip-bench aothip-replay aothip-images aothip-inspect
windows_link = $(CC) -shared $(CFLAGS) $(LDFLAGS) -static-libgcc
windows_cmake = windows/lib/cmake/aothip/aothip-config.cmake windows/lib/cmake/aothip/aothip-config-version.cmake
windows: windows/bin/hipemu.dll windows/as-runtime/amdhip64_7.dll $(windows_programs:%=windows/bin/%.exe) \
		windows/lib/aothip.lib $(windows_cmake) windows/include/aothip/aothip.h
windows/lib/cmake/aothip/%: lib/cmake/%
	$(AM_V_at)$(MKDIR_P) $(@D) && cp $< $@
windows/include/aothip/aothip.h: include/aothip/aothip.h include/aothip/aothip.hpp
	$(AM_V_at)$(MKDIR_P) $(@D) && cp $(srcdir)/include/aothip/aothip.hpp $(@D) && cp $< $@
# made by the linker of the device code, which is Microsoft's too
windows/lib/aothip.lib: windows/bin/aothip.dll
	$(AM_V_GEN)$(DEVICE_LLD:%ld.lld=%lld-link) /lib /def:windows/aothip.def /machine:x64 /out:$@
windows/bin/%.exe: tools/%.exe
	$(AM_V_at)$(MKDIR_P) windows/bin && from=tools/.libs/$*.exe && \
	    { test -f $$from || from=$<; } && $(STRIP) -o $@ $$from
windows/bin/aothip.dll: lib/libaothip_core.la lib/aothip.map
	$(AM_V_at)$(MKDIR_P) windows/bin windows/lib
	$(AM_V_at){ echo LIBRARY aothip.dll; echo EXPORTS; sed -n 's/^\t\(aothip_[a-z_]*\);$$/\1/p' $(srcdir)/lib/aothip.map; } >windows/aothip.def
	$(AM_V_CCLD)$(windows_link) -s -o $@ windows/aothip.def -Wl,--whole-archive lib/.libs/libaothip_core.a \
		-Wl,--no-whole-archive $(ZSTD_LIBS) -Wl,--out-implib,windows/lib/libaothip.dll.a
windows/lib/libaothip.dll.a: windows/bin/aothip.dll
windows/bin/hipemu.dll: tools/emu/libemu.la tools/emu/hipemu.map
	$(AM_V_at)$(MKDIR_P) windows/bin
	$(AM_V_at){ echo EXPORTS; $(NM) -g --defined-only tools/emu/.libs/libemu.a | \
	    sed -n 's/^.* T \(\(__\)\{0,1\}hip[A-Za-z0-9_]*\|emu_instructions\|emu_set_strict\|emu_last_.*\|emu_time_.*\)$$/\1/p' | \
	    sort -u; } >windows/hipemu.def
	$(AM_V_CCLD)$(windows_link) -s -o $@ windows/hipemu.def -Wl,--whole-archive tools/emu/.libs/libemu.a \
		-Wl,--no-whole-archive -lpthread
# By the runtime's own name, for programs that load that.
windows/as-runtime/amdhip64_7.dll: windows/bin/hipemu.dll
	$(AM_V_at)$(MKDIR_P) windows/as-runtime && cp windows/bin/hipemu.dll $@
endif
.PHONY: windows

# Archives and wheel; ROCM is the release whose headers were used, unless it is given.
EXTRA_DIST += tools/package lib/python/wheel.py lib/therock/README.md lib/therock/CMakeLists.txt \
	lib/therock/BUILD_TOPOLOGY.toml lib/therock/artifact-aothip.toml lib/therock/package.json lib/therock/artifact_subprojects.json
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
tidy_flags = -D_GNU_SOURCE -Iinclude -I$(abs_builddir)/include -Igen/kernel -Igen \
	`find lib tools -type d | sed 's/^/-I/'` -DPACKAGE_VERSION='"0"' $(HIP_CPPFLAGS) $(JANSSON_CFLAGS) $(ZSTD_CFLAGS) \
	$(PYTHON_CPPFLAGS)
# What is for Windows, and for Python where its headers are missing, cannot be read here.
tidy_not = -e _windows.c -e ^tools/mingw/ $(if $(PYTHON_CPPFLAGS),,-e ^lib/python/)
tidy: include/aotriton/config.h
	@command -v $(CLANG_TIDY) >/dev/null || { echo 'make tidy: there is no $(CLANG_TIDY); it is in' \
	    'the package clang-tidy-19; or name another with CLANG_TIDY=' >&2; exit 1; }
	cd $(srcdir) && find lib gen tools -name '*.c' | grep -v $(tidy_not) | sort | \
	    xargs -P 2 -I FILE $(CLANG_TIDY) --quiet FILE -- -std=gnu11 $(tidy_flags)
	cd $(srcdir) && find lib -name '*.cc' | grep -v $(tidy_not) | sort | \
	    xargs -P 2 -I FILE $(CLANG_TIDY) --quiet FILE -- -std=c++17 $(tidy_flags)
.PHONY: tidy
