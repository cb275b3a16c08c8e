/*
 * What the emulator and the programs use of POSIX and mingw-w64 lacks, or does with names of files
 * that are not UTF-8. Put in front of their sources in the build for Windows, and of no others.
 */
#ifndef AOTHIP_POSIX_MINGW_H
#define AOTHIP_POSIX_MINGW_H

/* libtool defines it, and pthread.h would take it to mean a DLL for threads */
#undef DLL_EXPORT

/* its tell() is no part of POSIX */
#define tell io_tell
#include <io.h>
#undef tell

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* what the emulator is called, and what stands between directories */
#define EMULATOR "hipemu.dll"
#define PATH_SEPARATORS "/\\"

/* pages: a mapping is given back whole */
enum {
    PROT_NONE = 0,
    PROT_READ = 1,
    PROT_WRITE = 2,
    MAP_PRIVATE = 1,
    MAP_ANONYMOUS = 2,
    MAP_NORESERVE = 4,
    MAP_POPULATE = 8
};
#define MAP_FAILED ((void *)-1)
void *mmap(void *address, size_t size, int protection, int flags, int file, int64_t offset);
int munmap(void *address, size_t size);
int mprotect(void *address, size_t size, int protection);

/* processors */
#define _SC_NPROCESSORS_ONLN 84
long sysconf(int name);

/* Aligned to 16 bytes, and freed by free(): this build's code moves vectors from any address. */
void *aligned_alloc(size_t alignment, size_t size);

void *reallocarray(void *memory, size_t count, size_t size);

/* libraries: only those in the process */
typedef struct {
    const char *dli_fname;
    void *dli_fbase;
} Dl_info;
enum { RTLD_LAZY = 1, RTLD_NOLOAD = 4 };
int dladdr(const void *address, Dl_info *info);
void *dlopen(const char *file, int flags);
void *dlsym(void *handle, const char *symbol);
int dlclose(void *handle);

/* text */
void *memmem(const void *in, size_t in_size, const void *what, size_t size);
char *strndup(const char *text, size_t most);
char *strsep(char **rest, const char *ends);

/* the environment of the process, where every C library in it finds what is set */
char *posix_getenv(const char *name);
int setenv(const char *name, const char *value, int replace);
#define getenv posix_getenv

/* files, whose names are UTF-8 and as long as one likes; all are binary */
FILE *posix_fopen(const char *path, const char *mode);
int posix_open(const char *path, int flags, int mode);
int posix_stat(const char *path, struct stat *info);
int posix_rename(const char *from, const char *to);
int posix_unlink(const char *path);
int posix_access(const char *path, int how);
int posix_mkdir(const char *path);
int posix_rmdir(const char *path);
int posix_mkstemp(char *name);
char *realpath(const char *path, char *whole);
ssize_t readlink(const char *path, char *to, size_t room); /* of "/proc/self/exe" alone */
int fchmod(int file, mode_t mode); /* files have the rights of their folder */
int fsync(int file);
ssize_t getline(char **line, size_t *room, FILE *file);
struct dirent {
    char d_name[3 * 260];
};
typedef struct posix_directory DIR;
DIR *posix_opendir(const char *path);
struct dirent *posix_readdir(DIR *directory);
int posix_closedir(DIR *directory);
int scandir(const char *path, struct dirent ***list, int (*wanted)(const struct dirent *item),
            int (*order)(const struct dirent **a, const struct dirent **b));
int alphasort(const struct dirent **a, const struct dirent **b);
#define opendir posix_opendir
#define readdir posix_readdir
#define closedir posix_closedir
#define fopen posix_fopen
#define open(path, flags) posix_open(path, flags, 0)
#define stat(path, info) posix_stat(path, info)
#define lstat(path, info) posix_stat(path, info)
#define mkdir(path, mode) posix_mkdir(path)
#define rmdir posix_rmdir
#define rename posix_rename
#define unlink posix_unlink
#define access posix_access
#define mkstemp posix_mkstemp
#define O_CLOEXEC _O_NOINHERIT
#define O_NONBLOCK _O_BINARY

/* a console that erases when it is told to, as Windows' have since Windows 10 */
int posix_isatty(int file);
#define isatty posix_isatty

/* EBUSY in words: another program has the file open, after waiting a moment for it */
const char *posix_strerror(int error);
#define strerror posix_strerror

/* the file's name without directories */
const char *posix_program(void);
#define program_invocation_short_name posix_program()

/* signals: only an interrupt comes, and ends the program in Windows' way; see program_mingw.c */
#define SIGHUP SIGINT
_Noreturn void posix_interrupted(void);
#define raise(number) posix_interrupted()

/* programs: main() gets UTF-8; see program_mingw.c */
#ifndef AOTHIP_PROGRAM_MINGW
#define main program_main
int program_main(int argc, char **argv);
#endif

#endif
