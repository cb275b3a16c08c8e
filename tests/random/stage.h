/* Runs a scene on the current device, through the public C API alone. */
#ifndef RANDOM_STAGE_H
#define RANDOM_STAGE_H

#include "expect.h"
#include "scene.h"

enum { STAGE_TEXT = 2048 };

/* How the scene's GPU and matrix mode treat small numbers. */
struct expect_device stage_device(const struct draft *d);

/*
 * Sends the scene to the device, runs it as the draft says, and brings back what was written. False
 * if something was refused or failed, with a text.
 */
bool stage_run(struct aothip_context *context, struct scene *s, char text[STAGE_TEXT]);

#endif
