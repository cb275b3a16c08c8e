/* This program run once more, beside itself: each system starts processes in its own way. */
#ifndef AOTHIP_OWN_PROGRAM_H
#define AOTHIP_OWN_PROGRAM_H

#include <stdint.h>
#include <stdio.h>

struct own_program {
    FILE *output;     /* what it prints */
    intptr_t process; /* the system's own */
};

/* Starts it with arguments up to NULL, the first of which is its name; what it says of errors goes
 * nowhere. 0, or -1 if it could not be started. */
int own_program_start(struct own_program *run, char *const *arguments);

/* Waits for its end; 0 if all went well. */
int own_program_end(struct own_program *run);

#endif
