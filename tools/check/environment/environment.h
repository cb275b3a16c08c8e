/* What around the library makes attention slow, wrong or absent: driver, runtime, torch, variables.
 */
#ifndef AOTHIP_CHECK_ENV_H
#define AOTHIP_CHECK_ENV_H

#include "findings.h"

/*
 * Looks at the driver below `root` ("" for this machine), the HIP runtime, aothip's images in
 * `images` (NULL: where the library finds them), the torch package in `torch` (NULL: python3 is
 * asked where it is) and the environment variables.
 */
void env_look(struct env_report *report, const char *root, const char *images, const char *torch);

void env_print(const struct env_report *report);
void env_print_json(const struct env_report *report);

#endif
