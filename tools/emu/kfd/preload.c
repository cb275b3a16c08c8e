/*
 * The C library's functions that AMD's runtime calls to reach its driver: opening files and
 * folders, and ioctl. What is not the driver's goes on to the C library.
 */
#include "kfd.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Only the linker knows these by the names that they stand for: see local.mk. */
#define HOOK __attribute__((visibility("default")))
__typeof__(open) kfd_hook_open;
__typeof__(open64) kfd_hook_open64;
__typeof__(openat) kfd_hook_openat;
__typeof__(openat64) kfd_hook_openat64;
__typeof__(fopen) kfd_hook_fopen;
__typeof__(fopen64) kfd_hook_fopen64;
__typeof__(access) kfd_hook_access;
__typeof__(opendir) kfd_hook_opendir;
__typeof__(readdir) kfd_hook_readdir;
__typeof__(closedir) kfd_hook_closedir;
__typeof__(ioctl) kfd_hook_ioctl;

/* POSIX has no other way to make a function of what dlsym returns. */
#define REAL(name) ((__typeof__(&name))real_function(#name))

static void *real_function(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (!f) {
        fprintf(stderr, "hipemu-kfd: the C library has no %s\n", name);
        abort();
    }
    return f;
}

/* The GPU whose render node it is, -1 for /dev/kfd, -2 for another file. */
static int which_device(const char *path)
{
    unsigned minor;
    char rest;
    if (strcmp(path, "/dev/kfd") == 0)
        return -1;
    bool node = sscanf(path, "/dev/dri/renderD%u%c", &minor, &rest) == 1 &&
                minor >= KFD_RENDER_MINOR && minor - KFD_RENDER_MINOR < kfd_gpu_count();
    return node ? (int)(minor - KFD_RENDER_MINOR) : -2;
}

static int open_text(const char *text)
{
    int fd = memfd_create("kfd-topology", MFD_CLOEXEC);
    size_t n = strlen(text);
    if (fd >= 0 && (write(fd, text, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* -2: not one of ours. */
static int open_ours(const char *path, int flags)
{
    const char *text;
    int device = which_device(path);
    if (device >= -1) {
        kfd_log("open %s", path);
        return kfd_open(device, flags);
    }
    text = kfd_file_text(path);
    return text ? open_text(text) : -2;
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    int fd = path ? open_ours(path, flags) : -2;
    return fd == -2 ? (int)syscall(SYS_openat, folder, path, flags, mode) : fd;
}

/* The mode is there only when a file may be made. */
#define MODE(flags, last)                                                                          \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list ap;                                                                                \
        va_start(ap, last);                                                                        \
        mode = (mode_t)va_arg(ap, int);                                                            \
        va_end(ap);                                                                                \
    }

/*
 * In strict mode each buffer shall be memory of its own, so that whoever leaves one is seen: ROCr
 * then does not cut small ones out of blocks of 2 MiB.
 */
__attribute__((constructor)) static void ask_for_whole_buffers(void)
{
    const char *mode = getenv("AOTHIP_EMU_MODE");
    if (mode && strcmp(mode, "strict") == 0)
        setenv("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1", 0);
}

HOOK int kfd_hook_open(const char *path, int flags, ...)
{
    MODE(flags, flags)
    return open_at(AT_FDCWD, path, flags, mode);
}

HOOK int kfd_hook_open64(const char *path, int flags, ...)
{
    MODE(flags, flags)
    return open_at(AT_FDCWD, path, flags, mode);
}

HOOK int kfd_hook_openat(int folder, const char *path, int flags, ...)
{
    MODE(flags, flags)
    return open_at(folder, path, flags, mode);
}

HOOK int kfd_hook_openat64(int folder, const char *path, int flags, ...)
{
    MODE(flags, flags)
    return open_at(folder, path, flags, mode);
}

static FILE *open_stream(const char *path, const char *mode)
{
    const char *text = path && *mode == 'r' ? kfd_file_text(path) : NULL;
    int fd = text ? open_text(text) : -1;
    return fd < 0 ? NULL : fdopen(fd, "r");
}

HOOK FILE *kfd_hook_fopen(const char *path, const char *mode)
{
    FILE *f = open_stream(path, mode);
    return f ? f : REAL(fopen)(path, mode);
}

HOOK FILE *kfd_hook_fopen64(const char *path, const char *mode)
{
    FILE *f = open_stream(path, mode);
    return f ? f : REAL(fopen64)(path, mode);
}

HOOK int kfd_hook_access(const char *path, int mode)
{
    if (which_device(path) >= -1 || kfd_file_text(path) || kfd_folder(path))
        return 0;
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

/* A folder of ours that somebody reads; a DIR to the caller. */
struct folder {
    struct folder *next;
    char path[512];
    unsigned at;
    struct dirent entry;
};
static struct folder *folders;
static pthread_mutex_t folder_lock = PTHREAD_MUTEX_INITIALIZER;

/* One of ours, or NULL; `take` takes it off the list. */
static struct folder *find_folder(DIR *d, bool take)
{
    pthread_mutex_lock(&folder_lock);
    struct folder **at = &folders, *found;
    while (*at && (DIR *)*at != d)
        at = &(*at)->next;
    found = *at;
    if (found && take)
        *at = found->next;
    pthread_mutex_unlock(&folder_lock);
    return found;
}

HOOK DIR *kfd_hook_opendir(const char *path)
{
    if (!kfd_folder(path))
        return REAL(opendir)(path);
    struct folder *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    snprintf(f->path, sizeof f->path, "%s", path);
    pthread_mutex_lock(&folder_lock);
    f->next = folders;
    folders = f;
    pthread_mutex_unlock(&folder_lock);
    return (DIR *)f;
}

HOOK struct dirent *kfd_hook_readdir(DIR *d)
{
    struct folder *f = find_folder(d, false);
    if (!f)
        return REAL(readdir)(d);
    f->entry.d_type = DT_UNKNOWN;
    return kfd_folder_entry(f->path, f->at++, f->entry.d_name, sizeof f->entry.d_name) ? &f->entry
                                                                                       : NULL;
}

HOOK int kfd_hook_closedir(DIR *d)
{
    struct folder *f = find_folder(d, true);
    if (!f)
        return REAL(closedir)(d);
    free(f);
    return 0;
}

HOOK int kfd_hook_ioctl(int fd, unsigned long request, ...)
{
    va_list ap;
    va_start(ap, request);
    void *args = va_arg(ap, void *);
    va_end(ap);
    unsigned type = _IOC_TYPE(request);
    if ((type != 'K' && type != 'd') || kfd_opened_gpu(fd) < -1)
        return (int)syscall(SYS_ioctl, fd, request, args);
    int result = kfd_request(fd, request, args);
    if (result >= 0)
        return result;
    errno = -result;
    return -1;
}
