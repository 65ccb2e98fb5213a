/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convolution.h: a Conv of 1 to 3 dimensions as products of matrices. Fewer dimensions than 3 are
 * filled up with ones in front.
 */
#ifndef BLAS_CONVOLUTION_H
#define BLAS_CONVOLUTION_H

#include "blas.h"

struct convolution {
    uint32_t input, weights, bias, made; /* values; bias may be COLLAGE_NO_VALUE */
    int32_t rank;                        /* of the tensors */
    int64_t batch, groups;
    int64_t channels_in, channels_out; /* of a group */
    int64_t in[3], out[3], kernel[3], strides[3], dilations[3], pads[3];
    int64_t pixels; /* of a result */
    int64_t depth;  /* products that a result sums up: channels_in times the window */
    bool pointwise; /* 1x1, each pixel for itself: the input is a matrix as it is */
};

/* Is the first node such a Conv, and what follows an epilogue? `why` (may be NULL) says why not. */
bool convolution_read(struct convolution *convolution, struct epilogue *epilogue,
                      const collage_subgraph *subgraph, collage_message *why);

/* Windows as a matrix, for the pixels [begin, end) of a result. Unfolds the part of it that `first`
 * and `last` say. `from` is one group of one image. */
struct unfolding {
    const struct convolution *convolution;
    const float *from;
    float *to;
    int64_t begin, end;  /* pixels */
    int64_t first, last; /* rows of the matrix */
};

/* Channels first: row (channel, z, y, x of the window), a column for each pixel. */
void unfold_rows(const struct unfolding *unfolding);

/* Channels last: a row for each pixel (`first` and `last` count from `begin`), column (z, y, x of
 * the window, channel). */
void unfold_pixels(const struct unfolding *unfolding);

#endif
