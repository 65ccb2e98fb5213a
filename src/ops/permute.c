/* SPDX-License-Identifier: Apache-2.0 */
/* permute.c: operators that reorder the elements: Transpose, DepthToSpace, SpaceToDepth. */
#include <inttypes.h>
#include <string.h>

#include "ops/call.h"
#include "ops/walk.h"

/* y, seen as `dims` permuted by `order`, becomes x, seen as `dims`. */
static void permute(struct tensor *y, const struct tensor *x, const int64_t *dims, int32_t rank,
                    const int32_t *order)
{
    int64_t strides[COLLAGE_MAX_RANK], permuted_dims[COLLAGE_MAX_RANK] = { 0 },
                                       permuted_strides[COLLAGE_MAX_RANK] = { 0 };
    dense_strides(dims, rank, strides);
    for (int32_t d = 0; d < rank; d++) {
        permuted_dims[d] = dims[order[d]];
        permuted_strides[d] = strides[order[d]];
    }
    struct walk walk;
    walk_begin(&walk, permuted_dims, rank);
    int32_t to = walk_add_dense(&walk);
    int32_t from = walk_add(&walk, 0, permuted_strides);
    walk_copy(&walk, y, to, x, from);
}

/* ---- Transpose ---- */

/* Reversed by default. */
static collage_status read_order(const struct op_call *call, struct ints *order,
                                 struct error *error)
{
    int32_t rank = call->inputs[0]->rank;
    collage_status status = call_ints_attribute(call, "perm", order, error);
    if (status != COLLAGE_OK)
        return status;
    if (order->count < 0) {
        order->count = rank;
        for (int32_t d = 0; d < rank; d++)
            order->values[d] = rank - 1 - d;
    }
    uint32_t set;
    if (order->count != rank)
        return shape_error(error, "perm has %d elements for rank %d", (int)order->count, (int)rank);
    return axes_resolve(order, rank, &set, error);
}

collage_status infer_transpose(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct ints order;
    collage_status status = read_order(call, &order, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = { .rank = x->rank };
    for (int32_t d = 0; d < x->rank; d++)
        y.dims[d] = x->dims[order.values[d]];
    call_set_output(call, 0, x->dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_transpose(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct ints read;
    int32_t order[COLLAGE_MAX_RANK];
    collage_status status = read_order(call, &read, error);
    if (status != COLLAGE_OK)
        return status;
    for (int32_t d = 0; d < x->rank; d++)
        order[d] = (int32_t)read.values[d];
    permute(&call->outputs[0], x, x->dims, x->rank, order);
    return COLLAGE_OK;
}

/* ---- DepthToSpace, SpaceToDepth ---- */

/* 0 if it is wrong, or the input's rank is. */
static int64_t read_block(const struct op_call *call, struct error *error)
{
    int64_t block = collage_node_int(call->node, "blocksize", 0);
    if (call->inputs[0]->rank != 4) {
        shape_error(error, "rank %d is not 4", (int)call->inputs[0]->rank);
        return 0;
    }
    if (block < 1 || block > 65536) {
        shape_error(error, "blocksize %" PRId64 " is not between 1 and 65536", block);
        return 0;
    }
    return block;
}

collage_status infer_depth_to_space(const struct op_call *call, struct error *error)
{
    int64_t block = read_block(call, error);
    if (block == 0)
        return COLLAGE_ERROR_SHAPE;
    const char *mode = collage_node_string(call->node, "mode", "DCR");
    if (strcmp(mode, "DCR") != 0 && strcmp(mode, "CRD") != 0)
        return shape_error(error, "mode '%.20s' is neither 'DCR' nor 'CRD'", mode);
    struct tensor y = *call->inputs[0];
    if (y.dims[1] % (block * block) != 0)
        return shape_error(error, "%" PRId64 " channels are no multiple of blocksize squared",
                           y.dims[1]);
    y.dims[1] /= block * block;
    y.dims[2] *= block;
    y.dims[3] *= block;
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_depth_to_space(const struct op_call *call, struct error *error)
{
    int64_t b = read_block(call, error);
    if (b == 0)
        return COLLAGE_ERROR_SHAPE;
    static const int32_t depth_first[] = { 0, 3, 4, 1, 5, 2 },
                         column_first[] = { 0, 1, 4, 2, 5, 3 };
    const struct tensor *x = call->inputs[0];
    int64_t c = x->dims[1] / (b * b);
    bool dcr = strcmp(collage_node_string(call->node, "mode", "DCR"), "DCR") == 0;
    const int64_t dcr_dims[] = { x->dims[0], b, b, c, x->dims[2], x->dims[3] };
    const int64_t crd_dims[] = { x->dims[0], c, b, b, x->dims[2], x->dims[3] };
    permute(&call->outputs[0], x, dcr ? dcr_dims : crd_dims, 6, dcr ? depth_first : column_first);
    return COLLAGE_OK;
}

collage_status infer_space_to_depth(const struct op_call *call, struct error *error)
{
    int64_t block = read_block(call, error);
    if (block == 0)
        return COLLAGE_ERROR_SHAPE;
    const char *mode = collage_node_string(call->node, "mode", "DCR");
    if (strcmp(mode, "DCR") != 0 && strcmp(mode, "CRD") != 0)
        return shape_error(error, "mode '%.20s' is neither 'DCR' nor 'CRD'", mode);
    struct tensor y = *call->inputs[0];
    if (y.dims[2] % block != 0 || y.dims[3] % block != 0)
        return shape_error(error, "height and width must be multiples of blocksize %" PRId64,
                           block);
    y.dims[1] *= block * block;
    y.dims[2] /= block;
    y.dims[3] /= block;
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

collage_status compute_space_to_depth(const struct op_call *call, struct error *error)
{
    int64_t b = read_block(call, error);
    if (b == 0)
        return COLLAGE_ERROR_SHAPE;
    static const int32_t depth_first[] = { 0, 3, 5, 1, 2, 4 },
                         column_first[] = { 0, 1, 3, 5, 2, 4 };
    bool dcr = strcmp(collage_node_string(call->node, "mode", "DCR"), "DCR") == 0;
    const struct tensor *x = call->inputs[0];
    const int64_t dims[] = { x->dims[0], x->dims[1], x->dims[2] / b, b, x->dims[3] / b, b };
    permute(&call->outputs[0], x, dims, 6, dcr ? depth_first : column_first);
    return COLLAGE_OK;
}
