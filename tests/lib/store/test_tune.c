/*
 * Tables of what launches take: sound ones, each way in which one can be wrong, and mutated ones,
 * of which a reader may say anything but must name the file and touch nothing beyond the bytes.
 */
#include "tune.h"

#include <stdlib.h>

#include "make_image.h"
#include "tap.h"

#define HEAD "aothip-tune 1\ngpu gfx942\n"
#define FAST "attn_fwd_f16_d64_fast"

static char directory[256];
static struct store store;
static struct format_cost costs[MAKE_IMAGE_ENTRIES];
static struct status why;

/* Reads `size` bytes of text from a block of that size. */
static enum aothip_status parse_bytes(const char *text, size_t size)
{
    char *copy = malloc(size ? size : 1);
    memcpy(copy, text, size);
    memset(costs, 0, sizeof(costs));
    status_clear(&why);
    tune_parse(&store, "table", copy, size, costs, &why);
    free(copy);
    return why.code;
}

static enum aothip_status parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static int is_cost(const struct format_cost *cost, uint32_t start, uint32_t alone, uint32_t shared)
{
    return cost->start == start && cost->alone == alone && cost->shared == shared;
}

static void test_sound(void)
{
    is_int(parse(HEAD FAST " 1 22 4294967295\n"), AOTHIP_OK, "a row");
    ok(is_cost(&costs[0], 1, 22, 4294967295u), "is the first entry's");
    ok(is_cost(&costs[1], 0, 0, 0), "and no other's");
    is_int(parse("# note\n\naothip-tune 1 # version\r\n\tgpu gfx942\n" FAST "\t7  8 9"), AOTHIP_OK,
           "notes, empty lines, any blanks, no end of the last line");
    ok(is_cost(&costs[0], 7, 8, 9), "count for nothing");
    is_int(parse("aothip-tune 1\ngpu gfx90a\n" FAST " 1 2 3\ngpu gfx942\n" FAST " 4 5 6\n"
                 "gpu gfx1100\n" FAST " 7 8 9\n"),
           AOTHIP_OK, "several GPUs");
    ok(is_cost(&costs[0], 4, 5, 6), "each with its rows");
    is_int(parse(HEAD "attn_fwd_of_tomorrow 1 2 3\n"), AOTHIP_OK, "a kernel that the image lacks");
    is_int(parse("aothip-tune 1\n"), AOTHIP_OK, "no row at all");
}

static const struct {
    const char *text;
    enum aothip_status status;
    const char *message;
} wrong[] = {
    {"\n\n", AOTHIP_E_FORMAT, "table:2: no line \"aothip-tune 1\""},
    {"gpu gfx942\n", AOTHIP_E_FORMAT, "table:1: the first line is not \"aothip-tune 1\""},
    {"aothip-tune\n", AOTHIP_E_FORMAT, "table:1: the first line is not"},
    {"\naothip-tune 2\n", AOTHIP_E_VERSION, "table:2: version is 2, this library reads 1"},
    {"aothip-tune one\n", AOTHIP_E_VERSION, "version is one"},
    {"aothip-tune 1\n" FAST " 1 2 3\n", AOTHIP_E_FORMAT,
     "table:2: " FAST " comes before any \"gpu NAME\""},
    {"aothip-tune 1\ngpu\n", AOTHIP_E_FORMAT, "table:2: 1 words instead of \"gpu NAME\""},
    {"aothip-tune 1\ngpu a b\n", AOTHIP_E_FORMAT, "3 words"},
    {HEAD FAST "\n", AOTHIP_E_FORMAT, "table:3: " FAST " has 0 numbers instead of start, alone"},
    {HEAD FAST " 1 2\n", AOTHIP_E_FORMAT, "has 2 numbers"},
    {HEAD FAST " 1 2 3 4\n", AOTHIP_E_FORMAT, "has 4 numbers"},
    {HEAD FAST " 0 2 3\n", AOTHIP_E_FORMAT, "start is 0, not 1 to 4294967295"},
    {HEAD FAST " 1 -2 3\n", AOTHIP_E_FORMAT, "alone is -2"},
    {HEAD FAST " 1 2 3x\n", AOTHIP_E_FORMAT, "shared is 3x"},
    {HEAD FAST " 1 2 4294967296\n", AOTHIP_E_FORMAT, "shared is 4294967296"},
    {HEAD FAST " 1 2 99999999999999999999999999\n", AOTHIP_E_FORMAT, "shared is 9999"},
    {HEAD FAST " 1 2 3\n" FAST " 1 2 3\n", AOTHIP_E_FORMAT, "table:4: " FAST " has a second row"},
    {"aothip-tune 1\ngpu gfx90a\nx 1 2\n", AOTHIP_E_FORMAT, "table:3: x has 2 numbers"},
};

static void test_wrong(void)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        is_int(parse(wrong[i].text), wrong[i].status, wrong[i].message);
        contains(why.text, wrong[i].message, "is told");
    }
}

static void write_table(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        exit(99);
}

static void test_file(void)
{
    struct format_cost *read;
    char *path = tune_path(&store, directory);
    contains(path, "/amd-gfx942/flash/tune.txt", "where the table lies");
    status_clear(&why);
    ok(tune_read(&store, path, &read, &why) == AOTHIP_OK && !read, "none is no failure");
    write_table(path, HEAD FAST " 4 5 6\n");
    ok(tune_read(&store, path, &read, &why) == AOTHIP_OK && read && is_cost(read, 4, 5, 6),
       "one is read");
    free(read);
    write_table(path, HEAD FAST " 4 5\n");
    ok(tune_read(&store, path, &read, &why) == AOTHIP_E_FORMAT && !read, "one is wrong");
    contains(why.text, path, "and named");
    free(path);
}

static void test_mutated(void)
{
    static const char seed[] = HEAD FAST " 11 22 33 # note\ngpu gfx90a\n" FAST " 1 2 3\n";
    static const char special[] = "\n\n #0gx\t\r\xff";
    uint64_t state = 20261123;
    int nameless = 0;
    for (int round = 0; round < 20000; round++) {
        char text[sizeof(seed)];
        memcpy(text, seed, sizeof(seed));
        for (int i = 0; i < 4; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[(state >> 33) % (sizeof(seed) - 1)] = special[(state >> 20) % sizeof(special)];
        }
        if (parse_bytes(text, (size_t)(state >> 40) % sizeof(seed)) && !strstr(why.text, "table:"))
            nameless++;
    }
    is_int(nameless, 0, "every refusal of a mutated table names file and line");
}

int main(void)
{
    struct make_image image = make_image("gfx942", NULL);
    make_directory(directory);
    make_image_write(&image, directory, "gfx942");
    status_clear(&why);
    if (store_open(&store, directory, "gfx942", &why)) {
        ok(0, "%s", why.text);
        return tap_done();
    }
    test_sound();
    test_wrong();
    test_file();
    test_mutated();
    store_close(&store);
    remove_directory(directory);
    free(image.bytes);
    return tap_done();
}
