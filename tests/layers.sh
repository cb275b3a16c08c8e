#!/bin/sh
# What a room may do: who reads files, looks for libraries, locks, prints, keeps state. Which room may
# use which other one is another matter: rooms.sh.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
cd "$srcdir" || exit 99

absent() { # NAME PATTERN FILE...: no file has a line with the pattern
    name=$1 pattern=$2
    shift 2
    grep -nE "$pattern" "$@" >"$work/found" 2>/dev/null
    empty "$work/found" "$name"
}

sources=`find lib -name '*.c'`
headers=`find lib -name '*.h'`
but() { # FILE...: the .c files of lib/ without these
    for file in $sources; do
        case " $* " in *" $file "*) ;; *) echo "$file" ;; esac
    done
}

# pure: no I/O, no HIP, no allocation, no state
pure='lib/problem/*.[ch] lib/select/select.[ch] lib/select/args*.[ch] lib/store/target.[ch]
    lib/store/bundle.[ch] lib/launch/capture_describe.[ch]'
absent 'pure files include only what computes' \
    '^#include (<(std(lib|io)|unistd|fcntl|dlfcn|pthread|zstd|errno|sys/.*|hip/.*)\.h>|"(hip|store|module)\.h")' \
    `ls $pure | grep -v /target.c`
absent 'and call nothing that acts' \
    '\<(malloc|calloc|realloc|free|strdup|getenv|printf|fprintf|open|fopen|dlopen|pthread_[a-z_]*)\(' \
    `ls $pure | grep '\.c$'`
absent 'nor keep state' '^static (_Atomic|_Thread_local)|^static [^(=]*;$' `ls $pure | grep '\.c$'`

absent 'only the loader looks for libraries' '\<(dlopen|dlsym|LoadLibrary[A-Za-z]*|GetProcAddress)\(' \
    `but lib/runtime/loader_posix.c lib/runtime/loader_windows.c` lib/shim/*.cc
absent 'the shim asks no environment' 'getenv\(' lib/shim/*.cc
absent 'only the store has files read, and capture.c writes some' \
    '\<(open|fopen|read|pread|mmap|stat|fstat|opendir)\(|<(fcntl|dirent|sys/mman|sys/stat)\.h>|"(file|capture_disk)\.h"' \
    `but lib/store/store.c lib/store/tune.c lib/store/file_*.c lib/launch/capture.c lib/launch/capture_disk_*.c`
absent 'captures are read by nobody' '\<(open|read|pread|fread|mmap|opendir)\(' lib/launch/capture*.c
absent 'only store.c knows zstd' 'zstd\.h|ZSTD_' `but lib/store/store.c` $headers
absent 'only module.c locks' '"lock\.h"|\<lock_[a-z]*\(' \
    `but lib/runtime/module.c lib/runtime/lock_posix.c lib/runtime/lock_windows.c`
absent 'only module, and status for its last error, keep state (dlerror() has its own)' \
    '^static (_Atomic|_Thread_local|struct [a-z_]+ [a-z_]+;)' \
    `but lib/runtime/module.c lib/status/status_text.c lib/runtime/loader_windows.c`
absent 'nothing calls HIP by name' '\<hip[A-Z][A-Za-z]*\(' $sources
absent 'no room ends the program' '\<(abort|exit|_exit|assert)\(' $sources lib/shim/*.cc
absent 'only status prints' '\<(f?printf|puts|fputs|perror)\(' \
    `but lib/status/status_text.c lib/launch/capture.c`
absent 'nobody lets a set-user-ID program be told by its caller' '\<getenv\(' $sources lib/shim/*.cc
absent 'rooms on the way to a launch ask no environment' 'getenv\(|variable_get\(' \
    `but lib/runtime/hip_find.c lib/store/store.c lib/status/status_text.c lib/runtime/module.c \
        lib/status/variable_posix.c lib/status/variable_windows.c`
absent 'shim throws nothing' '\<(throw|new|std::(string|vector|function))\>' lib/shim/*.cc lib/shim/*.h
absent 'gen is never linked into lib' '^lib.*(gen/[a-z_]+\.c|gen/.*\.la)' lib/local.mk
absent 'adding a GPU does not change lib: no gfx name in code' '^[^*]*gfx[0-9]+' \
    lib/api*.c lib/select/*.c lib/launch/plan*.c lib/store/bundle.c lib/runtime/module*.c lib/problem/*.c
# a tenth of a compile went to operators on enumerators, for each of which clang weighs 400 overloads
kernels=`find gen/kernel -mindepth 2 -type f`
absent 'numbers of kernels are constexpr int, not enumerators without a type' '^ *enum \{' $kernels

# a rule that finds nothing to look at proves nothing
for file in $pure lib/runtime/hip_find.c lib/store/store.c lib/runtime/module.c lib/launch/capture.c \
    lib/launch/capture_disk_posix.c lib/runtime/loader_posix.c lib/runtime/loader_windows.c \
    lib/runtime/lock_posix.c lib/store/file_posix.c lib/status/status_text.c lib/shim/v3.cc; do
    [ -e "$file" ] || echo "$file"
done >"$work/found"
empty "$work/found" 'what the rules name exists'
printf 'static int x;\nvoid *f(void) { return dlopen(0, 0); }\n' >"$work/sin.c"
printf 'enum { X };\n' >>"$work/sin.c"
grep -qE '\<(dlopen|dlsym)\(' "$work/sin.c" && grep -qE '^static [^(=]*;$' "$work/sin.c" &&
    grep -qE '^ *enum \{' "$work/sin.c" && [ `echo "$kernels" | wc -l` -gt 50 ]
ok 'the patterns find what they look for'
# AOTriton has two flash.h; the generator's tests have a kernel by the name that a matrix demands
find lib include gen images tools tests -path tests/gen/small -prune -o \
    -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.hip' \) -print |
    sed 's|.*/||' | sort | uniq -d | grep -v '^flash\.h$' >"$work/found"
empty "$work/found" 'file names are unique'

# a folder is a room: not too full to be overlooked; in tools/emu nothing lies on the doorstep
git ls-files 2>/dev/null | grep -E '^(lib|gen|tools)/' | sed 's|/[^/]*$||' | sort | uniq -c |
    awk '$1 > 24 { print }' >"$work/found"
empty "$work/found" 'no folder holds more than 24 files'
ls -p tools/emu | grep -vE '/$|^(README\.md|local\.mk|hipemu\.map)$' >"$work/found"
empty "$work/found" 'in tools/emu there are rooms, README, build rules and export map'
plan
