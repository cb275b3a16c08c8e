/* How a block of device memory is called in a report. */
#ifndef EMU_MEMORY_REPORT_H
#define EMU_MEMORY_REPORT_H

#include "device_block.h"

/* "begins 4 bytes past the end of allocation #2 (device memory, ...)" */
void emu_mem_print_block(char *buf, size_t len, const char *lead, uint64_t bytes, const char *how,
                         const struct emu_block *b);

#endif
