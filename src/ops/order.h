/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h: comparing the elements of a tensor, and sorting positions by what stands there: for
 * TopK, Hardmax and Unique.
 */
#ifndef COLLAGE_OPS_ORDER_H
#define COLLAGE_OPS_ORDER_H

#include "tensor/tensor.h"

/* Below, equal to or above 0, as element a is less than, equal to or greater than element b. NaN
 * equals NaN and is greater than all else. */
int order_elements(const struct tensor *x, int64_t a, int64_t b);

typedef int (*order_function)(const void *context, int64_t a, int64_t b);

/* Writes 0 .. count - 1 to positions, sorted; equal ones keep their order. spare: room for as many.
 */
void order_sort(int64_t *positions, int64_t *spare, int64_t count, order_function compare,
                const void *context);

#endif
