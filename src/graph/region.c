/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/region.h"

#include <string.h>

bool node_list_has(const node_id *nodes, uint32_t count, node_id node)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (nodes[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && nodes[low] == node;
}

static bool bit_get(const uint64_t *bits, size_t index)
{
    return bits[index / 64] >> (index % 64) & 1;
}

static void bit_set(uint64_t *bits, size_t index)
{
    bits[index / 64] |= (uint64_t)1 << (index % 64);
}

static size_t bit_words(size_t count)
{
    return count / 64 + 1;
}

/* What making a region needs to know: the set, counted from its first node, and the values seen. */
struct border {
    const struct graph *graph;
    node_id first, last;
    uint64_t *inside, *seen;
};

static bool is_inside(const struct border *border, node_id node)
{
    return node >= border->first && node <= border->last &&
           bit_get(border->inside, node - border->first);
}

/* Visits each input that comes from outside once; stores them unless `store` is NULL. */
static uint32_t collect_inputs(struct border *border, const struct region *region, value_id *store)
{
    const struct graph *graph = border->graph;
    memset(border->seen, 0, bit_words(graph->value_count) * sizeof(uint64_t));
    uint32_t count = 0;
    for (uint32_t i = 0; i < region->node_count; i++) {
        const collage_node *base = &graph->nodes[region->nodes[i]].base;
        for (uint32_t k = 0; k < base->input_count; k++) {
            value_id v = base->inputs[k];
            if (v == GRAPH_NONE || graph->values[v].kind == VALUE_CONSTANT ||
                bit_get(border->seen, v))
                continue;
            bit_set(border->seen, v);
            if (graph->values[v].kind == VALUE_COMPUTED &&
                is_inside(border, graph->values[v].producer))
                continue;
            if (store)
                store[count] = v;
            count++;
        }
    }
    return count;
}

static bool is_copy(const struct region *region, node_id node)
{
    return node_list_has(region->copies, region->copy_count, node);
}

static bool is_used_outside(const struct border *border, const struct graph_uses *uses,
                            const struct region *region, value_id v)
{
    for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++)
        if (!is_inside(border, uses->users[u]) || is_copy(region, uses->users[u]))
            return true;
    return graph_is_output(border->graph, v);
}

static uint32_t collect_outputs(const struct border *border, const struct graph_uses *uses,
                                const struct region *region, value_id *store)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < region->node_count; i++) {
        const collage_node *base = &border->graph->nodes[region->nodes[i]].base;
        for (uint32_t k = 0; k < base->output_count; k++) {
            value_id v = base->outputs[k];
            if (v == GRAPH_NONE || is_copy(region, region->nodes[i]) ||
                !is_used_outside(border, uses, region, v))
                continue;
            if (store)
                store[count] = v;
            count++;
        }
    }
    return count;
}

bool region_uses(const struct region *region, const struct graph *graph,
                 const struct graph_uses *uses, node_id node)
{
    const collage_node *base = &graph->nodes[node].base;
    for (uint32_t k = 0; k < base->output_count; k++) {
        value_id v = base->outputs[k];
        for (uint32_t u = v == GRAPH_NONE ? 0 : uses->first[v];
             v != GRAPH_NONE && u < uses->first[v + 1]; u++)
            if (region_has(region, uses->users[u]))
                return true;
    }
    return false;
}

/* Those of the nodes that are no copies, which are all where there are none. */
static bool find_own(struct arena *arena, struct region *region)
{
    region->own = region->nodes;
    region->own_count = region->node_count;
    if (region->copy_count == 0)
        return true;
    region->own = arena_array(arena, region->node_count, sizeof *region->own);
    region->own_count = 0;
    for (uint32_t k = 0; region->own && k < region->node_count; k++)
        if (!is_copy(region, region->nodes[k]))
            region->own[region->own_count++] = region->nodes[k];
    return region->own != NULL;
}

collage_status region_make(struct arena *arena, const struct graph *graph,
                           const struct graph_uses *uses, const node_id *nodes, uint32_t count,
                           struct region *out, struct error *error)
{
    return region_make_copying(arena, graph, uses, nodes, count, NULL, 0, out, error);
}

collage_status region_make_copying(struct arena *arena, const struct graph *graph,
                                   const struct graph_uses *uses, const node_id *nodes,
                                   uint32_t count, const node_id *copies, uint32_t copy_count,
                                   struct region *out, struct error *error)
{
    *out = (struct region){ .nodes = arena_copy(arena, nodes, count * sizeof *nodes),
                            .node_count = count,
                            .copies = arena_copy(arena, copies, copy_count * sizeof *copies),
                            .copy_count = copy_count };
    struct border border = { .graph = graph,
                             .first = count ? nodes[0] : 0,
                             .last = count ? nodes[count - 1] : 0 };
    size_t words = bit_words(border.last - border.first);
    border.inside = memory_alloc((words + bit_words(graph->value_count)) * sizeof(uint64_t));
    if (!out->nodes || !out->copies || !border.inside || !find_own(arena, out)) {
        memory_free(border.inside);
        return error_memory(error);
    }
    border.seen = border.inside + words;
    for (uint32_t i = 0; i < count; i++)
        bit_set(border.inside, nodes[i] - border.first);
    out->input_count = collect_inputs(&border, out, NULL);
    out->output_count = collect_outputs(&border, uses, out, NULL);
    out->inputs = arena_array(arena, out->input_count, sizeof(value_id));
    out->outputs = arena_array(arena, out->output_count, sizeof(value_id));
    bool ok = out->inputs && out->outputs;
    if (ok) {
        collect_inputs(&border, out, out->inputs);
        collect_outputs(&border, uses, out, out->outputs);
    }
    memory_free(border.inside);
    return ok ? COLLAGE_OK : error_memory(error);
}

static bool list_has_value(const value_id *values, uint32_t count, value_id value)
{
    for (uint32_t k = 0; k < count; k++)
        if (values[k] == value)
            return true;
    return false;
}

/* Is some result of the node not among the values, but used outside of the nodes or by a copy? */
static bool keeps_result(const struct graph *graph, const struct graph_uses *uses,
                         const struct region *region, node_id node, const value_id *outputs,
                         uint32_t output_count)
{
    const collage_node *base = &graph->nodes[node].base;
    for (uint32_t k = 0; k < base->output_count; k++) {
        value_id v = base->outputs[k];
        if (v == GRAPH_NONE || list_has_value(outputs, output_count, v))
            continue;
        if (graph_is_output(graph, v))
            return true;
        for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++)
            if (!region_has(region, uses->users[u]) || is_copy(region, uses->users[u]))
                return true;
    }
    return false;
}

collage_status region_make_giving(struct arena *arena, const struct graph *graph,
                                  const struct graph_uses *uses, const node_id *nodes,
                                  uint32_t count, const value_id *outputs, uint32_t output_count,
                                  struct region *out, struct error *error)
{
    node_id *copies = arena_array(arena, count, sizeof *copies);
    if (!copies)
        return error_memory(error);
    struct region so_far = { .nodes = arena_copy(arena, nodes, count * sizeof *nodes),
                             .node_count = count,
                             .copies = copies + count };
    if (!so_far.nodes)
        return error_memory(error);
    for (uint32_t k = count; k-- > 0;) { /* users come later: they are known */
        if (!keeps_result(graph, uses, &so_far, nodes[k], outputs, output_count))
            continue;
        *--so_far.copies = nodes[k];
        so_far.copy_count++;
    }
    return region_make_copying(arena, graph, uses, nodes, count, so_far.copies, so_far.copy_count,
                               out, error);
}

/* Any input of the node that a node of the set makes? */
static bool depends_on(const struct graph *graph, node_id node, const uint64_t *set, node_id first)
{
    const collage_node *base = &graph->nodes[node].base;
    for (uint32_t k = 0; k < base->input_count; k++) {
        value_id v = base->inputs[k];
        if (v == GRAPH_NONE)
            continue;
        node_id producer = graph->values[v].producer;
        if (producer != GRAPH_NONE && producer >= first && bit_get(set, producer - first))
            return true;
    }
    return false;
}

/* One sweep over the ids between the first and the last node: `left` holds the nodes outside that
 * depend on the set; `inside` holds what it covers, and the copies that depend on that. */
static bool sweep(const struct graph *graph, const struct region *region, uint64_t *inside,
                  uint64_t *left)
{
    node_id first = region->nodes[0];
    node_id last = region->nodes[region->node_count - 1];
    for (uint32_t i = 0; i < region->node_count; i++)
        if (!is_copy(region, region->nodes[i]))
            bit_set(inside, region->nodes[i] - first);
    for (node_id n = first; n <= last; n++) {
        bool copy = is_copy(region, n);
        if (copy || bit_get(inside, n - first)) {
            if (depends_on(graph, n, left, first))
                return false;
            if (copy && depends_on(graph, n, inside, first))
                bit_set(inside, n - first);
        } else if (depends_on(graph, n, inside, first) || depends_on(graph, n, left, first)) {
            bit_set(left, n - first);
        }
    }
    return true;
}

bool region_is_convex(const struct graph *graph, const struct graph_uses *uses,
                      const struct region *region)
{
    (void)uses;
    if (region->node_count < 2)
        return true;
    node_id span = region->nodes[region->node_count - 1] - region->nodes[0];
    if (span + 1 == region->node_count)
        return true; /* a range of a topological order */
    size_t words = bit_words(span);
    uint64_t small[128] = { 0 };
    if (2 * words <= sizeof small / sizeof *small)
        return sweep(graph, region, small, small + words);
    uint64_t *bits = memory_alloc(2 * words * sizeof *bits);
    bool convex = bits && sweep(graph, region, bits, bits + words); /* no memory: refuse the set */
    memory_free(bits);
    return convex;
}

/* delta[p] += 1 where a value starts to be alive, -1 where it ends: the prefix sum is the number
 * alive at each position. */
static void mark_alive(const struct graph *graph, const struct graph_uses *uses, int32_t *delta)
{
    for (size_t v = 0; v < graph->value_count; v++) {
        uint32_t count = uses->first[v + 1] - uses->first[v];
        if (graph->values[v].kind == VALUE_CONSTANT || count == 0)
            continue;
        node_id last_user = uses->users[uses->first[v + 1] - 1];
        size_t start =
            graph->values[v].kind == VALUE_COMPUTED ? (size_t)graph->values[v].producer + 1 : 0;
        delta[start]++;
        delta[last_user + 1]--;
    }
}

collage_status region_cuts(struct arena *arena, const struct graph *graph,
                           const struct graph_uses *uses, uint32_t **cuts, uint32_t *count,
                           struct error *error)
{
    size_t positions = graph->node_count + 1;
    int32_t *delta = memory_alloc((positions + 1) * sizeof *delta);
    *cuts = arena_array(arena, positions, sizeof **cuts);
    *count = 0;
    if (!delta || !*cuts) {
        memory_free(delta);
        return error_memory(error);
    }
    mark_alive(graph, uses, delta);
    int32_t alive = 0;
    for (size_t p = 0; p < positions; p++) {
        alive += delta[p];
        if (alive == 1 || p == 0 || p + 1 == positions)
            (*cuts)[(*count)++] = (uint32_t)p;
    }
    memory_free(delta);
    return COLLAGE_OK;
}
