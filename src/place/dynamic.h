/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic.h: internal to place/: the dynamic program on a table, with limits and a known placement.
 */
#ifndef COLLAGE_PLACE_DYNAMIC_H
#define COLLAGE_PLACE_DYNAMIC_H

#include "place/options.h"

struct dynamic_limits {
    size_t states; /* as place_problem's state_limit */
    size_t first;  /* states that the first pass keeps; 0: 50 */
    /* Options to be tried by a pass, about; 0: 3 million. As the deadline, on clock_ns, ignored
     * until there is a placement. */
    size_t tries;
    uint64_t deadline;
    double known_ns; /* only what costs less is looked for; HUGE_VAL: anything */
};

struct dynamic_result {
    candidate_id *chosen; /* in order of execution, memory_alloc'ed; NULL: nothing found */
    size_t count;
    double cost_ns;  /* its cost; it need not be less than known_ns */
    double bound_ns; /* no placement by the table's options costs less, or known_ns */
    bool done;       /* nothing costs less than known_ns and what was found */
    size_t states;
    node_id stuck; /* the first uncovered node of the state that got furthest */
};

collage_status dynamic_run(const struct place_table *table, const struct dynamic_limits *limits,
                           struct dynamic_result *out, struct error *error);

#endif
