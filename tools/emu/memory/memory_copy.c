/* Copies and fills of device memory by the host. */
#include "memory_map.h"
#include "memory_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where the bytes of a range lie; *init too when they are tracked. False when it leaves its block.
 */
static bool resolve(const struct emu_memory *m, uint64_t addr, uint64_t n, uint8_t **host,
                    uint8_t **init, const char *what, char *err, size_t errlen)
{
    const struct emu_block *b = emu_mem_lookup(m, addr);
    *init = NULL;
    if (b) {
        uint64_t at = addr - b->base;
        if (n > b->size - at) {
            char why[256];
            emu_mem_print_block(why, sizeof why, "", at + n - b->size, "past the end of", b);
            snprintf(err, errlen, "%s of %" PRIu64 " bytes at 0x%" PRIx64 " reaches %s", what, n,
                     addr, why);
            return false;
        }
        *host = b->host + at;
        *init = b->init ? b->init + at : NULL;
        return true;
    }
    char why[256];
    if (addr == 0 || emu_mem_explain_freed(addr, why, sizeof why)) {
        snprintf(err, errlen, "%s at 0x%" PRIx64 ": %s", what, addr, addr ? why : "null pointer");
        return false;
    }
    *host = (uint8_t *)(uintptr_t)addr;
    return true;
}

bool emu_mem_copy(uint64_t dst, uint64_t src, uint64_t n, char *err, size_t errlen)
{
    uint8_t *to, *from, *to_init, *from_init;
    struct emu_memory *m = emu_mem_view(0, ~0u);
    if (!m) {
        snprintf(err, errlen, "out of memory");
        return false;
    }
    bool ok = resolve(m, dst, n, &to, &to_init, "destination", err, errlen) &&
              resolve(m, src, n, &from, &from_init, "source", err, errlen);
    if (ok) {
        memmove(to, from, n);
        if (to_init && from_init)
            memmove(to_init, from_init, n);
        else if (to_init)
            memset(to_init, 0xff, n);
    }
    emu_mem_unview(m);
    return ok;
}

bool emu_mem_fill(uint64_t dst, uint32_t value, unsigned width, uint64_t n, char *err,
                  size_t errlen)
{
    uint8_t *to, *init;
    struct emu_memory *m = emu_mem_view(0, ~0u);
    if (!m) {
        snprintf(err, errlen, "out of memory");
        return false;
    }
    bool ok = resolve(m, dst, n * width, &to, &init, "destination", err, errlen);
    if (ok) {
        if (width == 1)
            memset(to, (int)(value & 0xff), n);
        for (uint64_t i = 0; width != 1 && i < n; i++)
            memcpy(to + i * width, &value, width);
        if (init)
            memset(init, 0xff, n * width);
    }
    emu_mem_unview(m);
    return ok;
}
