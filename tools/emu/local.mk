# libhipemu.so: the HIP functions on an emulator of the instruction set. Decoder, execution core,
# loader and HIP surface are files of one library; they share insn.h and wave.h.
noinst_LTLIBRARIES += tools/emu/libemu.la
tools_emu_libemu_la_CPPFLAGS = $(AM_CPPFLAGS) $(emu_rooms)
# Results must not depend on what the compiler fuses, nor on errno or traps.
tools_emu_libemu_la_CFLAGS = $(AM_CFLAGS) -pthread -ffp-contract=off -fno-math-errno \
	-fno-trapping-math -Wno-psabi
tools_emu_libemu_la_LIBADD = $(mingw_library) -lm -lpthread
# One list a room, from the ground up; tests/rooms.txt says which may use which.
emu_isa = tools/emu/isa/decode.c tools/emu/isa/decode_mem.c tools/emu/isa/decode_mem12.c \
	tools/emu/isa/decode_parts.h tools/emu/isa/decode_read.c tools/emu/isa/decode_read.h \
	tools/emu/isa/decode_scalar.c tools/emu/isa/decode_trapped.c tools/emu/isa/decode_vop.c tools/emu/isa/decode_vop3.c \
	tools/emu/isa/insn.h tools/emu/isa/isa.c tools/emu/isa/isa_flags.h tools/emu/isa/isa_memory.def \
	tools/emu/isa/isa_scalar.def tools/emu/isa/isa_trapped.def tools/emu/isa/isa_vop.def \
	tools/emu/isa/isa_vop3.def
emu_disasm = tools/emu/disasm/disasm.c tools/emu/disasm/disasm_parts.h \
	tools/emu/disasm/disasm_text.c tools/emu/disasm/disasm_text.h tools/emu/disasm/text_memory.c \
	tools/emu/disasm/text_scalar.c tools/emu/disasm/text_trapped.c tools/emu/disasm/text_vector.c
emu_object = tools/emu/object/code_object.h tools/emu/object/elf_file.c tools/emu/object/tell.h \
	tools/emu/object/line_table.c tools/emu/object/metadata_note.c tools/emu/object/offload_bundle.c
emu_memory = tools/emu/memory/device_block.h tools/emu/memory/memory_copy.c \
	tools/emu/memory/memory_map.c tools/emu/memory/memory_map.h tools/emu/memory/memory_report.c \
	tools/emu/memory/memory_report.h
emu_wave = tools/emu/wave/fault_report.c tools/emu/wave/host_level.c tools/emu/wave/program.h \
	tools/emu/wave/wave.h
emu_arith = tools/emu/arith/division.h tools/emu/arith/lane_math.h tools/emu/arith/row_math.h \
	tools/emu/arith/screen_partition.h tools/emu/arith/transcendental.h tools/emu/arith/trig_preop.c
emu_exec = tools/emu/exec/barriers.c tools/emu/exec/cross_lane.c tools/emu/exec/dpp.c tools/emu/exec/float_mode.c \
	tools/emu/exec/flow.c tools/emu/exec/fork.c tools/emu/exec/scalar.c tools/emu/exec/scaled_floats.c \
	tools/emu/exec/scaled_floats.h tools/emu/exec/sem_scalar.def tools/emu/exec/sem_scaled.def
emu_vector = tools/emu/vector/dense_lanes.h tools/emu/vector/lanes.h tools/emu/vector/modifiers.h \
	tools/emu/vector/sem_poison.def tools/emu/vector/sem_vector.def \
	tools/emu/vector/source_modifiers.h tools/emu/vector/w32.c tools/emu/vector/w32_v3.c \
	tools/emu/vector/w32_v4.c tools/emu/vector/w64.c tools/emu/vector/w64_v3.c \
	tools/emu/vector/w64_v4.c
emu_matrix = tools/emu/matrix/cut_sum.h tools/emu/matrix/fused_sum.h \
	tools/emu/matrix/host_vectors.h tools/emu/matrix/lane_tiles.h tools/emu/matrix/matrix_ops.h tools/emu/matrix/mfma.c \
	tools/emu/matrix/mfma_narrow.c \
	tools/emu/matrix/product.h tools/emu/matrix/product_base.c tools/emu/matrix/product_level.c \
	tools/emu/matrix/product_v3.c tools/emu/matrix/product_v4.c tools/emu/matrix/sem_matrix.def \
	tools/emu/matrix/small_floats.c tools/emu/matrix/sum_rules.h tools/emu/matrix/swmmac.c \
	tools/emu/matrix/wmma.c tools/emu/matrix/wmma_lanes.c
emu_access = tools/emu/access/access.h tools/emu/access/access_handlers.h \
	tools/emu/access/access_table.c tools/emu/access/atomics.c tools/emu/access/buffers.c \
	tools/emu/access/dense_access.c tools/emu/access/dense_access.h tools/emu/access/lane_addresses.c \
	tools/emu/access/lds_exchange.c tools/emu/access/loads_stores.c tools/emu/access/scalar_memory.c \
	tools/emu/access/sem_memory.def tools/emu/access/texel_formats.c tools/emu/access/transactions.c \
	tools/emu/access/transposed_loads.c
emu_prepare = tools/emu/prepare/bind.c tools/emu/prepare/builder.c tools/emu/prepare/operands.c \
	tools/emu/prepare/operands.h tools/emu/prepare/prepare.c tools/emu/prepare/sem_table.c
emu_strict = tools/emu/strict/bitop3_poison.c tools/emu/strict/describe.c tools/emu/strict/gates.c tools/emu/strict/global_races.c \
	tools/emu/strict/global_records.c tools/emu/strict/global_records.h \
	tools/emu/strict/hazard_gfx11.c tools/emu/strict/hazard_gfx12.c tools/emu/strict/hazard_gfx9.c tools/emu/strict/hazard_paths.c \
	tools/emu/strict/lds_log.c tools/emu/strict/lds_races.c tools/emu/strict/lds_visible.c \
	tools/emu/strict/matrix_poison.c tools/emu/strict/pending.c tools/emu/strict/poison.c \
	tools/emu/strict/rewrites.c tools/emu/strict/scalar_poison.c tools/emu/strict/scaled_poison.c tools/emu/strict/strict.h \
	tools/emu/strict/strict_step.c tools/emu/strict/wait_warnings.c tools/emu/strict/watch.c
emu_time = tools/emu/time/clock.h tools/emu/time/clock_fields.def tools/emu/time/clock_gfx1100.def \
	tools/emu/time/clock_gfx1151.def tools/emu/time/clock_gfx1201.def tools/emu/time/clock_gfx90a.def \
	tools/emu/time/clock_gfx942.def tools/emu/time/clock_gfx950.def \
	tools/emu/time/clock_file.c tools/emu/time/clock_file.h \
	tools/emu/time/clock_ops.c tools/emu/time/clock_ops.h tools/emu/time/clock_params.c \
	tools/emu/time/clock_params.h tools/emu/time/clock_record.h tools/emu/time/clock_trace.c \
	tools/emu/time/clock_trace.h tools/emu/time/common_lines.c tools/emu/time/common_lines.h
emu_chip = tools/emu/chip/chip.c tools/emu/chip/chip.h tools/emu/chip/clock_result.c \
	tools/emu/chip/clock_result.h tools/emu/chip/everything.c tools/emu/chip/everything.h \
	tools/emu/chip/histories.c tools/emu/chip/histories.h tools/emu/chip/orders.c \
	tools/emu/chip/orders.h tools/emu/chip/resident.c tools/emu/chip/resident.h \
	tools/emu/chip/share.c tools/emu/chip/share.h tools/emu/chip/unit.c tools/emu/chip/unit.h \
	tools/emu/chip/unit_account.c tools/emu/chip/unit_cache.c tools/emu/chip/unit_issue.c \
	tools/emu/chip/unit_memory.c tools/emu/chip/unit_parts.h tools/emu/chip/unit_state.h
emu_predict = tools/emu/predict/alone.c tools/emu/predict/alone.h \
	tools/emu/predict/clusters.c tools/emu/predict/clusters.h \
	tools/emu/predict/pieces.c tools/emu/predict/pieces.h \
	tools/emu/predict/detail.c tools/emu/predict/detail.h tools/emu/predict/doubt.c \
	tools/emu/predict/doubt.h tools/emu/predict/predict.c tools/emu/predict/predict.h \
	tools/emu/predict/shorten.c tools/emu/predict/shorten.h tools/emu/predict/stand_in.c \
	tools/emu/predict/stand_in.h tools/emu/predict/turns.c tools/emu/predict/turns.h
emu_run = tools/emu/run/arena.c tools/emu/run/arena.h tools/emu/run/kernel_registers.c \
	tools/emu/run/kernel_registers.h tools/emu/run/run_launch.c tools/emu/run/wave_start.c \
	tools/emu/run/worker.c tools/emu/run/worker.h
emu_session = tools/emu/session/counters_file.c tools/emu/session/gpu_models.c \
	tools/emu/session/gpu_models.h tools/emu/session/settings.c tools/emu/session/settings.h \
	tools/emu/session/timing.c tools/emu/session/timing.h tools/emu/session/watched_run.c \
	tools/emu/session/watched_run.h
emu_hip = tools/emu/hip/captures.c tools/emu/hip/device_properties.c tools/emu/hip/devices.c \
	tools/emu/hip/dispatch.c tools/emu/hip/error_names.c tools/emu/hip/fat_binary.c \
	tools/emu/hip/functions.c tools/emu/hip/graph_nodes.c tools/emu/hip/graph_nodes.h \
	tools/emu/hip/graphs.c tools/emu/hip/handles.c tools/emu/hip/handles.h \
	tools/emu/hip/memory_calls.c tools/emu/hip/modules.c tools/emu/hip/newer_calls.h \
	tools/emu/hip/operation.h tools/emu/hip/stream_order.c tools/emu/hip/streams.c \
	tools/emu/hip/submit.c tools/emu/hip/transfers.c tools/emu/hip/user_objects.c \
	tools/emu/hip/user_objects.h
tools_emu_libemu_la_SOURCES = $(emu_isa) $(emu_disasm) $(emu_object) $(emu_memory) $(emu_wave) \
	$(emu_arith) $(emu_exec) $(emu_vector) $(emu_matrix) $(emu_access) \
	$(emu_prepare) $(emu_strict) $(emu_time) $(emu_chip) $(emu_predict) $(emu_run) $(emu_session) $(emu_hip)

lib_LTLIBRARIES += tools/emu/libhipemu.la
tools_emu_libhipemu_la_SOURCES =
tools_emu_libhipemu_la_LIBADD = tools/emu/libemu.la
tools_emu_libhipemu_la_LDFLAGS = $(AM_LDFLAGS) -avoid-version \
	-Wl,--version-script=$(srcdir)/tools/emu/hipemu.map $(NO_UNDEFINED)
tools_emu_libhipemu_la_DEPENDENCIES = tools/emu/libemu.la tools/emu/hipemu.map
EXTRA_DIST += tools/emu/hipemu.map tools/emu/README.md

# What AMD's own runtime finds when this is preloaded: the driver's files, a GPU behind them.
lib_LTLIBRARIES += tools/emu/libhipemu-kfd.la
tools_emu_libhipemu_kfd_la_SOURCES = tools/emu/kfd/aql_packets.c tools/emu/kfd/dispatches.c \
	tools/emu/kfd/driver_interface.h tools/emu/kfd/driver_log.c tools/emu/kfd/gpu_clock.c \
	tools/emu/kfd/gpu_memory.c tools/emu/kfd/gpu_settings.c tools/emu/kfd/gpus.c tools/emu/kfd/host_writes.c tools/emu/kfd/interrupts.c \
	tools/emu/kfd/kfd.h tools/emu/kfd/loaded_kernels.c tools/emu/kfd/opened_files.c tools/emu/kfd/preload.c tools/emu/kfd/queue_errors.c tools/emu/kfd/render_node.c \
	tools/emu/kfd/requests.c tools/emu/kfd/rings.c \
	tools/emu/kfd/sdma_packets.c tools/emu/kfd/signals.h tools/emu/kfd/topology.c
tools_emu_libhipemu_kfd_la_CPPFLAGS = $(AM_CPPFLAGS) $(emu_rooms)
tools_emu_libhipemu_kfd_la_LIBADD = tools/emu/libemu.la -ldl
kfd_hooks = open open64 openat openat64 fopen fopen64 access opendir readdir closedir ioctl
tools_emu_libhipemu_kfd_la_LDFLAGS = $(AM_LDFLAGS) -avoid-version -module \
	`for n in $(kfd_hooks); do echo "-Wl,--defsym=$$n=kfd_hook_$$n"; done` \
	-Wl,--version-script=$(srcdir)/tools/emu/kfd/kfd.map $(NO_UNDEFINED)
tools_emu_libhipemu_kfd_la_DEPENDENCIES = tools/emu/libemu.la tools/emu/kfd/kfd.map
EXTRA_DIST += tools/emu/kfd/kfd.map

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
