/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h: the schedules of candidates: how a backend could cut the work of one kernel, as short
 * texts of its own (backend.h). In: a candidate. Out: the schedules that its backend lists, and the
 * key under which a cost with one of them is kept.
 */
#ifndef COLLAGE_PATTERN_SCHEDULE_H
#define COLLAGE_PATTERN_SCHEDULE_H

#include "pattern/candidate.h"

enum { SCHEDULES_MAX = 64 }; /* of a variant; a backend that lists more is cut off */

/* Is it a text that a schedule may have: 1 to 95 printable characters of ASCII, no space at either
 * end? */
bool schedule_is_text(const char *text);

/* Does the backend list this schedule for the variant? `api` may lack the function. */
bool schedule_is_offered(const collage_backend_api *api, const collage_subgraph *subgraph,
                         const collage_target *target, const collage_variant *variant,
                         const char *schedule);

/* What the backend of a candidate lists, each text once; malformed ones are left out. Memory from
 * the set's arena. */
collage_status candidate_schedules(const struct candidate_set *set, candidate_id id,
                                   const char *const **out, size_t *count, struct error *error);

/* The key of a candidate's cost with a schedule; NULL: the candidate's own. False: out of memory.
 */
bool schedule_key(struct hash candidate, const char *schedule, struct hash *out);

#endif
