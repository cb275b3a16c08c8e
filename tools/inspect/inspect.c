/* aothip-inspect: registers, memory and instruction counts of the kernels in code objects and
 * images. */
#include "cli.h"
#include "key_loop.h"
#include "inspect_file.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: aothip-inspect [option ...] FILE...\n"
    "Shows the kernels of code objects (ELF), offload bundles and image files (.zst): what they\n"
    "need, and how many instructions of which kind their key loop has.\n"
    "\n"
    "      --table       one line a kernel (default)\n"
    "      --loops       one line a kernel without its registers: for a checked-in table\n"
    "      --json        everything, as JSON\n"
    "      --disasm      the code, with the key loop marked\n"
    "      --kernel NAME only kernels whose name contains NAME\n"
    "      --help, --version\n"
    "\n"
    "The key loop is the innermost loop with the most matrix instructions. Columns:\n";

enum format { TABLE, LOOPS, JSON, DISASM };

struct options {
    enum format format;
    const char *kernel;
    bool first; /* nothing printed yet */
};

static void print_help(void)
{
    fputs(help, stdout);
    fputs("  vgpr agpr sgpr lds scratch spill   a lane's registers; bytes; registers spilled\n",
          stdout);
#define LINE(name, text) printf("  %-10s %s\n", #name, text);
    INSPECT_COUNTS(LINE)
#undef LINE
    fputs("Exit status: 0 done, 1 a file is not readable or damaged, or no kernel has the name, "
          "2 wrong command.\n",
          stdout);
}

/* ---- table ---- */

static void print_heading(enum format format)
{
    printf("%-8s %-44s", "gpu", "kernel");
    if (format == TABLE)
        printf(" %4s %4s %4s %6s %7s %5s", "vgpr", "agpr", "sgpr", "lds", "scratch", "spill");
#define COLUMN(name, text) printf(" %*s", (int)(sizeof #name > 6 ? sizeof #name - 1 : 5), #name);
    INSPECT_COUNTS(COLUMN)
#undef COLUMN
    putchar('\n');
}

static void print_line(const char *gpu, const struct inspect_kernel *k, enum format format)
{
    const struct emu_kernel_meta *m = k->meta;

    printf("%-8s %-44s", gpu, m->name);
    if (format == TABLE)
        printf(" %4u %4u %4u %6u %7u %5u", m->vgpr_count, m->agpr_count, m->sgpr_count,
               m->group_segment, m->private_segment, m->vgpr_spills + m->sgpr_spills);
#define COLUMN(name, text)                                                                         \
    printf(" %*u", (int)(sizeof #name > 6 ? sizeof #name - 1 : 5), k->loop.name);
    INSPECT_COUNTS(COLUMN)
#undef COLUMN
    putchar('\n');
}

/* ---- JSON ---- */

static void print_string(const char *s)
{
    putchar('"');
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            printf("\\u%04x", *s);
        else
            putchar(*s);
    putchar('"');
}

static void print_counts(const struct inspect_counts *c)
{
    const char *separator = "";

    putchar('{');
#define MEMBER(name, text)                                                                         \
    printf("%s\"%s\":%u", separator, #name, c->name);                                              \
    separator = ",";
    INSPECT_COUNTS(MEMBER)
#undef MEMBER
    putchar('}');
}

static void print_json(const char *file, const char *gpu, const struct inspect_kernel *k,
                       bool first)
{
    const struct emu_kernel_meta *m = k->meta;

    printf("%s\n  {\"file\":", first ? "" : ",");
    print_string(file);
    printf(",\"gpu\":\"%s\",\"kernel\":", gpu);
    print_string(m->name);
    printf(",\"wave\":%u,\"threads\":%u,\"vgpr\":%u,\"agpr\":%u,\"sgpr\":%u,\"vgpr_spills\":%u,"
           "\"sgpr_spills\":%u,\"lds\":%u,\"scratch\":%u,\"kernarg\":%u,\"code_bytes\":%zu,"
           "\"instructions\":",
           m->wavefront_size, m->max_flat_workgroup_size, m->vgpr_count, m->agpr_count,
           m->sgpr_count, m->vgpr_spills, m->sgpr_spills, m->group_segment, m->private_segment,
           m->kernarg_size, k->size);
    print_counts(&k->all);
    if (k->has_loop) {
        printf(",\"loop\":{\"begin\":%u,\"end\":%u,\"instructions\":", k->loop_begin, k->loop_end);
        print_counts(&k->loop);
        putchar('}');
    }
    putchar('}');
}

/* ---- code ---- */

static void print_code(const char *gpu, const struct inspect_kernel *k)
{
    char text[512];
    struct emu_insn in;

    printf("%s %s:\n", gpu, k->meta->name);
    for (uint32_t at = 0; at < k->size; at += in.size) {
        bool loop = k->has_loop && at >= k->loop_begin && at < k->loop_end;

        emu_decode_newer(k->family, k->meta->wavefront_size, k->code, k->size - at, at, &in);
        emu_disasm(&in, text, sizeof text);
        printf("%c %6x: %s", loop ? '|' : ' ', at, text);
        if (in.flags & EMU_F_BRANCH)
            printf("  -> %x", at + in.size + 4u * (uint32_t)(int32_t)in.simm16);
        putchar('\n');
    }
}

/* ---- files ---- */

static bool show_object(const struct inspect_code *code, void *context)
{
    struct options *o = context;
    struct emu_object *object;
    char err[512], gpu[64];
    bool good = true;

    object = emu_object_open(code->bytes, code->size, err, sizeof err);
    if (!object) {
        cli_say("%s: %s", code->file, err);
        return false;
    }
    emu_target_print(&object->target, gpu);
    for (size_t i = 0; i < object->nkernels; i++) {
        struct inspect_kernel k;

        if (o->kernel && !strstr(object->kernels[i].name, o->kernel))
            continue;
        if (!inspect_kernel(object, &object->kernels[i], &k, err, sizeof err)) {
            cli_say("%s: %s", code->file, err);
            good = false;
            continue;
        }
        if (o->format == JSON)
            print_json(code->file, gpu, &k, o->first);
        else if (o->format == DISASM)
            print_code(gpu, &k);
        else
            print_line(gpu, &k, o->format);
        o->first = false;
    }
    emu_object_close(object);
    return good;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"table", no_argument, NULL, 't'},        {"loops", no_argument, NULL, 'l'},
        {"json", no_argument, NULL, 'j'},         {"disasm", no_argument, NULL, 'd'},
        {"kernel", required_argument, NULL, 'k'}, {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},      {NULL, 0, NULL, 0}};
    struct options o = {TABLE, NULL, true};
    bool good = true;
    int c;

    cli_name = "aothip-inspect";
    while ((c = cli_option(argc, argv, "", options)) != -1) {
        if (c == 'h' || c == 'V') {
            if (c == 'h')
                print_help();
            else
                cli_print_version();
            return cli_end(CLI_OK);
        }
        if (c == 'k')
            o.kernel = optarg;
        else
            o.format = c == 'j' ? JSON : c == 'd' ? DISASM : c == 'l' ? LOOPS : TABLE;
    }
    if (optind == argc)
        cli_usage_error("which file?");
    if (o.format == JSON)
        putchar('[');
    else if (o.format != DISASM)
        print_heading(o.format);
    for (int i = optind; i < argc; i++)
        good &= inspect_file(argv[i], show_object, &o);
    if (o.format == JSON)
        puts("\n]");
    if (good && o.first && o.kernel) {
        cli_say("no kernel's name contains %s", o.kernel);
        good = false;
    }
    return cli_end(good ? CLI_OK : CLI_FAILED);
}
