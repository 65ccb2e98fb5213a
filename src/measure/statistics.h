/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.h: of timing samples: order statistics, confidence intervals, paired ratios. Sources
 * are named at each. */
#ifndef COLLAGE_MEASURE_STATISTICS_H
#define COLLAGE_MEASURE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

struct summary {
    size_t count;
    double minimum, decile, median; /* decile: a tenth of the samples are below it */
    double low, high; /* 95 % CI of the median by order statistics (Conover 1999, 3.2) */
};

/* Sorts a copy; count 0 gives zeros. False if out of memory. */
bool summary_of(const double *samples, size_t count, struct summary *out);

/* Of samples in the order in which they were taken: in each of `parts` equal stretches the lower
 * decile; the lowest of these. So is a cost found that is measured so many times. No samples: 0.
 * False if out of memory. */
bool lowest_decile(const double *samples, size_t count, size_t parts, double *out);

/* Of the ratios a[k] / b[k]. */
bool paired_ratio(const double *a, const double *b, size_t count, struct summary *out);

#endif
