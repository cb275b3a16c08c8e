/*
 * Fuzzes the reader of parameters for the clock: whatever the text, either all values are then
 * possible ones, or nothing has changed and a line says where it is wrong. Mutates a text of its
 * own, with a fixed seed.
 */
#include "clock_file.h"
#include "clock_params.h"
#include "tap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char seed_text[] = "/* a comment */\n"
                                "GPU(\"gfx942\")\n"
                                "P(valu, 8, 2.5, 'M', \"measured\")\n"
                                "P(clock_full, 1.2e0, 10, '?', \"a, (guess)\") P(packed, 4, 0, "
                                "'V', \"ISA\")\n"
                                "GPU(\"gfx1151\")\n"
                                "P(launch_us, 5, 1000, 'C', \"said\")\n";

static uint32_t state = 1;

static unsigned draw(unsigned n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
}

static int possible(void)
{
    for (int family = 0; family < EMU_FAMILIES; family++)
        for (size_t i = 0; i < emu_clock_origins(); i++) {
            const struct emu_clock_origin o = emu_clock_origin((enum emu_family)family, i);

            /* 0: gfx90a has no cache before memory */
            if (o.most > 0 && o.value > 0 &&
                (o.value < o.least || o.value > o.most || o.uncertainty < 0 ||
                 o.uncertainty > 1000 || !*o.source))
                return 0;
        }
    return 1;
}

/* Some bytes are changed, moved, doubled, cut. */
static size_t mutate(char *text, size_t n, size_t room)
{
    static const char bytes[] = "P(),'\"/*\n\0 0129.-eEVGU\xff";

    for (unsigned k = draw(6); n && k < 6; k++) {
        const size_t at = draw((unsigned)n), many = 1 + draw(20);

        switch (draw(4)) {
        case 0:
            text[at] = bytes[draw(sizeof bytes)];
            break;
        case 1:
            n = at + many < n ? at + many : n;
            break;
        case 2:
            if (n + many <= room && at + many <= n) {
                memmove(text + at + many, text + at, n - at);
                n += many;
            }
            break;
        default:
            if (at + many < n) {
                memmove(text + at, text + at + many, n - at - many);
                n -= many;
            }
        }
    }
    return n;
}

int main(void)
{
    static struct emu_clock_gpu before[EMU_FAMILIES];
    int taken = 0, refused = 0, bad = 0;
    char why[200];

    ok(possible(), "the tables themselves are possible");
    ok(emu_clock_text_read(seed_text, sizeof seed_text - 1, "t", why, sizeof why) &&
           emu_clock_gpu(EMU_GFX942)->valu == 8 && emu_clock_gpu(EMU_GFX942)->clock_full == 1.2 &&
           emu_clock_gpu(EMU_GFX11_5)->launch_us == 5 && emu_clock_gpu(EMU_GFX11)->launch_us != 5,
       "the text is read into its GPUs' tables");
    ok(emu_clock_uncertainty(EMU_GFX11_5, "launch_us") == 10, "with the uncertainties");
    for (int i = 0; i < 20000; i++) {
        char *text = malloc(2 * sizeof seed_text); /* its ends are watched by the sanitizer */
        size_t n = sizeof seed_text - 1;
        char *exact;

        if (!text)
            return tap_done();
        memcpy(text, seed_text, n);
        n = mutate(text, n, 2 * sizeof seed_text);
        exact = malloc(n + !n);
        if (exact)
            memcpy(exact, text, n);
        free(text);
        for (int f = 0; f < EMU_FAMILIES; f++)
            before[f] = *emu_clock_gpu((enum emu_family)f);
        *why = 0;
        if (exact && emu_clock_text_read(exact, n, "t", why, sizeof why)) {
            taken++;
        } else {
            refused++;
            bad += strncmp(why, "t:", 2) != 0 || atoi(why + 2) < 1;
            for (int f = 0; f < EMU_FAMILIES; f++)
                bad += memcmp(&before[f], emu_clock_gpu((enum emu_family)f), sizeof before[f]) != 0;
        }
        free(exact);
    }
    ok(!bad, "what is refused changes nothing and is told");
    ok(possible(), "what is taken is possible");
    ok(taken > 100 && refused > 1000, "%d taken, %d refused", taken, refused);
    return tap_done();
}
