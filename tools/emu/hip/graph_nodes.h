/* Graphs as lists of operations, in the order in which they were captured or added. */
#ifndef EMU_HIP_GRAPH_NODES_H
#define EMU_HIP_GRAPH_NODES_H

#include "operation.h"
#include "user_objects.h"

struct hipGraphNode {
    struct emu_operation op; /* kind is NULL in an empty node */
    bool followed;           /* another captured node waits for it */
};

struct ihipGraph {
    struct hipGraphNode **nodes;
    size_t count;
    struct emu_references references;
};

/* An empty graph with a live handle; NULL when out of memory. */
struct ihipGraph *emu_graph_new(void);
/* Of a graph whose handle is no longer live; NULL is allowed. */
void emu_graph_free(struct ihipGraph *g);
/* A copy with operations of its own and no handle; NULL when out of memory. */
struct ihipGraph *emu_graph_copy(const struct ihipGraph *g);
/* Adds an operation, or an empty node (NULL), and takes it; NULL when out of memory. */
struct hipGraphNode *emu_graph_add(struct ihipGraph *g, struct emu_operation *op);

/* What a stream captured last: copied by an event, waited for by another stream, forgotten. False
 * when out of memory. */
bool emu_nodes_copy(struct emu_nodes *to, const struct emu_nodes *from);
bool emu_nodes_wait(struct ihipStream_t *s, const struct emu_nodes *nodes);
void emu_graph_forget(struct ihipStream_t *s);
/* Does what the stream captured last follow all the other nodes? */
bool emu_graph_joined(const struct ihipGraph *g, const struct ihipStream_t *s);

#endif
