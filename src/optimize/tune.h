/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h: internal to optimize/: the tuning log on its way in. Its way out is
 * optimizer_write_tuning. */
#ifndef COLLAGE_OPTIMIZE_TUNE_H
#define COLLAGE_OPTIMIZE_TUNE_H

#include "optimize/optimizer.h"

/* Reads the log of the settings, if there is one; tells how many of its records are for other
 * libraries or machines. */
collage_status tune_read_log(struct optimizer *optimizer, struct error *error);

/* The schedule that the log has for a candidate, if its backend lists it; else NULL. */
collage_status tuned_schedule(const struct optimizer *optimizer, candidate_id id,
                              const char **schedule, struct error *error);

#endif
