#!/bin/sh
# Who may include and call whom: all sources and objects against the table rooms.txt; and that the
# check finds an include, a call, a circle and a foreign file that are planted beside the real ones.
# And that shell tests can fail.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
case $SANITIZE_FLAGS in ?*) skip 'rooms' 'the sources are the same with sanitizers'; plan ;; esac
python=
for p in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! "$p" -c '' 2>/dev/null || python=$p
done
if [ -z "$python" ]; then
    skip 'rooms' 'there is no python3'
    plan
fi
rooms() { # [SOURCES BUILD]: beside the real ones
    "$python" "$srcdir/tests/rooms.py" "$srcdir/tests/rooms.txt" "$srcdir" . "$@" >"$work/found" 2>&1
}

rooms
ok 'every file keeps to its room, and no files go in circles'
sed 's/^/# /' "$work/found"
[ -n "`find lib tools/emu -name '*.o' -print | head -n 1`" ]
ok 'there are objects to look at'

# NAME TEXT: the fault that was planted is found, and nothing else
finds() {
    rooms "$work/src" "$work/obj"
    [ $? -eq 1 ] && [ `wc -l <"$work/found"` -eq 1 ] && grep -qF -- "$2" "$work/found"
    ok "$1"
    [ "$good" = ok ] || sed 's/^/# /' "$work/found"
    rm -rf "$work/src" "$work/obj"
}
plant() { # FILE TEXT: a source and, if it is C, its object
    mkdir -p "`dirname "$work/src/$1"`" "`dirname "$work/obj/$1"`"
    printf '%s\n' "$2" >"$work/src/$1"
    case $1 in
    *.c) $CC -c "$work/src/$1" -I"$work/src" -o "$work/obj/${1%.c}.o" ;;
    esac
}

plant lib/problem/planted.h '#include "module.h"'
finds 'an include of a higher floor' 'lib/problem may not use lib/runtime'
plant lib/problem/planted.c 'int module_load(void); int planted(void) { return module_load(); }'
finds 'a call of a higher floor' 'lib/problem/planted calls module_load of lib/runtime/module'
plant lib/status/planted_a.c 'int planted_b(void); int planted_a(void) { return planted_b(); }'
plant lib/status/planted_b.c 'int planted_a(void); int planted_b(void) { return planted_a(); }'
finds 'a circle by calls' 'a circle: lib/status/planted_a, lib/status/planted_b'
plant lib/status/planted_a.h '#include "planted_b.h"'
plant lib/status/planted_b.h '#include "planted_a.h"'
finds 'a circle by includes' 'a circle: lib/status/planted_a, lib/status/planted_b'
plant lib/status/planted_a.h 'int planted_a(void);'
plant lib/status/planted_a.c 'int planted_b(void); int planted_a(void) { return planted_b(); }'
plant lib/status/planted_b.h '#include "planted_a.h"'
plant lib/status/planted_b.c 'int planted_b(void) { return 0; }'
finds 'a circle by an include and a call' 'a circle: lib/status/planted_a, lib/status/planted_b'
plant lib/planted/planted.h ''
finds 'a folder that is no room' 'lib/planted/planted.h: its folder is no room'
plant lib/planted.h '#include "tap.h"'
finds 'an include of a test' 'lib/planted.h includes tap.h, which is in no room'

# Shell tests, where a command in a check's name would give the check its verdict: see tap.sh.
find "$srcdir/tests" -name '*.sh' -exec grep -HnE '(^|[ 	])ok "[^"]*(`|[$][(][^(])' {} + >"$work/found"
empty "$work/found" 'no name of a check is made by a command'
plan
