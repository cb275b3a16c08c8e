/*
 * aothip-gen: the matrix to build rules. Writes a ninja file that compiles each kernel, bundles its
 * code objects and packs the image files of the chosen GPUs. Touches the file only if its text
 * changes, so that an unchanged matrix rebuilds nothing.
 */
#include "gen_file.h"
#include "matrix.h"
#include "suggest.h"

#include "format.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
    const char *matrix, *gpus, *kernels, *clang, *lld, *pack, *images, *output, *flags;
    const char *wave64_flags;
    bool debug, list, warn_budgets;
};

static const char usage[] =
    "usage: aothip-gen --matrix=FILE --kernels=DIR --clang=FILE --lld=FILE --pack=FILE\n"
    "                  --output=FILE [options]\n"
    "       aothip-gen --matrix=FILE --list\n"
    "\n"
    "Writes the ninja file that builds the kernel images. Paths in it are as given here, and are\n"
    "relative to the directory in which ninja runs.\n"
    "\n"
    "  --matrix=FILE    the kernels that exist: images/matrix.def\n"
    "  --kernels=DIR    where the sources named by the matrix lie: gen/kernel\n"
    "  --clang=FILE     clang with the amdgcn target\n"
    "  --lld=FILE       the linker of that clang\n"
    "  --pack=FILE      aothip-pack\n"
    "  --output=FILE    the ninja file to write\n"
    "  --gpus=LIST      only these GPUs, separated by blanks, commas or semicolons [all]\n"
    "  --images=DIR     where the images go [" FORMAT_DIRECTORY "]\n"
    "  --flags=FLAGS    further flags for clang\n"
    "  --wave64-flags=FLAGS\n"
    "                   further ones for GPUs with waves of 64 lanes\n"
    "  --debug          keep local symbols and line tables in the code objects\n"
    "  --warn-budgets   a kernel beyond its budgets is a warning, as for aothip-pack\n"
    "  --list           only print one line a kernel: GPU, symbol, macros\n"
    "  --help           this text\n";

/* Writes a path as ninja wants it in a build statement. */
static void put_path(FILE *out, const char *path)
{
    for (; *path; path++) {
        if (strchr("$: ", *path))
            fputc('$', out);
        fputc(*path, out);
    }
}

/* Writes one word of a command: for the shell in quotes if need be, and ninja's '$' doubled. */
static void put_word(FILE *out, const char *word)
{
    bool plain = word[0] != '\0';
    for (const char *c = word; *c; c++)
        plain &= isalnum((unsigned char)*c) || strchr("_-./+=:,@%", *c);
    if (!plain)
        fputc('\'', out);
    for (const char *c = word; *c; c++) {
        if (*c == '\'')
            fputs("'\\'", out);
        fputs(*c == '$' ? "$$" : (char[]){*c, '\0'}, out);
    }
    if (!plain)
        fputc('\'', out);
}

static void put_variable(FILE *out, const char *name, const char *word)
{
    fprintf(out, "%s = ", name);
    put_word(out, word);
    fputc('\n', out);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
    char **name;
    int count;
};

static void free_names(struct names *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->name[i]);
    free(list->name);
}

static bool is_source(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcmp(dot, ".h") || !strcmp(dot, ".hip"));
}

/* The kernels' source tree: its rooms, for the compiler to find headers in, and all sources. */
struct source_tree {
    struct names files, rooms;
};

static int add_name(struct names *list, const char *directory, const char *name)
{
    char **more = reallocarray(list->name, (size_t)list->count + 1, sizeof(*more));
    if (more)
        list->name = more;
    if (!more || asprintf(&list->name[list->count], "%s/%s", directory, name) < 0) {
        fputs("aothip-gen: out of memory\n", stderr);
        return -1;
    }
    list->count++;
    return 0;
}

static void sort_names(struct names *list)
{
    if (list->count)
        qsort(list->name, (size_t)list->count, sizeof(*list->name), compare_names);
}

/* Adds the sources of a directory and, where rooms are asked for, the directories in it. */
static int list_directory(const char *directory, struct names *files, struct names *rooms)
{
    DIR *d = opendir(directory);
    int result = 0;
    if (!d) {
        fprintf(stderr, "aothip-gen: %s: %s\n", directory, strerror(errno));
        return -1;
    }
    for (struct dirent *e = readdir(d); e && !result; e = readdir(d)) {
        struct stat status;
        const int here = dirfd(d);
        if (e->d_name[0] == '.')
            continue;
        if (is_source(e->d_name))
            result = add_name(files, directory, e->d_name);
        else if (rooms && here >= 0 && !fstatat(here, e->d_name, &status, 0) &&
                 S_ISDIR(status.st_mode))
            result = add_name(rooms, directory, e->d_name);
    }
    closedir(d);
    return result;
}

/* All of it sorted: the signature of an image directory is computed from the files in order. */
static int list_sources(const char *directory, struct source_tree *tree)
{
    int result = list_directory(directory, &tree->files, &tree->rooms);
    for (int i = 0; i < tree->rooms.count && !result; i++)
        result = list_directory(tree->rooms.name[i], &tree->files, NULL);
    sort_names(&tree->files);
    sort_names(&tree->rooms);
    return result;
}

/*
 * Nothing in a code object may depend on where or when it was built: no paths (-ffile-prefix-map),
 * no compiler identification (-Qn), no hash of the source's path (-fuse-cuid=none). Of symbols the
 * global ones stay: without the symbol table ROCm finds no kernel (see object.h). What a kernel
 * includes is asked of the compiler proper: the driver of clang 22 ignores -MMD -MF where only
 * device code is made. The pass that looks for vectors in straight code would take an eighth of the
 * time, and find few that are not written out. -O comes before: an -O after it would call that pass
 * again.
 *
 * The compiler stops at the object, where the driver would have asked for assembly, and lld is
 * called here: with one thing to do the driver compiles in its own process, so that two processes
 * start and not three. The code object is the same.
 */
static void put_rules(FILE *out, const struct options *o, const struct names *rooms)
{
    fputs("# Written by aothip-gen; edit images/matrix.def instead.\n"
          "ninja_required_version = 1.5\n\n",
          out);
    put_variable(out, "clang", o->clang);
    put_variable(out, "lld", o->lld);
    put_variable(out, "pack", o->pack);
    put_variable(out, "matrix", o->matrix);
    put_variable(out, "kernels", o->kernels);
    fputs("rooms =", out);
    for (int i = 0; i < rooms->count; i++) {
        fputs(" -I", out);
        put_word(out, rooms->name[i]);
    }
    fprintf(out, "\nwave32_flags = -O3\nwave64_flags = -O3%s%s\n", o->wave64_flags[0] ? " " : "",
            o->wave64_flags);
    fprintf(out, "flags = -std=c++17 -fno-slp-vectorize -Wall -Wextra%s%s\n",
            o->flags[0] ? " " : "", o->flags);
    fprintf(out, "budgets =%s\n", o->warn_budgets ? " --warn-budgets" : "");
    fputs("rule object\n"
          "  command = $clang -x hip --offload-device-only --no-gpu-bundle-output -nogpuinc "
          "-nogpulib -mcode-object-version=5 -Qn -fuse-cuid=none -ffile-prefix-map=$kernels=. "
          "$wave_flags $flags ",
          out);
    fputs(o->debug ? "-gline-tables-only -fdebug-compilation-dir=. " : "", out);
    fputs("-I$kernels $rooms --offload-arch=$target $macros -Xclang -dependency-file "
          "-Xclang $out.d -Xclang -MT -Xclang $out -S -Xclang -emit-obj -o $out.o $source && "
          "$lld -flavor gnu -m elf64_amdgpu -shared --no-undefined ",
          out);
    fputs(o->debug ? "" : "--strip-debug --discard-all ", out);
    fputs("-o $out $out.o && rm -f $out.o\n"
          "  depfile = $out.d\n"
          "  deps = gcc\n"
          "  description = clang $target $symbol\n"
          "rule bundle\n"
          "  command = $pack bundle --output=$out -- $parts\n"
          "  description = bundle $gpu $symbol\n"
          "rule image\n"
          "  command = $pack image --matrix=$matrix --gpu=$gpu --objects=$objects "
          "$sibling $budgets --output=$out\n"
          "  description = pack $gpu\n"
          "rule signature\n"
          "  command = $pack signature --gpu=$gpu --output=$out -- $matrix $sources\n"
          "  description = sign $gpu\n\n",
          out);
}

/* The code objects of one kernel, one a target, and their bundle. */
static void put_kernel(FILE *out, const struct options *o, const struct matrix *m,
                       const struct matrix_kernel *k)
{
    const struct matrix_gpu *gpu = &m->gpus[k->gpu];
    for (int t = 0; t < gpu->target_count; t++) {
        fprintf(out, "build object/%s/%s.%d.co: object ", gpu->name, k->symbol, t);
        put_path(out, o->kernels);
        fprintf(out, "/%s | ", k->op->source);
        put_path(out, o->clang);
        fprintf(out,
                "\n  source = $kernels/%s\n  target = %s\n  symbol = %s\n  macros =", k->op->source,
                gpu->targets[t], k->symbol);
        matrix_print_macros(m, k, out);
        fprintf(out, "\n  wave_flags = $wave%d_flags\n", gpu->wave);
    }
    fprintf(out, "build object/%s/%s.bundle: bundle", gpu->name, k->symbol);
    for (int t = 0; t < gpu->target_count; t++)
        fprintf(out, " object/%s/%s.%d.co", gpu->name, k->symbol, t);
    fputs(" | ", out);
    put_path(out, o->pack);
    fprintf(out, "\n  gpu = %s\n  symbol = %s\n  parts =", gpu->name, k->symbol);
    for (int t = 0; t < gpu->target_count; t++)
        fprintf(out, " %s=object/%s/%s.%d.co", gpu->targets[t], gpu->name, k->symbol, t);
    fputc('\n', out);
}

/* Where the image of a GPU goes: beside its objects if it is wanted for its siblings only. */
static void put_image_name(FILE *out, const struct options *o, const struct matrix *m, int g,
                           const bool *chosen)
{
    if (!chosen[g]) {
        fprintf(out, "object/%s/attn.zst", m->gpus[g].name);
        return;
    }
    put_path(out, o->images);
    fprintf(out, "/amd-%s/" FORMAT_FILE, m->gpus[g].name);
}

/* A sibling's image is made of the same bundles, with the dictionary of that image. */
static void put_image(FILE *out, const struct options *o, const struct matrix *m, int g,
                      const bool *chosen)
{
    const int code = m->gpus[g].code;
    fputs("build ", out);
    put_image_name(out, o, m, g, chosen);
    fputs(": image", out);
    for (int i = 0; i < m->kernel_count; i++)
        if (matrix_serves(m, &m->kernels[i], g))
            fprintf(out, " object/%s/%s.bundle", m->gpus[code].name, m->kernels[i].symbol);
    fputs(" | ", out);
    put_path(out, o->pack);
    fputc(' ', out);
    put_path(out, o->matrix);
    if (code != g) {
        fputc(' ', out);
        put_image_name(out, o, m, code, chosen);
    }
    fprintf(out, "\n  gpu = %s\n  objects = object/%s\n", m->gpus[g].name, m->gpus[code].name);
    if (code != g) {
        fputs("  sibling = --sibling=", out);
        put_image_name(out, o, m, code, chosen);
        fputc('\n', out);
    }
}

static void put_signature(FILE *out, const struct options *o, const struct matrix *m, int g,
                          const bool *chosen, const struct names *sources)
{
    fputs("build ", out);
    put_path(out, o->images);
    fprintf(out, "/amd-%s/__signature__: signature", m->gpus[g].name);
    fputs(" | ", out);
    put_path(out, o->matrix);
    for (int i = 0; i < sources->count; i++) {
        fputc(' ', out);
        put_path(out, sources->name[i]);
    }
    fputc(' ', out);
    put_path(out, o->pack);
    fputs(" || ", out);
    put_image_name(out, o, m, g, chosen);
    fprintf(out, "\n  gpu = %s\n  sources =", m->gpus[g].name);
    for (int i = 0; i < sources->count; i++) {
        fputc(' ', out);
        put_word(out, sources->name[i]);
    }
    fputs("\n\n", out);
}

/* Whether the kernels of a GPU are compiled: for itself or for a sibling. */
static bool is_compiled(const struct matrix *m, int g, const bool *chosen)
{
    bool yes = false;
    for (int other = 0; other < m->gpu_count; other++)
        yes |= chosen[other] && m->gpus[other].code == g;
    return yes;
}

static void put_gpu(FILE *out, const struct options *o, const struct matrix *m, int g,
                    const bool *chosen, const struct names *sources)
{
    if (is_compiled(m, g, chosen))
        for (int i = 0; i < m->kernel_count; i++)
            if (m->kernels[i].gpu == g)
                put_kernel(out, o, m, &m->kernels[i]);
    if (chosen[g] || is_compiled(m, g, chosen))
        put_image(out, o, m, g, chosen);
    if (chosen[g])
        put_signature(out, o, m, g, chosen, sources);
}

/* Sets chosen[g] for each GPU named in the list; all if the list is NULL. */
static int choose_gpus(const struct matrix *m, const char *list, bool *chosen)
{
    char *copy = strdup(list ? list : ""), *save = NULL;
    int bad = copy ? 0 : -1, count = 0;
    for (char *w = strtok_r(copy, " ,;", &save); w; w = strtok_r(NULL, " ,;", &save)) {
        int g = matrix_find_gpu(m, w);
        struct suggest s = {w, NULL, 0, ""};
        for (int i = 0; i < m->gpu_count; i++)
            suggest_add(&s, m->gpus[i].name);
        if (g < 0) {
            fprintf(stderr, "aothip-gen: unknown GPU '%s'; known are: %s\n", w, s.known);
            bad = -1;
        } else {
            chosen[g] = true;
            count++;
        }
    }
    for (int g = 0; g < m->gpu_count && !list; g++, count++)
        chosen[g] = true;
    if (!count && !bad) {
        fputs("aothip-gen: --gpus names no GPU\n", stderr);
        bad = -1;
    }
    free(copy);
    return bad;
}

static int write_ninja(const struct options *o, const struct matrix *m, const bool *chosen)
{
    struct source_tree tree = {{NULL, 0}, {NULL, 0}};
    char *text = NULL;
    size_t size = 0;
    int result = list_sources(o->kernels, &tree);
    FILE *out = result ? NULL : open_memstream(&text, &size);
    if (out) {
        put_rules(out, o, &tree.rooms);
        for (int g = 0; g < m->gpu_count; g++)
            put_gpu(out, o, m, g, chosen, &tree.files);
        result = fclose(out) ? -1 : gen_file_update(o->output, text, size);
    }
    free(text);
    free_names(&tree.files);
    free_names(&tree.rooms);
    return result;
}

static int list_kernels(const struct matrix *m, const bool *chosen)
{
    for (int i = 0; i < m->kernel_count; i++)
        for (int g = 0; g < m->gpu_count; g++) {
            const struct matrix_kernel *k = &m->kernels[i];
            if (!chosen[g] || !matrix_serves(m, k, g))
                continue;
            printf("%s %s", m->gpus[g].name, k->symbol);
            matrix_print_macros(m, k, stdout);
            putchar('\n');
        }
    if (!ferror(stdout) && !fflush(stdout))
        return 0;
    fprintf(stderr, "aothip-gen: standard output cannot be written\n");
    return -1;
}

enum {
    MATRIX = 1,
    GPUS,
    KERNELS,
    CLANG,
    LLD,
    PACK,
    IMAGES,
    OUTPUT,
    FLAGS,
    WAVE64_FLAGS,
    DEBUG,
    WARN,
    LIST,
    HELP
};

static const struct option long_options[] = {
    {"matrix", required_argument, NULL, MATRIX},
    {"gpus", required_argument, NULL, GPUS},
    {"kernels", required_argument, NULL, KERNELS},
    {"clang", required_argument, NULL, CLANG},
    {"lld", required_argument, NULL, LLD},
    {"pack", required_argument, NULL, PACK},
    {"images", required_argument, NULL, IMAGES},
    {"output", required_argument, NULL, OUTPUT},
    {"flags", required_argument, NULL, FLAGS},
    {"wave64-flags", required_argument, NULL, WAVE64_FLAGS},
    {"debug", no_argument, NULL, DEBUG},
    {"warn-budgets", no_argument, NULL, WARN},
    {"list", no_argument, NULL, LIST},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

/* 0: go on; else the exit status plus one. */
static int parse_options(struct options *o, int argc, char **argv)
{
    const char **const slots[] = {NULL,       &o->matrix, &o->gpus,        &o->kernels,
                                  &o->clang,  &o->lld,    &o->pack,        &o->images,
                                  &o->output, &o->flags,  &o->wave64_flags};
    int c;
    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (c >= MATRIX && c <= WAVE64_FLAGS)
            *slots[c] = optarg;
        else if (c == DEBUG)
            o->debug = true;
        else if (c == WARN)
            o->warn_budgets = true;
        else if (c == LIST)
            o->list = true;
        else if (c == HELP)
            return fputs(usage, stdout) < 0 ? 2 : 1;
        else
            return 3;
    }
    bool complete =
        o->matrix && (o->list || (o->kernels && o->clang && o->lld && o->pack && o->output));
    if (optind < argc)
        fprintf(stderr, "aothip-gen: %s is no option\n", argv[optind]);
    if (optind < argc || !complete) {
        fputs(usage, stderr);
        return 3;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {.images = FORMAT_DIRECTORY, .flags = "", .wave64_flags = ""};
    struct matrix m;
    int stop = parse_options(&o, argc, argv);
    if (stop)
        return stop - 1;
    if (matrix_read(&m, o.matrix, stderr))
        return 1;
    if (o.warn_budgets)
        matrix_leave_out(&m);
    bool *chosen = calloc((size_t)m.gpu_count, sizeof(*chosen));
    int result = chosen ? choose_gpus(&m, o.gpus, chosen) : -1;
    if (!result)
        result = o.list ? list_kernels(&m, chosen) : write_ninja(&o, &m, chosen);
    free(chosen);
    matrix_free(&m);
    return result ? 1 : 0;
}
