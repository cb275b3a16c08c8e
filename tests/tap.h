/*
 * TAP output for C tests: one header, no state beyond two counters.
 *
 *     int main(void) { ok(1 + 1 == 2, "addition"); is_int(f(), 3, "f"); return tap_done(); }
 *
 * A failed check prints where it stands and goes on; the exit status is 1 if any failed.
 */
#ifndef AOTHIP_TAP_H
#define AOTHIP_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Whether this program is built with sanitizers, under which the emulator takes five times as long:
 * tests that try much on it then try less. What they try is all host code, again and again.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAP_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TAP_SANITIZED 1
#endif
#endif
#ifndef TAP_SANITIZED
#define TAP_SANITIZED 0
#endif

/* Whether whoever runs the tests is changing something and waits: tools/test --quick. */
__attribute__((unused)) static int tap_quick(void)
{
    const char *asked = getenv("AOTHIP_TEST_QUICK");
    return asked && *asked;
}

/* Of what a test tries much of on the emulator: one in so many. */
__attribute__((unused)) static int tap_one_in(int sanitized, int quick)
{
    return tap_quick() ? quick : TAP_SANITIZED ? sanitized : 1;
}

static int tap_count, tap_failed;

__attribute__((format(printf, 4, 5), unused)) static int tap_result(int good, const char *file,
                                                                    int line, const char *fmt, ...)
{
    va_list ap;
    printf("%s %d - ", good ? "ok" : "not ok", ++tap_count);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    if (!good) {
        tap_failed++;
        printf("# failed at %s:%d\n", file, line);
    }
    fflush(stdout);
    return good;
}

#define ok(cond, ...) tap_result(!!(cond), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((unused)) static int tap_is_int(long long got, long long want, const char *file,
                                              int line, const char *what)
{
    int good = tap_result(got == want, file, line, "%s", what);
    if (!good)
        printf("#      got %lld (0x%llx)\n# expected %lld (0x%llx)\n", got, got, want, want);
    return good;
}
#define is_int(got, want, what)                                                                    \
    tap_is_int((long long)(got), (long long)(want), __FILE__, __LINE__, what)

__attribute__((unused)) static int tap_is_str(const char *got, const char *want, const char *file,
                                              int line, const char *what)
{
    int good = tap_result(got && want && !strcmp(got, want), file, line, "%s", what);
    if (!good)
        printf("#      got \"%s\"\n# expected \"%s\"\n", got ? got : "(null)",
               want ? want : "(null)");
    return good;
}
#define is_str(got, want, what) tap_is_str(got, want, __FILE__, __LINE__, what)

/* Passes if `needle` occurs in `text`: for messages that must name the culprit. */
__attribute__((unused)) static int tap_contains(const char *text, const char *needle,
                                                const char *file, int line, const char *what)
{
    int good = tap_result(text && strstr(text, needle), file, line, "%s", what);
    if (!good)
        printf("#  text \"%s\"\n# lacks \"%s\"\n", text ? text : "(null)", needle);
    return good;
}
#define contains(text, needle, what) tap_contains(text, needle, __FILE__, __LINE__, what)

__attribute__((unused)) static void tap_diag(const char *fmt, ...)
{
    va_list ap;
    printf("# ");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

/* The whole test cannot run here; says why. */
__attribute__((unused, noreturn)) static void tap_skip_all(const char *why)
{
    printf("1..0 # SKIP %s\n", why);
    exit(0);
}

__attribute__((unused)) static int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed ? 1 : 0;
}

#endif
