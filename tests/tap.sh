# What all shell tests share, as tests/tap.h is for those in C. $work is a fresh directory, removed at
# the end; what a person who starts the test by hand may have set for the library is forgotten.
set -u
: "${srcdir:=.}"
work=`mktemp -d "${TMPDIR:-/tmp}/aothip-test.XXXXXX"` || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' INT TERM HUP
unset AOTHIP_IMAGES AOTHIP_HIP_LIBRARY AOTHIP_LIBRARY AOTHIP_ENABLE AOTHIP_LOG AOTHIP_CODE_LIMIT \
    AOTHIP_ATOMICS \
    AOTHIP_CAPTURE AOTHIP_EMU_GPU AOTHIP_EMU_MODE AOTHIP_EMU_TIME AOTHIP_EMU_CLOCK HIP_VISIBLE_DEVICES
# Kernels by order of preference: the choice between tiles has tests of its own.
export AOTHIP_TUNE=none
count=0
failed=0

ok() { # NAME: passes if the last command did; else the end of the file $shown is shown, if one is set
    if [ $? -eq 0 ]; then good=ok; else good='not ok'; failed=1; fi
    count=$((count + 1))
    echo "$good $count - $1"
    [ "$good" = ok ] || [ -z "${shown-}" ] || tail -n 40 "$shown" | sed 's/^/# /'
}

# The name of a check is made without commands: a shell may take their verdict for the check's.
ok_results() { # FILE NAME: as ok, and tells how many checks of a test passed by what FILE says
    result=$?
    set -- "$2: `grep -c '^ok' "$1"` checks"
    (exit $result)
    ok "$1"
}

skip() { # NAME REASON
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

contains() { # FILE TEXT NAME
    grep -qF -- "$2" "$1"
    ok "$3"
    [ "$good" = ok ] || { echo "# lacks: $2"; sed 's/^/#   /' "$1"; }
}

empty() { # FILE NAME: passes if the file is empty, and shows it if not
    [ ! -s "$1" ]
    ok "$2"
    sed 's/^/# /' "$1"
}

plan() { # at the end
    echo "1..$count"
    exit $failed
}
