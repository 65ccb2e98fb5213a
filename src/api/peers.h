/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h: which programs a list of peers means (docs/peers.md). */
#ifndef COLLAGE_API_PEERS_H
#define COLLAGE_API_PEERS_H

#include "worker/peer.h"

/* list: comma-separated names, "all", paths; NULL or "": none. folders: ':'-separated. All that is
 * found comes from the arena. COLLAGE_ERROR_ARGUMENT names what is not there. */
collage_status peers_find(const char *list, const char *folders, struct arena *arena,
                          struct peer **peers, size_t *count, struct error *error);

#endif
