/* What around the library makes attention slow, wrong or absent: driver, runtime, torch, variables.
 */
#ifndef AOTHIP_CHECK_ENV_H
#define AOTHIP_CHECK_ENV_H

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

/*
 * Looks at the driver below `root` ("" for this machine), the HIP runtime, aothip's images in
 * `images` (NULL: where the library finds them), the torch package in `torch` (NULL: python3 is
 * asked where it is) and the environment variables.
 */
void env_look(struct env_report *report, const char *root, const char *images, const char *torch);

/* Appends a finding; those beyond ENV_FINDINGS_MAX are dropped. */
void env_add(struct env_report *report, enum env_level level, const char *topic, const char *cure,
             const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Warns of GPUs of this machine that are not among `names`, GPUs or families that `who` has. */
void env_miss_gpus(struct env_report *report, const char *topic, const char *who,
                   const char *names);

/* The parts of env_look(). */
void env_look_at_driver(struct env_report *report, const char *root);
void env_look_at_torch(struct env_report *report, const char *torch);
/*
 * Lets python3 import the torch package in `directory` and adds what it says of flash attention,
 * and how a forced flash call went.
 */
void env_try_torch(struct env_report *report, const char *directory);
void env_look_at_variables(struct env_report *report);

/* Whether nothing failed. */
int env_passed(const struct env_report *report);

void env_print(const struct env_report *report);
void env_print_json(const struct env_report *report);

#endif
