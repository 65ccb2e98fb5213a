/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact.c: placement with a bound (docs/placement.md). The dynamic program finds a placement; the
 * relaxed 0-1 program gives a bound, which makes the dynamic program much better at finding and at
 * proving; what is then still open goes to CBC.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "place/dynamic.h"
#include "place/model.h"
#include "place/order.h"
#include "place/relax.h"
#include "place/rounds.h"
#include "place/solve.h"

struct exact {
    const struct place_problem *problem;
    const struct place_limits *limits;
    struct place_table table;
    uint64_t deadline; /* on clock_ns */
    struct placement best;
    bool priced; /* the table's bounds are those of the relaxation */
    struct error *error;
};

/* What the first look at a problem may try, about. */
enum { FIRST_TRIES = 50000 };

/* Room above the bound, as a share of the cost, with which the searches among few options begin. */
static const double few = 1e-5;

static bool is_over(const struct exact *exact)
{
    return placement_is_optimal(&exact->best) || clock_ns() >= exact->deadline;
}

/* An order with fewer switches, if there is one. */
static collage_status reorder(struct exact *exact, struct dynamic_result *result)
{
    const struct place_table *table = &exact->table;
    size_t bytes = result->count * sizeof *result->chosen;
    candidate_id *other = memory_alloc(bytes);
    if (!other)
        return error_memory(exact->error);
    memcpy(other, result->chosen, bytes);
    collage_status status = order_by_backend(table, other, result->count, exact->error);
    double gain = order_cost(table, result->chosen, result->count) -
                  (status ? 0 : order_cost(table, other, result->count));
    if (!status && gain > 0) {
        memcpy(result->chosen, other, bytes);
        result->cost_ns -= gain;
    }
    memory_free(other);
    return status;
}

static collage_status take(struct exact *exact, struct dynamic_result *result)
{
    struct placement *best = &exact->best;
    collage_status status = COLLAGE_OK;
    if (result->chosen && exact->table.switch_ns)
        status = reorder(exact, result);
    if (!status && result->chosen && (!best->chosen || result->cost_ns < best->cost_ns)) {
        memory_free(best->chosen);
        best->chosen = result->chosen;
        best->count = result->count;
        best->cost_ns = result->cost_ns;
        result->chosen = NULL;
    }
    memory_free(result->chosen);
    best->states += result->states;
    if (exact->table.complete)
        best->bound_ns = fmax(best->bound_ns, fmin(result->bound_ns, best->cost_ns));
    return status;
}

/* About as much for each node, however many there are. */
static size_t tries_for(const struct exact *exact)
{
    return 300 * exact->table.graph->node_count + 50000;
}

/* The first pass runs to its end however long it takes. */
static size_t first_for(const struct exact *exact)
{
    size_t nodes = exact->table.graph->node_count;
    return nodes > 300 ? 10 + 10000 / nodes : 0;
}

static collage_status run(struct exact *exact, size_t tries)
{
    const struct dynamic_limits limits = { .states = exact->problem->state_limit,
                                           .first = first_for(exact),
                                           .tries = tries,
                                           .deadline = exact->deadline,
                                           .known_ns = exact->best.chosen ? exact->best.cost_ns
                                                                          : HUGE_VAL };
    struct dynamic_result result;
    collage_status status = dynamic_run(&exact->table, &limits, &result, exact->error);
    if (status)
        return status;
    if (!result.chosen && !exact->best.chosen)
        return place_fail(exact->problem, result.stuck, exact->error);
    return take(exact, &result);
}

/* Has the program's relaxation priced. Without an answer all stays as it is. */
static collage_status relax(struct exact *exact)
{
    struct model model;
    uint32_t answers = 0;
    collage_status status = model_make(&exact->table, &model, exact->error);
    double *prices = status ? NULL : memory_alloc(model.program.row_count * sizeof *prices);
    if (!status)
        status = prices ? relax_model(&model, exact->limits->solver, exact->deadline, prices,
                                      &answers, exact->error)
                        : error_memory(exact->error);
    if (!status && answers)
        status = model_price(&model, prices, &exact->table, &exact->priced, exact->error);
    if (exact->priced && exact->table.complete)
        exact->best.bound_ns =
            fmax(exact->best.bound_ns, fmin(exact->table.bound_total, exact->best.cost_ns));
    exact->best.solves += answers;
    memory_free(prices);
    model_free(&model);
    return status;
}

/* Without the options of which any placement costs at least limit_ns, but with those of the best.
 */
static collage_status narrow(struct exact *exact, double limit_ns, struct place_table *out)
{
    const struct place_table *table = &exact->table;
    bool *keep = memory_alloc(table->option_count * sizeof *keep);
    *out = *table;
    out->options =
        arena_copy(table->arena, table->options, table->option_count * sizeof *table->options);
    if (!keep || !out->options) {
        memory_free(keep);
        return error_memory(exact->error);
    }
    for (uint32_t o = 0; o < table->option_count; o++) {
        const struct place_option *option = &table->options[o];
        keep[o] = table->bound_total + option->cost - option->bound < limit_ns ||
                  option->id == PLACE_LEAVE || placement_has(&exact->best, option->id);
    }
    collage_status status = place_table_restrict(out, keep, exact->error);
    memory_free(keep);
    return status;
}

/* Looks for what costs less than limit_ns only: the fewer options, the more of them can be tried.
 * *done: all that matter were. */
static collage_status search_below(struct exact *exact, double limit_ns, bool by_program,
                                   bool *done)
{
    struct place_table table;
    collage_status status = narrow(exact, limit_ns, &table);
    if (status)
        return status;
    if (by_program)
        return rounds_run(&table, exact->limits->solver, exact->deadline, limit_ns, &exact->best,
                          done, exact->error);
    const struct dynamic_limits limits = { .states = exact->problem->state_limit,
                                           .tries = tries_for(exact),
                                           .deadline = exact->deadline,
                                           .known_ns = limit_ns };
    struct dynamic_result result;
    status = dynamic_run(&table, &limits, &result, exact->error);
    if (status)
        return status;
    *done = result.done;
    return take(exact, &result);
}

/* The placement that is best without the cost of switching is a good one with it. Among few options
 * it is soon found; more take part until those that were left out cannot be part of a better one.
 */
static collage_status search_unswitched(struct exact *exact)
{
    const double base = exact->table.bound_total;
    uint64_t now = clock_ns(), deadline = (now + exact->deadline) / 2;
    double found = exact->best.cost_ns, room = few * found;
    while (found > base + room / 4 && clock_ns() < deadline) {
        struct place_table table;
        struct dynamic_result result;
        const struct dynamic_limits limits = { .states = exact->problem->state_limit,
                                               .tries = tries_for(exact),
                                               .deadline = deadline,
                                               .known_ns = found };
        collage_status status = narrow(exact, base + room, &table);
        table.switch_ns = NULL;
        if (!status)
            status = dynamic_run(&table, &limits, &result, exact->error);
        if (status)
            return status;
        found = result.chosen ? fmin(found, result.cost_ns) : found;
        result.cost_ns += order_cost(&exact->table, result.chosen, result.count);
        result.bound_ns = fmin(result.bound_ns, base + room);
        status = take(exact, &result);
        if (status || is_over(exact))
            return status;
        room *= 4;
    }
    return COLLAGE_OK;
}

/* How many of these run on another backend. */
static size_t count_others(const struct exact *exact, const struct dynamic_result *result,
                           uint32_t backend)
{
    size_t count = 0;
    for (size_t k = 0; result->chosen && k < result->count; k++) {
        const struct candidate *candidate = &exact->problem->set->items[result->chosen[k]];
        count += !candidate->view && candidate->backend != backend;
    }
    return count;
}

/* Where switching is dear, the best placements lean on one backend: options of others are charged
 * something for switching, as if each were alone among those of this one. */
static collage_status search_leaning(struct exact *exact, uint32_t backend, double charge_ns)
{
    struct place_table table;
    struct dynamic_result result;
    collage_status status = narrow(exact, exact->best.cost_ns, &table);
    table.switch_ns = NULL;
    for (uint32_t o = 0; !status && o < table.option_count; o++)
        if (!table.options[o].view && table.options[o].backend != backend)
            table.options[o].cost += charge_ns;
    const struct dynamic_limits limits = { .states = exact->problem->state_limit,
                                           .tries = tries_for(exact),
                                           .deadline = exact->deadline,
                                           .known_ns = exact->best.cost_ns };
    if (!status)
        status = dynamic_run(&table, &limits, &result, exact->error);
    if (status)
        return status;
    result.bound_ns = 0; /* of other costs */
    result.cost_ns += order_cost(&exact->table, result.chosen, result.count) -
                      charge_ns * (double)count_others(exact, &result, backend);
    return take(exact, &result);
}

static collage_status lean(struct exact *exact)
{
    const uint32_t n = exact->table.backend_count;
    collage_status status = COLLAGE_OK;
    for (uint32_t backend = 0; backend < n && !status; backend++) {
        double charge_ns = 0; /* there and back */
        for (uint32_t other = 0; other < n; other++)
            charge_ns = fmax(charge_ns, exact->table.switch_ns[backend * (n + 1) + other] +
                                            exact->table.switch_ns[other * (n + 1) + backend]);
        for (uint32_t part = 4; part > 0 && !status && !is_over(exact); part /= 2)
            status = search_leaning(exact, backend, charge_ns / part);
    }
    return status;
}

/* First a good placement; then what is cheaper, if there is anything: by the dynamic program as far
 * as it gets, then by the 0-1 program. */
static collage_status deepen(struct exact *exact)
{
    const struct placement *best = &exact->best;
    const double base = exact->table.bound_total, least = few * best->cost_ns;
    bool done = true;
    collage_status status = search_unswitched(exact);
    if (!status && exact->table.switch_ns && !is_over(exact))
        status = lean(exact);
    double room = fmax(4 * (best->bound_ns - base), least);
    while (!status && !is_over(exact) && best->cost_ns > base + room / 4) {
        status = search_below(exact, fmin(base + room, best->cost_ns), false, &done);
        room *= done ? 4 : 16;
    }
    room = fmax(4 * (best->bound_ns - base), least);
    done = true;
    while (!status && done && !is_over(exact)) {
        status = search_below(exact, fmin(base + room, best->cost_ns), true, &done);
        room *= 4;
    }
    return status;
}

collage_status place_exact(const struct place_problem *problem, const struct place_limits *limits,
                           struct placement *out, struct error *error)
{
    *out = (struct placement){ 0 };
    struct exact exact = { .problem = problem,
                           .limits = limits,
                           .deadline = clock_ns() + (uint64_t)(limits->seconds * 1e9),
                           .error = error };
    collage_status status = place_table_make(problem, &exact.table, error);
    if (!status)
        status = run(&exact, FIRST_TRIES);
    if (!status && !is_over(&exact) && limits->solver)
        status = relax(&exact);
    if (!status && !is_over(&exact))
        status = exact.priced && exact.table.complete ? deepen(&exact) : run(&exact, 0);
    exact.best.bound_ns = fmin(exact.best.bound_ns, exact.best.cost_ns); /* rounding */
    exact.best.optimal = placement_is_optimal(&exact.best);
    place_table_free(&exact.table);
    if (status)
        placement_free(&exact.best);
    *out = exact.best;
    return status;
}
