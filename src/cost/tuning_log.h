/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuning_log.h: which schedule was the fastest for which kernel, as a text file that people and
 * other machines of the kind can share (docs/tuning.md): one record a line, the best for each key.
 * In: a file, and what tuning found. Out: the record of a kernel; the file, written whole or not at
 * all.
 */
#ifndef COLLAGE_COST_TUNING_LOG_H
#define COLLAGE_COST_TUNING_LOG_H

#include "cost/store.h"

/* Of conditions the working set does not count: it changes the time, hardly the best schedule. */
struct tuning_record {
    const char *backend, *version, *device;
    int32_t threads;
    struct hash key; /* of the candidate, without schedule */
    double ns;
    const char *schedule;
};

struct tuning_log {
    struct arena *arena;
    struct tuning_record *records; /* by key, then by the others: each of these once */
    size_t count, capacity;
};

collage_status tuning_log_create(struct tuning_log **out, struct error *error);
void tuning_log_destroy(struct tuning_log *log);

/* Adds what the file says; of two records of one kernel the faster stays. A file that is not there
 * is an error unless `may_be_missing`. Hostile input: COLLAGE_ERROR_FORMAT with FILE:LINE, and the
 * log may hold what was before it. */
collage_status tuning_log_read(struct tuning_log *log, const char *path, bool may_be_missing,
                               struct error *error);
/* Appears whole, or leaves what was there. */
collage_status tuning_log_write(const struct tuning_log *log, const char *path,
                                struct error *error);

/* NULL: none. */
const struct tuning_record *tuning_log_find(const struct tuning_log *log, struct hash key,
                                            const struct cost_conditions *conditions);
/* Takes the place of what there was. Strings are copied. Of a library or machine whose name no line
 * can hold (control characters) nothing is kept. */
collage_status tuning_log_put(struct tuning_log *log, const struct tuning_record *record,
                              struct error *error);
void tuning_log_remove(struct tuning_log *log, struct hash key,
                       const struct cost_conditions *conditions);

#endif
