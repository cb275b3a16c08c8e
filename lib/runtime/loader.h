/* Libraries in the process and on disk: the only door to the system's loader. */
#ifndef AOTHIP_LOADER_H
#define AOTHIP_LOADER_H

#include <stddef.h>

/* What the HIP runtime is called, newest first up to NULL; and the same in words. */
extern const char *const loader_hip_names[];
extern const char loader_hip_names_told[];

/* A library of the process. */
struct loader_object {
    void *handle; /* may be NULL: what the whole process shows */
    char file[256];
};

/*
 * The libraries of the process that have function `mark`, by whatever name they were opened: fills
 * found[0], and found[1] if there is a second one, whose handles are then closed. Returns their
 * number, 2 for more, or -1 where there is no memory. A program that shows the function to all of
 * its process counts alone, with a NULL handle.
 */
int loader_find(const char *mark, struct loader_object found[2]);

/* The library `file` if it is in the process, or NULL. */
void *loader_present(const char *file);

/* Opens `file`, by the system's search path if it has no directory; NULL: see loader_error(). */
void *loader_open(const char *file);

/* Why the calling thread's last loader_open() failed; never NULL. */
const char *loader_error(void);

/* The function `symbol` of a library, or NULL. */
void *loader_function(void *handle, const char *symbol);

/* The file that `address` is from, or `otherwise`; lives as long as that library. */
const char *loader_file(const void *address, const char *otherwise);

#endif
