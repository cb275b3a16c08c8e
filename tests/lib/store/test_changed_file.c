/*
 * An image file that changes under a program which has opened it: cut, or written over in place as
 * cp does. What was opened goes on working; what is opened afterwards is refused with a reason.
 */
#include "aothip/aothip.h"

#include <fcntl.h>
#include <unistd.h>

#include "fake_hip.h"
#include "fake_problem.h"
#include "make_image.h"
#include "tap.h"

static char directory[256], path[512];
static struct make_image image, other;

static void write_over(const uint8_t *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY);
    if (fd < 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size)
        ok(0, "%s can be written", path);
    close(fd);
}

static void cut(off_t size)
{
    if (truncate(path, size))
        ok(0, "%s can be cut", path);
}

static void cut_to_nothing(void)
{
    cut(0);
}

static void cut_in_a_frame(void)
{
    cut((off_t)(image.size - 100));
}

static void fill_with_zeros(void)
{
    uint8_t *zeros = calloc(1, image.size);
    write_over(zeros, image.size);
    free(zeros);
}

static void copy_another(void)
{
    cut(0);
    write_over(other.bytes, other.size);
}

static void spoil_the_frames(void)
{
    const uint8_t ones[64] = {[0 ... 63] = 0xff};
    const int fd = open(path, O_WRONLY);
    for (off_t at = (off_t)make_image_entry(&image, 0)->frame_offset; at < (off_t)image.size;
         at += 64)
        if (pwrite(fd, ones, (size_t)at + 64 > image.size ? image.size - (size_t)at : 64, at) < 1)
            ok(0, "%s can be spoilt", path);
    close(fd);
}

static void test(const char *what, void (*change)(void), enum aothip_status later)
{
    struct aothip_attn_fwd_params p = problem_make();
    struct aothip_context *before, *after;
    make_image_write(&image, directory, "gfx942");
    fake_hip_reset();
    aothip_open(directory, &before);
    aothip_open(directory, &after);
    is_int(aothip_attn_fwd(before, &p, NULL), AOTHIP_OK, what);
    change();
    p.softcap = 30;
    is_int(aothip_attn_fwd(before, &p, NULL), AOTHIP_OK, "another kernel can still be loaded");
    is_str(fake_hip.symbol, "attn_fwd_f16_d64_general", "as it was");
    is_int(aothip_check_device(before, 0), AOTHIP_OK, "the check finds all as it was opened");
    is_int(aothip_warm_up(before, NULL), AOTHIP_OK, "all kernels can be loaded");
    is_int(aothip_check_device(after, 0), later, "opened now");
    if (later)
        contains(aothip_last_error(), "amd-gfx942/flash/attn.zst: ", "the file is named");
    aothip_close(after);
    aothip_close(before);
    unlink(path);
}

int main(void)
{
    image = make_image("gfx942", NULL);
    other = make_image("gfx90a", NULL);
    make_directory(directory);
    snprintf(path, sizeof(path), "%s/amd-gfx942/flash/attn.zst", directory);
    test("cut to nothing", cut_to_nothing, AOTHIP_E_FORMAT);
    test("cut in its last frame", cut_in_a_frame, AOTHIP_E_FORMAT);
    test("filled with zeros", fill_with_zeros, AOTHIP_E_FORMAT);
    test("another GPU's file copied over it", copy_another, AOTHIP_E_TARGET);
    test("with other bytes for frames", spoil_the_frames, AOTHIP_E_CHECKSUM);
    remove_directory(directory);
    free(image.bytes);
    free(other.bytes);
    return tap_done();
}
