# From source to image and back: what the compiler made is what the library's store reads.
. "${srcdir:-.}/tests/gen/gen_test_lib.sh"
make_images
if [ $? -ne 0 ]; then
    sed 's/^/# /' log
    echo 'Bail out! the test kernels do not build'
    exit 99
fi
"$build/tests/gen/roundtrip_check" small.def object aotriton.images
