# The manual pages are sound, and the programs and their pages know the same options.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

options() { # lists --names, one a line
    sed 's/^\.[A-Za-z ]*Fl -/--/; s/Fl -/--/g' | grep -o -e '--[a-z0-9][a-z0-9-]*' | sort -u
}

for name in bench check run; do
    page=$srcdir/tools/$name/aothip-$name.1
    if command -v mandoc >/dev/null; then
        mandoc -Tlint -Wwarning "$page" >lint
        ok "aothip-$name.1: mandoc finds nothing"
        sed 's/^/# /' lint
    fi
    "$build/tools/aothip-$name" --help | options >said
    sed -n '/^\.Sh DESCRIPTION/,/^\.Sh ENVIRONMENT/p' "$page" | options >written
    cmp -s said written
    ok "aothip-$name: --help and the page know the same options"
    diff said written | sed 's/^/# /'
    [ `"$build/tools/aothip-$name" --help | wc -L` -le 80 ]
    ok "aothip-$name --help: fits into 80 columns"
done
plan
