/* Names blocks of device memory in reports. */
#include "memory_report.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const kind_names[EMU_BLOCK_KINDS] = {
    "device", "code", "kernarg", "pinned host", "managed", "registered host",
};

void emu_mem_print_block(char *buf, size_t len, const char *lead, uint64_t bytes, const char *how,
                         const struct emu_block *b)
{
    char owner[32] = "";
    if (b->device >= 0)
        snprintf(owner, sizeof owner, " of device %d", b->device);
    snprintf(buf, len,
             "%s%" PRIu64 " bytes %s allocation #%" PRIu64 " (%s memory%s, 0x%" PRIx64 ", %" PRIu64
             " bytes)",
             lead, bytes, how, b->serial, kind_names[b->kind], owner, b->base, b->size);
}
