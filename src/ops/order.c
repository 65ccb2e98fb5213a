/* SPDX-License-Identifier: Apache-2.0 */
/* order.c: a total order of elements, and a stable merge sort: qsort is neither stable nor does it
 * know a context. */
#include "ops/order.h"

#include <math.h>
#include <string.h>

#include "ops/call.h"

int order_elements(const struct tensor *x, int64_t a, int64_t b)
{
    if (dtype_is_float(x->dtype)) {
        double p = tensor_get(x, a), q = tensor_get(x, b);
        if (isnan(p) || isnan(q))
            return (isnan(p) ? 1 : 0) - (isnan(q) ? 1 : 0);
        return (p > q) - (p < q);
    }
    int64_t p = tensor_get_int(x, a), q = tensor_get_int(x, b);
    if (dtype_is_unsigned(x->dtype))
        return ((uint64_t)p > (uint64_t)q) - ((uint64_t)p < (uint64_t)q);
    return (p > q) - (p < q);
}

struct sorter {
    order_function compare;
    const void *context;
};

/* from[first .. middle) and from[middle .. last) are sorted; to[first .. last) becomes so. */
static void merge(const struct sorter *sorter, const int64_t *from, int64_t *to, int64_t first,
                  int64_t middle, int64_t last)
{
    int64_t left = first, right = middle;
    for (int64_t k = first; k < last; k++) {
        bool takes_left =
            left < middle &&
            (right == last || sorter->compare(sorter->context, from[left], from[right]) <= 0);
        to[k] = takes_left ? from[left++] : from[right++];
    }
}

void order_sort(int64_t *positions, int64_t *spare, int64_t count, order_function compare,
                const void *context)
{
    const struct sorter sorter = { compare, context };
    int64_t *from = positions, *to = spare;
    for (int64_t k = 0; k < count; k++)
        positions[k] = k;
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t first = 0; first < count; first += 2 * width) {
            int64_t middle = first + width < count ? first + width : count;
            int64_t last = middle + width < count ? middle + width : count;
            merge(&sorter, from, to, first, middle, last);
        }
        int64_t *merged = to;
        to = from;
        from = merged;
    }
    if (from != positions)
        memcpy(positions, from, (size_t)count * sizeof *positions);
}
