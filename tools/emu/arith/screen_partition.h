/*
 * The table of v_screen_partition_4se_b32: which of four shader engines a rectangle of screen tiles
 * touches, by x_min, y_min, x_max, y_max modulo 4 in pairs of bits from bit 6 down.
 */
#ifndef EMU_EXEC_PARTITION_H
#define EMU_EXEC_PARTITION_H

#include <stdint.h>

/* Sixteen entries a row, four bits each, the first in the lowest bits. */
static const uint64_t emu_screen_partition[16] = {
    0xfffffff7fff5f731, 0xffffffbfffafe62f, 0xfffffdfff5ffc4fd, 0xffffefffafff8fb9,
    0xfffefff6fdc4ffff, 0xffdff99fb98fffff, 0xfbfff9ff31f7ffff, 0x7fff6ff62fe6ffff,
    0xfffafb32fffffffb, 0xff5fd91fffffff7f, 0xfaffc8fefffffeff, 0x5fff4f76ffffdfff,
    0xfec8fffffffdfff9, 0x764fffffffeff66f, 0x32fbfffff7fff6ff, 0x1fd9ffffbfff9ff9,
};

#endif
