# libaothip.so, the C API; one list a room.
aothipincludedir = $(includedir)/aothip
aothipinclude_HEADERS = include/aothip/aothip.h include/aothip/aothip.hpp
dist_man_MANS += lib/aothip.3
pkgconfig_DATA += lib/aothip.pc
EXTRA_DIST += lib/aothip.map

# The doors to the system: each an interface and a body for each kind of system.
EXTRA_DIST += lib/status/variable_posix.c lib/runtime/loader_posix.c lib/runtime/lock_posix.c \
	lib/store/file_posix.c lib/launch/capture_disk_posix.c \
	lib/status/variable_windows.c lib/runtime/loader_windows.c lib/runtime/lock_windows.c \
	lib/store/file_windows.c lib/launch/capture_disk_windows.c lib/status/wide_windows.c \
	lib/status/wide_windows.h
if WINDOWS
door_variable = lib/status/variable_windows.c lib/status/wide_windows.c
door_loader = lib/runtime/loader_windows.c
door_lock = lib/runtime/lock_windows.c
door_file = lib/store/file_windows.c
door_disk = lib/launch/capture_disk_windows.c
else
door_variable = lib/status/variable_posix.c
door_loader = lib/runtime/loader_posix.c
door_lock = lib/runtime/lock_posix.c
door_file = lib/store/file_posix.c
door_disk = lib/launch/capture_disk_posix.c
endif

# The HIP table alone, for tools that manage device memory themselves.
noinst_LTLIBRARIES += lib/libaothip_hip.la
lib_libaothip_hip_la_SOURCES = lib/runtime/hip_table.c lib/runtime/hip.h lib/runtime/hip_find.c \
	lib/runtime/loader.h $(door_loader) lib/status/variable.h $(door_variable) \
	lib/status/status_set.c \
	lib/status/status.h lib/status/old_glibc.h

# What a warm call spends its time in: gathering and storing fields, one by one. GCC would pair them
# up in vector registers, and a pair put together from two stores, or read back by halves, waits for
# them. Without that a plain call takes 5 to 10 ns less than 62, one with all options as much less
# than 110; how much depends on where the linker puts the functions.
noinst_LTLIBRARIES += lib/libaothip_hot.la
lib_libaothip_hot_la_SOURCES = lib/select/args.c lib/select/args.h lib/problem/validate_sound.c \
	lib/problem/validate.h
lib_libaothip_hot_la_CFLAGS = $(AM_CFLAGS) -fno-tree-slp-vectorize

# The whole library as objects: libaothip.so is made of it, and tests look inside through it.
noinst_LTLIBRARIES += lib/libaothip_core.la
lib_libaothip_core_la_SOURCES = lib/api.c lib/api_attn.c gen/kernel/kernarg.h gen/kernel/kernarg_fp8.h gen/kernel/kernarg_part.h gen/kernel/kernarg_share.h $(lib_status) \
	$(lib_problem) $(lib_store) $(lib_select) $(lib_runtime) $(lib_launch)
lib_status = lib/status/status.def lib/status/status_text.c lib/status/version.c
lib_problem = lib/problem/shape.h lib/problem/validate_bwd.c lib/problem/validate_fwd.c lib/problem/validate_merge.c \
	lib/problem/validate_options.c lib/problem/validate_view.c lib/problem/validate_view.h
lib_store = lib/store/bundle.c lib/store/bundle.h lib/store/file.h $(door_file) \
	lib/store/file_join.c lib/store/format.h lib/store/retarget.c lib/store/retarget.h lib/store/store.c \
	lib/store/store.h lib/store/target.c lib/store/target.def lib/store/target.h \
	lib/store/tune.c lib/store/tune.h
lib_select = lib/select/args_bwd.c lib/select/args_decode.c lib/select/select.c \
	lib/select/select.h
lib_runtime = lib/runtime/lock.h $(door_lock) lib/runtime/module.c lib/runtime/module.h lib/runtime/module_device.h \
	lib/runtime/module_image.c lib/runtime/module_image.h \
	lib/runtime/module_limit.c lib/runtime/module_limit.h lib/runtime/module_pin.c
lib_launch = lib/launch/capture.c lib/launch/capture.h lib/launch/capture_disk.h $(door_disk) lib/launch/capture_describe.c \
	lib/launch/capture_describe.h lib/launch/plan.c lib/launch/plan.h lib/launch/plan_bwd.c lib/launch/plan_merge.c lib/launch/plan_parts.c
lib_libaothip_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
lib_libaothip_core_la_LIBADD = lib/libaothip_hot.la lib/libaothip_hip.la $(ZSTD_LIBS)

lib_LTLIBRARIES += lib/libaothip.la
lib_libaothip_la_SOURCES =
lib_libaothip_la_LIBADD = lib/libaothip_core.la $(OLD_GLIBC_LIBS)
lib_libaothip_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -Wl,-rpath,'$$ORIGIN' \
	-Wl,--version-script=$(srcdir)/lib/aothip.map $(NO_UNDEFINED)
lib_libaothip_la_DEPENDENCIES = lib/libaothip_core.la lib/aothip.map

# What the Python module has in C, for any Python: it lies beside the library, and links nothing.
quick_sources = lib/python/quick/quick.c lib/python/quick/quick_problem.c lib/python/quick/quick_tensor.c
quick_headers = lib/python/quick/quick_problem.h lib/python/quick/quick_tensor.h
quick_library = lib/.libs/aothip_quick.abi3.so
EXTRA_DIST += $(quick_sources) $(quick_headers)
if HAVE_PYTHON_H
ALL_LOCAL += $(quick_library)
endif
MOSTLYCLEANFILES += $(quick_library)
$(quick_library): $(quick_sources) $(quick_headers) include/aothip/aothip.h
	$(AM_V_CC)$(MKDIR_P) $(@D) && \
	$(CC) -I$(top_srcdir)/include -I$(top_srcdir)/lib/python/quick $(CPPFLAGS) $(PYTHON_CPPFLAGS) \
	    $(AM_CFLAGS) $(CFLAGS) -fno-math-errno -fPIC -shared $(AM_LDFLAGS) $(LDFLAGS) \
	    $(quick_sources:lib/%=$(top_srcdir)/lib/%) -o $@

# JAX's door: custom calls of XLA, of which nothing is linked either.
xla_sources = lib/python/xla/xla_call.c lib/python/xla/xla_side.c
xla_headers = lib/python/xla/xla.h lib/python/xla/xla_abi.h lib/python/xla/xla_side.h
xla_library = lib/.libs/aothip_xla.so
EXTRA_DIST += $(xla_sources) $(xla_headers)
if !WINDOWS
ALL_LOCAL += $(xla_library)
endif
MOSTLYCLEANFILES += $(xla_library)
$(xla_library): $(xla_sources) $(xla_headers) include/aothip/aothip.h
	$(AM_V_CC)$(MKDIR_P) $(@D) && \
	$(CC) -I$(top_srcdir)/include -I$(top_srcdir)/lib/python/xla $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) \
	    -fPIC -shared $(AM_LDFLAGS) $(LDFLAGS) $(xla_sources:lib/%=$(top_srcdir)/lib/%) -o $@

# libaotriton_v2.so: the C++ names of one AOTriton release over the C API. Its file name, its SONAME
# and config.h carry that release's version, $(AOTRITON_VERSION); libtool's numbering cannot express
# that. It contains the C library, because those who package PyTorch copy it alone. The other
# releases that were asked for lie in lib/aotriton-abi/VERSION and share one libaothip.so.
aotriton_headers = \
	include/aotriton/cpp_tune.h \
	include/aotriton/dtypes.h \
	include/aotriton/flash.h \
	include/aotriton/runtime.h \
	include/aotriton/util.h
aotriton_v2_headers = include/aotriton/v2/flash.h
aotriton_sources = \
	lib/shim/attn.cc \
	lib/shim/bwd.cc \
	lib/shim/device.cc \
	lib/shim/error.cc \
	lib/shim/hip.cc \
	lib/shim/kept.cc \
	lib/shim/numbers.cc \
	lib/shim/problem.cc \
	lib/shim/tensor.cc \
	lib/shim/v2.cc \
	lib/shim/v3.cc \
	lib/shim/varlen.cc
aotriton_inputs = $(aotriton_sources) lib/shim/shim.h lib/shim/aotriton.map.in \
	$(aotriton_headers) $(aotriton_v2_headers) include/aotriton/config.h.in \
	include/aothip/aothip.h
EXTRA_DIST += include/aotriton/config.h.in $(aotriton_sources) lib/shim/shim.h \
	lib/shim/aotriton.map.in
aotriton_library = libaotriton$(AOTRITON_SUFFIX)_v2.so

aotritonincludedir = $(includedir)/aotriton
aotritoninclude_HEADERS = $(aotriton_headers)
nodist_aotritoninclude_HEADERS = include/aotriton/config.h
aotritonv2includedir = $(includedir)/aotriton/v2
aotritonv2include_HEADERS = $(aotriton_v2_headers)
CLEANFILES += include/aotriton/config.h

# $(call aotriton_config,VERSION,FILE)
aotriton_config = $(MKDIR_P) `dirname $(2)` && set -- `echo $(1) | tr . ' '` && \
	sed -e "s/@AOTRITON_MAJOR@/$$1/" -e "s/@AOTRITON_MINOR@/$$2/" -e "s/@AOTRITON_PATCH@/$$3/" \
		-e 's/@AOTRITON_ENABLE_SUFFIX@/$(if $(AOTRITON_SUFFIX),1,0)/' \
		-e 's/@AOTRITON_NAME_SUFFIX@/$(AOTRITON_SUFFIX)/' \
		$(srcdir)/include/aotriton/config.h.in > $(2).tmp && mv $(2).tmp $(2)

# One translation unit: the files are few and small, and all of them read the same headers.
# $(call include_all,FILES): a file that includes them.
include_all = for file in $(1); do echo "\#include \"$$file\""; done

# $(call aotriton_link,VERSION,INCLUDE-DIRECTORY-OF-CONFIG.H,DIRECTORY,RUNPATH,LIBRARIES)
aotriton_link = $(MKDIR_P) $(3) && ns=aotriton$(AOTRITON_SUFFIX) && \
	sed "s/@N@/$${\#ns}$$ns/" $(srcdir)/lib/shim/aotriton.map.in > $(3)/aotriton.map && \
	$(call include_all,$(aotriton_sources:lib/%=%)) | \
	$(CXX) -Daotriton_v2_EXPORTS -I$(2) -I$(top_srcdir)/include $(lib_rooms) \
	$(HIP_CPPFLAGS) $(CPPFLAGS) $(AM_CXXFLAGS) $(CXXFLAGS) -fPIC -shared $(AM_LDFLAGS) $(LDFLAGS) \
	-x c++ - -o $(3)/$(aotriton_library).$(1) -Wl,--version-script=$(3)/aotriton.map \
	-Wl,-soname,$(aotriton_library).$(1) $(NO_UNDEFINED) '-Wl,-rpath,$(4)' $(5) && \
	$(LN_S) -f $(aotriton_library).$(1) $(3)/$(aotriton_library)

include/aotriton/config.h: include/aotriton/config.h.in config.status
	$(AM_V_GEN)$(call aotriton_config,$(AOTRITON_VERSION),$@)

# It lies beside libaothip.so as it will when installed.
# After -x c++ all files count as that, but not what -l names.
aotriton_core = -x none lib/.libs/libaothip_core.a $(ZSTD_LIBS) $(OLD_GLIBC_LIBS) $(LIBS)
ALL_LOCAL += lib/.libs/$(aotriton_library)
MOSTLYCLEANFILES += lib/.libs/libaotriton*_v2.so* lib/.libs/aotriton.map
lib/.libs/$(aotriton_library): $(aotriton_inputs) include/aotriton/config.h lib/libaothip_core.la
	$(AM_V_GEN)$(call aotriton_link,$(AOTRITON_VERSION),include,lib/.libs,$$ORIGIN,$(aotriton_core))

# pyaotriton, AOTriton's module for Python: over the configured release's library, which must lie
# beside it, for the Python whose headers were found.
pyaotriton_sources = lib/python/aotriton/binding.cc lib/python/aotriton/binding_hip.cc \
	lib/python/aotriton/binding_v2.cc lib/python/aotriton/binding_v3.cc
pyaotriton_headers = lib/python/aotriton/binding.h lib/python/aotriton/hip_door.h \
	lib/python/aotriton/hip_errors.def
pyaotriton_library = lib/.libs/pyaotriton.so
EXTRA_DIST += $(pyaotriton_sources) $(pyaotriton_headers)
MOSTLYCLEANFILES += $(pyaotriton_library)
if HAVE_PYBIND11
noinst_LTLIBRARIES += lib/libhip_door.la
lib_libhip_door_la_SOURCES = lib/python/aotriton/hip_door.c
ALL_LOCAL += $(pyaotriton_library)
INSTALL_DATA_LOCAL += install-pyaotriton
endif
$(pyaotriton_library): $(pyaotriton_sources) $(pyaotriton_headers) lib/.libs/$(aotriton_library) \
		lib/libhip_door.la lib/libaothip_hip.la
	$(AM_V_CXX)$(call include_all,$(pyaotriton_sources:lib/%=%)) | \
	$(CXX) -Iinclude -I$(top_srcdir)/include -I$(top_srcdir)/lib/python/aotriton $(lib_rooms) \
	    $(HIP_CPPFLAGS) $(CPPFLAGS) $(PYTHON_CPPFLAGS) $(AM_CXXFLAGS) $(CXXFLAGS) -fPIC -shared \
	    $(AM_LDFLAGS) $(LDFLAGS) -x c++ - -x none -o $@ lib/.libs/libhip_door.a \
	    lib/.libs/libaothip_hip.a lib/.libs/$(aotriton_library) '-Wl,-rpath,$$ORIGIN' $(LIBS)
install-pyaotriton: $(pyaotriton_library)
	$(MKDIR_P) '$(DESTDIR)$(libdir)'
	$(INSTALL_PROGRAM) $(pyaotriton_library) '$(DESTDIR)$(libdir)/pyaotriton.so'
UNINSTALL_LOCAL += uninstall-pyaotriton
uninstall-pyaotriton:
	rm -f '$(DESTDIR)$(libdir)/pyaotriton.so'

# The others: library and config.h of each in a directory by itself.
aotriton_abi = lib/.libs/aotriton-abi
ALL_LOCAL += $(AOTRITON_OTHERS:%=$(aotriton_abi)/%/$(aotriton_library))
$(aotriton_abi)/%/$(aotriton_library): $(aotriton_inputs) lib/libaothip.la
	$(AM_V_at)$(call aotriton_config,$*,$(aotriton_abi)/$*/include/aotriton/config.h)
	$(AM_V_GEN)$(call aotriton_link,$*,$(@D)/include,$(@D),$$ORIGIN/../..,-Llib/.libs -laothip $(OLD_GLIBC_LIBS) $(LIBS))
clean-aotriton-abi:
	rm -rf $(aotriton_abi)*
CLEAN_LOCAL += clean-aotriton-abi

# $(call aotriton_install,FROM,TO,VERSION)
aotriton_install = $(MKDIR_P) $(2) && \
	$(INSTALL_PROGRAM) $(1)/$(aotriton_library).$(3) $(2)/$(aotriton_library).$(3) && \
	(cd $(2) && $(LN_S) -f $(aotriton_library).$(3) $(aotriton_library))
INSTALL_DATA_LOCAL += install-aotriton-library install-aotriton-others
install-aotriton-library: lib/.libs/$(aotriton_library)
	$(call aotriton_install,lib/.libs,'$(DESTDIR)$(libdir)',$(AOTRITON_VERSION))
install-aotriton-others: $(AOTRITON_OTHERS:%=$(aotriton_abi)/%/$(aotriton_library))
	@for version in $(AOTRITON_OTHERS); do \
	    from=$(aotriton_abi)/$$version to='$(DESTDIR)$(libdir)'/aotriton-abi/$$version; \
	    $(call aotriton_install,$$from,"$$to",$$version) && \
	    $(MKDIR_P) "$$to/include/aotriton/v2" && \
	    $(INSTALL_DATA) $(aotriton_headers:%=$(srcdir)/%) $$from/include/aotriton/config.h \
	        "$$to/include/aotriton" && \
	    $(INSTALL_DATA) $(aotriton_v2_headers:%=$(srcdir)/%) "$$to/include/aotriton/v2" || exit 1; \
	done
UNINSTALL_LOCAL += uninstall-aotriton
uninstall-aotriton:
	rm -f '$(DESTDIR)$(libdir)/$(aotriton_library).$(AOTRITON_VERSION)' \
	    '$(DESTDIR)$(libdir)/$(aotriton_library)'
	@for version in $(AOTRITON_OTHERS); do \
	    rm -rf '$(DESTDIR)$(libdir)'/aotriton-abi/$$version; done
	-rmdir '$(DESTDIR)$(libdir)/aotriton-abi' 2>/dev/null

# $(call bring_zstd,DIRECTORY): libzstd.so.1 beside the library there, if it was linked to need it
# and it is not there already.
bring_zstd = file=`ldd $(1)/$(aotriton_library) | sed -n 's/.*libzstd[^ ]* => \([^ ]*\).*/\1/p'` && \
	{ test -z "$$file" || test "$$file" -ef $(1)/libzstd.so.1 || \
	    $(INSTALL_DATA) "$$file" $(1)/libzstd.so.1; }

# Only what stands in AOTriton's place, for AOTRITON_INSTALLED_PREFIX, whose lib/ and include/ go
# into the PyTorch wheel as they are, and so without debug information, which would name the
# directory of the build: make install-aotriton prefix=DIRECTORY.
install-aotriton: install-aotriton-library images-install install-aotritonincludeHEADERS \
		install-nodist_aotritonincludeHEADERS install-aotritonv2includeHEADERS \
		install-nodist_aotritoncmakeDATA
	$(STRIP) --strip-unneeded '$(DESTDIR)$(libdir)/$(aotriton_library).$(AOTRITON_VERSION)'
	$(call bring_zstd,'$(DESTDIR)$(libdir)')
	$(MKDIR_P) '$(DESTDIR)$(docdir)'
	$(INSTALL_DATA) $(srcdir)/LICENSE $(srcdir)/lib/store/LICENSE.zstd '$(DESTDIR)$(docdir)'
.PHONY: install-aotriton

# CMake packages. (A name that configure knew would be replaced in this makefile.)
cmake_files = lib/cmake/aotriton-config.cmake lib/cmake/aotriton-config-version.cmake \
	lib/cmake/aothip-config.cmake lib/cmake/aothip-config-version.cmake
aotritoncmakedir = $(libdir)/cmake/aotriton
nodist_aotritoncmake_DATA = lib/cmake/aotriton-config.cmake lib/cmake/aotriton-config-version.cmake
aothipcmakedir = $(libdir)/cmake/aothip
nodist_aothipcmake_DATA = lib/cmake/aothip-config.cmake lib/cmake/aothip-config-version.cmake
EXTRA_DIST += lib/cmake/aotriton-config.cmake.in lib/cmake/aothip-config.cmake.in \
	lib/cmake/config-version.cmake.in
CLEANFILES += $(cmake_files)
lib/cmake/%-config.cmake: lib/cmake/%-config.cmake.in config.status
	$(AM_V_GEN)$(MKDIR_P) lib/cmake && \
	sed -e 's/@RELEASE@/$(AOTRITON_VERSION)/' -e 's/@LIBRARY@/$(aotriton_library)/' $< > $@.tmp && \
	mv $@.tmp $@
lib/cmake/aotriton-config-version.cmake: lib/cmake/config-version.cmake.in config.status
	$(AM_V_GEN)$(MKDIR_P) lib/cmake && \
	sed 's/@RELEASE@/$(AOTRITON_VERSION)/' $(srcdir)/lib/cmake/config-version.cmake.in > $@
lib/cmake/aothip-config-version.cmake: lib/cmake/config-version.cmake.in config.status
	$(AM_V_GEN)$(MKDIR_P) lib/cmake && \
	sed 's/@RELEASE@/$(PACKAGE_VERSION)/' $(srcdir)/lib/cmake/config-version.cmake.in > $@
