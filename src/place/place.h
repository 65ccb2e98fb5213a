/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h: chooses candidates that cover every node once, in an order that can be executed, at
 * least cost. Costs are the measured ones plus transitions. Solvers share this interface; `brute`
 * is the oracle of the others.
 */
#ifndef COLLAGE_PLACE_PLACE_H
#define COLLAGE_PLACE_PLACE_H

#include "pattern/candidate.h"

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
collage_status place_brute(const struct place_problem *problem, struct placement *out,
                           struct error *error); /* <= 12 nodes */
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
void placement_free(struct placement *placement);

#endif
