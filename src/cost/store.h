/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h: measured costs, kept in SQLite (WAL: a killed process loses nothing that was put). The
 * key of a cost is the candidate's key, the library's version, the machine and the conditions.
 * Failures are kept with their reason.
 */
#ifndef COLLAGE_COST_STORE_H
#define COLLAGE_COST_STORE_H

#include "pattern/candidate.h"

/* Where and how a cost was measured. */
struct cost_conditions {
    const char *backend, *version; /* library */
    const char *device;            /* device_fingerprint() */
    int32_t threads;
    uint32_t working_set_log2; /* bytes that the rest of the network touches between two runs of a
                                  kernel, as a power of 2 */
};

struct cost_store;

/* directory: made if missing. A damaged file, or one of another version of Collage, is set aside
 * (renamed *.damaged, *.old) and a new one begun, with a warning. NULL directory: in memory. */
collage_status cost_store_open(const char *directory, struct cost_store **out, struct error *error);
void cost_store_close(struct cost_store *store);
/* What the user should know of the opening (a damaged file was set aside), or "". */
const char *cost_store_warning(const struct cost_store *store);

/* cost->state is COST_UNKNOWN if there is none. Strings go into the arena. */
collage_status cost_store_get(struct cost_store *store, struct hash key,
                              const struct cost_conditions *conditions, struct arena *arena,
                              struct cost *cost, struct error *error);
/* Replaces. description: for people who look into the file ("Conv+Relu 1x64x56x56 ..."). Committed
 * on return. */
collage_status cost_store_put(struct cost_store *store, struct hash key,
                              const struct cost_conditions *conditions, const char *description,
                              const struct cost *cost, struct error *error);

/* The library version of which there are costs under these conditions (their own version is not
 * looked at); of several, the newest; "" if there are none. In the arena. */
collage_status cost_store_find_version(struct cost_store *store,
                                       const struct cost_conditions *conditions,
                                       struct arena *arena, const char **version,
                                       struct error *error);

/* Free-form facts of the machine under a text key (pool switch costs, for one): value in
 * nanoseconds. */
collage_status cost_store_get_fact(struct cost_store *store, const char *key,
                                   const struct cost_conditions *conditions, bool *found,
                                   double *value, struct error *error);
collage_status cost_store_put_fact(struct cost_store *store, const char *key,
                                   const struct cost_conditions *conditions, double value,
                                   struct error *error);

#endif
