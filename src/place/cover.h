/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cover.h: what the searches by single operators (frontier.c, greedy.c, those of optimize/) share.
 * They choose candidates that cover every node once without a look at layouts or order; here that
 * becomes a placement.
 */
#ifndef COLLAGE_PLACE_COVER_H
#define COLLAGE_PLACE_COVER_H

#include "place/place.h"

bool cover_is_graph_level(const struct candidate_set *set, uint32_t backend);
/* One node has no user inside, and it alone is used outside. */
bool cover_has_one_end(const struct candidate_set *set, const struct region *region);

/*
 * Does the candidate take part in a search by single operators? Views do, pinned groups, single
 * operators of graph-level backends, and of op-level ones what has one end (files of patterns may
 * name others). Nothing is computed twice. Candidates with one end never wait for each other in a
 * circle: a path that leaves such a candidate leaves it from its end, to which all its nodes lead,
 * so one that came back would be a circle of nodes. rows_only: only with row-major borders.
 */
bool cover_takes_part(const struct place_problem *problem, const struct candidate *candidate,
                      bool rows_only);

/* Puts the candidates, which cover every node once, into an order of execution. *possible: there is
 * one. */
collage_status cover_order(const struct candidate_set *set, candidate_id *chosen, size_t count,
                           bool *possible, struct error *error);

/* What they cost in that order, by the definition in docs/placement.md; HUGE_VAL if some conversion
 * does not exist. */
collage_status cover_cost(const struct place_problem *problem, const candidate_id *chosen,
                          size_t count, double *cost, struct error *error);

/* Orders and prices the candidates; `chosen` (memory_alloc'ed) goes to *out or is freed. *possible:
 * it is a placement; otherwise *out is empty. */
collage_status cover_finish(const struct place_problem *problem, candidate_id *chosen, size_t count,
                            struct placement *out, bool *possible, struct error *error);

#endif
