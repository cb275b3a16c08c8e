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
	lib/args.c lib/args.h gen/kernel/kernarg.h \
	lib/bundle.c lib/bundle.h \
	lib/capture.c lib/capture.h \
	lib/module.c lib/module.h \
	lib/select.c lib/select.h \
	lib/status.c lib/status.def \
	lib/store.c lib/store.h lib/format.h \
	lib/target.c lib/target.h lib/target.def \
	lib/validate.c lib/validate.h
lib_libaothip_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
lib_libaothip_core_la_LIBADD = lib/libaothip_hip.la $(ZSTD_LIBS)

lib_LTLIBRARIES += lib/libaothip.la
lib_libaothip_la_SOURCES =
lib_libaothip_la_LIBADD = lib/libaothip_core.la
lib_libaothip_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-Wl,--version-script=$(srcdir)/lib/aothip.map -Wl,-z,defs
lib_libaothip_la_DEPENDENCIES = lib/libaothip_core.la lib/aothip.map

# libaotriton_v2.so: the C++ names of one AOTriton release over the C API. Its file name, its SONAME
# and config.h carry that release's version; libtool's numbering cannot express that.
AOTRITON_VERSION = 0.11.2
aotriton_library = libaotriton_v2.so.$(AOTRITON_VERSION)
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
EXTRA_DIST += include/aotriton/config.h.in $(aotriton_sources) lib/shim/shim.h lib/shim/aotriton.map

aotritonincludedir = $(includedir)/aotriton
aotritoninclude_HEADERS = $(aotriton_headers)
nodist_aotritoninclude_HEADERS = include/aotriton/config.h
aotritonv2includedir = $(includedir)/aotriton/v2
aotritonv2include_HEADERS = $(aotriton_v2_headers)
CLEANFILES += include/aotriton/config.h

include/aotriton/config.h: include/aotriton/config.h.in lib/local.mk
	$(AM_V_GEN)$(MKDIR_P) include/aotriton && \
	set -- `echo $(AOTRITON_VERSION) | tr . ' '` && \
	sed -e "s/@AOTRITON_MAJOR@/$$1/" -e "s/@AOTRITON_MINOR@/$$2/" -e "s/@AOTRITON_PATCH@/$$3/" \
		-e 's/@AOTRITON_ENABLE_SUFFIX@/0/' -e 's/@AOTRITON_NAME_SUFFIX@//' \
		$(srcdir)/include/aotriton/config.h.in > $@.tmp && mv $@.tmp $@

# One command compiles and links: the sources are few and small. It lies beside libaothip.so as it
# will when installed, so that RUNPATH finds that in both places.
ALL_LOCAL += lib/.libs/libaotriton_v2.so
MOSTLYCLEANFILES += lib/.libs/libaotriton_v2.so*
lib/.libs/libaotriton_v2.so: lib/.libs/$(aotriton_library)
	$(AM_V_at)$(LN_S) -f $(aotriton_library) $@
lib/.libs/$(aotriton_library): $(aotriton_sources) lib/shim/shim.h lib/shim/aotriton.map \
		$(aotriton_headers) $(aotriton_v2_headers) include/aotriton/config.h \
		include/aothip/aothip.h lib/libaothip.la
	$(AM_V_GEN)$(CXX) -Daotriton_v2_EXPORTS -I$(top_builddir)/include \
		-I$(top_srcdir)/include $(HIP_CPPFLAGS) $(CPPFLAGS) $(AM_CXXFLAGS) $(CXXFLAGS) -fPIC -shared $(AM_LDFLAGS) $(LDFLAGS) \
		$(aotriton_sources:%=$(srcdir)/%) -o $@ \
		-Wl,--version-script=$(srcdir)/lib/shim/aotriton.map -Wl,-soname,$(aotriton_library) \
		-Wl,-z,defs '-Wl,-rpath,$$ORIGIN' -Llib/.libs -laothip

INSTALL_DATA_LOCAL += install-aotriton
install-aotriton: lib/.libs/$(aotriton_library)
	$(MKDIR_P) '$(DESTDIR)$(libdir)'
	$(INSTALL_PROGRAM) lib/.libs/$(aotriton_library) '$(DESTDIR)$(libdir)/$(aotriton_library)'
	cd '$(DESTDIR)$(libdir)' && $(LN_S) -f $(aotriton_library) libaotriton_v2.so
UNINSTALL_LOCAL += uninstall-aotriton
uninstall-aotriton:
	rm -f '$(DESTDIR)$(libdir)/$(aotriton_library)' '$(DESTDIR)$(libdir)/libaotriton_v2.so'
