/* A Python of this machine that is asked something: each system starts processes in its own way. */
#ifndef AOTHIP_CHECK_PYTHON_H
#define AOTHIP_CHECK_PYTHON_H

#include <stdint.h>
#include <stdio.h>

/*
 * The beginning of a script. `python3 -c` puts the current directory first on its path, and a
 * torch/ there would be run. -I and -P are no way out: the one hides what the user has installed
 * and PYTHONPATH, the other came with 3.11. So the script takes it away before it imports anything
 * but sys, which is built in; what else Python itself imports when it starts does not come from
 * there. Names in PYTHONPATH that stand for the current directory go too: what stays begins with a
 * slash, a drive or two backslashes. Without quotes.
 */
#define PYTHON_PATH_FIRST                                                                          \
    "import sys; sys.path[:] = [p for p in sys.path"                                               \
    " if p[:1] == chr(47) or p[1:2] == chr(58) or p[:2] == 2 * chr(92)]\n"

/* What Python is called here, for messages. */
extern const char python_name[];

struct python {
    FILE *output;            /* what it prints; NULL if it could not be started */
    intptr_t process, watch; /* the system's own */
};

/*
 * Starts Python with a script that holds no double quotes, and lets it run for at most five
 * minutes. What it says of errors goes nowhere. `path` becomes PYTHONPATH, unless it is NULL.
 */
void python_start(struct python *python, const char *script, const char *path);

/* Waits for its end. 0 if all went well, or it never started; else `why` says how it ended. */
int python_end(struct python *python, char *why, size_t room);

#endif
