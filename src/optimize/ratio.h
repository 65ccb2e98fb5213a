/* SPDX-License-Identifier: Apache-2.0 */
/* ratio.h: how the contestants of a race compare, and whether that is clear by now. */
#ifndef COLLAGE_OPTIMIZE_RATIO_H
#define COLLAGE_OPTIMIZE_RATIO_H

#include "measure/statistics.h"
#include "worker/worker.h"

/* Time of a / time of b, in pairs of the rounds that both took part in. False if out of memory. */
static inline bool contestant_ratio(const struct contestant *a, const struct contestant *b,
                                    struct summary *ratio)
{
    size_t pairs = a->sample_count < b->sample_count ? a->sample_count : b->sample_count;
    return paired_ratio(a->samples, b->samples, pairs, ratio);
}

/*
 * Is it still open who is the fastest? Not if each other's time over the leader's is above 1 with
 * its whole 95 % interval, or known within 3 %. Who is behind by `far_behind` (1.05: 5 %) for sure
 * is sent to rest. COLLAGE_ERROR_MEMORY, or COLLAGE_OK.
 */
collage_status race_is_open(struct contestant *contestants, size_t count, double far_behind,
                            bool *open);

#endif
