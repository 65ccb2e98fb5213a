/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h: indices that are data, and moving runs of elements: what operators that gather and
 * operators that scatter share.
 */
#ifndef COLLAGE_OPS_LOOKUP_H
#define COLLAGE_OPS_LOOKUP_H

#include "tensor/tensor.h"

/* Element i of the indices, which counts from the end if it is negative. COLLAGE_ERROR_ARGUMENT if
 * it is not in [-dim, dim). */
collage_status index_read(const struct tensor *indices, int64_t i, int64_t dim, int64_t *out,
                          struct error *error);
/* `count` indices from element `at` on, into the dimensions of x from `first` on: the row-major
 * position of the slice that they name. */
collage_status index_read_tuple(const struct tensor *indices, int64_t at, int64_t count,
                                const struct tensor *x, int32_t first, int64_t *out,
                                struct error *error);

/* to[at + k] = from[start + k] for k < count; the types are the same. */
void elements_copy(struct tensor *to, int64_t at, const struct tensor *from, int64_t start,
                   int64_t count);

#endif
