/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Older opsets to OPS_OPSET: a table of operator, the opset below which it applies, and what to do.
 * Rows of one operator apply one after the other, so each needs to know its own step only. The
 * changes are those of ONNX's docs/Changelog.md.
 */
#include <string.h>

#include "onnx/importer.h"

typedef collage_status (*upgrade_fn)(struct importer *importer, struct draft *draft,
                                     struct error *error);

/* ---- tools ---- */

/* Removes the attribute and returns it; NULL if it is not there. The copy is the arena's. */
static collage_status take_attribute(struct importer *importer, struct draft *draft,
                                     const char *name, collage_attribute_kind kind,
                                     collage_attribute **out, struct error *error)
{
    *out = NULL;
    for (uint32_t k = 0; k < draft->attribute_count; k++) {
        if (strcmp(draft->attributes[k].name, name) != 0)
            continue;
        if (draft->attributes[k].kind != kind)
            return error_set(error, COLLAGE_ERROR_FORMAT, "attribute '%s' has the wrong type",
                             name);
        *out = arena_copy(importer->graph->arena, &draft->attributes[k], sizeof **out);
        if (!*out)
            return error_memory(error);
        draft->attribute_count--;
        memmove(&draft->attributes[k], &draft->attributes[k + 1],
                (draft->attribute_count - k) * sizeof *draft->attributes);
        return COLLAGE_OK;
    }
    return COLLAGE_OK;
}

/* Appends. An older opset has no attribute of that name, so one that is there is a fault. */
static collage_status add_attribute(struct importer *importer, struct draft *draft,
                                    collage_attribute attribute, struct error *error)
{
    for (uint32_t k = 0; k < draft->attribute_count; k++)
        if (strcmp(draft->attributes[k].name, attribute.name) == 0)
            return error_set(error, COLLAGE_ERROR_FORMAT, "attribute '%s' is of a newer opset",
                             attribute.name);
    collage_attribute *more =
        arena_array(importer->graph->arena, (size_t)draft->attribute_count + 1, sizeof *more);
    if (!more)
        return error_memory(error);
    if (draft->attribute_count)
        memcpy(more, draft->attributes, draft->attribute_count * sizeof *more);
    more[draft->attribute_count++] = attribute;
    draft->attributes = more;
    return COLLAGE_OK;
}

static collage_status add_string(struct importer *importer, struct draft *draft, const char *name,
                                 const char *text, struct error *error)
{
    return add_attribute(importer, draft,
                         (collage_attribute){ .name = name,
                                              .kind = COLLAGE_ATTRIBUTE_STRING,
                                              .s = text,
                                              .count = (uint32_t)strlen(text) },
                         error);
}

/* Makes `id` input number `index`; inputs in between are left out. */
static collage_status set_input(struct importer *importer, struct draft *draft, uint32_t index,
                                value_id id, struct error *error)
{
    if (index >= draft->input_count) {
        value_id *more = arena_array(importer->graph->arena, (size_t)index + 1, sizeof *more);
        if (!more)
            return error_memory(error);
        for (uint32_t k = 0; k <= index; k++)
            more[k] = k < draft->input_count ? draft->inputs[k] : GRAPH_NONE;
        draft->inputs = more;
        draft->input_count = index + 1;
    }
    draft->inputs[index] = id;
    return COLLAGE_OK;
}

static collage_status new_constant(struct importer *importer, const struct draft *draft,
                                   const char *what, struct tensor tensor, value_id *id,
                                   struct error *error)
{
    const char *name = importer_fresh_name(importer, draft->name, what);
    tensor.data = arena_copy(importer->graph->arena, tensor.data, (size_t)tensor_bytes(&tensor));
    if (!name || !tensor.data)
        return error_memory(error);
    return importer_value(importer, name, VALUE_CONSTANT, &tensor, id, error);
}

static collage_status new_ints(struct importer *importer, const struct draft *draft,
                               const char *what, const int64_t *ints, uint32_t count, value_id *id,
                               struct error *error)
{
    struct tensor tensor = { COLLAGE_INT64, 1, { count }, (void *)(uintptr_t)ints };
    return new_constant(importer, draft, what, tensor, id, error);
}

/* An attribute of ints becomes input number `index`. */
static collage_status ints_to_input(struct importer *importer, struct draft *draft,
                                    const char *name, uint32_t index, struct error *error)
{
    collage_attribute *a;
    value_id id;
    collage_status status =
        take_attribute(importer, draft, name, COLLAGE_ATTRIBUTE_INTS, &a, error);
    if (status != COLLAGE_OK || !a)
        return status;
    status = new_ints(importer, draft, name, a->ints, a->count, &id, error);
    return status == COLLAGE_OK ? set_input(importer, draft, index, id, error) : status;
}

/* An attribute of one float becomes a scalar input of the type of input 0. */
static collage_status float_to_input(struct importer *importer, struct draft *draft,
                                     const char *name, uint32_t index, struct error *error)
{
    collage_attribute *a;
    value_id id;
    double room = 0; /* for one element of any type */
    collage_status status =
        take_attribute(importer, draft, name, COLLAGE_ATTRIBUTE_FLOAT, &a, error);
    if (status != COLLAGE_OK || !a)
        return status;
    if (draft->input_count == 0 || draft->inputs[0] == GRAPH_NONE)
        return error_set(error, COLLAGE_ERROR_FORMAT, "input 0 is missing");
    struct tensor tensor = { .dtype = importer->graph->values[draft->inputs[0]].tensor.dtype,
                             .data = &room };
    tensor_set(&tensor, 0, (double)a->f);
    status = new_constant(importer, draft, name, tensor, &id, error);
    return status == COLLAGE_OK ? set_input(importer, draft, index, id, error) : status;
}

static collage_status drop_attribute(struct importer *importer, struct draft *draft,
                                     const char *name, collage_attribute_kind kind,
                                     struct error *error)
{
    collage_attribute *a;
    return take_attribute(importer, draft, name, kind, &a, error);
}

/* ---- one function an upgrade ---- */

static collage_status axes_to_input(struct importer *importer, struct draft *draft,
                                    struct error *error)
{
    return ints_to_input(importer, draft, "axes", 1, error);
}

static collage_status split_to_input(struct importer *importer, struct draft *draft,
                                     struct error *error)
{
    return ints_to_input(importer, draft, "split", 1, error);
}

/* Equal parts were the default; now their number is an attribute. */
static collage_status split_number(struct importer *importer, struct draft *draft,
                                   struct error *error)
{
    if (draft->input_count >= 2)
        return COLLAGE_OK;
    return add_attribute(importer, draft,
                         (collage_attribute){ .name = "num_outputs",
                                              .kind = COLLAGE_ATTRIBUTE_INT,
                                              .i = draft->output_count },
                         error);
}

static collage_status clip_limits(struct importer *importer, struct draft *draft,
                                  struct error *error)
{
    collage_status status = float_to_input(importer, draft, "min", 1, error);
    return status == COLLAGE_OK ? float_to_input(importer, draft, "max", 2, error) : status;
}

static collage_status slice_to_inputs(struct importer *importer, struct draft *draft,
                                      struct error *error)
{
    static const char *const names[] = { "starts", "ends", "axes" };
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; status == COLLAGE_OK && k < 3; k++)
        status = ints_to_input(importer, draft, names[k], k + 1, error);
    return status;
}

static collage_status pad_to_inputs(struct importer *importer, struct draft *draft,
                                    struct error *error)
{
    collage_status status = ints_to_input(importer, draft, "pads", 1, error);
    return status == COLLAGE_OK ? float_to_input(importer, draft, "value", 2, error) : status;
}

static collage_status dropout_ratio(struct importer *importer, struct draft *draft,
                                    struct error *error)
{
    return float_to_input(importer, draft, "ratio", 1, error);
}

/* spatial = 0 had other shapes; the statistics were outputs of training only. */
static collage_status batch_norm_spatial(struct importer *importer, struct draft *draft,
                                         struct error *error)
{
    collage_attribute *a;
    collage_status status =
        take_attribute(importer, draft, "spatial", COLLAGE_ATTRIBUTE_INT, &a, error);
    if (status == COLLAGE_OK && a && a->i == 0)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "spatial = 0 is not supported");
    return status;
}

static collage_status batch_norm_outputs(struct importer *importer, struct draft *draft,
                                         struct error *error)
{
    (void)importer;
    (void)error;
    draft->output_count = 1;
    return COLLAGE_OK;
}

static collage_status resize_defaults(struct importer *importer, struct draft *draft,
                                      struct error *error)
{
    collage_status status =
        add_string(importer, draft, "coordinate_transformation_mode", "asymmetric", error);
    if (status == COLLAGE_OK)
        status = add_string(importer, draft, "nearest_mode", "floor", error);
    if (status == COLLAGE_OK && draft->input_count == 2) {
        status = set_input(importer, draft, 2, draft->inputs[1], error);
        draft->inputs[1] = GRAPH_NONE;
    }
    return status;
}

/* Empty tensors stood for left-out inputs. */
static collage_status resize_empty_inputs(struct importer *importer, struct draft *draft,
                                          struct error *error)
{
    (void)error;
    for (uint32_t k = 1; k < draft->input_count; k++) {
        value_id v = draft->inputs[k];
        if (graph_is_constant(importer->graph, v) &&
            tensor_elements(&importer->graph->values[v].tensor) == 0)
            draft->inputs[k] = GRAPH_NONE;
    }
    while (draft->input_count > 1 && draft->inputs[draft->input_count - 1] == GRAPH_NONE)
        draft->input_count--;
    return COLLAGE_OK;
}

static collage_status upsample_scales(struct importer *importer, struct draft *draft,
                                      struct error *error)
{
    collage_attribute *a;
    value_id id;
    collage_status status =
        take_attribute(importer, draft, "scales", COLLAGE_ATTRIBUTE_FLOATS, &a, error);
    if (status != COLLAGE_OK || !a)
        return status;
    struct tensor tensor = { COLLAGE_FLOAT32, 1, { a->count }, (void *)(uintptr_t)a->floats };
    status = new_constant(importer, draft, "scales", tensor, &id, error);
    return status == COLLAGE_OK ? set_input(importer, draft, 1, id, error) : status;
}

static collage_status upsample_to_resize(struct importer *importer, struct draft *draft,
                                         struct error *error)
{
    draft->op_type = "Resize";
    return resize_defaults(importer, draft, error);
}

static collage_status refuse(struct importer *importer, struct draft *draft, struct error *error)
{
    (void)draft;
    return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                     "its form of opset %lld is not supported: convert the model to opset %d",
                     (long long)importer->opset, OPS_OPSET);
}

/* ---- Softmax of a matrix ---- */

/* Emits one node with one output: `op`(input, constant ints) or op(input) {axis = -1}. */
static collage_status emit_step(struct importer *importer, const struct draft *draft,
                                const char *op, value_id input, value_id operand, value_id *out,
                                struct error *error)
{
    struct arena *arena = importer->graph->arena;
    const char *what = operand == GRAPH_NONE ? "softmax" : "flat";
    const char *output = importer_fresh_name(importer, draft->name, what);
    value_id inputs[2] = { input, operand };
    struct draft step = { .op_type = op,
                          .name = output,
                          .inputs = inputs,
                          .input_count = operand == GRAPH_NONE ? 1 : 2,
                          .outputs = arena_alloc(arena, sizeof(value_id)),
                          .output_names = arena_alloc(arena, sizeof(char *)),
                          .output_count = 1 };
    if (!output || !step.outputs || !step.output_names)
        return error_memory(error);
    step.output_names[0] = output;
    collage_status status = COLLAGE_OK;
    if (operand == GRAPH_NONE)
        status = add_attribute(
            importer, &step,
            (collage_attribute){ .name = "axis", .kind = COLLAGE_ATTRIBUTE_INT, .i = -1 }, error);
    if (status == COLLAGE_OK)
        status = importer_emit(importer, &step, error);
    *out = step.outputs[0];
    return status;
}

/* The node becomes Reshape(Softmax(Reshape(x, [rows, columns])), shape of x). */
static collage_status reshape_around(struct importer *importer, struct draft *draft, int64_t axis,
                                     struct error *error)
{
    struct tensor shape = importer->graph->values[draft->inputs[0]].tensor;
    int64_t flat[2] = { 1, 1 };
    value_id flat_id, shape_id, matrix, result;
    for (int32_t k = 0; k < shape.rank; k++)
        flat[k >= axis] *= shape.dims[k];
    collage_status status = new_ints(importer, draft, "flat_shape", flat, 2, &flat_id, error);
    if (status == COLLAGE_OK)
        status =
            new_ints(importer, draft, "shape", shape.dims, (uint32_t)shape.rank, &shape_id, error);
    if (status == COLLAGE_OK)
        status = emit_step(importer, draft, "Reshape", draft->inputs[0], flat_id, &matrix, error);
    if (status == COLLAGE_OK)
        status = emit_step(importer, draft, draft->op_type, matrix, GRAPH_NONE, &result, error);
    if (status == COLLAGE_OK)
        status = set_input(importer, draft, 1, shape_id, error);
    if (status != COLLAGE_OK)
        return status;
    draft->inputs[0] = result;
    draft->op_type = "Reshape";
    return COLLAGE_OK;
}

/* Before opset 13 the input was taken as a matrix whose rows end before `axis`, which was 1 by
 * default. That is the new meaning where the axis is the last one. */
static collage_status softmax_matrix(struct importer *importer, struct draft *draft,
                                     struct error *error)
{
    collage_attribute *a;
    collage_status status =
        take_attribute(importer, draft, "axis", COLLAGE_ATTRIBUTE_INT, &a, error);
    if (status != COLLAGE_OK)
        return status;
    if (draft->input_count != 1)
        return error_set(error, COLLAGE_ERROR_FORMAT, "it takes one input");
    int64_t rank = importer->graph->values[draft->inputs[0]].tensor.rank;
    int64_t axis = a ? a->i : 1;
    if (axis < -rank || axis > rank)
        return error_set(error, COLLAGE_ERROR_SHAPE, "axis %lld is out of range", (long long)axis);
    axis += axis < 0 ? rank : 0;
    if (rank > 0 && axis == rank - 1)
        return add_attribute(
            importer, draft,
            (collage_attribute){ .name = "axis", .kind = COLLAGE_ATTRIBUTE_INT, .i = -1 }, error);
    return reshape_around(importer, draft, axis, error);
}

/* ---- attributes that newer opsets dropped ---- */

static collage_status drop_saturate(struct importer *importer, struct draft *draft,
                                    struct error *error)
{
    collage_status status =
        drop_attribute(importer, draft, "saturate", COLLAGE_ATTRIBUTE_INT, error);
    return status == COLLAGE_OK
               ? drop_attribute(importer, draft, "round_mode", COLLAGE_ATTRIBUTE_STRING, error)
               : status;
}

static const struct {
    const char *op;
    int32_t below; /* applies to opsets smaller than this */
    upgrade_fn apply;
} table[] = {
    { "BatchNormalization", 9, batch_norm_spatial },
    { "BatchNormalization", 14, batch_norm_outputs },
    { "Cast", OPS_OPSET + 1, drop_saturate }, /* about float8 only, which no graph has */
    { "Clip", 11, clip_limits },
    { "Dropout", 12, dropout_ratio },
    { "GroupNormalization", 21, refuse },
    { "LogSoftmax", 13, softmax_matrix },
    { "Pad", 11, pad_to_inputs },
    { "ReduceL1", 18, axes_to_input },
    { "ReduceL2", 18, axes_to_input },
    { "ReduceLogSum", 18, axes_to_input },
    { "ReduceLogSumExp", 18, axes_to_input },
    { "ReduceMax", 18, axes_to_input },
    { "ReduceMean", 18, axes_to_input },
    { "ReduceMin", 18, axes_to_input },
    { "ReduceProd", 18, axes_to_input },
    { "ReduceSum", 13, axes_to_input },
    { "ReduceSumSquare", 18, axes_to_input },
    { "Resize", 11, resize_defaults },
    { "Resize", OPS_OPSET + 1, resize_empty_inputs },
    { "Slice", 10, slice_to_inputs },
    { "Softmax", 13, softmax_matrix },
    { "Split", 13, split_to_input },
    { "Split", 18, split_number },
    { "Squeeze", 13, axes_to_input },
    { "Unsqueeze", 13, axes_to_input },
    { "Upsample", 9, upsample_scales },
    { "Upsample", 10, upsample_to_resize },
};

collage_status importer_upgrade(struct importer *importer, struct draft *draft, struct error *error)
{
    const char *op = draft->op_type; /* an upgrade may change it */
    collage_status status = COLLAGE_OK;
    for (size_t row = 0; status == COLLAGE_OK && row < sizeof table / sizeof *table; row++)
        if (importer->opset < table[row].below && strcmp(table[row].op, op) == 0)
            status = table[row].apply(importer, draft, error);
    return status;
}
