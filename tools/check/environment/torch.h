/* Which libaotriton, images and HIP runtime a torch package would load. */
#ifndef AOTHIP_CHECK_TORCH_H
#define AOTHIP_CHECK_TORCH_H

#include "findings.h"

/* Adds what it finds in the package directory `torch`; NULL: Python is asked where torch is. */
void env_look_at_torch(struct env_report *report, const char *torch);

#endif
