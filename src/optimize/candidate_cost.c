/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/candidate_cost.h"

#include <stdio.h>
#include <string.h>

#include "graph/subgraph.h"
#include "optimize/key_table.h"
#include "optimize/rehearse.h"
#include "optimize/singles.h"
#include "optimize/tune.h"
#include "pattern/schedule.h"

/* A stored cost is good if its kind of failure would happen again; a time-out or crash is tried
 * anew only on request. */
static collage_status stored_cost(struct optimizer *optimizer, candidate_id id,
                                  const char *schedule, struct cost *cost, struct error *error)
{
    const struct candidate *candidate = &optimizer->set->items[id];
    const struct cost_conditions conditions = optimizer_conditions(optimizer, candidate->backend);
    struct hash key;
    *cost = (struct cost){ .state = COST_UNKNOWN, .schedule = schedule };
    if (optimizer->settings.remeasure || (candidate->code && !optimizer->makes_code))
        return COLLAGE_OK;
    if (!schedule_key(candidate->key, schedule, &key))
        return error_memory(error);
    collage_status status =
        cost_store_get(optimizer->store, key, &conditions, optimizer->set->arena, cost, error);
    cost->schedule = schedule;
    optimizer->counts.reused += cost->state != COST_UNKNOWN;
    return status;
}

collage_status candidate_cost_known(struct optimizer *optimizer, candidate_id id, struct cost *cost,
                                    struct error *error)
{
    const struct cost *known = key_table_find(optimizer->known, optimizer->set->items[id].key);
    const char *schedule;
    if (known) {
        *cost = *known;
        return COLLAGE_OK;
    }
    collage_status status = optimizer_ask_given(optimizer, id, cost, error);
    if (status != COLLAGE_OK || cost->state != COST_UNKNOWN)
        return status;
    status = tuned_schedule(optimizer, id, &schedule, error);
    if (status == COLLAGE_OK)
        status = stored_cost(optimizer, id, schedule, cost, error);
    if (status == COLLAGE_OK && cost->schedule && cost->state == COST_FAILED)
        status = stored_cost(optimizer, id, NULL, cost, error);
    return status == COLLAGE_OK ? rehearsed_cost(optimizer, id, cost, error) : status;
}

/* "Conv+Relu -> 1x64x56x56, 4 nodes": for people who look into the cost store. */
static collage_status describe_candidate(const struct optimizer *optimizer, candidate_id id,
                                         char *text, size_t size, struct error *error)
{
    const struct candidate *candidate = &optimizer->set->items[id];
    text[0] = '\0';
    struct arena *arena = arena_create();
    const collage_subgraph *subgraph = NULL;
    collage_status status = arena ? candidate_subgraph(optimizer->set, id, arena, &subgraph, error)
                                  : error_memory(error);
    if (status == COLLAGE_OK) {
        char ops[160];
        char dims[96];
        subgraph_describe(subgraph, ops, sizeof ops);
        const struct tensor *out =
            &optimizer->settings.graph->values[candidate->region.outputs[0]].tensor;
        dims_print(out->dims, out->rank, dims, sizeof dims);
        snprintf(text, size, "%s -> %s %s", ops, dims, candidate->variant);
    }
    arena_destroy(arena);
    return status;
}

/* The whole graph on a graph-level library. */
static bool is_whole(const struct optimizer *optimizer, const struct candidate *candidate)
{
    const struct registry *registry = optimizer->settings.registry;
    return registry->entries[candidate->backend].api->kind == COLLAGE_GRAPH_LEVEL &&
           candidate->region.node_count == optimizer->settings.graph->node_count;
}

/* quick: a first look, unless much depends on it. */
static collage_status measure_one(struct optimizer *optimizer, candidate_id id,
                                  const char *schedule, bool quick, struct cost *cost,
                                  struct error *error)
{
    struct candidate *candidate = &optimizer->set->items[id];
    struct sample_conditions conditions = optimizer->conditions;
    conditions.schedule = schedule;
    conditions.quick = quick && !is_whole(optimizer, candidate);
    conditions.known_ns = singles_known_ns(optimizer->set, candidate);
    if (candidate->backend == REGISTRY_REFERENCE)
        conditions.limit_seconds /= 5;
    else if (is_whole(optimizer, candidate))
        conditions.limit_seconds *= 15; /* few, and much depends on them */
    collage_status status = optimizer_need_worker(optimizer, error);
    if (status != COLLAGE_OK)
        return status;
    status = worker_measure(optimizer->worker, optimizer->set, id, &conditions,
                            optimizer->set->arena, cost, error);
    if (status != COLLAGE_OK)
        return status;
    optimizer->counts.measured++;
    cost->passes = 1;
    cost->schedule = schedule;
    return COLLAGE_OK;
}

static collage_status keep(struct optimizer *optimizer, candidate_id id, const struct cost *cost,
                           struct error *error)
{
    const struct candidate *candidate = &optimizer->set->items[id];
    char description[320];
    if (cost->passing)
        return COLLAGE_OK;
    collage_status status =
        describe_candidate(optimizer, id, description, sizeof description, error);
    if (status != COLLAGE_OK)
        return status;
    struct hash key;
    if (!schedule_key(candidate->key, cost->schedule, &key))
        return error_memory(error);
    if (cost->schedule) {
        size_t used = strlen(description);
        snprintf(description + used, sizeof description - used, " [%s]", cost->schedule);
    }
    struct cost_conditions conditions = optimizer_conditions(optimizer, candidate->backend);
    return cost_store_put(optimizer->store, key, &conditions, description, cost, error);
}

collage_status candidate_cost_measure(struct optimizer *optimizer, candidate_id id, bool quick,
                                      struct cost *cost, struct error *error)
{
    const char *schedule = cost->schedule;
    collage_status status = measure_one(optimizer, id, schedule, quick, cost, error);
    if (status == COLLAGE_OK)
        status = keep(optimizer, id, cost, error);
    if (status != COLLAGE_OK || !schedule || cost->state == COST_MEASURED)
        return status;
    status = stored_cost(optimizer, id, NULL, cost, error);
    return status == COLLAGE_OK && cost->state == COST_UNKNOWN
               ? candidate_cost_measure(optimizer, id, quick, cost, error)
               : status;
}

collage_status optimizer_schedule_cost(struct optimizer *optimizer, candidate_id id,
                                       const char *schedule, bool measure, struct cost *cost,
                                       struct error *error)
{
    collage_status status = stored_cost(optimizer, id, schedule, cost, error);
    if (status != COLLAGE_OK || cost->state != COST_UNKNOWN || !measure)
        return status;
    status = measure_one(optimizer, id, schedule, false, cost, error);
    return status == COLLAGE_OK ? keep(optimizer, id, cost, error) : status;
}

collage_status optimizer_find_cost(struct optimizer *optimizer, candidate_id id, bool measure,
                                   const char **origin, struct error *error)
{
    struct candidate *candidate = &optimizer->set->items[id];
    struct cost cost;
    *origin = NULL;
    collage_status status = candidate_cost_known(optimizer, id, &cost, error);
    if (status == COLLAGE_OK && cost.state != COST_UNKNOWN && !cost.giver)
        *origin = "from the store";
    if (status == COLLAGE_OK && cost.state == COST_UNKNOWN && measure) {
        *origin = "measured now";
        status = candidate_cost_measure(optimizer, id, false, &cost, error);
    }
    if (status != COLLAGE_OK || cost.state == COST_UNKNOWN)
        return status;
    candidate->cost = cost;
    return key_table_put(optimizer->known, candidate->key, &cost) ? COLLAGE_OK
                                                                  : error_memory(error);
}

collage_status optimizer_measure_again(struct optimizer *optimizer, candidate_id id,
                                       struct cost *best, struct error *error)
{
    struct cost cost;
    collage_status status = measure_one(optimizer, id, best->schedule, false, &cost, error);
    if (status != COLLAGE_OK)
        return status;
    /* Only passes that find nothing lower count: a cost is settled when two of them agree. */
    uint32_t passes =
        cost.state == COST_MEASURED && cost.cost_ns < 0.98 * best->cost_ns ? 1 : best->passes + 1;
    if (cost.state == COST_MEASURED && cost.cost_ns < best->cost_ns)
        *best = cost;
    best->passes = passes;
    return keep(optimizer, id, best, error);
}

collage_status optimizer_set_cost(struct optimizer *optimizer, struct hash key,
                                  const struct cost *cost, struct error *error)
{
    struct candidate_set *set = optimizer->set;
    if (!key_table_put(optimizer->known, key, cost))
        return error_memory(error);
    for (size_t c = 0; c < set->count; c++)
        if (hash_equal(set->items[c].key, key) && !set->items[c].view)
            set->items[c].cost = *cost;
    return COLLAGE_OK;
}
