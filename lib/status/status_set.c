/* Records a failure; apart from status_text.c so that programs of their own can use the hip room. */
#include <stdarg.h>
#include <stdio.h>

#include "status.h"

enum aothip_status status_record(struct status *status, enum aothip_status code, const char *format,
                                 ...)
{
    va_list arguments;
    if (status->code != AOTHIP_OK)
        return status->code;
    status->code = code;
    va_start(arguments, format);
    vsnprintf(status->text, sizeof(status->text), format, arguments);
    va_end(arguments);
    return code;
}
