/* What aothip-check finds out, and the two forms it is told in. */
#ifndef AOTHIP_CHECK_REPORT_H
#define AOTHIP_CHECK_REPORT_H

#include "attn.h"
#include "cases.h"

/* The kernels of one GPU in the image directory. */
struct check_image {
    char gpu[32];
    char file[4096];
    int kernels;
    uint64_t bytes; /* compressed */
};

enum { CHECK_IMAGES_MAX = 64, CHECK_DEVICES_MAX = 64 };

struct check_device {
    int number;
    struct hip_device_properties properties;
    struct status check; /* aothip_check_device()'s answer */
    int ran, passed;     /* cases */
    struct check_result results[CHECK_CASES_MAX];
};

struct check_report {
    const char *directory; /* of the images; NULL if none was found */
    int images;
    struct check_image image[CHECK_IMAGES_MAX];
    struct status list;            /* why not all of them could be read */
    struct device_runtime runtime; /* file is "" if none was found */
    int devices;
    struct check_device *device;
    struct status error; /* what kept the check from going on */
    const char *cure;    /* for that; may be NULL */
};

/* Whether everything that could be checked was, and passed. */
int check_passed(const struct check_report *report);

/* Text, piece by piece as the check goes on. */
void check_print_head(const struct check_report *report);
void check_print_device(const struct check_report *report, const struct check_device *device);
void check_print_result(const struct check_case *c, const struct check_result *result);
void check_print_tail(const struct check_report *report);

/* JSON, all at the end: one object. */
void check_print_json(const struct check_report *report);

#endif
