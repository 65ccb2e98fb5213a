/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/walk.h"

#include <string.h>

#include "ops/call.h"

void dense_strides(const int64_t *dims, int32_t rank, int64_t *strides)
{
    int64_t stride = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= dims[d];
    }
}

void walk_begin(struct walk *walk, const int64_t *dims, int32_t rank)
{
    *walk = (struct walk){ .rank = rank, .rows = 1, .length = 1 };
    for (int32_t d = 0; d < rank; d++)
        walk->dims[d] = dims[d];
    for (int32_t d = 0; d < rank - 1; d++)
        walk->rows *= dims[d];
    if (rank > 0)
        walk->length = dims[rank - 1];
    if (walk->length == 0)
        walk->rows = 0;
}

int32_t walk_add(struct walk *walk, int64_t start, const int64_t *strides)
{
    int32_t k = walk->operands++;
    walk->at[k] = start;
    for (int32_t d = 0; d < walk->rank; d++)
        walk->strides[k][d] = strides[d];
    walk->step[k] = walk->rank > 0 ? strides[walk->rank - 1] : 0;
    return k;
}

int32_t walk_add_dense(struct walk *walk)
{
    int64_t strides[COLLAGE_MAX_RANK] = { 0 };
    dense_strides(walk->dims, walk->rank, strides);
    return walk_add(walk, 0, strides);
}

int32_t walk_add_broadcast(struct walk *walk, const struct tensor *tensor)
{
    int64_t own[COLLAGE_MAX_RANK] = { 0 }, strides[COLLAGE_MAX_RANK] = { 0 };
    dense_strides(tensor->dims, tensor->rank, own);
    int32_t lead = walk->rank - tensor->rank;
    for (int32_t d = 0; d < tensor->rank; d++)
        strides[lead + d] = tensor->dims[d] == 1 ? 0 : own[d];
    return walk_add(walk, 0, strides);
}

bool walk_row(struct walk *walk)
{
    if (walk->rows == 0)
        return false;
    walk->rows--;
    if (!walk->started) {
        walk->started = true;
        return true;
    }
    for (int32_t d = walk->rank - 2; d >= 0; d--) {
        bool carry = ++walk->index[d] == walk->dims[d];
        int64_t moved = carry ? 1 - walk->dims[d] : 1;
        for (int32_t k = 0; k < walk->operands; k++)
            walk->at[k] += moved * walk->strides[k][d];
        if (!carry)
            break;
        walk->index[d] = 0;
    }
    return true;
}

/* size is a constant at each call: the copies become single moves. */
static inline void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step,
                            int64_t count, int64_t size)
{
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_step * size, from + i * from_step * size, (size_t)size);
}

void walk_copy(struct walk *walk, struct tensor *to, int32_t t, const struct tensor *from,
               int32_t f)
{
    int64_t size = (int64_t)dtype_size(to->dtype);
    int64_t ts = walk->step[t], fs = walk->step[f];
    while (walk_row(walk)) {
        char *into = (char *)to->data + walk->at[t] * size;
        const char *out_of = (const char *)from->data + walk->at[f] * size;
        if (ts == 1 && fs == 1)
            memcpy(into, out_of, (size_t)(walk->length * size));
        else if (size == 4)
            copy_row(into, ts, out_of, fs, walk->length, 4);
        else if (size == 8)
            copy_row(into, ts, out_of, fs, walk->length, 8);
        else if (size == 2)
            copy_row(into, ts, out_of, fs, walk->length, 2);
        else
            copy_row(into, ts, out_of, fs, walk->length, 1);
    }
}

collage_status broadcast_shape(const struct tensor *const *tensors, uint32_t count,
                               struct tensor *out, struct error *error)
{
    out->rank = 0;
    for (uint32_t k = 0; k < count; k++)
        if (tensors[k] && tensors[k]->rank > out->rank)
            out->rank = tensors[k]->rank;
    for (int32_t d = 0; d < out->rank; d++)
        out->dims[d] = 1;
    for (uint32_t k = 0; k < count; k++) {
        if (!tensors[k])
            continue;
        int64_t *dims = out->dims + (out->rank - tensors[k]->rank);
        for (int32_t d = 0; d < tensors[k]->rank; d++) {
            int64_t dim = tensors[k]->dims[d];
            if (dim != 1 && dims[d] != 1 && dims[d] != dim) {
                char a[128], b[128];
                dims_print(out->dims, out->rank, a, sizeof a);
                dims_print(tensors[k]->dims, tensors[k]->rank, b, sizeof b);
                return shape_error(error, "shapes %s and %s do not broadcast", a, b);
            }
            if (dim != 1)
                dims[d] = dim;
        }
    }
    return COLLAGE_OK;
}

bool broadcasts_to(const struct tensor *from, const struct tensor *to)
{
    if (from->rank > to->rank)
        return false;
    for (int32_t d = 0; d < from->rank; d++)
        if (from->dims[d] != 1 && from->dims[d] != to->dims[to->rank - from->rank + d])
            return false;
    return true;
}
