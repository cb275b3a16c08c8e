/* Runs problems in child processes. */
#include "trial.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char gpus[] = "gfx90a,gfx942,gfx1100,gfx1151,gfx950,gfx1201";

double trial_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct draft trial_draft(uint64_t seed, int64_t number, int count)
{
    struct draft d = draft_draw(seed, (uint64_t)number);
    uint64_t lot = draft_hash(seed + 1, (uint64_t)(number / count));

    d.matrix = lot % 2 ? 0 : (int)(lot / 2 % 4); /* mostly f32 */
    d.order = (int)(lot / 8 % 5);
    return d;
}

/* A problem that takes so long hangs: of processor time, or where it has come to rest. */
static void set_timers(void)
{
    struct itimerval cpu = {.it_value = {.tv_sec = TRIAL_SECONDS}};

    setitimer(ITIMER_PROF, &cpu, NULL);
    alarm(20 * TRIAL_SECONDS);
}

enum { NO_IMAGES = 99 }; /* exit status, also of a test that cannot begin */

static void set_up(const struct draft *d, struct aothip_context **context)
{
    static const char *const modes[] = {"f32", "exact", "hw", "adversarial"};
    char order[16];

    snprintf(order, sizeof(order), "%d", d->order);
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    setenv("AOTHIP_EMU_GPU", gpus, 1);
    setenv("AOTHIP_EMU_MATRIX", modes[d->matrix], 1);
    setenv("AOTHIP_EMU_SEED", order, 1);
    setenv("AOTHIP_EMU_THREADS", "1", 1);
    if (aothip_open(NULL, context)) {
        printf("Bail out! %s\n", aothip_last_error());
        fflush(stdout);
        _exit(NO_IMAGES);
    }
}

/* Whether all is right; "" in the text if there are no images for this GPU. */
static bool run(struct aothip_context *context, const struct draft *d, struct verdict *v)
{
    static struct scene s;
    bool good;

    *v = (struct verdict){0};
    if (aothip_check_device(context, d->gpu) == AOTHIP_E_NO_IMAGES)
        return true;
    scene_make(d, &s);
    good = stage_run(context, &s, v->text);
    if (good) {
        judge(&s, v);
        good = !v->wrong;
    }
    scene_free(&s);
    return good;
}

static void note(struct trial_result *r, int64_t number, const char *text)
{
    if (r->failures == TRIAL_FAILURES)
        return;
    r->failed[r->failures] = number;
    snprintf(r->text[r->failures++], STAGE_TEXT, "%s", text);
}

static void run_lot(uint64_t seed, int64_t first, int count, double end, struct trial_result *r)
{
    struct draft d = trial_draft(seed, first, count);
    struct aothip_context *context;
    struct verdict v;
    int64_t i;

    set_up(&d, &context);
    for (i = first; i < first + count && trial_clock() < end; i++) {
        r->current = i;
        d = trial_draft(seed, i, count);
        set_timers();
        if (!run(context, &d, &v))
            note(r, i, v.text);
        r->most = v.most > r->most ? v.most : r->most;
        r->of_op[d.op]++;
        r->of_gpu[d.gpu]++;
        r->done++;
    }
    r->current = -1;
    aothip_close(context);
}

/* Waits for a child; how it died, or NULL. */
static const char *await(pid_t child, char room[64])
{
    int status;

    if (waitpid(child, &status, 0) != child)
        return "crash: the process is lost";
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_IMAGES) /* it has said so */
        exit(NO_IMAGES);
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM))
        snprintf(room, 64, "hang: it took more than %d seconds", TRIAL_SECONDS);
    else if (WIFSIGNALED(status))
        snprintf(room, 64, "crash: signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status))
        snprintf(room, 64, "crash: exit status %d", WEXITSTATUS(status));
    else
        return NULL;
    return room;
}

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    return memory;
}

void trial_run_lot(uint64_t seed, int64_t first, int count, double end, struct trial_result *r)
{
    struct trial_result *shared = share(sizeof(*shared));
    const char *death;
    char room[64];
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child < 0)
        abort();
    if (!child) {
        run_lot(seed, first, count, end, shared);
        exit(0);
    }
    death = await(child, room);
    if (death)
        note(shared, shared->current, death);
    *r = *shared;
    munmap(shared, sizeof(*shared));
}

bool trial_run_one(const struct draft *d, char text[STAGE_TEXT])
{
    struct verdict *shared = share(sizeof(*shared));
    const char *death;
    char room[64];
    pid_t child;
    bool good;

    fflush(stdout);
    child = fork();
    if (child < 0)
        abort();
    if (!child) {
        struct aothip_context *context;
        set_up(d, &context);
        set_timers();
        good = run(context, d, shared);
        aothip_close(context);
        shared->wrong = !good;
        exit(0);
    }
    death = await(child, room);
    if (death)
        snprintf(shared->text, sizeof(shared->text), "%s", death);
    good = !death && !shared->wrong;
    snprintf(text, STAGE_TEXT, "%s", shared->text);
    munmap(shared, sizeof(*shared));
    return good;
}
