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
    bool optimal;  /* no state was dropped: optimal for these costs */
    size_t states; /* explored */
};

/* COLLAGE_ERROR_UNSUPPORTED, naming a node that no measured candidate covers, if there is no
 * placement. */
collage_status place_dynamic(const struct place_problem *problem, struct placement *out,
                             struct error *error);
collage_status place_brute(const struct place_problem *problem, struct placement *out,
                           struct error *error); /* <= 12 nodes */
void placement_free(struct placement *placement);

#endif
