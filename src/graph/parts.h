/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h: tensors that are a run of bytes of another one. In a layout in which nothing lies
 * outside of an axis, what Concat puts together along it lies one behind the other in its result,
 * and what Split and Slice take is a run of their input: no copy is needed if the memory is shared.
 */
#ifndef COLLAGE_GRAPH_PARTS_H
#define COLLAGE_GRAPH_PARTS_H

#include "graph/graph.h"

#include "tensor/layout.h"

enum { PARTS_ALIGNMENT = 64 }; /* a part begins at a multiple of so many bytes */

bool parts_is_join(const struct graph *graph, node_id node); /* Concat */
bool parts_is_cut(const struct graph *graph, node_id node);  /* Split, Slice */

/* Where each input of a Concat begins in its result, in bytes, if all of them lie in this layout.
 * offsets: as many as it has inputs, or NULL. False: they are no runs, or not aligned. */
bool parts_join(const struct graph *graph, node_id node, const collage_layout *layout,
                uint64_t *offsets);
/* Are the inputs of the first Concat those of the second one from its first on, along the same
 * axis? Then the result of the first is the beginning of that of the second. */
bool parts_is_beginning(const struct graph *graph, node_id first, node_id second);

/* Where a result of Split or Slice begins in its input, if both lie in this layout. */
bool parts_cut(const struct graph *graph, node_id node, value_id result,
               const collage_layout *layout, uint64_t *offset);

/* Where `part` lies in `whole`, both in this layout: an input of the Concat that makes `whole`, the
 * result of a Concat that is its beginning, or what Split or Slice take of it. */
bool parts_find(const struct graph *graph, value_id part, value_id whole,
                const collage_layout *layout, uint64_t *offset);

#endif
