/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h: chooses candidates that cover every node once, in an order that can be executed, at
 * least cost. Costs are the measured ones plus transitions. Solvers share this interface; `brute`
 * is the oracle of the others.
 */
#ifndef COLLAGE_PLACE_PLACE_H
#define COLLAGE_PLACE_PLACE_H

#include "pattern/candidate.h"
#include "place/pins.h"

/* Conversions of one value: from a layout to another, at a cost, on a backend. Only measured,
 * successful ones. */
struct transition {
    value_id value;
    collage_layout from, to;
    uint32_t backend;
    double cost_ns;
};

struct place_problem {
    const struct candidate_set *set;
    const bool *enabled; /* backends that may be used (views always may) */
    const struct transition *transitions;
    size_t transition_count;
    /* Cost of going from a kernel of backend a to one of backend b: switch_ns[a * registry->count +
     * b]; NULL: none. */
    const double *switch_ns;
    double step_ns; /* dispatch cost of a step that is not a view */
    /* States kept at each level (more only if no placement is found otherwise); 0: what takes
     * seconds, at most 20000. */
    size_t state_limit;
    const struct pins *pins; /* what the user has decided; NULL: nothing */
};

struct placement {
    candidate_id *chosen; /* in order of execution; memory_alloc'ed */
    size_t count;
    double cost_ns;
    double bound_ns; /* proven: no placement costs less at these costs */
    bool optimal;    /* proven: bound_ns is cost_ns */
    size_t states;   /* of the dynamic program: explored */
    size_t solves;   /* times that the solver process answered */
};

/* COLLAGE_ERROR_UNSUPPORTED, naming a node that no measured candidate covers, if there is no
 * placement. */
collage_status place_dynamic(const struct place_problem *problem, struct placement *out,
                             struct error *error);
/* More are an error: nodes, and placements and parts of them that must be looked at. */
enum { PLACE_BRUTE_NODES = 12, PLACE_BRUTE_TRIES = 5000000 };
collage_status place_brute(const struct place_problem *problem, struct placement *out,
                           struct error *error);
/* Within what the arithmetic of bounds can tell (a millionth). */
bool placement_is_optimal(const struct placement *placement);

/* What place_exact may spend. */
struct place_limits {
    double seconds;     /* for the whole; the first placement is waited for however long it takes */
    const char *solver; /* the program collage-solver; NULL: do without it */
};

/*
 * The dynamic program; if it cannot prove its placement optimal, a 0-1 program solved in a process
 * of its own bounds it from below and improves it. Without that process (it is missing, it crashes,
 * it is late) the answer is a placement all the same, with the bound that is proven without it.
 */
collage_status place_exact(const struct place_problem *problem, const struct place_limits *limits,
                           struct placement *out, struct error *error);

/*
 * The published dynamic program over frontiers (frontier.c, docs/placement.md): the costs of
 * kernels add up, with kernel_ns for each (0: step_ns), and nothing else counts while it searches.
 * Graph-level backends take part with single operators and pinned groups. The placement's cost is
 * by the rules of place_exact.
 */
collage_status place_op_level(const struct place_problem *problem, double kernel_ns,
                              struct placement *out, struct error *error);
/* order: `count` backends, the most preferred first. Each takes what it can of what those before it
 * left, its largest patterns first; graph-level ones single operators and pinned groups. No cost
 * decides between backends. */
collage_status place_greedy(const struct place_problem *problem, const uint32_t *order,
                            uint32_t count, struct placement *out, struct error *error);
void placement_free(struct placement *placement);

#endif
