#!/bin/sh
# The rules between folders: who may include, call and link what.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
cd "$srcdir" || exit 99

absent() { # NAME PATTERN FILE...: no file has a line with the pattern
    name=$1 pattern=$2
    shift 2
    grep -nE "$pattern" "$@" >"$work/found" 2>/dev/null
    empty "$work/found" "$name"
}

but() { # FILE...: the .c files of lib/ without these
    for file in lib/*.c; do
        case " $* " in *" $file "*) ;; *) echo "$file" ;; esac
    done
}

# pure rooms: no I/O, no HIP, no allocation
pure='lib/target.c lib/select.c lib/args.c lib/args_bwd.c lib/args_decode.c lib/validate.c
    lib/validate_bwd.c lib/validate_options.c lib/validate_sound.c lib/validate_view.c
    lib/bundle.c lib/capture_describe.c'
absent 'pure rooms include only what computes' \
    '^#include (<(std(lib|io)|unistd|fcntl|dlfcn|pthread|zstd|errno|sys/.*|hip/.*)\.h>|"(hip|store|module)\.h")' \
    lib/select.c lib/args.c lib/args_bwd.c lib/args_decode.c lib/validate.c lib/validate_bwd.c \
    lib/validate_options.c lib/validate_sound.c lib/validate_view.c lib/bundle.c lib/shape.h \
    lib/validate_view.h \
    lib/select.h lib/args.h lib/validate.h lib/bundle.h lib/target.h
absent 'and call nothing that acts' \
    '\<(malloc|calloc|realloc|free|strdup|getenv|printf|fprintf|open|fopen|dlopen|pthread_[a-z_]*)\(' \
    $pure
absent 'nor keep state' '^static (_Atomic|_Thread_local)|^static [^(=]*;$' $pure

absent 'only hip.c looks for libraries' '\<(dlopen|dlsym)\(' `but lib/hip.c`
absent 'in the shim only shim_hip.cc' '\<(dlopen|dlsym|getenv)\(' \
    `ls lib/shim/*.cc | grep -v shim_hip`
absent 'only store.c reads files, and capture.c writes some' \
    '\<(open|fopen|read|pread|mmap|stat|fstat|opendir)\(|<(fcntl|dirent|sys/mman|sys/stat)\.h>' \
    `but lib/store.c lib/capture.c`
absent 'capture.c reads none' '\<(open|read|pread|fread|mmap|opendir)\(' lib/capture.c
absent 'only store.c knows zstd' 'zstd\.h|ZSTD_' `but lib/store.c` lib/*.h
absent 'only module.c locks' 'pthread_' `but lib/module.c` lib/*.h
absent 'only module, and status for its last error, keep state' \
    '^static (_Atomic|_Thread_local|struct [a-z_]+ [a-z_]+;)' `but lib/module.c lib/status.c`
absent 'nothing calls HIP by name' '\<hip[A-Z][A-Za-z]*\(' lib/*.c
absent 'no room ends the program' '\<(abort|exit|_exit|assert)\(' lib/*.c lib/shim/*.cc
absent 'only status prints' '\<(f?printf|puts|fputs|perror)\(' `but lib/status.c lib/capture.c`
absent 'rooms on the way to a launch ask no environment' '\<getenv\(' \
    `but lib/hip.c lib/store.c lib/status.c lib/module.c`

# folders
absent 'shim sees public headers only' \
    '^#include "(api|args|bundle|format|hip|module|plan|select|shape|status|store|target|validate|kernarg)\.h"' \
    lib/shim/*.cc lib/shim/*.h
absent 'shim throws nothing' '\<(throw|new|std::(string|vector|function))\>' \
    lib/shim/*.cc lib/shim/*.h
absent 'lib includes nothing from gen but kernarg.h' '^#include "(gen|pack|matrix|image|object|tile|mma).*"' \
    lib/*.c lib/*.h
absent 'lib depends on no tool and no test' '^#include "(tap|emu_|ref|npy|attn|cli|device).*"' \
    lib/*.c lib/*.h lib/shim/*.cc
absent 'gen is never linked into lib' '^lib.*(gen/[a-z_]+\.c|gen/.*\.la)' lib/local.mk
absent 'the emulator sees hip.h alone of lib' \
    '^#include "(api|args|bundle|format|module|plan|select|shape|status|store|target|validate|kernarg)\.h"' \
    tools/emu/*.c tools/emu/*.h
absent 'nothing outside tests includes a test' '^#include ".*(tap|make_image|fake_hip|fault)\.h"' \
    lib/*.c gen/*.c tools/*.c tools/emu/*.c
absent 'adding a GPU does not change lib: no gfx name in code' '^[^*]*gfx[0-9]+' \
    lib/api*.c lib/args*.c lib/bundle.c lib/module.c lib/plan*.c lib/select.c lib/validate*.c

# a rule that finds nothing to look at proves nothing
for file in $pure lib/hip.c lib/store.c lib/module.c lib/shim/shim_v3.cc tools/emu gen; do
    [ -e "$file" ] || echo "$file"
done >"$work/found"
empty "$work/found" 'what the rules name exists'
printf 'static int x;\nvoid *f(void) { return dlopen(0, 0); }\n' >"$work/sin.c"
grep -qE '\<(dlopen|dlsym)\(' "$work/sin.c" && grep -qE '^static [^(=]*;$' "$work/sin.c"
ok 'the patterns find what they look for'
# AOTriton has two flash.h; the generator's tests have a kernel by the name that a matrix demands
find lib include gen images tools tests -path tests/gen/kernel -prune -o \
    -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.hip' \) -print |
    sed 's|.*/||' | sort | uniq -d | grep -v '^flash\.h$' >"$work/found"
empty "$work/found" 'file names are unique'
plan
