/* SPDX-License-Identifier: Apache-2.0 */
#include "place/uses.h"

#include <stdlib.h>
#include <string.h>

/* A node of a candidate that takes the value although, in the graph, only a copy in it does. */
struct anchor {
    value_id value;
    node_id node;
};

struct anchors {
    struct anchor *items;
    size_t count, capacity;
};

/* A node that makes a model output is always run. */
static bool is_of_output(const struct place_table *table, node_id node)
{
    const collage_node *base = &table->graph->nodes[node].base;
    for (uint32_t k = 0; k < base->output_count; k++)
        if (base->outputs[k] != GRAPH_NONE && table->values[base->outputs[k]].output)
            return true;
    return false;
}

static bool is_taken_by_own(const struct graph_uses *uses, const struct region *region,
                            value_id value)
{
    for (uint32_t u = uses->first[value]; u < uses->first[value + 1]; u++)
        if (region_covers(region, uses->users[u]))
            return true;
    return false;
}

static bool add_anchors(struct anchors *anchors, const struct graph_uses *uses,
                        const struct region *region)
{
    for (uint32_t k = 0; k < region->input_count; k++) {
        if (is_taken_by_own(uses, region, region->inputs[k]))
            continue;
        if (!memory_grow((void **)&anchors->items, &anchors->capacity, anchors->count,
                         sizeof *anchors->items))
            return false;
        anchors->items[anchors->count++] = (struct anchor){ region->inputs[k], region->own[0] };
    }
    return true;
}

static int compare_anchors(const void *left, const void *right)
{
    const struct anchor *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* The graph's users and the anchors, value by value, ascending. */
static bool merge(struct place_table *table, const struct anchors *anchors)
{
    const struct graph_uses *old = table->uses;
    size_t values = table->graph->value_count;
    struct graph_uses *uses = arena_alloc(table->arena, sizeof *uses);
    if (!uses)
        return false;
    uses->first = arena_array(table->arena, values + 1, sizeof *uses->first);
    uses->users =
        arena_array(table->arena, old->first[values] + anchors->count, sizeof *uses->users);
    if (!uses->first || !uses->users)
        return false;
    uint32_t end = 0;
    size_t a = 0;
    for (value_id v = 0; v < values; v++) {
        uses->first[v] = end;
        uint32_t u = old->first[v];
        while (u < old->first[v + 1] || (a < anchors->count && anchors->items[a].value == v)) {
            bool anchor = a < anchors->count && anchors->items[a].value == v &&
                          (u == old->first[v + 1] || anchors->items[a].node < old->users[u]);
            uses->users[end++] = anchor ? anchors->items[a++].node : old->users[u++];
        }
    }
    uses->first[values] = end;
    table->uses = uses;
    return true;
}

collage_status uses_make(struct place_table *table, struct error *error)
{
    const struct candidate_set *set = table->problem->set;
    struct anchors anchors = { 0 };
    bool *copied = NULL, good = true;
    for (size_t id = 0; id < set->count && good; id++) {
        const struct region *region = &set->items[id].region;
        if (region->copy_count == 0 || !place_is_usable(table->problem, &set->items[id]))
            continue;
        if (!copied)
            copied = arena_array(table->arena, table->graph->node_count, sizeof *copied);
        good = copied && add_anchors(&anchors, &set->uses, region);
        for (uint32_t k = 0; k < region->copy_count && good; k++)
            copied[region->copies[k]] = !is_of_output(table, region->copies[k]);
    }
    if (good && copied) {
        if (anchors.count)
            qsort(anchors.items, anchors.count, sizeof *anchors.items, compare_anchors);
        good = merge(table, &anchors);
    }
    table->copied = copied;
    memory_free(anchors.items);
    return good ? COLLAGE_OK : error_memory(error);
}

collage_status uses_add_leaving(struct place_table *table, struct error *error)
{
    for (node_id n = 0; table->copied && n < table->graph->node_count; n++) {
        if (!table->copied[n])
            continue;
        node_id *node = arena_copy(table->arena, &n, sizeof n);
        if (!node)
            return error_memory(error);
        table->options[table->option_count++] = (struct place_option){
            .id = PLACE_LEAVE, .view = true, .nodes = node, .node_count = 1
        };
    }
    return COLLAGE_OK;
}

/* Does some option cover the user, and neither take the value nor make it itself? */
static bool is_idle(const struct place_table *table, value_id value, node_id user)
{
    node_id maker = table->graph->values[value].producer;
    for (uint32_t k = table->first_option[user]; k < table->first_option[user + 1]; k++) {
        const struct place_option *option = &table->options[table->node_options[k]];
        if (!place_option_takes(option, value) &&
            (maker == GRAPH_NONE || !place_option_has(option, maker)))
            return true;
    }
    return false;
}

collage_status uses_find_idle(struct place_table *table, struct error *error)
{
    const struct graph_uses *uses = table->uses;
    if (!table->copied)
        return COLLAGE_OK;
    bool *idle = arena_array(table->arena, uses->first[table->graph->value_count], sizeof *idle);
    if (!idle)
        return error_memory(error);
    for (value_id v = 0; v < table->graph->value_count; v++)
        for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++)
            idle[u] = is_idle(table, v, uses->users[u]);
    table->idle = idle;
    return COLLAGE_OK;
}
