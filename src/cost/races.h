/* SPDX-License-Identifier: Apache-2.0 */
/*
 * races.h: what final races measured, kept beside the costs: a second run of the same search, with
 * the same plans, libraries, machine and model files, need not race again.
 */
#ifndef COLLAGE_COST_RACES_H
#define COLLAGE_COST_RACES_H

#include "cost/store.h"

/* One contestant. */
struct race_record {
    const char *failure;   /* "" if it finished */
    const double *samples; /* nanoseconds, one a round */
    size_t sample_count;
    uint64_t peak_bytes;
    double steps_ns, worst_error;
    double again; /* see struct contestant */
};

/* *found only if all `count` records are there. Strings and samples go into the arena. */
collage_status cost_store_get_race(struct cost_store *store, struct hash key, struct arena *arena,
                                   struct race_record *records, size_t count, bool *found,
                                   struct error *error);
/* All or nothing; replaces. */
collage_status cost_store_put_race(struct cost_store *store, struct hash key,
                                   const struct race_record *records, size_t count,
                                   struct error *error);

#endif
