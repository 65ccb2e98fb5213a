/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How operators are written for graph-level libraries, where the graph's own form is one that a
 * library does not know or runs slower. Each row has its reason; all are exact.
 */
#include <string.h>

#include "onnx/exporter.h"

static const collage_value *value_of(const struct exporter *exporter, uint32_t value)
{
    return exporter->subgraph->values[value];
}

static void add(struct exporter *exporter, const char *op, const char *first, const char *second,
                const char *output)
{
    const char *inputs[] = { first, second };
    exporter_add_node(exporter, &(struct exporter_node){ .op = op,
                                                         .name = "",
                                                         .inputs = inputs,
                                                         .input_count = second ? 2 : 1,
                                                         .outputs = &output,
                                                         .output_count = 1 });
}

/* ---- Swish: x * Sigmoid(alpha * x) ---- */

static bool lower_swish(struct exporter *exporter, uint32_t n)
{
    const collage_node *node = exporter->subgraph->nodes[n];
    const char *x = exporter_value_name(exporter, node->inputs[0]);
    const char *y = exporter_value_name(exporter, node->outputs[0]);
    const char *gate = exporter_fresh_name(exporter, y), *scaled = x;
    float *alpha = exporter_allocate(exporter, 1, sizeof *alpha);
    if (exporter->failed || value_of(exporter, node->inputs[0])->dtype != COLLAGE_FLOAT32)
        return false;
    *alpha = collage_node_float(node, "alpha", 1);
    if (*alpha != 1) {
        const char *factor = exporter_add_floats(exporter, y, 0, 1, alpha);
        scaled = exporter_fresh_name(exporter, y);
        if (exporter->failed)
            return false;
        add(exporter, "Mul", x, factor, scaled);
    }
    add(exporter, "Sigmoid", scaled, NULL, gate);
    add(exporter, "Mul", x, gate, y);
    return true;
}

/* ---- Mul and Add with a constant for each channel: BatchNormalization ---- */

/* The operand (*id) that has one number for each channel of the other, which is *x. */
static const collage_value *channel_operand(const struct exporter *exporter,
                                            const collage_node *node, uint32_t *x, uint32_t *id)
{
    for (uint32_t k = 0; k < 2; k++) {
        const collage_value *constant = value_of(exporter, node->inputs[k]);
        const collage_value *other = value_of(exporter, node->inputs[1 - k]);
        int32_t channel = constant->rank - other->rank + 1; /* the constant's dimension for it */
        bool fits = constant->data && !constant->dequantized && !other->data &&
                    constant->dtype == COLLAGE_FLOAT32 && other->rank >= 3 && channel >= 0 &&
                    channel <= 1;
        for (int32_t d = 0; d < constant->rank && fits; d++)
            fits = constant->dims[d] == (d == channel ? other->dims[1] : 1);
        *x = node->inputs[1 - k];
        *id = node->inputs[k];
        if (fits)
            return constant;
    }
    return NULL;
}

static const collage_node *producer_of(const struct exporter *exporter, uint32_t value)
{
    uint32_t n = exporter->producers[value];
    return n == COLLAGE_NO_VALUE ? NULL : exporter->subgraph->nodes[n];
}

/* The Mul before an Add, if the two are a normalisation: its x, scale and shift. */
struct affine {
    uint32_t x, scale_id, shift_id;
    const collage_value *scale, *shift;
};

/* A convolution before it takes them in anyway. */
static bool follows_convolution(const struct exporter *exporter, uint32_t x)
{
    const collage_node *before = producer_of(exporter, x);
    return before &&
           (strcmp(before->op_type, "Conv") == 0 || strcmp(before->op_type, "ConvTranspose") == 0);
}

static bool find_affine(const struct exporter *exporter, const collage_node *sum,
                        struct affine *affine)
{
    uint32_t product;
    affine->shift = channel_operand(exporter, sum, &product, &affine->shift_id);
    const collage_node *mul = affine->shift ? producer_of(exporter, product) : NULL;
    if (!mul || strcmp(mul->op_type, "Mul") != 0 || exporter->uses[product] != 1)
        return false;
    affine->scale = channel_operand(exporter, mul, &affine->x, &affine->scale_id);
    return affine->scale && !follows_convolution(exporter, affine->x);
}

/* The constant as a vector. One that is external must stay in use: ONNX Runtime drops what is not,
 * and then fails for want of it. Libraries compute the Squeeze once. */
static const char *add_vector(struct exporter *exporter, const char *base,
                              const collage_value *constant, const char *constant_name)
{
    int64_t count = (int64_t)(constant->bytes / sizeof(float));
    if (constant->bytes <= exporter->inline_limit)
        return exporter_add_floats(exporter, base, 1, count, constant->data);
    const char *vector = exporter_fresh_name(exporter, base);
    if (!exporter->failed)
        add(exporter, "Squeeze", constant_name, NULL, vector);
    return vector;
}

static bool lower_add(struct exporter *exporter, uint32_t n)
{
    const collage_node *node = exporter->subgraph->nodes[n];
    struct affine affine;
    if (!find_affine(exporter, node, &affine))
        return false;
    const char *y = exporter_value_name(exporter, node->outputs[0]);
    int64_t channels = value_of(exporter, affine.x)->dims[1];
    float *mean = exporter_allocate(exporter, (size_t)channels, sizeof *mean);
    float *variance = exporter_allocate(exporter, (size_t)channels, sizeof *variance);
    for (int64_t c = 0; c < channels && variance; c++)
        variance[c] = 1;
    if (exporter->failed)
        return false;
    const char *inputs[] = {
        exporter_value_name(exporter, affine.x),
        add_vector(exporter, y, affine.scale, exporter_value_name(exporter, affine.scale_id)),
        add_vector(exporter, y, affine.shift, exporter_value_name(exporter, affine.shift_id)),
        exporter_add_floats(exporter, y, 1, channels, mean),
        exporter_add_floats(exporter, y, 1, channels, variance)
    };
    const collage_attribute epsilon = { .name = "epsilon", .kind = COLLAGE_ATTRIBUTE_FLOAT };
    exporter_add_node(exporter, &(struct exporter_node){ .op = "BatchNormalization",
                                                         .name = "",
                                                         .inputs = inputs,
                                                         .input_count = 5,
                                                         .outputs = &y,
                                                         .output_count = 1,
                                                         .attributes = &epsilon,
                                                         .attribute_count = 1 });
    return true;
}

/* Written with the Add that reads it. */
static bool lower_mul(struct exporter *exporter, uint32_t n)
{
    const collage_subgraph *subgraph = exporter->subgraph;
    uint32_t product = subgraph->nodes[n]->outputs[0];
    if (exporter->uses[product] != 1)
        return false;
    for (uint32_t k = n + 1; k < subgraph->node_count; k++) {
        const collage_node *user = subgraph->nodes[k];
        struct affine affine;
        if (strcmp(user->op_type, "Add") == 0 &&
            (user->inputs[0] == product || user->inputs[1] == product))
            return find_affine(exporter, user, &affine);
    }
    return false;
}

/* ---- the operator set ---- */

/* From which set on an operator is written as the graph has it; an attribute or a value of one may
 * have come later than the operator. What is not here has not changed since BASE_OPSET, but for the
 * types that it takes. */
enum { BASE_OPSET = 18, BLOCKS_OPSET = 21, UNUSUAL_TYPES_OPSET = 25 };
static const struct {
    const char *op, *attribute, *value; /* attribute, value: NULL if they do not matter */
    int64_t since;
} newer[] = {
    { "AffineGrid", NULL, NULL, 20 },
    { "Attention", NULL, NULL, 24 },
    { "Attention", "left_window_size", NULL, 25 },
    { "Attention", "right_window_size", NULL, 25 },
    { "AveragePool", "dilations", NULL, 19 },
    { "BitCast", NULL, NULL, 26 },
    { "Cast", "round_mode", NULL, 24 },
    { "Cast", "saturate", NULL, 19 },
    { "CumProd", NULL, NULL, 26 },
    { "DeformConv", NULL, NULL, 19 },
    { "DequantizeLinear", "block_size", NULL, 21 },
    { "DequantizeLinear", "output_dtype", NULL, 23 },
    { "DFT", NULL, NULL, 20 },
    { "Gelu", NULL, NULL, 20 },
    { "GridSample", NULL, NULL, 20 },
    { "GroupNormalization", NULL, NULL, 21 },
    { "LinearAttention", NULL, NULL, 27 },
    { "Pad", "mode", "wrap", 19 },
    { "QuantizeLinear", "block_size", NULL, 21 },
    { "QuantizeLinear", "output_dtype", NULL, 21 },
    { "QuantizeLinear", "precision", NULL, 23 },
    { "QuantizeLinear", "saturate", NULL, 19 },
    { "Resize", "coordinate_transformation_mode", "half_pixel_symmetric", 19 },
    { "RMSNormalization", NULL, NULL, 23 },
    { "RotaryEmbedding", NULL, NULL, 23 },
    { "SpaceToDepth", "mode", NULL, 28 },
    { "TensorScatter", NULL, NULL, 24 },
};

static const collage_attribute *find_attribute(const collage_node *node, const char *name)
{
    for (uint32_t k = 0; k < node->attribute_count; k++)
        if (strcmp(node->attributes[k].name, name) == 0)
            return &node->attributes[k];
    return NULL;
}

static int64_t node_opset(const collage_node *node)
{
    int64_t opset = BASE_OPSET;
    for (size_t k = 0; k < sizeof newer / sizeof *newer; k++) {
        if (strcmp(newer[k].op, node->op_type) != 0)
            continue;
        const collage_attribute *attribute =
            newer[k].attribute ? find_attribute(node, newer[k].attribute) : NULL;
        bool uses = !newer[k].attribute ||
                    (attribute && (!newer[k].value || strcmp(attribute->s, newer[k].value) == 0));
        opset = uses && newer[k].since > opset ? newer[k].since : opset;
    }
    return opset;
}

/* Types that operators have taken since BASE_OPSET, if they take them at all. Integers of 8 bits
 * must be among them: ONNX Runtime turns a MaxPool between DequantizeLinear and QuantizeLinear into
 * one of integers in that set's version of it only. */
static bool is_usual(collage_dtype dtype)
{
    return dtype == COLLAGE_FLOAT32 || dtype == COLLAGE_INT64 || dtype == COLLAGE_INT32 ||
           dtype == COLLAGE_BOOL || dtype == COLLAGE_UINT8 || dtype == COLLAGE_INT8;
}

int64_t lower_opset(const collage_subgraph *subgraph)
{
    int64_t opset = BASE_OPSET;
    for (uint32_t v = 0; v < subgraph->value_count; v++) {
        const collage_dequantized *from = subgraph->values[v]->dequantized;
        if (from && from->block_size && opset < BLOCKS_OPSET)
            opset = BLOCKS_OPSET;
        if (!is_usual(subgraph->values[v]->dtype))
            opset = UNUSUAL_TYPES_OPSET; /* most operators' newer versions differ in types */
    }
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        int64_t needed = node_opset(node);
        opset = needed > opset ? needed : opset;
        for (uint32_t k = 0; k < node->attribute_count; k++) {
            if (node->attributes[k].kind != COLLAGE_ATTRIBUTE_GRAPH)
                continue;
            needed = lower_opset(node->attributes[k].graph);
            opset = needed > opset ? needed : opset;
        }
    }
    return opset < subgraph->opset ? opset : subgraph->opset;
}

/* ---- the table ---- */

static const struct {
    const char *op;
    bool (*lower)(struct exporter *exporter, uint32_t n);
} table[] = {
    /* ONNX Runtime 1.32 has no kernel for Swish; it and OpenVINO fuse Sigmoid and Mul themselves.
     */
    { "Swish", lower_swish },
    /* ONNX Runtime runs two elementwise operators one after the other, out of its blocked layout;
     * a BatchNormalization it takes into that layout, with the Relu behind it. */
    { "Mul", lower_mul },
    { "Add", lower_add },
};

bool lower_node(struct exporter *exporter, uint32_t n)
{
    const char *op = exporter->subgraph->nodes[n]->op_type;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(table[k].op, op) == 0)
            return table[k].lower(exporter, n);
    return false;
}
