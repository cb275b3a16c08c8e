/* The GPUs' driver, and rights of files: what each system has its own ways for. */
#ifndef AOTHIP_CHECK_DRIVER_H
#define AOTHIP_CHECK_DRIVER_H

#include "findings.h"

/* Looks at the driver below `root` ("" for this machine), and notes its GPUs where it names them.
 */
void env_look_at_driver(struct env_report *report, const char *root);

/* Warns if everybody may write in an image directory. */
void env_look_at_rights(struct env_report *report, const char *directory);

#endif
