/* The files of a torch package. */
#ifndef AOTHIP_CHECK_TORCH_PACKAGE_H
#define AOTHIP_CHECK_TORCH_PACKAGE_H

#include "findings.h"

enum { TORCH_PATH = 4096 }; /* bytes for a file's name */

/* The first file in `directory` whose name begins with `prefix`, by the alphabet; 0 if found. */
int torch_find_file(const char *directory, const char *prefix, char path[TORCH_PATH]);

/* Whether a library in AOTriton's place is aothip, by what it asks the environment for. */
int torch_is_ours(const char *library);

/* "gfx90a gfx942": the GPUs that the directory's aotriton.images has. */
void torch_look_at_images(struct env_report *report, const char *directory);

#endif
