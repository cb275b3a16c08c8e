/* aothip-check's report as text for people and as JSON for machines. */
#include "environment.h"
#include "result.h"

#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int check_passed(const struct check_report *report)
{
    int i;
    if (report->error.code || report->list.code || !report->devices)
        return 0;
    for (i = 0; i < report->devices; i++)
        if (report->device[i].check.code || report->device[i].passed != report->device[i].ran)
            return 0;
    return 1;
}

static const char *kilobytes(uint64_t bytes, char text[32])
{
    snprintf(text, 32, "%.0f kB", ceil((double)bytes / 1000));
    return text;
}

void check_print_head(const struct check_report *r)
{
    char text[32];
    int i;

    if (*r->runtime.file) {
        printf("HIP runtime  %s\n", r->runtime.file);
        printf("             version %s, %d device%s%s\n",
               r->runtime.version ? device_runtime_version(&r->runtime, text) : "unknown",
               r->runtime.count, r->runtime.count == 1 ? "" : "s",
               r->runtime.emulated ? ", emulated" : "");
    }
    if (r->directory)
        printf("images       %s\n", r->directory);
    for (i = 0; r->directory && i < r->images; i++) {
        const struct check_image *image = &r->image[i];
        size_t length = strlen(r->directory);
        const char *file = image->file;
        if (!strncmp(file, r->directory, length) && file[length] == '/')
            file += length + 1;
        printf("             %-8s %3d kernels %8s  %s\n", image->gpu, image->kernels,
               kilobytes(image->bytes, text), file);
    }
    if (r->list.code)
        printf("             FAIL %s\n             %s\n", aothip_status_name(r->list.code),
               r->list.text);
}

void check_print_device(const struct check_report *r, const struct check_device *d)
{
    printf("\ndevice %-2d    %s%s\n", d->number, d->properties.name,
           r->runtime.emulated ? ", emulated" : "");
    printf("             %s, %d compute units, %.1f GB\n", d->properties.target,
           d->properties.compute_units, (double)d->properties.memory_bytes / 1e9);
    if (d->check.code) {
        printf("check_gpu    FAIL %s\n             %s\n", aothip_status_name(d->check.code),
               d->check.text);
        return;
    }
    printf("check_gpu    OK\n\n");
    printf("pass type  b   hq seqq seqk    dim mask order o error allowed lse err allowed\n");
}

/* printf() shows NaN's sign, which tells nothing. */
static double unsigned_nan(double value)
{
    return isnan(value) ? (double)NAN : value;
}

void check_print_result(const struct check_case *c, const struct check_result *r)
{
    char heads[32], dim[32];

    snprintf(heads, sizeof(heads), c->heads_q == c->heads_k ? "%d" : "%d/%d", c->heads_q,
             c->heads_k);
    snprintf(dim, sizeof(dim), c->dim_qk == c->dim_v ? "%d" : "%d/%d", c->dim_qk, c->dim_v);
    printf("%-4s %-4s %2d %4s %4d %4d %6s %-4s %-5s", check_pass_name(c->pass), check_type_name(c),
           c->batch, heads, c->seq_q, c->seq_k, dim, check_mask_name(c->mask),
           check_layout_name(c->layout));
    if (r->why.code) {
        printf(" FAIL\n    %s: %s\n", aothip_status_name(r->why.code), r->why.text);
        return;
    }
    printf(" %7.1e %7.1e", r->o.error, r->o.allowed);
    if (c->pass == CHECK_BACKWARD)
        printf(" %7s %7s", "-", "-");
    else
        printf(" %7.1e %7.1e", r->lse.error, r->lse.allowed);
    printf(" %s\n", r->passed ? "OK" : "FAIL");
    if (r->o.wrong)
        printf("    %s: %lld elements wrong, the worst at (%lld, %lld, %lld, %lld): %g, not %g\n",
               c->pass == CHECK_BACKWARD ? "gradients" : "o", (long long)r->o.wrong,
               (long long)r->o.at[0], (long long)r->o.at[1], (long long)r->o.at[2],
               (long long)r->o.at[3], unsigned_nan(r->o.got), r->o.expected);
    if (r->lse.wrong)
        printf("    lse: %lld elements wrong, the worst at (%lld, %lld, %lld): %g, not %g\n",
               (long long)r->lse.wrong, (long long)r->lse.at[0], (long long)r->lse.at[1],
               (long long)r->lse.at[2], unsigned_nan(r->lse.got), r->lse.expected);
    if (r->stray)
        printf("    %lld elements between the rows of an output were written to\n",
               (long long)r->stray);
}

void check_print_tail(const struct check_report *r)
{
    int i, ran = 0, passed = 0;

    for (i = 0; i < r->devices; i++) {
        ran += r->device[i].ran;
        passed += r->device[i].passed;
    }
    printf("\n");
    if (r->error.code)
        printf("FAIL %s: %s\n", aothip_status_name(r->error.code), r->error.text);
    else
        printf("%s: %d of %d cases passed on %d device%s\n", check_passed(r) ? "OK" : "FAIL",
               passed, ran, r->devices, r->devices == 1 ? "" : "s");
    if (r->cure)
        printf("%s\n", r->cure);
}

/* A JSON string; bytes beyond ASCII pass as they are. */
static void print_string(const char *text)
{
    putchar('"');
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            printf("\\u%04x", (unsigned char)*text);
        else
            putchar(*text);
    putchar('"');
}

static void print_pair(const char *key, const char *text)
{
    printf("\"%s\": ", key);
    print_string(text);
}

/* JSON has no infinity and no NaN. */
static void print_number(const char *key, double value)
{
    printf("\"%s\": ", key);
    if (isfinite(value))
        printf("%.9g", value);
    else
        printf("null");
}

static void print_status(const char *key, const struct status *status)
{
    printf("\"%s\": {", key);
    print_pair("status", aothip_status_name(status->code));
    printf(", ");
    print_pair("text", status->text);
    printf("}");
}

static void print_verdict(const char *key, const struct ref_verdict *v)
{
    printf("\"%s\": {", key);
    print_number("error", v->error);
    printf(", ");
    print_number("allowed", v->allowed);
    printf(", \"wrong\": %lld}", (long long)v->wrong);
}

static void print_result(const struct check_case *c, const struct check_result *r)
{
    printf("\n      {\"pass\": \"%s\", \"dtype\": \"%s\", \"dtype_kv\": \"%s\", \"batch\": %d, "
           "\"heads_q\": %d, "
           "\"heads_k\": %d, "
           "\"seq_q\": %d, \"seq_k\": %d, \"dim_qk\": %d, \"dim_v\": %d, \"mask\": \"%s\", "
           "\"layout\": \"%s\", ",
           check_pass_name(c->pass), check_dtype_name(c->dtype),
           check_dtype_name(c->kv ? c->kv : c->dtype), c->batch, c->heads_q, c->heads_k, c->seq_q,
           c->seq_k, c->dim_qk, c->dim_v, check_mask_name(c->mask), check_layout_name(c->layout));
    print_status("run", &r->why);
    if (!r->why.code) {
        printf(", ");
        print_verdict(c->pass == CHECK_BACKWARD ? "gradients" : "o", &r->o);
        if (c->pass == CHECK_FORWARD) {
            printf(", ");
            print_verdict("lse", &r->lse);
        }
        printf(", \"stray\": %lld", (long long)r->stray);
    }
    printf(", \"ok\": %s}", r->passed ? "true" : "false");
}

static void print_device(const struct check_device *d)
{
    const char *comma = "";
    int i;

    printf("\n    {\"number\": %d, ", d->number);
    print_pair("name", d->properties.name);
    printf(", ");
    print_pair("target", d->properties.target);
    printf(", \"compute_units\": %d, \"memory_bytes\": %llu, ", d->properties.compute_units,
           (unsigned long long)d->properties.memory_bytes);
    print_status("check_gpu", &d->check);
    printf(", \"cases\": [");
    for (i = 0; i < check_case_count; i++)
        if (d->results[i].tried) {
            fputs(comma, stdout);
            print_result(&check_cases[i], &d->results[i]);
            comma = ",";
        }
    printf("]}");
}

void check_print_json(const struct check_report *r)
{
    char text[32];
    int i;

    printf("{\"ok\": %s, ", check_passed(r) ? "true" : "false");
    print_pair("version", aothip_version());
    printf(",\n  ");
    print_status("error", &r->error);
    printf(",\n  \"runtime\": {");
    print_pair("file", r->runtime.file);
    printf(", ");
    print_pair("version", device_runtime_version(&r->runtime, text));
    printf(", \"emulated\": %s},\n  ", r->runtime.emulated ? "true" : "false");
    print_pair("directory", r->directory ? r->directory : "");
    printf(",\n  ");
    print_status("list", &r->list);
    printf(",\n  \"images\": [");
    for (i = 0; i < r->images; i++) {
        printf("%s\n    {", i ? "," : "");
        print_pair("gpu", r->image[i].gpu);
        printf(", ");
        print_pair("file", r->image[i].file);
        printf(", \"kernels\": %d, \"bytes\": %llu}", r->image[i].kernels,
               (unsigned long long)r->image[i].bytes);
    }
    printf("],\n  \"devices\": [");
    for (i = 0; i < r->devices; i++) {
        fputs(i ? "," : "", stdout);
        print_device(&r->device[i]);
    }
    printf("]}\n");
}

static const char *const level_names[] = {
    [ENV_INFO] = "", [ENV_OK] = "OK", [ENV_WARN] = "WARN", [ENV_FAIL] = "FAIL"};

/* Prints words in lines of up to 80 columns, of which the first 16 stay free after the first. */
static void print_wrapped(const char *text)
{
    size_t column = 16;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column > 16 && column + 1 + length > 80) {
            printf("\n%16s", "");
            column = 16;
        } else if (column > 16) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)length, text);
        column += length;
        text += length + strspn(text + length, " ");
    }
    putchar('\n');
}

static void print_finding(const struct env_finding *f, const char *topic, const char *level)
{
    printf("%-9s %-5s ", topic, level);
    print_wrapped(f->text);
    if (f->cure) {
        printf("%16s", "");
        print_wrapped(f->cure);
    }
}

/* What failed comes last once more, for the end is what one sees. */
void env_print(const struct env_report *report)
{
    const char *topic = "";
    int i;

    for (i = 0; i < report->count; i++) {
        const struct env_finding *f = &report->finding[i];
        print_finding(f, strcmp(topic, f->topic) ? f->topic : "", level_names[f->level]);
        topic = f->topic;
    }
    printf("\n");
    for (i = 0; i < report->count; i++)
        if (report->finding[i].level == ENV_FAIL)
            print_finding(&report->finding[i], report->finding[i].topic,
                          level_names[report->finding[i].level]);
    printf("%s\n", env_passed(report) ? "OK" : "FAIL");
}

void env_print_json(const struct env_report *report)
{
    int i;

    printf("{\"ok\": %s, \"findings\": [", env_passed(report) ? "true" : "false");
    for (i = 0; i < report->count; i++) {
        const struct env_finding *f = &report->finding[i];
        printf("%s\n  {", i ? "," : "");
        print_pair("topic", f->topic);
        printf(", ");
        print_pair("level", f->level == ENV_INFO ? "INFO" : level_names[f->level]);
        printf(", ");
        print_pair("text", f->text);
        if (f->cure) {
            printf(", ");
            print_pair("cure", f->cure);
        }
        printf("}");
    }
    printf("]}\n");
}
