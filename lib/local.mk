# libaothip.so, the C API. Each room is one .c/.h pair.
aothipincludedir = $(includedir)/aothip
aothipinclude_HEADERS = include/aothip/aothip.h
dist_man_MANS += lib/aothip.3
pkgconfig_DATA += lib/aothip.pc
EXTRA_DIST += lib/aothip.map

# The HIP table alone, for tools that manage device memory themselves.
noinst_LTLIBRARIES += lib/libaothip_hip.la
lib_libaothip_hip_la_SOURCES = lib/hip.c lib/hip.h lib/status_set.c lib/status.h

# The whole library as objects: libaothip.so is made of it, and tests look inside through it.
noinst_LTLIBRARIES += lib/libaothip_core.la
lib_libaothip_core_la_SOURCES = \
	lib/api.c \
	lib/api_attn.c \
	lib/args.c lib/args_bwd.c lib/args_decode.c lib/args.h gen/kernel/kernarg.h \
	lib/bundle.c lib/bundle.h \
	lib/capture.c lib/capture_describe.c lib/capture.h \
	lib/plan.c lib/plan_bwd.c lib/plan.h lib/shape.h \
	lib/module.c lib/module.h \
	lib/select.c lib/select.h \
	lib/status.c lib/status.def \
	lib/store.c lib/store.h lib/format.h \
	lib/target.c lib/target.h lib/target.def \
	lib/validate.c lib/validate_bwd.c lib/validate_options.c lib/validate.h \
	lib/validate_view.c lib/validate_view.h
lib_libaothip_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
lib_libaothip_core_la_LIBADD = lib/libaothip_hip.la $(ZSTD_LIBS)

lib_LTLIBRARIES += lib/libaothip.la
lib_libaothip_la_SOURCES =
lib_libaothip_la_LIBADD = lib/libaothip_core.la
lib_libaothip_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -Wl,-rpath,'$$ORIGIN' \
	-Wl,--version-script=$(srcdir)/lib/aothip.map -Wl,-z,defs
lib_libaothip_la_DEPENDENCIES = lib/libaothip_core.la lib/aothip.map

# libaotriton_v2.so: the C++ names of one AOTriton release over the C API. Its file name, its SONAME
# and config.h carry that release's version, $(AOTRITON_VERSION); libtool's numbering cannot express
# that. The other releases that were asked for lie in lib/aotriton-abi/VERSION.
aotriton_headers = \
	include/aotriton/cpp_tune.h \
	include/aotriton/dtypes.h \
	include/aotriton/flash.h \
	include/aotriton/runtime.h \
	include/aotriton/util.h
aotriton_v2_headers = include/aotriton/v2/flash.h
aotriton_sources = \
	lib/shim/shim_device.cc \
	lib/shim/shim_error.cc \
	lib/shim/shim_fwd.cc \
	lib/shim/shim_tensor.cc \
	lib/shim/shim_v2.cc \
	lib/shim/shim_v3.cc
aotriton_inputs = $(aotriton_sources) lib/shim/shim.h lib/shim/aotriton.map $(aotriton_headers) \
	$(aotriton_v2_headers) include/aothip/aothip.h lib/libaothip.la
EXTRA_DIST += include/aotriton/config.h.in $(aotriton_sources) lib/shim/shim.h lib/shim/aotriton.map

aotritonincludedir = $(includedir)/aotriton
aotritoninclude_HEADERS = $(aotriton_headers)
nodist_aotritoninclude_HEADERS = include/aotriton/config.h
aotritonv2includedir = $(includedir)/aotriton/v2
aotritonv2include_HEADERS = $(aotriton_v2_headers)
CLEANFILES += include/aotriton/config.h

# $(call aotriton_config,VERSION,FILE)
aotriton_config = $(MKDIR_P) `dirname $(2)` && set -- `echo $(1) | tr . ' '` && \
	sed -e "s/@AOTRITON_MAJOR@/$$1/" -e "s/@AOTRITON_MINOR@/$$2/" -e "s/@AOTRITON_PATCH@/$$3/" \
		-e 's/@AOTRITON_ENABLE_SUFFIX@/0/' -e 's/@AOTRITON_NAME_SUFFIX@//' \
		$(srcdir)/include/aotriton/config.h.in > $(2).tmp && mv $(2).tmp $(2)

# $(call aotriton_link,VERSION,INCLUDE-DIRECTORY-OF-CONFIG.H,DIRECTORY,RUNPATH): one command compiles
# and links, the sources are few and small.
aotriton_link = $(CXX) -I$(2) -I$(top_srcdir)/include $(HIP_CPPFLAGS) $(CPPFLAGS) $(AM_CXXFLAGS) \
	$(CXXFLAGS) -fPIC -shared $(AM_LDFLAGS) $(LDFLAGS) $(aotriton_sources:%=$(srcdir)/%) \
	-o $(3)/libaotriton_v2.so.$(1) -Wl,--version-script=$(srcdir)/lib/shim/aotriton.map \
	-Wl,-soname,libaotriton_v2.so.$(1) -Wl,-z,defs '-Wl,-rpath,$(4)' -Llib/.libs -laothip && \
	$(LN_S) -f libaotriton_v2.so.$(1) $(3)/libaotriton_v2.so

include/aotriton/config.h: include/aotriton/config.h.in config.status
	$(AM_V_GEN)$(call aotriton_config,$(AOTRITON_VERSION),$@)

# It lies beside libaothip.so as it will when installed, so that RUNPATH finds that in both places.
ALL_LOCAL += lib/.libs/libaotriton_v2.so
MOSTLYCLEANFILES += lib/.libs/libaotriton_v2.so*
lib/.libs/libaotriton_v2.so: $(aotriton_inputs) include/aotriton/config.h
	$(AM_V_GEN)$(call aotriton_link,$(AOTRITON_VERSION),include,lib/.libs,$$ORIGIN)

# The others: library and config.h of each in a directory by itself.
ALL_LOCAL += $(AOTRITON_OTHERS:%=lib/.libs/aotriton-abi/%/libaotriton_v2.so)
lib/.libs/aotriton-abi/%/libaotriton_v2.so: $(aotriton_inputs) include/aotriton/config.h.in
	$(AM_V_at)$(call aotriton_config,$*,lib/.libs/aotriton-abi/$*/include/aotriton/config.h)
	$(AM_V_GEN)$(call aotriton_link,$*,lib/.libs/aotriton-abi/$*/include,lib/.libs/aotriton-abi/$*,$$ORIGIN/../..)
clean-aotriton-abi:
	rm -rf lib/.libs/aotriton-abi
CLEAN_LOCAL += clean-aotriton-abi

# $(call aotriton_install,FROM,TO,VERSION)
aotriton_install = $(MKDIR_P) $(2) && \
	$(INSTALL_PROGRAM) $(1)/libaotriton_v2.so.$(3) $(2)/libaotriton_v2.so.$(3) && \
	(cd $(2) && $(LN_S) -f libaotriton_v2.so.$(3) libaotriton_v2.so)
INSTALL_DATA_LOCAL += install-aotriton
install-aotriton: lib/.libs/libaotriton_v2.so \
		$(AOTRITON_OTHERS:%=lib/.libs/aotriton-abi/%/libaotriton_v2.so)
	$(call aotriton_install,lib/.libs,'$(DESTDIR)$(libdir)',$(AOTRITON_VERSION))
	@for version in $(AOTRITON_OTHERS); do \
	    from=lib/.libs/aotriton-abi/$$version to='$(DESTDIR)$(libdir)'/aotriton-abi/$$version; \
	    $(call aotriton_install,$$from,"$$to",$$version) && \
	    $(MKDIR_P) "$$to/include/aotriton/v2" && \
	    $(INSTALL_DATA) $(aotriton_headers:%=$(srcdir)/%) $$from/include/aotriton/config.h \
	        "$$to/include/aotriton" && \
	    $(INSTALL_DATA) $(aotriton_v2_headers:%=$(srcdir)/%) "$$to/include/aotriton/v2" || exit 1; \
	done
UNINSTALL_LOCAL += uninstall-aotriton
uninstall-aotriton:
	rm -f '$(DESTDIR)$(libdir)/libaotriton_v2.so.$(AOTRITON_VERSION)' \
	    '$(DESTDIR)$(libdir)/libaotriton_v2.so'
	@for version in $(AOTRITON_OTHERS); do \
	    rm -rf '$(DESTDIR)$(libdir)'/aotriton-abi/$$version; done
	-rmdir '$(DESTDIR)$(libdir)/aotriton-abi' 2>/dev/null

# CMake packages. (A placeholder that configure knew would be replaced in this makefile.)
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
	sed 's/@RELEASE@/$(AOTRITON_VERSION)/' $< > $@.tmp && mv $@.tmp $@
lib/cmake/aotriton-config-version.cmake: lib/cmake/config-version.cmake.in config.status
	$(AM_V_GEN)$(MKDIR_P) lib/cmake && \
	sed 's/@RELEASE@/$(AOTRITON_VERSION)/' $(srcdir)/lib/cmake/config-version.cmake.in > $@
lib/cmake/aothip-config-version.cmake: lib/cmake/config-version.cmake.in config.status
	$(AM_V_GEN)$(MKDIR_P) lib/cmake && \
	sed 's/@RELEASE@/$(PACKAGE_VERSION)/' $(srcdir)/lib/cmake/config-version.cmake.in > $@
