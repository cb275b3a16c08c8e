/* Pieces of work in place of the workgroups that take them (pieces.c). */
#ifndef EMU_CLOCK_PIECES_H
#define EMU_CLOCK_PIECES_H

#include "clock_ops.h"
#include "clock_trace.h"

/*
 * Where the first workgroup took its work from a counter piece by piece, the recorder's workgroups
 * become these, and behind them the other workgroups, which found nothing; all of them may go
 * anywhere. ops: the kernel's, nops of them. "", or why that cannot be.
 */
const char *emu_pieces_make(struct emu_clock_recorder *r, const struct emu_clock_op *ops,
                            unsigned nops);

#endif
