/*
 * aothip-pack: code objects to image files. Holds each code object against its row of the matrix
 * and writes nothing unless all of them are as the row says.
 */
#include "gen_file.h"
#include "image.h"
#include "image_compare.h"
#include "matrix.h"
#include "matrix_check.h"
#include "object.h"
#include "write_bundle.h"

#include "kernarg.h"

#include <elf.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    MAX_SIBLINGS = sizeof(((struct format_header *)0)->siblings),
    MAX_FAMILY = sizeof(((struct format_header *)0)->gpu) + MAX_SIBLINGS,
};

struct options {
    const char *matrix, *gpu, *objects, *output, *sibling;
    bool warn_budgets;
};

static const char usage[] =
    "usage: aothip-pack bundle --output=FILE -- TARGET=FILE...\n"
    "           writes a clang offload bundle of one kernel's code objects\n"
    "       aothip-pack image --matrix=FILE --gpu=NAME --objects=DIR --output=FILE\n"
    "                         [--sibling=IMAGE] [--warn-budgets]\n"
    "           packs DIR/SYMBOL.bundle of every row of the matrix for that GPU; fails, and\n"
    "           removes the output, if a kernel is not what its row says. With --warn-budgets a\n"
    "           kernel that only needs more registers or scratch memory than its row grants is a\n"
    "           warning: it is right, if slower, and another compiler than ours made it. A GPU\n"
    "           that is a sibling gets the image of the GPU whose code it runs\n"
    "       aothip-pack compare --matrix=FILE --gpu=NAME --objects=DIR\n"
    "           prints size and time to first use of other ways to store the same kernels\n"
    "       aothip-pack signature --gpu=NAME --output=FILE -- SOURCE...\n"
    "           writes the __signature__ of an image directory\n";

/* One kernel under inspection. */
struct check {
    const struct options *o;
    const struct matrix *m;
    const struct matrix_kernel *k;
    int errors;
};

__attribute__((format(printf, 3, 0))) static void tell(const struct check *c, const char *kind,
                                                       const char *fmt, va_list ap)
{
    fprintf(stderr, "%s:%d: %s%s for %s: ", c->m->file, c->k->line, kind, c->k->symbol,
            c->m->gpus[c->k->gpu].name);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

__attribute__((format(printf, 2, 3))) static void fail(struct check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tell(c, "", fmt, ap);
    va_end(ap);
    c->errors++;
}

/* A kernel beyond one of its budgets. */
__attribute__((format(printf, 2, 3))) static void exceed(struct check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!c->o->sibling) /* else the image of the GPU that has the same code has told */
        tell(c, c->o->warn_budgets ? "warning: " : "", fmt, ap);
    va_end(ap);
    c->errors += !c->o->warn_budgets;
}

/* ROCm finds a kernel by its descriptor, debuggers and profilers by its function. */
static void check_symbol(struct check *c, const char *target, const void *elf, size_t size,
                         const char *name, int type)
{
    if (!object_has_symbol(elf, size, name, type))
        fail(c, "code object for %s: its symbol table (SHT_SYMTAB) lacks '%s'", target, name);
}

static void check_object(struct check *c, const char *target, const struct object_info *i)
{
    const struct matrix_kernel *k = c->k;
    const struct matrix_gpu *gpu = &c->m->gpus[k->gpu];
    uint32_t threads = (uint32_t)matrix_threads(c->m, k);
    if (strcmp(i->target, target))
        fail(c, "is code for '%s', not for '%s'", i->target, target);
    if (i->kernels != 1) {
        fail(c, "the code object holds %d kernels instead of one", i->kernels);
        return;
    }
    if (strcmp(i->name, k->symbol))
        fail(c, "the kernel is called '%s'", i->name);
    if (i->kernarg_size != k->op->kernarg_size)
        fail(c, "takes %u bytes of arguments instead of %zu", i->kernarg_size, k->op->kernarg_size);
    if (i->wave_size != (uint32_t)gpu->wave)
        fail(c, "is compiled for waves of %u lanes instead of %d", i->wave_size, gpu->wave);
    if (i->max_threads != threads)
        fail(c, "is compiled for workgroups of %u threads instead of %u", i->max_threads, threads);
    if ((i->vgpr_spills || i->sgpr_spills) && !k->scratch)
        exceed(c, "spills %u vector and %u scalar registers", i->vgpr_spills, i->sgpr_spills);
    if (i->scratch_size > (uint32_t)k->scratch)
        exceed(c, "uses %u bytes of scratch memory a lane; its budget is %d", i->scratch_size,
               k->scratch);
    if (i->dynamic_stack)
        fail(c, "uses a dynamic stack, which has no bound");
    if (i->vgprs > (uint32_t)k->registers)
        exceed(c, "needs %u registers (%u of them accumulation); its budget is %d", i->vgprs,
               i->agprs, k->registers);
    if (i->lds_size > (uint32_t)gpu->lds)
        fail(c, "needs %u bytes of LDS; a workgroup of %s has %d", i->lds_size, gpu->name,
             gpu->lds);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Kernels whose waves have rows to themselves compute all channels; teams for as many, in steps of
 * so many, only what there is. */
enum { TEAM_CHANNELS = 64 };

/* The index entry of a kernel whose code objects need `i` at most. */
static void fill_entry(const struct check *c, const struct object_info *i, struct format_entry *e)
{
    const struct matrix_kernel *k = c->k;
    memset(e, 0, sizeof(*e));
    strcpy(e->symbol, k->symbol);
    e->op = (uint8_t)k->op->format_op;
    e->dtype = (uint8_t)k->dtype;
    e->rank = (uint16_t)k->rank;
    e->features = matrix_features(k);
    e->dim_max = (uint16_t)k->dim;
    e->dim_v_max = (uint16_t)k->dim_v;
    if (matrix_is_whole(c->m, k))
        e->dim_min = (uint16_t)(k->dim - TEAM_CHANNELS + 1);
    else if (matrix_is_alone(c->m, k))
        e->dim_min = (uint16_t)(k->dim / 2 + 1);
    e->tile_q = (uint16_t)k->tile_q;
    e->tile_k = (uint16_t)k->tile_k;
    e->threads = (uint16_t)matrix_threads(c->m, k);
    e->kernarg_size = i->kernarg_size;
    e->lds_size = i->lds_size;
    e->vgprs = (uint16_t)i->vgprs;
    e->agprs = (uint16_t)i->agprs;
    e->sgprs = (uint16_t)i->sgprs;
    e->wave_size = (uint16_t)i->wave_size;
}

/* Reads and checks the bundle of one kernel. */
static void read_kernel(struct check *c, struct image_kernel *out)
{
    const struct matrix_gpu *gpu = &c->m->gpus[c->k->gpu];
    struct object_info most = {.kernels = 0};
    char *file;
    if (asprintf(&file, "%s/%s.bundle", c->o->objects, c->k->symbol) < 0) {
        fail(c, "out of memory");
        return;
    }
    out->bundle = gen_file_read(file, &out->bundle_size);
    free(file);
    if (!out->bundle) {
        fail(c, "has not been built");
        return;
    }
    for (int t = 0; t < gpu->target_count; t++) {
        const void *elf;
        size_t elf_size;
        struct object_info info;
        const char *wrong =
            object_find(out->bundle, out->bundle_size, gpu->targets[t], &elf, &elf_size);
        if (!wrong)
            wrong = object_read(elf, elf_size, &info);
        if (wrong) {
            fail(c, "code object for %s: %s", gpu->targets[t], wrong);
            return;
        }
        check_object(c, gpu->targets[t], &info);
        check_symbol(c, gpu->targets[t], elf, elf_size, info.name, STT_FUNC);
        check_symbol(c, gpu->targets[t], elf, elf_size, info.descriptor, STT_OBJECT);
        info.lds_size = larger(info.lds_size, most.lds_size);
        info.vgprs = larger(info.vgprs, most.vgprs);
        info.agprs = larger(info.agprs, most.agprs);
        info.sgprs = larger(info.sgprs, most.sgprs);
        most = info;
    }
    fill_entry(c, &most, &out->entry);
}

struct kernels {
    struct image_kernel *kernel;
    int count;
    size_t bundle_bytes;
};

static void free_kernels(struct kernels *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->kernel[i].bundle);
    free(list->kernel);
}

/* All kernels of the image. Tells about every bad one before it fails. */
static int read_kernels(const struct options *o, const struct matrix *m, struct kernels *list)
{
    int gpu = matrix_find_gpu(m, o->gpu), errors = 0;
    list->kernel = calloc((size_t)m->kernel_count, sizeof(*list->kernel));
    if (gpu < 0 || !list->kernel) {
        fprintf(stderr, "aothip-pack: %s%s\n", gpu < 0 ? "unknown GPU " : "out of memory",
                gpu < 0 ? o->gpu : "");
        return -1;
    }
    for (int i = 0; i < m->kernel_count; i++) {
        struct check c = {o, m, &m->kernels[i], 0};
        if (!matrix_serves(m, c.k, gpu))
            continue;
        read_kernel(&c, &list->kernel[list->count]);
        list->bundle_bytes += list->kernel[list->count++].bundle_size;
        errors += c.errors;
    }
    if (!list->count) {
        fprintf(stderr, "aothip-pack: %s has no kernel for %s\n", o->matrix, o->gpu);
        return -1;
    }
    return errors ? -1 : 0;
}

/* The image whose code this is, as it is: its header names the siblings. */
static const char *copy_sibling(const struct options *o, const struct kernels *list,
                                uint8_t **bytes, size_t *size)
{
    struct format_header head;
    *bytes = gen_file_read(o->sibling, size);
    if (*bytes && *size >= sizeof(head)) {
        memcpy(&head, *bytes, sizeof(head));
        head.siblings[sizeof(head.siblings) - 1] = 0;
        if (!memcmp(head.magic, FORMAT_MAGIC, sizeof(head.magic)) &&
            head.entry_count == (uint32_t)list->count && strstr(head.siblings, o->gpu))
            return NULL;
    }
    return "the image given with --sibling is none, or one of other kernels";
}

/* The GPU and, behind it, those that run its code; NULL: they are too many for a header. */
static const char *family(const struct matrix *m, const char *gpu, char *names)
{
    const int g = matrix_find_gpu(m, gpu);
    size_t used = (size_t)snprintf(names, MAX_FAMILY, "%s", gpu);
    const size_t size = used + 1 + MAX_SIBLINGS;
    for (int i = 0; i < m->gpu_count && used < size; i++)
        if (i != g && m->gpus[i].code == g)
            used += (size_t)snprintf(names + used, size - used, " %s", m->gpus[i].name);
    return used < size ? names : NULL;
}

static int write_image(const struct options *o, const struct matrix *m, struct kernels *list)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    char names[MAX_FAMILY];
    const char *gpus = family(m, o->gpu, names);
    const char *wrong = !gpus ? "its siblings' names are too long for the header"
                        : o->sibling
                            ? copy_sibling(o, list, &bytes, &size)
                            : image_build_smallest(gpus, list->kernel, list->count, &bytes, &size);
    if (wrong) {
        fprintf(stderr, "aothip-pack: %s: %s\n", o->output, wrong);
        free(bytes);
        return -1;
    }
    int result = gen_file_write(o->output, bytes, size);
    if (!result)
        printf("%s: %d kernels, %zu bytes of code in %zu\n", o->gpu, list->count,
               list->bundle_bytes, size);
    free(bytes);
    return result;
}

static int image_command(const struct options *o, bool compare)
{
    struct matrix m;
    struct kernels list = {NULL, 0, 0};
    if (matrix_read(&m, o->matrix, stderr))
        return -1;
    if (o->warn_budgets)
        matrix_leave_out(&m);
    int result = read_kernels(o, &m, &list);
    if (!result)
        result = compare ? image_compare(o->gpu, list.kernel, list.count, stdout)
                         : write_image(o, &m, &list);
    /* A stale image must not pass for the one that could not be made. */
    if (result && !compare)
        unlink(o->output);
    free_kernels(&list);
    matrix_free(&m);
    return result;
}

/* Names without directories, so that the place of the source tree does not matter. */
static int hash_sources(char **files, int count, char text[33])
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return -1;
    XXH3_128bits_reset(state);
    for (int i = 0; i < count; i++) {
        const char *slash = strrchr(files[i], '/'), *name = slash ? slash + 1 : files[i];
        size_t size;
        void *bytes = gen_file_read(files[i], &size);
        if (!bytes) {
            XXH3_freeState(state);
            return -1;
        }
        uint64_t length = size;
        XXH3_128bits_update(state, name, strlen(name) + 1);
        XXH3_128bits_update(state, &length, sizeof(length));
        XXH3_128bits_update(state, bytes, size);
        free(bytes);
    }
    XXH128_hash_t h = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
    return 0;
}

static int signature_command(const struct options *o, char **sources, int count)
{
    char hash[33], text[512];
    if (hash_sources(sources, count, hash))
        return -1;
    int n = snprintf(text, sizeof(text),
                     "{\n  \"aothip\": \"%s\",\n  \"gpu\": \"%s\",\n  \"format\": %u,\n"
                     "  \"kernarg\": %d,\n  \"sources_xxh3_128\": \"%s\"\n}\n",
                     PACKAGE_VERSION, o->gpu, FORMAT_VERSION, FORMAT_KERNARG_VERSION, hash);
    return gen_file_write(o->output, text, (size_t)n);
}

static const struct option long_options[] = {
    {"matrix", required_argument, NULL, 0},  {"gpu", required_argument, NULL, 1},
    {"objects", required_argument, NULL, 2}, {"output", required_argument, NULL, 3},
    {"sibling", required_argument, NULL, 4}, {"help", no_argument, NULL, 5},
    {"warn-budgets", no_argument, NULL, 6},  {NULL, 0, NULL, 0},
};

int main(int argc, char **argv)
{
    struct options o = {.warn_budgets = false};
    const char **const slots[] = {&o.matrix, &o.gpu, &o.objects, &o.output, &o.sibling};
    const char *command = argc > 1 ? argv[1] : "";
    int c;
    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (c == 5)
            return fputs(usage, stdout) < 0;
        if (c > 6)
            return 2;
        if (c == 6)
            o.warn_budgets = true;
        else
            *slots[c] = optarg;
    }
    bool image = !strcmp(command, "image"), compare = !strcmp(command, "compare");
    int result = 1;
    if ((image || compare) && o.matrix && o.gpu && o.objects && (compare || o.output))
        result = image_command(&o, compare);
    else if (!strcmp(command, "bundle") && o.output && optind + 1 < argc)
        result = bundle_write(o.output, argv + optind + 1, argc - optind - 1);
    else if (!strcmp(command, "signature") && o.gpu && o.output && optind + 1 < argc)
        result = signature_command(&o, argv + optind + 1, argc - optind - 1);
    if (result > 0)
        fputs(usage, stderr);
    return result > 0 ? 2 : result ? 1 : 0;
}
