/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ablation.h: how fast a model is with one library more at a time. Plain data: optimize/ fills it
 * from a race, report/ prints it. All strings and arrays are borrowed.
 */
#ifndef COLLAGE_PLAN_ABLATION_H
#define COLLAGE_PLAN_ABLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A median with its 95 % confidence interval; median 0: not known. */
struct ablation_ratio {
    double median, low, high;
};

struct ablation_row {
    const char *added, *version; /* the library that joins those of the rows above */
    const char *note;            /* "with reference for Gather"; "alone: ..."; "" */
    const char *failure;         /* why it has no times; "" */
    bool same;                   /* the plan is that of the row above, and so are all numbers */
    double predicted_ns;         /* sum of costs; 0 if standalone */
    double minimum_ns, median_ns, low_ns, high_ns; /* 0 if it has no times */
    struct ablation_ratio speed_up; /* time of the first row that has one / time of this */
    struct ablation_ratio gain;     /* time of the row above / time of this */
    double worst_error;
    uint64_t peak_bytes;
};

struct ablation {
    const char *model, *device_name;
    int32_t threads;
    const struct ablation_row *rows; /* 1 library, 2, ... */
    size_t row_count;
    const struct ablation_row *alone; /* libraries in their own sessions, to compare with */
    size_t alone_count;
};

#endif
