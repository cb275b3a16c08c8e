/* What a torch package says of flash attention when it is used. */
#ifndef AOTHIP_CHECK_LIVE_H
#define AOTHIP_CHECK_LIVE_H

#include "findings.h"

/*
 * Lets Python import the torch package in `directory` and adds what it says of flash attention,
 * and how a forced flash call went.
 */
void env_try_torch(struct env_report *report, const char *directory);

#endif
