/* One program at a time changes a directory of images: each system has its own way to say so. */
#ifndef AOTHIP_TREE_LOCK_H
#define AOTHIP_TREE_LOCK_H

#include <stdint.h>

/*
 * Takes the directory, for as long as the program runs at most: 0, or 1 where another program has
 * it, or -1 with errno.
 */
int tree_lock(const char *directory, intptr_t *lock);

/* Gives it back. */
void tree_unlock(intptr_t lock);

#endif
