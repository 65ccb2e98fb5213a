/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/merge.h"

#include <string.h>

#define NOT_CHOSEN UINT32_MAX

/* Chosen candidates are known by their place in `chosen`; groups, by the place of a member. */
struct merger {
    struct candidate_set *set;
    const candidate_id *chosen;
    uint32_t count;
    uint32_t *owner;  /* node by node: the chosen candidate that covers it */
    uint32_t *parent; /* chosen by chosen: a forest, one tree a group */
    uint8_t *mark;    /* node by node: what union_nodes learns */
    node_id *nodes;   /* the union it makes */
    size_t added;
    struct error *error;
};

static const struct candidate *candidate_at(const struct merger *merger, uint32_t place)
{
    return &merger->set->items[merger->chosen[place]];
}

static bool is_mergeable(const struct merger *merger, uint32_t place)
{
    const struct candidate *candidate = candidate_at(merger, place);
    return !candidate->view && candidate->region.copy_count == 0 &&
           merger->set->registry->entries[candidate->backend].api->kind == COLLAGE_GRAPH_LEVEL;
}

static uint32_t find_group(struct merger *merger, uint32_t place)
{
    uint32_t *parent = merger->parent;
    while (parent[place] != place)
        place = parent[place] = parent[parent[place]];
    return place;
}

/* The chosen candidate that makes a value, seen through views; NOT_CHOSEN if none does. */
static uint32_t find_maker(const struct merger *merger, value_id value)
{
    const struct graph *graph = merger->set->graph;
    for (;;) {
        const struct value *v = &graph->values[value];
        uint32_t place = v->kind == VALUE_COMPUTED ? merger->owner[v->producer] : NOT_CHOSEN;
        if (place == NOT_CHOSEN || !candidate_at(merger, place)->view)
            return place;
        value = graph->nodes[v->producer].base.inputs[0];
    }
}

enum { IN_UNION = 1, AFTER = 2, BEFORE = 4 };

static uint8_t marks_of_makers(const struct merger *merger, node_id node)
{
    const struct graph *graph = merger->set->graph;
    const collage_node *base = &graph->nodes[node].base;
    uint8_t marks = 0;
    for (uint32_t k = 0; k < base->input_count; k++)
        if (base->inputs[k] != GRAPH_NONE && graph->values[base->inputs[k]].kind == VALUE_COMPUTED)
            marks |= merger->mark[graph->values[base->inputs[k]].producer];
    return marks;
}

static uint8_t marks_of_users(const struct merger *merger, node_id node)
{
    const struct graph *graph = merger->set->graph;
    const struct graph_uses *uses = &merger->set->uses;
    const collage_node *base = &graph->nodes[node].base;
    uint8_t marks = 0;
    for (uint32_t k = 0; k < base->output_count; k++) {
        value_id v = base->outputs[k];
        for (uint32_t u = v == GRAPH_NONE ? 0 : uses->first[v];
             v != GRAPH_NONE && u < uses->first[v + 1]; u++)
            marks |= merger->mark[uses->users[u]];
    }
    return marks;
}

/* The marked nodes and all on paths between them, into merger->nodes; 0 if something other than a
 * chosen view lies between. */
static uint32_t close_union(struct merger *merger)
{
    uint32_t node_count = (uint32_t)merger->set->graph->node_count;
    for (node_id n = 0; n < node_count; n++)
        if (marks_of_makers(merger, n) & (IN_UNION | AFTER))
            merger->mark[n] |= AFTER;
    for (node_id n = node_count; n-- > 0;)
        if (marks_of_users(merger, n) & (IN_UNION | BEFORE))
            merger->mark[n] |= BEFORE;
    uint32_t count = 0;
    for (node_id n = 0; n < node_count; n++) {
        bool inside = merger->mark[n] & IN_UNION;
        if (!inside && merger->mark[n] != (AFTER | BEFORE))
            continue;
        uint32_t place = merger->owner[n];
        if (!inside && (place == NOT_CHOSEN || !candidate_at(merger, place)->view))
            return 0;
        merger->nodes[count++] = n;
    }
    return count;
}

static void mark_candidate(struct merger *merger, uint32_t place)
{
    const struct region *region = &candidate_at(merger, place)->region;
    for (uint32_t k = 0; k < region->node_count; k++)
        merger->mark[region->nodes[k]] = IN_UNION;
}

static uint32_t union_pair(struct merger *merger, uint32_t a, uint32_t b)
{
    memset(merger->mark, 0, merger->set->graph->node_count);
    mark_candidate(merger, a);
    mark_candidate(merger, b);
    return close_union(merger);
}

/* The union of up to two groups. */
static uint32_t union_groups(struct merger *merger, uint32_t a, uint32_t b)
{
    memset(merger->mark, 0, merger->set->graph->node_count);
    for (uint32_t place = 0; place < merger->count; place++) {
        uint32_t group = find_group(merger, place);
        if (group == a || group == b)
            mark_candidate(merger, place);
    }
    return close_union(merger);
}

static collage_status add_union(struct merger *merger, uint32_t place, uint32_t count,
                                const char *rule)
{
    size_t added;
    collage_status status = candidate_set_add(merger->set, candidate_at(merger, place)->backend,
                                              merger->nodes, count, rule, &added, merger->error);
    merger->added += added;
    return status;
}

/* Pairs with the makers of its inputs, and joins their groups where the union stays convex. */
static collage_status merge_with_makers(struct merger *merger, uint32_t place)
{
    const struct region region = candidate_at(merger, place)->region;
    for (uint32_t k = 0; k < region.input_count; k++) {
        uint32_t maker = find_maker(merger, region.inputs[k]);
        if (maker == NOT_CHOSEN || maker == place || !is_mergeable(merger, maker) ||
            candidate_at(merger, maker)->backend != candidate_at(merger, place)->backend)
            continue;
        uint32_t count = union_pair(merger, maker, place);
        collage_status status = count ? add_union(merger, place, count, "pair") : COLLAGE_OK;
        if (status)
            return status;
        uint32_t a = find_group(merger, maker), b = find_group(merger, place);
        if (a != b && union_groups(merger, a, b))
            merger->parent[b] = a;
    }
    return COLLAGE_OK;
}

static collage_status merge_all(struct merger *merger)
{
    collage_status status = COLLAGE_OK;
    for (uint32_t place = 0; place < merger->count && !status; place++)
        if (is_mergeable(merger, place))
            status = merge_with_makers(merger, place);
    for (uint32_t place = 0; place < merger->count && !status; place++) {
        if (find_group(merger, place) != place || !is_mergeable(merger, place))
            continue;
        uint32_t count = union_groups(merger, place, place);
        if (count > candidate_at(merger, place)->region.node_count)
            status = add_union(merger, place, count, "merged");
    }
    return status;
}

collage_status candidate_set_merge(struct candidate_set *set, const candidate_id *chosen,
                                   size_t count, size_t *added, struct error *error)
{
    *added = 0;
    size_t node_count = set->graph->node_count;
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    struct merger merger = { .set = set,
                             .chosen = chosen,
                             .count = (uint32_t)count,
                             .owner = arena_array(arena, node_count, sizeof(uint32_t)),
                             .parent = arena_array(arena, count, sizeof(uint32_t)),
                             .mark = arena_array(arena, node_count, sizeof(uint8_t)),
                             .nodes = arena_array(arena, node_count, sizeof(node_id)),
                             .error = error };
    if (!merger.owner || !merger.parent || !merger.mark || !merger.nodes) {
        arena_destroy(arena);
        return error_memory(error);
    }
    for (size_t n = 0; n < node_count; n++)
        merger.owner[n] = NOT_CHOSEN;
    for (uint32_t place = 0; place < merger.count; place++) {
        const struct region *region = &candidate_at(&merger, place)->region;
        merger.parent[place] = place;
        for (uint32_t k = 0; k < region->own_count; k++)
            merger.owner[region->own[k]] = place;
    }
    collage_status status = merge_all(&merger);
    *added = merger.added;
    arena_destroy(arena);
    return status;
}
