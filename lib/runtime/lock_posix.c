/* The lock on POSIX systems. */
#include "lock.h"

#include <pthread.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct lock), "a mutex fits a lock");
_Static_assert(_Alignof(pthread_mutex_t) <= _Alignof(struct lock), "and lies right in it");

static pthread_mutex_t *mutex(struct lock *lock)
{
    return (pthread_mutex_t *)lock;
}

int lock_make(struct lock *lock)
{
    return pthread_mutex_init(mutex(lock), NULL);
}

void lock_destroy(struct lock *lock)
{
    pthread_mutex_destroy(mutex(lock));
}

void lock_take(struct lock *lock)
{
    pthread_mutex_lock(mutex(lock));
}

void lock_release(struct lock *lock)
{
    pthread_mutex_unlock(mutex(lock));
}
