/*
 * roundtrip_check MATRIX OBJECTS IMAGES: opens the images with the library's store and holds every
 * entry against its row and its bundle.
 */
#include "bundle.h"
#include "format.h"
#include "gen_file.h"
#include "kernarg.h"
#include "matrix.h"
#include "retarget.h"
#include "store.h"
#include "tap.h"

/* The entry says what the row says. */
static int entry_matches(const struct matrix *m, const struct matrix_kernel *k,
                         const struct format_entry *e)
{
    return !strcmp(e->symbol, k->symbol) && e->op == FORMAT_OP_ATTN_FWD && e->dtype == k->dtype &&
           e->rank == k->rank && e->features == matrix_features(k) && e->dim_max == k->dim &&
           e->dim_v_max == k->dim_v && e->tile_q == k->tile_q && e->tile_k == k->tile_k &&
           e->threads == matrix_threads(m, k) && e->kernarg_size == sizeof(struct attn_fwd_args) &&
           e->wave_size == m->gpus[k->gpu].wave && e->vgprs > 0 && e->vgprs <= k->registers &&
           e->sgprs > 0;
}

/*
 * The reader takes the code for the sibling's; then makes it again what it was compiled for, which
 * the caller compares with what was built.
 */
static void check_sibling(uint8_t *bundle, size_t size, const char *gpu, const char *code)
{
    const struct bundle_name name = {"sibling", "kernel"};
    struct bundle_code found;
    struct target device;
    struct status why = {0};
    target_parse(gpu, strlen(gpu), &device);
    is_int(bundle_find(bundle, size, &device, &name, &found, &why), AOTHIP_OK,
           "the reader finds code of the sibling");
    target_parse(code, strlen(code), &device);
    status_clear(&why);
    is_int(bundle_find(bundle, size, &device, &name, &found, &why), AOTHIP_E_TARGET,
           "and none of the GPU that it was compiled for");
    is_str(retarget_bundle(bundle, size, code, gpu),
           "the bundle has no code object for this target",
           "a GPU that is not in it cannot be renamed");
    is_str(retarget_bundle(bundle, size, gpu, "gfx942"),
           "the name of the GPU or that of its sibling is none that lib/store/target.def knows",
           "nor to a name of another length");
    is_str(retarget_bundle(bundle, size, gpu, "gfx1199"),
           "the name of the GPU or that of its sibling is none that lib/store/target.def knows",
           "nor to one whose number in e_flags is not known");
    ok(!retarget_bundle(bundle, size, gpu, code), "but back again");
}

static void check_gpu(const struct matrix *m, int g, const char *objects, const char *images)
{
    const char *gpu = m->gpus[g].name, *code = m->gpus[m->gpus[g].code].name;
    struct store store;
    struct status why = {0};
    uint32_t at = 0;
    is_int(store_open(&store, images, gpu, &why), AOTHIP_OK, "the store opens the image");
    if (!store.header) {
        tap_diag("%s", why.text);
        return;
    }
    is_str(store.gpu, gpu, "the image is for its GPU");
    is_str(store.header->gpu, code, "its code is that of the family");
    for (int i = 0; i < m->kernel_count; i++) {
        const struct matrix_kernel *k = &m->kernels[i];
        char file[4096];
        size_t size = 0;
        uint8_t *bundle = NULL;
        if (!matrix_serves(m, k, g))
            continue;
        snprintf(file, sizeof(file), "%s/%s/%s.bundle", objects, code, k->symbol);
        void *built = gen_file_read(file, &size);
        if (!ok(at < store.header->entry_count, "%s %s is in the index", gpu, k->symbol)) {
            free(built);
            break;
        }
        ok(entry_matches(m, k, &store.entries[at]), "%s %s: as its row says", gpu, k->symbol);
        is_int(store_inflate(&store, at, &bundle, &why), AOTHIP_OK, "inflates");
        if (bundle && code != gpu)
            check_sibling(bundle, store.entries[at].bundle_size, gpu, code);
        ok(built && bundle && store.entries[at].bundle_size == size && !memcmp(built, bundle, size),
           "%s %s: the bytes that were built", gpu, k->symbol);
        free(bundle);
        free(built);
        at++;
    }
    is_int(store.header->entry_count, at, "the index holds nothing else");
    store_close(&store);
}

int main(int argc, char **argv)
{
    struct matrix m;
    if (argc != 4) {
        fputs("usage: roundtrip_check MATRIX OBJECTS IMAGES\n", stderr);
        return 2;
    }
    is_int(matrix_read(&m, argv[1], stderr), 0, "reads the matrix");
    for (int g = 0; g < m.gpu_count; g++)
        check_gpu(&m, g, argv[2], argv[3]);
    matrix_free(&m);
    return tap_done();
}
