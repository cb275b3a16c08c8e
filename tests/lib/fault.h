/*
 * Makes the n-th allocation or system call of the library fail. The program is linked with
 * --wrap for each function below, so only calls from the library's and the test's own objects
 * count.
 */
#ifndef AOTHIP_FAULT_H
#define AOTHIP_FAULT_H

/* What can fail. zstd's two count as allocations; their own mallocs are out of reach. */
enum fault_kind { FAULT_NONE, FAULT_MEMORY, FAULT_FILE };

/* The n-th call of that kind from now on fails, counted from 1; 0 only counts. */
void fault_arm(enum fault_kind kind, int n);

/* Ends that; returns how many calls of the kind there were. */
int fault_disarm(void);

/* Blocks allocated through the wrapped functions and not freed yet. */
int fault_blocks(void);

/* malloc, calloc, realloc and strdup calls since the program started. */
int fault_allocations(void);

#endif
