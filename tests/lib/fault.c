/* Counts what fault.h tells of, and wraps allocations. */
#include "fault.h"

#include "fault_wrap.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

static enum fault_kind armed;
static int fail_at, count;
static _Atomic int blocks, allocations;

void fault_arm(enum fault_kind kind, int n)
{
    armed = kind;
    fail_at = n;
    count = 0;
}

int fault_disarm(void)
{
    armed = FAULT_NONE;
    return count;
}

int fault_blocks(void)
{
    return blocks;
}

int fault_allocations(void)
{
    return allocations;
}

int fault_fails(enum fault_kind kind, int error)
{
    if (armed != kind || ++count != fail_at)
        return 0;
    errno = error;
    return 1;
}

static void *counted(void *memory)
{
    blocks += memory != NULL;
    return memory;
}

REAL(void *, malloc, size_t size)
{
    allocations++;
    return fault_fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(__real_malloc(size));
}

REAL(void *, calloc, size_t number, size_t size)
{
    allocations++;
    return fault_fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(__real_calloc(number, size));
}

REAL(void *, realloc, void *memory, size_t size)
{
    void *moved;
    allocations++;
    if (fault_fails(FAULT_MEMORY, ENOMEM))
        return NULL;
    moved = __real_realloc(memory, size);
    blocks += moved && !memory;
    return moved;
}

REAL(char *, strdup, const char *text)
{
    allocations++;
    return fault_fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(__real_strdup(text));
}

REAL(void, free, void *memory)
{
    blocks -= memory != NULL;
    __real_free(memory);
}

REAL(ZSTD_DCtx *, ZSTD_createDCtx, void)
{
    return fault_fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(__real_ZSTD_createDCtx());
}

REAL(size_t, ZSTD_freeDCtx, ZSTD_DCtx *inflater)
{
    blocks -= inflater != NULL;
    return __real_ZSTD_freeDCtx(inflater);
}
