/* SPDX-License-Identifier: Apache-2.0 */
/* cold.h: drives the weights of a kernel out of the caches, as the rest of a network does between
 * two runs of it: reads as much other memory. */
#ifndef COLLAGE_MEASURE_COLD_H
#define COLLAGE_MEASURE_COLD_H

#include <sched.h>

#include "base/error.h"

struct cold {
    const unsigned char *bytes; /* the process's own; kept until it ends */
    uint64_t count;             /* to read: 0, and nothing is driven out */
    uint64_t level_2_bytes;
    cpu_set_t processors; /* that this process may use; empty: not known */
};

/*
 * weights: bytes of the kernel's; working_set: what the rest of the network touches; the caches of
 * the machine, 0: what the system says. Weights that are small stay cached or are read in no time;
 * those larger than the caches drive themselves out. The memory is shared by all that the process
 * prepares: from one thread at a time. COLLAGE_ERROR_MEMORY only.
 */
collage_status cold_prepare(uint64_t weights, uint64_t working_set, uint64_t level_2_bytes,
                            uint64_t last_level_bytes, struct cold *out, struct error *error);
void cold_walk(const struct cold *cold);

#endif
