/*
 * A clang offload bundle in memory: finds the code object that fits a GPU and checks its ELF header
 * before a driver sees it. Pure.
 */
#ifndef AOTHIP_BUNDLE_H
#define AOTHIP_BUNDLE_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"
#include "target.h"

/* One code object; points into the bundle. */
struct bundle_code {
    const uint8_t *bytes;
    size_t size;
    struct target target;
};

/* What messages call the bundle. */
struct bundle_name {
    const char *file, *symbol;
};

/*
 * Finds the code object for `device`: of those that fit, the one that states most features. Every
 * entry of the bundle is checked, whether it is chosen or not.
 * Errors: FORMAT, TARGET (none fits, or the ELF is for another target than its entry says).
 */
enum aothip_status bundle_find(const uint8_t *bytes, size_t size, const struct target *device,
                               const struct bundle_name *name, struct bundle_code *code,
                               struct status *why);

#endif
