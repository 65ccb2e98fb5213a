/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.c: Concat, Split and Slice that cost nothing, since tensors share memory (graph/parts.h).
 * They are offered only where nothing can be in the way, whatever is placed where: what a Concat
 * puts together must be made by operators, each for one Concat only (or for several that begin
 * alike, which is how dense blocks grow), and neither it nor its result may be the caller's.
 * Layouts are those that the backends' candidates have around the node.
 */
#include <string.h>

#include "graph/parts.h"
#include "pattern/enumerate.h"
#include "tensor/layout.h"

enum { LAYOUTS = 4 }; /* of a value; more are passed over */

/* What is known of each value. */
struct seen {
    collage_layout layouts[LAYOUTS]; /* that candidates want or make it in, beside row-major */
    uint32_t layout_count;
    node_id claimed; /* the Concat in whose result it is made; GRAPH_NONE */
    bool shown;      /* it may be a view or a cut: memory that another tensor has */
};

struct finder {
    struct candidate_set *set;
    const struct graph *graph;
    struct seen *values;
    struct error *error;
};

static void see_layout(struct finder *f, value_id value, const collage_layout *layout)
{
    struct seen *seen = &f->values[value];
    struct layout_form form;
    if (layout_is_plain(layout) || seen->layout_count == LAYOUTS ||
        !layout_parse(layout, f->graph->values[value].tensor.rank, &form))
        return;
    for (uint32_t k = 0; k < seen->layout_count; k++)
        if (layout_equal(&seen->layouts[k], layout))
            return;
    seen->layouts[seen->layout_count++] = *layout;
}

static void see_candidates(struct finder *f)
{
    for (value_id v = 0; v < f->graph->value_count; v++)
        f->values[v].claimed = GRAPH_NONE;
    for (size_t c = 0; c < f->set->count; c++) {
        const struct candidate *candidate = &f->set->items[c];
        const struct region *region = &candidate->region;
        for (uint32_t k = 0; k < region->input_count; k++)
            see_layout(f, region->inputs[k], &candidate->input_layouts[k]);
        for (uint32_t k = 0; k < region->output_count; k++)
            see_layout(f, region->outputs[k], &candidate->output_layouts[k]);
    }
}

/* Computed into memory of its own, and not the caller's. */
static bool is_own(const struct finder *f, value_id value)
{
    return value != GRAPH_NONE && f->graph->values[value].kind == VALUE_COMPUTED &&
           !graph_is_output(f->graph, value) && !f->values[value].shown;
}

/* The Concat that the node's result continues, if the first inputs were made in that one's result;
 * GRAPH_NONE: there is none. */
static node_id continued_by(const struct finder *f, node_id node)
{
    const collage_node *base = &f->graph->nodes[node].base;
    node_id before = f->values[base->inputs[0]].claimed;
    if (before == GRAPH_NONE || !parts_is_beginning(f->graph, before, node) ||
        f->values[f->graph->nodes[before].base.outputs[0]].claimed != GRAPH_NONE)
        return GRAPH_NONE;
    return before;
}

static bool can_join(const struct finder *f, node_id node)
{
    const collage_node *base = &f->graph->nodes[node].base;
    if (!parts_is_join(f->graph, node) || base->input_count == 0 || base->output_count != 1)
        return false;
    for (uint32_t k = 0; k < base->input_count; k++) {
        if (!is_own(f, base->inputs[k]))
            return false;
        for (uint32_t other = 0; other < k; other++)
            if (base->inputs[other] == base->inputs[k])
                return false;
    }
    node_id before = continued_by(f, node);
    uint32_t there = before == GRAPH_NONE ? 0 : f->graph->nodes[before].base.input_count;
    for (uint32_t k = there; k < base->input_count; k++)
        if (f->values[base->inputs[k]].claimed != GRAPH_NONE)
            return false;
    return is_own(f, base->outputs[0]);
}

static void claim(struct finder *f, node_id node)
{
    const collage_node *base = &f->graph->nodes[node].base;
    node_id before = continued_by(f, node);
    if (before != GRAPH_NONE)
        f->values[f->graph->nodes[before].base.outputs[0]].claimed = node;
    for (uint32_t k = 0; k < base->input_count; k++)
        f->values[base->inputs[k]].claimed = node;
}

/* Is what it shows memory of ours, through all views before it? */
static bool can_cut(const struct finder *f, node_id node)
{
    const struct graph *graph = f->graph;
    const collage_node *base = &graph->nodes[node].base;
    if (!parts_is_cut(graph, node) || base->input_count == 0)
        return false;
    for (uint32_t k = 0; k < base->output_count; k++)
        if (base->outputs[k] == GRAPH_NONE || graph_is_output(graph, base->outputs[k]))
            return false;
    value_id from = base->inputs[0];
    while (from != GRAPH_NONE && graph->values[from].kind == VALUE_COMPUTED &&
           !graph_is_output(graph, from)) {
        if (!f->values[from].shown)
            return true;
        from = graph->nodes[graph->values[from].producer].base.inputs[0];
    }
    return false;
}

static bool fits(const struct finder *f, node_id node, const collage_layout *layout)
{
    const collage_node *base = &f->graph->nodes[node].base;
    if (parts_is_join(f->graph, node))
        return parts_join(f->graph, node, layout, NULL);
    uint64_t offset;
    for (uint32_t k = 0; k < base->output_count; k++)
        if (!parts_cut(f->graph, node, base->outputs[k], layout, &offset))
            return false;
    return true;
}

/* In that layout, unless it was offered already; then it is around the neighbours, too. */
static collage_status offer(struct finder *f, node_id node, const collage_layout *layout,
                            size_t first)
{
    const collage_node *base = &f->graph->nodes[node].base;
    for (size_t c = first; c < f->set->count; c++)
        if (f->set->items[c].region.output_count > 0 &&
            layout_equal(&f->set->items[c].output_layouts[0], layout))
            return COLLAGE_OK;
    if (!fits(f, node, layout))
        return COLLAGE_OK;
    collage_status status = candidate_set_add_part(f->set, node, layout, f->error);
    for (uint32_t k = 0; k < base->output_count && !status; k++)
        see_layout(f, base->outputs[k], layout);
    return status;
}

static collage_status offer_around(struct finder *f, node_id node, value_id value, size_t first)
{
    const struct seen seen = f->values[value]; /* offering may add to it */
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < seen.layout_count && !status; k++)
        status = offer(f, node, &seen.layouts[k], first);
    return status;
}

static collage_status offer_node(struct finder *f, node_id node)
{
    const collage_node *base = &f->graph->nodes[node].base;
    bool join = parts_is_join(f->graph, node);
    const collage_layout plain = layout_plain();
    const size_t first = f->set->count;
    uint32_t inputs = join ? base->input_count : 1;
    collage_status status = offer(f, node, &plain, first);
    for (uint32_t k = 0; k < inputs && !status; k++)
        status = offer_around(f, node, base->inputs[k], first);
    for (uint32_t k = 0; k < base->output_count && !status; k++)
        status = offer_around(f, node, base->outputs[k], first);
    if (f->set->count == first)
        return status;
    if (join)
        claim(f, node);
    for (uint32_t k = 0; k < base->output_count && !join; k++)
        f->values[base->outputs[k]].shown = true;
    return status;
}

collage_status enumerate_parts(struct candidate_set *set, struct error *error)
{
    struct finder f = { .set = set, .graph = set->graph, .error = error };
    collage_status status = COLLAGE_OK;
    f.values = memory_alloc(set->graph->value_count * sizeof *f.values);
    if (!f.values)
        return error_memory(error);
    see_candidates(&f);
    for (node_id node = 0; node < set->graph->node_count && !status; node++) {
        if (candidate_node_is_view(set->graph, node))
            f.values[set->graph->nodes[node].base.outputs[0]].shown = true;
        else if (can_join(&f, node) || can_cut(&f, node))
            status = offer_node(&f, node);
    }
    memory_free(f.values);
    return status;
}
