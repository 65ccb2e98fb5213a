/* SPDX-License-Identifier: Apache-2.0 */
#include "moves.h"

#include <math.h>
#include <string.h>

static bool refuse(const struct moves *m, const char *text)
{
    fail(m->why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

static const collage_value *value_at(const struct moves *m, const uint32_t *values, uint32_t count,
                                     uint32_t index)
{
    return index < count && values[index] != COLLAGE_NO_VALUE ? m->subgraph->values[values[index]]
                                                              : NULL;
}

static const collage_value *input_at(const struct moves *m, uint32_t index)
{
    return value_at(m, m->node->inputs, m->node->input_count, index);
}

static const collage_value *output_at(const struct moves *m, uint32_t index)
{
    return value_at(m, m->node->outputs, m->node->output_count, index);
}

/* The sub-graph's output that is this value; UINT32_MAX: nobody needs it. */
static uint32_t output_of(const struct moves *m, uint32_t value)
{
    for (uint32_t k = 0; k < m->subgraph->output_count; k++) {
        if (m->subgraph->outputs[k] == value)
            return k;
    }
    return UINT32_MAX;
}

/* A tensor of float32, as it lies in memory. */
static bool describe(const struct moves *m, const collage_value *value, struct boxes_tensor *out)
{
    if (!value || value->dtype != COLLAGE_FLOAT32 || value->bytes < sizeof(float))
        return refuse(m, "a tensor is not float32, or empty, or its shape is unknown");
    if (!boxes_describe(value, value->data ? BOXES_PLAIN : m->layout, m->block, out))
        return refuse(m, "there are no channels, or too many dimensions");
    return true;
}

/* Integers that are constant; *count 0 if the input is left out. */
static bool read_constants(const struct moves *m, uint32_t index, int64_t out[BOXES_AXES],
                           int32_t *count)
{
    const collage_value *value = input_at(m, index);
    *count = 0;
    if (!value)
        return true;
    bool wide = value->dtype == COLLAGE_INT64;
    if (!value->data || (!wide && value->dtype != COLLAGE_INT32) || value->rank != 1 ||
        value->dims[0] > BOXES_AXES)
        return refuse(m, "starts, ends, axes, steps or pads are not constant");
    *count = (int32_t)value->dims[0];
    for (int32_t k = 0; k < *count; k++) {
        const char *from = value->data;
        int32_t narrow = 0;
        if (wide)
            memcpy(&out[k], from + (size_t)k * sizeof out[k], sizeof out[k]);
        else
            memcpy(&narrow, from + (size_t)k * sizeof narrow, sizeof narrow);
        if (!wide)
            out[k] = narrow;
    }
    return true;
}

static void whole(const struct boxes_tensor *tensor, struct boxes_range *ranges)
{
    for (int32_t d = 0; d < tensor->rank; d++)
        ranges[d] = (struct boxes_range){ 0, 1, tensor->dims[d] };
}

static const int32_t same_axes[BOXES_AXES] = { 0, 1, 2, 3, 4, 5, 6, 7 };

static bool read_axis(const struct moves *m, int32_t rank, int64_t fallback, int32_t *axis)
{
    int64_t given = collage_node_int(m->node, "axis", fallback);
    given = given < 0 ? given + rank : given;
    *axis = (int32_t)given;
    return (given >= 0 && given < rank) || refuse(m, "the axis is out of range");
}

/* Are all dimensions but one equal? */
static bool alike(const struct boxes_tensor *a, const struct boxes_tensor *b, int32_t but)
{
    for (int32_t d = 0; d < a->rank && a->rank == b->rank; d++) {
        if (d != but && a->dims[d] != b->dims[d])
            return false;
    }
    return a->rank == b->rank;
}

static bool read_concat(struct moves *m)
{
    struct boxes_tensor to, from;
    struct boxes_range at[BOXES_AXES];
    int32_t axis;
    if (m->node->output_count != 1 || !describe(m, output_at(m, 0), &to) ||
        !read_axis(m, to.rank, -1000, &axis))
        return false;
    uint32_t output = output_of(m, m->node->outputs[0]);
    int64_t done = 0;
    whole(&to, at);
    for (uint32_t k = 0; k < m->node->input_count; k++) {
        const collage_value *value = input_at(m, k);
        if (value && value->dtype == COLLAGE_FLOAT32 && value->bytes == 0)
            continue; /* nothing of it is there */
        if (!describe(m, value, &from))
            return false;
        if (!alike(&from, &to, axis) || done + from.dims[axis] > to.dims[axis])
            return refuse(m, "the shapes do not fit");
        struct boxes_range ranges[BOXES_AXES];
        whole(&from, ranges);
        at[axis] = (struct boxes_range){ done, 1, from.dims[axis] };
        done += from.dims[axis];
        if (m->boxes)
            boxes_add(m->boxes, &(struct boxes_move){ .from = &from,
                                                      .to = &to,
                                                      .from_ranges = ranges,
                                                      .to_ranges = at,
                                                      .axes = same_axes,
                                                      .operand = m->node->inputs[k],
                                                      .output = output });
    }
    if (m->boxes)
        boxes_add_padding(m->boxes, &to, output);
    return done == to.dims[axis] || refuse(m, "the shapes do not fit");
}

/* The whole of one output, from the ranges of the input. */
static void cut(struct moves *m, const struct boxes_tensor *from, const struct boxes_range *ranges,
                const struct boxes_tensor *to, uint32_t output)
{
    struct boxes_range at[BOXES_AXES];
    if (!m->boxes || output == UINT32_MAX)
        return;
    whole(to, at);
    boxes_add(m->boxes, &(struct boxes_move){ .from = from,
                                              .to = to,
                                              .from_ranges = ranges,
                                              .to_ranges = at,
                                              .axes = same_axes,
                                              .operand = m->node->inputs[0],
                                              .output = output });
    boxes_add_padding(m->boxes, to, output);
}

static bool read_split(struct moves *m)
{
    struct boxes_tensor from, to;
    struct boxes_range ranges[BOXES_AXES];
    int32_t axis;
    if (!describe(m, input_at(m, 0), &from) || !read_axis(m, from.rank, 0, &axis))
        return false;
    int64_t done = 0;
    whole(&from, ranges);
    for (uint32_t k = 0; k < m->node->output_count; k++) {
        if (!describe(m, output_at(m, k), &to))
            return false;
        if (!alike(&from, &to, axis) || done + to.dims[axis] > from.dims[axis])
            return refuse(m, "the shapes do not fit");
        ranges[axis].first = done;
        done += to.dims[axis];
        cut(m, &from, ranges, &to, output_of(m, m->node->outputs[k]));
    }
    return true;
}

/* Where a slice begins: counted from the end if negative, and put between the ends. */
static int64_t slice_start(int64_t start, int64_t step, int64_t dim)
{
    int64_t most = step < 0 ? dim - 1 : dim;
    start = start < 0 ? start + dim : start;
    return start < 0 ? 0 : start > most ? most : start;
}

static bool read_slice(struct moves *m)
{
    struct boxes_tensor from, to;
    struct boxes_range ranges[BOXES_AXES];
    int64_t starts[BOXES_AXES], axes[BOXES_AXES], steps[BOXES_AXES];
    int32_t count, axis_count, step_count;
    if (m->node->output_count != 1 || !describe(m, input_at(m, 0), &from) ||
        !describe(m, output_at(m, 0), &to) || !read_constants(m, 1, starts, &count) ||
        !read_constants(m, 3, axes, &axis_count) || !read_constants(m, 4, steps, &step_count))
        return false;
    if (count > from.rank || from.rank != to.rank || (axis_count && axis_count != count) ||
        (step_count && step_count != count))
        return refuse(m, "starts, axes and steps do not fit");
    whole(&from, ranges);
    for (int32_t k = 0; k < count; k++) {
        int64_t axis = axis_count ? axes[k] : k, step = step_count ? steps[k] : 1;
        axis = axis < 0 ? axis + from.rank : axis;
        if (axis < 0 || axis >= from.rank || step == 0 || step > INT32_MAX || step < -INT32_MAX)
            return refuse(m, "starts, axes and steps do not fit");
        ranges[axis].first = slice_start(starts[k], step, from.dims[axis]);
        ranges[axis].step = step;
    }
    for (int32_t d = 0; d < from.rank; d++) {
        int64_t last = ranges[d].first + (to.dims[d] - 1) * ranges[d].step;
        if (ranges[d].first >= from.dims[d] || last < 0 || last >= from.dims[d])
            return refuse(m, "starts and ends do not fit");
        if (d == from.blocked && ranges[d].step != 1)
            return refuse(m, "blocks of channels are not cut in steps");
    }
    cut(m, &from, ranges, &to, output_of(m, m->node->outputs[0]));
    return true;
}

static bool read_transpose(struct moves *m)
{
    struct boxes_tensor from, to;
    struct boxes_range ranges[BOXES_AXES], at[BOXES_AXES];
    int32_t axes[BOXES_AXES];
    uint32_t seen = 0;
    const collage_attribute *perm = collage_node_attribute(m->node, "perm", COLLAGE_ATTRIBUTE_INTS);
    if (m->layout != BOXES_PLAIN)
        return refuse(m, "only row-major tensors are turned");
    if (m->node->output_count != 1 || !describe(m, input_at(m, 0), &from) ||
        !describe(m, output_at(m, 0), &to))
        return false;
    if (from.rank != to.rank || (perm && perm->count != (uint32_t)from.rank))
        return refuse(m, "the shapes do not fit");
    for (int32_t d = 0; d < to.rank; d++) {
        int64_t axis = perm ? perm->ints[d] : to.rank - 1 - d;
        if (axis < 0 || axis >= to.rank || seen & 1u << axis || from.dims[axis] != to.dims[d])
            return refuse(m, "the shapes do not fit");
        seen |= 1u << axis;
        axes[d] = (int32_t)axis;
    }
    whole(&to, ranges);
    whole(&to, at);
    if (m->boxes)
        boxes_add(m->boxes, &(struct boxes_move){ .from = &from,
                                                  .to = &to,
                                                  .from_ranges = ranges,
                                                  .to_ranges = at,
                                                  .axes = axes,
                                                  .operand = m->node->inputs[0],
                                                  .output = output_of(m, m->node->outputs[0]) });
    return true;
}

/* ---- Pad ---- */

static bool read_pad_value(struct moves *m, float *value)
{
    const collage_value *given = input_at(m, 2);
    *value = 0.0f;
    if (!given)
        return true;
    if (!given->data || given->dtype != COLLAGE_FLOAT32 || given->bytes < sizeof *value)
        return refuse(m, "the value of the padding is not constant");
    memcpy(value, given->data, sizeof *value);
    return true;
}

/* Pads at the beginnings, axis by axis; those at the ends follow from the shapes. */
static bool read_pads(struct moves *m, const struct boxes_tensor *from,
                      const struct boxes_tensor *to, int64_t before[BOXES_AXES])
{
    const collage_value *pads = input_at(m, 1);
    int64_t axes[BOXES_AXES], given;
    int32_t axis_count;
    if (!read_constants(m, 3, axes, &axis_count))
        return false;
    int32_t count = input_at(m, 3) ? axis_count : from->rank;
    if (!pads || !pads->data || pads->dtype != COLLAGE_INT64 || pads->rank != 1 ||
        pads->dims[0] != 2 * (int64_t)count || from->rank != to->rank)
        return refuse(m, "the pads are not constant");
    memset(before, 0, BOXES_AXES * sizeof *before);
    for (int32_t k = 0; k < 2 * count; k++) {
        memcpy(&given, (const char *)pads->data + (size_t)k * sizeof given, sizeof given);
        int64_t axis = input_at(m, 3) ? axes[k % count] : k % count;
        axis = axis < 0 ? axis + from->rank : axis;
        if (given < 0 || axis < 0 || axis >= from->rank)
            return refuse(m, "pads that cut are not known here");
        if (k < count)
            before[axis] = given;
    }
    for (int32_t d = 0; d < from->rank; d++) {
        if (before[d] > to->dims[d] - from->dims[d])
            return refuse(m, "the shapes do not fit");
    }
    return true;
}

static bool read_pad(struct moves *m)
{
    struct boxes_tensor from, to;
    struct boxes_range ranges[BOXES_AXES], at[BOXES_AXES];
    int64_t before[BOXES_AXES];
    float value;
    if (strcmp(collage_node_string(m->node, "mode", "constant"), "constant") != 0)
        return refuse(m, "only constants are padded with");
    if (m->node->output_count != 1 || !describe(m, input_at(m, 0), &from) ||
        !describe(m, output_at(m, 0), &to) || !read_pads(m, &from, &to, before) ||
        !read_pad_value(m, &value))
        return false;
    if (!m->boxes)
        return true;
    struct boxes_move move = { .to = &to,
                               .to_ranges = at,
                               .axes = same_axes,
                               .value = value,
                               .operand = m->node->inputs[0],
                               .output = output_of(m, m->node->outputs[0]) };
    whole(&to, at);
    for (int32_t d = 0; d < to.rank; d++) { /* slabs before and behind; then inside of them */
        int64_t behind = before[d] + from.dims[d];
        at[d] = (struct boxes_range){ 0, 1, before[d] };
        boxes_add(m->boxes, &move);
        at[d] = (struct boxes_range){ behind, 1, to.dims[d] - behind };
        boxes_add(m->boxes, &move);
        at[d] = (struct boxes_range){ before[d], 1, from.dims[d] };
    }
    whole(&from, ranges);
    move.from = &from;
    move.from_ranges = ranges;
    boxes_add(m->boxes, &move);
    boxes_add_padding(m->boxes, &to, move.output);
    return true;
}

/* ---- Resize ---- */

/* Does each element become `times` neighbours? True of these ways to round at whole scales. */
static bool is_repetition(const collage_node *node)
{
    const char *place = collage_node_string(node, "coordinate_transformation_mode", "half_pixel");
    const char *nearest = collage_node_string(node, "nearest_mode", "round_prefer_floor");
    if (strcmp(collage_node_string(node, "mode", "nearest"), "nearest") != 0)
        return false;
    if (strcmp(place, "asymmetric") == 0)
        return strcmp(nearest, "floor") == 0;
    return (strcmp(place, "half_pixel") == 0 || strcmp(place, "pytorch_half_pixel") == 0) &&
           strncmp(nearest, "round_prefer", strlen("round_prefer")) == 0;
}

/* Scales that are given must be the quotients of the sizes. */
static bool check_scales(struct moves *m, const int64_t *repeat, int32_t rank)
{
    const collage_value *scales = input_at(m, 2);
    const collage_attribute *axes = collage_node_attribute(m->node, "axes", COLLAGE_ATTRIBUTE_INTS);
    if (!scales || scales->bytes == 0) {
        const char *policy = collage_node_string(m->node, "keep_aspect_ratio_policy", "stretch");
        return strcmp(policy, "stretch") == 0 || refuse(m, "the ratio is kept");
    }
    int64_t count = axes ? (int64_t)axes->count : rank;
    if (!scales->data || scales->dtype != COLLAGE_FLOAT32 || scales->rank != 1 ||
        scales->dims[0] != count)
        return refuse(m, "the scales are not constant");
    for (int64_t k = 0; k < count; k++) {
        float scale;
        int64_t axis = axes ? axes->ints[k] : k;
        axis = axis < 0 ? axis + rank : axis;
        memcpy(&scale, (const char *)scales->data + (size_t)k * sizeof scale, sizeof scale);
        if (axis < 0 || axis >= rank || scale != (float)repeat[axis])
            return refuse(m, "the scales are not whole");
    }
    return true;
}

static bool read_resize(struct moves *m)
{
    struct boxes_tensor from, to;
    struct boxes_range ranges[BOXES_AXES], at[BOXES_AXES];
    int64_t repeat[BOXES_AXES];
    if (!is_repetition(m->node))
        return refuse(m, "only the nearest elements are repeated");
    if (m->node->output_count != 1 || !describe(m, input_at(m, 0), &from) ||
        !describe(m, output_at(m, 0), &to))
        return false;
    if (from.rank != to.rank)
        return refuse(m, "the shapes do not fit");
    for (int32_t d = 0; d < to.rank; d++) {
        repeat[d] = to.dims[d] / from.dims[d];
        if (to.dims[d] % from.dims[d] != 0 || (d == to.blocked && repeat[d] != 1))
            return refuse(m, "the scales are not whole");
    }
    if (!check_scales(m, repeat, to.rank))
        return false;
    whole(&from, ranges);
    whole(&to, at);
    if (!m->boxes)
        return true;
    boxes_add(m->boxes, &(struct boxes_move){ .from = &from,
                                              .to = &to,
                                              .from_ranges = ranges,
                                              .to_ranges = at,
                                              .axes = same_axes,
                                              .repeat = repeat,
                                              .operand = m->node->inputs[0],
                                              .output = output_of(m, m->node->outputs[0]) });
    boxes_add_padding(m->boxes, &to, output_of(m, m->node->outputs[0]));
    return true;
}

static const struct row {
    const char *op_type;
    bool (*read)(struct moves *moves);
} rows[] = {
    { "Concat", read_concat },       { "Split", read_split }, { "Slice", read_slice },
    { "Transpose", read_transpose }, { "Pad", read_pad },     { "Resize", read_resize },
};

bool moves_read(struct moves *moves)
{
    const collage_node *node = moves->node = moves->subgraph->nodes[0];
    if (moves->subgraph->node_count != 1)
        return refuse(moves, "more than one node");
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        if (strcmp(node->op_type, rows[k].op_type) == 0)
            return rows[k].read(moves);
    }
    fail(moves->why, COLLAGE_ERROR_UNSUPPORTED, "%s is not among these kernels", node->op_type);
    return false;
}
