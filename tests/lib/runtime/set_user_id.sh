#!/bin/sh
# A program that runs with the rights of its file's owner takes no image directory, HIP runtime or
# capture directory from the environment of whoever started it.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
[ "`id -u`" -eq 0 ] || { skip 'a set-user-ID program' 'only root can make one of another user'; plan; }
cat >"$work/open.c" <<'END'
#include <aothip/aothip.h>
#include <stdio.h>
int main(void)
{
    struct aothip_context *context;
    if (aothip_open(NULL, &context))
        return !printf("error %s\n", aothip_last_error());
    printf("images %s\n", aothip_directory(context));
    if (aothip_check_device(context, 0))
        printf("error %s\n", aothip_last_error());
    aothip_close(context);
    return 0;
}
END
chmod 755 "$work"
mkdir "$work/aotriton.images" "$work/theirs"
$CC $SANITIZE_FLAGS -I"$srcdir/include" "$work/open.c" -o "$work/open" lib/.libs/libaothip_core.a \
    `configured ZSTD_LIBS` `configured LIBS` -ldl -lpthread
ok 'a program'
run() {
    AOTHIP_IMAGES=$work/theirs AOTHIP_HIP_LIBRARY=/theirs.so AOTHIP_CODE_LIMIT=nonsense AOTHIP_LOG=1 \
        "$work/open" >"$work/out" 2>"$work/err"
}
run
grep -q 'AOTHIP_CODE_LIMIT is "nonsense"' "$work/out" && [ -s "$work/err" ]
ok 'listens to its environment'
cat >"$work/probe.c" <<'END'
#include <sys/auxv.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    return argc != 2 || !getauxval(AT_SECURE) || access(argv[1], R_OK | X_OK);
}
END
$CC "$work/probe.c" -o "$work/probe" || exit 99
chown 65534 "$work/open" "$work/probe" && chmod 4755 "$work/open" "$work/probe"
if [ "$SANITIZE_FLAGS" ]; then
    skip 'with the rights of another user' 'the sanitizers ask for the rights of who started it'
elif "$work/probe" "$work/aotriton.images"; then
    run
    grep -qx "images $work/aotriton.images" "$work/out"
    ok 'which it does not with the rights of another user'
    ! grep -q 'theirs' "$work/out" && [ ! -s "$work/err" ]
    ok 'nothing of it was used'
    sed "s/^/# /" "$work/out" "$work/err"
else
    skip 'with the rights of another user' 'this machine or directory gives no program such rights'
fi
plan
