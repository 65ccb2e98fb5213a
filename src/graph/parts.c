/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/parts.h"

#include <string.h>

#include "ops/ops.h"

static bool is_named(const struct graph *graph, node_id node, const char *name)
{
    return graph->nodes[node].op && strcmp(graph->nodes[node].op->name, name) == 0;
}

bool parts_is_join(const struct graph *graph, node_id node)
{
    return is_named(graph, node, "Concat");
}

bool parts_is_cut(const struct graph *graph, node_id node)
{
    return is_named(graph, node, "Split") || is_named(graph, node, "Slice");
}

static const struct tensor *tensor_of(const struct graph *graph, value_id value)
{
    return &graph->values[value].tensor;
}

/* The node's axis, from 0 on; -1 if it is none of the tensor's. */
static int32_t axis_of(const struct graph *graph, node_id node, int32_t rank, int64_t fallback)
{
    int64_t axis = collage_node_int(&graph->nodes[node].base, "axis", fallback);
    axis = axis < 0 ? axis + rank : axis;
    return axis >= 0 && axis < rank ? (int32_t)axis : -1;
}

/* Are neighbours along the axis neighbours in memory: is all that lies outside of it one? *block:
 * how many indices cannot be taken apart. */
static bool is_outermost(const struct tensor *tensor, const collage_layout *layout, int32_t axis,
                         int64_t *block)
{
    struct layout_form form;
    if (!layout_parse(layout, tensor->rank, &form))
        return false;
    *block = 1;
    for (int32_t b = 0; b < form.block_count; b++)
        *block *= form.block_dim[b] == axis ? form.block_size[b] : 1;
    for (int32_t place = 0; place < form.rank && form.order[place] != axis; place++) {
        if (tensor->dims[form.order[place]] != 1)
            return false;
    }
    return true;
}

bool parts_join(const struct graph *graph, node_id node, const collage_layout *layout,
                uint64_t *offsets)
{
    const collage_node *base = &graph->nodes[node].base;
    if (!parts_is_join(graph, node) || base->output_count != 1 || base->outputs[0] == GRAPH_NONE)
        return false;
    const struct tensor *whole = tensor_of(graph, base->outputs[0]);
    int32_t axis = axis_of(graph, node, whole->rank, whole->rank);
    int64_t block;
    uint64_t at = 0;
    if (axis < 0 || !is_outermost(whole, layout, axis, &block))
        return false;
    for (uint32_t k = 0; k < base->input_count; k++) {
        if (base->inputs[k] == GRAPH_NONE)
            return false;
        const struct tensor *part = tensor_of(graph, base->inputs[k]);
        uint64_t bytes = layout_bytes(layout, part);
        bool last = k + 1 == base->input_count;
        if (bytes == 0 || at % PARTS_ALIGNMENT != 0 || part->dtype != whole->dtype ||
            part->rank != whole->rank || (!last && part->dims[axis] % block != 0))
            return false;
        if (offsets)
            offsets[k] = at;
        at += bytes;
    }
    return base->input_count > 0 && at == layout_bytes(layout, whole);
}

bool parts_is_beginning(const struct graph *graph, node_id first, node_id second)
{
    const collage_node *a = &graph->nodes[first].base, *b = &graph->nodes[second].base;
    if (!parts_is_join(graph, first) || !parts_is_join(graph, second) || a->output_count != 1 ||
        b->output_count != 1 || a->input_count > b->input_count ||
        memcmp(a->inputs, b->inputs, a->input_count * sizeof *a->inputs) != 0)
        return false;
    for (uint32_t k = a->input_count; k < b->input_count; k++)
        if (b->inputs[k] == a->outputs[0]) /* it would have to lie in two places */
            return false;
    int32_t rank = tensor_of(graph, a->outputs[0])->rank;
    return rank == tensor_of(graph, b->outputs[0])->rank &&
           axis_of(graph, first, rank, rank) == axis_of(graph, second, rank, rank);
}

/* ---- Split and Slice ---- */

/* Which axis is cut, and where it begins. */
struct cut {
    int32_t axis;
    int64_t first;
};

static bool find_split(const struct graph *graph, node_id node, value_id result, struct cut *cut)
{
    const collage_node *base = &graph->nodes[node].base;
    cut->axis = axis_of(graph, node, tensor_of(graph, base->inputs[0])->rank, 0);
    cut->first = 0;
    for (uint32_t k = 0; k < base->output_count && cut->axis >= 0; k++) {
        if (base->outputs[k] == result)
            return true;
        if (base->outputs[k] == GRAPH_NONE || tensor_of(graph, base->outputs[k])->rank <= cut->axis)
            return false;
        cut->first += tensor_of(graph, base->outputs[k])->dims[cut->axis];
    }
    return false;
}

/* Constant integers of an input of Slice; `fallback` where it is left out. */
static bool read_integer(const struct graph *graph, const collage_node *base, uint32_t input,
                         int64_t index, int64_t fallback, int64_t *out)
{
    *out = fallback;
    if (input >= base->input_count || base->inputs[input] == GRAPH_NONE)
        return true;
    const struct tensor *tensor = tensor_of(graph, base->inputs[input]);
    if (!graph_is_constant(graph, base->inputs[input]) || !tensor->data || tensor->rank != 1 ||
        index >= tensor->dims[0] ||
        (tensor->dtype != COLLAGE_INT64 && tensor->dtype != COLLAGE_INT32))
        return false;
    *out = tensor_get_int(tensor, index);
    return true;
}

/* All axes but one stay whole, none is taken in steps. */
static bool find_slice(const struct graph *graph, node_id node, value_id result, struct cut *cut)
{
    const collage_node *base = &graph->nodes[node].base;
    const struct tensor *from = tensor_of(graph, base->inputs[0]);
    const struct tensor *to = tensor_of(graph, result);
    if (base->input_count < 3 || base->inputs[1] == GRAPH_NONE || from->rank != to->rank ||
        tensor_of(graph, base->inputs[1])->rank != 1)
        return false;
    *cut = (struct cut){ .axis = -1 };
    for (int32_t d = 0; d < from->rank; d++) {
        if (from->dims[d] == to->dims[d])
            continue;
        if (cut->axis >= 0)
            return false;
        cut->axis = d;
    }
    for (int64_t k = 0; k < tensor_of(graph, base->inputs[1])->dims[0]; k++) {
        int64_t start, axis, step;
        if (!read_integer(graph, base, 1, k, 0, &start) ||
            !read_integer(graph, base, 3, k, k, &axis) ||
            !read_integer(graph, base, 4, k, 1, &step) || step != 1)
            return false;
        axis = axis < 0 ? axis + from->rank : axis;
        if (axis != cut->axis)
            continue;
        start = start < 0 ? start + from->dims[axis] : start;
        cut->first = start < 0 ? 0 : start;
    }
    return cut->axis >= 0;
}

bool parts_cut(const struct graph *graph, node_id node, value_id result,
               const collage_layout *layout, uint64_t *offset)
{
    const collage_node *base = &graph->nodes[node].base;
    if (!parts_is_cut(graph, node) || base->input_count == 0 || base->inputs[0] == GRAPH_NONE)
        return false;
    const struct tensor *from = tensor_of(graph, base->inputs[0]);
    const struct tensor *to = tensor_of(graph, result);
    struct cut cut;
    int64_t block;
    bool found = is_named(graph, node, "Split") ? find_split(graph, node, result, &cut)
                                                : find_slice(graph, node, result, &cut);
    if (!found || from->rank != to->rank || from->dtype != to->dtype ||
        !is_outermost(from, layout, cut.axis, &block))
        return false;
    int64_t count = to->dims[cut.axis], whole = from->dims[cut.axis];
    if (count < 1 || cut.first > whole - count || cut.first % block != 0 ||
        (count % block != 0 && cut.first + count != whole))
        return false;
    struct tensor before = *from;
    before.dims[cut.axis] = cut.first;
    *offset = cut.first ? layout_bytes(layout, &before) : 0;
    return *offset % PARTS_ALIGNMENT == 0 && layout_bytes(layout, to) > 0;
}

/* ---- any ---- */

static bool find_input(const struct graph *graph, node_id join, value_id part,
                       const collage_layout *layout, uint64_t *offset)
{
    const collage_node *base = &graph->nodes[join].base;
    *offset = 0;
    for (uint32_t k = 0; k < base->input_count; k++) {
        if (base->inputs[k] == part)
            return true;
        *offset += layout_bytes(layout, tensor_of(graph, base->inputs[k]));
    }
    return false;
}

bool parts_find(const struct graph *graph, value_id part, value_id whole,
                const collage_layout *layout, uint64_t *offset)
{
    const struct value *p = &graph->values[part], *w = &graph->values[whole];
    if (w->kind == VALUE_COMPUTED && parts_join(graph, w->producer, layout, NULL)) {
        if (find_input(graph, w->producer, part, layout, offset))
            return true;
        *offset = 0;
        if (p->kind == VALUE_COMPUTED && parts_is_beginning(graph, p->producer, w->producer))
            return parts_join(graph, p->producer, layout, NULL);
    }
    return p->kind == VALUE_COMPUTED && parts_is_cut(graph, p->producer) &&
           graph->nodes[p->producer].base.input_count > 0 &&
           graph->nodes[p->producer].base.inputs[0] == whole &&
           parts_cut(graph, p->producer, part, layout, offset);
}
