/* SPDX-License-Identifier: Apache-2.0 */
#include "fusions.h"

/* Of two operands. */
static bool is_binary(const struct operation *operation)
{
    switch (operation->kind) {
    case dnnl_graph_op_add:
    case dnnl_graph_op_subtract:
    case dnnl_graph_op_multiply:
    case dnnl_graph_op_divide:
    case dnnl_graph_op_maximum:
    case dnnl_graph_op_minimum:
        return operation->count == 2;
    default:
        return false;
    }
}

static const struct operation *maker_of(const struct recipe *recipe, size_t tensor)
{
    for (size_t k = 0; k < recipe->operation_count; k++)
        if (recipe->operations[k].result == tensor)
            return &recipe->operations[k];
    return NULL;
}

/* Is the tensor's chain of element-wise operations headed by a product or convolution? Their
 * kernels have any operand behind them. */
static bool has_heavy_head(const struct recipe *recipe, const struct operation *maker)
{
    for (size_t steps = 0; maker && steps < recipe->operation_count; steps++) {
        if (maker->kind == dnnl_graph_op_matmul || maker->kind == dnnl_graph_op_convolution ||
            maker->kind == dnnl_graph_op_conv_transpose)
            return true;
        const struct operation *before = NULL;
        for (size_t k = 0; k < maker->count && !before; k++)
            before = maker_of(recipe, recipe->operands[maker->first + k]);
        maker = before;
    }
    return false;
}

/* Neither one number, nor one for each channel, nor of the result's shape. */
static bool is_awkward(const struct tensor *operand, const struct tensor *result)
{
    int lead = result->rank - operand->rank;
    bool whole = true, single = true, channels = true;
    for (int d = 0; d < result->rank; d++) {
        int64_t dim = d < lead ? 1 : operand->dims[d - lead];
        whole = whole && dim == result->dims[d];
        single = single && dim == 1;
        channels = channels && (d == 1 || dim == 1);
    }
    return !whole && !single && !channels;
}

bool fusions_end_at(const struct recipe *recipe, size_t tensor)
{
    const struct operation *maker = maker_of(recipe, tensor);
    if (!maker || has_heavy_head(recipe, maker))
        return false;
    for (size_t k = 0; k < recipe->operation_count; k++) {
        const struct operation *reader = &recipe->operations[k];
        if (!is_binary(reader))
            continue;
        const size_t *operands = recipe->operands + reader->first;
        for (size_t side = 0; side < 2; side++)
            if (operands[side] == tensor &&
                is_awkward(&recipe->tensors[operands[1 - side]], &recipe->tensors[reader->result]))
                return true;
    }
    return false;
}
