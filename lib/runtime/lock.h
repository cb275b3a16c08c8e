/* A lock between threads: the library's only door to them. */
#ifndef AOTHIP_LOCK_H
#define AOTHIP_LOCK_H

/* Room for what the system's lock is; its file asserts that it fits. */
struct lock {
    union {
        void *pointer;
        long long number;
        char bytes[64];
    } room;
};

/* Nonzero where there is no memory. What was made is to be destroyed, by whom nobody waits for. */
int lock_make(struct lock *lock);
void lock_destroy(struct lock *lock);

void lock_take(struct lock *lock);
void lock_release(struct lock *lock);

#endif
