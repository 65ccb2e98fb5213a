/* SPDX-License-Identifier: Apache-2.0 */
/* example_input.h: the inputs that checks and measurements use, by the networks' rule
 * (docs/networks.md). */
#ifndef COLLAGE_REFERENCE_EXAMPLE_INPUT_H
#define COLLAGE_REFERENCE_EXAMPLE_INPUT_H

#include "graph/graph.h"

/* Fills model input `index` by the rule in the model's metadata (seed 0, and ids 0 and 1, if it has
 * none). tensor->data is the caller's memory, of the input's size; the rest of *tensor is set. */
collage_status example_input(const struct graph *graph, uint32_t index, struct tensor *tensor,
                             struct error *error);

#endif
