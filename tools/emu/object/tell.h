/* How the readers of files say what is wrong with them. */
#ifndef EMU_OBJECT_TELL_H
#define EMU_OBJECT_TELL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

__attribute__((format(printf, 3, 4))) static inline void tell(char *err, size_t errlen,
                                                              const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (err && errlen)
        vsnprintf(err, errlen, format, ap);
    va_end(ap);
}

/* What went wrong, as the result that says so. */
#define fail(...) (tell(__VA_ARGS__), false)

#endif
