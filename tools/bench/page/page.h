/* Results as one page of HTML that needs nothing else: pictures are SVG in it, there are no
 * scripts. */
#ifndef AOTHIP_BENCH_PAGE_H
#define AOTHIP_BENCH_PAGE_H

#include "bench_result.h"
#include "device.h"

struct bench_page;

/* A file to be filled, which is there when it is closed; NULL, and why, if it cannot be written. */
struct bench_page *bench_page_open(const char *file, struct status *why);

/* Keeps the result, unless it failed. Errors: MEMORY. */
enum aothip_status bench_page_add(struct bench_page *page, const struct bench_result *result,
                                  struct status *why);

/* Writes the page, if there is a result, and frees it; NULL is fine, and so is a device that was
 * never opened. Errors: IO. */
enum aothip_status bench_page_close(struct bench_page *page, const struct device *device,
                                    struct status *why);

#endif
