/* Keeps the operations of graphs. */
#include "graph_nodes.h"

#include <stdlib.h>

struct ihipGraph *emu_graph_new(void)
{
    struct ihipGraph *g = calloc(1, sizeof *g);
    if (g && emu_handle_add(g, EMU_HANDLE_GRAPH))
        return g;
    free(g);
    return NULL;
}

void emu_graph_free(struct ihipGraph *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->count; i++) {
        struct hipGraphNode *n = g->nodes[i];
        emu_handle_drop(n, EMU_HANDLE_NODE);
        if (n->op.kind)
            emu_operation_drop(&n->op);
        free(n);
    }
    emu_references_drop(&g->references);
    free(g->nodes);
    free(g);
}

struct hipGraphNode *emu_graph_add(struct ihipGraph *g, struct emu_operation *op)
{
    struct hipGraphNode *n = calloc(1, sizeof *n);
    void *more = n ? realloc(g->nodes, (g->count + 1) * sizeof *g->nodes) : NULL;
    if (more)
        g->nodes = more;
    if (!more || !emu_handle_add(n, EMU_HANDLE_NODE)) {
        free(n);
        if (op)
            emu_operation_drop(op);
        return NULL;
    }
    if (op)
        n->op = *op;
    g->nodes[g->count++] = n;
    return n;
}

struct ihipGraph *emu_graph_copy(const struct ihipGraph *g)
{
    struct ihipGraph *c = calloc(1, sizeof *c);
    for (size_t i = 0; c && i < g->count; i++) {
        struct emu_operation op = g->nodes[i]->op;
        bool owned = !op.kind || !op.kind->own || op.kind->own(&op);
        if (!owned || !emu_graph_add(c, op.kind ? &op : NULL)) {
            emu_graph_free(c);
            return NULL;
        }
    }
    if (c && !emu_references_copy(&c->references, &g->references)) {
        emu_graph_free(c);
        return NULL;
    }
    return c;
}

/* Adds `from` to a list of nodes, without those it has. False when out of memory. */
static bool merge_nodes(struct emu_nodes *to, const struct emu_nodes *from)
{
    if (from->count == 0)
        return true;
    void *more = realloc(to->node, (to->count + from->count) * sizeof *to->node);
    if (!more)
        return false;
    to->node = more;
    for (size_t i = 0; i < from->count; i++) {
        size_t k = 0;
        while (k < to->count && to->node[k] != from->node[i])
            k++;
        to->node[k] = from->node[i];
        to->count += k == to->count;
    }
    return true;
}

bool emu_nodes_copy(struct emu_nodes *to, const struct emu_nodes *from)
{
    to->count = 0;
    return merge_nodes(to, from);
}

bool emu_nodes_wait(struct ihipStream_t *s, const struct emu_nodes *nodes)
{
    return merge_nodes(&s->last, nodes);
}

void emu_graph_forget(struct ihipStream_t *s)
{
    free(s->last.node);
    s->last = (struct emu_nodes){NULL, 0};
}

bool emu_graph_joined(const struct ihipGraph *g, const struct ihipStream_t *s)
{
    for (size_t i = 0; i < g->count; i++) {
        bool reached = g->nodes[i]->followed;
        for (size_t k = 0; k < s->last.count && !reached; k++)
            reached = s->last.node[k] == g->nodes[i];
        if (!reached)
            return false;
    }
    return true;
}
