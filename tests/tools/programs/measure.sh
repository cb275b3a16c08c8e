# aothip-bench --measure on the emulator, whose clock has values planted in its tables: they come
# out again, within what the file says it may be off by. And files for the clock that are wrong.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

bench=$build/tools/aothip-bench
export AOTHIP_EMU_MATRIX=f32 # what products give is not looked at

# plant GPU "NAME VALUE ..."
plant()
{
    echo "GPU(\"$1\")"
    echo "$2" | xargs -n 2 | sed "s/\(.*\) \(.*\)/P(\1, \2, 0, 'M', \"planted\")/"
}
plant gfx942 '
    valu 8 valu_latency 12 trans 24 trans_port 24 trans_latency 32 multiply 32 f64 8 packed 8
    salu 8 salu_latency 12 branch_taken 24 branch_not 8 barrier 40 matrix_pass 6
    lds_rate_read_4 9 lds_rate_read_8 14 lds_rate_read_16 27
    lds_rate_write_4 11 lds_rate_write_8 18 lds_rate_write_16 37
    lds_read_4 41 lds_read_8 52 lds_read_16 63 lds_write_4 44 lds_write_8 57 lds_write_16 72
    lds_port 48 scalar_hit 61 l1_latency 140 l2_latency 353 mall_latency 640 dram_latency 600
    l2_rate 1500 mall_rate 4.5 dram_rate 2.5 clock 1.9 clock_full 1.2 launch_us 4.2' >gfx942.planted
plant gfx1201 '
    valu_latency 7 trans 8 trans_latency 14 multiply 8 f64 16 salu 2 salu_latency 4
    branch_taken 12 branch_not 5 barrier 24 matrix_port 24 matrix_pass 3 matrix_wait 21
    lds_rate_read_4 2 lds_rate_read_8 4 lds_rate_read_16 9
    lds_rate_write_4 3 lds_rate_write_8 5 lds_rate_write_16 9
    lds_read_4 41 lds_read_8 45 lds_read_16 50 lds_write_4 44 lds_write_8 47 lds_write_16 55
    lds_port 64 scalar_hit 70 l1_latency 150 l2_latency 400 mall_latency 560 dram_latency 310
    l2_rate 1000 mall_rate 1.9 dram_rate 0.5 clock 2.1 clock_full 1.7 launch_us 11' >gfx1201.planted
# Nothing is measured with sanitizers, which make the emulator slow.
gpus='gfx942 gfx1201'
! sanitized || gpus=
for gpu in $gpus; do
    exits 0 "$gpu: --measure" "$bench" --emulate $gpu --clock $gpu.planted --measure $gpu.found
    awk -F '[(, ]+' '
        FILENAME == ARGV[1] && /^P/ { planted[$2] = $3; n++ }
        FILENAME == ARGV[2] && /^P/ && $2 in planted {
            off = 100 * ($3 / planted[$2] - 1)
            if (off > $4 || -off > $4 || $4 > 45) {
                print "# " $2 ": " planted[$2] " planted, " $3 " found, uncertain by " $4 " %"
                bad = 1
            }
            n--
        }
        END { exit bad || n }' $gpu.planted $gpu.found
    ok "$gpu: what was planted is found"
done
if [ -f gfx1201.found ] && [ -d "$images/amd-gfx1201" ]; then
    AOTHIP_IMAGES=$images exits 0 'what was measured is a file for the clock' \
        "$bench" --emulate gfx1201 --clock gfx1201.found seq=64,dim=64
fi

# wrong NAME LINE MESSAGE: the text on stdin is no such file
wrong()
{
    cat >wrong.def
    exits 1 "$1" "$bench" --emulate gfx942 --clock wrong.def --measure -
    contains err "wrong.def:$2: $3" 'says where and what'
}
wrong 'no GPU' 1 'GPU("gfx...") has to stand before' <<'END'
P(valu, 4, 0, 'M', "x")
END
wrong 'a parameter that is none' 3 "the clock has no parameter 'vallu'" <<'END'
/* one line
   and another */
GPU("gfx942") P(vallu, 4, 0, 'M', "x")
END
wrong 'what cannot change' 2 'simds is what the GPU is built of, and stays 4' <<'END'
GPU("gfx942")
P(simds, 8, 0, 'M', "x")
END
wrong 'a value that cannot be' 2 'lds_port is 0; from 1 to 100000 is possible' <<'END'
GPU("gfx942")
P(lds_port, 0, 0, 'M', "x")
END
wrong 'no number' 2 "the value is no number: '1.2.3'" <<'END'
GPU("gfx942")
P(clock, 1.2.3, 0, 'M', "x")
END
wrong 'a word' 2 "the uncertainty is no number: 'nan'" <<'END'
GPU("gfx942")
P(clock, 1.2, nan, 'M', "x")
END
wrong 'the same again' 3 'clock is there twice' <<'END'
GPU("gfx942")
P(clock, 1.2, 0, 'M', "x")
P(clock, 1.3, 0, 'M', "x")
END
wrong 'a GPU that is none' 1 'GPU("gfx803"): no GPU with a clock' <<'END'
GPU("gfx803")
END
wrong 'an empty file' 1 'no parameter' </dev/null
exits 1 'a file that is not there' "$bench" --emulate gfx942 --clock nowhere --measure -
contains err '--clock nowhere: No such file or directory' 'is named'
exits 1 'a file that cannot be written' "$bench" --emulate gfx942 --measure nowhere/file
contains err 'nowhere/file: No such file or directory' 'is named'
exits 2 '--measure of a shape' "$bench" --emulate gfx942 --measure - seq=128
contains err 'takes no shape' 'is wrong'
exits 2 '--measure with --profile' "$bench" --emulate gfx942 --measure - --profile
plan
