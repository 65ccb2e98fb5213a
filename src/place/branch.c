/* SPDX-License-Identifier: Apache-2.0 */
#include "place/branch.h"

#include <string.h>

#include "place/level.h"

collage_status brancher_make(const struct place_table *table, struct arena *arena,
                             struct brancher *out, struct error *error)
{
    const struct graph *graph = table->graph;
    size_t nodes = graph->node_count;
    *out =
        (struct brancher){ .table = table,
                           .work = arena_array(arena, nodes, sizeof *out->work),
                           .work_mark = arena_array(arena, nodes, sizeof *out->work_mark),
                           .option_mark =
                               arena_array(arena, table->option_count, sizeof *out->option_mark),
                           .sources = arena_array(arena, nodes, sizeof *out->sources),
                           .ready = arena_array(arena, table->option_count, sizeof *out->ready) };
    if (!out->work || !out->work_mark || !out->option_mark || !out->sources || !out->ready)
        return error_memory(error);
    for (node_id n = 0; n < nodes; n++) {
        const collage_node *base = &graph->nodes[n].base;
        bool source = true, alone = false; /* alone: some option that begins there takes nothing */
        for (uint32_t k = 0; k < base->input_count; k++)
            source = source &&
                     (base->inputs[k] == GRAPH_NONE || graph_is_constant(graph, base->inputs[k]));
        for (uint32_t k = table->first_option[n]; k < table->first_option[n + 1] && !alone; k++) {
            const struct place_option *option = &table->options[table->node_options[k]];
            alone = option->input_count == 0 && option->nodes[0] == n;
        }
        if (source || alone)
            out->sources[out->source_count++] = n;
    }
    return COLLAGE_OK;
}

/* The node that has yet to make the value; GRAPH_NONE if it is there. */
static node_id missing_maker(const struct graph *graph, const uint32_t *key, value_id value)
{
    if (value == GRAPH_NONE || graph->values[value].kind != VALUE_COMPUTED)
        return GRAPH_NONE;
    node_id producer = graph->values[value].producer;
    return key_covers(key, producer) ? GRAPH_NONE : producer;
}

/* The value's maker is covered: was it left out, or did it keep the value for itself, as only
 * copies elsewhere use it? Whoever can still take a value that was made keeps it alive. */
static bool is_left_out(const struct place_table *table, const uint32_t *key, value_id value)
{
    if (!table->copied || table->graph->values[value].kind != VALUE_COMPUTED)
        return false;
    const uint32_t *pairs = key + KEY_HEAD + key[KEY_WORDS];
    for (size_t k = 0; k < key[KEY_LIVE]; k++)
        if (pairs[2 * k] == value)
            return false;
    return true;
}

/* Going up from an uncovered node: one whose inputs are all there. What may be left out need not be
 * there before those that use it. */
static node_id first_ancestor(const struct place_table *table, const uint32_t *key, node_id node)
{
    const struct graph *graph = table->graph;
    for (;;) {
        const collage_node *base = &graph->nodes[node].base;
        node_id maker = GRAPH_NONE;
        for (uint32_t k = 0; k < base->input_count && maker == GRAPH_NONE; k++) {
            maker = missing_maker(graph, key, base->inputs[k]);
            if (maker != GRAPH_NONE && place_is_copied(table, maker))
                maker = GRAPH_NONE;
        }
        if (maker == GRAPH_NONE)
            return node;
        node = maker;
    }
}

static bool overlaps(const struct place_option *option, const uint32_t *key)
{
    node_id end = key[KEY_FIRST] / 32 * 32 + 32 * key[KEY_WORDS];
    if (option->nodes[0] < key[KEY_FIRST])
        return true;
    for (uint32_t k = 0; k < option->node_count && option->nodes[k] < end; k++)
        if (key_covers(key, option->nodes[k]))
            return true;
    return false;
}

static void add_work(struct brancher *brancher, node_id node)
{
    if (brancher->work_mark[node] == brancher->tick)
        return;
    brancher->work_mark[node] = brancher->tick;
    brancher->work[brancher->work_count++] = node;
}

/* Takes an option that is ready; otherwise sees to it that something it waits for is in work. */
static void consider(struct brancher *brancher, const uint32_t *key, uint32_t index)
{
    const struct place_option *option = &brancher->table->options[index];
    const struct graph *graph = brancher->table->graph;
    if (brancher->option_mark[index] == brancher->tick)
        return;
    brancher->option_mark[index] = brancher->tick;
    if (overlaps(option, key))
        return;
    node_id missing = GRAPH_NONE;
    for (uint32_t k = 0; k < option->input_count; k++) {
        node_id maker = missing_maker(graph, key, option->inputs[k].value);
        if (maker == GRAPH_NONE && is_left_out(brancher->table, key, option->inputs[k].value))
            return; /* it never will be */
        if (maker == GRAPH_NONE)
            continue;
        if (brancher->work_mark[maker] == brancher->tick)
            return;
        missing = maker;
    }
    if (missing == GRAPH_NONE)
        brancher->ready[brancher->ready_count++] = index;
    else if (!brancher->all_orders)
        add_work(brancher, first_ancestor(brancher->table, key, missing));
}

/* Every node whose inputs are all there: each ready option has such a node. Where there are copies
 * that is not so: all that use something live. */
static void add_frontier(struct brancher *brancher, const uint32_t *key)
{
    const struct place_table *table = brancher->table;
    const struct graph_uses *uses = table->uses;
    const uint32_t *pairs = key + KEY_HEAD + key[KEY_WORDS];
    for (size_t k = 0; k < key[KEY_LIVE]; k++)
        for (uint32_t u = uses->first[pairs[2 * k]]; u < uses->first[pairs[2 * k] + 1]; u++)
            if (!key_covers(key, uses->users[u]) &&
                (table->copied || first_ancestor(table, key, uses->users[u]) == uses->users[u]))
                add_work(brancher, uses->users[u]);
    for (uint32_t k = 0; k < brancher->source_count; k++)
        if (!key_covers(key, brancher->sources[k]))
            add_work(brancher, brancher->sources[k]);
}

void brancher_find(struct brancher *brancher, const uint32_t *key)
{
    const struct place_table *table = brancher->table;
    if (++brancher->tick == 0) { /* wrapped: old marks would look new */
        memset(brancher->work_mark, 0, table->graph->node_count * sizeof *brancher->work_mark);
        memset(brancher->option_mark, 0, table->option_count * sizeof *brancher->option_mark);
        brancher->tick = 1;
    }
    brancher->work_count = brancher->ready_count = 0;
    if (brancher->all_orders)
        add_frontier(brancher, key);
    else
        add_work(brancher, key[KEY_FIRST]);
    for (uint32_t w = 0; w < brancher->work_count; w++) {
        node_id node = brancher->work[w];
        for (uint32_t k = table->first_option[node]; k < table->first_option[node + 1]; k++)
            consider(brancher, key, table->node_options[k]);
    }
}
