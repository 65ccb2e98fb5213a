/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peaks.h: what this machine can do at best: float32 operations, and bytes read from each level of
 * its memory, both measured, on so many threads. In: a number of threads. Out: figures from which
 * the least time of a kernel follows (its roofline): it can compute no faster than the one and read
 * and write no faster than the other (Williams, Waterman, Patterson, CACM 52(4), 2009).
 */
#ifndef COLLAGE_MEASURE_PEAKS_H
#define COLLAGE_MEASURE_PEAKS_H

#include "graph/work.h"

enum peak_level { PEAK_LEVEL_2, PEAK_LAST_LEVEL, PEAK_MEMORY, PEAK_LEVELS };

struct peaks {
    int32_t threads;
    double flop_per_ns;                       /* of all threads together, as the next */
    double bytes_per_ns[PEAK_LEVELS];         /* reading what lies there */
    uint64_t level_2_bytes, last_level_bytes; /* of all threads together; the last one's: as much
                                                 of it as is ours, measured */
};

/* Takes about half a second. threads: as many are run at once. COLLAGE_ERROR_MEMORY; _BACKEND if
 * the system gives no threads. */
collage_status peaks_measure(int32_t threads, struct peaks *out, struct error *error);

/* The least time in which that can be done; 0 if nothing is. */
double peaks_bound_ns(const struct peaks *peaks, const struct workload *work);

#endif
