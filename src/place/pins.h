/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins.h: what the user has decided about a placement before it is searched: nodes that run on a
 * certain backend, and groups of nodes that are one candidate. Pins say which candidates may take
 * part; everything else is searched.
 */
#ifndef COLLAGE_PLACE_PINS_H
#define COLLAGE_PLACE_PINS_H

#include "pattern/candidate.h"

#define PINS_FREE UINT32_MAX /* no backend, no group */
#define PINS_VIEW UINT32_MAX /* as the backend of a group: one node, a view, without a kernel */

struct pin_group {
    uint32_t number;  /* the user's */
    uint32_t backend; /* registry index, or PINS_VIEW */
    uint32_t node_count;
};

struct pins {
    struct arena *arena;
    const struct graph *graph;
    const struct registry *registry;
    uint32_t *backends; /* node by node: registry index, or PINS_FREE */
    uint32_t *group_of; /* node by node: index into groups, or PINS_FREE */
    struct pin_group *groups;
    uint32_t group_count;
};

/* Nothing is pinned. Graph and registry are borrowed. */
collage_status pins_create(const struct graph *graph, const struct registry *registry,
                           struct pins **out, struct error *error);
void pins_destroy(struct pins *pins);

/* The node is one of the user's group `number`, which is one candidate of that backend. *group: the
 * index of the group. COLLAGE_ERROR_ARGUMENT if the group is on another backend already. */
collage_status pins_add_to_group(struct pins *pins, uint32_t number, uint32_t backend, node_id node,
                                 uint32_t *group, struct error *error);

/* The nodes of that name, or else all whose names match it as a glob, run on the backend; a later
 * pin takes the place of an earlier one. Views need no kernel and stay free to be views.
 * COLLAGE_ERROR_ARGUMENT if there is no such node or backend, or if a group says otherwise. Groups
 * go first. */
collage_status pins_add(struct pins *pins, const char *name, const char *backend,
                        struct error *error);

size_t pins_count(const struct pins *pins); /* pinned nodes */
bool pins_hold(const struct pins *pins, node_id node);
/* May the candidate be part of a placement? */
bool pins_allow(const struct pins *pins, const struct candidate *candidate);
/* Is it a pinned group? */
bool pins_name(const struct pins *pins, const struct candidate *candidate);
/* May the node be given to that backend, alone or with others? */
bool pins_leave_open(const struct pins *pins, node_id node, uint32_t backend);
/* The nodes of a group, ascending, groups[group].node_count of them. */
void pins_list(const struct pins *pins, uint32_t group, node_id *nodes);

/* COLLAGE_ERROR_ARGUMENT if some pinned node has no candidate that is allowed and has not failed.
 */
collage_status pins_check(const struct pins *pins, const struct candidate_set *set,
                          const bool *enabled, struct error *error);
/* Why the pin of that node cannot be met, and what there is instead; gives that status. */
collage_status pins_fail(const struct pins *pins, const struct candidate_set *set,
                         const bool *enabled, node_id node, collage_status status,
                         struct error *error);

#endif
