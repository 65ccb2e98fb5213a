/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Older opsets to OPS_OPSET: a table of operator, the opset below which it applies, and what to do.
 * Rows of one operator apply one after the other, so each needs to know its own step only. The
 * changes are those of ONNX's docs/Changelog.md.
 */
#include <string.h>

#include "onnx/draft.h"

typedef collage_status (*upgrade_fn)(struct importer *importer, struct draft *draft,
                                     struct error *error);

/* ---- one function an upgrade ---- */

static collage_status axes_to_input(struct importer *importer, struct draft *draft,
                                    struct error *error)
{
    return draft_ints_to_input(importer, draft, "axes", 1, error);
}

static collage_status split_to_input(struct importer *importer, struct draft *draft,
                                     struct error *error)
{
    return draft_ints_to_input(importer, draft, "split", 1, error);
}

/* Equal parts were the default; now their number is an attribute. */
static collage_status split_number(struct importer *importer, struct draft *draft,
                                   struct error *error)
{
    if (draft->input_count >= 2)
        return COLLAGE_OK;
    return draft_add_attribute(importer, draft,
                               (collage_attribute){ .name = "num_outputs",
                                                    .kind = COLLAGE_ATTRIBUTE_INT,
                                                    .i = draft->output_count },
                               error);
}

static collage_status clip_limits(struct importer *importer, struct draft *draft,
                                  struct error *error)
{
    collage_status status = draft_float_to_input(importer, draft, "min", 1, error);
    return status == COLLAGE_OK ? draft_float_to_input(importer, draft, "max", 2, error) : status;
}

static collage_status slice_to_inputs(struct importer *importer, struct draft *draft,
                                      struct error *error)
{
    static const char *const names[] = { "starts", "ends", "axes" };
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; status == COLLAGE_OK && k < 3; k++)
        status = draft_ints_to_input(importer, draft, names[k], k + 1, error);
    return status;
}

static collage_status pad_to_inputs(struct importer *importer, struct draft *draft,
                                    struct error *error)
{
    collage_status status = draft_ints_to_input(importer, draft, "pads", 1, error);
    return status == COLLAGE_OK ? draft_float_to_input(importer, draft, "value", 2, error) : status;
}

static collage_status dropout_ratio(struct importer *importer, struct draft *draft,
                                    struct error *error)
{
    return draft_float_to_input(importer, draft, "ratio", 1, error);
}

/* spatial = 0 had other shapes; the statistics were outputs of training only. */
static collage_status batch_norm_spatial(struct importer *importer, struct draft *draft,
                                         struct error *error)
{
    collage_attribute *a;
    collage_status status =
        draft_take_attribute(importer, draft, "spatial", COLLAGE_ATTRIBUTE_INT, &a, error);
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

static bool has_text(const struct draft *draft, const char *name, const char *text)
{
    for (uint32_t k = 0; k < draft->attribute_count; k++)
        if (strcmp(draft->attributes[k].name, name) == 0)
            return draft->attributes[k].kind == COLLAGE_ATTRIBUTE_STRING &&
                   strcmp(draft->attributes[k].s, text) == 0;
    return false;
}

static bool is_nearest(const struct draft *draft)
{
    for (uint32_t k = 0; k < draft->attribute_count; k++)
        if (strcmp(draft->attributes[k].name, "mode") == 0)
            return has_text(draft, "mode", "nearest");
    return true; /* the default */
}

/* How `nearest` rounded when no attribute said so: down while enlarging, up while shrinking, as
 * ONNX's example of that time shows and the libraries do. */
static collage_status old_rounding(const struct importer *importer, const struct draft *draft,
                                   const char **rounding, struct error *error)
{
    const value_id scales = draft_input(draft, 1);
    bool enlarges = false, shrinks = false;
    if (graph_is_constant(importer->graph, scales)) { /* if not, inference refuses it */
        const struct tensor *tensor = &importer->graph->values[scales].tensor;
        for (int64_t i = 0; i < tensor_elements(tensor); i++) {
            enlarges = enlarges || tensor_get(tensor, i) > 1;
            shrinks = shrinks || tensor_get(tensor, i) < 1;
        }
    }
    if (enlarges && shrinks && is_nearest(draft))
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "before opset 11 enlarging one axis and shrinking another is not "
                         "supported");
    *rounding = shrinks ? "ceil" : "floor";
    return COLLAGE_OK;
}

static collage_status resize_defaults(struct importer *importer, struct draft *draft,
                                      struct error *error)
{
    const char *rounding = NULL;
    collage_status status = old_rounding(importer, draft, &rounding, error);
    if (status == COLLAGE_OK)
        status = draft_add_string(importer, draft, "coordinate_transformation_mode", "asymmetric",
                                  error);
    if (status == COLLAGE_OK)
        status = draft_add_string(importer, draft, "nearest_mode", rounding, error);
    if (status == COLLAGE_OK && draft->input_count == 2) {
        status = draft_set_input(importer, draft, 2, draft->inputs[1], error);
        draft->inputs[1] = GRAPH_NONE;
    }
    return status;
}

/* The mode tf_half_pixel_for_nn, which opset 13 dropped, was half_pixel moved by half an element.
 * Rounded, that is half_pixel rounded in another way. */
static collage_status resize_half_pixel_for_nn(struct importer *importer, struct draft *draft,
                                               struct error *error)
{
    static const char mode[] = "coordinate_transformation_mode";
    collage_attribute *how;
    if (!has_text(draft, mode, "tf_half_pixel_for_nn"))
        return COLLAGE_OK;
    collage_status status = draft_take_attribute(importer, draft, "nearest_mode",
                                                 COLLAGE_ATTRIBUTE_STRING, &how, error);
    if (status == COLLAGE_OK)
        status = draft_drop_attribute(importer, draft, mode, COLLAGE_ATTRIBUTE_STRING, error);
    if (status != COLLAGE_OK)
        return status;
    const char *rounding = how ? how->s : "round_prefer_floor";
    bool down = strcmp(rounding, "floor") == 0;
    bool halves_down = strcmp(rounding, "round_prefer_floor") == 0;
    if (!is_nearest(draft) || (!down && !halves_down))
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "tf_half_pixel_for_nn is supported with the mode 'nearest' and the "
                         "nearest_mode 'floor' or 'round_prefer_floor' only");
    status = draft_add_string(importer, draft, mode, "half_pixel", error);
    return status == COLLAGE_OK ? draft_add_string(importer, draft, "nearest_mode",
                                                   down ? "round_prefer_ceil" : "ceil", error)
                                : status;
}

/* Not every library counts axes from the end. Those out of range are left for inference to refuse.
 */
static collage_status resize_axes_from_front(struct importer *importer, struct draft *draft,
                                             struct error *error)
{
    collage_attribute *axes = NULL;
    collage_status status = draft_need_input(draft, 0, error);
    if (status == COLLAGE_OK)
        status =
            draft_take_attribute(importer, draft, "axes", COLLAGE_ATTRIBUTE_INTS, &axes, error);
    if (status != COLLAGE_OK || !axes)
        return status;
    int64_t rank = importer->graph->values[draft->inputs[0]].tensor.rank;
    int64_t *ints = arena_copy(importer->graph->arena, axes->ints, axes->count * sizeof *ints);
    if (!ints)
        return error_memory(error);
    for (uint32_t k = 0; k < axes->count; k++)
        ints[k] += ints[k] < 0 && ints[k] >= -rank ? rank : 0;
    axes->ints = ints;
    return draft_add_attribute(importer, draft, *axes, error);
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
        draft_take_attribute(importer, draft, "scales", COLLAGE_ATTRIBUTE_FLOATS, &a, error);
    if (status != COLLAGE_OK || !a)
        return status;
    struct tensor tensor = { COLLAGE_FLOAT32, 1, { a->count }, (void *)(uintptr_t)a->floats };
    status = draft_constant(importer, draft, "scales", tensor, &id, error);
    return status == COLLAGE_OK ? draft_set_input(importer, draft, 1, id, error) : status;
}

static collage_status upsample_to_resize(struct importer *importer, struct draft *draft,
                                         struct error *error)
{
    draft->op_type = "Resize";
    return resize_defaults(importer, draft, error);
}

/* Scale and bias had an element for each group; now for each channel. */
static collage_status spread_over_channels(struct importer *importer, struct draft *draft,
                                           uint32_t input, int64_t groups, int64_t channels,
                                           struct error *error)
{
    const int64_t axis = 1, spread[2] = { groups, channels / groups };
    const struct {
        const char *op, *what;
        const int64_t *ints;
        uint32_t count;
    } steps[] = { { "Unsqueeze", "axis", &axis, 1 },
                  { "Expand", "spread", spread, 2 },
                  { "Reshape", "channels", &channels, 1 } };
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < sizeof steps / sizeof *steps && status == COLLAGE_OK; k++) {
        value_id inputs[2] = { draft->inputs[input], GRAPH_NONE };
        status = draft_ints(importer, draft, steps[k].what, steps[k].ints, steps[k].count,
                            &inputs[1], error);
        if (status == COLLAGE_OK)
            status = draft_emit_step(importer, draft,
                                     &(struct draft_step){ steps[k].op, inputs, 2, NULL, 0 },
                                     &draft->inputs[input], error);
    }
    return status;
}

static collage_status group_norm_channels(struct importer *importer, struct draft *draft,
                                          struct error *error)
{
    int64_t groups;
    collage_status status = draft_take_int(importer, draft, "num_groups", 0, &groups, error);
    for (uint32_t k = 0; k < 3 && status == COLLAGE_OK; k++)
        status = draft_need_input(draft, k, error);
    if (status != COLLAGE_OK)
        return status;
    const struct tensor *x = &importer->graph->values[draft->inputs[0]].tensor;
    const int64_t channels = x->rank > 1 ? x->dims[1] : 0;
    if (groups < 1 || channels % groups != 0)
        return error_set(error, COLLAGE_ERROR_SHAPE, "its groups do not fit the channels");
    for (uint32_t k = 1; k < 3 && status == COLLAGE_OK; k++)
        status = spread_over_channels(importer, draft, k, groups, channels, error);
    return status == COLLAGE_OK ? draft_add_int(importer, draft, "num_groups", groups, error)
                                : status;
}

static collage_status rename_to(struct draft *draft, const char *name)
{
    draft->op_type = name;
    return COLLAGE_OK;
}

static collage_status scatter_to_elements(struct importer *importer, struct draft *draft,
                                          struct error *error)
{
    (void)importer, (void)error;
    return rename_to(draft, "ScatterElements");
}

/* What ONNX Runtime's tools wrote before there was RMSNormalization. */
static collage_status simplified_to_rms(struct importer *importer, struct draft *draft,
                                        struct error *error)
{
    (void)importer, (void)error;
    return rename_to(draft, "RMSNormalization");
}

static collage_status top_k_input(struct importer *importer, struct draft *draft,
                                  struct error *error)
{
    int64_t k;
    value_id id;
    collage_status status = draft_take_int(importer, draft, "k", -1, &k, error);
    if (status == COLLAGE_OK)
        status = draft_ints(importer, draft, "k", &k, 1, &id, error);
    return status == COLLAGE_OK ? draft_set_input(importer, draft, 1, id, error) : status;
}

static collage_status dft_axis(struct importer *importer, struct draft *draft, struct error *error)
{
    int64_t axis;
    value_id id;
    collage_status status = draft_take_int(importer, draft, "axis", 1, &axis, error);
    struct tensor scalar = { .dtype = COLLAGE_INT64, .data = &axis };
    if (status == COLLAGE_OK)
        status = draft_constant(importer, draft, "axis", scalar, &id, error);
    return status == COLLAGE_OK ? draft_set_input(importer, draft, 2, id, error) : status;
}

static collage_status grid_sample_mode(struct importer *importer, struct draft *draft,
                                       struct error *error)
{
    collage_attribute *mode;
    collage_status status =
        draft_take_attribute(importer, draft, "mode", COLLAGE_ATTRIBUTE_STRING, &mode, error);
    if (status != COLLAGE_OK || !mode)
        return status;
    const char *name = strcmp(mode->s, "bilinear") == 0  ? "linear"
                       : strcmp(mode->s, "bicubic") == 0 ? "cubic"
                                                         : mode->s;
    return draft_add_string(importer, draft, "mode", name, error);
}

static collage_status roi_align_mode(struct importer *importer, struct draft *draft,
                                     struct error *error)
{
    return draft_add_string(importer, draft, "coordinate_transformation_mode", "output_half_pixel",
                            error);
}

/* ---- Softmax of a matrix ---- */

/* The node becomes Reshape(Softmax(Reshape(x, [rows, columns])), shape of x). */
static collage_status reshape_around(struct importer *importer, struct draft *draft, int64_t axis,
                                     struct error *error)
{
    struct tensor shape = importer->graph->values[draft->inputs[0]].tensor;
    const collage_attribute last = { .name = "axis", .kind = COLLAGE_ATTRIBUTE_INT, .i = -1 };
    int64_t flat[2] = { 1, 1 };
    value_id flat_id, shape_id, matrix, result;
    for (int32_t k = 0; k < shape.rank; k++)
        flat[k >= axis] *= shape.dims[k];
    collage_status status = draft_ints(importer, draft, "flat_shape", flat, 2, &flat_id, error);
    if (status == COLLAGE_OK)
        status = draft_ints(importer, draft, "shape", shape.dims, (uint32_t)shape.rank, &shape_id,
                            error);
    if (status == COLLAGE_OK)
        status =
            draft_emit_step(importer, draft,
                            &(struct draft_step){
                                "Reshape", (value_id[]){ draft->inputs[0], flat_id }, 2, NULL, 0 },
                            &matrix, error);
    if (status == COLLAGE_OK)
        status = draft_emit_step(importer, draft,
                                 &(struct draft_step){ draft->op_type, &matrix, 1, &last, 1 },
                                 &result, error);
    if (status == COLLAGE_OK)
        status = draft_set_input(importer, draft, 1, shape_id, error);
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
        draft_take_attribute(importer, draft, "axis", COLLAGE_ATTRIBUTE_INT, &a, error);
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
        return draft_add_int(importer, draft, "axis", -1, error);
    return reshape_around(importer, draft, axis, error);
}

/* ---- attributes that newer opsets dropped ---- */

static collage_status drop_saturate(struct importer *importer, struct draft *draft,
                                    struct error *error)
{
    collage_status status =
        draft_drop_attribute(importer, draft, "saturate", COLLAGE_ATTRIBUTE_INT, error);
    return status == COLLAGE_OK ? draft_drop_attribute(importer, draft, "round_mode",
                                                       COLLAGE_ATTRIBUTE_STRING, error)
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
    { "DFT", 20, dft_axis },
    { "GridSample", 20, grid_sample_mode },
    { "GroupNormalization", 21, group_norm_channels },
    { "Hardmax", 13, softmax_matrix },
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
    { "Resize", 13, resize_half_pixel_for_nn },
    { "Resize", OPS_OPSET + 1, resize_empty_inputs },
    { "Resize", OPS_OPSET + 1, resize_axes_from_front },
    { "RoiAlign", 16, roi_align_mode },
    { "Scatter", OPS_OPSET + 1, scatter_to_elements },
    { "SimplifiedLayerNormalization", OPS_OPSET + 1, simplified_to_rms },
    { "Slice", 10, slice_to_inputs },
    { "Softmax", 13, softmax_matrix },
    { "Split", 13, split_to_input },
    { "Split", 18, split_number },
    { "Squeeze", 13, axes_to_input },
    { "TopK", 10, top_k_input },
    { "Unsqueeze", 13, axes_to_input },
    { "Upsample", 9, upsample_scales },
    { "Upsample", 10, upsample_to_resize },
};

bool importer_renames(const char *op_type)
{
    static const char *const old[] = { "Scatter", "SimplifiedLayerNormalization", "Upsample" };
    for (size_t k = 0; k < sizeof old / sizeof *old; k++)
        if (strcmp(old[k], op_type) == 0)
            return true;
    return false;
}

collage_status importer_upgrade(struct importer *importer, struct draft *draft, struct error *error)
{
    const char *op = draft->op_type; /* an upgrade may change it */
    collage_status status = COLLAGE_OK;
    for (size_t row = 0; status == COLLAGE_OK && row < sizeof table / sizeof *table; row++)
        if (importer->opset < table[row].below && strcmp(table[row].op, op) == 0)
            status = table[row].apply(importer, draft, error);
    return status;
}
