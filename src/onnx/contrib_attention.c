/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/contrib_attention.h"

#include "onnx/draft.h"

static const struct tensor *shape_of(const struct importer *importer, value_id id)
{
    return &importer->graph->values[id].tensor;
}

static collage_status step_with_int(struct importer *importer, const struct draft *draft,
                                    const char *op, const value_id *inputs, uint32_t count,
                                    const char *name, int64_t value, value_id *out,
                                    struct error *error)
{
    const collage_attribute a = { .name = name, .kind = COLLAGE_ATTRIBUTE_INT, .i = value };
    return draft_emit_step(importer, draft, &(struct draft_step){ op, inputs, count, &a, 1 }, out,
                           error);
}

/* x[..., from:to] along one axis. */
static collage_status slice(struct importer *importer, const struct draft *draft, value_id x,
                            int64_t axis, int64_t from, int64_t to, value_id *out,
                            struct error *error)
{
    value_id inputs[4] = { x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE };
    const int64_t numbers[3] = { from, to, axis };
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < 3 && status == COLLAGE_OK; k++)
        status = draft_ints(importer, draft, "slice", &numbers[k], 1, &inputs[1 + k], error);
    return status == COLLAGE_OK ? draft_emit(importer, draft, "Slice", inputs, 4, out, error)
                                : status;
}

/* What all attention operators of the domain say by attributes. */
struct settings {
    int64_t heads, causal;
    float scale, filter;
};

static collage_status take_settings(struct importer *importer, struct draft *draft,
                                    struct settings *settings, struct error *error)
{
    collage_status status =
        draft_take_int(importer, draft, "num_heads", 0, &settings->heads, error);
    if (status == COLLAGE_OK)
        status = draft_take_int(importer, draft, "unidirectional", 0, &settings->causal, error);
    if (status == COLLAGE_OK)
        status = draft_take_float(importer, draft, "scale", 0, &settings->scale, error);
    if (status == COLLAGE_OK)
        status = draft_take_float(importer, draft, "mask_filter_value", -10000, &settings->filter,
                                  error);
    if (status == COLLAGE_OK && (settings->heads < 1 || settings->heads > 65536))
        return error_set(error, COLLAGE_ERROR_FORMAT, "num_heads is missing or senseless");
    return status;
}

static collage_status refuse_attributes(const struct draft *draft, struct error *error)
{
    for (uint32_t k = 0; k < draft->attribute_count; k++) {
        const collage_attribute *a = &draft->attributes[k];
        if (a->kind != COLLAGE_ATTRIBUTE_INT || a->i != 0)
            return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "attribute '%.60s' is not supported",
                             a->name);
    }
    return COLLAGE_OK;
}

/* Where the mask is 0, mask_filter_value is added: (1 - mask) * filter, as [batch, 1, 1, keys]. */
static collage_status add_padding_mask(struct importer *importer, const struct draft *draft,
                                       value_id mask, value_id like, float filter, value_id *out,
                                       struct error *error)
{
    const int64_t axes[2] = { 1, 2 };
    value_id axes_id, number, one, weight, left;
    collage_status status = draft_ints(importer, draft, "mask_axes", axes, 2, &axes_id, error);
    if (status == COLLAGE_OK)
        status = step_with_int(importer, draft, "Cast", &mask, 1, "to",
                               (int64_t)shape_of(importer, like)->dtype, &number, error);
    if (status == COLLAGE_OK)
        status = draft_number(importer, draft, "one", 1, like, &one, error);
    if (status == COLLAGE_OK)
        status = draft_number(importer, draft, "filter", (double)filter, like, &weight, error);
    if (status == COLLAGE_OK)
        status = draft_emit(importer, draft, "Sub", (value_id[]){ one, number }, 2, &left, error);
    if (status == COLLAGE_OK)
        status = draft_emit(importer, draft, "Mul", (value_id[]){ left, weight }, 2, &left, error);
    return status == COLLAGE_OK ? draft_emit(importer, draft, "Unsqueeze",
                                             (value_id[]){ left, axes_id }, 2, out, error)
                                : status;
}

/* The mask of keys and the additive bias as one additive mask; GRAPH_NONE if there is neither. */
static collage_status make_mask(struct importer *importer, const struct draft *draft,
                                value_id padding, value_id bias, value_id like, float filter,
                                value_id *mask, struct error *error)
{
    *mask = bias;
    if (padding == GRAPH_NONE)
        return COLLAGE_OK;
    if (shape_of(importer, padding)->rank != 2)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "only masks of the shape [batch, keys] are supported");
    value_id from_padding;
    collage_status status =
        add_padding_mask(importer, draft, padding, like, filter, &from_padding, error);
    *mask = from_padding;
    if (status != COLLAGE_OK || bias == GRAPH_NONE)
        return status;
    return draft_emit(importer, draft, "Add", (value_id[]){ from_padding, bias }, 2, mask, error);
}

static collage_status become_attention(struct importer *importer, struct draft *draft,
                                       const value_id inputs[6], const struct settings *settings,
                                       struct error *error)
{
    collage_status status = draft_become(importer, draft, "Attention", inputs, 6, error);
    if (status == COLLAGE_OK)
        status = draft_add_int(importer, draft, "q_num_heads", settings->heads, error);
    if (status == COLLAGE_OK)
        status = draft_add_int(importer, draft, "kv_num_heads", settings->heads, error);
    if (status == COLLAGE_OK && settings->causal)
        status = draft_add_int(importer, draft, "is_causal", 1, error);
    if (status == COLLAGE_OK && settings->scale != 0)
        status = draft_add_attribute(importer, draft,
                                     (collage_attribute){ .name = "scale",
                                                          .kind = COLLAGE_ATTRIBUTE_FLOAT,
                                                          .f = settings->scale },
                                     error);
    return status;
}

static bool is_matrix_batch(const struct importer *importer, value_id id)
{
    return id != GRAPH_NONE && shape_of(importer, id)->rank == 3;
}

/* (query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value) */
collage_status contrib_multi_head_attention(struct importer *importer, struct draft *draft,
                                            struct error *error)
{
    struct settings settings;
    collage_status status = take_settings(importer, draft, &settings, error);
    if (status == COLLAGE_OK)
        status = refuse_attributes(draft, error);
    if (status != COLLAGE_OK)
        return status;
    value_id inputs[6] = { draft_input(draft, 0), draft_input(draft, 1),
                           draft_input(draft, 2), GRAPH_NONE,
                           draft_input(draft, 6), draft_input(draft, 7) };
    const value_id bias = draft_input(draft, 3);
    for (size_t k = 0; k < 3; k++)
        if (!is_matrix_batch(importer, inputs[k]))
            return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                             "only query, key and value of the shape [batch, length, width] are "
                             "supported");
    int64_t from = 0;
    for (size_t k = 0; k < 3 && bias != GRAPH_NONE && status == COLLAGE_OK; k++) {
        value_id part;
        int64_t width = shape_of(importer, inputs[k])->dims[2];
        status = slice(importer, draft, bias, 0, from, from + width, &part, error);
        if (status == COLLAGE_OK)
            status = draft_emit(importer, draft, "Add", (value_id[]){ inputs[k], part }, 2,
                                &inputs[k], error);
        from += width;
    }
    if (status == COLLAGE_OK)
        status = make_mask(importer, draft, draft_input(draft, 4), draft_input(draft, 5), inputs[0],
                           settings.filter, &inputs[3], error);
    return status == COLLAGE_OK ? become_attention(importer, draft, inputs, &settings, error)
                                : status;
}

/* (input, weights, bias, mask_index, past, attention_bias): the projections are part of it. */
collage_status contrib_attention(struct importer *importer, struct draft *draft,
                                 struct error *error)
{
    struct settings settings;
    value_id projected,
        inputs[6] = { GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE };
    collage_status status = take_settings(importer, draft, &settings, error);
    if (status == COLLAGE_OK)
        status = draft_need_inputs(draft, 2, error);
    if (status == COLLAGE_OK)
        status = refuse_attributes(draft, error);
    if (status != COLLAGE_OK)
        return status;
    const struct tensor *weights = shape_of(importer, draft->inputs[1]);
    const value_id bias = draft_input(draft, 2);
    if (draft_input(draft, 4) != GRAPH_NONE || draft->output_count > 1 || weights->rank != 2 ||
        weights->dims[1] % 3 != 0 || !is_matrix_batch(importer, draft->inputs[0]))
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "only its form with equal widths and without a past is supported");
    const int64_t width = weights->dims[1] / 3;
    status = draft_emit(importer, draft, "MatMul", draft->inputs, 2, &projected, error);
    if (status == COLLAGE_OK && bias != GRAPH_NONE)
        status = draft_emit(importer, draft, "Add", (value_id[]){ projected, bias }, 2, &projected,
                            error);
    for (int64_t k = 0; k < 3 && status == COLLAGE_OK; k++)
        status =
            slice(importer, draft, projected, 2, k * width, (k + 1) * width, &inputs[k], error);
    if (status == COLLAGE_OK)
        status = make_mask(importer, draft, draft_input(draft, 3), draft_input(draft, 5), projected,
                           settings.filter, &inputs[3], error);
    return status == COLLAGE_OK ? become_attention(importer, draft, inputs, &settings, error)
                                : status;
}

/* (input, position_ids, cos_cache, sin_cache): the order of inputs differs from ONNX's. */
collage_status contrib_rotary_embedding(struct importer *importer, struct draft *draft,
                                        struct error *error)
{
    static const char *const names[] = { "interleaved", "num_heads", "rotary_embedding_dim" };
    int64_t values[3];
    float scale = 1;
    collage_status status = draft_need_inputs(draft, 4, error);
    for (size_t k = 0; k < 3 && status == COLLAGE_OK; k++)
        status = draft_take_int(importer, draft, names[k], 0, &values[k], error);
    if (status == COLLAGE_OK)
        status = draft_take_float(importer, draft, "scale", 1, &scale, error);
    if (status == COLLAGE_OK)
        status = refuse_attributes(draft, error);
    if (status != COLLAGE_OK)
        return status;
    if (scale != 1 || shape_of(importer, draft->inputs[1])->rank != 2)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "only positions of the shape [batch, length] and scale 1 are supported");
    const value_id inputs[4] = { draft->inputs[0], draft->inputs[2], draft->inputs[3],
                                 draft->inputs[1] };
    status = draft_become(importer, draft, "RotaryEmbedding", inputs, 4, error);
    for (size_t k = 0; k < 3 && status == COLLAGE_OK; k++)
        if (values[k] != 0)
            status = draft_add_int(importer, draft, names[k], values[k], error);
    return status;
}
