#!/bin/sh
# The doors to the system: what differs between systems stands in NAME_posix.c and NAME_windows.c, two
# bodies behind the one interface of NAME.h, and nowhere else in lib/. The programs and the emulator
# are for POSIX, and compiled for Windows with tools/mingw in front of them: they ask for no system, and
# where that is not enough, there is a door.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
cd "$srcdir" || exit 99

windows_words='_WIN(32|64)|__MINGW|_MSC_VER|__CYGWIN__|__linux__|__unix__|<windows\.h>|<psapi\.h>'
posix_words='<(dlfcn|link|unistd|pthread|dirent|fcntl|sched|signal|sys/[a-z]*)\.h>'
posix_words="$posix_words|\\<(secure_getenv|getenv|fopen|rename|dlopen|memmem|strndup)\\("

# C alone: the shim is C++ for those who build PyTorch, and old_glibc.h is about one C library
common() { # DIRECTORY: what both systems compile
    find "$1" -name '*.[ch]' ! -name '*_posix.c' ! -name '*_windows.[ch]' ! -name old_glibc.h
}
sins() { # DIRECTORY
    common "$1" | xargs grep -nE "$windows_words|$posix_words"
}
sins lib >"$work/found"
empty "$work/found" 'lib/ asks for the system nowhere but in its doors'
find lib -name '*_posix.c' | xargs grep -nE "$windows_words" >"$work/found"
find lib -name '*_windows.c' | xargs grep -nE "$posix_words|_WIN(32|64)" >>"$work/found"
empty "$work/found" 'and each body is for one kind of system'

find tools gen include -name '*.[ch]' -o -name '*.cc' -o -name '*.hpp' | grep -v '^tools/mingw/\|_windows\.[ch]$' |
    xargs grep -nE "$windows_words" >"$work/found"
empty "$work/found" 'nor do programs, emulator and headers'

functions() { # FILE: those that it defines for others; code has them at the start of a line
    sed -n 's/^\([a-z][a-z_ ]*[ *]\)\([a-z_0-9]*\)(.*[^;]$/\1\2/p' "$1" | grep -v '^static' |
        sed 's/.*[ *]//' | sort
}
pairs=0
for posix in `find lib tools -name '*_posix.c'`; do
    door=${posix%_posix.c}
    pairs=$((pairs + 1))
    [ -f "${door}_windows.c" ] && [ -f "$door.h" ] || { echo "$door lacks a part"; continue; }
    functions "$posix" >"$work/posix"
    functions "${door}_windows.c" >"$work/windows"
    [ -s "$work/posix" ] || echo "$posix: no function found"
    diff "$work/posix" "$work/windows" | sed "s|^|$door: |"
    while read -r name; do
        grep -q "\\<$name(" "$door.h" || echo "$door.h does not tell of $name()"
    done <"$work/posix"
done >"$work/found"
empty "$work/found" 'the two bodies of a door have the same functions, and its header tells of them'
[ "$pairs" -ge 8 ]
ok "there are $pairs doors"
find lib tools -name '*_windows.[ch]' | while read -r file; do
    grep -q "$file" lib/local.mk tools/local.mk || echo "$file is in no list"
done >"$work/found"
empty "$work/found" 'what only Windows compiles is in the build and the archive'

mkdir "$work/sin"
for sin in '#ifdef _WIN32' '#include <pthread.h>' 'x = secure_getenv("A");' '#include <sys/stat.h>'; do
    echo "$sin" >"$work/sin/sin.c"
    sins "$work/sin" | grep -q . || echo "$sin"
done >"$work/found"
empty "$work/found" 'the patterns find what they look for'
plan
