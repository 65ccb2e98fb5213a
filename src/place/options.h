/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h: internal to place/: the placement problem as the dynamic program wants it. Usable
 * candidates become options with their layouts interned value by value (0 is row-major) and step
 * costs added; conversions become small matrices.
 */
#ifndef COLLAGE_PLACE_OPTIONS_H
#define COLLAGE_PLACE_OPTIONS_H

#include "place/place.h"

/* The id of an option that runs nothing: its node is left to those who have copies of it. */
#define PLACE_LEAVE UINT32_MAX

/* Layouts of one value that are told apart; options that need more are left out (`complete`). */
enum { PLACE_LAYOUTS = 27 };

struct place_port {
    value_id value;
    uint32_t layout; /* interned */
};

struct place_option {
    candidate_id id; /* PLACE_LEAVE: none */
    uint32_t backend;
    uint32_t merge; /* options of equal nodes, ports and merge: only the cheapest is kept */
    bool view;
    double cost;          /* with the step cost */
    double bound;         /* how much of the bound of what is still to come ends with it */
    const node_id *nodes; /* that it covers: without copies */
    uint32_t node_count, input_count, output_count;
    const struct place_port *inputs, *outputs;
};

struct place_value {
    const collage_layout **layouts;
    uint32_t layout_count;
    bool output; /* of the model */
    const double
        *convert; /* convert[from * layout_count + to], with the step cost; HUGE_VAL: none */
    uint32_t reach[PLACE_LAYOUTS]; /* made in layout k, it can be had in these */
    const double *convert_bound; /* as convert: how much of the bound ends with it; NULL: nothing */
};

struct place_table {
    struct arena *arena;
    const struct place_problem *problem;
    const struct graph *graph;
    /* Who takes a value from others: the graph's users; where there are copies (uses.h), nodes of
     * options whose copies take it as well. */
    const struct graph_uses *uses;
    const bool *copied; /* node by node: it may be left to copies of it; NULL: none may */
    /* Use by use: the user may be covered without taking the value. NULL: never. */
    const bool *idle;
    struct place_option *options;
    uint32_t option_count;
    struct place_value *values;
    uint32_t *first_option, *node_options; /* options of node n: node_options[first_option[n]...] */
    uint32_t *needs;    /* use by use (graph_uses): layouts in which options of the user take it */
    double bound_total; /* no placement is cheaper */
    /* Of graph_uses, then for each value its use as a model output: what taking the value made in
     * one layout in another costs beyond the bound, as place_value's convert. NULL: nothing. */
    const double **route_cost;
    uint32_t backend_count;
    const double *switch_ns;  /* as the problem's, cleaned; NULL if all are 0 */
    const double *switch_gap; /* what `last` = a may cost more than b in the future, at most */
    bool complete;
};

/* COLLAGE_ERROR_UNSUPPORTED if a node has no option. The table borrows the problem. */
collage_status place_table_make(const struct place_problem *problem, struct place_table *out,
                                struct error *error);
void place_table_free(struct place_table *table);
/* Goes on with the options for which keep[] holds. Some option of each node must be kept. */
collage_status place_table_restrict(struct place_table *table, const bool *keep,
                                    struct error *error);

bool place_option_has(const struct place_option *option, node_id node);
bool place_option_takes(const struct place_option *option, value_id value);

static inline bool place_is_copied(const struct place_table *table, node_id node)
{
    return table->copied && table->copied[node];
}

/* A node that takes a value twice needs it once. */
static inline bool place_is_first_use(const struct graph_uses *uses, value_id value, uint32_t use)
{
    return use == uses->first[value] || uses->users[use] != uses->users[use - 1];
}

/* What all solvers agree on: which candidates and conversions take part, and the price of a switch.
 */
bool place_is_usable(const struct place_problem *problem, const struct candidate *candidate);
bool place_is_usable_transition(const struct place_problem *problem,
                                const struct transition *transition);
double place_switch_cost(const struct place_problem *problem, uint32_t from, uint32_t to);
bool placement_has(const struct placement *placement, candidate_id id);
/* COLLAGE_ERROR_UNSUPPORTED about a node that no usable candidate covers; else about `stuck`. */
collage_status place_fail(const struct place_problem *problem, node_id stuck, struct error *error);

#endif
