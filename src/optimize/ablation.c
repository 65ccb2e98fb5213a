/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One library more at a time: what each adds to the speed. The order is greedy, by the costs: the
 * best single library first, then always the one with which the best placement costs least. Costs
 * that matter are settled for each of these placements as they are for the mix, so that none is
 * favoured; only then all are placed for the race, with the same costs.
 */
#include <math.h>

#include "measure/statistics.h"
#include "optimize/optimizer.h"
#include "optimize/ratio.h"

static bool is_library(const struct optimizer *optimizer, uint32_t backend)
{
    return backend != REGISTRY_REFERENCE && optimizer->enabled[backend];
}

/* ---- what no library takes ---- */

/* cells[node * backends + backend]: does a measured candidate of the backend, or a view, cover the
 * node? */
static void note_covered(const struct optimizer *optimizer, bool *cells)
{
    const struct candidate_set *set = optimizer->set;
    const uint32_t backends = set->registry->count;
    for (size_t c = 0; c < set->count; c++) {
        const struct candidate *candidate = &set->items[c];
        if (!candidate->view && candidate->cost.state != COST_MEASURED)
            continue;
        for (uint32_t k = 0; k < candidate->region.own_count; k++)
            for (uint32_t b = 0; b < backends; b++)
                if (candidate->view || b == candidate->backend)
                    cells[(size_t)candidate->region.own[k] * backends + b] = true;
    }
}

/* The reference must have a cost wherever some library cannot go on by itself. */
static collage_status fill_holes(struct optimizer *optimizer, struct error *error)
{
    const struct candidate_set *set = optimizer->set;
    const uint32_t backends = set->registry->count;
    bool *covered =
        arena_array(optimizer->arena, set->graph->node_count * backends + 1, sizeof *covered);
    if (!covered)
        return error_memory(error);
    note_covered(optimizer, covered);
    collage_status status = COLLAGE_OK;
    for (candidate_id id = 0; id < set->count && status == COLLAGE_OK; id++) {
        const struct candidate *candidate = &set->items[id];
        const char *origin;
        bool hole = false;
        if (candidate->backend != REGISTRY_REFERENCE || candidate->region.node_count != 1 ||
            candidate->view || candidate->cost.state != COST_UNKNOWN)
            continue;
        for (uint32_t b = 0; b < backends; b++)
            hole = hole || (is_library(optimizer, b) &&
                            !covered[(size_t)candidate->region.nodes[0] * backends + b]);
        if (!hole)
            continue;
        status =
            optimizer_report_progress(optimizer, "measure", "reference", id, set->count, error);
        if (status == COLLAGE_OK)
            status = optimizer_find_cost(optimizer, id, true, &origin, error);
    }
    return status;
}

/* ---- the order ---- */

/* What the best placement on these costs; HUGE_VAL if there is none. */
static collage_status price(struct optimizer *optimizer, bool *only, double *cost_ns,
                            struct error *error)
{
    struct plan *plan;
    collage_status status = optimizer_place_on(optimizer, only, false, &plan, error);
    *cost_ns = status == COLLAGE_OK && plan ? plan->predicted_ns : HUGE_VAL;
    plan_destroy(plan);
    return status;
}

/* The library with which the whole costs least; of equal ones the first. UINT32_MAX if all are
 * there. */
static collage_status find_next(struct optimizer *optimizer, bool *only, uint32_t *next,
                                struct error *error)
{
    double least = HUGE_VAL;
    *next = UINT32_MAX;
    for (uint32_t b = 0; b < optimizer->settings.registry->count; b++) {
        double cost_ns;
        if (!is_library(optimizer, b) || only[b])
            continue;
        only[b] = true;
        collage_status status = price(optimizer, only, &cost_ns, error);
        only[b] = false;
        if (status != COLLAGE_OK)
            return status;
        if (*next == UINT32_MAX || cost_ns < least) {
            least = cost_ns;
            *next = b;
        }
    }
    return COLLAGE_OK;
}

/* Settles the costs that matter for the best placement on these. */
static collage_status settle(struct optimizer *optimizer, bool *only, struct error *error)
{
    struct plan *plan;
    collage_status status = optimizer_place_on(optimizer, only, true, &plan, error);
    plan_destroy(plan);
    return status;
}

static collage_status find_order(struct optimizer *optimizer, bool *only, struct error *error)
{
    const uint32_t backends = optimizer->settings.registry->count;
    for (;;) {
        uint32_t next;
        collage_status status =
            optimizer_report_progress(optimizer, "place", "one library more at a time",
                                      optimizer->ablation_count, backends, error);
        if (status == COLLAGE_OK)
            status = find_next(optimizer, only, &next, error);
        if (status != COLLAGE_OK || next == UINT32_MAX)
            return status;
        only[next] = true;
        optimizer->ablation[optimizer->ablation_count++] =
            (struct optimizer_ablation){ .backend = next, .contestant = SIZE_MAX };
        status = settle(optimizer, only, error);
        if (status != COLLAGE_OK)
            return status;
    }
}

/* ---- the contestants ---- */

/* Costs are known to 2 %: what is saved below half of that is noise, and does not change a plan. */
static const double worth_changing = 0.99;

/* The plan of the row before, if this one is the same or not cheaper beyond noise: it races once.
 */
static collage_status add_row(struct optimizer *optimizer, uint32_t row, struct plan *plan,
                              struct error *error)
{
    struct optimizer_ablation *own = &optimizer->ablation[row];
    size_t before = row > 0 ? optimizer->ablation[row - 1].contestant : SIZE_MAX;
    if (before != SIZE_MAX &&
        (optimizer_same_steps(optimizer->plans[before], plan) ||
         plan->predicted_ns > worth_changing * optimizer->plans[before]->predicted_ns)) {
        own->contestant = before;
        plan_destroy(plan);
        return COLLAGE_OK;
    }
    const char *name = arena_format(optimizer->arena, "%s%s", row ? "+ " : "",
                                    optimizer->settings.registry->entries[own->backend].name);
    collage_status status =
        name ? optimizer_add_mix(optimizer, name, plan, error) : error_memory(error);
    if (status != COLLAGE_OK) {
        plan_destroy(plan);
        return status;
    }
    own->contestant = optimizer->contestant_count - 1;
    optimizer->notes[own->contestant] = optimizer_note_reference(optimizer, plan);
    return optimizer->notes[own->contestant] ? COLLAGE_OK : error_memory(error);
}

collage_status optimizer_place_ablation(struct optimizer *optimizer, struct error *error)
{
    const uint32_t backends = optimizer->settings.registry->count;
    bool *only = arena_array(optimizer->arena, backends, sizeof *only);
    optimizer->ablation = arena_array(optimizer->arena, backends, sizeof *optimizer->ablation);
    if (!only || !optimizer->ablation)
        return error_memory(error);
    only[REGISTRY_REFERENCE] = true;
    collage_status status = fill_holes(optimizer, error);
    if (status == COLLAGE_OK)
        status = find_order(optimizer, only, error);
    if (status == COLLAGE_OK && optimizer->ablation_count == 0)
        return error_set(error, COLLAGE_ERROR_BACKEND,
                         "no library but the reference is available: there is none to add");
    for (uint32_t b = 0; b < backends; b++)
        only[b] = b == REGISTRY_REFERENCE;
    for (uint32_t row = 0; row < optimizer->ablation_count && status == COLLAGE_OK; row++) {
        struct plan *plan;
        only[optimizer->ablation[row].backend] = true;
        status = optimizer_place_on(optimizer, only, false, &plan, error);
        if (status == COLLAGE_OK && plan)
            status = add_row(optimizer, row, plan, error);
    }
    return status;
}

/* ---- what came out ---- */

static bool finished(const struct contestant *contestant)
{
    return contestant->failure[0] == '\0' && contestant->sample_count > 0;
}

/* Time of a / time of b; nothing if one of them has none. False if out of memory. */
static bool find_ratio(const struct optimizer *optimizer, size_t a, size_t b,
                       struct ablation_ratio *ratio)
{
    const struct contestant *contestants = optimizer->contestants;
    struct summary found;
    *ratio = (struct ablation_ratio){ 0 };
    if (a == SIZE_MAX || b == SIZE_MAX || !finished(&contestants[a]) || !finished(&contestants[b]))
        return true;
    if (!contestant_ratio(&contestants[a], &contestants[b], &found))
        return false;
    *ratio = (struct ablation_ratio){ found.median, found.low, found.high };
    return true;
}

static collage_status write_row(const struct optimizer *optimizer, uint32_t backend, size_t index,
                                size_t first, struct ablation_row *row, struct error *error)
{
    const struct backend_entry *entry = &optimizer->settings.registry->entries[backend];
    *row = (struct ablation_row){
        .added = entry->name, .version = entry->version, .note = "", .failure = ""
    };
    if (index == SIZE_MAX) {
        row->failure = "there is no placement on these libraries and the reference";
        return COLLAGE_OK;
    }
    const struct contestant *contestant = &optimizer->contestants[index];
    struct summary own;
    row->note = optimizer->notes[index];
    row->failure = contestant->failure;
    row->predicted_ns = contestant->plan ? contestant->plan->predicted_ns : 0;
    row->worst_error = contestant->worst_error;
    row->peak_bytes = contestant->peak_bytes;
    if (!finished(contestant))
        return COLLAGE_OK;
    if (!summary_of(contestant->samples, contestant->sample_count, &own) ||
        !find_ratio(optimizer, first, index, &row->speed_up))
        return error_memory(error);
    row->minimum_ns = own.minimum;
    row->median_ns = own.median;
    row->low_ns = own.low;
    row->high_ns = own.high;
    return COLLAGE_OK;
}

/* The first row that has times: what the others are compared with. */
static size_t find_first(const struct optimizer *optimizer)
{
    for (uint32_t row = 0; row < optimizer->ablation_count; row++) {
        size_t index = optimizer->ablation[row].contestant;
        if (index != SIZE_MAX && finished(&optimizer->contestants[index]))
            return index;
    }
    return SIZE_MAX;
}

static collage_status write_rows(const struct optimizer *optimizer, size_t first,
                                 struct ablation_row *rows, struct error *error)
{
    for (uint32_t row = 0; row < optimizer->ablation_count; row++) {
        const struct optimizer_ablation *own = &optimizer->ablation[row];
        collage_status status =
            write_row(optimizer, own->backend, own->contestant, first, &rows[row], error);
        if (status != COLLAGE_OK)
            return status;
        if (row == 0)
            continue;
        size_t before = optimizer->ablation[row - 1].contestant;
        rows[row].same = before != SIZE_MAX && before == own->contestant;
        if (!find_ratio(optimizer, before, own->contestant, &rows[row].gain))
            return error_memory(error);
    }
    return COLLAGE_OK;
}

collage_status optimizer_write_ablation(struct optimizer *optimizer, struct ablation *out,
                                        struct error *error)
{
    size_t room = optimizer->contestant_count + 1;
    struct ablation_row *rows =
        arena_array(optimizer->arena, (size_t)optimizer->ablation_count + 1, sizeof *rows);
    struct ablation_row *alone = arena_array(optimizer->arena, room, sizeof *alone);
    if (!rows || !alone)
        return error_memory(error);
    size_t first = find_first(optimizer), count = 0;
    collage_status status = write_rows(optimizer, first, rows, error);
    for (size_t k = 0; k < optimizer->contestant_count && status == COLLAGE_OK; k++)
        if (!optimizer->contestants[k].plan)
            status = write_row(optimizer, optimizer->contestants[k].backend, k, first,
                               &alone[count++], error);
    *out = (struct ablation){ .model = optimizer->settings.graph->name,
                              .device_name = optimizer->device.name,
                              .threads = optimizer->target.threads,
                              .rows = rows,
                              .row_count = optimizer->ablation_count,
                              .alone = alone,
                              .alone_count = count };
    return status;
}
