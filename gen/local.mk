# aothip-gen (matrix to ninja file) and aothip-pack (code objects to image files): build tools.
noinst_PROGRAMS += gen/aothip-gen gen/aothip-pack

gen_matrix_sources = gen/matrix.c gen/matrix_query.c gen/matrix_query.h gen/matrix.h gen/matrix_record.h gen/matrix_check.c gen/matrix_check.h \
	gen/suggest.c gen/suggest.h gen/gen_file.c gen/gen_file.h
gen_image_sources = gen/image.c gen/image.h gen/object.c gen/object.h gen/msgpack.c gen/msgpack.h

gen_aothip_gen_SOURCES = gen/gen.c $(gen_matrix_sources)

gen_aothip_pack_SOURCES = lib/store/target.c lib/store/target.h gen/pack.c gen/write_bundle.c gen/write_bundle.h gen/image_compare.c gen/image_compare.h \
	$(gen_matrix_sources) $(gen_image_sources)
gen_aothip_pack_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
gen_aothip_pack_LDADD = $(ZSTD_LIBS)

# Sources of the kernels: read by clang, not by this compiler.
EXTRA_DIST += gen/kernel
