/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle.h: the reference run of a whole graph on its example inputs, every value kept. The values
 * lie in one memory file (memfd), so that worker processes map them instead of computing them
 * again: offsets follow from the graph alone.
 */
#ifndef COLLAGE_REFERENCE_ORACLE_H
#define COLLAGE_REFERENCE_ORACLE_H

#include "graph/graph.h"

struct oracle;

/* Called now and then; false interrupts. */
typedef bool (*oracle_progress_fn)(void *user, size_t done, size_t total);

/* inputs: one tensor for each model input, or NULL for the example inputs. */
collage_status oracle_create(const struct graph *graph, const struct tensor *inputs,
                             oracle_progress_fn progress, void *user, struct oracle **out,
                             struct error *error);
/* Maps an existing one, read-only; takes the descriptor over. */
collage_status oracle_open(const struct graph *graph, int descriptor, struct oracle **out,
                           struct error *error);
void oracle_destroy(struct oracle *oracle);
int oracle_descriptor(const struct oracle *oracle);

/* The value's tensor: input, constant or computed. */
struct tensor oracle_value(const struct oracle *oracle, value_id value);
uint64_t oracle_bytes(const struct oracle *oracle);

#endif
