/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>

int64_t tensor_elements(const struct tensor *tensor)
{
    int64_t count = 1;
    for (int32_t d = 0; d < tensor->rank; d++)
        count *= tensor->dims[d];
    return count;
}

uint64_t tensor_bytes(const struct tensor *tensor)
{
    return (uint64_t)tensor_elements(tensor) * dtype_size(tensor->dtype);
}

bool tensor_same_shape(const struct tensor *a, const struct tensor *b)
{
    if (a->rank != b->rank)
        return false;
    for (int32_t d = 0; d < a->rank; d++)
        if (a->dims[d] != b->dims[d])
            return false;
    return true;
}

bool tensor_check_size(const struct tensor *tensor, uint64_t *bytes)
{
    const uint64_t limit = (uint64_t)1 << 40;
    uint64_t size = dtype_size(tensor->dtype);
    *bytes = 0;
    if (size == 0 || tensor->rank < 0 || tensor->rank > COLLAGE_MAX_RANK)
        return false;
    bool empty = false;
    for (int32_t d = 0; d < tensor->rank; d++) {
        if (tensor->dims[d] < 0)
            return false;
        if (tensor->dims[d] ==
            0) { /* the others count as well: no product of a part may overflow */
            empty = true;
            continue;
        }
        if ((uint64_t)tensor->dims[d] > limit / size)
            return false;
        size *= (uint64_t)tensor->dims[d];
    }
    *bytes = empty ? 0 : size;
    return true;
}

void dims_print(const int64_t *dims, int32_t rank, char *text, size_t size)
{
    if (size == 0)
        return;
    if (rank == 0)
        snprintf(text, size, "scalar");
    else
        text[0] = '\0';
    size_t used = 0;
    for (int32_t d = 0; d < rank && used < size; d++) {
        int n = snprintf(text + used, size - used, d ? "x%" PRId64 : "%" PRId64, dims[d]);
        if (n < 0)
            return;
        used += (size_t)n;
    }
}
