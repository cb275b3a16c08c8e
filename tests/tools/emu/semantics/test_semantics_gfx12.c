/*
 * Memory instructions of gfx12 that no other GPU has: transposing loads, blocks of registers,
 * scalar loads of a byte or two, from pointers and from buffers.
 *
 * s[20:21] is the window's address, s[24:27] its buffer resource, s28 a scalar offset, v0 a lane's
 * offset in the window.
 */
#include <stdio.h>
#include <string.h>

#include "oracle_memory.h"
#include "test_semantics.h"

enum { BUFFER_BYTES = 1024 };

/* Lanes' addresses are granules of so many bytes, in any order. */
static void point(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    const unsigned turn = (unsigned)sem_random();

    for (unsigned l = 0; l < 64; l++)
        w->v[0][l] = (l * 37 + turn) % 64 * (c->arg[0] ? c->arg[0] : 4);
    w->s[20] = w->s[24] = (uint32_t)m->address;
    w->s[21] = w->s[25] = (uint32_t)(m->address >> 32);
    w->s[26] = BUFFER_BYTES;
    w->s[27] = 0x31004000;
    w->s[28] = 64;
}

/* ---- transposing loads */

/*
 * As measured: of 16 bits the eight lanes of a group exchange rows for columns. Of 8 bits, if lane
 * l loads bytes 8 l .. 8 l + 7 of 256, its s-th is byte (l & 7) + 32 (l >> 3 & 1) + 128 (l >> 4) +
 * 8 (s & 3) + 64 (s >> 2) of them.
 */
static void run_transpose(const struct sem_case *c, const struct oracle_wave *before,
                          struct oracle_wave *after, struct sem_memory *m)
{
    const unsigned lanes = oracle_machines[before->target].lanes, bytes = c->arg[1];
    const unsigned held = lanes == 64 ? 4 : 8;

    *after = *before;
    for (unsigned l = 0; l < lanes; l++) {
        for (unsigned r = 0; r < held * bytes / 4; r++)
            after->v[8 + r][l] = 0;
        for (unsigned i = 0; i < held; i++) {
            const unsigned s = l / 32 * held + i, q = l % 32;
            const unsigned byte =
                (q & 7) + (q >> 3 & 1) * 32 + (q >> 4) * 128 + (s & 3) * 8 + (s >> 2) * 64;
            const unsigned lane = bytes == 2 ? q / 8 * 8 + s : byte / 8;
            const unsigned element = bytes == 2 ? q % 8 : byte % 8;
            const uint8_t *at = m->window + before->v[0][lane] + c->arg[2] + element * bytes;

            after->v[8 + i * bytes / 4][l] |= (uint32_t)oracle_get(at, bytes) << i * bytes % 4 * 8;
        }
    }
    oracle_wave_strict(after);
}

static struct sem_case *add_memory(struct sem_list *l, const char *group, unsigned granule)
{
    struct sem_case *c = sem_add(l);

    c->group = group;
    c->prepare = point;
    c->memory = c->fresh = true;
    c->arg[0] = granule;
    return c;
}

static void add_transposes(struct sem_list *l, const struct oracle_machine *m)
{
    for (unsigned bytes = 1; bytes <= 2; bytes++)
        for (unsigned offset = 0; offset <= 64; offset += 64) {
            struct sem_case *c =
                add_memory(l, bytes == 2 ? "global_load_tr_b128" : "global_load_tr_b64", 8 * bytes);
            const unsigned regs = 2 * bytes * 32 / m->lanes;

            c->run = run_transpose;
            c->arg[1] = bytes;
            c->arg[2] = offset;
            c->full_exec = true;
            snprintf(c->text, sizeof c->text,
                     "global_load_tr_b%u %s, v0, s[20:21] offset:%u\n  s_wait_loadcnt 0x0",
                     64 * bytes, sem_vgprs(8, 4 * regs), offset);
        }
}

/* ---- blocks: those registers that M0 (s29) has bits of, 4 bytes each in its place */

static void few_registers(const struct sem_case *c, struct oracle_wave *w,
                          const struct sem_memory *m)
{
    point(c, w, m);
    w->s[29] &= 0xff;
}

static void run_block(const struct sem_case *c, const struct oracle_wave *before,
                      struct oracle_wave *after, struct sem_memory *m)
{
    *after = *before;
    for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++)
        for (unsigned r = 0; r < 8 && before->exec >> l & 1; r++) {
            uint8_t *at = m->window + before->v[0][l] + 16 + 4 * r;

            if (!(before->s[29] >> r & 1))
                continue;
            if (c->arg[1])
                oracle_put(at, 4, before->v[8 + r][l]);
            else
                after->v[8 + r][l] = (uint32_t)oracle_get(at, 4);
        }
    oracle_wave_strict(after);
}

/* Through scratch: what v8 .. v15 hold comes back to v16 .. v23 where both masks let it. */
static void run_scratch(const struct sem_case *c, const struct oracle_wave *before,
                        struct oracle_wave *after, struct sem_memory *m)
{
    (void)c;
    (void)m;
    *after = *before;
    for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++)
        for (unsigned r = 0; r < 8 && before->exec >> l & 1; r++)
            if (before->s[29] >> r & 1)
                after->v[16 + r][l] = before->v[8 + r][l];
    oracle_wave_strict(after);
}

#define WITH_M0(text) "s_mov_b32 m0, s29\n  s_nop 0\n  " text "\n  s_mov_b32 m0, s77"

/* A block is 32 registers long, and the kernels here have 32 beside the case's own. */
static void add_blocks(struct sem_list *l)
{
    struct sem_case *c = add_memory(l, "blocks of registers", 32);

    c->run = run_block;
    strcpy(c->text, WITH_M0("global_load_block v[8:39], v0, s[20:21] offset:16\n"
                            "  s_wait_loadcnt 0x0"));
    c = add_memory(l, "blocks of registers", 32);
    c->run = run_block;
    c->arg[1] = 1;
    strcpy(c->text, WITH_M0("global_store_block v0, v[8:39], s[20:21] offset:16"));
    c = add_memory(l, "blocks of registers", 4);
    c->run = run_scratch;
    strcpy(c->text, WITH_M0("scratch_store_block off, v[8:39], off offset:16\n"
                            "  s_wait_storecnt 0x0\n"
                            "  scratch_load_block v[16:47], off, off offset:16\n"
                            "  s_wait_loadcnt 0x0"));
    for (size_t i = l->count - 3; i < l->count; i++) {
        l->c[i].prepare = few_registers;
        l->c[i].matrix = true; /* for its registers */
    }
}

/* ---- scalar loads of a byte or two */

static void run_small(const struct sem_case *c, const struct oracle_wave *before,
                      struct oracle_wave *after, struct sem_memory *m)
{
    const unsigned bytes = c->arg[1], at = c->arg[2];
    const bool inside = !c->arg[4] || at + bytes <= BUFFER_BYTES;
    uint32_t x = inside ? (uint32_t)oracle_get(m->window + at, bytes) : 0;

    *after = *before;
    if (c->arg[3] && x >> (8 * bytes - 1))
        x -= 1u << 8 * bytes;
    after->s[32] = x;
    oracle_wave_strict(after);
}

static void add_small(struct sem_list *l)
{
    static const unsigned places[] = {0, 2, 6, BUFFER_BYTES - 2, BUFFER_BYTES, BUFFER_BYTES + 2};

    for (unsigned i = 0; i < 4; i++)
        for (unsigned n = 0; n < 3 * sizeof places / sizeof *places; n++) {
            struct sem_case *c = add_memory(l, "scalar loads of a byte or two", 4);
            const unsigned bytes = 1 + i / 2, at = places[n / 3] + (n % 3 == 1 && bytes == 1);
            const bool scalar = n % 3 == 2, buffer = n % 2 || n > 8;

            c->run = run_small;
            c->arg[1] = bytes;
            c->arg[2] = at + (scalar ? 64 : 0);
            c->arg[3] = i & 1;
            c->arg[4] = buffer;
            snprintf(c->text, sizeof c->text, "s_%sload_%c%u s32, %s, %s offset:%#x",
                     buffer ? "buffer_" : "", i & 1 ? 'i' : 'u', 8 * bytes,
                     buffer ? "s[24:27]" : "s[20:21]", scalar ? "s28" : "null", at);
        }
}

int main(void)
{
    sem_begin("memory instructions of gfx12");
    for (int t = T_GFX1201; t < ORACLE_TARGETS; t++) {
        const struct oracle_machine *m = &oracle_machines[t];
        struct sem_list l = {0};

        if (m->mask != G12 || !sem_knows((enum oracle_target)t))
            continue;
        add_transposes(&l, m);
        add_blocks(&l);
        add_small(&l);
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
