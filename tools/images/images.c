/* aothip-images: lists, verifies, takes apart, joins and thins out image directories. */
#include "cli.h"
#include "tree.h"
#include "tune.h"

#include "code_object.h"
#include "gen_file.h"
#include "kernarg.h"
#include "bundle.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *gpus;   /* --gpu: only these, separated by commas; NULL: all */
    const char *kernel; /* --kernel: only symbols that contain this; NULL: all */
    const char *output; /* --output */
    bool replace;       /* --replace */
    bool *found;        /* set once a kernel is wanted */
};

static void print_help(void)
{
    fputs("usage: aothip-images list [--gpu=LIST] DIRECTORY\n"
          "       aothip-images verify [--gpu=LIST] DIRECTORY\n"
          "       aothip-images extract [--gpu=LIST] [--kernel=NAME] --output=TO DIRECTORY\n"
          "       aothip-images merge [--gpu=LIST] [--replace] --output=TO DIRECTORY...\n"
          "       aothip-images prune --gpu=LIST DIRECTORY\n"
          "\n"
          "Works on image directories (aotriton.images); needs no GPU and no HIP.\n"
          "\n"
          "  list     one line a kernel: GPU, symbol, type, head dim, registers, bytes\n"
          "  verify   reads every byte: hashes, frames, code objects, signatures\n"
          "  extract  writes each code object to TO/GPU/SYMBOL.TARGET.co\n"
          "  merge    copies the GPUs of all directories into TO, each GPU at once or not at all\n"
          "  prune    removes all GPUs but those of --gpu\n"
          "\n"
          "  --gpu=LIST     only these GPUs: gfx942,gfx1100\n"
          "  --kernel=NAME  only kernels whose symbol contains NAME\n"
          "  --output=TO    where the result goes\n"
          "  --replace      merge: a GPU that TO has with other contents is replaced\n"
          "  --help         this text\n"
          "  --version      version of the program\n",
          stdout);
}

/* Whether `gpu` is in the comma-separated list; a NULL list has all. */
static bool in_list(const char *list, const char *gpu)
{
    size_t n = strlen(gpu);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strcspn(at, ",") == n && !strncmp(at, gpu, n))
            return true;
    return !list;
}

/* Every GPU of the list must be there. */
static bool check_list(const char *list, const struct store_gpus *gpus, const char *directory)
{
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        bool found = false;
        for (size_t i = 0; i < gpus->count; i++)
            found |= strlen(gpus->names[i]) == strcspn(at, ",") &&
                     !strncmp(gpus->names[i], at, strcspn(at, ","));
        if (!found) {
            cli_say("%s: has no images of %.*s", directory, (int)strcspn(at, ","), at);
            return false;
        }
    }
    return true;
}

/* Does something with the opened image file of one GPU. */
typedef bool visit_store(const struct options *o, const char *directory, struct store *store);

static bool for_each_gpu(const struct options *o, const char *directory, visit_store *visit)
{
    struct store_gpus gpus = {0, NULL};
    bool good = images_gpus(directory, &gpus) && check_list(o->gpus, &gpus, directory);
    bool all = good;
    if (good && !gpus.count) {
        cli_say("%s: holds no images", directory);
        good = false;
    }
    for (size_t i = 0; i < gpus.count && good; i++) {
        struct store store;
        struct status why;
        status_clear(&why);
        if (!in_list(o->gpus, gpus.names[i]))
            continue;
        if (store_open(&store, directory, gpus.names[i], &why)) {
            cli_say("%s", why.text);
            all = false;
            continue;
        }
        all &= visit(o, directory, &store);
        store_close(&store);
    }
    free(gpus.names);
    return good && all;
}

static bool wanted(const struct options *o, const struct format_entry *entry)
{
    bool yes = !o->kernel || strstr(entry->symbol, o->kernel);
    *o->found |= yes;
    return yes;
}

static bool list_store(const struct options *o, const char *directory, struct store *store)
{
    static const char *const types[] = {[AOTHIP_F32] = "f32",
                                        [AOTHIP_F16] = "f16",
                                        [AOTHIP_BF16] = "bf16",
                                        [AOTHIP_FP8_E4M3] = "e4m3",
                                        [AOTHIP_FP8_E5M2] = "e5m2",
                                        [AOTHIP_FP8_E4M3_FNUZ] = "e4m3fnuz",
                                        [AOTHIP_FP8_E5M2_FNUZ] = "e5m2fnuz"};
    (void)directory;
    for (uint32_t i = 0; i < store->header->entry_count; i++) {
        const struct format_entry *e = &store->entries[i];
        if (wanted(o, e))
            printf("%-8s %-56s %-4s %4d %5d %8u %8u\n", store->gpu, e->symbol, types[e->dtype],
                   e->dim_max, e->vgprs, e->frame_size, e->bundle_size);
    }
    return true;
}

/* The signature beside the image must be JSON and speak of this GPU and these versions. */
static bool verify_signature(const char *directory, const struct store *store)
{
    const struct format_header *header = store->header;
    char path[4096];
    json_error_t error;
    const char *gpu = "";
    json_int_t format = 0, kernarg = 0;
    snprintf(path, sizeof(path), "%s/amd-%.15s/__signature__", directory, store->gpu);
    json_t *root = json_load_file(path, 0, &error);
    if (!root) {
        cli_say("%s: line %d: %s", path, error.line, error.text);
        return false;
    }
    bool good =
        !json_unpack(root, "{s:s, s:I, s:I}", "gpu", &gpu, "format", &format, "kernarg", &kernarg);
    if (!good)
        cli_say("%s: lacks gpu, format or kernarg", path);
    else if (strcmp(gpu, store->gpu) || format != header->version ||
             kernarg != header->kernarg_version) {
        cli_say("%s: is that of %s, format %d, kernarg %d; the image is %s, %u, %u", path, gpu,
                (int)format, (int)kernarg, store->gpu, header->version, header->kernarg_version);
        good = false;
    }
    json_decref(root);
    return good;
}

/* A table of costs, if there is one, must be such that the library takes it. */
static bool verify_costs(const char *directory, const struct store *store)
{
    struct format_cost *costs = NULL;
    char *path = tune_path(store, directory);
    struct status why;
    status_clear(&why);
    if (!path)
        status_set(&why, AOTHIP_E_MEMORY, "no memory");
    else
        tune_read(store, path, &costs, &why);
    if (why.code)
        cli_say("%s", why.text);
    free(costs);
    free(path);
    return !why.code;
}

static bool verify_store(const struct options *o, const char *directory, struct store *store)
{
    const struct format_header *header = store->header;
    struct target target;
    /* Both, so that each fault is told. */
    const bool is_signed = verify_signature(directory, store);
    bool good = verify_costs(directory, store) && is_signed;
    uint64_t bytes = 0;
    (void)o;
    target_parse(store->gpu, strlen(store->gpu), &target);
    for (uint32_t i = 0; i < header->entry_count; i++) {
        const struct bundle_name name = {store->path, store->entries[i].symbol};
        struct bundle_code code;
        struct status why;
        uint8_t *bundle = NULL;
        status_clear(&why);
        cli_progress("%s: %u of %u", store->gpu, i + 1, header->entry_count);
        if (store_inflate(store, i, &bundle, &why) ||
            bundle_find(bundle, store->entries[i].bundle_size, &target, &name, &code, &why)) {
            cli_say("%s", why.text);
            good = false;
        }
        bytes += store->entries[i].bundle_size;
        free(bundle);
    }
    cli_progress_end();
    if (good)
        printf("%-8s good: %u kernels, %llu bytes in a file of %llu\n", store->gpu,
               header->entry_count, (unsigned long long)bytes,
               (unsigned long long)header->file_size);
    return good;
}

/* Writes the code objects of one inflated bundle. */
static bool extract_bundle(const struct options *o, const char *gpu, const char *symbol,
                           const uint8_t *bundle, size_t size)
{
    struct emu_bundle_entry e;
    char err[512] = "", path[4096];
    bool good = true;
    for (uint64_t i = 0; good && emu_bundle_entry(bundle, size, i, &e, err, sizeof(err)); i++) {
        const char *prefix = "amdgcn-amd-amdhsa--", *target = memmem(e.id, e.id_len, prefix, 19);
        if (!e.size || !target) /* the host's entry is empty */
            continue;
        target += strlen(prefix);
        snprintf(path, sizeof(path), "%s/%s/%s.%.*s.co", o->output, gpu, symbol,
                 (int)(e.id + e.id_len - target), target);
        good = !gen_file_write(path, bundle + e.offset, e.size) && puts(path) >= 0;
    }
    if (*err)
        cli_say("%s: %s", symbol, err);
    return good && !*err;
}

static bool extract_store(const struct options *o, const char *directory, struct store *store)
{
    const char *gpu = store->gpu;
    bool good = true;
    char path[4096];
    (void)directory;
    snprintf(path, sizeof(path), "%s/%s", o->output, gpu);
    for (uint32_t i = 0; i < store->header->entry_count && good; i++) {
        const struct format_entry *e = &store->entries[i];
        struct status why;
        uint8_t *bundle;
        status_clear(&why);
        if (!wanted(o, e))
            continue;
        if (!images_make_directory(path))
            return false;
        if (store_inflate(store, i, &bundle, &why)) {
            cli_say("%s", why.text);
            return false;
        }
        good = extract_bundle(o, gpu, e->symbol, bundle, e->bundle_size);
        free(bundle);
    }
    return good;
}

/* Copies one GPU to the output unless the same is there already. */
static bool merge_gpu(const struct options *o, const char *from, const char *gpu)
{
    struct store_gpus there = {0, NULL};
    bool present = false, same = false, good = images_gpus(o->output, &there);
    for (size_t i = 0; i < there.count; i++)
        present |= !strcmp(there.names[i], gpu);
    free(there.names);
    if (good && present)
        good = images_same(from, o->output, gpu, &same);
    if (!good || same)
        return good;
    if (present && !o->replace) {
        cli_say("%s: has other images of %s than %s; --replace takes those", o->output, gpu, from);
        return false;
    }
    return images_copy(from, o->output, gpu) &&
           printf("%s %s from %s\n", present ? "replaced" : "added", gpu, from) > 0;
}

static bool merge_store(const struct options *o, const char *directory, struct store *store)
{
    return verify_signature(directory, store) && merge_gpu(o, directory, store->gpu);
}

static bool merge(const struct options *o, char **directories, int count)
{
    intptr_t lock;
    bool good = true;
    if (!images_lock(o->output, true, &lock))
        return false;
    for (int i = 0; i < count && good; i++)
        good = for_each_gpu(o, directories[i], merge_store);
    images_unlock(lock);
    return good;
}

static bool prune(const struct options *o, const char *directory)
{
    struct store_gpus gpus = {0, NULL};
    intptr_t lock;
    if (!images_lock(directory, false, &lock))
        return false;
    bool good = images_gpus(directory, &gpus) && check_list(o->gpus, &gpus, directory);
    for (size_t i = 0; i < gpus.count && good; i++)
        if (!in_list(o->gpus, gpus.names[i]))
            good = images_remove(directory, gpus.names[i]) &&
                   printf("removed %s\n", gpus.names[i]) > 0;
    images_unlock(lock);
    free(gpus.names);
    return good;
}

/* For a command that takes --kernel. */
static bool for_each_kernel(const struct options *o, const char *directory, visit_store *visit)
{
    if (!for_each_gpu(o, directory, visit))
        return false;
    if (!*o->found)
        cli_say("%s: has no kernel whose symbol contains %s", directory,
                o->kernel ? o->kernel : "anything");
    return *o->found;
}

static bool run(const char *command, struct options *o, char **directories, int count)
{
    bool merging = !strcmp(command, "merge"), extracting = !strcmp(command, "extract");
    if ((merging || extracting) && !o->output)
        cli_usage_error("%s needs --output", command);
    if (!strcmp(command, "prune") && !o->gpus)
        cli_usage_error("prune needs --gpu: which GPUs stay?");
    if (!count)
        cli_usage_error("%s: which directory?", command);
    if (count > 1 && !merging)
        cli_usage_error("%s takes one directory", command);
    if (merging)
        return merge(o, directories, count);
    if (extracting)
        return for_each_kernel(o, directories[0], extract_store);
    if (!strcmp(command, "prune"))
        return prune(o, directories[0]);
    if (!strcmp(command, "verify"))
        return for_each_gpu(o, directories[0], verify_store);
    if (strcmp(command, "list"))
        cli_usage_error("unknown command '%s'", command);
    printf("%-8s %-56s %-4s %4s %5s %8s %8s\n", "gpu", "kernel", "type", "dim", "vgprs", "stored",
           "code");
    return for_each_kernel(o, directories[0], list_store);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"gpu", required_argument, NULL, 'g'},
                                            {"kernel", required_argument, NULL, 'k'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"replace", no_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'V'},
                                            {NULL, 0, NULL, 0}};
    bool found = false;
    struct options o = {NULL, NULL, NULL, false, &found};
    int c;

    cli_name = "aothip-images";
    while ((c = cli_option(argc, argv, "", options)) != -1) {
        if (c == 'h' || c == 'V') {
            if (c == 'h')
                print_help();
            else
                cli_print_version();
            return cli_end(CLI_OK);
        }
        o.gpus = c == 'g' ? optarg : o.gpus;
        o.kernel = c == 'k' ? optarg : o.kernel;
        o.output = c == 'o' ? optarg : o.output;
        o.replace |= c == 'r';
    }
    if (optind == argc)
        cli_usage_error("which command?");
    bool good = run(argv[optind], &o, argv + optind + 1, argc - optind - 1);
    return cli_end(good ? CLI_OK : CLI_FAILED);
}
