/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The costs between candidates: conversions of layouts (an Identity node with two layouts, on
 * whichever library takes it; the reference does it if none can), and the extra time that a
 * library's threads need after another's.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "graph/subgraph.h"
#include "optimize/key_table.h"
#include "optimize/optimizer.h"
#include "tensor/layout.h"

enum { MAX_LAYOUTS = 8 };

/* The layouts in which a value is made, and those in which it is wanted. */
struct value_layouts {
    collage_layout made[MAX_LAYOUTS], wanted[MAX_LAYOUTS];
    uint32_t made_count, wanted_count;
};

static void add_layout(collage_layout *list, uint32_t *count, const collage_layout *layout)
{
    for (uint32_t k = 0; k < *count; k++)
        if (layout_equal(&list[k], layout))
            return;
    if (*count < MAX_LAYOUTS)
        list[(*count)++] = *layout;
}

static struct value_layouts *collect_layouts(const struct optimizer *optimizer)
{
    const struct graph *graph = optimizer->settings.graph;
    struct value_layouts *layouts = memory_alloc((graph->value_count + 1) * sizeof *layouts);
    if (!layouts)
        return NULL;
    collage_layout plain = layout_plain();
    for (uint32_t k = 0; k < graph->input_count; k++) {
        struct value_layouts *at = &layouts[graph->inputs[k]];
        add_layout(at->made, &at->made_count, &plain);
    }
    for (uint32_t k = 0; k < graph->output_count; k++) {
        struct value_layouts *at = &layouts[graph->outputs[k]];
        add_layout(at->wanted, &at->wanted_count, &plain);
    }
    for (size_t c = 0; c < optimizer->set->count; c++) {
        const struct candidate *candidate = &optimizer->set->items[c];
        if (candidate->cost.state != COST_MEASURED)
            continue;
        for (uint32_t k = 0; k < candidate->region.input_count; k++) {
            struct value_layouts *at = &layouts[candidate->region.inputs[k]];
            add_layout(at->wanted, &at->wanted_count, &candidate->input_layouts[k]);
        }
        for (uint32_t k = 0; k < candidate->region.output_count; k++) {
            struct value_layouts *at = &layouts[candidate->region.outputs[k]];
            add_layout(at->made, &at->made_count, &candidate->output_layouts[k]);
        }
    }
    return layouts;
}

static bool transition_key(const struct tensor *shape, const struct backend_entry *entry,
                           const collage_layout *from, const collage_layout *to, struct hash *key)
{
    struct hash_state *state = hash_begin();
    if (!state)
        return false;
    hash_string(state, "transition");
    hash_string(state, entry->name);
    hash_u64(state, (uint64_t)shape->dtype);
    hash_u64(state, (uint64_t)shape->rank);
    for (int32_t d = 0; d < shape->rank; d++)
        hash_u64(state, (uint64_t)shape->dims[d]);
    hash_string(state, from->tag);
    hash_string(state, to->tag);
    *key = hash_end(state);
    return true;
}

/* Not if only stored costs count; nor if the user has enough and there is a plan without: a library
 * that takes the whole graph needs no conversions. */
static bool may_measure(const struct optimizer *optimizer)
{
    return !optimizer->settings.stored_only &&
           !(optimizer_has_enough(optimizer) && optimizer->alone_ns > 0 &&
             !optimizer_is_by_operators(optimizer));
}

collage_status optimizer_transition_cost(struct optimizer *optimizer, uint32_t backend,
                                         value_id value, const collage_layout *from,
                                         const collage_layout *to, struct cost *cost,
                                         struct error *error)
{
    const struct tensor *shape = &optimizer->settings.graph->values[value].tensor;
    const struct backend_entry *entry = &optimizer->settings.registry->entries[backend];
    struct hash key;
    if (!transition_key(shape, entry, from, to, &key))
        return error_memory(error);
    const struct cost *known = key_table_find(optimizer->known, key);
    if (known) {
        *cost = *known;
        return COLLAGE_OK;
    }
    struct cost_conditions conditions = optimizer_conditions(optimizer, backend);
    *cost = (struct cost){ .state = COST_UNKNOWN };
    collage_status status = COLLAGE_OK;
    if (!optimizer->settings.remeasure)
        status =
            cost_store_get(optimizer->store, key, &conditions, optimizer->set->arena, cost, error);
    if (status == COLLAGE_OK && cost->state == COST_UNKNOWN && may_measure(optimizer)) {
        status = optimizer_need_worker(optimizer, error);
        if (status != COLLAGE_OK)
            return status;
        optimizer->counts.measured++;
        status =
            worker_measure_transition(optimizer->worker, optimizer->set, backend, value, from, to,
                                      &optimizer->conditions, optimizer->set->arena, cost, error);
        char dims[96];
        char description[192];
        dims_print(shape->dims, shape->rank, dims, sizeof dims);
        snprintf(description, sizeof description, "transition %s %s -> %s", dims,
                 from->tag[0] ? from->tag : "plain", to->tag[0] ? to->tag : "plain");
        if (status == COLLAGE_OK)
            status = cost_store_put(optimizer->store, key, &conditions, description, cost, error);
    }
    if (status == COLLAGE_OK && !key_table_put(optimizer->known, key, cost))
        status = error_memory(error);
    return status;
}

static collage_status add_transition(struct optimizer *optimizer, const struct transition *made,
                                     struct error *error)
{
    if (!memory_grow((void **)&optimizer->transitions, &optimizer->transition_capacity,
                     optimizer->transition_count, sizeof *made))
        return error_memory(error);
    optimizer->transitions[optimizer->transition_count++] = *made;
    return COLLAGE_OK;
}

/* The op-level libraries in turn; the reference only if none of them can. */
static collage_status measure_transition(struct optimizer *optimizer, value_id value,
                                         const collage_layout *from, const collage_layout *to,
                                         struct error *error)
{
    const struct registry *registry = optimizer->settings.registry;
    bool done = false;
    for (uint32_t k = 1; k <= registry->count; k++) {
        uint32_t backend = k % registry->count; /* the reference, which is first, comes last */
        const collage_backend_api *api = registry->entries[backend].api;
        if (!optimizer->enabled[backend] || api->kind != COLLAGE_OP_LEVEL ||
            (backend == REGISTRY_REFERENCE && done))
            continue;
        struct cost cost;
        collage_status status =
            optimizer_transition_cost(optimizer, backend, value, from, to, &cost, error);
        if (status != COLLAGE_OK)
            return status;
        if (cost.state != COST_MEASURED)
            continue;
        done = true;
        struct transition made = { value, *from, *to, backend, cost.cost_ns };
        status = add_transition(optimizer, &made, error);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

collage_status optimizer_measure_transitions(struct optimizer *optimizer, struct error *error)
{
    uint64_t start = clock_ns();
    const struct graph *graph = optimizer->settings.graph;
    struct value_layouts *layouts = collect_layouts(optimizer);
    if (!layouts)
        return error_memory(error);
    optimizer->transition_count = 0;
    collage_status status = COLLAGE_OK;
    for (value_id v = 0; v < graph->value_count && status == COLLAGE_OK; v++) {
        status = optimizer_report_progress(optimizer, "measure", "transitions", v,
                                           graph->value_count, error);
        for (uint32_t a = 0; a < layouts[v].made_count && status == COLLAGE_OK; a++)
            for (uint32_t b = 0; b < layouts[v].wanted_count && status == COLLAGE_OK; b++)
                if (!layout_equal(&layouts[v].made[a], &layouts[v].wanted[b]))
                    status = measure_transition(optimizer, v, &layouts[v].made[a],
                                                &layouts[v].wanted[b], error);
    }
    memory_free(layouts);
    optimizer->counts.transitions = optimizer->transition_count;
    optimizer->counts.measure_seconds += (double)(clock_ns() - start) * 1e-9;
    return status;
}

/* What its operators read and write, weights included. */
static uint64_t data_bytes(const struct candidate_set *set, const struct candidate *candidate)
{
    const struct graph *graph = set->graph;
    uint64_t bytes = 0;
    for (uint32_t n = 0; n < candidate->region.node_count; n++) {
        const collage_node *node = &graph->nodes[candidate->region.nodes[n]].base;
        for (uint32_t k = 0; k < node->input_count; k++)
            if (node->inputs[k] != GRAPH_NONE)
                bytes += tensor_bytes(&graph->values[node->inputs[k]].tensor);
        for (uint32_t k = 0; k < node->output_count; k++)
            if (node->outputs[k] != GRAPH_NONE)
                bytes += tensor_bytes(&graph->values[node->outputs[k]].tensor);
    }
    return bytes;
}

/* Shorter kernels and smaller ones may run on one thread, which says nothing of waking others. */
static const double woken_ns = 50e3;
static const uint64_t woken_bytes = 256 << 10;

/*
 * What stands for a library when its threads are woken: a kernel of few operators that is long and
 * large enough to use all threads, of these the one with the least data, so that what the other
 * library drives out of the cache counts little; if there is none, the longest. UINT32_MAX if there
 * is nothing at all.
 */
static candidate_id representative(const struct optimizer *optimizer, uint32_t backend)
{
    const struct candidate_set *set = optimizer->set;
    candidate_id longest = UINT32_MAX, best = UINT32_MAX;
    uint64_t least = UINT64_MAX;
    for (candidate_id id = 0; id < set->count; id++) {
        const struct candidate *candidate = &set->items[id];
        if (candidate->backend != backend || candidate->view ||
            candidate->cost.state != COST_MEASURED || candidate->region.node_count > 3)
            continue;
        const double cost_ns = candidate->cost.cost_ns;
        const uint64_t bytes = data_bytes(set, candidate);
        if (longest == UINT32_MAX || cost_ns > set->items[longest].cost.cost_ns)
            longest = id;
        if (cost_ns >= woken_ns && bytes >= woken_bytes && bytes < least) {
            least = bytes;
            best = id;
        }
    }
    return best != UINT32_MAX ? best : longest;
}

static collage_status switch_cost(struct optimizer *optimizer, uint32_t from, uint32_t to,
                                  double *extra_ns, struct error *error)
{
    const struct registry *registry = optimizer->settings.registry;
    char key[160];
    snprintf(key, sizeof key, "switch after a stretch, %s %s -> %s %s",
             registry->entries[from].name, registry->entries[from].version,
             registry->entries[to].name, registry->entries[to].version);
    struct cost_conditions conditions = optimizer_conditions(optimizer, to);
    bool found = false;
    if (!optimizer->settings.remeasure) {
        collage_status status =
            cost_store_get_fact(optimizer->store, key, &conditions, &found, extra_ns, error);
        if (status != COLLAGE_OK || found)
            return status;
    }
    const candidate_id a = representative(optimizer, from), b = representative(optimizer, to);
    *extra_ns = 0;
    if (optimizer->settings.stored_only || optimizer_has_enough(optimizer) || a == UINT32_MAX ||
        b == UINT32_MAX)
        return COLLAGE_OK;
    collage_status status = optimizer_need_worker(optimizer, error);
    if (status != COLLAGE_OK)
        return status;
    status = worker_measure_switch(optimizer->worker, optimizer->set, a, b, extra_ns, error);
    if (status != COLLAGE_OK)
        return status;
    return cost_store_put_fact(optimizer->store, key, &conditions, *extra_ns, error);
}

collage_status optimizer_measure_switches(struct optimizer *optimizer, struct error *error)
{
    uint32_t count = optimizer->settings.registry->count;
    optimizer->switch_ns = arena_array(optimizer->arena, (size_t)count * count, sizeof(double));
    if (!optimizer->switch_ns)
        return error_memory(error);
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < count; b++) {
            if (a == b || a == REGISTRY_REFERENCE || b == REGISTRY_REFERENCE ||
                !optimizer->enabled[a] || !optimizer->enabled[b])
                continue;
            collage_status status =
                switch_cost(optimizer, a, b, &optimizer->switch_ns[(size_t)a * count + b], error);
            if (status != COLLAGE_OK)
                return status;
        }
    return COLLAGE_OK;
}
