/* SPDX-License-Identifier: Apache-2.0 */
/* resize.h: what Resize is asked for, and the weights that follow from it: every axis is treated
 * alike, an output coordinate reads a few input coordinates with weights. */
#ifndef COLLAGE_OPS_RESIZE_H
#define COLLAGE_OPS_RESIZE_H

#include "ops/ops.h"

struct resize {
    const char *mode, *transformation, *rounding;
    double cubic_a;
    bool exclude_outside, antialias;
    int64_t in[COLLAGE_MAX_RANK], out[COLLAGE_MAX_RANK];
    double scale[COLLAGE_MAX_RANK];
    /* The part of the input that is taken, 0 to 1 for all of it; only tf_crop_and_resize has
     * other parts. */
    double begin[COLLAGE_MAX_RANK], end[COLLAGE_MAX_RANK];
};

/* Output coordinate i reads index[i * count + k] with weight[i * count + k], k < count. A first
 * index of -1: it lies outside the input and is to be extrapolated. */
struct resize_axis {
    int64_t count;
    int64_t *index;
    double *weight;
};

/* How many input coordinates an output coordinate of axis d reads. */
int64_t resize_tap_count(const struct resize *r, int32_t d);
/* Fills the arrays, which have room for count elements a coordinate. */
void resize_fill_axis(const struct resize *r, int32_t d, struct resize_axis *axis);

#endif
