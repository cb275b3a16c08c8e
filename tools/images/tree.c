/*
 * Image directories as trees of files. A GPU's directory is copied under a name that no reader
 * looks at and then renamed; it is renamed away before it is removed.
 */
#include "tree.h"

#include "cli.h"
#include "tree_lock.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a directory on its way in or out is called: no reader takes it for a GPU's. */
#define COMING ".aothip-coming"
#define GOING ".aothip-going"

static bool complain(const char *path)
{
    cli_say("%s: %s", path, strerror(errno));
    return false;
}

/* "directory/a/b"; the caller frees it. Ends the program where there is no memory for a name. */
static char *join(const char *directory, const char *a, const char *b)
{
    char *path;
    if (asprintf(&path, "%s/%s%s%s", directory, a, *b ? "/" : "", b) < 0) {
        cli_say("out of memory");
        exit(CLI_FAILED);
    }
    return path;
}

static char *gpu_directory(const char *directory, const char *gpu)
{
    char name[32];
    snprintf(name, sizeof(name), "amd-%.15s", gpu);
    return join(directory, name, "");
}

bool images_gpus(const char *directory, struct store_gpus *gpus)
{
    struct status why;
    status_clear(&why);
    if (store_list_gpus(directory, gpus, &why)) {
        cli_say("%s", why.text);
        return false;
    }
    return true;
}

bool images_make_directory(const char *path)
{
    char *copy = strdup(path);
    bool good = copy != NULL;
    for (char *at = copy ? copy + 1 : NULL; good && at; at++) {
        at = strpbrk(at, PATH_SEPARATORS);
        const char separator = at ? *at : '\0';
        if (at)
            *at = '\0';
        good = !mkdir(copy, 0777) || errno == EEXIST;
        if (!at)
            break;
        *at = separator;
    }
    if (!good)
        complain(path);
    free(copy);
    return good;
}

/* Names in a directory, sorted, without . and .. */
struct names {
    struct dirent **entry;
    int count;
};

static int is_name(const struct dirent *e)
{
    return strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
}

static bool read_names(const char *path, struct names *names)
{
    names->count = scandir(path, &names->entry, is_name, alphasort);
    return names->count >= 0 || complain(path);
}

static void free_names(struct names *names)
{
    for (int i = 0; i < names->count; i++)
        free(names->entry[i]);
    if (names->count >= 0)
        free(names->entry);
}

static bool is_directory(const char *path, bool *directory)
{
    struct stat s;
    if (lstat(path, &s))
        return complain(path);
    *directory = S_ISDIR(s.st_mode);
    return true;
}

static bool remove_tree(const char *path)
{
    bool directory, good = true;
    struct names names;
    if (!is_directory(path, &directory))
        return false;
    if (!directory)
        return !unlink(path) || complain(path);
    if (!read_names(path, &names))
        return false;
    for (int i = 0; i < names.count; i++) {
        char *inside = join(path, names.entry[i]->d_name, "");
        good &= remove_tree(inside);
        free(inside);
    }
    free_names(&names);
    return good && (!rmdir(path) || complain(path));
}

static bool read_all(const char *path, char **bytes, size_t *size)
{
    FILE *f = fopen(path, "rb");
    long length = -1;
    *bytes = NULL;
    if (f && !fseek(f, 0, SEEK_END) && (length = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET))
        *bytes = malloc((size_t)length + 1);
    bool good = *bytes && fread(*bytes, 1, (size_t)length, f) == (size_t)length;
    *size = (size_t)length;
    if (!good) {
        complain(path);
        free(*bytes);
        *bytes = NULL;
    }
    if (f)
        fclose(f);
    return good;
}

static bool copy_file(const char *from, const char *to)
{
    char *bytes;
    size_t size;
    if (!read_all(from, &bytes, &size))
        return false;
    FILE *f = fopen(to, "wb");
    bool good = f && fwrite(bytes, 1, size, f) == size && !fflush(f) && !fsync(fileno(f));
    if (f && fclose(f))
        good = false;
    free(bytes);
    return good || complain(to);
}

static bool copy_tree(const char *from, const char *to)
{
    bool directory, good = true;
    struct names names;
    if (!is_directory(from, &directory))
        return false;
    if (!directory)
        return copy_file(from, to);
    if (mkdir(to, 0777))
        return complain(to);
    if (!read_names(from, &names))
        return false;
    for (int i = 0; i < names.count && good; i++) {
        char *source = join(from, names.entry[i]->d_name, "");
        char *target = join(to, names.entry[i]->d_name, "");
        good = copy_tree(source, target);
        free(source);
        free(target);
    }
    free_names(&names);
    return good;
}

static bool same_file(const char *a, const char *b, bool *same)
{
    char *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    bool good = read_all(a, &x, &n) && read_all(b, &y, &m);
    *same = good && n == m && !memcmp(x, y, n);
    free(x);
    free(y);
    return good;
}

static bool same_tree(const char *a, const char *b, bool *same)
{
    bool x, y, good = true;
    struct names in_a, in_b = {NULL, -1};
    if (!is_directory(a, &x) || !is_directory(b, &y))
        return false;
    *same = x == y;
    if (x != y)
        return true;
    if (!x)
        return same_file(a, b, same);
    if (!read_names(a, &in_a))
        return false;
    good = read_names(b, &in_b);
    *same = good && in_a.count == in_b.count;
    for (int i = 0; i < in_a.count && good && *same; i++) {
        char *p = join(a, in_a.entry[i]->d_name, ""), *q = join(b, in_b.entry[i]->d_name, "");
        *same = !strcmp(in_a.entry[i]->d_name, in_b.entry[i]->d_name);
        good = !*same || same_tree(p, q, same);
        free(p);
        free(q);
    }
    free_names(&in_a);
    free_names(&in_b);
    return good;
}

bool images_same(const char *a, const char *b, const char *gpu, bool *same)
{
    char *p = gpu_directory(a, gpu), *q = gpu_directory(b, gpu);
    bool good = same_tree(p, q, same);
    free(p);
    free(q);
    return good;
}

/* Removes `directory`/`name` if it is there. */
static bool remove_leftover(const char *directory, const char *name)
{
    char *path = join(directory, name, "");
    bool good = access(path, F_OK) || remove_tree(path);
    free(path);
    return good;
}

bool images_lock(const char *directory, bool create, intptr_t *lock)
{
    if (create && !images_make_directory(directory))
        return false;
    const int failed = tree_lock(directory, lock);
    if (failed < 0)
        return complain(directory);
    if (failed) {
        cli_say("%s: another program is changing it", directory);
        return false;
    }
    if (remove_leftover(directory, COMING) && remove_leftover(directory, GOING))
        return true;
    tree_unlock(*lock);
    return false;
}

void images_unlock(intptr_t lock)
{
    tree_unlock(lock);
}

bool images_remove(const char *directory, const char *gpu)
{
    char *there = gpu_directory(directory, gpu), *going = join(directory, GOING, "");
    bool good = (!rename(there, going) || complain(there)) && remove_tree(going);
    free(there);
    free(going);
    return good;
}

bool images_copy(const char *from, const char *to, const char *gpu)
{
    char *source = gpu_directory(from, gpu), *there = gpu_directory(to, gpu);
    char *coming = join(to, COMING, ""), *going = join(to, GOING, "");
    bool good = copy_tree(source, coming), replaced = false;
    if (good && !access(there, F_OK)) {
        replaced = good = !rename(there, going);
        if (!good)
            complain(there);
    }
    if (good && rename(coming, there)) {
        good = complain(there);
        if (replaced) /* what was there comes back */
            rename(going, there);
        replaced = false;
    }
    if (!good)
        remove_leftover(to, COMING);
    if (replaced)
        good &= remove_tree(going);
    free(source);
    free(there);
    free(coming);
    free(going);
    return good;
}
