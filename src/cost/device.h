/* SPDX-License-Identifier: Apache-2.0 */
/* device.h: what identifies the machine for costs: CPUID family, model, stepping, features, cache
 * sizes (not the name: some clouds hide it). */
#ifndef COLLAGE_COST_DEVICE_H
#define COLLAGE_COST_DEVICE_H

#include "base/hash.h"

struct device_facts {
    char fingerprint[33]; /* hash of CPUID and the numbers below */
    char name[96];        /* "Intel(R) Xeon(R) ..., 2 cores": for people */
    uint64_t last_level_cache_bytes;
    uint64_t l2_bytes;
    int32_t physical_cores; /* that this process may use */
};

void device_facts_read(
    struct device_facts *facts); /* never fails: what is unknown is 0 or "unknown" */

#endif
