/* Codes, names and texts; the error object; each thread's last error. */
#include "status.h"

#include <pthread.h>

#include "tap.h"

static void test_names(void)
{
    is_str(aothip_status_name(AOTHIP_OK), "AOTHIP_OK", "name of 0");
    is_str(aothip_status_name(AOTHIP_E_MEMORY), "AOTHIP_E_MEMORY", "name of the last code");
    is_str(aothip_status_name((enum aothip_status)13), "AOTHIP_E_?", "name past the last code");
    is_str(aothip_status_name((enum aothip_status) - 1), "AOTHIP_E_?", "name of -1");
    is_str(aothip_status_text((enum aothip_status)99), "unknown status", "text of no code");
    for (int i = 0; i <= AOTHIP_E_MEMORY; i++)
        ok(aothip_status_text((enum aothip_status)i)[0], "code %d has a text", i);
}

static void test_first_wins(void)
{
    struct status why;
    char longer[2 * STATUS_TEXT_MAX];
    status_clear(&why);
    is_int(status_set(&why, AOTHIP_E_IO, "file %s", "a"), AOTHIP_E_IO, "set returns the code");
    is_int(status_set(&why, AOTHIP_E_HIP, "later"), AOTHIP_E_IO, "the first failure stays");
    is_str(why.text, "file a", "and its text");
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    status_clear(&why);
    status_set(&why, AOTHIP_E_IO, "%s", longer);
    is_int(strlen(why.text), STATUS_TEXT_MAX - 1, "a long text is cut, not overrun");
}

static void *other_thread(void *result)
{
    struct status why;
    *(int *)result = aothip_last_error()[0] == '\0' && aothip_last_hip_error() == 0;
    status_clear(&why);
    status_set(&why, AOTHIP_E_FORMAT, "other");
    status_publish(&why, STATUS_LOG_OFF);
    return NULL;
}

static void test_last_error(void)
{
    struct status why;
    pthread_t thread;
    int empty = 0;
    is_str(aothip_last_error(), "", "no failure yet");
    status_clear(&why);
    is_int(status_publish(&why, STATUS_LOG_OFF), AOTHIP_OK, "publishing a success");
    status_set(&why, AOTHIP_E_HIP, "mine");
    why.hip_error = 719;
    is_int(status_publish(&why, STATUS_LOG_OFF), AOTHIP_E_HIP, "publishing a failure");
    is_int(aothip_last_hip_error(), 719, "HIP's code travels beside");
    pthread_create(&thread, NULL, other_thread, &empty);
    pthread_join(thread, NULL);
    ok(empty, "another thread starts without a failure");
    is_str(aothip_last_error(), "mine", "and does not disturb this one's");
    status_clear(&why);
    status_publish(&why, STATUS_LOG_OFF);
    is_str(aothip_last_error(), "mine", "a success does not clear it");
    is_int(aothip_set_error(AOTHIP_E_UNSUPPORTED, "100 %s"), AOTHIP_E_UNSUPPORTED,
           "set from above");
    is_str(aothip_last_error(), "100 %s", "the text is no format");
    is_int(aothip_last_hip_error(), 0, "and no HIP error");
    aothip_set_error(AOTHIP_E_IO, NULL);
    is_str(aothip_last_error(), "", "no text");
}

static void test_log_level(void)
{
    static const struct {
        const char *value;
        int level;
    } cases[] = {{"", 0}, {"0", 0}, {"1", 1}, {"2", 2}, {"3", 0}, {"11", 0}, {"yes", 0}};
    unsetenv("AOTHIP_LOG");
    is_int(status_log_level(), 0, "AOTHIP_LOG unset");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv("AOTHIP_LOG", cases[i].value, 1);
        ok((int)status_log_level() == cases[i].level, "AOTHIP_LOG=%s is level %d", cases[i].value,
           cases[i].level);
    }
}

int main(void)
{
    test_names();
    test_first_wins();
    test_last_error();
    test_log_level();
    return tap_done();
}
