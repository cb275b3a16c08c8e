/* What the command-line programs have in common: options, messages, --version, progress. */
#ifndef AOTHIP_CLI_H
#define AOTHIP_CLI_H

#include <getopt.h>

/* What stands between the directories of a path, unless the build for Windows says otherwise. */
#ifndef PATH_SEPARATORS
#define PATH_SEPARATORS "/"
#endif

/* Exit statuses: all is well; something is wrong with GPU, images or data; the command is wrong. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* Set first in main(); begins every message. */
extern const char *cli_name;

/* A line on stderr, "NAME: message". */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with a hint at --help, then exit(CLI_USAGE). */
void cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* getopt_long(); a wrong option, or an empty value, ends the program with one line that names it.
 */
int cli_option(int argc, char **argv, const char *letters, const struct option *options);

/*
 * What all programs that need a GPU take: --device N, --emulate GPU, --images DIR, --help and
 * --version. CLI_COMMON_OPTIONS goes into the options' table; cli_common() handles one of its
 * values and returns 1, or 0 if it is none. After --help and --version the program ends.
 */
enum { CLI_DEVICE = 512, CLI_EMULATE, CLI_IMAGES, CLI_HELP, CLI_VERSION };
#define CLI_COMMON_OPTIONS                                                                         \
    {"device", required_argument, NULL, CLI_DEVICE},                                               \
        {"emulate", required_argument, NULL, CLI_EMULATE},                                         \
        {"images", required_argument, NULL, CLI_IMAGES}, {"help", no_argument, NULL, CLI_HELP},    \
    {                                                                                              \
        "version", no_argument, NULL, CLI_VERSION                                                  \
    }

struct cli_common {
    const char *emulate, *images; /* NULL: not given */
    int device;
};
enum { CLI_DEVICE_MAX = 1 << 20 };
int cli_common(int option, const char *help, int last_device, struct cli_common *common);

enum { CLI_LIST_MAX = 64 };
struct cli_list {
    char *item[CLI_LIST_MAX];
    int count;
};

/*
 * One long option and where it is stored: a number without an argument, the argument itself, or the
 * argument as a whole number from `low` to `high`, or each argument of an option that may be given
 * several times. One of `flag`, `text`, `number` and `list` is not NULL.
 */
struct cli_setting {
    const char *name;
    int *flag, value; /* *flag = value */
    const char **text;
    int *number, low, high;
    struct cli_list *list;
};
enum { CLI_SETTINGS_MAX = 24 };

/* Takes these options, of which the last has no name, and the common ones from the command. */
void cli_parse(int argc, char **argv, const struct cli_setting *settings, const char *help,
               int last_device, struct cli_common *common);

/* A whole number, or a finite one; anything else is a usage error that names `option`. */
int cli_int(const char *option, const char *text, int low, int high);
double cli_number(const char *option, const char *text);

/* "NAME 0.1.0" and, if another one runs, the library's version. */
void cli_print_version(void);

/*
 * Ends what goes to stdout: `status`, the program's, or CLI_FAILED and a line on stderr where not
 * all of it could be written.
 */
int cli_end(int status);

/* A line on stderr that the next one overwrites; nothing unless stderr is a terminal. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_progress_end(void);

#endif
