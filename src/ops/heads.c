/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/heads.h"

#include <inttypes.h>

#include "ops/call.h"

struct heads heads_split(const struct tensor *tensor, int64_t heads)
{
    const int64_t *dims = tensor->dims;
    if (tensor->rank == 4)
        return (struct heads){ .batch = dims[0],
                               .heads = dims[1],
                               .rows = dims[2],
                               .size = dims[3],
                               .batch_step = dims[1] * dims[2] * dims[3],
                               .head_step = dims[2] * dims[3],
                               .row_step = dims[3] };
    return (struct heads){ .batch = dims[0],
                           .heads = heads,
                           .rows = dims[1],
                           .size = dims[2] / heads,
                           .batch_step = dims[1] * dims[2],
                           .head_step = dims[2] / heads,
                           .row_step = dims[2] };
}

collage_status heads_read(const struct op_call *call, uint32_t k, const char *attribute,
                          struct heads *out, struct error *error)
{
    const struct tensor *tensor = call->inputs[k];
    *out = (struct heads){ 0 };
    if (tensor->rank != 3 && tensor->rank != 4)
        return shape_error(error, "input %" PRIu32 " has rank %d, not 3 or 4", k,
                           (int)tensor->rank);
    int64_t heads = collage_node_int(call->node, attribute, 0);
    if (tensor->rank == 3 && (heads < 1 || tensor->dims[2] % heads != 0))
        return shape_error(error,
                           "input %" PRIu32 ", of rank 3, needs a %s that divides %" PRId64
                           ", not %" PRId64,
                           k, attribute, tensor->dims[2], heads);
    *out = heads_split(tensor, heads);
    return COLLAGE_OK;
}
