/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moves.h: the operators that only move elements, as boxes: one function each, which says whether
 * it takes a node and makes its boxes.
 */
#ifndef NATIVE_MOVES_H
#define NATIVE_MOVES_H

#include "boxes.h"

/* A node on its way to boxes. `boxes` NULL: it is only asked whether the node can be moved so. */
struct moves {
    const collage_subgraph *subgraph;
    const collage_node *node;
    enum boxes_layout layout; /* of all tensors but constants, which are row-major */
    int64_t block;
    struct boxes *boxes; /* operands: value ids; outputs: indices of the sub-graph's */
    collage_message *why;
};

/* False: not this node, or not in this layout; `why` says so. */
bool moves_read(struct moves *moves);

#endif
