/* SPDX-License-Identifier: Apache-2.0 */
/* enumerate.h: internal to pattern/: what the rules that propose regions share. */
#ifndef COLLAGE_PATTERN_ENUMERATE_H
#define COLLAGE_PATTERN_ENUMERATE_H

#include "pattern/candidate.h"

/* Does the backend take the node alone? Asked once; the answer and its reason stay in
 * set->refusals. */
collage_status candidate_set_ask_node(struct candidate_set *set, uint32_t backend, node_id node,
                                      bool *supported, struct error *error);

/* A node whose output is its first input's memory, all else being constant. */
bool candidate_node_is_view(const struct graph *graph, node_id node);
collage_status candidate_set_add_view(struct candidate_set *set, node_id node, struct error *error);
/* A view whose inputs and outputs all lie in this layout: struct candidate's `part`. */
collage_status candidate_set_add_part(struct candidate_set *set, node_id node,
                                      const collage_layout *layout, struct error *error);

/* Parts of all Concat, Split and Slice nodes; after all that backends offer at first. */
collage_status enumerate_parts(struct candidate_set *set, struct error *error);

/* The regions of a graph-level backend (docs/patterns.md). */
collage_status enumerate_regions(struct candidate_set *set, uint32_t backend, struct error *error);

/* What the backend's own text and set->files say of it, of either kind. */
collage_status enumerate_files(struct candidate_set *set, uint32_t backend, struct error *error);

/* Of the backend's candidates so far: the same with copies of cheap nodes that others use as well.
 */
collage_status enumerate_copies(struct candidate_set *set, uint32_t backend, struct error *error);

#endif
