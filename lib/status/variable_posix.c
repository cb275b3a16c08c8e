/* The environment on POSIX systems. */
#include "variable.h"

#include <stdlib.h>

const char *variable_get(const char *name)
{
    return secure_getenv(name);
}
