/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { EXACT_LIMIT = 20 }; /* Conover: the normal approximation is good beyond 20 */

static const double tail = 0.025;           /* on each side of a 95 % interval */
static const double normal_quantile = 1.96; /* of 1 - tail */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_doubles(double *items, size_t count)
{
    qsort(items, count, sizeof *items, compare_doubles);
}

static double median_of_sorted(const double *sorted, size_t count)
{
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* With less than 11 samples this is the minimum. */
static double decile_of_sorted(const double *sorted, size_t count)
{
    return sorted[(count - 1) / 10];
}

/* How many samples to leave out at each end so that the rest still holds the median with 95 %.
 * Below 6 samples no interval reaches 95 %: the whole range is given. */
static size_t samples_left_out(size_t count)
{
    if (count > EXACT_LIMIT) {
        double n = (double)count;
        double first = ceil(n / 2 - normal_quantile * sqrt(n) / 2); /* 1-based order statistic */
        return (size_t)first - 1;
    }
    double probability = pow(0.5, (double)count), cumulative = 0;
    size_t k = 0;
    for (; k < count / 2; k++) {
        cumulative += probability; /* P(Binomial(count, 1/2) <= k) */
        if (cumulative > tail)
            break;
        probability *= (double)(count - k) / (double)(k + 1);
    }
    return k > 0 ? k - 1 : 0;
}

bool summary_of(const double *samples, size_t count, struct summary *out)
{
    *out = (struct summary){ 0 };
    if (count == 0)
        return true;
    if (count > SIZE_MAX / sizeof *samples)
        return false;
    double *sorted = memory_alloc(count * sizeof *sorted);
    if (!sorted)
        return false;
    memcpy(sorted, samples, count * sizeof *sorted);
    sort_doubles(sorted, count);
    size_t skip = samples_left_out(count);
    *out = (struct summary){ .count = count,
                             .minimum = sorted[0],
                             .decile = decile_of_sorted(sorted, count),
                             .median = median_of_sorted(sorted, count),
                             .low = sorted[skip],
                             .high = sorted[count - 1 - skip] };
    memory_free(sorted);
    return true;
}

bool lowest_decile(const double *samples, size_t count, size_t parts, double *out)
{
    *out = 0;
    bool first = true;
    for (size_t p = 0; p < parts; p++) {
        size_t begin = count * p / parts, end = count * (p + 1) / parts;
        struct summary part;
        if (begin == end)
            continue;
        if (!summary_of(samples + begin, end - begin, &part))
            return false;
        *out = first || part.decile < *out ? part.decile : *out;
        first = false;
    }
    return true;
}

bool paired_ratio(const double *a, const double *b, size_t count, struct summary *out)
{
    *out = (struct summary){ 0 };
    if (count == 0)
        return true;
    if (count > SIZE_MAX / sizeof *a)
        return false;
    double *ratios = memory_alloc(count * sizeof *ratios);
    if (!ratios)
        return false;
    for (size_t k = 0; k < count; k++)
        ratios[k] = a[k] / b[k];
    bool fine = summary_of(ratios, count, out);
    memory_free(ratios);
    return fine;
}
