/* What the driver's stand-in says: always, or with AOTHIP_KFD_LOG=1 only. */
#include "kfd.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool wanted;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_wish(void)
{
    const char *text = getenv("AOTHIP_KFD_LOG");
    wanted = text && strcmp(text, "1") == 0;
}

static void say(const char *format, va_list ap)
{
    char line[4096];
    vsnprintf(line, sizeof line, format, ap);
    fprintf(stderr, "hipemu-kfd: %s\n", line);
}

void kfd_say(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say(format, ap);
    va_end(ap);
}

void kfd_log(const char *format, ...)
{
    va_list ap;
    pthread_once(&once, read_wish);
    if (!wanted)
        return;
    va_start(ap, format);
    say(format, ap);
    va_end(ap);
}
