# The reference, for the tools and for every test that needs an arbiter.
noinst_LTLIBRARIES += tools/libref.la
tools_libref_la_SOURCES = tools/ref.c tools/ref.h tools/ref_judge.c tools/half.h
tools_libref_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
tools_libref_la_LIBADD = -lm

noinst_LTLIBRARIES += tools/libnpy.la
tools_libnpy_la_SOURCES = tools/npy.c tools/npy.h tools/npy_write.c
tools_libnpy_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
