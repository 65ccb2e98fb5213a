/* SPDX-License-Identifier: Apache-2.0 */
/* timing.h: samples of a checked trial, taken with caches and threads as they are inside the
 * network (docs/measuring.md). */
#ifndef COLLAGE_MEASURE_TIMING_H
#define COLLAGE_MEASURE_TIMING_H

#include "measure/sample.h"
#include "measure/statistics.h"
#include "measure/trial.h"

/* first_ns: what trial_check found. A kernel that takes longer than the limit is not sampled. */
collage_status timing_sample(struct trial *trial, const struct sample_conditions *conditions,
                             double first_ns, struct summary *out, struct error *error);

#endif
