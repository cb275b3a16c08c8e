/* Options, messages, --version and progress of the command-line programs. */
#include "cli.h"

#include "aothip/aothip.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *cli_name = "aothip";

void cli_say(const char *format, ...)
{
    va_list ap;
    cli_progress_end();
    fprintf(stderr, "%s: ", cli_name);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
}

void cli_usage_error(const char *format, ...)
{
    va_list ap;
    fprintf(stderr, "%s: ", cli_name);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fprintf(stderr, " (see %s --help)\n", cli_name);
    exit(CLI_USAGE);
}

/* Nowhere is an empty text a file, a directory, a GPU or a number: a shell's variable was empty. */
static void refuse_empty(int option, const struct option *options)
{
    if (option == -1 || !optarg || *optarg)
        return;
    for (; options->name; options++)
        if (options->val == option)
            cli_usage_error("option --%s needs a value; given is an empty one", options->name);
    cli_usage_error("option -%c needs a value; given is an empty one", option);
}

int cli_option(int argc, char **argv, const char *letters, const struct option *options)
{
    const struct option *o;
    int option;

    opterr = 0;
    option = getopt_long(argc, argv, letters, options, NULL);
    if (option != '?' && option != ':') {
        refuse_empty(option, options);
        return option;
    }
    if (!optopt)
        cli_usage_error("unknown option %s", argv[optind - 1]);
    for (o = options; o->name; o++)
        if (o->val == optopt && o->has_arg == required_argument)
            cli_usage_error("option --%s needs a value", o->name);
        else if (o->val == optopt)
            cli_usage_error("option --%s takes no value", o->name);
    cli_usage_error("unknown option -%c", optopt);
}

int cli_common(int option, const char *help, int last_device, struct cli_common *common)
{
    switch (option) {
    case CLI_DEVICE:
        common->device = cli_int("--device", optarg, 0, last_device);
        return 1;
    case CLI_EMULATE:
        common->emulate = optarg;
        return 1;
    case CLI_IMAGES:
        common->images = optarg;
        return 1;
    case CLI_HELP:
        fputs(help, stdout);
        exit(cli_end(CLI_OK));
    case CLI_VERSION:
        cli_print_version();
        exit(cli_end(CLI_OK));
    }
    return 0;
}

static void store(const struct cli_setting *s)
{
    char name[64];

    snprintf(name, sizeof(name), "--%s", s->name);
    if (s->flag)
        *s->flag = s->value;
    else if (s->text)
        *s->text = optarg;
    else if (s->list && s->list->count == CLI_LIST_MAX)
        cli_usage_error("%s is given more than %d times", name, CLI_LIST_MAX);
    else if (s->list)
        s->list->item[s->list->count++] = optarg;
    else
        *s->number = cli_int(name, optarg, s->low, s->high);
}

void cli_parse(int argc, char **argv, const struct cli_setting *settings, const char *help,
               int last_device, struct cli_common *common)
{
    static const struct option last[] = {CLI_COMMON_OPTIONS, {0}};
    enum { FIRST = CLI_DEVICE - CLI_SETTINGS_MAX };
    struct option known[CLI_SETTINGS_MAX + sizeof(last) / sizeof(last[0])];
    int option, count;

    for (count = 0; count < CLI_SETTINGS_MAX && settings[count].name; count++)
        known[count] = (struct option){settings[count].name,
                                       settings[count].flag ? no_argument : required_argument, NULL,
                                       FIRST + count};
    memcpy(known + count, last, sizeof(last));
    while ((option = cli_option(argc, argv, ":", known)) != -1)
        if (!cli_common(option, help, last_device, common))
            store(&settings[option - FIRST]);
}

int cli_int(const char *option, const char *text, int low, int high)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < low || value > high)
        cli_usage_error("%s %s: wanted is a whole number from %d to %d", option, text, low, high);
    return (int)value;
}

double cli_number(const char *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        cli_usage_error("%s %s: wanted is a finite number", option, text);
    return value;
}

void cli_print_version(void)
{
    char built[32];
    snprintf(built, sizeof(built), "%d.%d.%d", AOTHIP_VERSION_MAJOR, AOTHIP_VERSION_MINOR,
             AOTHIP_VERSION_PATCH);
    if (!strcmp(built, aothip_version()))
        printf("%s %s\n", cli_name, built);
    else
        printf("%s %s with libaothip %s\n", cli_name, built, aothip_version());
}

int cli_end(int status)
{
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    cli_say("standard output cannot be written");
    return CLI_FAILED;
}

static int progress_shown;

void cli_progress(const char *format, ...)
{
    va_list ap;
    if (!isatty(STDERR_FILENO))
        return;
    cli_progress_end();
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fflush(stderr);
    progress_shown = 1;
}

void cli_progress_end(void)
{
    if (progress_shown)
        fputs("\r\033[K", stderr);
    progress_shown = 0;
}
