/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c: what moves or merges elements: Concat, reductions, Transpose, Identity (the reorder). */
#include "recipe.h"

#include <stdio.h>
#include <string.h>

/* ---- Concat ---- */

static bool check_concat_layout(struct recipe *recipe, int axis)
{
    const collage_node *head = recipe_head(recipe);
    if (recipe->choice->out == LAYOUT_PLAIN)
        return true;
    if (recipe->out_rank < 4 || recipe->out_rank > 5)
        return refuse(recipe, "only tensors of rank 4 and 5 are kept in channel layouts");
    int64_t block = recipe->target->avx512 ? 16 : 8;
    for (uint32_t k = 0; k < head->input_count; k++) {
        int64_t channels = head_input(recipe, k)->dims[1];
        if (recipe->choice->out == LAYOUT_BLOCKED && (axis != 1 || channels % block != 0))
            return refuse(recipe, "the channels do not fill whole blocks");
    }
    return true;
}

/* Row-major tensors are seen as before x axis x behind. */
static bool add_concat_operand(struct recipe *recipe, int arg, uint32_t id, int axis)
{
    const collage_value *v = recipe->graph->values[id];
    if (recipe->choice->out != LAYOUT_PLAIN) {
        struct operand *operand = operand_add(recipe, arg, id, v->rank, v->dims);
        return operand && operand_set_layout(recipe, operand, recipe->choice->out);
    }
    int64_t dims[] = { dims_product(v->dims, 0, axis), v->dims[axis],
                       dims_product(v->dims, axis + 1, v->rank) };
    return operand_add(recipe, arg, id, 3, dims) != NULL;
}

bool translate_concat(struct recipe *recipe)
{
    const collage_node *head = recipe_head(recipe);
    const collage_value *out = head_output(recipe);
    int64_t axis = collage_node_int(head, "axis", 0);
    axis = axis < 0 ? axis + out->rank : axis;
    if (axis < 0 || axis >= out->rank)
        return refuse(recipe, "the axis is out of range");
    int64_t sum = 0;
    for (uint32_t k = 0; k < head->input_count; k++) {
        const collage_value *v = head_input(recipe, k);
        if (!v || v->rank != out->rank)
            return refuse(recipe, "the operands' ranks differ");
        for (int d = 0; d < out->rank; d++) {
            if (d != axis && v->dims[d] != out->dims[d])
                return refuse(recipe, "the operands' shapes do not fit");
        }
        sum += v->dims[axis];
    }
    if (sum != out->dims[axis])
        return refuse(recipe, "the operands' shapes do not fit the output");
    if (!check_concat_layout(recipe, (int)axis))
        return false;
    recipe->family = FAMILY_CONCAT;
    recipe->axis = recipe->choice->out == LAYOUT_PLAIN ? 1 : (int)axis;
    for (uint32_t k = 0; k < head->input_count; k++) {
        if (!add_concat_operand(recipe, DNNL_ARG_MULTIPLE_SRC + (int)k, head->inputs[k], (int)axis))
            return false;
    }
    return add_concat_operand(recipe, DNNL_ARG_DST, recipe_output_id(recipe), (int)axis);
}

/* ---- reductions ---- */

static const struct reduction_row {
    const char *op_type;
    dnnl_alg_kind_t alg;
    float p;
} reduction_table[] = {
    { "ReduceMean", dnnl_reduction_mean, 0.0f },
    { "ReduceSum", dnnl_reduction_sum, 0.0f },
    { "ReduceMax", dnnl_reduction_max, 0.0f },
    { "ReduceMin", dnnl_reduction_min, 0.0f },
    { "ReduceProd", dnnl_reduction_mul, 0.0f },
    { "ReduceL1", dnnl_reduction_norm_lp_sum, 1.0f },
    { "ReduceL2", dnnl_reduction_norm_lp_sum, 2.0f },
    { "ReduceSumSquare", dnnl_reduction_norm_lp_power_p_sum, 2.0f },
};

/* Which dimensions go: from the constant second input, or all. */
static bool read_reduced(struct recipe *recipe, bool *reduced)
{
    const collage_value *in = head_input(recipe, 0), *axes = head_input(recipe, 1);
    if (collage_node_attribute(recipe_head(recipe), "axes", COLLAGE_ATTRIBUTE_INTS))
        return refuse(recipe, "axes as an attribute are of an older opset");
    if (axes && (!value_is_constant(axes) || axes->dtype != COLLAGE_INT64 || axes->rank > 1))
        return refuse(recipe, "the axes are not constant");
    int64_t count = axes ? dims_product(axes->dims, 0, axes->rank) : 0;
    if (count == 0 && collage_node_int(recipe_head(recipe), "noop_with_empty_axes", 0) != 0)
        return refuse(recipe, "it reduces nothing");
    for (int d = 0; d < in->rank; d++)
        reduced[d] = count == 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t axis;
        memcpy(&axis, (const char *)axes->data + k * (int64_t)sizeof axis, sizeof axis);
        axis = axis < 0 ? axis + in->rank : axis;
        if (axis < 0 || axis >= in->rank)
            return refuse(recipe, "an axis is out of range");
        reduced[axis] = true;
    }
    return true;
}

static bool reduces_space(const struct recipe *recipe, const bool *reduced)
{
    int rank = head_input(recipe, 0)->rank;
    int least = recipe->choice->in == LAYOUT_PLAIN ? 3 : 4; /* shorter ones have no channels */
    bool space = rank >= least && rank <= 5;
    for (int d = 0; d < rank && space; d++)
        space = reduced[d] == (d >= 2);
    return space;
}

/* Neighbours of one kind are one dimension to the primitive. */
static bool add_reduction_operands(struct recipe *recipe, const bool *reduced)
{
    const collage_value *in = head_input(recipe, 0);
    int64_t from[MAX_RANK], to[MAX_RANK];
    int rank = 0;
    bool last = false;
    for (int d = 0; d < in->rank; d++) {
        if (in->dims[d] == 1)
            continue;
        if (rank == 0 || reduced[d] != last) {
            from[rank] = to[rank] = 1;
            rank++;
        }
        last = reduced[d];
        from[rank - 1] *= in->dims[d];
        to[rank - 1] = last ? 1 : from[rank - 1];
    }
    if (rank == 0 || (rank == 1 && !last))
        return refuse(recipe, "it reduces nothing");
    return operand_add(recipe, DNNL_ARG_SRC, head_input_id(recipe, 0), rank, from) &&
           operand_add(recipe, DNNL_ARG_DST, recipe_output_id(recipe), rank, to);
}

bool translate_reduction(struct recipe *recipe)
{
    const char *op = recipe_head(recipe)->op_type;
    bool reduced[MAX_RANK] = { false };
    if (!read_reduced(recipe, reduced))
        return false;
    if (recipe->choice->algorithm == ALGORITHM_POOLING) {
        if (!reduces_space(recipe, reduced) ||
            (strcmp(op, "ReduceMean") != 0 && strcmp(op, "ReduceMax") != 0))
            return refuse(recipe, "it is no global pooling");
        return translate_global_pooling(recipe);
    }
    recipe->family = FAMILY_REDUCTION;
    for (size_t k = 0; k < sizeof reduction_table / sizeof reduction_table[0]; k++) {
        if (strcmp(reduction_table[k].op_type, op) == 0) {
            recipe->alg = reduction_table[k].alg;
            recipe->alpha = reduction_table[k].p;
        }
    }
    return add_reduction_operands(recipe, reduced);
}

/* ---- reorders ---- */

bool transpose_strides(struct recipe *recipe, const collage_node *node, bool inverse,
                       int64_t *strides)
{
    const collage_value *in = recipe->graph->values[node->inputs[0]];
    const collage_value *out = recipe->graph->values[node->outputs[0]];
    const collage_value *memory = inverse ? out : in;
    const collage_attribute *perm = collage_node_attribute(node, "perm", COLLAGE_ATTRIBUTE_INTS);
    int rank = in->rank;
    if (rank < 2 || out->rank != rank || (perm && perm->count != (uint32_t)rank))
        return refuse(recipe, "perm does not fit the input");
    int64_t row_major[MAX_RANK], stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        row_major[d] = stride;
        stride *= memory->dims[d];
    }
    unsigned seen = 0;
    for (int d = 0; d < rank; d++) {
        int64_t from = perm ? perm->ints[d] : rank - 1 - d;
        if (from < 0 || from >= rank || (seen & 1u << from) || in->dims[from] != out->dims[d])
            return refuse(recipe, "perm does not fit the output");
        seen |= 1u << from;
        strides[inverse ? from : d] = row_major[inverse ? d : from];
    }
    return true;
}

bool translate_transpose(struct recipe *recipe)
{
    const collage_value *out = head_output(recipe);
    struct operand *source =
        operand_add(recipe, DNNL_ARG_FROM, head_input_id(recipe, 0), out->rank, out->dims);
    if (!source ||
        !operand_add(recipe, DNNL_ARG_TO, recipe_output_id(recipe), out->rank, out->dims))
        return false;
    recipe->family = FAMILY_REORDER;
    return transpose_strides(recipe, recipe_head(recipe), false, source->strides);
}

bool translate_identity(struct recipe *recipe)
{
    const collage_variant *variant = recipe->variant;
    const collage_value *in = head_input(recipe, 0);
    recipe->family = FAMILY_REORDER;
    int64_t one[] = { 1 };
    int rank = in->rank ? in->rank : 1;
    const int64_t *dims = in->rank ? in->dims : one;
    struct operand *from = operand_add(recipe, DNNL_ARG_FROM, head_input_id(recipe, 0), rank, dims);
    struct operand *to = operand_add(recipe, DNNL_ARG_TO, recipe_output_id(recipe), rank, dims);
    if (!from || !to)
        return false;
    if (variant) {
        snprintf(from->tag, sizeof from->tag, "%s", variant->inputs[0].tag);
        snprintf(to->tag, sizeof to->tag, "%s", variant->outputs[0].tag);
    }
    return true;
}
