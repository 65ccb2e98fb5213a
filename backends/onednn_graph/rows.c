/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c: what goes over whole rows or dimensions: softmax, normalisations, reductions. */
#include "operators.h"

#include <string.h>

void translate_softmax(struct recipe *recipe, const collage_node *node)
{
    int64_t axis;
    bool log = strcmp(node->op_type, "LogSoftmax") == 0;
    size_t x = recipe_operand(recipe, node, 0);
    if (recipe->failed ||
        !recipe_axis(recipe, collage_node_int(node, "axis", -1), recipe->tensors[x].rank, &axis))
        return;
    recipe_add(recipe, log ? dnnl_graph_op_log_softmax : dnnl_graph_op_softmax, &x, 1,
               recipe_result(recipe, node));
    recipe_set_integer(recipe, dnnl_graph_op_attr_axis, axis);
}

/* The library normalises the last dimension. */
void translate_layer_norm(struct recipe *recipe, const collage_node *node)
{
    int64_t axis;
    size_t operands[3] = { recipe_operand(recipe, node, 0) };
    if (recipe->failed)
        return;
    int rank = recipe->tensors[operands[0]].rank;
    int64_t last = recipe->tensors[operands[0]].dims[rank - 1];
    if (!recipe_axis(recipe, collage_node_int(node, "axis", -1), rank, &axis))
        return;
    if (axis != rank - 1 || rank < 2)
        recipe_refuse(recipe, "only over the last dimension of several");
    for (uint32_t k = 1; k < 3; k++) {
        const collage_value *value = recipe_input(recipe, node, k);
        if (value && (value->rank != 1 || value->dims[0] != last))
            recipe_refuse(recipe, "only with a scale of the shape of what is normalised");
        operands[k] =
            value || k == 1 ? recipe_operand(recipe, node, k) : recipe_constant(recipe, last, 0.0f);
    }
    recipe_add(recipe, dnnl_graph_op_layer_norm, operands, 3, recipe_result(recipe, node));
    recipe_set_bool(recipe, dnnl_graph_op_attr_keep_stats, false);
    recipe_set_integer(recipe, dnnl_graph_op_attr_begin_norm_axis, -1);
    recipe_set_bool(recipe, dnnl_graph_op_attr_use_affine, true);
    recipe_set_number(recipe, dnnl_graph_op_attr_epsilon,
                      collage_node_float(node, "epsilon", 1e-5f));
}

void translate_batch_norm(struct recipe *recipe, const collage_node *node)
{
    size_t operands[5];
    for (uint32_t k = 0; k < 5; k++)
        operands[k] = recipe_operand(recipe, node, k);
    if (collage_node_int(node, "training_mode", 0) != 0)
        recipe_refuse(recipe, "only of inference");
    if (!recipe->failed && recipe->tensors[operands[0]].rank < 2)
        recipe_refuse(recipe, "only with a dimension of channels");
    recipe_add(recipe, dnnl_graph_op_batch_norm_inference, operands, 5,
               recipe_result(recipe, node));
    recipe_set_number(recipe, dnnl_graph_op_attr_epsilon,
                      collage_node_float(node, "epsilon", 1e-5f));
    recipe_set_text(recipe, dnnl_graph_op_attr_data_format, "NCX");
}

/* ---- reductions ---- */

static dnnl_graph_op_kind_t reduction_kind(const char *name)
{
    static const struct {
        const char *name;
        dnnl_graph_op_kind_t kind;
    } rows[] = {
        { "ReduceL1", dnnl_graph_op_reduce_l1 },   { "ReduceL2", dnnl_graph_op_reduce_l2 },
        { "ReduceMax", dnnl_graph_op_reduce_max }, { "ReduceMean", dnnl_graph_op_reduce_mean },
        { "ReduceMin", dnnl_graph_op_reduce_min }, { "ReduceProd", dnnl_graph_op_reduce_prod },
        { "ReduceSum", dnnl_graph_op_reduce_sum },
    };
    size_t k = 0;
    while (strcmp(rows[k].name, name) != 0)
        k++; /* operators.c lists no other */
    return rows[k].kind;
}

/* The dimensions that are reduced, ascending; 0 if refused. */
static size_t read_axes(struct recipe *recipe, const collage_node *node, int rank,
                        int64_t axes[MAX_RANK])
{
    bool reduced[MAX_RANK] = { false };
    const collage_value *list = recipe_input(recipe, node, 1);
    size_t count = list ? (size_t)(list->bytes / sizeof(int64_t)) : 0, found = 0;
    if (list && (!list->data || list->dtype != COLLAGE_INT64)) {
        recipe_refuse(recipe, "its axes are not constant");
        return 0;
    }
    if (count == 0 && collage_node_int(node, "noop_with_empty_axes", 0) != 0) {
        recipe_refuse(recipe, "without axes it changes nothing");
        return 0;
    }
    for (size_t k = 0; k < count; k++) {
        int64_t axis, at;
        memcpy(&axis, (const char *)list->data + k * sizeof axis, sizeof axis);
        if (!recipe_axis(recipe, axis, rank, &at))
            return 0;
        reduced[at] = true;
    }
    for (int d = 0; d < rank; d++)
        if (reduced[d] || count == 0)
            axes[found++] = d;
    return found;
}

void translate_reduction(struct recipe *recipe, const collage_node *node)
{
    int64_t axes[MAX_RANK];
    size_t x = recipe_operand(recipe, node, 0);
    if (recipe->failed)
        return;
    int rank = recipe->tensors[x].rank;
    size_t count = read_axes(recipe, node, rank, axes);
    int64_t reduced = 1;
    for (size_t k = 0; k < count; k++)
        reduced *= recipe->tensors[x].dims[axes[k]];
    if (reduced == 1) /* the library would throw an exception */
        recipe_refuse(recipe, "of dimensions of 1 it changes nothing");
    bool keep = collage_node_int(node, "keepdims", 1) != 0;
    if (!keep && (int)count == rank && rank > 1)
        recipe_refuse(recipe, "not to a scalar");
    recipe_add(recipe, reduction_kind(node->op_type), &x, 1, recipe_result(recipe, node));
    recipe_set_integers(recipe, dnnl_graph_op_attr_axes, axes, count);
    recipe_set_bool(recipe, dnnl_graph_op_attr_keep_dims, keep || rank == 1);
}
