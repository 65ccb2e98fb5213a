/* SPDX-License-Identifier: Apache-2.0 */
/* device.h: what identifies the machine for costs: CPUID family, model, stepping, features, cache
 * sizes (not the name: some clouds hide it). */
#ifndef COLLAGE_COST_DEVICE_H
#define COLLAGE_COST_DEVICE_H

#include "base/error.h"
#include "base/hash.h"

struct device_facts {
    char fingerprint[33]; /* hash of CPUID and the numbers below */
    char name[96];        /* "Intel(R) Xeon(R) ..., 2 cores": for people */
    uint64_t last_level_cache_bytes;
    uint64_t l2_bytes;
    int32_t physical_cores; /* that this process may use */
};

/* What is unknown is 0 or "unknown"; fails only if memory is short (a machine that is not known by
 * its own name would have other costs, and other things registered for it). */
collage_status device_facts_read(struct device_facts *facts, struct error *error);

#endif
