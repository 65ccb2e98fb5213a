/* SPDX-License-Identifier: Apache-2.0 */
/* tiles_read.c: products with constant weights and convolutions, with an epilogue behind them. */
#include "tvm.h"

#include "../native/epilogue.h"

#include <string.h>

enum { DIMENSIONS = 2, ATTRIBUTE_MAX = 1024 };

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

/* Whole vectors of channels only; Python has the same rule (block_of). */
static bool is_blocked(int64_t channels)
{
    return channels > 0 && channels % 8 == 0;
}

/* The operands are there, made outside, and the weights are constant. */
static bool read_operands(const collage_subgraph *subgraph, const collage_value **x,
                          const collage_value **w, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    if (node->input_count < 2 || node->input_count > 3 || node->output_count != 1 ||
        node->inputs[0] == COLLAGE_NO_VALUE || node->inputs[1] == COLLAGE_NO_VALUE)
        return refuse(why, "operands are left out");
    *x = subgraph->values[node->inputs[0]];
    *w = subgraph->values[node->inputs[1]];
    if ((*x)->data || !value_is_outside(subgraph, node->inputs[0]) || !(*w)->data)
        return refuse(why, "the weights are not constant, or the left operand is");
    return true;
}

static bool takes_epilogue(const collage_subgraph *subgraph, int32_t axis, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    struct epilogue epilogue;
    return epilogue_takes(&epilogue, subgraph, 1, node->outputs[0], axis,
                          node->input_count > 2 ? node->inputs[2] : COLLAGE_NO_VALUE, why);
}

bool tiles_take_product(const collage_subgraph *subgraph, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    const collage_value *x, *w;
    if (!read_operands(subgraph, &x, &w, why))
        return false;
    bool gemm = strcmp(node->op_type, "Gemm") == 0;
    bool transposed = gemm && collage_node_int(node, "transB", 0) != 0;
    if (gemm && (collage_node_int(node, "transA", 0) != 0 ||
                 collage_node_float(node, "alpha", 1.0f) != 1.0f ||
                 collage_node_float(node, "beta", 1.0f) != 1.0f))
        return refuse(why, "transA, alpha and beta of Gemm are not there");
    if (x->rank < 2 || w->rank != 2 || (!gemm && node->input_count != 2))
        return refuse(why, "the operands are no matrices");
    if (x->dims[x->rank - 1] != w->dims[transposed ? 1 : 0] ||
        !is_blocked(w->dims[transposed ? 0 : 1]))
        return refuse(why, "the number of columns is no multiple of 8");
    return takes_epilogue(subgraph, subgraph->values[node->outputs[0]]->rank - 1, why);
}

/* `count` integers of at least `least`; left out: the fallback. */
static bool read_ints(const collage_node *node, const char *name, uint32_t count, int64_t least,
                      int64_t fallback, int64_t *out)
{
    const collage_attribute *a = collage_node_attribute(node, name, COLLAGE_ATTRIBUTE_INTS);
    if (a && a->count != count)
        return false;
    for (uint32_t k = 0; k < count; k++) {
        out[k] = a ? a->ints[k] : fallback;
        if (out[k] < least || out[k] > ATTRIBUTE_MAX)
            return false;
    }
    return true;
}

static bool takes_window(const collage_node *node, const collage_value *x, const collage_value *w,
                         const collage_value *y)
{
    int64_t strides[DIMENSIONS], dilations[DIMENSIONS], pads[2 * DIMENSIONS];
    const char *mode = collage_node_string(node, "auto_pad", "NOTSET");
    if (!read_ints(node, "strides", DIMENSIONS, 1, 1, strides) ||
        !read_ints(node, "dilations", DIMENSIONS, 1, 1, dilations) ||
        !read_ints(node, "pads", 2 * DIMENSIONS, 0, 0, pads) || strcmp(mode, "NOTSET") != 0)
        return false;
    for (int32_t d = 0; d < DIMENSIONS; d++) {
        int64_t reach = (w->dims[d + 2] - 1) * dilations[d] + 1;
        int64_t padded = x->dims[d + 2] + pads[d] + pads[d + DIMENSIONS];
        if (w->dims[d + 2] < 1 || w->dims[d + 2] > ATTRIBUTE_MAX || padded < reach ||
            y->dims[d + 2] != (padded - reach) / strides[d] + 1)
            return false;
    }
    return true;
}

bool tiles_take_convolution(const collage_subgraph *subgraph, bool *depthwise, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    const collage_value *x, *w;
    if (!read_operands(subgraph, &x, &w, why))
        return false;
    const collage_value *y = subgraph->values[node->outputs[0]];
    int64_t groups = collage_node_int(node, "group", 1);
    if (x->rank != DIMENSIONS + 2 || w->rank != x->rank || y->rank != x->rank)
        return refuse(why, "only convolutions with 2 dimensions");
    *depthwise = groups > 1;
    if (*depthwise ? groups != x->dims[1] || groups != w->dims[0] || w->dims[1] != 1
                   : groups != 1 || w->dims[1] != x->dims[1])
        return refuse(why, "groups are one, or as many as channels");
    if (!is_blocked(w->dims[0]) || y->dims[1] != w->dims[0] || y->dims[0] != x->dims[0])
        return refuse(why, "the number of channels is no multiple of 8");
    if (!takes_window(node, x, w, y))
        return refuse(why, "these shapes, strides or pads are not known");
    return takes_epilogue(subgraph, 1, why);
}
