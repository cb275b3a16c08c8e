/* What the command-line programs have in common: options, messages, --version, progress. */
#ifndef AOTHIP_CLI_H
#define AOTHIP_CLI_H

#include <getopt.h>

/* Exit statuses: all is well; something is wrong with GPU, images or data; the command is wrong. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* Set first in main(); begins every message. */
extern const char *cli_name;

/* A line on stderr, "NAME: message". */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with a hint at --help, then exit(CLI_USAGE). */
void cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* getopt_long(); a wrong option ends the program with one line that names it. */
int cli_option(int argc, char **argv, const char *letters, const struct option *options);

/* A whole number, or a finite one; anything else is a usage error that names `option`. */
int cli_int(const char *option, const char *text, int low, int high);
double cli_number(const char *option, const char *text);

/* "NAME 0.1.0" and, if another one runs, the library's version. */
void cli_print_version(void);

/* A line on stderr that the next one overwrites; nothing unless stderr is a terminal. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_progress_end(void);

#endif
