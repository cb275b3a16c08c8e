/* The parameters of the clock: one table a GPU, each line with its uncertainty, tag and source. */
#ifndef EMU_CLOCK_PARAMS_H
#define EMU_CLOCK_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "insn.h"

struct emu_clock_gpu {
#define FIELD(name, unit, least, most, what) double name;
#include "clock_fields.def"
#undef FIELD
};

struct emu_clock_origin {
    const char *name, *unit, *what;
    double value, uncertainty; /* percent */
    double least, most;        /* of a value that may stand for it; both 0: none may */
    char tag;
    const char *source;
};

/* Never NULL: a processor without a table has its family's. */
const struct emu_clock_gpu *emu_clock_gpu(enum emu_family family);
/* Line i of the table, of emu_clock_origins(). */
struct emu_clock_origin emu_clock_origin(enum emu_family family, size_t i);
size_t emu_clock_origins(void);
/* Of a parameter, as a part. */
double emu_clock_uncertainty(enum emu_family family, const char *name);

/* Field i of a copy of a table. */
void emu_clock_put(struct emu_clock_gpu *gpu, size_t i, double value);
/*
 * Puts another line into the table itself, before anything is timed. The source was allocated, and
 * is the table's from here on.
 */
void emu_clock_change(enum emu_family family, size_t i, const struct emu_clock_origin *to,
                      char *source);

/* No published time or trace of this GPU, by its name, has been held against the model. */
bool emu_clock_extrapolates(const char *target);

/* The sustained frequency in GHz, where matrix instructions are busy this share of the time. */
double emu_clock_frequency(enum emu_family family, double matrix_busy);
/* The same in words. */
void emu_clock_law(enum emu_family family, char *text, size_t room);

#endif
