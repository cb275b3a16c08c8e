/*
 * Random attention problems on the emulated GPUs, held against the header.
 *
 *     check_random [--seconds N] [--seed N] [--failures N] [--all]
 *     check_random [--shrink] NAME=VALUE...
 *
 * The first form draws problems of a seed, for so many seconds, or a fixed number of them, so that
 * the test does the same on every machine. Each that is not computed as the header says is shrunk
 * and told as one line, which the second form runs by itself, or shrinks. --all draws on after so
 * many failures, without shrinking.
 */
#include <math.h>

#include "shrink.h"
#include "trial.h"

#include "tap.h"

enum { LOT = 128, LOTS = 12, SHRINK_TRIES = 400 };

struct options {
    double seconds; /* 0: LOTS, a part of them under sanitizers or in a hurry */
    uint64_t seed;
    int failures;
    bool all, shrink;
};

/* Of a failure what comes before the first colon, "o" or "refused"; of a fault what the emulator
 * says of it first, such as "read of". */
struct kind {
    char text[32];
};

static struct kind kind_of(const char *text)
{
    const char *fault = strstr(text, "): ");
    struct kind k;

    if (!strncmp(text, "fault", 5) && fault)
        snprintf(k.text, sizeof(k.text), "%.10s", fault + 3);
    else
        snprintf(k.text, sizeof(k.text), "%.*s", (int)strcspn(text, ":"), text);
    return k;
}

static bool fails_likewise(const struct draft *d, void *user)
{
    char text[STAGE_TEXT];

    return !trial_run_one(d, text) && !strcmp(kind_of(text).text, ((struct kind *)user)->text);
}

/* The failure's text, each line as a diagnostic, and the line that reproduces it. */
static void print(const char *title, const struct draft *d, const char *text)
{
    char line[DRAFT_LINE_MAX];
    const char *at;

    tap_diag("%s:", title);
    for (at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        tap_diag("  %.*s", (int)strcspn(at, "\n"), at);
    draft_print(d, line);
    tap_diag("  reproduce: tests/random/check_random %s", line);
    fflush(stdout);
}

static void shrink_and_print(const char *name, struct draft *d, const char *first)
{
    struct kind kind = kind_of(first);
    char title[96], text[STAGE_TEXT];
    int tries = shrink(d, fails_likewise, &kind, SHRINK_TRIES);

    if (trial_run_one(d, text))
        tap_diag("  it does not fail alone: look at what ran before it");
    snprintf(title, sizeof(title), "%s, shrunk in %d tries", name, tries);
    print(title, d, text);
}

static void report(const struct options *o, int64_t number, const char *first)
{
    struct draft d = trial_draft(o->seed, number, LOT);
    char name[64];

    snprintf(name, sizeof(name), "problem %lld", (long long)number);
    print(name, &d, first);
    if (!o->all)
        shrink_and_print(name, &d, first);
}

static int draw(const struct options *o)
{
    double begin = trial_clock(), most = 0, paused = 0;
    double end = o->seconds > 0 ? begin + o->seconds : HUGE_VAL;
    int64_t first, done = 0, of_op[3] = {0}, of_gpu[DRAFT_GPUS] = {0};
    int64_t last = o->seconds > 0 ? INT64_MAX - LOT : LOT * (LOTS / tap_one_in(6, 6));
    int failures = 0, i;

    tap_diag("seed %llu", (unsigned long long)o->seed);
    for (first = 0; first < last && trial_clock() < end && (failures < o->failures || o->all);
         first += LOT) {
        struct trial_result r;
        trial_run_lot(o->seed, first, LOT, end, &r);
        done += r.done;
        most = r.most > most ? r.most : most;
        for (i = 0; i < 3; i++)
            of_op[i] += r.of_op[i];
        for (i = 0; i < DRAFT_GPUS; i++)
            of_gpu[i] += r.of_gpu[i];
        for (i = 0; i < r.failures && (failures < o->failures || o->all); i++, failures++) {
            double now = trial_clock();
            tap_diag("after %.1f seconds and %lld problems:", now - begin - paused,
                     (long long)done);
            report(o, r.failed[i], r.text[i]);
            paused += trial_clock() - now;
            end += trial_clock() - now;
        }
    }
    tap_diag("%lld forward, %lld backward, %lld probs; gfx90a %lld, gfx942 %lld, gfx1100 %lld, "
             "gfx1151 %lld, gfx950 %lld, gfx1201 %lld; at most %.2f of a tolerance was taken",
             (long long)of_op[0], (long long)of_op[1], (long long)of_op[2], (long long)of_gpu[0],
             (long long)of_gpu[1], (long long)of_gpu[2], (long long)of_gpu[3], (long long)of_gpu[4],
             (long long)of_gpu[5], most);
    ok(done > 0 && !failures, "%lld random problems, %d not as the header says", (long long)done,
       failures);
    return tap_done();
}

/* One problem, from its line. */
static int run_line(const struct options *o, int count, char **words)
{
    char line[DRAFT_LINE_MAX] = "", text[STAGE_TEXT];
    struct draft d;
    bool good;
    int i;

    for (i = 0; i < count; i++) {
        size_t used = strlen(line);
        snprintf(line + used, sizeof(line) - used, "%s ", words[i]);
    }
    if (!draft_parse(line, &d))
        return 2;
    draft_mend(&d);
    good = trial_run_one(&d, text);
    if (!good)
        print("it fails", &d, text);
    if (!good && o->shrink)
        shrink_and_print("it", &d, text);
    ok(good, "%s", line);
    return tap_done();
}

/* The children would each say so. */
static void need_images(void)
{
    struct aothip_context *context;

    if (aothip_open(NULL, &context)) {
        printf("Bail out! %s\n", aothip_last_error());
        exit(99);
    }
    aothip_close(context);
}

int main(int argc, char **argv)
{
    struct options o = {0, 14, 3, false, false};
    int i;

    for (i = 1; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--all"))
            o.all = true;
        else if (!strcmp(argv[i], "--shrink"))
            o.shrink = true;
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            o.seconds = strtod(argv[++i], NULL);
        else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            o.seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--failures") && i + 1 < argc)
            o.failures = atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: check_random [--seconds N] [--seed N] [--failures N] [--all]\n"
                            "       check_random [--shrink] NAME=VALUE...\n");
            return 2;
        }
    }
    need_images();
    return i < argc ? run_line(&o, argc - i, argv + i) : draw(&o);
}
