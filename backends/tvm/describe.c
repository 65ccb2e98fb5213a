/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c: which sub-graphs there are kernels for. Sees hostile ones: any convex one. */
#include "tvm.h"

#include <string.h>

enum { NODES = 16, VALUES = 64, RANK = 6 };

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

static bool is(const collage_node *node, const char *op)
{
    return strcmp(node->op_type, op) == 0;
}

/* Element-wise operators with their operands; those from `scalars` on must be constant numbers. */
static const struct operation {
    const char *op_type;
    uint32_t least, most, scalars;
} operations[] = {
    { "Abs", 1, 1, 1 },  { "Add", 2, 2, 2 },         { "Clip", 1, 3, 1 },
    { "Div", 2, 2, 2 },  { "Erf", 1, 1, 1 },         { "Exp", 1, 1, 1 },
    { "Gelu", 1, 1, 1 }, { "HardSigmoid", 1, 1, 1 }, { "HardSwish", 1, 1, 1 },
    { "Max", 2, 2, 2 },  { "LeakyRelu", 1, 1, 1 },   { "Min", 2, 2, 2 },
    { "Mul", 2, 2, 2 },  { "Neg", 1, 1, 1 },         { "Pow", 2, 2, 1 },
    { "Relu", 1, 1, 1 }, { "Reciprocal", 1, 1, 1 },  { "Sigmoid", 1, 1, 1 },
    { "Sqrt", 1, 1, 1 }, { "Sub", 2, 2, 2 },         { "Swish", 1, 1, 1 },
    { "Tanh", 1, 1, 1 },
};

static const struct operation *find_operation(const collage_node *node)
{
    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++) {
        if (is(node, operations[k].op_type))
            return &operations[k];
    }
    return NULL;
}

static bool is_number(const collage_value *value)
{
    return value->data && value->bytes == sizeof(float);
}

static bool is_power(const collage_value *exponent)
{
    float x;
    memcpy(&x, exponent->data, sizeof x);
    return x == 2 || x == 3 || x == 1 || x == 0.5f || x == -1;
}

static bool takes_operands(const collage_subgraph *subgraph, const collage_node *node,
                           const struct operation *operation)
{
    for (uint32_t k = 0; k < node->input_count; k++) {
        if (node->inputs[k] == COLLAGE_NO_VALUE) {
            if (k < operation->scalars)
                return false;
        } else if (k >= operation->scalars && !is_number(subgraph->values[node->inputs[k]])) {
            return false;
        }
    }
    return !is(node, "Pow") || is_power(subgraph->values[node->inputs[1]]);
}

static bool takes_elementwise_node(const collage_subgraph *subgraph, const collage_node *node,
                                   collage_message *why)
{
    const struct operation *operation = find_operation(node);
    if (!operation || node->output_count != 1 || node->outputs[0] == COLLAGE_NO_VALUE ||
        node->input_count < operation->least || node->input_count > operation->most ||
        !takes_operands(subgraph, node, operation)) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED,
             operation ? "%s with these operands is not given to TVM" : "%s is not given to TVM",
             node->op_type);
        return false;
    }
    return true;
}

/* The dimensions of `value`, counted from the last one, are those of `shape` or 1. */
static bool is_broadcast(const collage_value *value, const collage_value *shape)
{
    if (value->rank > shape->rank)
        return false;
    for (int32_t d = 0; d < value->rank; d++) {
        int64_t own = value->dims[d];
        if (own != 1 && own != shape->dims[d + shape->rank - value->rank])
            return false;
    }
    return true;
}

/* Values of known sizes, one result, which the last node makes. */
static bool takes_frame(const collage_subgraph *subgraph, const collage_target *target,
                        collage_message *why)
{
    if (!target->avx2)
        return refuse(why, "TVM's kernels need AVX2");
    if (subgraph->node_count == 0 || subgraph->node_count > NODES || subgraph->value_count > VALUES)
        return refuse(why, "too many operators for a kernel of TVM's");
    if (!all_float32(subgraph, NULL, why))
        return false;
    const collage_node *last = subgraph->nodes[subgraph->node_count - 1];
    if (subgraph->output_count != 1 || last->output_count < 1 ||
        subgraph->outputs[0] != last->outputs[0])
        return refuse(why, "only what the last operator makes may leave a kernel of TVM's");
    for (uint32_t v = 0; v < subgraph->value_count; v++) {
        const collage_value *value = subgraph->values[v];
        if (value->rank > RANK || value->bytes / sizeof(float) > INT32_MAX)
            return refuse(why, "a tensor is too large, or has too many dimensions");
    }
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        for (uint32_t k = 0; k < subgraph->nodes[n]->attribute_count; k++) {
            if (subgraph->nodes[n]->attributes[k].kind == COLLAGE_ATTRIBUTE_GRAPH)
                return refuse(why, "operators with bodies are not given to TVM");
        }
    }
    return true;
}

static bool takes_elementwise(const collage_subgraph *subgraph, collage_message *why)
{
    const collage_value *out = subgraph->values[subgraph->outputs[0]];
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        if (!takes_elementwise_node(subgraph, subgraph->nodes[n], why))
            return false;
    }
    for (uint32_t v = 0; v < subgraph->value_count; v++) {
        if (!is_broadcast(subgraph->values[v], out))
            return refuse(why, "these shapes are not broadcast to the result");
    }
    return true;
}

/* ---- rows ---- */

struct rows {
    uint32_t middle; /* which node */
    int32_t axis;
    const collage_value *x;
};

static bool is_middle(const collage_node *node)
{
    return is(node, "Softmax") || is(node, "LayerNormalization") || is(node, "RMSNormalization");
}

/* A vector as long as a row. */
static bool is_of_row(const collage_value *value, const struct rows *rows)
{
    int32_t inner = rows->x->rank - rows->axis;
    int64_t count = 1, row = 1;
    for (int32_t d = 0; d < value->rank; d++)
        count *= value->dims[d];
    for (int32_t d = rows->axis; d < rows->x->rank; d++)
        row *= rows->x->dims[d];
    for (int32_t d = 0; d < value->rank && d < inner; d++) {
        if (value->dims[value->rank - 1 - d] != rows->x->dims[rows->x->rank - 1 - d])
            return false;
    }
    return count == row && is_broadcast(value, rows->x);
}

static bool is_of_all(const collage_value *value, const struct rows *rows)
{
    return value->bytes == rows->x->bytes && is_broadcast(value, rows->x);
}

static bool takes_middle(const collage_subgraph *subgraph, struct rows *rows, collage_message *why)
{
    const collage_node *node = subgraph->nodes[rows->middle];
    bool softmax = is(node, "Softmax");
    for (uint32_t k = 0; k < node->input_count; k++) {
        if (node->inputs[k] == COLLAGE_NO_VALUE)
            return refuse(why, "a normalisation without all operands is not given to TVM");
    }
    if (node->output_count != 1 || node->input_count < (softmax ? 1u : 2u) || node->input_count > 3)
        return refuse(why, "a normalisation with further results is not given to TVM");
    rows->x = subgraph->values[node->inputs[0]];
    int64_t axis = collage_node_int(node, "axis", -1);
    axis += axis < 0 ? rows->x->rank : 0;
    if (axis < 0 || axis >= rows->x->rank || (softmax && axis != rows->x->rank - 1))
        return refuse(why, "the softmax is not over the last axis");
    rows->axis = (int32_t)axis;
    for (uint32_t k = 1; k < node->input_count; k++) {
        if (!value_is_outside(subgraph, node->inputs[k]) ||
            !is_of_row(subgraph->values[node->inputs[k]], rows))
            return refuse(why, "scale or bias is no vector as long as a row");
    }
    return true;
}

/* Is the value made by nodes [first, end)? */
static bool is_made_by(const collage_subgraph *subgraph, uint32_t value, uint32_t first,
                       uint32_t end)
{
    for (uint32_t n = first; n < end; n++) {
        for (uint32_t k = 0; k < subgraph->nodes[n]->output_count; k++) {
            if (subgraph->nodes[n]->outputs[k] == value)
                return true;
        }
    }
    return false;
}

/* Operands are numbers, rows, or whole; what lies before the middle is used by it alone. */
static bool takes_around(const collage_subgraph *subgraph, const struct rows *rows, uint32_t n,
                         collage_message *why)
{
    const collage_node *node = subgraph->nodes[n];
    bool before = n < rows->middle;
    if (!takes_elementwise_node(subgraph, node, why))
        return false;
    for (uint32_t k = 0; k < node->input_count; k++) {
        uint32_t v = node->inputs[k];
        if (v == COLLAGE_NO_VALUE || is_number(subgraph->values[v]))
            continue;
        const collage_value *value = subgraph->values[v];
        bool made = is_made_by(subgraph, v, before ? 0 : rows->middle, n);
        if ((!made && !value_is_outside(subgraph, v)) ||
            !(is_of_all(value, rows) || (!made && is_of_row(value, rows))))
            return refuse(why, "an operand is neither of a row nor of all rows");
    }
    return is_of_all(subgraph->values[node->outputs[0]], rows) ||
           refuse(why, "an operand is neither of a row nor of all rows");
}

static bool takes_rows(const collage_subgraph *subgraph, collage_message *why)
{
    struct rows rows = { 0 };
    uint32_t found = 0;
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        if (is_middle(subgraph->nodes[n])) {
            rows.middle = n;
            found++;
        }
    }
    if (found != 1)
        return refuse(why, "more than one normalisation");
    if (!takes_middle(subgraph, &rows, why))
        return false;
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        if (n != rows.middle && !takes_around(subgraph, &rows, n, why))
            return false;
    }
    uint32_t x = subgraph->nodes[rows.middle]->inputs[0];
    return rows.middle == 0 ? value_is_outside(subgraph, x)
           : is_made_by(subgraph, x, rows.middle - 1, rows.middle)
               ? true
               : refuse(why, "what is before the normalisation is not its operand");
}

enum kind kind_of(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    bool rows = false, depthwise = false;
    if (!takes_frame(subgraph, target, why))
        return KIND_NONE;
    if (is(subgraph->nodes[0], "Conv"))
        return !tiles_take_convolution(subgraph, &depthwise, why) ? KIND_NONE
               : depthwise                                        ? KIND_DEPTHWISE
                                                                  : KIND_CONVOLUTION;
    if (is(subgraph->nodes[0], "MatMul") || is(subgraph->nodes[0], "Gemm"))
        return tiles_take_product(subgraph, why) ? KIND_PRODUCT : KIND_NONE;
    for (uint32_t n = 0; n < subgraph->node_count; n++)
        rows = rows || is_middle(subgraph->nodes[n]);
    if (rows)
        return takes_rows(subgraph, why) ? KIND_ROWS : KIND_NONE;
    return takes_elementwise(subgraph, why) ? KIND_ELEMENTWISE : KIND_NONE;
}
