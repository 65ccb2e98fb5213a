/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/recall.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "optimize/key_table.h"
#include "optimize/rehearse.h"
#include "tensor/layout.h"

/* ---- libraries ---- */

/* The version that the plan was made with; NULL: it does not use the backend. */
static const char *version_of_plan(const struct plan *plan, const char *backend)
{
    for (uint32_t k = 0; k < plan->backend_count; k++)
        if (strcmp(plan->backends[k].name, backend) == 0)
            return plan->backends[k].version;
    return NULL;
}

/* A registry of our own, so that the versions of another's stay what they are. */
static collage_status copy_registry(struct recall *recall, struct error *error)
{
    const struct registry *from = recall->settings.registry;
    struct optimizer *optimizer = &recall->optimizer;
    recall->registry = *from;
    recall->registry.entries =
        arena_copy(optimizer->arena, from->entries, from->count * sizeof *from->entries);
    optimizer->enabled = arena_array(optimizer->arena, from->count, sizeof *optimizer->enabled);
    if (!recall->registry.entries || !optimizer->enabled)
        return error_memory(error);
    optimizer->settings.registry = &recall->registry;
    for (uint32_t b = 0; b < from->count; b++)
        optimizer->enabled[b] = from->entries[b].api != NULL;
    return COLLAGE_OK;
}

static collage_status set_versions(struct recall *recall, struct error *error)
{
    struct optimizer *optimizer = &recall->optimizer;
    for (uint32_t b = 0; b < recall->registry.count; b++) {
        struct backend_entry *entry = &recall->registry.entries[b];
        const struct cost_conditions conditions = optimizer_conditions(optimizer, b);
        const char *version = version_of_plan(recall->settings.plan, entry->name);
        collage_status status = COLLAGE_OK;
        if (!version)
            status = cost_store_find_version(optimizer->store, &conditions, optimizer->arena,
                                             &version, error);
        if (status != COLLAGE_OK)
            return status;
        entry->version = version;
    }
    return COLLAGE_OK;
}

/* ---- candidates and their costs ---- */

static bool is_kernel_on(const struct recall *recall, const struct plan_step *step, uint32_t *entry)
{
    if (step->kind != PLAN_KERNEL)
        return false;
    *entry = registry_find(&recall->registry, recall->settings.plan->backends[step->backend].name);
    return *entry != UINT32_MAX && recall->registry.entries[*entry].api;
}

/* Regions that were merged during the search are not among those that are enumerated; nor are those
 * with copies. */
static collage_status add_steps(struct recall *recall, struct error *error)
{
    struct candidate_set *set = recall->optimizer.set;
    const struct plan *plan = recall->settings.plan;
    collage_status status = COLLAGE_OK;
    for (uint32_t s = 0; s < plan->step_count && status == COLLAGE_OK; s++) {
        const struct plan_step *step = &plan->steps[s];
        uint32_t entry = 0;
        struct region region;
        if (!is_kernel_on(recall, step, &entry))
            continue;
        status = plan_step_region(plan, step, set->graph, &set->uses, recall->optimizer.arena,
                                  &region, error);
        if (status == COLLAGE_OK)
            status = candidate_set_add_copying(set, entry, region.nodes, region.node_count,
                                               region.copies, region.copy_count, step->pattern,
                                               NULL, error);
    }
    return status;
}

static collage_status make_candidates(struct recall *recall, struct error *error)
{
    struct optimizer *optimizer = &recall->optimizer;
    collage_status status = candidate_set_create(recall->settings.graph, &recall->registry,
                                                 &optimizer->target, &optimizer->set, error);
    if (status == COLLAGE_OK) {
        optimizer->set->files = recall->settings.pattern_files;
        optimizer->set->file_count = recall->settings.pattern_file_count;
        optimizer->set->strict = recall->settings.plan->strict;
        optimizer->set->device = optimizer->device.name;
        optimizer->set->fingerprint = optimizer->device.fingerprint;
        status = candidate_set_enumerate(optimizer->set, optimizer->enabled, error);
    }
    return status == COLLAGE_OK ? add_steps(recall, error) : status;
}

/* Equal keys are asked for once. */
static collage_status look_up(struct optimizer *optimizer, candidate_id id, struct error *error)
{
    struct candidate *candidate = &optimizer->set->items[id];
    const struct cost *known = key_table_find(optimizer->known, candidate->key);
    if (known) {
        candidate->cost = *known;
        return COLLAGE_OK;
    }
    const struct cost_conditions conditions = optimizer_conditions(optimizer, candidate->backend);
    collage_status status = optimizer_ask_given(optimizer, id, &candidate->cost, error);
    if (status == COLLAGE_OK && candidate->cost.state == COST_UNKNOWN)
        status = cost_store_get(optimizer->store, candidate->key, &conditions,
                                optimizer->set->arena, &candidate->cost, error);
    if (status == COLLAGE_OK)
        status = rehearsed_cost(optimizer, id, &candidate->cost, error);
    if (status == COLLAGE_OK && !key_table_put(optimizer->known, candidate->key, &candidate->cost))
        status = error_memory(error);
    return status;
}

static collage_status look_up_all(struct recall *recall, struct error *error)
{
    struct candidate_set *set = recall->optimizer.set;
    for (candidate_id c = 0; c < set->count; c++) {
        const struct candidate *candidate = &set->items[c];
        if (candidate->view)
            continue;
        collage_status status = look_up(&recall->optimizer, c, error);
        if (status != COLLAGE_OK)
            return status;
        recall->measured += candidate->cost.state == COST_MEASURED;
        recall->failed += candidate->cost.state == COST_FAILED;
        recall->given += candidate->cost.giver != NULL;
        recall->unmeasured += candidate->cost.state == COST_UNKNOWN;
    }
    return COLLAGE_OK;
}

/* ---- the plan's steps among them ---- */

static bool has_tensors(const struct plan *plan, const uint32_t *tensors, const value_id *values,
                        const collage_layout *layouts, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (plan->tensors[tensors[k]].value != values[k] ||
            !layout_equal(&plan->tensors[tensors[k]].layout, &layouts[k]))
            return false;
    return true;
}

static bool is_step(const struct plan *plan, const struct plan_step *step, uint32_t entry,
                    const struct candidate *candidate)
{
    const struct region *region = &candidate->region;
    return candidate->backend == entry && !candidate->view &&
           region->node_count == step->node_count && region->input_count == step->input_count &&
           region->output_count == step->output_count &&
           memcmp(region->nodes, step->nodes, step->node_count * sizeof *step->nodes) == 0 &&
           strcmp(candidate->variant, step->variant) == 0 &&
           has_tensors(plan, step->inputs, region->inputs, candidate->input_layouts,
                       step->input_count) &&
           has_tensors(plan, step->outputs, region->outputs, candidate->output_layouts,
                       step->output_count);
}

/* What the plan says counts where the store has nothing better, and where it was not the store's
 * cost that the plan was made with. */
static void complete_cost(const struct plan_step *step, struct cost *cost)
{
    const bool known = cost->state == COST_MEASURED && (!step->given || cost->giver);
    if (known || !isfinite(step->cost_ns) || step->cost_ns <= 0)
        return;
    *cost = (struct cost){ .state = COST_MEASURED,
                           .cost_ns = step->cost_ns,
                           .implementation = step->implementation,
                           .reason = "",
                           .giver = step->given ? "the user of then" : NULL,
                           .schedule = step->schedule };
}

/* A schedule that tuning has found is the cost of all kernels that are equal. */
static collage_status set_cost(struct optimizer *optimizer, const struct plan_step *step,
                               candidate_id id, struct error *error)
{
    struct candidate *candidate = &optimizer->set->items[id];
    if (!step->schedule) {
        complete_cost(step, &candidate->cost);
        return COLLAGE_OK;
    }
    struct cost cost;
    collage_status status =
        optimizer_schedule_cost(optimizer, id, step->schedule, false, &cost, error);
    if (status != COLLAGE_OK)
        return status;
    status = rehearsed_cost(optimizer, id, &cost, error);
    if (status != COLLAGE_OK)
        return status;
    complete_cost(step, &cost);
    return optimizer_set_cost(optimizer, candidate->key, &cost, error);
}

static collage_status find_steps(struct recall *recall, struct error *error)
{
    const struct plan *plan = recall->settings.plan;
    struct candidate_set *set = recall->optimizer.set;
    struct arena *arena = recall->optimizer.arena;
    recall->steps = arena_array(arena, plan->step_count, sizeof *recall->steps);
    recall->order = arena_array(arena, plan->step_count, sizeof *recall->order);
    recall->order_steps = arena_array(arena, plan->step_count, sizeof *recall->order_steps);
    if (!recall->steps || !recall->order || !recall->order_steps)
        return error_memory(error);
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        uint32_t entry = 0;
        recall->steps[s] = GRAPH_NONE;
        if (!is_kernel_on(recall, step, &entry))
            continue;
        for (candidate_id id = 0; id < set->count && recall->steps[s] == GRAPH_NONE; id++)
            if (is_step(plan, step, entry, &set->items[id]))
                recall->steps[s] = id;
        if (recall->steps[s] == GRAPH_NONE)
            continue;
        collage_status status = set_cost(&recall->optimizer, step, recall->steps[s], error);
        if (status != COLLAGE_OK)
            return status;
        recall->order[recall->order_count] = recall->steps[s];
        recall->order_steps[recall->order_count++] = s;
    }
    return COLLAGE_OK;
}

/* ---- putting it together ---- */

/* Not being able to compare is no error. */
static collage_status make_rivals(struct recall *recall, struct error *error)
{
    struct error own = { 0 };
    if (recall->measured == 0)
        return COLLAGE_OK;
    collage_status status =
        rivals_create(&recall->problem, recall->order, recall->order_count, &recall->rivals, &own);
    if (status == COLLAGE_OK || status == COLLAGE_ERROR_UNSUPPORTED)
        return COLLAGE_OK;
    return error_set(error, status, "%s", own.text);
}

static collage_status open_store(struct recall *recall, struct error *error)
{
    const struct recall_settings *settings = &recall->settings;
    struct optimizer *optimizer = &recall->optimizer;
    collage_status status = cost_store_open(settings->cache_directory, &optimizer->store, error);
    if (status == COLLAGE_OK && settings->log && cost_store_warning(optimizer->store)[0])
        settings->log(settings->user, COLLAGE_LOG_WARNING, cost_store_warning(optimizer->store));
    return status;
}

/* What an optimizer of that plan would know before it measured. */
static collage_status prepare(struct recall *recall, struct error *error)
{
    const struct recall_settings *settings = &recall->settings;
    struct optimizer *optimizer = &recall->optimizer;
    optimizer->settings.graph = settings->graph;
    optimizer->settings.stored_only = true;
    optimizer->settings.given = settings->given;
    optimizer->arena = arena_create();
    optimizer->known = key_table_create();
    if (!optimizer->arena || !optimizer->known)
        return error_memory(error);
    snprintf(optimizer->device.fingerprint, sizeof optimizer->device.fingerprint, "%s",
             settings->plan->device);
    snprintf(optimizer->device.name, sizeof optimizer->device.name, "%s",
             settings->plan->device_name ? settings->plan->device_name : "");
    optimizer->target = registry_host_target(settings->plan->threads);
    optimizer->working_set_log2 = optimizer_working_set_log2(settings->graph);
    collage_status status = copy_registry(recall, error);
    if (status == COLLAGE_OK)
        status = open_store(recall, error);
    return status == COLLAGE_OK ? set_versions(recall, error) : status;
}

collage_status recall_open(const struct recall_settings *settings, struct recall *recall,
                           struct error *error)
{
    *recall = (struct recall){ .settings = *settings };
    struct optimizer *optimizer = &recall->optimizer;
    collage_status status = prepare(recall, error);
    if (status == COLLAGE_OK)
        status = make_candidates(recall, error);
    if (status == COLLAGE_OK)
        status = look_up_all(recall, error);
    if (status == COLLAGE_OK)
        status = find_steps(recall, error);
    if (status == COLLAGE_OK)
        status = optimizer_measure_transitions(optimizer, error);
    if (status == COLLAGE_OK)
        status = optimizer_measure_switches(optimizer, error);
    if (status != COLLAGE_OK)
        return status;
    recall->problem = optimizer_problem(optimizer, optimizer->enabled);
    return make_rivals(recall, error);
}

void recall_close(struct recall *recall)
{
    rivals_destroy(recall->rivals);
    optimizer_close(&recall->optimizer);
    *recall = (struct recall){ 0 };
}

collage_status recall_find_rivals(struct recall *recall, uint32_t step, struct rival *out,
                                  struct error *error)
{
    for (uint32_t b = 0; b < recall->registry.count; b++)
        out[b] = (struct rival){ 0 };
    for (size_t k = 0; recall->rivals && k < recall->order_count; k++)
        if (recall->order_steps[k] == step)
            return rivals_find(recall->rivals, k, out, error);
    return COLLAGE_OK;
}
