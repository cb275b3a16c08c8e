/* What aothip-check --environment found: facts, warnings, failures, each with its cure. */
#ifndef AOTHIP_CHECK_FINDINGS_H
#define AOTHIP_CHECK_FINDINGS_H

enum env_level {
    ENV_INFO, /* a fact */
    ENV_OK,
    ENV_WARN, /* works, but slower or otherwise than one may think */
    ENV_FAIL
};

enum { ENV_TEXT_MAX = 1024, ENV_FINDINGS_MAX = 128 };

/* One finding and, where it is no good news, its cure. */
struct env_finding {
    enum env_level level;
    const char *topic; /* "driver" */
    char text[ENV_TEXT_MAX];
    const char *cure; /* may be NULL */
};

struct env_report {
    char gpus[256]; /* what the driver drives: "gfx942 gfx90a" */
    int count;
    struct env_finding finding[ENV_FINDINGS_MAX];
};

/* Appends a finding; those beyond ENV_FINDINGS_MAX are dropped. */
void env_add(struct env_report *report, enum env_level level, const char *topic, const char *cure,
             const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Warns of GPUs of this machine that are not among `names`, GPUs or families that `who` has. */
void env_miss_gpus(struct env_report *report, const char *topic, const char *who,
                   const char *names);

/* Whether nothing failed. */
int env_passed(const struct env_report *report);

#endif
