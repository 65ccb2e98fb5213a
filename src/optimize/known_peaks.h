/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_peaks.h: the machine's peaks (measure/peaks.h), the best that was ever measured, kept in
 * the cost store as facts of the machine.
 */
#ifndef COLLAGE_OPTIMIZE_KNOWN_PEAKS_H
#define COLLAGE_OPTIMIZE_KNOWN_PEAKS_H

#include "cost/store.h"
#include "plan/roofline.h"

struct peaks_source {
    struct cost_store *store;
    const char *device; /* the fingerprint of the machine whose peaks are asked for */
    bool measure;       /* if it is this machine: two to three seconds for each number of threads
                           that they are not known for, less than one for others: what was measured
                           in a disturbed moment does not stay */
};

/* On so many threads. *known: false if they are not known and were not measured; out is then of no
 * meaning. */
collage_status known_peaks_find(const struct peaks_source *source, int32_t threads,
                                struct peaks *out, bool *known, struct error *error);

/* The roofline of a plan, known or not, by the peaks of its threads and of its lanes'. */
collage_status known_peaks_roofline(const struct peaks_source *source, const struct plan *plan,
                                    const struct graph *graph, struct arena *arena,
                                    struct roofline *out, struct error *error);

#endif
