/* What a torch package says of flash attention when it is used. */
#ifndef AOTHIP_CHECK_LIVE_H
#define AOTHIP_CHECK_LIVE_H

#include "findings.h"

/*
 * The beginning of a script for `python3 -c`: leaves out of the search path what stands for the
 * current directory. Without quotes, and ends with its line.
 */
#define ENV_PYTHON_PATH "import sys; sys.path[:] = [p for p in sys.path if p[:1] == chr(47)]\n"

/*
 * Lets python3 import the torch package in `directory` and adds what it says of flash attention,
 * and how a forced flash call went.
 */
void env_try_torch(struct env_report *report, const char *directory);

#endif
