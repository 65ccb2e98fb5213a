/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h: the chain patterns of op-level backends (collage/backend.h, struct collage_pattern):
 * parsed and matched. */
#ifndef COLLAGE_PATTERN_PATTERN_H
#define COLLAGE_PATTERN_PATTERN_H

#include "graph/graph.h"

struct pattern;

/* Errors name the column and what was expected; unknown operators are errors. */
collage_status pattern_parse(const char *name, const char *text, struct pattern **out,
                             struct error *error);
void pattern_destroy(struct pattern *pattern);

/* Called for every match that starts at `first`, shortest first; false stops. nodes: a chain, in
 * order. */
typedef bool (*pattern_match_fn)(void *user, const node_id *nodes, uint32_t count);
void pattern_match(const struct pattern *pattern, const struct graph *graph,
                   const struct graph_uses *uses, node_id first, pattern_match_fn found,
                   void *user);

#endif
