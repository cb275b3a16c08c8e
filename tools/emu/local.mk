# libhipemu.so: the HIP functions on an emulator of the instruction set. Decoder, execution core,
# loader and HIP surface are files of one library; they share emu_insn.h and emu_wave.h.
noinst_LTLIBRARIES += tools/emu/libemu.la
tools_emu_libemu_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/emu
# Results must not depend on what the compiler fuses, nor on errno or traps.
tools_emu_libemu_la_CFLAGS = $(AM_CFLAGS) -pthread -ffp-contract=off -fno-math-errno \
	-fno-trapping-math -Wno-psabi
tools_emu_libemu_la_LIBADD = -lm -lpthread
tools_emu_libemu_la_SOURCES = \
	tools/emu/emu_decode.c tools/emu/emu_decode.h \
	tools/emu/emu_decode_mem.c \
	tools/emu/emu_decode_scalar.c \
	tools/emu/emu_decode_trapped.c \
	tools/emu/emu_decode_vop.c \
	tools/emu/emu_decode_vop3.c \
	tools/emu/emu_disasm.c tools/emu/emu_disasm.h \
	tools/emu/emu_disasm_mem.c \
	tools/emu/emu_disasm_scalar.c \
	tools/emu/emu_disasm_trapped.c \
	tools/emu/emu_disasm_vector.c \
	tools/emu/emu_dispatch.c \
	tools/emu/emu_elf.c tools/emu/emu_elf.h \
	tools/emu/emu_elf_bundle.c \
	tools/emu/emu_elf_line.c \
	tools/emu/emu_elf_note.c \
	tools/emu/emu_exec.h \
	tools/emu/emu_exec_bind.c \
	tools/emu/emu_exec_cross.c \
	tools/emu/emu_exec_dpp.c \
	tools/emu/emu_exec_flow.c tools/emu/emu_exec_fork.c \
	tools/emu/emu_exec_dense.h \
	tools/emu/emu_exec_div.h tools/emu/emu_exec_lanes.h tools/emu/emu_exec_math.h \
	tools/emu/emu_exec_modify.h tools/emu/emu_exec_partition.h \
	tools/emu/emu_exec_rows.h tools/emu/emu_exec_trans.h \
	tools/emu/emu_exec_prepare.c \
	tools/emu/emu_exec_scalar.c \
	tools/emu/emu_exec_table.c \
	tools/emu/emu_exec_trig.c \
	tools/emu/emu_exec_w32.c \
	tools/emu/emu_exec_w32_v3.c \
	tools/emu/emu_exec_w32_v4.c \
	tools/emu/emu_exec_w64.c \
	tools/emu/emu_exec_w64_v3.c \
	tools/emu/emu_exec_w64_v4.c \
	tools/emu/emu_hip.h \
	tools/emu/emu_hip_counters.c \
	tools/emu/emu_hip_device.c \
	tools/emu/emu_hip_error.c \
	tools/emu/emu_hip_fat.c \
	tools/emu/emu_hip_graph.c \
	tools/emu/emu_hip_memory.c \
	tools/emu/emu_hip_module.c \
	tools/emu/emu_hip_newer.h \
	tools/emu/emu_hip_state.c \
	tools/emu/emu_hip_stream.c \
	tools/emu/emu_insn.h tools/emu/emu_wave.h \
	tools/emu/emu_isa.c \
	tools/emu/emu_matrix.c tools/emu/emu_matrix.h \
	tools/emu/emu_matrix_base.c \
	tools/emu/emu_matrix_fused.h tools/emu/emu_matrix_level.h \
	tools/emu/emu_matrix_rules.h tools/emu/emu_matrix_types.h \
	tools/emu/emu_matrix_v3.c tools/emu/emu_matrix_v4.c \
	tools/emu/emu_matrix_wmma.c \
	tools/emu/emu_mem.c tools/emu/emu_mem.h tools/emu/emu_mem_handlers.h \
	tools/emu/emu_mem_addr.c \
	tools/emu/emu_mem_atomic.c \
	tools/emu/emu_mem_buffer.c \
	tools/emu/emu_mem_count.c \
	tools/emu/emu_mem_data.c \
	tools/emu/emu_mem_dense.c tools/emu/emu_mem_dense.h \
	tools/emu/emu_mem_format.c \
	tools/emu/emu_mem_lds.c \
	tools/emu/emu_mem_ops.h \
	tools/emu/emu_mem_scalar.c \
	tools/emu/emu_mem_table.c \
	tools/emu/emu_run.c tools/emu/emu_run_arena.c \
	tools/emu/emu_run_fault.c \
	tools/emu/emu_run_mode.c \
	tools/emu/emu_run_wave.c \
	tools/emu/emu_strict.c tools/emu/emu_strict.h \
	tools/emu/emu_strict_build.c \
	tools/emu/emu_strict_global.c \
	tools/emu/emu_strict_hazard.c tools/emu/emu_strict_hazard11.c \
	tools/emu/emu_strict_lds.c \
	tools/emu/emu_strict_matrix.c \
	tools/emu/emu_strict_path.c \
	tools/emu/emu_strict_race.c \
	tools/emu/emu_strict_step.c \
	tools/emu/emu_strict_wait.c \
	tools/emu/isa_memory.def tools/emu/isa_scalar.def tools/emu/isa_trapped.def \
	tools/emu/isa_vop.def tools/emu/isa_vop3.def \
	tools/emu/sem_matrix.def tools/emu/sem_memory.def tools/emu/sem_poison.def \
	tools/emu/sem_scalar.def tools/emu/sem_vector.def

lib_LTLIBRARIES += tools/emu/libhipemu.la
tools_emu_libhipemu_la_SOURCES =
tools_emu_libhipemu_la_LIBADD = tools/emu/libemu.la
tools_emu_libhipemu_la_LDFLAGS = $(AM_LDFLAGS) -avoid-version \
	-Wl,--version-script=$(srcdir)/tools/emu/hipemu.map $(NO_UNDEFINED)
tools_emu_libhipemu_la_DEPENDENCIES = tools/emu/libemu.la tools/emu/hipemu.map
EXTRA_DIST += tools/emu/hipemu.map tools/emu/README.md

# A program linked against libamdhip64 runs on the emulator with this directory on LD_LIBRARY_PATH.
EMU_SONAMES = libamdhip64.so.5 libamdhip64.so.6 libamdhip64.so.7
EMU_LINKS = tools/emu/hipemu/.stamp
$(EMU_LINKS): tools/emu/libhipemu.la
	$(AM_V_at)$(MKDIR_P) tools/emu/hipemu
	$(AM_V_GEN)cd tools/emu/hipemu && for n in $(EMU_SONAMES); do \
		$(LN_S) -f ../.libs/libhipemu.so $$n || exit 1; done && : > .stamp
ALL_LOCAL += $(EMU_LINKS)
install-emu-links:
	$(MKDIR_P) "$(DESTDIR)$(libdir)/hipemu"
	cd "$(DESTDIR)$(libdir)/hipemu" && for n in $(EMU_SONAMES); do \
		$(LN_S) -f ../libhipemu.so $$n || exit 1; done
INSTALL_DATA_LOCAL += install-emu-links
uninstall-emu-links:
	cd "$(DESTDIR)$(libdir)/hipemu" 2>/dev/null && rm -f $(EMU_SONAMES) || :
	rmdir "$(DESTDIR)$(libdir)/hipemu" 2>/dev/null || :
UNINSTALL_LOCAL += uninstall-emu-links
clean-emu-links:
	rm -rf tools/emu/hipemu
CLEAN_LOCAL += clean-emu-links
