/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h: going through several tensors at once, element by element, in the row-major order of one
 * shape. Each operand has a stride for each dimension (0 where it is broadcast, negative where it
 * is read backwards), so that broadcasting, transposing, slicing and joining are all walks.
 *
 *     struct walk walk;
 *     walk_begin(&walk, dims, rank);
 *     int32_t x = walk_add_broadcast(&walk, tensor);
 *     while (walk_row(&walk))
 *         for (int64_t i = 0; i < walk.length; i++)
 *             ... element walk.at[x] + i * walk.step[x] ...
 */
#ifndef COLLAGE_OPS_WALK_H
#define COLLAGE_OPS_WALK_H

#include "tensor/tensor.h"

enum { WALK_OPERANDS = 5 };

struct walk {
    int32_t rank, operands;
    int64_t dims[COLLAGE_MAX_RANK], index[COLLAGE_MAX_RANK];
    int64_t strides[WALK_OPERANDS][COLLAGE_MAX_RANK];
    int64_t length;              /* elements of a row: the last dimension */
    int64_t rows;                /* that are left */
    int64_t at[WALK_OPERANDS];   /* element index of each operand at the start of the row */
    int64_t step[WALK_OPERANDS]; /* within the row */
    bool started;
};

void walk_begin(struct walk *walk, const int64_t *dims, int32_t rank);
/* Each returns the operand's number. */
int32_t walk_add_dense(struct walk *walk); /* row-major, of the walk's own shape */
int32_t walk_add_broadcast(struct walk *walk, const struct tensor *tensor);
int32_t walk_add(struct walk *walk, int64_t start, const int64_t *strides);
bool walk_row(struct walk *walk);

/* Row-major strides of a tensor, in elements. */
void dense_strides(const int64_t *dims, int32_t rank, int64_t *strides);

/* to[operand t] = from[operand f] all along the walk, for elements of any type. */
void walk_copy(struct walk *walk, struct tensor *to, int32_t t, const struct tensor *from,
               int32_t f);

/* The shape that all (not NULL) tensors broadcast to, as NumPy does. */
collage_status broadcast_shape(const struct tensor *const *tensors, uint32_t count,
                               struct tensor *out, struct error *error);
/* Broadcasting to `to` leaves it as it is. */
bool broadcasts_to(const struct tensor *from, const struct tensor *to);

#endif
