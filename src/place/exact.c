/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact.c: placement with a bound (docs/placement.md). The dynamic program finds a placement; the
 * relaxed 0-1 program gives a bound, which makes the dynamic program much better at finding and at
 * proving; what is then still open goes to CBC.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    uint64_t start, deadline;
    struct placement best;
    struct error *error;
};

/* What the first look at a problem may try, about. */
enum { FIRST_TRIES = 50000 };

static double seconds_of(const struct exact *exact)
{
    return (double)(clock_ns() - exact->start) * 1e-9;
}

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

static size_t first_for(const struct exact *exact)
{
    size_t nodes = exact->table.graph->node_count;
    return nodes > 4000 ? 200000 / nodes + 1 : 0;
}

static collage_status run(struct exact *exact, size_t tries, uint64_t deadline)
{
    const struct dynamic_limits limits = { .states = exact->problem->state_limit,
                                           .first = first_for(exact),
                                           .tries = tries,
                                           .deadline = deadline,
                                           .known_ns = exact->best.chosen ? exact->best.cost_ns
                                                                          : HUGE_VAL };
    struct dynamic_result result;
    collage_status status = dynamic_run(&exact->table, &limits, &result, exact->error);
    if (status)
        return status;
    if (!result.chosen && !exact->best.chosen)
        return place_fail(exact->problem, result.stuck, exact->error);
    status = take(exact, &result);
    if (getenv("TRACE"))
        fprintf(stderr, "  %.3f dp: cost %.1f bound %.1f%s states %zu options %u\n",
                seconds_of(exact), exact->best.cost_ns, exact->best.bound_ns,
                placement_is_optimal(&exact->best) ? " optimal" : "", exact->best.states,
                exact->table.option_count);
    return COLLAGE_OK;
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
        status = model_price(&model, prices, &exact->table, exact->error);
    if (!status && exact->table.complete)
        exact->best.bound_ns =
            fmax(exact->best.bound_ns, fmin(exact->table.bound_total, exact->best.cost_ns));
    if (getenv("TRACE"))
        fprintf(stderr, "  %.3f relaxed: bound %.3f %u answers\n", seconds_of(exact),
                exact->table.bound_total, answers);
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
                  placement_has(&exact->best, option->id);
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
    status = take(exact, &result);
    if (getenv("TRACE"))
        fprintf(stderr, "  %.3f below %.1f: cost %.1f bound %.1f%s states %zu options %u\n",
                seconds_of(exact), limit_ns, exact->best.cost_ns, exact->best.bound_ns,
                *done ? " done" : "", exact->best.states, table.option_count);
    return COLLAGE_OK;
}

/* The best placement without the cost of switching is a good one with it, and a bound. */
static collage_status search_unswitched(struct exact *exact)
{
    const double base = exact->table.bound_total;
    uint64_t now = clock_ns(), deadline = (now + exact->deadline) / 2;
    double found = exact->best.cost_ns;
    for (double room = 1e-5 * found; found > base + room / 4 && clock_ns() < deadline; room *= 4) {
        struct place_table table;
        struct dynamic_result result;
        const struct dynamic_limits limits = { .states = exact->problem->state_limit,
                                               .tries = tries_for(exact),
                                               .deadline = deadline,
                                               .known_ns = fmin(base + room, found) };
        collage_status status = narrow(exact, limits.known_ns, &table);
        table.switch_ns = NULL;
        if (!status)
            status = dynamic_run(&table, &limits, &result, exact->error);
        if (status)
            return status;
        found = result.chosen ? fmin(found, result.cost_ns) : found;
        room *= result.done ? 1 : 4;
        result.cost_ns +=
            order_cost(&exact->table, result.chosen, result.chosen ? result.count : 0);
        status = take(exact, &result);
        if (getenv("TRACE"))
            fprintf(
                stderr,
                "  %.3f unswitched below %.1f: cost %.1f (%.1f) bound %.1f states %zu options %u\n",
                seconds_of(exact), limits.known_ns, exact->best.cost_ns, found,
                exact->best.bound_ns, exact->best.states, table.option_count);
        if (status)
            return status;
    }
    return COLLAGE_OK;
}

/*
 * Little room above the bound at first, and few options: what is found there is often the optimum.
 * Where the dynamic program cannot try all that matters, it goes on for the sake of a placement
 * (and the program takes over with proving) until there is one.
 */
static collage_status deepen(struct exact *exact)
{
    const struct placement *best = &exact->best;
    double base = exact->table.bound_total, least = 1e-5 * best->cost_ns;
    bool done = false;
    collage_status status = exact->table.switch_ns ? search_unswitched(exact) : COLLAGE_OK;
    for (double room = least; !status && best->cost_ns > base + room / 4; room *= 4) {
        double limit_ns = fmin(base + room, best->cost_ns);
        if (is_over(exact))
            return COLLAGE_OK;
        status = search_below(exact, limit_ns, false, &done);
        room *= done ? 1 : 4;
    }
    if (status)
        return status;
    for (double room = fmax(4 * (best->bound_ns - base), least);; room *= 4) {
        double limit_ns = fmin(base + room, best->cost_ns);
        if (is_over(exact))
            return COLLAGE_OK;
        status = search_below(exact, limit_ns, true, &done);
        if (status || !done)
            return status;
    }
}

collage_status place_exact(const struct place_problem *problem, const struct place_limits *limits,
                           struct placement *out, struct error *error)
{
    *out = (struct placement){ 0 };
    struct exact exact = {
        .problem = problem, .limits = limits, .error = error, .start = clock_ns()
    };
    exact.deadline = exact.start + (uint64_t)(limits->seconds * 1e9);
    collage_status status = place_table_make(problem, &exact.table, error);
    if (!status)
        status = run(&exact, FIRST_TRIES, exact.deadline);
    if (!status && !is_over(&exact) && limits->solver)
        status = relax(&exact);
    if (!status && !is_over(&exact))
        status = exact.best.solves > 0 && exact.table.complete ? deepen(&exact)
                                                               : run(&exact, 0, exact.deadline);
    if (getenv("TRACE"))
        fprintf(stderr, "  %.3f cpu %.3f end: cost %.3f bound %.3f, %zu solves\n",
                seconds_of(&exact), (double)clock() / CLOCKS_PER_SEC, exact.best.cost_ns,
                exact.best.bound_ns, exact.best.solves);
    exact.best.optimal = placement_is_optimal(&exact.best);
    place_table_free(&exact.table);
    if (status)
        placement_free(&exact.best);
    *out = exact.best;
    return status;
}
