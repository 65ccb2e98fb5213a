/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product.h: a MatMul or Gemm as products of matrices: C = alpha * A * B + beta * C for each item
 * of a batch. A Transpose before it, or behind it, becomes the way in which a matrix is walked;
 * what else follows is an epilogue.
 */
#ifndef BLAS_PRODUCT_H
#define BLAS_PRODUCT_H

#include "blas.h"

enum { PRODUCT_RANK_MAX = 8 };

/* Where a matrix lies: rows `step` floats apart or, if it is transposed, columns. Items of the
 * batch lie strides[d] apart in each of its dimensions (0: broadcast). */
struct matrix {
    struct operand from; /* not of the result */
    bool transposed;
    int64_t step;
    int64_t strides[PRODUCT_RANK_MAX];
};

struct product {
    int64_t m, n, k;
    int64_t batch; /* items */
    int32_t batch_rank;
    int64_t batch_dims[PRODUCT_RANK_MAX];
    struct matrix a, b, result;
    float alpha, beta;
    /* What the result is before, if beta is not 0: element (i, j) lies i * row_step + j *
     * column_step floats into it. */
    struct operand initial;
    int64_t row_step, column_step;
    uint32_t node;     /* the MatMul or Gemm */
    uint32_t made;     /* its result */
    uint32_t bias;     /* a constant vector that the epilogue adds; COLLAGE_NO_VALUE */
    bool has_epilogue; /* what follows is one; else nothing, or a Transpose */
};

/* Is the sub-graph such a product? `why` (may be NULL) says why not. */
bool product_read(struct product *product, struct epilogue *epilogue,
                  const collage_subgraph *subgraph, collage_message *why);

/* How many floats into its memory an item of the batch begins. */
int64_t product_offset(const struct product *product, const struct matrix *matrix, int64_t item);

#endif
