/* SPDX-License-Identifier: Apache-2.0 */
/* Single-operator mode: every candidate that covers one node gets its cost, from the store or
 * measured now, whether it can win or not. */
#include <stdlib.h>

#include "base/clock.h"
#include "optimize/optimizer.h"

struct job {
    candidate_id id;
    uint32_t size;
};

/* The node alone first: what is left out for want of time is the largest. */
static int compare_jobs(const void *left, const void *right)
{
    const struct job *a = left;
    const struct job *b = right;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static collage_status list_jobs(const struct optimizer *optimizer, node_id node, struct job **out,
                                size_t *count, struct error *error)
{
    const struct candidate_set *set = optimizer->set;
    struct job *jobs = arena_array(optimizer->arena, set->count, sizeof *jobs);
    if (!jobs)
        return error_memory(error);
    *count = 0;
    for (candidate_id id = 0; id < set->count; id++) {
        const struct candidate *candidate = &set->items[id];
        if (!candidate->view && optimizer->enabled[candidate->backend] &&
            region_has(&candidate->region, node))
            jobs[(*count)++] = (struct job){ id, candidate->region.node_count };
    }
    qsort(jobs, *count, sizeof *jobs, compare_jobs);
    *out = jobs;
    return COLLAGE_OK;
}

/* Of equal keys one is measured; the others have its cost, and it comes from the same place. */
static const char *origin_of_equal(const struct optimizer *optimizer, const struct job *jobs,
                                   size_t before, const char *const *origins)
{
    const struct candidate *items = optimizer->set->items;
    for (size_t k = 0; k < before; k++)
        if (hash_equal(items[jobs[k].id].key, items[jobs[before].id].key))
            return origins[jobs[k].id];
    return NULL;
}

collage_status optimizer_measure_node(struct optimizer *optimizer, node_id node,
                                      const char *const **out, struct error *error)
{
    uint64_t deadline = clock_ns() + (uint64_t)(optimizer->settings.budget_seconds * 1e9);
    const char **origins = arena_array(optimizer->arena, optimizer->set->count, sizeof *origins);
    if (!origins)
        return error_memory(error);
    struct job *jobs = NULL;
    size_t count = 0;
    collage_status status = list_jobs(optimizer, node, &jobs, &count, error);
    for (size_t k = 0; k < count && status == COLLAGE_OK; k++) {
        uint32_t backend = optimizer->set->items[jobs[k].id].backend;
        const char *origin = NULL;
        status = optimizer_report_progress(optimizer, "measure",
                                           optimizer->settings.registry->entries[backend].name, k,
                                           count, error);
        if (status == COLLAGE_OK)
            status =
                optimizer_find_cost(optimizer, jobs[k].id, clock_ns() < deadline, &origin, error);
        const char *equal = origin_of_equal(optimizer, jobs, k, origins);
        origins[jobs[k].id] = equal ? equal : origin;
    }
    *out = origins;
    return status;
}
