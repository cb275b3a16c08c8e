/* One image file, read and indexed; devices of the same GPU share it. */
#ifndef AOTHIP_MODULE_IMAGE_H
#define AOTHIP_MODULE_IMAGE_H

#include "select.h"
#include "status.h"
#include "store.h"

struct module_image {
    struct module_image *next;
    struct store store;
    struct select_index *index;
};

/* What a context was opened with. */
struct module_options {
    char *directory;
    char *capture;     /* AOTHIP_CAPTURE, or NULL */
    char *tune;        /* AOTHIP_TUNE, or NULL */
    size_t code_limit; /* AOTHIP_CODE_LIMIT, or 0 */
    int atomics;       /* AOTHIP_ATOMICS, or -1 */
    enum status_log log;
};

/*
 * Reads the images of `gpu` and sorts their entries; NULL after a failure. Errors: those of
 * store_open(), MEMORY, IO, and those of tune_read() for a table that `options` names.
 */
struct module_image *module_make_image(const struct module_options *options, const char *gpu,
                                       struct status *why);
void module_free_image(struct module_image *image);

#endif
