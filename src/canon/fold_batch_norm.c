/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BatchNormalization with constant statistics is y = scale * x + shift per channel. After a
 * convolution that nothing else reads, it goes into the convolution's weights and bias; elsewhere
 * it becomes Mul and Add. Numbers are combined in double.
 */
#include <math.h>
#include <string.h>

#include "canon/canon.h"

/* y = scale * x + shift, one element a channel. */
struct affine {
    double *scale, *shift; /* one block, memory_free'd through scale */
    int64_t channels;
};

static bool is_constant_floats(const struct graph *graph, value_id id, int64_t count)
{
    return graph_is_constant(graph, id) && graph->values[id].tensor.dtype == COLLAGE_FLOAT32 &&
           tensor_elements(&graph->values[id].tensor) == count;
}

static bool is_foldable(const struct graph *graph, const struct node *node)
{
    const collage_node *base = &node->base;
    if (strcmp(base->op_type, "BatchNormalization") != 0 || base->input_count != 5 ||
        collage_node_int(base, "training_mode", 0) != 0 || base->outputs[0] == GRAPH_NONE)
        return false;
    const struct tensor *x = &graph->values[base->inputs[0]].tensor;
    if (x->dtype != COLLAGE_FLOAT32 || x->rank < 2)
        return false;
    for (uint32_t k = 1; k < 5; k++)
        if (!is_constant_floats(graph, base->inputs[k], x->dims[1]))
            return false;
    return true;
}

static collage_status read_affine(const struct graph *graph, const collage_node *node,
                                  struct affine *affine, struct error *error)
{
    const float *parts[4];
    for (uint32_t k = 0; k < 4; k++)
        parts[k] = graph->values[node->inputs[k + 1]].tensor.data;
    double epsilon = (double)collage_node_float(node, "epsilon", 1e-5f);
    affine->channels = graph->values[node->inputs[0]].tensor.dims[1];
    affine->scale = memory_alloc(2 * (size_t)affine->channels * sizeof *affine->scale);
    if (!affine->scale)
        return error_memory(error);
    affine->shift = affine->scale + affine->channels;
    for (int64_t c = 0; c < affine->channels; c++) {
        affine->scale[c] = (double)parts[0][c] / sqrt((double)parts[3][c] + epsilon);
        affine->shift[c] = (double)parts[1][c] - (double)parts[2][c] * affine->scale[c];
    }
    return COLLAGE_OK;
}

/* A constant of float32; *data is to be filled. */
static value_id new_constant(struct graph *graph, const char *base, const char *suffix,
                             const struct tensor *shape, float **data)
{
    struct tensor tensor = *shape;
    const char *wanted = arena_format(graph->arena, "%s%s", base, suffix);
    const char *name = wanted ? graph_fresh_name(graph, wanted) : NULL;
    tensor.data = arena_alloc(graph->arena, (size_t)tensor_bytes(&tensor));
    *data = tensor.data;
    return name && tensor.data ? graph_add_value(graph, name, VALUE_CONSTANT, &tensor) : GRAPH_NONE;
}

/* ---- into the convolution before ---- */

static bool is_conv(const struct graph *graph, node_id id, const struct graph_uses *uses,
                    value_id output)
{
    if (id == GRAPH_NONE || !graph->nodes[id].op)
        return false;
    const collage_node *conv = &graph->nodes[id].base;
    bool transposed = strcmp(conv->op_type, "ConvTranspose") == 0;
    if ((!transposed && strcmp(conv->op_type, "Conv") != 0) ||
        uses->first[output + 1] - uses->first[output] != 1 || graph_is_output(graph, output))
        return false;
    int64_t channels = graph->values[output].tensor.dims[1];
    const struct tensor *weight = &graph->values[conv->inputs[1]].tensor;
    if (!is_constant_floats(graph, conv->inputs[1], tensor_elements(weight)))
        return false;
    return conv->input_count < 3 || conv->inputs[2] == GRAPH_NONE ||
           is_constant_floats(graph, conv->inputs[2], channels);
}

/* Conv's weight is [out, in / groups, ...]; ConvTranspose's is [in, out / groups, ...]. */
static void scale_weight(const collage_node *conv, const struct tensor *weight,
                         const struct affine *affine, float *out)
{
    const float *in = weight->data;
    int64_t rows = weight->dims[0], columns = weight->dims[1], inner = 1;
    int64_t groups = collage_node_int(conv, "group", 1);
    bool transposed = strcmp(conv->op_type, "ConvTranspose") == 0;
    for (int32_t k = 2; k < weight->rank; k++)
        inner *= weight->dims[k];
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column++) {
            int64_t channel = transposed ? row / (rows / groups) * columns + column : row;
            for (int64_t i = 0; i < inner; i++) {
                int64_t at = (row * columns + column) * inner + i;
                out[at] = (float)((double)in[at] * affine->scale[channel]);
            }
        }
}

static collage_status fold_into_conv(struct graph *graph, node_id conv_id, node_id norm_id,
                                     const struct affine *affine, struct error *error)
{
    collage_node *conv = &graph->nodes[conv_id].base;
    value_id old = conv->inputs[1];
    value_id old_bias = conv->input_count > 2 ? conv->inputs[2] : GRAPH_NONE;
    struct tensor bias_shape = { COLLAGE_FLOAT32, 1, { affine->channels }, NULL };
    const char *name = graph->values[old].name;
    float *weight_data, *bias_data;
    value_id weight =
        new_constant(graph, name, "/folded", &graph->values[old].tensor, &weight_data);
    value_id bias = new_constant(graph, name, "/folded_bias", &bias_shape, &bias_data);
    value_id *inputs = arena_array(graph->arena, 3, sizeof *inputs);
    value_id *outputs = arena_array(graph->arena, 1, sizeof *outputs);
    if (weight == GRAPH_NONE || bias == GRAPH_NONE || !inputs || !outputs)
        return error_memory(error);
    scale_weight(conv, &graph->values[old].tensor, affine, weight_data);
    const float *b = old_bias == GRAPH_NONE ? NULL : graph->values[old_bias].tensor.data;
    for (int64_t c = 0; c < affine->channels; c++)
        bias_data[c] = (float)((b ? (double)b[c] : 0) * affine->scale[c] + affine->shift[c]);
    inputs[0] = conv->inputs[0];
    inputs[1] = weight;
    inputs[2] = bias;
    outputs[0] = graph->nodes[norm_id].base.outputs[0];
    conv->inputs = inputs;
    conv->input_count = 3;
    conv->outputs = outputs;
    graph->values[outputs[0]].producer = conv_id;
    graph_remove_node(graph, norm_id);
    return COLLAGE_OK;
}

/* ---- elsewhere ---- */

static collage_status make_mul_add(struct graph *graph, node_id norm_id,
                                   const struct affine *affine, struct error *error)
{
    const collage_node *norm = &graph->nodes[norm_id].base;
    value_id x = norm->inputs[0], y = norm->outputs[0];
    struct tensor product_shape = graph->values[x].tensor;
    struct tensor shape = { COLLAGE_FLOAT32, product_shape.rank - 1, { affine->channels }, NULL };
    for (int32_t k = 1; k < shape.rank; k++)
        shape.dims[k] = 1;
    product_shape.data = NULL;
    const char *output = graph->values[y].name;
    float *scale_data, *shift_data;
    value_id scale = new_constant(graph, output, "/scale", &shape, &scale_data);
    value_id shift = new_constant(graph, output, "/shift", &shape, &shift_data);
    const char *wanted = arena_format(graph->arena, "%s/scaled", graph->values[y].name);
    const char *name = wanted ? graph_fresh_name(graph, wanted) : NULL;
    value_id product =
        name ? graph_add_value(graph, name, VALUE_COMPUTED, &product_shape) : GRAPH_NONE;
    if (scale == GRAPH_NONE || shift == GRAPH_NONE || product == GRAPH_NONE)
        return error_memory(error);
    for (int64_t c = 0; c < affine->channels; c++) {
        scale_data[c] = (float)affine->scale[c];
        shift_data[c] = (float)affine->shift[c];
    }
    const value_id factors[2] = { x, scale };
    const value_id terms[2] = { product, shift };
    const char *mul = arena_format(graph->arena, "%s/Mul", norm->name);
    const char *add = arena_format(graph->arena, "%s/Add", norm->name);
    if (!mul || !add ||
        graph_add_node(graph, op_find("Mul"), mul, factors, 2, &product, 1, NULL, 0) ==
            GRAPH_NONE ||
        graph_add_node(graph, op_find("Add"), add, terms, 2, &y, 1, NULL, 0) == GRAPH_NONE)
        return error_memory(error);
    graph_remove_node(graph, norm_id);
    return COLLAGE_OK;
}

static collage_status fold(struct graph *graph, const struct graph_uses *uses, node_id id,
                           struct error *error)
{
    const collage_node *node = &graph->nodes[id].base;
    struct affine affine = { 0 };
    collage_status status = read_affine(graph, node, &affine, error);
    if (status != COLLAGE_OK)
        return status;
    value_id x = node->inputs[0];
    node_id producer = graph->values[x].producer;
    if (is_conv(graph, producer, uses, x))
        status = fold_into_conv(graph, producer, id, &affine, error);
    else
        status = make_mul_add(graph, id, &affine, error);
    memory_free(affine.scale);
    return status;
}

collage_status canon_fold_batch_norm(struct graph *graph, bool *changed, struct error *error)
{
    struct graph_uses uses;
    size_t node_count = graph->node_count; /* new nodes are no BatchNormalization */
    *changed = false;
    collage_status status = graph_uses_build(graph, &uses, error);
    for (size_t n = 0; status == COLLAGE_OK && n < node_count; n++)
        if (graph->nodes[n].op && is_foldable(graph, &graph->nodes[n])) {
            status = fold(graph, &uses, (node_id)n, error);
            *changed = true;
        }
    graph_uses_free(&uses);
    return status == COLLAGE_OK && *changed ? graph_compact(graph, error) : status;
}
