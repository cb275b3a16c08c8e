/* Runs a scene: upload, calls, graphs, download. */
#include "stage.h"

#include "number.h"

#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

const char *emu_last_fault(void);
const char *emu_last_text(void);

struct expect_device stage_device(const struct draft *d)
{
    enum { F32, EXACT, HW, ADVERSARIAL };
    enum { GFX90A };

    /* gfx90a's matrix instructions flush subnormal numbers */
    if ((d->matrix == HW || d->matrix == ADVERSARIAL) && d->gpu == GFX90A && d->dtype != AOTHIP_F32)
        return (struct expect_device){d->dtype == AOTHIP_BF16 ? 0x1p-126
                                      : d->fp8                ? 0x1p-12
                                                              : 0x1p-14}; /* scales below 4 */
    return (struct expect_device){0};
}

/* o and lse as a forward pass leaves them: input of the backward pass, and of dropped probs. */
static void solve_forward(struct scene *s)
{
    const struct aothip_attn_fwd_params *p = &s->here.fwd;
    int64_t b, h, m, c, at, group = p->q.size[1] / p->k.size[1];
    int64_t room = p->lse_size ? p->lse_size : place_lse_count(p);

    for (b = 0; b < place_sequences(p); b++)
        for (h = 0; h < p->q.size[1]; h++) {
            struct expect_head x;
            expect_head_make(p, stage_device(s->d), b, h / group, &x);
            for (m = 0; m < x.q.length && m < place_max_q(p); m++) {
                struct expect_row r;
                expect_row_make(&x, h, m, &r);
                at = place_lse(p, &x.q, b, h, m);
                if (p->lse && at < room) {
                    p->lse[at] = (float)(r.lse * (p->lse_base2 ? M_LOG2E : 1));
                    struct block *lse = scene_block(s, &p->lse);
                    if (lse->given)
                        memset(lse->given + 4 * at, 1, 4);
                }
                for (c = 0; c < p->o.size[3] && s->d->op == OP_BWD; c++)
                    scene_put(s, &p->o, number_at(&p->o, x.q.entry, h, x.q.start + m, c), r.o[c]);
                expect_row_free(&r);
            }
            expect_head_free(&x);
        }
}

static bool failed(const char *what, hipError_t error, char text[STAGE_TEXT])
{
    if (error == hipSuccess)
        return false;
    snprintf(text, STAGE_TEXT, "fault: %s: %s: %.1500s", what, hipGetErrorName(error),
             *emu_last_fault() ? emu_last_fault() : emu_last_text());
    return true;
}

/* Sends what has a value, run by run. */
static bool send(const struct block *x, char text[STAGE_TEXT])
{
    size_t from = 0, to;

    while (from < x->bytes) {
        for (to = from; to < x->bytes && (!x->given || x->given[to]); to++)
            continue;
        if (to > from && failed("hipMemcpy",
                                hipMemcpy((char *)x->there + from, x->before + from, to - from,
                                          hipMemcpyHostToDevice),
                                text))
            return false;
        for (from = to; from < x->bytes && x->given && !x->given[from]; from++)
            continue;
    }
    return true;
}

static bool upload(struct scene *s, char text[STAGE_TEXT])
{
    int i;

    s->there = s->here;
    if (s->here.bwd.struct_size)
        s->there.bwd.fwd = &s->there.fwd;
    for (i = 0; i < s->count; i++) {
        struct block *x = &s->blocks[i];
        void *data;
        if (failed("hipMalloc", hipMalloc(&x->there, x->bytes), text) || !send(x, text))
            return false;
        data = (char *)x->there + x->shift;
        memcpy((char *)&s->there + x->slot, &data, sizeof(data));
    }
    return true;
}

/* A call that did not succeed, with the emulator's report if a kernel was at fault. */
static bool refused(enum aothip_status status, char text[STAGE_TEXT])
{
    if (!status)
        return false;
    if (status == AOTHIP_E_HIP)
        snprintf(text, STAGE_TEXT, "fault: %s: %.1500s", aothip_last_error(), emu_last_fault());
    else
        snprintf(text, STAGE_TEXT, "refused: %s: %s", aothip_status_name(status),
                 aothip_last_error());
    return true;
}

static bool make_workspace(struct aothip_context *context, struct scene *s, void *stream,
                           void **memory, char text[STAGE_TEXT])
{
    bool bwd = s->d->op == OP_BWD;
    size_t bytes = 0;

    if (refused(bwd ? aothip_attn_bwd_workspace(context, &s->there.bwd, stream, &bytes)
                    : aothip_attn_fwd_workspace(context, &s->there.fwd, stream, &bytes),
                text))
        return false;
    if (s->d->workspace == WORKSPACE_NONE)
        bytes = 0;
    if (s->d->workspace == WORKSPACE_LESS && bytes)
        bytes -= bytes / 3 + 1;
    if (bytes && failed("hipMalloc", hipMalloc(memory, bytes), text))
        return false;
    *(bwd ? &s->there.bwd.workspace : &s->there.fwd.workspace) = *memory;
    *(bwd ? &s->there.bwd.workspace_size : &s->there.fwd.workspace_size) = bytes;
    return true;
}

static bool call(struct aothip_context *context, const struct scene *s, void *stream,
                 char text[STAGE_TEXT])
{
    return !refused(s->d->op == OP_BWD     ? aothip_attn_bwd(context, &s->there.bwd, stream)
                    : s->d->op == OP_PROBS ? aothip_attn_probs(context, &s->there.fwd, stream)
                                           : aothip_attn_fwd(context, &s->there.fwd, stream),
                    text);
}

/* Once more from the beginning, as a graph. */
static bool run_graph(struct aothip_context *context, const struct scene *s, hipStream_t stream,
                      char text[STAGE_TEXT])
{
    hipGraphExec_t exec = NULL;
    hipGraph_t graph = NULL;
    bool good;
    int i;

    for (i = 0; i < s->count; i++)
        if (s->blocks[i].after && !send(&s->blocks[i], text))
            return false;
    if (failed("capture", hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), text))
        return false;
    good = call(context, s, stream, text);
    good = !failed("capture", hipStreamEndCapture(stream, &graph), text) && good;
    good = good && !failed("instantiate", hipGraphInstantiate(&exec, graph, NULL, NULL, 0), text);
    for (i = 0; i < s->d->graph && good; i++)
        good = !failed("graph", hipGraphLaunch(exec, stream), text);
    good = good && !failed("graph", hipStreamSynchronize(stream), text);
    if (exec)
        (void)hipGraphExecDestroy(exec);
    if (graph)
        (void)hipGraphDestroy(graph);
    return good;
}

static bool run(struct aothip_context *context, struct scene *s, hipStream_t stream,
                char text[STAGE_TEXT])
{
    void *workspace = NULL;
    bool good = make_workspace(context, s, stream, &workspace, text) &&
                call(context, s, stream, text) &&
                !failed("synchronize", hipStreamSynchronize(stream), text) &&
                (!s->d->graph || run_graph(context, s, stream, text));

    (void)hipFree(workspace);
    return good;
}

bool stage_run(struct aothip_context *context, struct scene *s, char text[STAGE_TEXT])
{
    hipStream_t stream = NULL;
    bool good;
    int i;

    if (s->d->op == OP_BWD || (s->d->op == OP_PROBS && s->d->probs == PROBS_DROPPED))
        solve_forward(s);
    if (failed("hipSetDevice", hipSetDevice(s->d->gpu), text) ||
        ((s->d->graph || s->d->seed % 2) && failed("stream", hipStreamCreate(&stream), text)))
        return false;
    good = upload(s, text) && run(context, s, stream, text);
    for (i = 0; i < s->count; i++) {
        struct block *x = &s->blocks[i];
        if (good && x->after &&
            failed("download", hipMemcpy(x->after, x->there, x->bytes, hipMemcpyDeviceToHost),
                   text))
            good = false;
        (void)hipFree(x->there);
        x->there = NULL;
    }
    if (stream)
        (void)hipStreamDestroy(stream);
    return good;
}
