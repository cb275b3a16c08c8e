/* Which libaotriton, images and HIP runtime a torch package would load. */
#ifndef AOTHIP_CHECK_TORCH_H
#define AOTHIP_CHECK_TORCH_H

#include "findings.h"

enum { TORCH_PATH = 4096 }; /* bytes for a file's name */

/* Adds what it finds in the package directory `torch`; NULL: Python is asked where torch is. */
void env_look_at_torch(struct env_report *report, const char *torch);

/* Of each system its own: which HIP runtime the package loads, and which attention. */
void torch_look_at_libraries(struct env_report *report, const char *torch);

/* What its body asks for on every system. */

/* The first file in `directory` whose name begins with `prefix`, by the alphabet; 0 if found. */
int torch_find_file(const char *directory, const char *prefix, char path[TORCH_PATH]);

/* Whether a library in AOTriton's place is aothip, by what it asks the environment for. */
int torch_is_ours(const char *library);

/* "gfx90a gfx942": the GPUs that the directory's aotriton.images has. */
void torch_look_at_images(struct env_report *report, const char *directory);

#endif
