/* SPDX-License-Identifier: Apache-2.0 */
/*
 * move.h: boxes of floats that are copied from one place to another, each dimension with a stride
 * on either side. Joining, cutting, padding, turning and repeating tensors are lists of boxes, in
 * any layout.
 */
#ifndef NATIVE_SIMD_MOVE_H
#define NATIVE_SIMD_MOVE_H

#include "../isa.h"

#include <stdbool.h>

enum { MOVE_RANK = 16 };

/* What the last two dimensions, rows and columns, look like. Columns have the least stride of the
 * target. */
enum move_form {
    MOVE_RUN,    /* a row is a run on both sides */
    MOVE_TURN,   /* a row is a run in the target, a column is one in the source */
    MOVE_REPEAT, /* a row is one element, repeated; the rows are a run in the source */
    MOVE_ANY,
    MOVE_FILL /* no source: all elements are `value` */
};

struct move_box {
    enum move_form form;
    int32_t rank;                                             /* at least 2 */
    int64_t count[MOVE_RANK], from[MOVE_RANK], to[MOVE_RANK]; /* outermost first; strides */
    int64_t from_at, to_at; /* where the first element lies, in floats */
    float value;
    /* Units of work are numbered: parts of the rows of one place of the outer dimensions, or all
     * rows of `places` of them. */
    int64_t outer, places, chunk_rows, chunk_columns, row_chunks, column_chunks, units;
};

struct move_kernels {
    /* Moves the units from begin up to end. `from` and `to`: what from_at and to_at count from. */
    void (*units)(const struct move_box *box, const float *from, float *to, int64_t begin,
                  int64_t end);
};

ISA_DECLARE(move_kernels, move_kernels);

#endif
