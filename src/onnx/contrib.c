/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The elementwise and normalising operators, matrix products and convolutions; attention is in
 * contrib_attention.c. Meanings are those of ONNX Runtime's list of its contributed operators.
 */
#include "onnx/contrib.h"

#include "onnx/contrib_attention.h"
#include "onnx/draft.h"
#include "onnx/scope.h"

/* ---- tools ---- */

/* x, or x + y if there is a y. */
static collage_status add_if(struct importer *importer, const struct draft *draft, value_id x,
                             value_id y, value_id *out, struct error *error)
{
    *out = x;
    if (y == GRAPH_NONE)
        return COLLAGE_OK;
    return draft_emit(importer, draft, "Add", (value_id[]){ x, y }, 2, out, error);
}

/* ---- one function an operator ---- */

static collage_status convert_gelu(struct importer *importer, struct draft *draft,
                                   struct error *error)
{
    collage_status status = draft_need_inputs(draft, 1, error);
    if (status == COLLAGE_OK)
        status = draft_become(importer, draft, "Gelu", draft->inputs, 1, error);
    return status;
}

/* BiasGelu(x, bias), FastGelu(x, bias): the latter by tanh. */
static collage_status bias_gelu(struct importer *importer, struct draft *draft, bool by_tanh,
                                struct error *error)
{
    value_id sum;
    collage_status status = draft_need_inputs(draft, 1, error);
    if (status == COLLAGE_OK)
        status = add_if(importer, draft, draft->inputs[0], draft_input(draft, 1), &sum, error);
    if (status == COLLAGE_OK)
        status = draft_become(importer, draft, "Gelu", &sum, 1, error);
    if (status == COLLAGE_OK && by_tanh)
        status = draft_add_string(importer, draft, "approximate", "tanh", error);
    return status;
}

static collage_status convert_bias_gelu(struct importer *importer, struct draft *draft,
                                        struct error *error)
{
    return bias_gelu(importer, draft, false, error);
}

static collage_status convert_fast_gelu(struct importer *importer, struct draft *draft,
                                        struct error *error)
{
    return bias_gelu(importer, draft, true, error);
}

/* x * Sigmoid(alpha * x) */
static collage_status convert_quick_gelu(struct importer *importer, struct draft *draft,
                                         struct error *error)
{
    float alpha;
    collage_status status = draft_need_inputs(draft, 1, error);
    if (status == COLLAGE_OK)
        status = draft_take_float(importer, draft, "alpha", 1.702f, &alpha, error);
    if (status == COLLAGE_OK)
        status = draft_become(importer, draft, "Swish", draft->inputs, 1, error);
    if (status == COLLAGE_OK)
        status = draft_add_attribute(
            importer, draft,
            (collage_attribute){ .name = "alpha", .kind = COLLAGE_ATTRIBUTE_FLOAT, .f = alpha },
            error);
    return status;
}

/* (input, skip, gamma[, beta], bias) -> output, mean, inverse deviation, sum of what went in. */
static collage_status skip_normalization(struct importer *importer, struct draft *draft,
                                         const char *op, uint32_t beta, uint32_t bias,
                                         struct error *error)
{
    float epsilon;
    value_id sum;
    collage_status status = draft_need_inputs(draft, 3, error);
    if (status == COLLAGE_OK)
        status = draft_take_float(importer, draft, "epsilon", 1e-12f, &epsilon, error);
    for (uint32_t k = 1; k < 3 && k < draft->output_count && status == COLLAGE_OK; k++)
        if (draft->output_names[k][0])
            status = error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                               "its statistics are not supported as outputs");
    if (status != COLLAGE_OK)
        return status;
    value_id gamma = draft->inputs[2];
    value_id shift = beta ? draft_input(draft, beta) : GRAPH_NONE;
    status = add_if(importer, draft, draft->inputs[0], draft->inputs[1], &sum, error);
    if (status == COLLAGE_OK)
        status = add_if(importer, draft, sum, draft_input(draft, bias), &sum, error);
    if (status == COLLAGE_OK && draft->output_count > 3 && draft->output_names[3][0])
        status = scope_bind(importer, draft->output_names[3], sum, error);
    if (status == COLLAGE_OK)
        status = draft_become(importer, draft, op, (value_id[]){ sum, gamma, shift }, 3, error);
    if (status == COLLAGE_OK)
        status = draft_add_attribute(
            importer, draft,
            (collage_attribute){ .name = "epsilon", .kind = COLLAGE_ATTRIBUTE_FLOAT, .f = epsilon },
            error);
    draft->output_count = 1;
    return status;
}

static collage_status convert_skip_layer_normalization(struct importer *importer,
                                                       struct draft *draft, struct error *error)
{
    return skip_normalization(importer, draft, "LayerNormalization", 3, 4, error);
}

static collage_status convert_skip_rms_normalization(struct importer *importer, struct draft *draft,
                                                     struct error *error)
{
    return skip_normalization(importer, draft, "RMSNormalization", 0, 3, error);
}

/* ---- matrix products ---- */

/* Swaps the last two axes; or moves the batch axis that stands before the last to the front:
 * FusedMatMul's transBatch has the axes [rows, batch..., columns]. */
static collage_status transpose(struct importer *importer, const struct draft *draft, value_id x,
                                bool swap, bool batch, value_id *out, struct error *error)
{
    const int32_t rank = importer->graph->values[x].tensor.rank;
    int64_t axes[COLLAGE_MAX_RANK];
    *out = x;
    if (rank < 2 || (!swap && !batch))
        return COLLAGE_OK;
    for (int32_t d = 0; d < rank; d++)
        axes[d] = d;
    if (batch) { /* [rows, batch..., columns] to [batch..., rows, columns] */
        for (int32_t d = 0; d + 2 < rank; d++)
            axes[d] = d + 1;
        axes[rank - 2] = 0;
    }
    if (swap) {
        int64_t last = axes[rank - 1];
        axes[rank - 1] = axes[rank - 2];
        axes[rank - 2] = last;
    }
    const collage_attribute order = {
        .name = "perm", .kind = COLLAGE_ATTRIBUTE_INTS, .ints = axes, .count = (uint32_t)rank
    };
    return draft_emit_step(importer, draft, &(struct draft_step){ "Transpose", &x, 1, &order, 1 },
                           out, error);
}

static collage_status convert_fused_matmul(struct importer *importer, struct draft *draft,
                                           struct error *error)
{
    static const char *const names[] = { "transA", "transB", "transBatchA", "transBatchB" };
    int64_t flags[4];
    float alpha = 1;
    value_id operands[2], scale = GRAPH_NONE;
    collage_status status = draft_need_inputs(draft, 2, error);
    for (size_t k = 0; k < 4 && status == COLLAGE_OK; k++)
        status = draft_take_int(importer, draft, names[k], 0, &flags[k], error);
    if (status == COLLAGE_OK)
        status = draft_take_float(importer, draft, "alpha", 1, &alpha, error);
    for (size_t k = 0; k < 2 && status == COLLAGE_OK; k++)
        status = transpose(importer, draft, draft->inputs[k], flags[k] != 0, flags[2 + k] != 0,
                           &operands[k], error);
    if (status != COLLAGE_OK || alpha == 1)
        return status == COLLAGE_OK ? draft_become(importer, draft, "MatMul", operands, 2, error)
                                    : status;
    value_id product[2];
    status = draft_emit(importer, draft, "MatMul", operands, 2, &product[0], error);
    if (status == COLLAGE_OK)
        status =
            draft_number(importer, draft, "alpha", (double)alpha, draft->inputs[0], &scale, error);
    product[1] = scale;
    return status == COLLAGE_OK ? draft_become(importer, draft, "Mul", product, 2, error) : status;
}

/* ---- an operator with an activation behind it ---- */

/* The draft becomes the activation of x. Its parameters are alpha and beta, or Clip's limits. */
static collage_status become_activation(struct importer *importer, struct draft *draft, value_id x,
                                        const char *name, const collage_attribute *parameters,
                                        struct error *error)
{
    static const char *const plain[] = { "Relu",      "Sigmoid",     "Tanh",
                                         "LeakyRelu", "HardSigmoid", "HardSwish" };
    static const char *const names[] = { "alpha", "beta" };
    uint32_t count = parameters ? parameters->count : 0;
    collage_status status = COLLAGE_OK;
    if (strcmp(name, "Clip") == 0 && count == 2) {
        value_id inputs[3] = { x, GRAPH_NONE, GRAPH_NONE };
        for (uint32_t k = 0; k < 2 && status == COLLAGE_OK; k++)
            status = draft_number(importer, draft, "limit", (double)parameters->floats[k], x,
                                  &inputs[1 + k], error);
        return status == COLLAGE_OK ? draft_become(importer, draft, "Clip", inputs, 3, error)
                                    : status;
    }
    bool known = count <= 2;
    for (size_t k = 0; known && k <= sizeof plain / sizeof *plain; k++) {
        known = k < sizeof plain / sizeof *plain;
        if (known && strcmp(name, plain[k]) == 0)
            break;
    }
    if (!known)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "its activation '%.40s' is not supported", name);
    status = draft_become(importer, draft, name, &x, 1, error);
    for (uint32_t k = 0; k < count && status == COLLAGE_OK; k++)
        status = draft_add_attribute(importer, draft,
                                     (collage_attribute){ .name = names[k],
                                                          .kind = COLLAGE_ATTRIBUTE_FLOAT,
                                                          .f = parameters->floats[k] },
                                     error);
    return status;
}

/* FusedConv(x, w, bias, z): activation(Conv(x, w, bias) + z). */
static collage_status convert_fused_conv(struct importer *importer, struct draft *draft,
                                         struct error *error)
{
    collage_attribute *activation = NULL, *parameters = NULL;
    value_id y;
    collage_status status = draft_need_inputs(draft, 2, error);
    if (status == COLLAGE_OK)
        status = draft_take_attribute(importer, draft, "activation", COLLAGE_ATTRIBUTE_STRING,
                                      &activation, error);
    if (status == COLLAGE_OK)
        status = draft_take_attribute(importer, draft, "activation_params",
                                      COLLAGE_ATTRIBUTE_FLOATS, &parameters, error);
    if (status != COLLAGE_OK)
        return status;
    const value_id inputs[3] = { draft->inputs[0], draft->inputs[1], draft_input(draft, 2) };
    const value_id z = draft_input(draft, 3);
    status = draft_emit_step(
        importer, draft,
        &(struct draft_step){ "Conv", inputs, 3, draft->attributes, draft->attribute_count }, &y,
        error);
    if (status == COLLAGE_OK)
        status = add_if(importer, draft, y, z, &y, error);
    if (status != COLLAGE_OK)
        return status;
    if (!activation || !activation->s[0])
        return draft_become(importer, draft, "Identity", &y, 1, error);
    return become_activation(importer, draft, y, activation->s, parameters, error);
}

/* ---- the table ---- */

static collage_status unknown(struct importer *importer, struct draft *draft, struct error *error)
{
    draft->op_type = arena_format(importer->graph->arena, "com.microsoft.%.80s", draft->op_type);
    return draft->op_type ? COLLAGE_OK : error_memory(error);
}

collage_status contrib_convert(struct importer *importer, struct draft *draft, struct error *error)
{
    static const struct {
        const char *op;
        collage_status (*convert)(struct importer *importer, struct draft *draft,
                                  struct error *error);
    } table[] = {
        { "Attention", contrib_attention },
        { "BiasGelu", convert_bias_gelu },
        { "FastGelu", convert_fast_gelu },
        { "FusedConv", convert_fused_conv },
        { "FusedMatMul", convert_fused_matmul },
        { "Gelu", convert_gelu },
        { "MultiHeadAttention", contrib_multi_head_attention },
        { "QuickGelu", convert_quick_gelu },
        { "RotaryEmbedding", contrib_rotary_embedding },
        { "SkipLayerNormalization", convert_skip_layer_normalization },
        { "SkipSimplifiedLayerNormalization", convert_skip_rms_normalization },
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(table[k].op, draft->op_type) == 0)
            return table[k].convert(importer, draft, error);
    return unknown(importer, draft, error);
}
