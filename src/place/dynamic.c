/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dynamic.c: the layout-aware dynamic program (docs/placement.md). States are extended by options
 * whose inputs are there, level by level of covered nodes; passes with more and more states bound
 * the later ones by what the earlier ones found, and end as soon as one drops nothing.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "place/branch.h"
#include "place/dynamic.h"
#include "place/level.h"

/* States to keep at each level: in the first passes, and at most, if the caller sets no limit. The
 * last pass then gets as many as need about PASS_TRIES, going by the pass before; one that needs
 * many more is given up. */
enum { FIRST_LIMIT = 50, SECOND_LIMIT = 1000, MOST_STATES = 20000 };
enum { PASS_TRIES = 3000000, PATIENCE = 4 };

/* A level that waits is reduced when it holds this many times the limit. */
enum { PENDING_FACTOR = 4 };

/* Where a state that was extended came from. */
struct step {
    uint32_t parent, option;
};

#define NO_STEP UINT32_MAX

struct solver {
    const struct place_table *table;
    const struct dynamic_limits *limits;
    struct arena *arena;
    struct brancher brancher;
    struct level *levels; /* node_count + 1 */
    struct step *history; /* of this pass */
    size_t history_count, history_capacity;
    uint32_t *key, *pairs; /* the key being made */
    size_t limit;
    double dropped;       /* the least that a completion of a state dropped in this pass may cost */
    double bound;         /* over all passes: no placement costs less */
    size_t states;        /* extended, over all passes */
    size_t tries;         /* options tried in this pass */
    node_id stuck;        /* the first uncovered node of the state that got furthest */
    double best;          /* only what costs less is of interest: known before, or found so far */
    candidate_id *chosen; /* the best placement found, over all passes */
    size_t chosen_count;
    double chosen_cost;
    struct error *error;
};

static struct level *final_level(const struct solver *solver)
{
    return &solver->levels[solver->table->graph->node_count];
}

/* ---- making the key of a new state ---- */

/* The covered set of `key` with the option's nodes, into solver->key. */
static void make_cover(struct solver *solver, const uint32_t *key,
                       const struct place_option *option)
{
    uint32_t *window = solver->key + KEY_HEAD;
    uint32_t base = key[KEY_FIRST] / 32, words = key[KEY_WORDS];
    uint32_t top = option->nodes[option->node_count - 1] / 32 - base + 1;
    memcpy(window, key + KEY_HEAD, words * sizeof *window);
    for (; words < top; words++)
        window[words] = 0;
    for (uint32_t k = 0; k < option->node_count; k++)
        window[option->nodes[k] / 32 - base] |= UINT32_C(1) << (option->nodes[k] % 32);
    uint32_t first = key[KEY_FIRST];
    while (first / 32 - base < words && (window[first / 32 - base] >> (first % 32) & 1))
        first++;
    uint32_t skip = first / 32 - base;
    words = words > skip ? words - skip : 0;
    memmove(window, window + skip, words * sizeof *window);
    if (words)
        window[0] &= ~((UINT32_C(1) << (first % 32)) - 1);
    while (words && window[words - 1] == 0)
        words--;
    solver->key[KEY_FIRST] = first;
    solver->key[KEY_WORDS] = words;
}

static const struct place_port *find_input(const struct place_option *option, value_id value)
{
    for (uint32_t k = 0; k < option->input_count; k++)
        if (option->inputs[k].value == value)
            return &option->inputs[k];
    return NULL;
}

static void add_pair(struct solver *solver, uint32_t *live, value_id value, uint32_t slot)
{
    size_t k = (*live)++;
    for (; k > 0 && solver->pairs[2 * k - 2] > value; k--)
        memcpy(solver->pairs + 2 * k, solver->pairs + 2 * k - 2, 2 * sizeof(uint32_t));
    solver->pairs[2 * k] = value;
    solver->pairs[2 * k + 1] = slot;
}

/* Has the value in that layout. Adds to the state's cost; false: no way. */
static bool convert(const struct place_table *table, value_id value, uint32_t slot, uint32_t layout,
                    struct state *state)
{
    const struct place_value *v = &table->values[value];
    double cost = slot_cost(table, value, slot, layout);
    if (cost == HUGE_VAL)
        return false;
    state->cost += cost;
    if (v->convert_bound && !slot_has(slot, layout))
        state->rest -= v->convert_bound[slot_made(slot) * v->layout_count + layout];
    return true;
}

static double route_cost(const struct place_table *table, value_id value, uint32_t use,
                         uint32_t from, uint32_t to)
{
    const double *costs = table->route_cost ? table->route_cost[use] : NULL;
    return costs ? costs[from * table->values[value].layout_count + to] : 0;
}

/* What the option's nodes add to the bound by taking the value. */
static double routes_cost(const struct place_table *table, const struct place_option *option,
                          const struct place_port *port, uint32_t slot)
{
    const struct graph_uses *uses = table->uses;
    double sum = 0;
    for (uint32_t u = uses->first[port->value];
         table->route_cost && u < uses->first[port->value + 1]; u++)
        if (table->route_cost[u] && place_option_has(option, uses->users[u]))
            sum += route_cost(table, port->value, u, slot_made(slot), port->layout);
    return sum;
}

/* Converts the inputs, drops the values that nobody uses any more. False: no way. */
static bool take_inputs(struct solver *solver, const uint32_t *key,
                        const struct place_option *option, uint32_t *live, struct state *state)
{
    const uint32_t *pairs = key + KEY_HEAD + key[KEY_WORDS];
    for (size_t k = 0; k < key[KEY_LIVE]; k++) {
        value_id value = pairs[2 * k];
        uint32_t slot = pairs[2 * k + 1];
        const struct place_port *port = find_input(option, value);
        if (port) {
            if (!convert(solver->table, value, slot, port->layout, state))
                return false;
            state->rest += routes_cost(solver->table, option, port, slot);
            slot |= UINT32_C(1) << port->layout;
        }
        if (port || solver->table->copied) { /* a user that has a copy of the maker took nothing */
            bool dead = false;
            uint32_t needs = key_needs(solver->table, solver->key, value, slot_made(slot), &dead);
            if (dead)
                return false;
            if (needs == 0)
                continue;
            slot = slot_make(slot_made(slot), slot_converted(slot) & needs);
        }
        add_pair(solver, live, value, slot);
    }
    return true;
}

/* Whoever uses a result of the node has a choice without it? */
static bool may_leave(const struct solver *solver, node_id node)
{
    const struct place_table *table = solver->table;
    const collage_node *base = &table->graph->nodes[node].base;
    for (uint32_t k = 0; k < base->output_count; k++) {
        value_id value = base->outputs[k];
        for (uint32_t u = value == GRAPH_NONE ? 0 : table->uses->first[value];
             value != GRAPH_NONE && u < table->uses->first[value + 1]; u++)
            if (!key_covers(solver->key, table->uses->users[u]) && !table->idle[u])
                return false;
    }
    return true;
}

/* Adds what the option makes; model outputs are wanted row-major, at once. */
static bool give_outputs(struct solver *solver, const struct place_option *option, uint32_t *live,
                         struct state *state)
{
    uint32_t use_count = solver->table->uses->first[solver->table->graph->value_count];
    for (uint32_t k = 0; k < option->output_count; k++) {
        const struct place_port *port = &option->outputs[k];
        uint32_t slot = slot_make(port->layout, 0);
        bool dead = false;
        uint32_t needs = key_needs(solver->table, solver->key, port->value, port->layout, &dead);
        if (dead)
            return false;
        if (solver->table->values[port->value].output) {
            if (!convert(solver->table, port->value, slot, 0, state))
                return false;
            state->rest +=
                route_cost(solver->table, port->value, use_count + port->value, port->layout, 0);
            slot = slot_make(port->layout, 1 & needs);
        }
        if (needs)
            add_pair(solver, live, port->value, slot);
    }
    return true;
}

static uint32_t next_last(const struct place_table *table, uint32_t last,
                          const struct place_option *option)
{
    return table->switch_ns && !option->view ? option->backend : last;
}

/* Puts the state that `option` leads to on its level, unless it cannot be part of a better
 * placement than the best one. */
static collage_status extend(struct solver *solver, const struct state *state, const uint32_t *key,
                             uint32_t index, uint32_t parent, size_t covered)
{
    const struct place_table *table = solver->table;
    const struct place_option *option = &table->options[index];
    uint32_t last = next_last(table, key[KEY_LAST], option);
    struct state next = { .cost = state->cost + option->cost,
                          .rest = state->rest - option->bound,
                          .parent = parent,
                          .option = index };
    if (table->switch_ns && !option->view)
        next.cost += table->switch_ns[key[KEY_LAST] * (table->backend_count + 1) + last];
    double enough = solver->best * (1 - 1e-12);
    if (next.cost + next.rest >= enough)
        return COLLAGE_OK;
    uint32_t live = 0;
    make_cover(solver, key, option);
    if (option->id == PLACE_LEAVE && !may_leave(solver, option->nodes[0]))
        return COLLAGE_OK;
    if (!take_inputs(solver, key, option, &live, &next) ||
        !give_outputs(solver, option, &live, &next) || next.cost + next.rest >= enough)
        return COLLAGE_OK;
    solver->key[KEY_LAST] = last;
    solver->key[KEY_LIVE] = live;
    size_t head = KEY_HEAD + (size_t)solver->key[KEY_WORDS];
    memcpy(solver->key + head, solver->pairs, 2 * (size_t)live * sizeof *solver->pairs);
    struct level *level = &solver->levels[covered + option->node_count];
    collage_status status =
        level_insert(level, &next, solver->key, head + 2 * (size_t)live, solver->error);
    if (!status && level->count > PENDING_FACTOR * solver->limit)
        status = level_reduce(level, table, solver->limit, &solver->dropped, solver->error);
    return status;
}

/* ---- a pass ---- */

static collage_status start(struct solver *solver)
{
    const struct place_table *table = solver->table;
    const struct graph *graph = table->graph;
    struct state state = { .rest = table->bound_total, .parent = NO_STEP, .option = NO_STEP };
    solver->key[KEY_LAST] = table->switch_ns ? table->backend_count : 0;
    solver->key[KEY_FIRST] = solver->key[KEY_WORDS] = 0;
    uint32_t live = 0;
    for (uint32_t k = 0; k < graph->input_count; k++) {
        value_id value = graph->inputs[k];
        if (table->uses->first[value] < table->uses->first[value + 1])
            add_pair(solver, &live, value, slot_make(0, 0));
    }
    solver->key[KEY_LIVE] = live;
    memcpy(solver->key + KEY_HEAD, solver->pairs, 2 * (size_t)live * sizeof *solver->pairs);
    return level_insert(&solver->levels[0], &state, solver->key, KEY_HEAD + 2 * (size_t)live,
                        solver->error);
}

static collage_status extend_level(struct solver *solver, size_t covered)
{
    struct level *level = &solver->levels[covered];
    collage_status status =
        level_reduce(level, solver->table, solver->limit, &solver->dropped, solver->error);
    for (size_t s = 0; s < level->count && !status; s++) {
        const struct state *state = &level->states[s];
        const uint32_t *key = level->keys + state->key;
        if (solver->history_count >= NO_STEP ||
            !memory_grow((void **)&solver->history, &solver->history_capacity,
                         solver->history_count, sizeof *solver->history))
            return error_memory(solver->error);
        uint32_t parent = (uint32_t)solver->history_count;
        solver->history[solver->history_count++] = (struct step){ state->parent, state->option };
        solver->states++;
        if (key[KEY_FIRST] > solver->stuck)
            solver->stuck = key[KEY_FIRST];
        brancher_find(&solver->brancher, key);
        solver->tries += solver->brancher.ready_count;
        for (uint32_t k = 0; k < solver->brancher.ready_count && !status; k++)
            status = extend(solver, state, key, solver->brancher.ready[k], parent, covered);
    }
    level_free(level);
    return status;
}

/* The steps that lead to the final state become the best placement. */
static collage_status take_best(struct solver *solver)
{
    const struct level *final = final_level(solver);
    if (final->count == 0)
        return COLLAGE_OK;
    const struct state *state = &final->states[0];
    for (size_t k = 1; k < final->count; k++)
        if (final->states[k].cost < state->cost)
            state = &final->states[k];
    if (solver->chosen && solver->chosen_cost <= state->cost)
        return COLLAGE_OK;
    size_t count = 0;
    for (struct step s = { state->parent, state->option }; s.parent != NO_STEP;
         s = solver->history[s.parent])
        count += solver->table->options[s.option].id != PLACE_LEAVE;
    candidate_id *chosen = memory_alloc(count * sizeof *chosen);
    if (!chosen)
        return error_memory(solver->error);
    size_t k = count;
    for (struct step s = { state->parent, state->option }; s.parent != NO_STEP;
         s = solver->history[s.parent])
        if (solver->table->options[s.option].id != PLACE_LEAVE)
            chosen[--k] = solver->table->options[s.option].id;
    memory_free(solver->chosen);
    solver->chosen = chosen;
    solver->chosen_count = count;
    solver->chosen_cost = state->cost;
    solver->best = fmin(solver->best, state->cost);
    return COLLAGE_OK;
}

static size_t tries_of_pass(const struct solver *solver)
{
    return solver->limits->tries ? solver->limits->tries : PASS_TRIES;
}

static bool is_late(const struct solver *solver)
{
    return solver->best < HUGE_VAL && clock_ns() >= solver->limits->deadline;
}

/* When a pass is given up, what waits is dropped; but not before there is a placement. */
static bool is_over(const struct solver *solver)
{
    return (solver->best < HUGE_VAL && solver->tries > PATIENCE * tries_of_pass(solver)) ||
           is_late(solver);
}

static void drop_levels(struct solver *solver)
{
    for (size_t covered = 0; covered < solver->table->graph->node_count; covered++) {
        const struct level *level = &solver->levels[covered];
        for (size_t s = 0; s < level->count; s++)
            solver->dropped = fmin(solver->dropped, level->states[s].cost + level->states[s].rest);
    }
}

static collage_status run_pass(struct solver *solver, size_t limit, bool all_orders)
{
    size_t nodes = solver->table->graph->node_count;
    solver->limit = limit;
    solver->dropped = HUGE_VAL;
    solver->brancher.all_orders = all_orders;
    solver->history_count = solver->tries = 0;
    collage_status status = start(solver);
    for (size_t covered = 0; covered < nodes && !status && !is_over(solver); covered++)
        status = extend_level(solver, covered);
    drop_levels(solver);
    if (!status)
        status = take_best(solver);
    if (all_orders || !solver->table->switch_ns)
        solver->bound = fmax(solver->bound, fmin(solver->dropped, solver->best));
    for (size_t covered = 0; covered <= nodes; covered++)
        level_free(&solver->levels[covered]);
    return status;
}

/* The next limit for about as many tries as wanted. */
static size_t widen(const struct solver *solver)
{
    double tries = (double)tries_of_pass(solver);
    size_t limit = (size_t)((double)solver->limit * tries / (double)(solver->tries + 1));
    return limit < MOST_STATES ? limit : MOST_STATES;
}

/*
 * Small passes first: each bounds the next, and one that drops nothing is the last. With switch
 * costs only passes over all orders can be that; those over one order are done for their bound.
 */
static collage_status run_passes(struct solver *solver, bool *optimal)
{
    bool switches = solver->table->switch_ns != NULL;
    size_t most = solver->limits->states;
    size_t first = solver->limits->first ? solver->limits->first : FIRST_LIMIT;
    const struct {
        size_t limit; /* 0: the last pass */
        bool all_orders;
    } passes[] = { { first, false }, { SECOND_LIMIT, false }, { first, true }, { 0, switches } };
    for (size_t k = 0; k < sizeof passes / sizeof passes[0]; k++) {
        size_t limit = passes[k].limit;
        if (limit && (passes[k].all_orders > switches || (most && limit >= most)))
            continue;
        if (limit > first && !most && widen(solver) < limit)
            continue; /* the last pass is no wider than that */
        if (!limit)
            limit = most ? most : widen(solver);
        if (!most && limit <= solver->limit && passes[k].all_orders == solver->brancher.all_orders)
            continue; /* the pass before was as wide */
        collage_status status = run_pass(solver, limit, passes[k].all_orders);
        *optimal = !(solver->dropped < solver->best) && passes[k].all_orders == switches;
        if (status || *optimal || is_late(solver))
            return status;
    }
    while (solver->best == HUGE_VAL && solver->dropped < HUGE_VAL && solver->limit < MOST_STATES) {
        /* a dead end? */
        collage_status status = run_pass(solver, 4 * solver->limit, switches);
        if (status)
            return status;
    }
    return COLLAGE_OK;
}

static collage_status solver_make(struct solver *solver)
{
    const struct graph *graph = solver->table->graph;
    size_t words = graph->node_count / 32 + 2;
    solver->levels = arena_array(solver->arena, graph->node_count + 1, sizeof *solver->levels);
    solver->pairs = arena_array(solver->arena, graph->value_count, 2 * sizeof *solver->pairs);
    solver->key =
        arena_array(solver->arena, KEY_HEAD + words + 2 * graph->value_count, sizeof *solver->key);
    if (!solver->levels || !solver->pairs || !solver->key)
        return error_memory(solver->error);
    return brancher_make(solver->table, solver->arena, &solver->brancher, solver->error);
}

static void solver_free(struct solver *solver)
{
    memory_free(solver->history);
    memory_free(solver->chosen);
    if (solver->levels)
        for (size_t k = 0; k <= solver->table->graph->node_count; k++)
            level_free(&solver->levels[k]);
    arena_destroy(solver->arena);
}

collage_status dynamic_run(const struct place_table *table, const struct dynamic_limits *limits,
                           struct dynamic_result *out, struct error *error)
{
    *out = (struct dynamic_result){ 0 };
    struct solver solver = { .table = table,
                             .limits = limits,
                             .arena = arena_create(),
                             .best = limits->known_ns,
                             .bound = table->bound_total,
                             .error = error };
    collage_status status = solver.arena ? solver_make(&solver) : error_memory(error);
    if (!status)
        status = run_passes(&solver, &out->done);
    if (!status) {
        out->chosen = solver.chosen;
        out->count = solver.chosen_count;
        out->cost_ns = solver.chosen_cost;
        out->bound_ns = solver.bound;
        out->states = solver.states;
        out->stuck = solver.stuck;
        solver.chosen = NULL;
    }
    solver_free(&solver);
    return status;
}

collage_status place_dynamic(const struct place_problem *problem, struct placement *out,
                             struct error *error)
{
    *out = (struct placement){ 0 };
    struct place_table table;
    const struct dynamic_limits limits = { .states = problem->state_limit,
                                           .deadline = UINT64_MAX,
                                           .known_ns = HUGE_VAL };
    struct dynamic_result result = { 0 };
    collage_status status = place_table_make(problem, &table, error);
    if (!status)
        status = dynamic_run(&table, &limits, &result, error);
    if (!status && !result.chosen)
        status = place_fail(problem, result.stuck, error);
    if (!status)
        *out = (struct placement){ .chosen = result.chosen,
                                   .count = result.count,
                                   .cost_ns = result.cost_ns,
                                   .bound_ns = table.complete ? result.bound_ns : 0,
                                   .optimal = result.done && table.complete,
                                   .states = result.states };
    place_table_free(&table);
    return status;
}
