/* Writes the emulator's events as Chrome's trace events. */
#include "timeline.h"

#include "new_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timeline {
    struct new_file new;
    FILE *f; /* its stream */
    char *file;
    int launches;
    int began; /* 1: something stands in the list already */
};

static const char *const pipe_names[EMU_TIME_PIPES] = {
    "waves", "scalar", "vector", "transcendental", "matrix", "LDS", "memory", "waits", "waits",
};

struct timeline *timeline_open(const char *file, struct status *why)
{
    struct timeline *t = calloc(1, sizeof(*t));

    if (t)
        t->file = strdup(file);
    if (!t || !t->file) {
        free(t);
        status_set(why, AOTHIP_E_MEMORY, "no memory for the timeline");
        return NULL;
    }
    if (new_file_open(&t->new, file)) {
        status_set(why, AOTHIP_E_IO, "%s: cannot be written: %s", file, strerror(errno));
        free(t->file);
        free(t);
        return NULL;
    }
    t->f = t->new.f;
    fprintf(t->f, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
    return t;
}

static void print_string(FILE *f, const char *text)
{
    putc('"', f);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(f, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(f, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            putc(*text, f);
    putc('"', f);
}

/* When a wave was seen, and the slot of its SIMD that it gets: no two at a time have the same. */
struct life {
    uint32_t group, wave, simd, slot;
    uint64_t start, end;
};

/* The tracks of what goes on in parallel: until when each is taken. */
struct lanes {
    uint64_t *busy;
    size_t count;
};

struct layout {
    struct emu_time_event *event; /* ordered by their start */
    struct life *life;
    size_t lives;
    struct lanes lanes[EMU_TIME_PIPES];
};

static int by_start(const void *a, const void *b)
{
    const struct emu_time_event *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int by_wave(const void *a, const void *b)
{
    const struct life *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->wave > y->wave) - (x->wave < y->wave);
}

static int by_life(const void *a, const void *b)
{
    const struct life *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return by_wave(a, b);
}

/* Takes the first lane that is free from `start` to `end`; (size_t)-1 when memory runs out. */
static size_t take_lane(struct lanes *lanes, uint64_t start, uint64_t end)
{
    size_t i;
    uint64_t *busy;

    for (i = 0; i < lanes->count && lanes->busy[i] > start; i++)
        ;
    if (i == lanes->count) {
        busy = realloc(lanes->busy, (i + 1) * sizeof(*busy));
        if (!busy)
            return (size_t)-1;
        lanes->busy = busy;
        lanes->count++;
    }
    lanes->busy[i] = end;
    return i;
}

static void free_lanes(struct layout *l)
{
    for (int i = 0; i < EMU_TIME_PIPES; i++) {
        free(l->lanes[i].busy);
        l->lanes[i] = (struct lanes){0};
    }
}

static struct life *find_life(const struct layout *l, const struct emu_time_event *e)
{
    const struct life key = {.group = e->group, .wave = e->wave};

    return bsearch(&key, l->life, l->lives, sizeof(key), by_wave);
}

/* From the first to the last that was seen of each wave; in order of groups and waves. */
static void find_lives(struct layout *l, size_t events)
{
    size_t i, kept = 0;

    for (i = 0; i < events; i++) {
        const struct emu_time_event *e = &l->event[i];
        l->life[i] = (struct life){e->group, e->wave, e->simd, 0, e->start, e->end};
    }
    qsort(l->life, events, sizeof(*l->life), by_wave);
    for (i = 0; i < events; i++) {
        struct life *last = kept ? &l->life[kept - 1] : NULL;
        if (!last || by_wave(last, &l->life[i])) {
            l->life[kept++] = l->life[i];
            continue;
        }
        if (l->life[i].start < last->start)
            last->start = l->life[i].start;
        if (l->life[i].end > last->end)
            last->end = l->life[i].end;
    }
    l->lives = kept;
}

/* Gives each wave a slot of its SIMD; returns 0, or -1 when memory runs out. */
static int place_waves(struct layout *l)
{
    struct lanes slots[256] = {{0}};
    int failed = 0;
    size_t i;

    qsort(l->life, l->lives, sizeof(*l->life), by_life);
    for (i = 0; i < l->lives; i++) {
        struct life *life = &l->life[i];
        size_t slot = take_lane(&slots[life->simd & 255], life->start, life->end);
        failed |= slot == (size_t)-1;
        life->slot = (uint32_t)slot;
    }
    qsort(l->life, l->lives, sizeof(*l->life), by_wave);
    for (i = 0; i < 256; i++)
        free(slots[i].busy);
    return failed ? -1 : 0;
}

static void begin_event(struct timeline *t)
{
    fprintf(t->f, t->began ? ",\n" : "\n");
    t->began = 1;
}

/* Tracks are numbered so that they stand in order: SIMD, pipe, lane. */
static unsigned track_of(unsigned simd, unsigned pipe, unsigned lane)
{
    return (simd * EMU_TIME_PIPES + pipe) * 10000 + lane + 1;
}

static void name_track(struct timeline *t, unsigned simd, unsigned pipe, size_t lane)
{
    const unsigned track = track_of(simd, pipe, (unsigned)lane);

    begin_event(t);
    fprintf(t->f,
            "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": %u, \"args\": "
            "{\"name\": \"SIMD %u %s %zu\"}}",
            t->launches, track, simd, pipe_names[pipe], lane);
    begin_event(t);
    fprintf(t->f,
            "{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": %d, \"tid\": %u, "
            "\"args\": {\"sort_index\": %u}}",
            t->launches, track, track);
}

static void name_process(struct timeline *t, const struct emu_time_result *r)
{
    char name[320];

    snprintf(name, sizeof(name), "%.200s on %.40s (1 us is 1 clock)", r->kernel, r->target);
    begin_event(t);
    fprintf(t->f, "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"args\": {\"name\": ",
            t->launches);
    print_string(t->f, name);
    fprintf(t->f, "}}");
}

static const struct emu_time_instruction *find_instruction(const struct emu_time_result *r,
                                                           uint32_t offset)
{
    size_t low = 0, high = r->instructions;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->instruction[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->instructions && r->instruction[low].offset == offset ? &r->instruction[low]
                                                                         : NULL;
}

static void print_event(struct timeline *t, const struct emu_time_result *r,
                        const struct emu_time_event *e, unsigned track)
{
    const struct emu_time_instruction *x =
        e->pipe == EMU_TIME_PIPE_WAVE ? NULL : find_instruction(r, e->offset);
    char name[96];

    if (e->pipe == EMU_TIME_PIPE_WAVE)
        snprintf(name, sizeof(name), "workgroup %u wave %u", e->group, e->wave);
    else
        snprintf(name, sizeof(name), "%.*s", x ? (int)strcspn(x->text, " ") : 1, x ? x->text : "?");
    begin_event(t);
    fprintf(t->f,
            "{\"ph\": \"X\", \"pid\": %d, \"tid\": %u, \"ts\": %" PRIu64 ", \"dur\": %" PRIu64
            ", \"name\": ",
            t->launches, track, e->start, e->end - e->start);
    print_string(t->f, name);
    fprintf(t->f, ", \"cat\": \"%s\", \"args\": {\"group\": %u, \"wave\": %u", pipe_names[e->pipe],
            e->group, e->wave);
    if (x) {
        fprintf(t->f, ", \"pc\": \"0x%x\", \"text\": ", x->offset);
        print_string(t->f, x->text);
    }
    if (x && x->source) {
        fprintf(t->f, ", \"source\": ");
        print_string(t->f, x->source);
    }
    fprintf(t->f, "}}");
}

/* All events of a SIMD; returns 0, or -1 when memory runs out. */
static int print_simd(struct timeline *t, const struct emu_time_result *r, struct layout *l,
                      unsigned simd)
{
    int failed = 0;

    for (size_t i = 0; i < r->events && !failed; i++) {
        const struct emu_time_event *e = &l->event[i];
        const struct life *life = find_life(l, e);
        unsigned pipe = e->pipe == EMU_TIME_PIPE_BARRIER ? EMU_TIME_PIPE_WAIT : e->pipe;
        size_t lane = life->slot;

        if (e->simd != simd || e->pipe >= EMU_TIME_PIPES || e->end < e->start)
            continue;
        if (pipe != EMU_TIME_PIPE_WAVE && pipe != EMU_TIME_PIPE_WAIT)
            lane = take_lane(&l->lanes[pipe], e->start, e->end);
        failed = lane == (size_t)-1;
        if (!failed)
            print_event(t, r, e, track_of(simd, pipe, (unsigned)lane));
    }
    for (unsigned pipe = 0; pipe < EMU_TIME_PIPES; pipe++)
        for (size_t lane = 0; lane < l->lanes[pipe].count; lane++)
            name_track(t, simd, pipe, lane);
    free_lanes(l);
    return failed ? -1 : 0;
}

static void name_slots(struct timeline *t, const struct layout *l)
{
    for (size_t i = 0; i < l->lives; i++) {
        const struct life *life = &l->life[i];
        size_t j = 0;

        while (j < i && (l->life[j].simd != life->simd || l->life[j].slot != life->slot))
            j++;
        if (j < i)
            continue; /* has its name */
        name_track(t, life->simd, EMU_TIME_PIPE_WAVE, life->slot);
        name_track(t, life->simd, EMU_TIME_PIPE_WAIT, life->slot);
    }
}

enum aothip_status timeline_add(struct timeline *t, const struct emu_time_result *r,
                                struct status *why)
{
    struct layout l = {0};
    unsigned simd, simds = 0;
    int failed;

    l.event = malloc((r->events + 1) * sizeof(*l.event));
    l.life = malloc((r->events + 1) * sizeof(*l.life));
    failed = !l.event || !l.life;
    if (!failed) {
        if (r->events)
            memcpy(l.event, r->event, r->events * sizeof(*l.event));
        qsort(l.event, r->events, sizeof(*l.event), by_start);
        find_lives(&l, r->events);
        failed = place_waves(&l);
    }
    for (size_t i = 0; i < l.lives; i++)
        if (l.life[i].simd >= simds)
            simds = l.life[i].simd + 1;
    if (!failed) {
        t->launches++;
        name_process(t, r);
        name_slots(t, &l);
    }
    for (simd = 0; simd < simds && !failed; simd++)
        failed = print_simd(t, r, &l, simd);
    free(l.event);
    free(l.life);
    return failed ? status_set(why, AOTHIP_E_MEMORY, "no memory for %zu events", r->events)
                  : AOTHIP_OK;
}

enum aothip_status timeline_close(struct timeline *t, struct status *why)
{
    int wrong;

    if (!t)
        return AOTHIP_OK;
    fprintf(t->f, "\n]}\n");
    if (!t->launches)
        new_file_drop(&t->new);
    wrong = new_file_keep(&t->new);
    if (wrong)
        status_set(why, AOTHIP_E_IO, "%s: cannot be written: %s", t->file, strerror(errno));
    free(t->file);
    free(t);
    return wrong ? why->code : AOTHIP_OK;
}
