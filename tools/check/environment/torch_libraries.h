/* The libraries of a torch package, which each system calls otherwise. */
#ifndef AOTHIP_CHECK_TORCH_LIBRARIES_H
#define AOTHIP_CHECK_TORCH_LIBRARIES_H

#include "findings.h"

/* Adds which HIP runtime the package in the directory `torch` loads, and which attention. */
void torch_look_at_libraries(struct env_report *report, const char *torch);

#endif
