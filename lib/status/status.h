/* Failures: the code, HIP's code if HIP was the cause, and one line of text that names the culprit.
 */
#ifndef AOTHIP_STATUS_H
#define AOTHIP_STATUS_H

#include "aothip/aothip.h"

enum { STATUS_TEXT_MAX = 512 };

/* Carries a failure from where it happened to the API. The first failure set wins. */
struct status {
    enum aothip_status code;
    int hip_error;
    char text[STATUS_TEXT_MAX];
};

/* Levels of the environment variable AOTHIP_LOG. */
enum status_log { STATUS_LOG_OFF = 0, STATUS_LOG_FAILURES = 1, STATUS_LOG_ALL = 2 };

/* Makes `status` a success; the text stays untouched until a failure is set. */
static inline void status_clear(struct status *status)
{
    status->code = AOTHIP_OK;
    status->hip_error = 0;
    status->text[0] = '\0';
}

/* Records a failure unless there is one already, and returns the code recorded. */
enum aothip_status status_record(struct status *status, enum aothip_status code, const char *format,
                                 ...) __attribute__((format(printf, 3, 4), cold));

/* The same for a code that is a failure's, which compilers and analysers then know of the result.
 */
#define status_set(...) status_failed(status_record(__VA_ARGS__))

static inline enum aothip_status status_failed(enum aothip_status code)
{
    if (code == AOTHIP_OK)
        __builtin_unreachable();
    return code;
}

/*
 * Ends an API call: a failure becomes the thread's last error and, at STATUS_LOG_FAILURES, a line
 * on stderr. Returns the code.
 */
enum aothip_status status_publish(const struct status *status, enum status_log level);

/* Fails a call whose argument `name` is NULL where there is no context: AOTHIP_LOG is read now. */
enum aothip_status status_refuse_null(const char *name);

/* One line on stderr. */
void status_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What AOTHIP_LOG asks for; read when a context is opened, never on the way to a launch. */
enum status_log status_log_level(void);

/* The calling thread's last failure. */
const struct status *status_last(void);

#endif
