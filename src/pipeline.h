/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h: the whole way of the data (src/collage.c), for the API functions in src/api/. */
#ifndef COLLAGE_PIPELINE_H
#define COLLAGE_PIPELINE_H

#include "base/text.h"
#include "optimize/optimizer.h"

/* A file to a canonical, verified graph. Errors name the file. */
collage_status pipeline_load(const char *path, const collage_shape *shapes, size_t shape_count,
                             struct graph **out, struct error *error);

/* A graph to the fastest verified plan; the caller's. */
collage_status pipeline_optimize(const struct optimizer_settings *settings, struct plan **out,
                                 struct error *error);

/* Races a plan with each library alone, and with the other plans of the settings; the results
 * replace plan->results. */
collage_status pipeline_bench(const struct optimizer_settings *settings, struct plan *plan,
                              struct error *error);

/* How fast the model is with one library more at a time: places, races, and writes a report. */
collage_status pipeline_ablate(const struct optimizer_settings *settings, collage_format format,
                               struct text *out, struct error *error);

/* Every candidate that covers the node, as text: from the store, or measured now and kept. */
collage_status pipeline_measure_node(const struct optimizer_settings *settings, node_id node,
                                     struct text *out, struct error *error);

/* Runs a plan (NULL: each library that takes the whole model) in a process of its own, against the
 * reference. */
collage_status pipeline_verify(const struct optimizer_settings *settings, struct plan *plan,
                               collage_verification *result, struct error *error);

#endif
