/* The lock on Windows. */
#include "lock.h"

#include <windows.h>

_Static_assert(sizeof(SRWLOCK) <= sizeof(struct lock), "one of Windows' slim locks fits");

int lock_make(struct lock *lock)
{
    InitializeSRWLock((SRWLOCK *)lock);
    return 0;
}

void lock_destroy(struct lock *lock)
{
    (void)lock; /* there is nothing to give back */
}

void lock_take(struct lock *lock)
{
    AcquireSRWLockExclusive((SRWLOCK *)lock);
}

void lock_release(struct lock *lock)
{
    ReleaseSRWLockExclusive((SRWLOCK *)lock);
}
