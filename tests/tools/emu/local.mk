# The emulator's own tests.
emu_test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/emu -I$(top_srcdir)/tests

check_PROGRAMS += tests/tools/emu/test_isa tests/tools/emu/test_decode_llvm
tests_tools_emu_test_isa_SOURCES = tests/tools/emu/test_isa.c
tests_tools_emu_test_isa_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_test_isa_LDADD = tools/emu/libemu.la
tests_tools_emu_test_decode_llvm_SOURCES = tests/tools/emu/test_decode_llvm.c
tests_tools_emu_test_decode_llvm_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_test_decode_llvm_LDADD = tools/emu/libemu.la -ldl
TESTS += tests/tools/emu/test_isa

# Runs test_decode_llvm over random words and over the code objects of this build.
dist_check_SCRIPTS += tests/tools/emu/decode_llvm.sh
TESTS += tests/tools/emu/decode_llvm.sh

# Writes the page of what the emulator can do into the source tree.
.PHONY: coverage
coverage: tests/tools/emu/test_isa
	tests/tools/emu/test_isa --coverage >$(srcdir)/tools/emu/COVERAGE.md.new
	mv -f $(srcdir)/tools/emu/COVERAGE.md.new $(srcdir)/tools/emu/COVERAGE.md
EXTRA_DIST += tools/emu/COVERAGE.md

check_PROGRAMS += tests/tools/emu/test_matrix_units tests/tools/emu/test_hip_surface
tests_tools_emu_test_matrix_units_SOURCES = tests/tools/emu/test_matrix_units.c
tests_tools_emu_test_matrix_units_CPPFLAGS = $(emu_test_cppflags) -I$(top_srcdir)
tests_tools_emu_test_matrix_units_LDADD = tools/emu/libemu.la -lm
tests_tools_emu_test_hip_surface_SOURCES = tests/tools/emu/test_hip_surface.c
tests_tools_emu_test_hip_surface_CPPFLAGS = $(emu_test_cppflags) -I$(top_srcdir)
tests_tools_emu_test_hip_surface_LDADD = tools/emu/libhipemu.la -lpthread
EXTRA_tests_tools_emu_test_hip_surface_DEPENDENCIES = $(emu_test_objects)
TESTS += tests/tools/emu/test_matrix_units tests/tools/emu/test_hip_surface

# Small kernels of the tests' own, for each GPU family; found from the top of the build tree.
emu_test_objects = \
	tests/tools/emu/emu_kernels.gfx90a.co tests/tools/emu/emu_kernels.gfx942.co \
	tests/tools/emu/emu_kernels.gfx1100.co tests/tools/emu/emu_kernels.gfx1151.co
EXTRA_DIST += tests/tools/emu/emu_kernels.hip
CLEANFILES += $(emu_test_objects)
$(emu_test_objects): tests/tools/emu/emu_kernels.hip
	$(AM_V_GEN)$(MKDIR_P) tests/tools/emu && \
	gpu=$@ && gpu=$${gpu%.co} && gpu=$${gpu##*.} && \
	$(DEVICE_CLANG) -x hip --offload-arch=$$gpu --offload-device-only --no-gpu-bundle-output \
		-nogpuinc -nogpulib -O2 -gline-tables-only -o $@ \
		$(top_srcdir)/tests/tools/emu/emu_kernels.hip

# The execution core and strict mode, on kernels assembled from text.
check_PROGRAMS += tests/tools/emu/test_exec tests/tools/emu/test_exec_strict
tests_tools_emu_test_exec_SOURCES = tests/tools/emu/test_exec.c tests/tools/emu/test_exec_asm.h
tests_tools_emu_test_exec_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_tools_emu_test_exec_LDADD = tools/emu/libemu.la
tests_tools_emu_test_exec_strict_SOURCES = tests/tools/emu/test_exec_strict.c \
	tests/tools/emu/test_exec_asm.h
tests_tools_emu_test_exec_strict_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_tools_emu_test_exec_strict_LDADD = tools/emu/libemu.la
TESTS += tests/tools/emu/test_exec tests/tools/emu/test_exec_strict

check_PROGRAMS += tests/tools/emu/test_mem tests/tools/emu/test_elf
tests_tools_emu_test_mem_SOURCES = tests/tools/emu/test_mem.c
tests_tools_emu_test_mem_CPPFLAGS = $(emu_test_cppflags) -I$(top_srcdir)
tests_tools_emu_test_mem_LDADD = tools/emu/libemu.la
tests_tools_emu_test_elf_SOURCES = tests/tools/emu/test_elf.c
tests_tools_emu_test_elf_CPPFLAGS = $(emu_test_cppflags) -I$(top_srcdir)
tests_tools_emu_test_elf_LDADD = tools/emu/libemu.la
EXTRA_tests_tools_emu_test_elf_DEPENDENCIES = $(emu_test_objects)
TESTS += tests/tools/emu/test_mem tests/tools/emu/test_elf
