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
