/* SPDX-License-Identifier: Apache-2.0 */
#include "run/steps.h"

#include <stdlib.h>

collage_status session_set_profiling(struct session *session, bool on, struct error *error)
{
    memory_free(session->stamps);
    session->stamps = NULL;
    session->profiled_runs = 0;
    if (!on)
        return COLLAGE_OK;
    session->stamps =
        memory_alloc((size_t)session->step_count * 2 * PROFILE_RUNS * sizeof(uint64_t));
    return session->stamps ? COLLAGE_OK : error_memory(error);
}

static int compare_times(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

struct session_profile session_step_profile(const struct session *session, uint32_t index)
{
    uint64_t times[PROFILE_RUNS];
    size_t count = session->profiled_runs < PROFILE_RUNS ? (size_t)session->profiled_runs
                                                         : (size_t)PROFILE_RUNS;
    if (!session->stamps || count == 0 || index >= session->step_count)
        return (struct session_profile){ 0 };
    for (size_t run = 0; run < count; run++) {
        const uint64_t *row = session->stamps + run * 2 * (size_t)session->step_count;
        times[run] = row[2 * (size_t)index + 1] - row[2 * (size_t)index];
    }
    qsort(times, count, sizeof *times, compare_times);
    size_t half = count / 2, tenth = (count - 1) / 10;
    double middle = (double)times[half];
    if (count % 2 == 0)
        middle = (middle + (double)times[half - 1]) / 2;
    return (struct session_profile){ (double)times[0], (double)times[tenth], middle };
}
