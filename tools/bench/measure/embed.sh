#!/bin/sh
# embed.sh CLANG SOURCE GPU ...: the kernels of --measure as C, assembled for each GPU that this clang
# knows.
clang=$1
source=$2
shift 2
work=`mktemp -d "${TMPDIR:-/tmp}/aothip-embed.XXXXXX"` || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

echo '/* Made by embed.sh of measure_kernels.s. */'
echo '#include "measure_code.h"'
rows=
for gpu; do
    : | "$clang" -target amdgcn-amd-amdhsa -mcpu="$gpu" -x assembler -c - -o "$work/none.o" 2>"$work/why" ||
        continue
    case $gpu in
    gfx9[45]*) define=CDNA3 wave=64 ;;
    gfx9*) define=CDNA2 wave=64 ;;
    gfx11*) define=GFX11 wave=32 ;;
    *) define=GFX12 wave=32 ;;
    esac
    # all kernels have the same metadata but for their names
    cp "$source" "$work/k.s" || exit 1
    {
        printf '.amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n'
        sed -n 's/^measure \([a-z0-9_]*\),.*/\1_few \1_many/p' "$source" | tr ' ' '\n' |
            while read -r name; do
                case $gpu:$name in
                gfx9*:matrix_chain* | gfx1*:packed*) continue ;;
                esac
                printf '  - .name: %s\n    .symbol: %s.kd\n' "$name" "$name"
                printf '    .kernarg_segment_size: 32\n    .kernarg_segment_align: 8\n'
                printf '    .group_segment_fixed_size: 16384\n    .private_segment_fixed_size: 0\n'
                printf '    .wavefront_size: %s\n    .sgpr_count: 32\n' "$wave"
                printf '    .vgpr_count: 96\n    .max_flat_workgroup_size: 1024\n    .args: []\n'
            done
        printf '...\n.end_amdgpu_metadata\n'
    } >>"$work/k.s"
    "$clang" -target amdgcn-amd-amdhsa -mcpu="$gpu" -mcode-object-version=5 \
        -Wa,-defsym,"$define"=1 -Wl,--strip-debug -x assembler "$work/k.s" -o "$work/k.co" || exit 1
    echo "static const unsigned char code_$gpu[] = {"
    od -v -An -tu1 "$work/k.co" | sed 's/  *\([0-9][0-9]*\)/\1,/g' || exit 1
    echo '};'
    rows="$rows    {\"$gpu\", code_$gpu, sizeof code_$gpu},
"
done
[ -n "$rows" ] || { cat "$work/why" >&2; exit 1; }
printf 'const struct measure_code measure_codes[] = {\n%s    {0, 0, 0},\n};\n' "$rows"
