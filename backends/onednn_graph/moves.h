/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moves.h: reshapes and transpositions that stand alone. The library takes them only as parts of
 * larger fusions. A reshape is the same memory seen with other dims; a transposition is memory seen
 * with other strides, if products of matrices read or write it; the rest is copied by a reorder of
 * the library.
 */
#ifndef ONEDNN_GRAPH_MOVES_H
#define ONEDNN_GRAPH_MOVES_H

#include "partitions.h"

/* Is it an operation for this module, if the library does not take it? */
bool moves_take(const struct operation *operation);

/* Turns the partitions that are moves into views and reorders. Partitions are in order, the
 * layouts of tensors between them not chosen yet. */
collage_status moves_resolve(struct partitions *partitions, const struct library *library,
                             const struct recipe *recipe, bool views, collage_message *message);

#endif
