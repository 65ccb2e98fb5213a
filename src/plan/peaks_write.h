/* SPDX-License-Identifier: Apache-2.0 */
/* peaks_write.h: the machine's peaks, told to people and to scripts. */
#ifndef COLLAGE_PLAN_PEAKS_WRITE_H
#define COLLAGE_PLAN_PEAKS_WRITE_H

#include <jansson.h>

#include "base/text.h"
#include "measure/peaks.h"

/* "115.8 GFLOP/s;" and on a line of its own the bytes a second from each level. */
void peaks_put(const struct peaks *peaks, struct text *out);
/* The same figures as an object; NULL: out of memory. */
json_t *peaks_to_json(const struct peaks *peaks);

#endif
