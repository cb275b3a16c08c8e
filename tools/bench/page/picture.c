/* bench-picture RESULTS.json: the README's picture of what aothip-bench --json predicted. */
#include "beside.h"
#include "cli.h"
#include "points.h"

#include <stdlib.h>

enum { WIDTH = 800, HEAD = 66, CHART = 380, LINE = 20 };

static void print_head(int lines, double least, double most)
{
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\">\n"
           "<style>\n%ssvg{font:12px sans-serif;fill:var(--text)}\n</style>\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"var(--back)\"/>\n",
           WIDTH, HEAD + CHART + LINE * lines + 10, WIDTH, chart_colours);
    printf("<text x=\"20\" y=\"26\" font-size=\"16\">Attention on MI300X (gfx942), bf16, head dim "
           "128, 16 heads, 16384 queries in all</text>\n"
           "<text x=\"20\" y=\"48\">Predicted on the emulator's clock, never measured on a card. "
           "Whiskers: how far off a prediction may be, %.0f to %.0f %%.</text>\n",
           100 * least, 100 * most);
}

static int draw(struct bench_besides *results)
{
    struct chart_point *points = calloc(results->count, sizeof(*points));
    double least = 1, most = 0;
    int lines = 0;

    if (!points)
        return -1;
    for (size_t i = 0; i < results->count; i++) {
        struct bench_result *r = &results->list[i].result;
        const double spread = page_spread(r);

        *r->by = 0;
        least = spread < least ? spread : least;
        most = spread > most ? spread : most;
        page_point(r, r->shape.seq_k, &points[i]);
        lines += chart_is_first(points, i);
    }
    print_head(lines, least, most);
    printf("<g transform=\"translate(20 %d)\">\n", HEAD);
    chart_lines(stdout, points, results->count, "keys", "TFLOP/s");
    printf("</g>\n</svg>\n");
    free(points);
    return 0;
}

int main(int argc, char **argv)
{
    struct bench_besides results = {0};
    struct status why;
    char argument[4096];
    int failed;

    cli_name = "bench-picture";
    if (argc != 2) {
        cli_say("wanted is one file of results");
        return CLI_USAGE;
    }
    status_clear(&why);
    snprintf(argument, sizeof(argument), "ours=%s", argv[1]);
    failed = bench_beside_read(&results, argument, &why) != AOTHIP_OK ||
             bench_besides_fit(&results, "gfx942", &why) != AOTHIP_OK;
    if (failed)
        cli_say("%s", why.text);
    else
        failed = draw(&results);
    bench_besides_free(&results);
    return cli_end(failed ? CLI_FAILED : CLI_OK);
}
