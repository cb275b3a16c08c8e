/* Files that take the old one's place when they are whole. */
#include "new_file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PENDING = 16 };
/* Temporary files of this process, for a signal that ends it. */
static char *volatile pending[PENDING];

static void on_signal(int number)
{
    for (int i = 0; i < PENDING; i++)
        if (pending[i])
            unlink(pending[i]);
    signal(number, SIG_DFL);
    raise(number);
}

/* Takes care of a signal that would end the program, not of one that is ignored. */
static void watch(int number)
{
    void (*const before)(int) = signal(number, on_signal);

    if (before != SIG_DFL && before != SIG_ERR)
        signal(number, before);
}

static void note(char *temporary)
{
    int i = 0;

    while (i < PENDING && pending[i])
        i++;
    if (i < PENDING)
        pending[i] = temporary;
    watch(SIGINT);
    watch(SIGTERM);
#ifdef SIGHUP
    watch(SIGHUP);
#endif
}

static void forget(const char *temporary)
{
    for (int i = 0; i < PENDING; i++)
        if (pending[i] == temporary)
            pending[i] = NULL;
}

/* The permissions that fopen() would have given. */
static void set_mode(int fd)
{
    const mode_t mask = umask(0);

    umask(mask);
    /* A file that stays private is still a good file. */
    if (fchmod(fd, 0666 & ~mask) != 0)
        return;
}

/* Drops the file, and leaves errno. */
static int fail(struct new_file *n)
{
    const int number = errno;

    new_file_drop(n);
    errno = number;
    return -1;
}

int new_file_open(struct new_file *n, const char *path)
{
    struct stat st;
    int fd;

    *n = (struct new_file){0};
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        n->f = fopen(path, "wb");
        return n->f ? 0 : -1;
    }
    /* Where `path` is a link, it stays one. */
    n->target = realpath(path, NULL);
    if (!n->target)
        n->target = strdup(path);
    n->temporary = n->target ? malloc(strlen(n->target) + sizeof(".XXXXXX")) : NULL;
    if (!n->temporary)
        return fail(n);
    sprintf(n->temporary, "%s.XXXXXX", n->target);
    fd = mkstemp(n->temporary);
    if (fd < 0) {
        free(n->temporary);
        n->temporary = NULL;
        return fail(n);
    }
    note(n->temporary);
    set_mode(fd);
    n->f = fdopen(fd, "wb");
    if (!n->f) {
        fail(n);
        close(fd);
        return -1;
    }
    return 0;
}

int new_file_complete(struct new_file *n)
{
    const int wrong = ferror(n->f) | fflush(n->f), number = errno;
    const int unclosed = fclose(n->f);

    n->f = NULL;
    if (wrong)
        errno = number;
    return wrong || unclosed ? fail(n) : 0;
}

int new_file_keep(struct new_file *n)
{
    if (n->f && new_file_complete(n))
        return -1;
    if (n->temporary) {
        if (rename(n->temporary, n->target))
            return fail(n);
        forget(n->temporary);
        free(n->temporary);
        n->temporary = NULL;
    }
    new_file_drop(n);
    return 0;
}

void new_file_drop(struct new_file *n)
{
    if (n->f)
        fclose(n->f);
    if (n->temporary) {
        unlink(n->temporary);
        forget(n->temporary);
    }
    free(n->temporary);
    free(n->target);
    *n = (struct new_file){0};
}
