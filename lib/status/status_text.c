/* Error codes and their texts, the error object, and each thread's last error. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "variable.h"

static _Thread_local struct status last;

#define STATUS(name, value, text) _Static_assert((int)name == (value), #name);
#include "status.def"
#undef STATUS

static const struct {
    const char *name, *text;
} known[] = {
#define STATUS(name, value, text) [value] = {#name, text},
#include "status.def"
#undef STATUS
};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

enum aothip_status status_publish(const struct status *status, enum status_log level)
{
    if (status->code == AOTHIP_OK)
        return AOTHIP_OK;
    last.code = status->code;
    last.hip_error = status->hip_error;
    memcpy(last.text, status->text, strlen(status->text) + 1);
    if (level >= STATUS_LOG_FAILURES)
        status_print("%s: %s", aothip_status_name(status->code), status->text);
    return status->code;
}

enum aothip_status status_refuse_null(const char *name)
{
    struct status why;
    status_clear(&why);
    status_set(&why, AOTHIP_E_ARGUMENT, "%s is NULL", name);
    return status_publish(&why, status_log_level());
}

void status_print(const char *format, ...)
{
    /* One fprintf, so that the lines of several threads stay whole. */
    char line[STATUS_TEXT_MAX + 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "aothip: %s\n", line);
}

enum status_log status_log_level(void)
{
    const char *text = variable_get("AOTHIP_LOG");
    if (text && strcmp(text, "1") == 0)
        return STATUS_LOG_FAILURES;
    return text && strcmp(text, "2") == 0 ? STATUS_LOG_ALL : STATUS_LOG_OFF;
}

const struct status *status_last(void)
{
    return &last;
}

const char *aothip_status_name(enum aothip_status status)
{
    return (unsigned)status < KNOWN ? known[status].name : "AOTHIP_E_?";
}

const char *aothip_status_text(enum aothip_status status)
{
    return (unsigned)status < KNOWN ? known[status].text : "unknown status";
}

const char *aothip_last_error(void)
{
    return last.text;
}

int aothip_last_hip_error(void)
{
    return last.hip_error;
}

enum aothip_status aothip_set_error(enum aothip_status status, const char *text)
{
    struct status why;
    status_clear(&why);
    status_record(&why, status, "%s", text ? text : "");
    return status_publish(&why, status_log_level());
}
