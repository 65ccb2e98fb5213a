/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c: what copies elements to other places: Slice, Split, Gather of one index, Expand. Each is
 * a reorder from the input seen with other strides, from another first element on. */
#include "recipe.h"

#include <string.h>

static bool is_integer(const collage_value *value)
{
    return value->dtype == COLLAGE_INT64 || value->dtype == COLLAGE_INT32;
}

bool constant_ints(struct recipe *recipe, uint32_t id, uint32_t most, int64_t *values,
                   uint32_t *count)
{
    *count = 0;
    if (id == COLLAGE_NO_VALUE)
        return true;
    const collage_value *value = recipe->graph->values[id];
    if (!value_is_constant(value) || !is_integer(value) || value->rank > 1)
        return refuse(recipe, "'%s' is no constant vector of integers", value->name);
    int64_t elements = dims_product(value->dims, 0, value->rank);
    if (elements > most)
        return refuse(recipe, "'%s' has more than %u numbers", value->name, most);
    for (*count = 0; *count < elements; ++*count) {
        if (value->dtype == COLLAGE_INT64) {
            memcpy(&values[*count], (const int64_t *)value->data + *count, sizeof values[0]);
        } else {
            int32_t number;
            memcpy(&number, (const int32_t *)value->data + *count, sizeof number);
            values[*count] = number;
        }
    }
    return true;
}

bool resolve_axis(struct recipe *recipe, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return refuse(recipe, "an axis is out of range");
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

/* Strides of the head's row-major input. */
static void input_strides(const struct recipe *recipe, int64_t *strides)
{
    const collage_value *in = head_input(recipe, 0);
    int64_t stride = 1;
    for (int d = in->rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= in->dims[d];
    }
}

/* The output in row-major order from the input seen with its dims and these strides. */
static bool add_copy(struct recipe *recipe, uint32_t output, const int64_t *strides, int64_t offset)
{
    const collage_value *out = recipe->graph->values[output];
    int64_t one[] = { 1 };
    int rank = out->rank ? out->rank : 1;
    const int64_t *dims = out->rank ? out->dims : one;
    recipe->family = FAMILY_REORDER;
    struct operand *from = operand_add(recipe, DNNL_ARG_FROM, head_input_id(recipe, 0), rank, dims);
    if (!from)
        return false;
    if (from->constant)
        return refuse(recipe, "the input is constant");
    memcpy(from->strides, strides, (size_t)out->rank * sizeof strides[0]);
    from->offset = offset;
    return operand_add(recipe, DNNL_ARG_TO, output, rank, dims) != NULL;
}

/* ---- Slice ---- */

struct slice_axes {
    int64_t starts[MAX_RANK], axes[MAX_RANK], steps[MAX_RANK];
    uint32_t count;
};

static bool read_slice(struct recipe *recipe, struct slice_axes *out)
{
    uint32_t axis_count, step_count;
    if (!constant_ints(recipe, head_input_id(recipe, 1), MAX_RANK, out->starts, &out->count) ||
        !constant_ints(recipe, head_input_id(recipe, 3), MAX_RANK, out->axes, &axis_count) ||
        !constant_ints(recipe, head_input_id(recipe, 4), MAX_RANK, out->steps, &step_count))
        return false;
    for (uint32_t k = 0; k < out->count && head_input_id(recipe, 3) == COLLAGE_NO_VALUE; k++)
        out->axes[axis_count++] = k;
    for (uint32_t k = 0; k < out->count && head_input_id(recipe, 4) == COLLAGE_NO_VALUE; k++)
        out->steps[step_count++] = 1;
    if (axis_count != out->count || step_count != out->count)
        return refuse(recipe, "starts, axes and steps are of different lengths");
    return true;
}

/* Steps forward only; the output's size, which shape inference found, says where it ends. */
bool translate_slice(struct recipe *recipe)
{
    const collage_value *in = head_input(recipe, 0), *out = head_output(recipe);
    int64_t strides[MAX_RANK], whole[MAX_RANK], offset = 0;
    struct slice_axes slices;
    input_strides(recipe, whole);
    memcpy(strides, whole, sizeof strides);
    if (!read_slice(recipe, &slices))
        return false;
    for (uint32_t k = 0; k < slices.count; k++) {
        int d = 0;
        if (!resolve_axis(recipe, slices.axes[k], in->rank, &d))
            return false;
        int64_t dim = in->dims[d], step = slices.steps[k], start = slices.starts[k];
        start = start < -dim ? 0 : start < 0 ? start + dim : start;
        if (step < 1 || start >= dim)
            return refuse(recipe, "a Slice backwards, or of nothing, is not mapped");
        if (out->dims[d] > 1 + (dim - 1 - start) / step)
            return refuse(recipe, "the output reaches beyond the input");
        strides[d] = out->dims[d] == 1 ? whole[d] : whole[d] * step;
        offset += start * whole[d];
    }
    return add_copy(recipe, recipe_output_id(recipe), strides, offset);
}

/* ---- Split ---- */

/* One pass for each output that is used. */
bool translate_split(struct recipe *recipe)
{
    const collage_node *head = recipe_head(recipe);
    const collage_value *in = head_input(recipe, 0);
    const collage_subgraph *graph = recipe->graph;
    int axis = 0;
    int64_t strides[MAX_RANK], offset = 0;
    if (!resolve_axis(recipe, collage_node_int(head, "axis", 0), in->rank, &axis))
        return false;
    if (graph->output_count > MAX_PASSES)
        return refuse(recipe, "it has more than %d outputs", MAX_PASSES);
    recipe->pass_count = graph->output_count;
    uint32_t wanted = graph->outputs[recipe->pass];
    uint32_t k = 0;
    for (; k < head->output_count && head->outputs[k] != wanted; k++) {
        if (head->outputs[k] == COLLAGE_NO_VALUE)
            return refuse(recipe, "an output of Split is left out");
        offset += graph->values[head->outputs[k]]->dims[axis];
    }
    if (k == head->output_count || graph->values[wanted]->rank != in->rank ||
        offset + graph->values[wanted]->dims[axis] > in->dims[axis])
        return refuse(recipe, "the outputs do not fit the input");
    input_strides(recipe, strides);
    return add_copy(recipe, wanted, strides, offset * strides[axis]);
}

/* ---- Gather ---- */

/* One constant index: the output is the input without that axis. */
bool translate_gather(struct recipe *recipe)
{
    const collage_value *in = head_input(recipe, 0), *indices = head_input(recipe, 1);
    const collage_value *out = head_output(recipe);
    int axis = 0;
    int64_t index, whole[MAX_RANK], strides[MAX_RANK] = { 0 };
    if (!indices || !value_is_constant(indices) || !is_integer(indices) ||
        dims_product(indices->dims, 0, indices->rank) != 1)
        return refuse(recipe, "only Gather of one constant index is mapped");
    if (!resolve_axis(recipe, collage_node_int(recipe_head(recipe), "axis", 0), in->rank, &axis))
        return false;
    if (indices->dtype == COLLAGE_INT64) {
        memcpy(&index, indices->data, sizeof index);
    } else {
        int32_t number;
        memcpy(&number, indices->data, sizeof number);
        index = number;
    }
    index += index < 0 ? in->dims[axis] : 0;
    if (index < 0 || index >= in->dims[axis] || out->rank != in->rank - 1 + indices->rank)
        return refuse(recipe, "the index is out of range");
    input_strides(recipe, whole);
    for (int d = 0; d < axis; d++)
        strides[d] = whole[d];
    for (int d = 0; d < indices->rank; d++)
        strides[axis + d] = whole[axis]; /* of dims that are 1 */
    for (int d = axis + 1; d < in->rank; d++)
        strides[indices->rank + d - 1] = whole[d];
    return add_copy(recipe, recipe_output_id(recipe), strides, index * whole[axis]);
}

/* ---- Expand ---- */

/* A stride of 0 repeats. */
bool translate_expand(struct recipe *recipe)
{
    const collage_value *in = head_input(recipe, 0), *out = head_output(recipe);
    int64_t aligned[MAX_RANK], whole[MAX_RANK], strides[MAX_RANK] = { 0 };
    if (!value_align(recipe, in, aligned))
        return refuse(recipe, "the input does not broadcast to the output");
    input_strides(recipe, whole);
    int lead = out->rank - in->rank;
    for (int d = lead; d < out->rank; d++)
        strides[d] = in->dims[d - lead] == 1 ? 0 : whole[d - lead];
    return add_copy(recipe, recipe_output_id(recipe), strides, 0);
}
