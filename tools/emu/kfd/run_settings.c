/* How kernels run, from the environment, and the log. */
#include "kfd.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kfd_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool is(const char *name, const char *word)
{
    const char *text = getenv(name);
    return text && strcmp(text, word) == 0;
}

static uint64_t number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : 0;
}

static void read_environment(void)
{
    uint64_t threads = number("AOTHIP_EMU_THREADS");
    settings.log = is("AOTHIP_KFD_LOG", "1");
    settings.matrix = is("AOTHIP_EMU_MATRIX", "exact")         ? EMU_MATRIX_EXACT
                      : is("AOTHIP_EMU_MATRIX", "hw")          ? EMU_MATRIX_HW
                      : is("AOTHIP_EMU_MATRIX", "adversarial") ? EMU_MATRIX_ADVERSARIAL
                                                               : EMU_MATRIX_F32;
    settings.seed = number("AOTHIP_EMU_SEED");
    settings.threads = threads > 256 ? 256 : (unsigned)threads;
    if (is("AOTHIP_EMU_MODE", "strict"))
        fputs("hipemu-kfd: strict mode is not available behind AMD's runtime; running plain\n",
              stderr);
}

const struct kfd_settings *kfd_settings(void)
{
    pthread_once(&once, read_environment);
    return &settings;
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
    if (!kfd_settings()->log)
        return;
    va_start(ap, format);
    say(format, ap);
    va_end(ap);
}
