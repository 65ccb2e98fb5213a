/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frontier.c: the published dynamic program (Jeon et al., "Collage", PACT 2022), kept as a
 * baseline. From the outputs of the network to its inputs, nodes in the order of their distance
 * from the outputs: a cell is a set of covered nodes with the least cost of covering them; its
 * frontier is the first node that is not covered. Every candidate that begins there and covers
 * nothing twice leads to another cell. Costs add up, with a term for each kernel; layouts, and what
 * runs before and after, have no say.
 *
 * Nodes that no chain of overlapping candidates joins do not matter to each other: each such part
 * of the graph has a program of its own. This leaves the result as it is, and the number of cells
 * small.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "place/cover.h"
#include "place/options.h"

/* How many cells are expanded at one frontier, the most promising first: at most, at least, and in
 * between as many as so many bytes hold. */
enum { MOST_CELLS = 20000, LEAST_CELLS = 50, CELL_BYTES = 64 << 20 };

/* The cheapest candidate over its nodes. */
struct option {
    candidate_id id;
    double cost; /* with the term for a kernel */
    const node_id *nodes;
    uint32_t node_count;
    uint32_t begin; /* the first of its nodes in the order, as a position */
};

/* How a cell came about: from the cell of the history's step `before`, by that option. */
struct step {
    uint32_t before, option;
};

#define NO_STEP UINT32_MAX

/* Cells of one frontier. A cell's bits say which nodes of the part are covered. */
struct cell {
    double cost, rest; /* so far; what the nodes left cost at least */
    struct step step;
    uint32_t bits; /* its place in the frontier's bits, in sets */
};

struct frontier {
    struct cell *cells;
    uint64_t *bits;
    uint32_t *table; /* cells by their bits, open addressing: index + 1; 0: free */
    size_t count, cell_capacity, bit_capacity, table_capacity;
};

struct searcher {
    const struct place_problem *problem;
    const struct graph *graph;
    struct arena *arena;
    double kernel_ns;
    bool rows_only;
    struct option *options;
    uint32_t option_count;
    uint32_t *part;             /* node by node: a forest, then the root of its tree */
    uint32_t *depth;            /* node by node: the longest way to an end of the graph */
    node_id *order;             /* parts one after the other, each by depth */
    uint32_t *position;         /* node by node: its place in order */
    double *share;              /* node by node: the least that it costs */
    uint32_t *first, *by_begin; /* options that begin at position p: by_begin[first[p]...] */
    struct frontier *frontiers; /* of the part at work, by position; the last one is the end */
    struct step *history;       /* of the cells that were expanded */
    size_t history_count, history_capacity;
    uint64_t *set; /* the bits of the cell being made */
    candidate_id *chosen;
    size_t chosen_count, states;
    node_id stuck; /* the frontier that got furthest */
    struct error *error;
};

/* ---- options ---- */

/* Equal nodes side by side, the cheapest first. */
static int compare_options(const void *left, const void *right)
{
    const struct option *a = left, *b = right;
    if (a->node_count != b->node_count)
        return a->node_count < b->node_count ? -1 : 1;
    int order = memcmp(a->nodes, b->nodes, a->node_count * sizeof *a->nodes);
    if (order)
        return order;
    if (a->cost < b->cost || a->cost > b->cost)
        return a->cost < b->cost ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static collage_status make_options(struct searcher *searcher)
{
    const struct candidate_set *set = searcher->problem->set;
    searcher->options = arena_array(searcher->arena, set->count, sizeof *searcher->options);
    if (!searcher->options)
        return error_memory(searcher->error);
    uint32_t count = 0, kept = 0;
    for (candidate_id id = 0; id < set->count; id++) {
        const struct candidate *candidate = &set->items[id];
        if (!cover_takes_part(searcher->problem, candidate, searcher->rows_only))
            continue;
        double extra = candidate->view ? 0 : searcher->kernel_ns;
        searcher->options[count++] = (struct option){ .id = id,
                                                      .cost = candidate->cost.cost_ns + extra,
                                                      .nodes = candidate->region.nodes,
                                                      .node_count = candidate->region.node_count };
    }
    if (count)
        qsort(searcher->options, count, sizeof *searcher->options, compare_options);
    for (uint32_t k = 0; k < count; k++) {
        const struct option *option = &searcher->options[k];
        const struct option *last = kept ? &searcher->options[kept - 1] : NULL;
        if (!last || last->node_count != option->node_count ||
            memcmp(last->nodes, option->nodes, option->node_count * sizeof *option->nodes) != 0)
            searcher->options[kept++] = *option;
    }
    searcher->option_count = kept;
    return COLLAGE_OK;
}

/* ---- parts and their order ---- */

static uint32_t find_root(uint32_t *parent, uint32_t n)
{
    while (parent[n] != n)
        n = parent[n] = parent[parent[n]];
    return n;
}

static void find_parts(struct searcher *searcher)
{
    uint32_t *part = searcher->part;
    for (node_id n = 0; n < searcher->graph->node_count; n++)
        part[n] = n;
    for (uint32_t o = 0; o < searcher->option_count; o++) {
        const struct option *option = &searcher->options[o];
        for (uint32_t k = 1; k < option->node_count; k++)
            part[find_root(part, option->nodes[k])] = find_root(part, option->nodes[0]);
    }
    for (node_id n = 0; n < searcher->graph->node_count; n++)
        part[n] = find_root(part, n);
}

static void find_depths(struct searcher *searcher)
{
    const struct graph_uses *uses = &searcher->problem->set->uses;
    for (node_id n = (node_id)searcher->graph->node_count; n-- > 0;) {
        const collage_node *base = &searcher->graph->nodes[n].base;
        uint32_t depth = 0;
        for (uint32_t k = 0; k < base->output_count; k++) {
            value_id v = base->outputs[k];
            for (uint32_t u = v == GRAPH_NONE ? 0 : uses->first[v];
                 v != GRAPH_NONE && u < uses->first[v + 1]; u++)
                if (searcher->depth[uses->users[u]] + 1 > depth)
                    depth = searcher->depth[uses->users[u]] + 1;
        }
        searcher->depth[n] = depth;
    }
}

struct ranked {
    uint32_t part, depth;
    node_id node;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static collage_status make_order(struct searcher *searcher)
{
    size_t nodes = searcher->graph->node_count;
    struct ranked *ranked = arena_array(searcher->arena, nodes, sizeof *ranked);
    if (!ranked)
        return error_memory(searcher->error);
    find_parts(searcher);
    find_depths(searcher);
    for (node_id n = 0; n < nodes; n++)
        ranked[n] = (struct ranked){ searcher->part[n], searcher->depth[n], n };
    if (nodes)
        qsort(ranked, nodes, sizeof *ranked, compare_ranked);
    for (uint32_t p = 0; p < nodes; p++) {
        searcher->order[p] = ranked[p].node;
        searcher->position[ranked[p].node] = p;
    }
    return COLLAGE_OK;
}

/* Where each option begins, and what each node costs at least. */
static collage_status index_options(struct searcher *searcher)
{
    size_t nodes = searcher->graph->node_count;
    searcher->first = arena_array(searcher->arena, nodes + 2, sizeof(uint32_t));
    searcher->by_begin = arena_array(searcher->arena, searcher->option_count, sizeof(uint32_t));
    if (!searcher->first || !searcher->by_begin)
        return error_memory(searcher->error);
    for (size_t n = 0; n < nodes; n++)
        searcher->share[n] = HUGE_VAL;
    for (uint32_t o = 0; o < searcher->option_count; o++) {
        struct option *option = &searcher->options[o];
        option->begin = UINT32_MAX;
        for (uint32_t k = 0; k < option->node_count; k++) {
            node_id n = option->nodes[k];
            searcher->share[n] = fmin(searcher->share[n], option->cost / option->node_count);
            if (searcher->position[n] < option->begin)
                option->begin = searcher->position[n];
        }
        searcher->first[option->begin + 2]++;
    }
    for (size_t p = 2; p < nodes + 2; p++)
        searcher->first[p] += searcher->first[p - 1];
    for (uint32_t o = 0; o < searcher->option_count; o++)
        searcher->by_begin[searcher->first[searcher->options[o].begin + 1]++] = o;
    return COLLAGE_OK;
}

/* ---- cells ---- */

static void frontier_free(struct frontier *front)
{
    memory_free(front->cells);
    memory_free(front->bits);
    memory_free(front->table);
    *front = (struct frontier){ 0 };
}

static uint32_t *find_slot(const struct frontier *front, const uint64_t *bits, size_t words)
{
    size_t bytes = words * sizeof *bits;
    size_t slot = (size_t)hash_of(bits, bytes).low & (front->table_capacity - 1);
    while (front->table[slot]) {
        const struct cell *cell = &front->cells[front->table[slot] - 1];
        if (memcmp(front->bits + cell->bits * words, bits, bytes) == 0)
            break;
        slot = (slot + 1) & (front->table_capacity - 1);
    }
    return &front->table[slot];
}

static bool make_room(struct frontier *front, size_t words)
{
    if (!memory_grow((void **)&front->cells, &front->cell_capacity, front->count,
                     sizeof *front->cells) ||
        !memory_grow((void **)&front->bits, &front->bit_capacity, front->count,
                     words * sizeof *front->bits))
        return false;
    if (2 * (front->count + 1) <= front->table_capacity)
        return true;
    size_t capacity = front->table_capacity ? 2 * front->table_capacity : 64;
    uint32_t *table = memory_alloc(capacity * sizeof *table);
    if (!table)
        return false;
    memory_free(front->table);
    front->table = table;
    front->table_capacity = capacity;
    for (size_t k = 0; k < front->count; k++)
        *find_slot(front, front->bits + front->cells[k].bits * words, words) = (uint32_t)k + 1;
    return true;
}

/* Of two cells with the same nodes the cheaper stays. */
static bool frontier_insert(struct frontier *front, const struct cell *cell, const uint64_t *bits,
                            size_t words)
{
    if (front->count >= UINT32_MAX - 1 || !make_room(front, words))
        return false;
    uint32_t *slot = find_slot(front, bits, words);
    if (*slot) {
        struct cell *there = &front->cells[*slot - 1];
        if (cell->cost < there->cost) {
            there->cost = cell->cost;
            there->step = cell->step;
        }
        return true;
    }
    uint32_t index = (uint32_t)front->count++;
    front->cells[index] = *cell;
    front->cells[index].bits = index;
    memcpy(front->bits + index * words, bits, words * sizeof *bits);
    *slot = index + 1;
    return true;
}

static int compare_cells(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    double x = a->cost + a->rest, y = b->cost + b->rest;
    if (x < y || x > y)
        return x < y ? -1 : 1;
    return a->bits < b->bits ? -1 : a->bits > b->bits;
}

/* ---- one part ---- */

static bool is_covered(const uint64_t *bits, uint32_t at)
{
    return bits[at / 64] >> (at % 64) & 1;
}

/* The part is order[begin..end). Puts the cell that the option leads to at its frontier; `step` is
 * how the cell before it came about. */
static collage_status extend(struct searcher *searcher, const struct cell *cell,
                             const uint64_t *bits, struct step step, uint32_t begin, uint32_t end)
{
    const struct option *option = &searcher->options[step.option];
    size_t words = (end - begin) / 64 + 1;
    struct cell next = { .cost = cell->cost + option->cost, .rest = cell->rest, .step = step };
    for (uint32_t k = 0; k < option->node_count; k++)
        if (is_covered(bits, searcher->position[option->nodes[k]] - begin))
            return COLLAGE_OK;
    memcpy(searcher->set, bits, words * sizeof *bits);
    for (uint32_t k = 0; k < option->node_count; k++) {
        uint32_t at = searcher->position[option->nodes[k]] - begin;
        searcher->set[at / 64] |= UINT64_C(1) << (at % 64);
        next.rest -= searcher->share[option->nodes[k]];
    }
    uint32_t frontier = option->begin + 1;
    while (frontier < end && is_covered(searcher->set, frontier - begin))
        frontier++;
    return frontier_insert(&searcher->frontiers[frontier - begin], &next, searcher->set, words)
               ? COLLAGE_OK
               : error_memory(searcher->error);
}

static collage_status expand_cell(struct searcher *searcher, const struct cell *cell,
                                  const uint64_t *bits, uint32_t at, uint32_t begin, uint32_t end)
{
    if (searcher->history_count >= NO_STEP ||
        !memory_grow((void **)&searcher->history, &searcher->history_capacity,
                     searcher->history_count, sizeof *searcher->history))
        return error_memory(searcher->error);
    uint32_t before = (uint32_t)searcher->history_count;
    searcher->history[searcher->history_count++] = cell->step;
    collage_status status = COLLAGE_OK;
    for (uint32_t k = searcher->first[at]; k < searcher->first[at + 1] && !status; k++)
        status = extend(searcher, cell, bits, (struct step){ before, searcher->by_begin[k] }, begin,
                        end);
    return status;
}

static collage_status expand(struct searcher *searcher, uint32_t at, uint32_t begin, uint32_t end)
{
    struct frontier *front = &searcher->frontiers[at - begin];
    size_t words = (end - begin) / 64 + 1, limit = CELL_BYTES / (words * sizeof(uint64_t));
    limit = limit < LEAST_CELLS ? LEAST_CELLS : limit;
    limit = limit > MOST_CELLS ? MOST_CELLS : limit;
    if (front->count > limit) {
        qsort(front->cells, front->count, sizeof *front->cells, compare_cells);
        front->count = limit; /* the table is not asked any more */
    }
    if (front->count > 0)
        searcher->stuck = searcher->order[at];
    collage_status status = COLLAGE_OK;
    searcher->states += front->count;
    for (size_t c = 0; c < front->count && !status; c++) {
        const struct cell *cell = &front->cells[c];
        status = expand_cell(searcher, cell, front->bits + cell->bits * words, at, begin, end);
    }
    frontier_free(front);
    return status;
}

/* *found: the part is covered, by candidates that were added to the chosen ones. */
static collage_status search_part(struct searcher *searcher, uint32_t begin, uint32_t end,
                                  bool *found)
{
    size_t words = (end - begin) / 64 + 1;
    struct cell start = { .step = { NO_STEP, NO_STEP } };
    searcher->history_count = 0;
    memset(searcher->set, 0, words * sizeof *searcher->set);
    for (uint32_t p = begin; p < end; p++)
        start.rest += searcher->share[searcher->order[p]];
    collage_status status = frontier_insert(&searcher->frontiers[0], &start, searcher->set, words)
                                ? COLLAGE_OK
                                : error_memory(searcher->error);
    for (uint32_t at = begin; at < end && !status; at++)
        status = expand(searcher, at, begin, end);
    const struct frontier *last = &searcher->frontiers[end - begin];
    *found = !status && last->count > 0;
    if (*found)
        for (struct step step = last->cells[0].step; step.option != NO_STEP;
             step = searcher->history[step.before])
            searcher->chosen[searcher->chosen_count++] = searcher->options[step.option].id;
    for (uint32_t k = 0; k <= end - begin; k++) /* after a failure more than the last */
        frontier_free(&searcher->frontiers[k]);
    return status;
}

/* ---- the whole ---- */

static collage_status make(struct searcher *searcher)
{
    struct arena *arena = searcher->arena;
    size_t nodes = searcher->graph->node_count;
    searcher->part = arena_array(arena, nodes, sizeof(uint32_t));
    searcher->depth = arena_array(arena, nodes, sizeof(uint32_t));
    searcher->order = arena_array(arena, nodes, sizeof(node_id));
    searcher->position = arena_array(arena, nodes, sizeof(uint32_t));
    searcher->share = arena_array(arena, nodes, sizeof(double));
    searcher->frontiers = arena_array(arena, nodes + 1, sizeof(struct frontier));
    searcher->set = arena_array(arena, nodes / 64 + 1, sizeof(uint64_t));
    searcher->chosen = memory_alloc(nodes * sizeof *searcher->chosen);
    if (!searcher->part || !searcher->depth || !searcher->order || !searcher->position ||
        !searcher->share || !searcher->frontiers || !searcher->set || !searcher->chosen)
        return error_memory(searcher->error);
    collage_status status = make_options(searcher);
    if (!status)
        status = make_order(searcher);
    return status ? status : index_options(searcher);
}

/* All parts. *found: every node is covered. */
static collage_status search(struct searcher *searcher, bool *found)
{
    uint32_t nodes = (uint32_t)searcher->graph->node_count, begin = 0;
    collage_status status = make(searcher);
    *found = !status;
    while (begin < nodes && !status && *found) {
        uint32_t end = begin + 1, part = searcher->part[searcher->order[begin]];
        while (end < nodes && searcher->part[searcher->order[end]] == part)
            end++;
        status = search_part(searcher, begin, end, found);
        begin = end;
    }
    return status;
}

/* *possible: there is a placement, in *out; otherwise *stuck is where it ended. */
static collage_status attempt(const struct place_problem *problem, double kernel_ns, bool rows_only,
                              struct placement *out, bool *possible, node_id *stuck,
                              struct error *error)
{
    struct searcher searcher = { .problem = problem,
                                 .graph = problem->set->graph,
                                 .arena = arena_create(),
                                 .kernel_ns = kernel_ns,
                                 .rows_only = rows_only,
                                 .error = error };
    bool found = false;
    *possible = false;
    collage_status status = searcher.arena ? search(&searcher, &found) : error_memory(error);
    if (!status && found)
        status =
            cover_finish(problem, searcher.chosen, searcher.chosen_count, out, possible, error);
    else
        memory_free(searcher.chosen);
    out->states = searcher.states;
    *stuck = searcher.stuck;
    memory_free(searcher.history);
    arena_destroy(searcher.arena);
    return status;
}

collage_status place_op_level(const struct place_problem *problem, double kernel_ns,
                              struct placement *out, struct error *error)
{
    *out = (struct placement){ 0 };
    bool possible;
    node_id stuck, ignored;
    double term = kernel_ns > 0 ? kernel_ns : problem->step_ns;
    collage_status status = attempt(problem, term, false, out, &possible, &stuck, error);
    /* The published program knows one layout. Where ours would need a conversion that nobody can
     * make, this is what it finds. */
    if (!status && !possible)
        status = attempt(problem, term, true, out, &possible, &ignored, error);
    if (!status && !possible)
        status = place_fail(problem, stuck, error);
    return status;
}
