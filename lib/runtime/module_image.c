/* Images of a GPU and what is chosen by: their index, and the table of what launches take. */
#include "module_image.h"

#include <stdlib.h>
#include <string.h>

#include "tune.h"

void module_free_image(struct module_image *image)
{
    store_close(&image->store);
    free(image->index);
    free(image);
}

/*
 * The table by which tiles are chosen: `tune`, or if that is NULL the images' own, without which,
 * or if it is wrong, the order of preference holds.
 */
static enum aothip_status read_costs(const struct module_options *options,
                                     const struct store *images, struct format_cost **costs,
                                     struct status *why)
{
    const char *tune = options->tune;
    char *path;
    *costs = NULL;
    if (tune && strcmp(tune, "none") == 0)
        return AOTHIP_OK;
    path = tune ? strdup(tune) : tune_path(images, options->directory);
    if (!path)
        return status_set(why, AOTHIP_E_MEMORY, "no memory for the name of a table of costs");
    tune_read(images, path, costs, why);
    if (tune && !why->code && !*costs)
        status_set(why, AOTHIP_E_IO, "AOTHIP_TUNE: %s does not exist", path);
    if (!tune && !why->code && !*costs && options->log >= STATUS_LOG_ALL)
        status_print("%s does not exist: kernels by order of preference", path);
    if (!tune && (why->code == AOTHIP_E_FORMAT || why->code == AOTHIP_E_VERSION)) {
        if (options->log >= STATUS_LOG_FAILURES)
            status_print("%s: kernels by order of preference", why->text);
        status_clear(why);
    }
    free(path);
    return why->code;
}

struct module_image *module_make_image(const struct module_options *options, const char *gpu,
                                       struct status *why)
{
    struct module_image *made = calloc(1, sizeof(*made));
    struct format_cost *costs;
    uint32_t count;
    if (!made) {
        status_set(why, AOTHIP_E_MEMORY, "no memory for the images of %s", gpu);
        return NULL;
    }
    if (store_open(&made->store, options->directory, gpu, why) ||
        read_costs(options, &made->store, &costs, why)) {
        module_free_image(made);
        return NULL;
    }
    count = made->store.header->entry_count;
    made->index = malloc(select_index_size(count));
    if (made->index)
        select_index_fill(made->index, made->store.entries, costs, count);
    else
        status_set(why, AOTHIP_E_MEMORY, "%s: no memory for %u entries", made->store.path, count);
    free(costs);
    if (!made->index) {
        module_free_image(made);
        return NULL;
    }
    return made;
}
