# The emulator's own tests.
emu_test_cppflags = $(AM_CPPFLAGS) $(emu_rooms) $(tests_rooms) $(emu_tests_rooms)

check_PROGRAMS += tests/tools/emu/isa/test_isa tests/tools/emu/isa/test_decode_llvm
tests_tools_emu_isa_test_isa_SOURCES = tests/tools/emu/isa/test_isa.c
tests_tools_emu_isa_test_isa_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_isa_test_isa_LDADD = tools/emu/libemu.la
tests_tools_emu_isa_test_decode_llvm_SOURCES = tests/tools/emu/isa/test_decode_llvm.c \
	tests/tools/emu/isa/llvm_judge.h tests/tools/emu/isa/random_words.h
tests_tools_emu_isa_test_decode_llvm_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_isa_test_decode_llvm_LDADD = tools/emu/libemu.la -ldl
TESTS += tests/tools/emu/isa/test_isa

# Runs test_decode_llvm over random words and over the code objects of this build.
dist_check_SCRIPTS += tests/tools/emu/isa/decode_llvm.sh
TESTS += tests/tools/emu/isa/decode_llvm.sh
SLOW_TESTS += tests/tools/emu/isa/decode_llvm.sh

# Writes the page of what the emulator can do into the source tree.
.PHONY: coverage
coverage: tests/tools/emu/isa/test_isa
	tests/tools/emu/isa/test_isa --coverage >$(srcdir)/tools/emu/isa/COVERAGE.md.new
	mv -f $(srcdir)/tools/emu/isa/COVERAGE.md.new $(srcdir)/tools/emu/isa/COVERAGE.md
EXTRA_DIST += tools/emu/isa/COVERAGE.md

hip_tests = tests/tools/emu/hip/test_hip_surface tests/tools/emu/hip/test_hip_streams \
	tests/tools/emu/hip/test_hip_capture tests/tools/emu/hip/test_hip_siblings
check_PROGRAMS += tests/tools/emu/matrix/test_matrix_cut tests/tools/emu/matrix/test_matrix_units \
	$(hip_tests)
tests_tools_emu_matrix_test_matrix_cut_SOURCES = tests/tools/emu/matrix/test_matrix_cut.c
tests_tools_emu_matrix_test_matrix_cut_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_matrix_test_matrix_cut_LDADD = tools/emu/libemu.la -lm
tests_tools_emu_matrix_test_matrix_units_SOURCES = tests/tools/emu/matrix/test_matrix_units.c
tests_tools_emu_matrix_test_matrix_units_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_matrix_test_matrix_units_LDADD = tools/emu/libemu.la -lm
tests_tools_emu_hip_test_hip_surface_SOURCES = tests/tools/emu/hip/test_hip_surface.c tests/tools/emu/hip/test_hip_calls.h
# Older compilers leave out waits of gfx12, which strict mode finds.
tests_tools_emu_hip_test_hip_surface_CPPFLAGS = $(emu_test_cppflags) -DGPUS_COMPILED='"$(GPUS_COMPILED) "'
tests_tools_emu_hip_test_hip_surface_LDADD = tools/emu/libhipemu.la
EXTRA_tests_tools_emu_hip_test_hip_surface_DEPENDENCIES = $(emu_test_objects)
tests_tools_emu_hip_test_hip_siblings_SOURCES = tests/tools/emu/hip/test_hip_siblings.c tests/tools/emu/hip/test_hip_calls.h
tests_tools_emu_hip_test_hip_siblings_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_hip_test_hip_siblings_LDADD = tools/emu/libhipemu.la
EXTRA_tests_tools_emu_hip_test_hip_siblings_DEPENDENCIES = $(emu_test_objects)
tests_tools_emu_hip_test_hip_streams_SOURCES = tests/tools/emu/hip/test_hip_streams.c tests/tools/emu/hip/test_hip_calls.h
tests_tools_emu_hip_test_hip_streams_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_hip_test_hip_streams_LDADD = tools/emu/libhipemu.la -lpthread
EXTRA_tests_tools_emu_hip_test_hip_streams_DEPENDENCIES = $(emu_test_objects)
tests_tools_emu_hip_test_hip_capture_SOURCES = tests/tools/emu/hip/test_hip_capture.c tests/tools/emu/hip/test_hip_calls.h
tests_tools_emu_hip_test_hip_capture_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_hip_test_hip_capture_LDADD = tools/emu/libhipemu.la -lpthread
EXTRA_tests_tools_emu_hip_test_hip_capture_DEPENDENCIES = $(emu_test_objects)
TESTS += tests/tools/emu/matrix/test_matrix_cut tests/tools/emu/matrix/test_matrix_units $(hip_tests)

# Small kernels of the tests' own, for each GPU family; found from the top of the build tree.
emu_test_objects = \
	tests/tools/emu/hip/emu_kernels.gfx90a.co tests/tools/emu/hip/emu_kernels.gfx942.co \
	tests/tools/emu/hip/emu_kernels.gfx1100.co tests/tools/emu/hip/emu_kernels.gfx1151.co \
	tests/tools/emu/hip/emu_kernels.gfx1201.co
EXTRA_DIST += tests/tools/emu/hip/emu_kernels.hip
CLEANFILES += $(emu_test_objects)
$(emu_test_objects): tests/tools/emu/hip/emu_kernels.hip
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	gpu=$@ && gpu=$${gpu%.co} && gpu=$${gpu##*.} && \
	$(DEVICE_CLANG) -x hip --offload-arch=$$gpu --offload-device-only --no-gpu-bundle-output \
		-nogpuinc -nogpulib -O2 -gline-tables-only -o $@ \
		$(top_srcdir)/tests/tools/emu/hip/emu_kernels.hip

# AMD's own runtime on the driver's stand-in; its release 5.2 reads objects of version 4.
kfd_objects = tests/tools/emu/kfd/kernels_v4.gfx90a.co tests/tools/emu/kfd/kernels_v4.gfx942.co
CLEANFILES += $(kfd_objects) tests/tools/emu/kfd/hip_client tests/tools/emu/kfd/hip_client.log
# The same under the releases that tools/rocm unpacked: programs that take any HIP library.
check_PROGRAMS += tests/tools/emu/kfd/same_calls tests/tools/emu/kfd/stream_claims
tests_tools_emu_kfd_same_calls_SOURCES = tests/tools/emu/kfd/same_calls.c tests/tools/emu/kfd/loaded_hip.h
tests_tools_emu_kfd_same_calls_LDADD = -ldl
tests_tools_emu_kfd_stream_claims_SOURCES = tests/tools/emu/kfd/stream_claims.c tests/tools/emu/kfd/loaded_hip.h
tests_tools_emu_kfd_stream_claims_LDADD = lib/libaothip.la -ldl -lpthread
tests_tools_emu_kfd_same_calls_CPPFLAGS = $(AM_CPPFLAGS) $(tests_rooms)
tests_tools_emu_kfd_stream_claims_CPPFLAGS = $(AM_CPPFLAGS) $(tests_rooms)
dist_check_SCRIPTS += tests/tools/emu/kfd/rocm_releases.sh
EXTRA_DIST += tests/tools/emu/kfd/same_calls.txt tests/tools/emu/kfd/kfd_test_lib.sh \
	tests/tools/emu/kfd/damaged_objects.c tests/tools/emu/kfd/torch_on_rocm.py
TESTS += tests/tools/emu/kfd/rocm_releases.sh
tests/tools/emu/kfd/rocm_releases.log: tools/emu/libhipemu-kfd.la $(kfd_objects) \
	tests/tools/emu/kfd/same_calls tests/tools/emu/kfd/stream_claims tests/tools/common/npy_tool
$(kfd_objects): tests/tools/emu/hip/emu_kernels.hip
	$(AM_V_GEN)$(MKDIR_P) $(@D) && gpu=$@ && gpu=$${gpu%.co} && gpu=$${gpu##*.} && \
	$(DEVICE_CLANG) -x hip --offload-arch=$$gpu --offload-device-only --no-gpu-bundle-output \
		-nogpuinc -nogpulib -mcode-object-version=4 -O2 -o $@ \
		$(top_srcdir)/tests/tools/emu/hip/emu_kernels.hip
# The driver's stand-in without a runtime.
check_PROGRAMS += tests/tools/emu/kfd/driver_requests
TESTS += tests/tools/emu/kfd/driver_requests
tests_tools_emu_kfd_driver_requests_SOURCES = tests/tools/emu/kfd/driver_requests.c
tests_tools_emu_kfd_driver_requests_CPPFLAGS = $(AM_CPPFLAGS) $(posix) -I$(emu)/kfd $(tests_rooms)
tests_tools_emu_kfd_driver_requests_LDADD = -ldl
EXTRA_tests_tools_emu_kfd_driver_requests_DEPENDENCIES = tools/emu/libhipemu-kfd.la
# Where there is no such runtime the program is not made, and the test says so.
tests/tools/emu/kfd/hip_client: tests/tools/emu/kfd/hip_client.c tests/tap.h
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(CC) $(DEFS) $(CPPFLAGS) $(AM_CPPFLAGS) $(tests_rooms) \
		$(AM_CFLAGS) $(CFLAGS) -D__HIP_PLATFORM_AMD__ -o $@ \
		$(top_srcdir)/tests/tools/emu/kfd/hip_client.c $(SANITIZE_LDFLAGS) -l:libamdhip64.so.5 2>$@.log || \
		rm -f $@
dist_check_SCRIPTS += tests/tools/emu/kfd/rocm_runtime.sh
EXTRA_DIST += tests/tools/emu/kfd/hip_client.c
TESTS += tests/tools/emu/kfd/rocm_runtime.sh
tests/tools/emu/kfd/rocm_runtime.log: tools/emu/libhipemu-kfd.la $(kfd_objects) \
	tests/tools/emu/kfd/hip_client

# The execution core, strict mode and counters, on kernels assembled from text.
exec_tests = tests/tools/emu/exec/test_exec tests/tools/emu/strict/test_strict \
	tests/tools/emu/exec/test_exec_dense tests/tools/emu/exec/test_exec_start \
	tests/tools/emu/exec/test_exec_round tests/tools/emu/exec/test_exec_stops \
	tests/tools/emu/exec/test_exec_adversarial tests/tools/emu/exec/test_exec_registers \
	tests/tools/emu/strict/test_strict_waits tests/tools/emu/hip/test_counters \
	tests/tools/emu/strict/test_gfx950 tests/tools/emu/strict/test_gfx12
check_PROGRAMS += $(exec_tests)
TESTS += $(exec_tests)
tests_tools_emu_exec_test_exec_SOURCES = tests/tools/emu/exec/test_exec.c tests/tools/emu/exec/test_exec_asm.h
tests_tools_emu_exec_test_exec_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_exec_test_exec_LDADD = tools/emu/libemu.la
tests_tools_emu_strict_test_strict_SOURCES = tests/tools/emu/strict/test_strict.c \
	tests/tools/emu/exec/test_exec_asm.h
tests_tools_emu_strict_test_strict_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_strict_test_strict_LDADD = tools/emu/libemu.la
tests_tools_emu_exec_test_exec_dense_SOURCES = tests/tools/emu/exec/test_exec_dense.c \
	tests/tools/emu/exec/test_exec_asm.h tests/tools/emu/exec/test_exec_programs.h
tests_tools_emu_exec_test_exec_dense_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_exec_test_exec_dense_LDADD = tools/emu/libemu.la
tests_tools_emu_exec_test_exec_adversarial_SOURCES = tests/tools/emu/exec/test_exec_adversarial.c \
	tests/tools/emu/exec/test_exec_asm.h
tests_tools_emu_exec_test_exec_adversarial_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_exec_test_exec_adversarial_LDADD = tools/emu/libemu.la -lm
tests_tools_emu_exec_test_exec_start_SOURCES = tests/tools/emu/exec/test_exec_start.c \
	tests/tools/emu/exec/test_exec_asm.h
tests_tools_emu_exec_test_exec_start_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_exec_test_exec_start_LDADD = tools/emu/libemu.la
tests_tools_emu_exec_test_exec_round_SOURCES = tests/tools/emu/exec/test_exec_round.c \
	tests/tools/emu/exec/test_exec_asm.h
tests_tools_emu_exec_test_exec_round_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_exec_test_exec_round_LDADD = tools/emu/libemu.la
tests_tools_emu_exec_test_exec_stops_SOURCES = tests/tools/emu/exec/test_exec_stops.c \
	tests/tools/emu/exec/test_exec_asm.h
tests_tools_emu_exec_test_exec_stops_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_exec_test_exec_stops_LDADD = tools/emu/libemu.la
tests_tools_emu_exec_test_exec_registers_SOURCES = tests/tools/emu/exec/test_exec_registers.c \
	tests/tools/emu/exec/test_exec_asm.h tests/tools/emu/exec/test_exec_programs.h
tests_tools_emu_exec_test_exec_registers_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_exec_test_exec_registers_LDADD = tools/emu/libemu.la
tests_tools_emu_strict_test_gfx950_SOURCES = tests/tools/emu/strict/test_gfx950.c \
	tests/tools/emu/exec/test_exec_asm.h
tests_tools_emu_strict_test_gfx950_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_strict_test_gfx950_LDADD = tools/emu/libemu.la
tests_tools_emu_strict_test_gfx12_SOURCES = tests/tools/emu/strict/test_gfx12.c \
	tests/tools/emu/exec/test_exec_asm.h
tests_tools_emu_strict_test_gfx12_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_strict_test_gfx12_LDADD = tools/emu/libemu.la
tests_tools_emu_strict_test_strict_waits_SOURCES = tests/tools/emu/strict/test_strict_waits.c \
	tests/tools/emu/exec/test_exec_asm.h
tests_tools_emu_strict_test_strict_waits_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_strict_test_strict_waits_LDADD = tools/emu/libemu.la
tests_tools_emu_hip_test_counters_SOURCES = tests/tools/emu/hip/test_counters.c \
	tests/tools/emu/exec/test_exec_asm.h
tests_tools_emu_hip_test_counters_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_hip_test_counters_LDADD = tools/emu/libemu.la

# Looks through the code objects of this build.
check_PROGRAMS += tests/tools/emu/strict/test_kernel_waits
tests_tools_emu_strict_test_kernel_waits_SOURCES = tests/tools/emu/strict/test_kernel_waits.c
tests_tools_emu_strict_test_kernel_waits_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_strict_test_kernel_waits_LDADD = tools/emu/libemu.la
dist_check_SCRIPTS += tests/tools/emu/strict/kernel_waits.sh
TESTS += tests/tools/emu/strict/kernel_waits.sh

# The rows of the execution core at each level of the host's vectors.
check_PROGRAMS += tests/tools/emu/exec/test_exec_levels
TESTS += tests/tools/emu/exec/test_exec_levels
tests_tools_emu_exec_test_exec_levels_SOURCES = tests/tools/emu/exec/test_exec_levels.c
tests_tools_emu_exec_test_exec_levels_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_exec_test_exec_levels_LDADD = tools/emu/libemu.la -lm

check_PROGRAMS += tests/tools/emu/memory/test_memory_map tests/tools/emu/object/test_code_object
tests_tools_emu_memory_test_memory_map_SOURCES = tests/tools/emu/memory/test_memory_map.c
tests_tools_emu_memory_test_memory_map_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_memory_test_memory_map_LDADD = tools/emu/libemu.la
tests_tools_emu_object_test_code_object_SOURCES = tests/tools/emu/object/test_code_object.c
tests_tools_emu_object_test_code_object_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_object_test_code_object_LDADD = tools/emu/libemu.la
EXTRA_tests_tools_emu_object_test_code_object_DEPENDENCIES = $(emu_test_objects)
TESTS += tests/tools/emu/memory/test_memory_map tests/tools/emu/object/test_code_object

# Kernels that Triton compiles; skipped where the Python of TRITON_PYTHON cannot import it.
check_PROGRAMS += tests/tools/emu/exec/test_triton
tests_tools_emu_exec_test_triton_SOURCES = tests/tools/emu/exec/test_triton.c
tests_tools_emu_exec_test_triton_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_exec_test_triton_LDADD = tools/emu/libhipemu.la -lm
EXTRA_DIST += tests/tools/emu/exec/triton_kernels.py
TESTS += tests/tools/emu/exec/test_triton

# Semantics: a second implementation from the manuals (oracle*), with exact arithmetic (softfloat*), against
# single-instruction kernels run on the emulator. llvm-mc and ld.lld of version 19 assemble them; LLVM_MC and
# LD_LLD name others.
check_LTLIBRARIES += tests/tools/emu/liboracle.la
tests_tools_emu_liboracle_la_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_liboracle_la_LIBADD = -lm
tests_tools_emu_liboracle_la_SOURCES = \
	tests/tools/emu/oracle/oracle.h \
	tests/tools/emu/oracle/oracle_compare.c tests/tools/emu/oracle/oracle_lanes.c \
	tests/tools/emu/oracle/oracle_matrix.c tests/tools/emu/oracle/oracle_matrix.h \
	tests/tools/emu/oracle/oracle_memory.c tests/tools/emu/oracle/oracle_memory.h \
	tests/tools/emu/oracle/oracle_texel.c tests/tools/emu/oracle/oracle_texel.h \
	tests/tools/emu/oracle/oracle_salu.c tests/tools/emu/oracle/oracle_salu.h tests/tools/emu/oracle/oracle_salu.def \
	tests/tools/emu/oracle/oracle_valu.c tests/tools/emu/oracle/oracle_valu.def tests/tools/emu/oracle/oracle_valu.h \
	tests/tools/emu/oracle/oracle_valu_arith.h tests/tools/emu/oracle/oracle_valu_convert.h \
	tests/tools/emu/oracle/oracle_valu_dot.h tests/tools/emu/oracle/oracle_valu_int.h \
	tests/tools/emu/oracle/oracle_valu_trans.h \
	tests/tools/emu/oracle/oracle_wave.c \
	tests/tools/emu/softfloat/softfloat.c tests/tools/emu/softfloat/softfloat.h \
	tests/tools/emu/softfloat/softfloat_trans.c \
	tests/tools/emu/semantics/test_semantics.h \
	tests/tools/emu/semantics/test_semantics_build.c tests/tools/emu/semantics/test_semantics_state.c \
	tests/tools/emu/semantics/test_semantics_forms.c tests/tools/emu/semantics/test_semantics_forms.h \
	tests/tools/emu/semantics/test_semantics_lds.h tests/tools/emu/semantics/test_semantics_shapes.h \
	tests/tools/emu/semantics/test_semantics_spell.h tests/tools/emu/semantics/test_semantics_tiles.h \
	tests/tools/emu/semantics/test_semantics_run.c tests/tools/emu/semantics/test_semantics_run.h \
	tests/tools/emu/semantics/test_semantics_text.c

semantics_ldadd = tests/tools/emu/liboracle.la tools/emu/libhipemu.la
semantics_tests = tests/tools/emu/semantics/test_semantics_scalar tests/tools/emu/semantics/test_semantics_flow \
	tests/tools/emu/semantics/test_semantics_rare tests/tools/emu/semantics/test_semantics_vop1 \
	tests/tools/emu/semantics/test_semantics_vop2 tests/tools/emu/semantics/test_semantics_vop3 \
	tests/tools/emu/semantics/test_semantics_vop3p tests/tools/emu/semantics/test_semantics_vopc \
	tests/tools/emu/semantics/test_semantics_lds tests/tools/emu/semantics/test_semantics_memory \
	tests/tools/emu/semantics/test_semantics_buffer tests/tools/emu/semantics/test_semantics_range \
	tests/tools/emu/semantics/test_semantics_smem \
	tests/tools/emu/semantics/test_semantics_agpr \
	tests/tools/emu/semantics/test_semantics_lanes tests/tools/emu/semantics/test_semantics_scaled \
	tests/tools/emu/semantics/test_semantics_matrix \
	tests/tools/emu/semantics/test_semantics_matrix_f32 \
	tests/tools/emu/semantics/test_semantics_gfx12 tests/tools/emu/semantics/test_semantics_swmmac \
	tests/tools/emu/semantics/test_semantics_swmmac_exact
check_PROGRAMS += tests/tools/emu/softfloat/test_softfloat $(semantics_tests)
TESTS += tests/tools/emu/softfloat/test_softfloat $(semantics_tests)
tests_tools_emu_softfloat_test_softfloat_SOURCES = tests/tools/emu/softfloat/test_softfloat.c
tests_tools_emu_softfloat_test_softfloat_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_softfloat_test_softfloat_LDADD = tests/tools/emu/liboracle.la
tests_tools_emu_semantics_test_semantics_scalar_SOURCES = tests/tools/emu/semantics/test_semantics_scalar.c
tests_tools_emu_semantics_test_semantics_scalar_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_scalar_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_flow_SOURCES = tests/tools/emu/semantics/test_semantics_flow.c
tests_tools_emu_semantics_test_semantics_flow_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_flow_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_rare_SOURCES = tests/tools/emu/semantics/test_semantics_rare.c
tests_tools_emu_semantics_test_semantics_rare_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_rare_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_vop1_SOURCES = tests/tools/emu/semantics/test_semantics_vector.c
tests_tools_emu_semantics_test_semantics_vop1_CPPFLAGS = $(emu_test_cppflags) -DVECTOR_PART=1
tests_tools_emu_semantics_test_semantics_vop1_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_vop2_SOURCES = tests/tools/emu/semantics/test_semantics_vector.c
tests_tools_emu_semantics_test_semantics_vop2_CPPFLAGS = $(emu_test_cppflags) -DVECTOR_PART=2
tests_tools_emu_semantics_test_semantics_vop2_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_vop3_SOURCES = tests/tools/emu/semantics/test_semantics_vector.c
tests_tools_emu_semantics_test_semantics_vop3_CPPFLAGS = $(emu_test_cppflags) -DVECTOR_PART=3
tests_tools_emu_semantics_test_semantics_vop3_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_vop3p_SOURCES = tests/tools/emu/semantics/test_semantics_vector.c
tests_tools_emu_semantics_test_semantics_vop3p_CPPFLAGS = $(emu_test_cppflags) -DVECTOR_PART=4
tests_tools_emu_semantics_test_semantics_vop3p_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_vopc_SOURCES = tests/tools/emu/semantics/test_semantics_vector.c
tests_tools_emu_semantics_test_semantics_vopc_CPPFLAGS = $(emu_test_cppflags) -DVECTOR_PART=5
tests_tools_emu_semantics_test_semantics_vopc_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_lds_SOURCES = tests/tools/emu/semantics/test_semantics_lds.c
tests_tools_emu_semantics_test_semantics_lds_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_lds_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_memory_SOURCES = tests/tools/emu/semantics/test_semantics_memory.c
tests_tools_emu_semantics_test_semantics_memory_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_memory_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_buffer_SOURCES = tests/tools/emu/semantics/test_semantics_buffer.c
tests_tools_emu_semantics_test_semantics_buffer_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_buffer_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_range_SOURCES = tests/tools/emu/semantics/test_semantics_range.c
tests_tools_emu_semantics_test_semantics_range_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_range_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_smem_SOURCES = tests/tools/emu/semantics/test_semantics_smem.c
tests_tools_emu_semantics_test_semantics_smem_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_smem_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_agpr_SOURCES = tests/tools/emu/semantics/test_semantics_agpr.c
tests_tools_emu_semantics_test_semantics_agpr_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_agpr_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_scaled_SOURCES = tests/tools/emu/semantics/test_semantics_scaled.c
tests_tools_emu_semantics_test_semantics_scaled_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_scaled_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_lanes_SOURCES = tests/tools/emu/semantics/test_semantics_lanes.c
tests_tools_emu_semantics_test_semantics_lanes_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_lanes_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_matrix_SOURCES = tests/tools/emu/semantics/test_semantics_matrix.c
tests_tools_emu_semantics_test_semantics_matrix_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_matrix_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_matrix_f32_SOURCES = tests/tools/emu/semantics/test_semantics_matrix.c
tests_tools_emu_semantics_test_semantics_matrix_f32_CPPFLAGS = $(emu_test_cppflags) \
	-DMATRIX_MODE='"f32"'
tests_tools_emu_semantics_test_semantics_matrix_f32_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_gfx12_SOURCES = tests/tools/emu/semantics/test_semantics_gfx12.c
tests_tools_emu_semantics_test_semantics_gfx12_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_gfx12_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_swmmac_SOURCES = tests/tools/emu/semantics/test_semantics_swmmac.c
tests_tools_emu_semantics_test_semantics_swmmac_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_semantics_test_semantics_swmmac_LDADD = $(semantics_ldadd)
tests_tools_emu_semantics_test_semantics_swmmac_exact_SOURCES = tests/tools/emu/semantics/test_semantics_swmmac.c
tests_tools_emu_semantics_test_semantics_swmmac_exact_CPPFLAGS = $(emu_test_cppflags) \
	-DMATRIX_MODE='"hw"'
tests_tools_emu_semantics_test_semantics_swmmac_exact_LDADD = $(semantics_ldadd)

# Speed on the attention kernels; never a test.
EXTRA_PROGRAMS += tests/tools/emu/exec/bench_exec
tests_tools_emu_exec_bench_exec_SOURCES = tests/tools/emu/exec/bench_exec.c
tests_tools_emu_exec_bench_exec_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms)
tests_tools_emu_exec_bench_exec_LDADD = tools/libprogram.la lib/libaothip.la -lm
.PHONY: bench-emu
bench-emu: all tests/tools/emu/exec/bench_exec$(EXEEXT)
	@for mode in plain strict; do echo "emulator, $$mode mode:"; \
	  AOTHIP_EMU_MODE=$$mode AOTHIP_EMU_THREADS=1 AOTHIP_IMAGES=images/aotriton.images \
	    tests/tools/emu/exec/bench_exec$(EXEEXT) || exit 1; done
bench: bench-emu
CLEANFILES += tests/tools/emu/exec/bench_exec$(EXEEXT)

# Breaks the emulator in one place after another and sees the semantics tests fail; takes minutes.
dist_check_SCRIPTS += tests/tools/emu/semantics/mutation.sh
.PHONY: check-mutations
check-mutations: host
	$(AM_TESTS_ENVIRONMENT) MUTATIONS=$${MUTATIONS:-all} srcdir=$(srcdir) $(SHELL) $(srcdir)/tests/tools/emu/semantics/mutation.sh

# The library and the emulator under ThreadSanitizer, in threads/; takes minutes, builds included.
dist_check_SCRIPTS += tests/tools/emu/hip/threads.sh
.PHONY: check-threads
check-threads: all
	$(AM_TESTS_ENVIRONMENT) HIP_CPPFLAGS='$(HIP_CPPFLAGS)' srcdir=$(srcdir) $(SHELL) $(srcdir)/tests/tools/emu/hip/threads.sh
clean-threads:
	rm -rf threads
CLEAN_LOCAL += clean-threads

# The clock: its parts, small kernels that were measured, and sampling. `make calibrate PEERS=DIR`
# prints what it predicts beside all that was measured (calibrate.py says what DIR holds).
check_PROGRAMS += tests/tools/emu/time/test_clock
tests_tools_emu_time_test_clock_SOURCES = tests/tools/emu/time/test_clock.c
tests_tools_emu_time_test_clock_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_time_test_clock_LDADD = tools/emu/libemu.la -lm
check_PROGRAMS += tests/tools/emu/time/fuzz_clock
tests_tools_emu_time_fuzz_clock_SOURCES = tests/tools/emu/time/fuzz_clock.c
tests_tools_emu_time_fuzz_clock_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_time_fuzz_clock_LDADD = tools/emu/libemu.la -lm
TESTS += tests/tools/emu/time/fuzz_clock
clock_scripts = tests/tools/emu/time/small_kernels.sh
dist_check_SCRIPTS += $(clock_scripts)
TESTS += tests/tools/emu/time/test_clock $(clock_scripts)
# The gate: predicted clocks of fixed calls of the kernels as shipped. Sanitizers see nothing in it.
check_PROGRAMS += tests/tools/emu/time/attn_clock
clock_calls = tests/tools/emu/time/clock_calls.c tests/tools/emu/time/clock_calls.h
tests_tools_emu_time_attn_clock_SOURCES = tests/tools/emu/time/attn_clock.c $(clock_calls)
tests_tools_emu_time_attn_clock_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
tests_tools_emu_time_attn_clock_LDADD = tools/libprogram.la lib/libaothip.la
check_PROGRAMS += tests/tools/emu/time/test_sampling
tests_tools_emu_time_test_sampling_SOURCES = tests/tools/emu/time/test_sampling.c $(clock_calls)
tests_tools_emu_time_test_sampling_CPPFLAGS = $(AM_CPPFLAGS) $(tools_rooms) $(tests_rooms)
tests_tools_emu_time_test_sampling_LDADD = tools/libprogram.la lib/libaothip.la -lm
dist_check_SCRIPTS += tests/tools/emu/time/clock.sh
if !SANITIZE
TESTS += tests/tools/emu/time/clock.sh tests/tools/emu/time/test_sampling
endif
SLOW_TESTS += tests/tools/emu/time/clock.sh tests/tools/emu/time/test_sampling
clock_python = tests/tools/emu/time/calibrate.py tests/tools/emu/time/emu_clock.py \
	tests/tools/emu/time/micro.py tests/tools/emu/time/queue.py
EXTRA_DIST += $(clock_python) tools/emu/time/calibration.txt
.PHONY: calibrate
calibrate: tools/emu/libhipemu.la
	@PYTHONDONTWRITEBYTECODE=1 $${PYTHON:-python3} \
		$(srcdir)/tests/tools/emu/time/calibrate.py tools/emu/.libs/libhipemu.so $(PEERS)
