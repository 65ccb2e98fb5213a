/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives every candidate its cost. The order matters when the budget is short: op-level kernels
 * first (they make some placement possible), then the whole graph on each graph-level backend, then
 * regions, then single operators. The reference is slow and always possible: it is measured only
 * for operators that nothing else takes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "graph/subgraph.h"
#include "optimize/key_table.h"
#include "optimize/optimizer.h"

enum rank { RANK_OP_LEVEL, RANK_WHOLE, RANK_REGION, RANK_SINGLE, RANK_REFERENCE };

struct job {
    candidate_id id;
    enum rank rank;
    uint32_t size;
};

static enum rank rank_of(const struct optimizer *optimizer, const struct candidate *candidate)
{
    const struct registry *registry = optimizer->settings.registry;
    if (candidate->backend == REGISTRY_REFERENCE)
        return RANK_REFERENCE;
    if (registry->entries[candidate->backend].api->kind == COLLAGE_OP_LEVEL)
        return RANK_OP_LEVEL;
    if (candidate->region.node_count == optimizer->settings.graph->node_count)
        return RANK_WHOLE;
    return candidate->region.node_count > 1 ? RANK_REGION : RANK_SINGLE;
}

static int compare_jobs(const void *left, const void *right)
{
    const struct job *a = left;
    const struct job *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* A stored cost is good if its kind of failure would happen again; a time-out or crash is tried
 * anew only on request. */
static collage_status cost_of(struct optimizer *optimizer, candidate_id id, struct cost *cost,
                              struct error *error)
{
    struct candidate *candidate = &optimizer->set->items[id];
    const struct cost *known = key_table_find(optimizer->known, candidate->key);
    if (known) {
        *cost = *known;
        return COLLAGE_OK;
    }
    struct cost_conditions conditions = optimizer_conditions(optimizer, candidate->backend);
    *cost = (struct cost){ .state = COST_UNKNOWN };
    if (!optimizer->settings.remeasure) {
        collage_status status = cost_store_get(optimizer->store, candidate->key, &conditions,
                                               optimizer->set->arena, cost, error);
        if (status != COLLAGE_OK)
            return status;
        if (cost->state != COST_UNKNOWN)
            optimizer->counts.reused++;
    }
    return COLLAGE_OK;
}

/* "Conv+Relu -> 1x64x56x56, 4 nodes": for people who look into the cost store. */
static void describe_candidate(const struct optimizer *optimizer, candidate_id id, char *text,
                               size_t size)
{
    const struct candidate *candidate = &optimizer->set->items[id];
    text[0] = '\0';
    struct arena *arena = arena_create();
    const collage_subgraph *subgraph = NULL;
    if (arena && candidate_subgraph(optimizer->set, id, arena, &subgraph, NULL) == COLLAGE_OK) {
        char ops[160];
        char dims[96];
        subgraph_describe(subgraph, ops, sizeof ops);
        const struct tensor *out =
            &optimizer->settings.graph->values[candidate->region.outputs[0]].tensor;
        dims_print(out->dims, out->rank, dims, sizeof dims);
        snprintf(text, size, "%s -> %s %s", ops, dims, candidate->variant);
    }
    arena_destroy(arena);
}

static collage_status measure_one(struct optimizer *optimizer, candidate_id id, struct cost *cost,
                                  struct error *error)
{
    struct candidate *candidate = &optimizer->set->items[id];
    struct sample_conditions conditions = optimizer->conditions;
    if (candidate->backend == REGISTRY_REFERENCE)
        conditions.limit_seconds /= 5;
    collage_status status = optimizer_need_worker(optimizer, error);
    if (status != COLLAGE_OK)
        return status;
    status = worker_measure(optimizer->worker, optimizer->set, id, &conditions,
                            optimizer->set->arena, cost, error);
    if (status != COLLAGE_OK)
        return status;
    optimizer->counts.measured++;
    cost->passes = 1;
    return COLLAGE_OK;
}

static collage_status keep(struct optimizer *optimizer, candidate_id id, const struct cost *cost,
                           struct error *error)
{
    const struct candidate *candidate = &optimizer->set->items[id];
    char description[320];
    describe_candidate(optimizer, id, description, sizeof description);
    struct cost_conditions key = optimizer_conditions(optimizer, candidate->backend);
    return cost_store_put(optimizer->store, candidate->key, &key, description, cost, error);
}

/* Does a measured candidate of an op-level library (other than the reference), or any, cover the
 * node? */
static bool node_is_covered(const struct optimizer *optimizer, node_id node, bool op_level_only)
{
    const struct candidate_set *set = optimizer->set;
    for (size_t c = 0; c < set->count; c++) {
        const struct candidate *candidate = &set->items[c];
        if (candidate->cost.state != COST_MEASURED || candidate->backend == REGISTRY_REFERENCE)
            continue;
        const collage_backend_api *api = set->registry->entries[candidate->backend].api;
        if (op_level_only && api->kind != COLLAGE_OP_LEVEL)
            continue;
        for (uint32_t k = 0; k < candidate->region.node_count; k++)
            if (candidate->region.nodes[k] == node)
                return true;
    }
    return false;
}

/* Where another op-level library takes part, it must be able to run alone: the reference fills its
 * holes. */
static bool reference_is_needed(const struct optimizer *optimizer, node_id node)
{
    const struct registry *registry = optimizer->settings.registry;
    bool op_level = false;
    for (uint32_t b = 0; b < registry->count; b++)
        op_level = op_level || (b != REGISTRY_REFERENCE && optimizer->enabled[b] &&
                                registry->entries[b].api->kind == COLLAGE_OP_LEVEL);
    return !node_is_covered(optimizer, node, op_level);
}

static collage_status list_jobs(struct optimizer *optimizer, struct job **out, size_t *count,
                                struct error *error)
{
    const struct candidate_set *set = optimizer->set;
    struct job *jobs = memory_alloc((set->count + 1) * sizeof *jobs);
    if (!jobs)
        return error_memory(error);
    *count = 0;
    for (candidate_id id = 0; id < set->count; id++)
        if (set->items[id].cost.state == COST_UNKNOWN && optimizer->enabled[set->items[id].backend])
            jobs[(*count)++] = (struct job){ id, rank_of(optimizer, &set->items[id]),
                                             set->items[id].region.node_count };
    qsort(jobs, *count, sizeof *jobs, compare_jobs);
    *out = jobs;
    return COLLAGE_OK;
}

/* One candidate: known, stored, or measured now if there is time left. */
static collage_status settle(struct optimizer *optimizer, const struct job *job,
                             struct error *error)
{
    struct candidate *candidate = &optimizer->set->items[job->id];
    if (job->rank == RANK_REFERENCE && !reference_is_needed(optimizer, candidate->region.nodes[0]))
        return COLLAGE_OK;
    struct cost cost;
    collage_status status = cost_of(optimizer, job->id, &cost, error);
    if (status != COLLAGE_OK)
        return status;
    if (cost.state == COST_UNKNOWN) {
        /* Without the reference for what nobody else takes there is no plan at all: no budget for
         * it. */
        if (job->rank != RANK_REFERENCE && clock_ns() > optimizer->deadline_ns) {
            optimizer->counts.unmeasured++;
            return COLLAGE_OK;
        }
        status = measure_one(optimizer, job->id, &cost, error);
        if (status == COLLAGE_OK)
            status = keep(optimizer, job->id, &cost, error);
        if (status != COLLAGE_OK)
            return status;
    }
    if (!key_table_find(optimizer->known, candidate->key)) {
        optimizer->counts.failed += cost.state == COST_FAILED;
        if (!key_table_put(optimizer->known, candidate->key, &cost))
            return error_memory(error);
    }
    optimizer->set->items[job->id].cost = cost;
    return COLLAGE_OK;
}

collage_status optimizer_measure_candidates(struct optimizer *optimizer, struct error *error)
{
    uint64_t start = clock_ns();
    if (optimizer->deadline_ns == 0)
        optimizer->deadline_ns = start + (uint64_t)(optimizer->settings.budget_seconds * 1e9);
    struct job *jobs = NULL;
    size_t count = 0;
    collage_status status = list_jobs(optimizer, &jobs, &count, error);
    if (status != COLLAGE_OK)
        return status;
    for (size_t k = 0; k < count && status == COLLAGE_OK; k++) {
        const struct candidate *candidate = &optimizer->set->items[jobs[k].id];
        status = optimizer_report_progress(
            optimizer, "measure", optimizer->settings.registry->entries[candidate->backend].name, k,
            count, error);
        if (status == COLLAGE_OK)
            status = settle(optimizer, &jobs[k], error);
    }
    memory_free(jobs);
    optimizer->counts.candidates = optimizer->set->count;
    optimizer->counts.keys = key_table_count(optimizer->known);
    optimizer->counts.measure_seconds += (double)(clock_ns() - start) * 1e-9;
    return status;
}

/* What the placement pays for a node: its candidate's cost, spread evenly. */
static double *node_prices(const struct optimizer *optimizer, const struct placement *placement)
{
    double *prices = memory_alloc((optimizer->settings.graph->node_count + 1) * sizeof *prices);
    for (size_t k = 0; k < placement->count && prices; k++) {
        const struct candidate *candidate = &optimizer->set->items[placement->chosen[k]];
        for (uint32_t n = 0; n < candidate->region.node_count; n++)
            prices[candidate->region.nodes[n]] =
                candidate->cost.cost_ns / candidate->region.node_count;
    }
    return prices;
}

static bool matters(const struct candidate *candidate, const double *prices)
{
    double price = 0;
    for (uint32_t n = 0; n < candidate->region.node_count; n++)
        price += prices[candidate->region.nodes[n]];
    return candidate->cost.cost_ns <= 1.15 * price;
}

/* Measures the candidate's key again; the lower cost counts, for all candidates of that key. */
static collage_status measure_again(struct optimizer *optimizer, candidate_id id,
                                    struct error *error)
{
    struct candidate_set *set = optimizer->set;
    struct hash key = set->items[id].key;
    struct cost best = set->items[id].cost;
    struct cost cost;
    collage_status status = measure_one(optimizer, id, &cost, error);
    if (status != COLLAGE_OK)
        return status;
    /* Only passes that find nothing lower count: a cost is settled when two of them agree. */
    uint32_t passes =
        cost.state == COST_MEASURED && cost.cost_ns < 0.98 * best.cost_ns ? 1 : best.passes + 1;
    if (cost.state == COST_MEASURED && cost.cost_ns < best.cost_ns)
        best = cost;
    best.passes = passes;
    if (!key_table_put(optimizer->known, key, &best))
        return error_memory(error);
    for (size_t c = 0; c < set->count; c++)
        if (hash_equal(set->items[c].key, key) && !set->items[c].view)
            set->items[c].cost = best;
    return keep(optimizer, id, &best, error);
}

collage_status optimizer_confirm(struct optimizer *optimizer, const struct placement *placement,
                                 uint32_t passes, size_t *again, struct error *error)
{
    uint64_t start = clock_ns();
    *again = 0;
    double *prices = node_prices(optimizer, placement);
    if (!prices)
        return error_memory(error);
    const struct candidate_set *set = optimizer->set;
    collage_status status = COLLAGE_OK;
    for (candidate_id id = 0; id < set->count && status == COLLAGE_OK; id++) {
        const struct candidate *candidate = &set->items[id];
        if (candidate->view || candidate->cost.state != COST_MEASURED ||
            !optimizer->enabled[candidate->backend] || candidate->cost.passes >= passes ||
            !matters(candidate, prices))
            continue;
        if (clock_ns() > optimizer->deadline_ns)
            break;
        status =
            optimizer_report_progress(optimizer, "measure", "confirming", id, set->count, error);
        if (status == COLLAGE_OK)
            status = measure_again(optimizer, id, error);
        ++*again;
    }
    memory_free(prices);
    optimizer->counts.confirmed += *again;
    optimizer->counts.measure_seconds += (double)(clock_ns() - start) * 1e-9;
    return status;
}
