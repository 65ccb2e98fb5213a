/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/known_peaks.h"

#include <math.h>
#include <string.h>

#include "cost/device.h"
#include "plan/lanes.h"

/* On a shared machine whole rounds can be slow: what was best counts, and there is one more round
 * each time that somebody asks. */
enum { ROUNDS = 3, FACTS = 3 + PEAK_LEVELS };

/* What is kept, in this order. */
static const char *const keys[FACTS] = { "peaks: operations",        "peaks: from second cache",
                                         "peaks: from last cache",   "peaks: from memory",
                                         "peaks: second cache size", "peaks: last cache size" };

static struct cost_conditions conditions_of(const struct peaks_source *source, int32_t threads)
{
    return (struct cost_conditions){ .backend = "collage",
                                     .version = collage_version(),
                                     .device = source->device,
                                     .threads = threads };
}

static bool are_rates(const double *facts)
{
    for (int k = 0; k < FACTS; k++)
        if (!isfinite(facts[k]) || facts[k] <= 0 || facts[k] > 1e15)
            return false;
    return true;
}

static void take_facts(const double *facts, int32_t threads, struct peaks *out)
{
    *out = (struct peaks){ .threads = threads,
                           .flop_per_ns = facts[0],
                           .level_2_bytes = (uint64_t)facts[1 + PEAK_LEVELS],
                           .last_level_bytes = (uint64_t)facts[2 + PEAK_LEVELS] };
    memcpy(out->bytes_per_ns, facts + 1, sizeof out->bytes_per_ns);
}

static collage_status keep(const struct peaks_source *source, const struct peaks *peaks,
                           struct error *error)
{
    const struct cost_conditions conditions = conditions_of(source, peaks->threads);
    const double facts[FACTS] = { peaks->flop_per_ns,
                                  peaks->bytes_per_ns[PEAK_LEVEL_2],
                                  peaks->bytes_per_ns[PEAK_LAST_LEVEL],
                                  peaks->bytes_per_ns[PEAK_MEMORY],
                                  (double)peaks->level_2_bytes,
                                  (double)peaks->last_level_bytes };
    collage_status status = COLLAGE_OK;
    for (int k = 0; k < FACTS && status == COLLAGE_OK; k++)
        status = cost_store_put_fact(source->store, keys[k], &conditions, facts[k], error);
    return status;
}

/* Each rate becomes the best of what it was and of some rounds. */
static collage_status measure(int rounds, struct peaks *peaks, struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (int round = 0; round < rounds && status == COLLAGE_OK; round++) {
        struct peaks again;
        status = peaks_measure(peaks->threads, &again, error);
        if (status != COLLAGE_OK)
            break;
        peaks->flop_per_ns = fmax(peaks->flop_per_ns, again.flop_per_ns);
        for (int level = 0; level < PEAK_LEVELS; level++)
            peaks->bytes_per_ns[level] =
                fmax(peaks->bytes_per_ns[level], again.bytes_per_ns[level]);
        peaks->level_2_bytes = again.level_2_bytes;
        if (again.last_level_bytes > peaks->last_level_bytes)
            peaks->last_level_bytes = again.last_level_bytes;
    }
    return status;
}

static collage_status is_here(const char *device, bool *here, struct error *error)
{
    struct device_facts facts;
    collage_status status = device_facts_read(&facts, error);
    *here = status == COLLAGE_OK && strcmp(facts.fingerprint, device) == 0;
    return status;
}

collage_status known_peaks_find(const struct peaks_source *source, int32_t threads,
                                struct peaks *out, bool *known, struct error *error)
{
    const struct cost_conditions conditions = conditions_of(source, threads);
    double facts[FACTS] = { 0 };
    bool found = true;
    collage_status status = COLLAGE_OK;
    for (int k = 0; k < FACTS && found && status == COLLAGE_OK; k++)
        status = cost_store_get_fact(source->store, keys[k], &conditions, &found, &facts[k], error);
    *out = (struct peaks){ .threads = threads };
    *known = status == COLLAGE_OK && found && are_rates(facts);
    if (*known)
        take_facts(facts, threads, out);
    if (status != COLLAGE_OK || !source->measure)
        return status;
    bool here = false;
    status = is_here(source->device, &here, error);
    if (status != COLLAGE_OK || !here)
        return status;
    status = measure(*known ? 1 : ROUNDS, out, error);
    if (status == COLLAGE_OK)
        status = keep(source, out, error);
    *known = status == COLLAGE_OK;
    return status;
}

collage_status known_peaks_roofline(const struct peaks_source *source, const struct plan *plan,
                                    const struct graph *graph, struct arena *arena,
                                    struct roofline *out, struct error *error)
{
    struct peaks wide, lane;
    bool known = false, lane_known = false;
    collage_status status = known_peaks_find(source, plan->threads, &wide, &known, error);
    if (status == COLLAGE_OK && known && plan->lanes)
        status = known_peaks_find(source, plan_lane_threads(plan), &lane, &lane_known, error);
    if (status != COLLAGE_OK)
        return status;
    known = known && (!plan->lanes || lane_known);
    return plan_roofline(plan, graph, known ? &wide : NULL, lane_known ? &lane : NULL, arena, out,
                         error);
}
