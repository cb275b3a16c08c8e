/*
 * Fuzzes the generator's readers: whatever the text, the matrix reader gives GPUs and kernels that
 * fit each other or complains with file and line; whatever the bytes, the reader of code objects
 * gives terminated names or a reason; neither reads beyond the bytes.
 *
 * As a normal test it mutates inputs of its own, with a fixed seed. Built with -DFUZZ_ENGINE and
 * -fsanitize=fuzzer (make fuzz-matrix), libFuzzer drives it.
 */
#include "matrix.h"
#include "object.h"
#include "tap.h"

#include <elf.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int broken_promises, matrices, refusals;

static int fits(const struct matrix *m)
{
    for (int i = 0; i < m->kernel_count; i++) {
        const struct matrix_kernel *k = &m->kernels[i];
        if (k->gpu < 0 || k->gpu >= m->gpu_count || !k->op || !k->waves ||
            !memchr(k->symbol, '\0', sizeof(k->symbol)) || matrix_threads(m, k) > 1024)
            return 0;
    }
    return m->gpu_count > 0 && m->kernel_count >= m->gpu_count;
}

/* The text ends at the first NUL, as it does in a file that matrix_read() takes. */
static void read_matrix(const uint8_t *bytes, size_t size)
{
    char *text = strndup((const char *)bytes, size), *printed = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&printed, &length);
    struct matrix m;

    if (matrix_parse(&m, text, "m.def", out)) {
        refusals++;
        fflush(out);
        broken_promises += strncmp(printed, "m.def:", 6) != 0 || m.gpus || m.kernels;
    } else {
        matrices++;
        broken_promises += !fits(&m);
        matrix_free(&m);
    }
    fclose(out);
    free(printed);
    free(text);
}

static void read_object(const uint8_t *bytes, size_t size)
{
    struct object_info info;
    const void *elf;
    size_t elf_size;
    const char *wrong = object_find(bytes, size, "gfx942", &elf, &elf_size);

    if (!wrong)
        broken_promises +=
            (const uint8_t *)elf < bytes || (const uint8_t *)elf + elf_size > bytes + size;
    wrong = object_read(bytes, size, &info);
    if (!wrong)
        broken_promises += !memchr(info.name, '\0', sizeof(info.name)) ||
                           !memchr(info.descriptor, '\0', sizeof(info.descriptor));
    object_has_symbol(bytes, size, "a", STT_OBJECT); /* either answer will do */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_matrix(data, size);
    read_object(data, size);
    if (broken_promises)
        abort();
    return 0;
}

#ifndef FUZZ_ENGINE

static const char text[] =
    "gpu gfx942 targets=gfx942 wave=64 registers=512 register_pool=512 lds=65536\n"
    "gpu gfx1100 targets=gfx1100 wave=32 registers=256 register_pool=1536 lds=65536\n"
    "# a row with axes\n"
    "attn_fwd gpu=gfx942,gfx1100 dtype=bf16,f16 score=no,yes dim=64 unaligned=no paged=no \\\n"
    " tile_q=128 tile_k=64 waves=4 waves_per_eu=2 registers=256 scratch=0\n";

static uint64_t state = 20261121;

static size_t below(size_t bound)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (size_t)((state >> 33) % bound);
}

static void mutate(void)
{
    static const char letters[] = "=,\\#\n 0123456789abcgfx_-";
    size_t size = below(4) ? sizeof(text) - 1 : below(sizeof(text));
    char *copy = malloc(size + 1);

    memcpy(copy, text, size);
    for (size_t edits = below(4); edits && size; edits--) {
        size_t at = below(size);
        if (below(2)) {
            copy[at] = letters[below(sizeof(letters) - 1)];
        } else {
            size_t from = at + below(size - at);
            memmove(copy + at, copy + from, size - from);
            size -= from - at;
        }
    }
    read_matrix((const uint8_t *)copy, size);
    read_object((const uint8_t *)copy, size);
    free(copy);
}

int main(void)
{
    enum { ROUNDS = 20000 };
    tap_diag("seed %llu", (unsigned long long)state);
    for (int i = 0; i < ROUNDS; i++)
        mutate();
    tap_diag("%d matrices read, %d refused", matrices, refusals);
    is_int(broken_promises, 0, "every promise was kept");
    ok(matrices > ROUNDS / 50 && refusals > ROUNDS / 10, "mutants of both kinds were seen");
    return tap_done();
}

#endif
