/* SPDX-License-Identifier: Apache-2.0 */
#include "place/rounds.h"

#include <math.h>

#include "place/cycles.h"
#include "place/dynamic.h"
#include "place/solve.h"
#include "place/switches.h"

/* To order what CBC chose: few states, as there is one option for each node. */
enum { ORDER_STATES = 200, ORDER_TRIES = 50000 };

struct rounds {
    const struct place_table *table;
    const char *solver;
    uint64_t deadline;
    double limit_ns;
    struct placement *best;
    struct model model;
    struct switches switches; /* if the table has any */
    bool over;
    struct error *error;
};

static bool is_covered(const struct rounds *rounds, node_id node)
{
    const struct candidate *items = rounds->table->problem->set->items;
    for (size_t k = 0; k < rounds->best->count; k++)
        if (region_covers(&items[rounds->best->chosen[k]].region, node))
            return true;
    return false;
}

/* The best placement. */
static void choose_start(struct rounds *rounds)
{
    const struct place_table *table = rounds->table;
    uint8_t *start = rounds->model.program.start;
    for (uint32_t o = 0; o < table->option_count; o++)
        start[o] = table->options[o].id == PLACE_LEAVE
                       ? !is_covered(rounds, table->options[o].nodes[0])
                       : placement_has(rounds->best, table->options[o].id);
    rounds->model.program.has_start = true;
}

/* The cheapest order of the options that the columns choose; none if there is no order. */
static collage_status order(struct rounds *rounds, const double *columns,
                            struct dynamic_result *out)
{
    struct place_table only = *rounds->table;
    bool *keep = memory_alloc(only.option_count * sizeof *keep);
    only.options = arena_copy(only.arena, only.options, only.option_count * sizeof *only.options);
    if (!keep || !only.options) {
        memory_free(keep);
        return error_memory(rounds->error);
    }
    for (uint32_t o = 0; o < only.option_count; o++)
        keep[o] = columns[o] > 0.5;
    struct error uncovered = { 0 };
    collage_status status = place_table_restrict(&only, keep, &uncovered);
    const struct dynamic_limits limits = { .states = ORDER_STATES,
                                           .tries = ORDER_TRIES,
                                           .deadline = rounds->deadline,
                                           .known_ns = HUGE_VAL };
    if (status == COLLAGE_OK)
        status = dynamic_run(&only, &limits, out, rounds->error);
    else if (status == COLLAGE_ERROR_UNSUPPORTED) /* not even a cover: a mad solver */
        status = COLLAGE_OK;
    else
        error_memory(rounds->error);
    memory_free(keep);
    return status;
}

/* As the program sees it. */
static double cost_of(const struct rounds *rounds, const double *columns)
{
    double cost = 0;
    for (uint32_t c = 0; c < rounds->model.program.column_count; c++)
        cost += rounds->model.program.cost[c] * columns[c];
    return cost;
}

static void take(struct placement *best, struct dynamic_result *result)
{
    best->states += result->states;
    if (result->chosen && result->cost_ns < best->cost_ns) {
        memory_free(best->chosen);
        best->chosen = result->chosen;
        best->count = result->count;
        best->cost_ns = result->cost_ns;
        result->chosen = NULL;
    }
}

/* Takes the solution if it is better than the best, and sees what it shows. */
static collage_status learn(struct rounds *rounds, const double *columns)
{
    struct dynamic_result result = { 0 };
    collage_status status = order(rounds, columns, &result);
    if (status)
        return status;
    bool ordered = result.chosen;
    double bound_ns = result.bound_ns, extra = bound_ns - cost_of(rounds, columns);
    take(rounds->best, &result);
    memory_free(result.chosen);
    uint32_t found = 0;
    if (!ordered)
        status = cycles_cut(&rounds->model, columns, &found, rounds->error);
    else if (rounds->table->switch_ns && extra > 1e-6 * rounds->best->cost_ns)
        status = switches_cut(&rounds->model, &rounds->switches, columns, bound_ns, rounds->error);
    else
        rounds->over = true;
    rounds->over = rounds->over || (!ordered && found == 0);
    return status;
}

static collage_status run_round(struct rounds *rounds)
{
    struct program_answer answer;
    struct error ignored = { 0 };
    struct placement *best = rounds->best;
    rounds->over = true;
    choose_start(rounds);
    collage_status status = program_solve(rounds->solver, &rounds->model.program, PROGRAM_SOLVE,
                                          rounds->deadline, &answer, &ignored);
    if (status == COLLAGE_ERROR_MEMORY)
        return error_memory(rounds->error);
    if (status != COLLAGE_OK)
        return COLLAGE_OK; /* an answer less: no worse than no solver */
    best->solves++;
    best->bound_ns =
        fmax(best->bound_ns, fmin(answer.reply.bound, fmin(rounds->limit_ns, best->cost_ns)));
    rounds->over = !answer.reply.proven;
    if (answer.reply.has_solution)
        status = learn(rounds, answer.columns);
    program_answer_free(&answer);
    return status;
}

collage_status rounds_run(const struct place_table *table, const char *solver, uint64_t deadline,
                          double limit_ns, struct placement *best, bool *done, struct error *error)
{
    struct rounds rounds = { .table = table,
                             .solver = solver,
                             .deadline = deadline,
                             .limit_ns = limit_ns,
                             .best = best,
                             .error = error };
    collage_status status = model_make(table, &rounds.model, error);
    if (!status && table->switch_ns)
        status = switches_add(&rounds.model, best->cost_ns, &rounds.switches, error);
    while (!status && !rounds.over && best->bound_ns < fmin(limit_ns, best->cost_ns))
        status = run_round(&rounds);
    model_free(&rounds.model);
    *done = placement_is_optimal(best) || best->bound_ns >= limit_ns;
    return status;
}
