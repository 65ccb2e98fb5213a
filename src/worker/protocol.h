/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.h: what travels between the library and its worker processes, as JSON
 * (docs/worker-protocol.md). Everything the parent reads is checked: a library may have gone wild
 * in the worker.
 */
#ifndef COLLAGE_WORKER_PROTOCOL_H
#define COLLAGE_WORKER_PROTOCOL_H

#include <jansson.h>

#include "worker/worker.h"

/* ---- requests; NULL: out of memory ---- */

/* standalone: a library is to run with its own defaults, without our environment. */
json_t *protocol_open(const struct worker_setup *setup, bool standalone);
json_t *protocol_candidate(const struct candidate_set *set, candidate_id id);
json_t *protocol_conditions(const struct sample_conditions *conditions);

/* ---- read by the worker; false: malformed ---- */

/* Names point into the JSON; arrays come from the arena. */
struct protocol_candidate {
    const char *backend, *variant, *pattern;
    node_id *nodes;
    uint32_t node_count;
    node_id *copies; /* of the nodes; as region.h */
    uint32_t copy_count;
    collage_layout *inputs, *outputs;
    uint32_t input_count, output_count;
};
bool protocol_read_candidate(const json_t *json, struct arena *arena,
                             struct protocol_candidate *out);
bool protocol_read_conditions(const json_t *json, struct sample_conditions *out);
bool protocol_read_layout(const json_t *json, collage_layout *out);
/* Also checks counts and ranks. */
bool protocol_read_shapes(const json_t *json, struct arena *arena, collage_shape **shapes,
                          size_t *count);

/* ---- answers ---- */

json_t *protocol_cost(const struct cost *cost);
/* COLLAGE_ERROR_FORMAT if it is malformed; COLLAGE_ERROR_MEMORY. */
collage_status protocol_read_cost(const json_t *json, struct arena *arena, struct cost *out);

#endif
