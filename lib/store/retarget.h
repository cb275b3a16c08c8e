/*
 * Code of one GPU under the name of another that runs it as it is: a sibling of images/matrix.def.
 */
#ifndef AOTHIP_RETARGET_H
#define AOTHIP_RETARGET_H

#include <stddef.h>

/*
 * Renames the code object of an offload bundle in place, from GPU `from` to `to`: in the bundle's
 * table, in e_flags and in the metadata note. Both are plain names of the same length. Returns
 * NULL, or what is wrong; static text.
 */
const char *retarget_bundle(void *bundle, size_t size, const char *from, const char *to);

#endif
