/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connected sets, each exactly once: the ESU algorithm (S. Wernicke, Efficient detection of network
 * motifs, 2006). A set grows from its smallest node; a node joins it only as the neighbour of the
 * node that joined last and of none before. A set with a forbidden pair inside is left at once, for
 * all larger ones have it as well; convexity is no such property and is asked at the end.
 */
#include "pattern/rule.h"

#include <stdlib.h>
#include <string.h>

#include "graph/region.h"

enum { MAX_EXTENSION = 48 };

struct grower {
    const struct rule *rule;
    const struct graph *graph;
    const struct graph_uses *uses;
    rule_set_fn found;
    void *user;
    bool *taken;     /* node by node: by the rule's operators */
    uint32_t *marks; /* node by node: how often it is in the set or beside one of it */
    node_id nodes[RULE_NODES];
    uint32_t count, wanted;
    uint32_t steps, all_steps, sets; /* that are left */
    bool ended, cut_off;
};

static bool spend(struct grower *grower, uint32_t steps)
{
    if (grower->ended || grower->steps == 0)
        return false;
    if (steps >= grower->steps || steps >= grower->all_steps) {
        grower->ended = steps >= grower->all_steps;
        grower->steps = 0;
        grower->cut_off = true;
        return false;
    }
    grower->steps -= steps;
    grower->all_steps -= steps;
    return true;
}

static bool may_fuse(const struct grower *grower, node_id producer, node_id consumer)
{
    const struct node *nodes = grower->graph->nodes;
    for (uint32_t k = 0; k < grower->rule->pair_count; k++) {
        const struct rule_pair *pair = &grower->rule->pairs[k];
        if (op_choices_take(pair->producers, pair->producer_count, &nodes[producer]) &&
            op_choices_take(pair->consumers, pair->consumer_count, &nodes[consumer]))
            return true;
    }
    return false;
}

/* Does `consumer` use a value that `producer` makes? */
static bool uses_result(const struct graph *graph, node_id producer, node_id consumer)
{
    const collage_node *base = &graph->nodes[consumer].base;
    for (uint32_t k = 0; k < base->input_count; k++) {
        value_id value = base->inputs[k];
        if (value != GRAPH_NONE && graph->values[value].kind == VALUE_COMPUTED &&
            graph->values[value].producer == producer)
            return true;
    }
    return false;
}

/* How many nodes visiting its neighbours looks at. */
static uint32_t count_neighbours(const struct grower *grower, node_id node)
{
    const collage_node *base = &grower->graph->nodes[node].base;
    const uint32_t *first = grower->uses->first;
    uint32_t count = base->input_count;
    for (uint32_t k = 0; k < base->output_count; k++)
        if (base->outputs[k] != GRAPH_NONE)
            count += first[base->outputs[k] + 1] - first[base->outputs[k]];
    return count;
}

/* Are all pairs of the node and one of the set allowed? */
static bool may_join(struct grower *grower, node_id node)
{
    if (!spend(grower, 1 + count_neighbours(grower, node)))
        return false;
    for (uint32_t k = 0; k < grower->count; k++) {
        node_id first = grower->nodes[k] < node ? grower->nodes[k] : node;
        node_id second = grower->nodes[k] < node ? node : grower->nodes[k];
        if (uses_result(grower->graph, first, second) && !may_fuse(grower, first, second))
            return false;
    }
    return true;
}

/* ---- neighbours: over allowed pairs only ---- */

typedef void (*neighbour_fn)(struct grower *grower, node_id neighbour, void *user);

static void visit_neighbours(struct grower *grower, node_id node, neighbour_fn visit, void *user)
{
    const struct graph *graph = grower->graph;
    const collage_node *base = &graph->nodes[node].base;
    for (uint32_t k = 0; k < base->input_count; k++) {
        value_id value = base->inputs[k];
        if (value == GRAPH_NONE || graph->values[value].kind != VALUE_COMPUTED)
            continue;
        node_id producer = graph->values[value].producer;
        if (grower->taken[producer] && may_fuse(grower, producer, node))
            visit(grower, producer, user);
    }
    for (uint32_t k = 0; k < base->output_count; k++) {
        value_id value = base->outputs[k];
        if (value == GRAPH_NONE)
            continue;
        for (uint32_t u = grower->uses->first[value]; u < grower->uses->first[value + 1]; u++) {
            node_id consumer = grower->uses->users[u];
            if (grower->taken[consumer] && may_fuse(grower, node, consumer))
                visit(grower, consumer, user);
        }
    }
}

struct extension {
    node_id nodes[MAX_EXTENSION];
    uint32_t count;
};

static void mark(struct grower *grower, node_id neighbour, void *user)
{
    struct extension *extension = user;
    if (grower->marks[neighbour]++ > 0 || neighbour < grower->nodes[0])
        return;
    if (extension->count == MAX_EXTENSION)
        grower->cut_off = true;
    else
        extension->nodes[extension->count++] = neighbour;
}

static void unmark(struct grower *grower, node_id neighbour, void *user)
{
    (void)user;
    grower->marks[neighbour]--;
}

/* ---- sets ---- */

static int compare_nodes(const void *left, const void *right)
{
    const node_id *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static bool leaves(const struct grower *grower, const struct region *region, value_id value)
{
    if (graph_is_output(grower->graph, value))
        return true;
    for (uint32_t u = grower->uses->first[value]; u < grower->uses->first[value + 1]; u++)
        if (!region_has(region, grower->uses->users[u]))
            return true;
    return false;
}

static uint32_t count_outputs(const struct grower *grower, const struct region *region)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < region->node_count; k++) {
        const collage_node *base = &grower->graph->nodes[region->nodes[k]].base;
        for (uint32_t o = 0; o < base->output_count; o++)
            count += base->outputs[o] != GRAPH_NONE && leaves(grower, region, base->outputs[o]);
    }
    return count;
}

static void emit(struct grower *grower)
{
    node_id nodes[RULE_NODES] = { 0 };
    memcpy(nodes, grower->nodes, grower->count * sizeof nodes[0]);
    qsort(nodes, grower->count, sizeof nodes[0], compare_nodes);
    const struct region region = { .nodes = nodes, .node_count = grower->count };
    if (!spend(grower, 1 + (nodes[grower->count - 1] - nodes[0]) / 16) ||
        !region_is_convex(grower->graph, grower->uses, &region) ||
        (grower->rule->outputs > 0 && count_outputs(grower, &region) > grower->rule->outputs))
        return;
    if (grower->sets == 0) {
        grower->ended = grower->cut_off = true;
        return;
    }
    grower->sets--;
    if (!grower->found(grower->user, nodes, grower->count))
        grower->ended = true;
}

/* Sets of `wanted` nodes that hold those so far, and further ones of the extension. */
static void extend(struct grower *grower, const struct extension *extension)
{
    if (grower->count == grower->wanted) {
        emit(grower);
        return;
    }
    for (uint32_t k = 0; k < extension->count && grower->steps > 0 && !grower->ended; k++) {
        node_id node = extension->nodes[k];
        struct extension next = { .count = extension->count - k - 1 };
        if (!may_join(grower, node))
            continue;
        memcpy(next.nodes, extension->nodes + k + 1, next.count * sizeof next.nodes[0]);
        grower->nodes[grower->count++] = node;
        visit_neighbours(grower, node, mark, &next);
        extend(grower, &next);
        visit_neighbours(grower, node, unmark, NULL);
        grower->count--;
    }
}

static void grow_from(struct grower *grower, node_id node)
{
    struct extension extension = { .count = 0 };
    grower->steps = RULE_STEPS;
    grower->nodes[0] = node;
    grower->count = 1;
    grower->marks[node]++;
    visit_neighbours(grower, node, mark, &extension);
    extend(grower, &extension);
    visit_neighbours(grower, node, unmark, NULL);
    grower->marks[node]--;
}

/* ---- whole sets ---- */

/* Is all that the node makes used in the set, and only there? */
static bool is_inner(const struct grower *grower, node_id node)
{
    const collage_node *base = &grower->graph->nodes[node].base;
    uint32_t uses = 0;
    for (uint32_t k = 0; k < base->output_count; k++) {
        value_id value = base->outputs[k];
        if (value == GRAPH_NONE)
            continue;
        if (graph_is_output(grower->graph, value))
            return false;
        for (uint32_t u = grower->uses->first[value]; u < grower->uses->first[value + 1]; u++) {
            node_id consumer = grower->uses->users[u];
            if (grower->marks[consumer] == 0 || !may_fuse(grower, node, consumer))
                return false;
            uses++;
        }
    }
    return uses > 0;
}

/* The first node whose result the node uses; the node itself if there is none. */
static node_id first_producer(const struct grower *grower, node_id node)
{
    const collage_node *base = &grower->graph->nodes[node].base;
    node_id first = node;
    for (uint32_t k = 0; k < base->input_count; k++) {
        value_id value = base->inputs[k];
        if (value != GRAPH_NONE && grower->graph->values[value].kind == VALUE_COMPUTED &&
            grower->graph->values[value].producer < first)
            first = grower->graph->values[value].producer;
    }
    return first;
}

/* Consumers come behind their producers: going down from the last node, all that use a node have
 * been decided on. What joins is used inside only: the set is convex, and one result leaves it. */
static void grow_whole(struct grower *grower, node_id last)
{
    node_id nodes[RULE_WHOLE_NODES], sorted[RULE_WHOLE_NODES];
    node_id first = first_producer(grower, last);
    uint32_t count = 0;
    grower->steps = RULE_STEPS;
    nodes[count++] = last;
    grower->marks[last]++;
    for (node_id n = last; n-- > first && count < grower->rule->whole;) {
        if (!grower->taken[n])
            continue;
        if (!spend(grower, 1 + count_neighbours(grower, n)))
            break;
        if (is_inner(grower, n)) {
            nodes[count++] = n;
            grower->marks[n]++;
            first = first_producer(grower, n) < first ? first_producer(grower, n) : first;
        }
    }
    for (uint32_t k = 0; k < count; k++) {
        sorted[k] = nodes[count - 1 - k];
        grower->marks[nodes[k]]--;
    }
    if (count > 1 && !grower->found(grower->user, sorted, count))
        grower->ended = true;
}

collage_status rule_grow(const struct rule *rule, const struct graph *graph,
                         const struct graph_uses *uses, rule_set_fn found, void *user,
                         bool *cut_off, struct error *error)
{
    struct grower grower = { .rule = rule,
                             .graph = graph,
                             .uses = uses,
                             .found = found,
                             .user = user,
                             .taken = memory_alloc(graph->node_count * sizeof(bool)),
                             .marks = memory_alloc(graph->node_count * sizeof(uint32_t)),
                             .all_steps = RULE_ALL_STEPS,
                             .sets = RULE_SETS };
    bool made = grower.taken && grower.marks;
    for (node_id n = 0; made && n < graph->node_count; n++)
        grower.taken[n] = op_choices_take(rule->operators, rule->operator_count, &graph->nodes[n]);
    for (node_id n = 0; made && rule->whole > 0 && n < graph->node_count && !grower.ended; n++)
        if (grower.taken[n])
            grow_whole(&grower, n);
    for (grower.wanted = 1; made && rule->whole == 0 && grower.wanted <= rule->nodes;
         grower.wanted++)
        for (node_id n = 0; n < graph->node_count && !grower.ended; n++)
            if (grower.taken[n])
                grow_from(&grower, n);
    memory_free(grower.taken);
    memory_free(grower.marks);
    *cut_off = *cut_off || grower.cut_off;
    return made ? COLLAGE_OK : error_memory(error);
}
