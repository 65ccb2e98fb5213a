/* SPDX-License-Identifier: Apache-2.0 */
/* peer_files.h: internal to peer.h: the files between a peer and us. */
#ifndef COLLAGE_WORKER_PEER_FILES_H
#define COLLAGE_WORKER_PEER_FILES_H

#include <jansson.h>

#include "worker/peer.h"

/* The members `inputs` and `outputs` of a request to load; NULL: out of memory. */
json_t *peer_files_describe_inputs(const struct peer_files *files);
json_t *peer_files_describe_outputs(const struct peer_files *files);

/* Removes what an earlier peer wrote. */
void peer_files_clear_outputs(const struct peer_files *files);

/* Compares what the peer wrote with the oracle. COLLAGE_ERROR_WRONG_RESULT if an output is missing,
 * is of another shape or type, or differs by more than its slack and TENSOR_PLAN_TOLERANCE. */
collage_status peer_files_compare(const struct peer_files *files, double *worst,
                                  struct error *error);

#endif
