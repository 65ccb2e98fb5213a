/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/worth.h"

#include <math.h>

/* A library that took so much longer around a node is not asked about smaller parts there. */
static const double hopeless = 1.6;
/* Of the whole network's time: less cannot matter. */
static const double negligible = 0.0005;

enum { STATES = 50 }; /* prices need no optimum */

void worth_price(const struct candidate_set *set, const struct placement *placement, double *prices)
{
    for (size_t k = 0; k < placement->count; k++) {
        const struct candidate *candidate = &set->items[placement->chosen[k]];
        for (uint32_t n = 0; n < candidate->region.own_count; n++)
            prices[candidate->region.own[n]] =
                candidate->cost.cost_ns / candidate->region.own_count;
    }
}

static double price_of(const struct worth *worth, const struct candidate *candidate)
{
    double price = 0;
    for (uint32_t n = 0; n < candidate->region.node_count; n++)
        price += worth->prices[candidate->region.nodes[n]];
    return price;
}

/* Of overlapping regions the smallest says most; of equally large ones, the fastest. */
static void note_ratios(struct worth *worth, const struct candidate_set *set)
{
    for (size_t c = 0; c < set->count; c++) {
        const struct candidate *candidate = &set->items[c];
        uint32_t size = candidate->region.node_count;
        double price = price_of(worth, candidate);
        if (candidate->view || candidate->cost.state != COST_MEASURED || price <= 0)
            continue;
        double ratio = candidate->cost.cost_ns / price;
        for (uint32_t n = 0; n < size; n++) {
            size_t at = candidate->backend * worth->node_count + candidate->region.nodes[n];
            if (worth->sizes[at] && (worth->sizes[at] < size ||
                                     (worth->sizes[at] == size && worth->ratios[at] <= ratio)))
                continue;
            worth->sizes[at] = size;
            worth->ratios[at] = ratio;
        }
    }
}

collage_status worth_create(struct optimizer *optimizer, struct worth *worth, struct error *error)
{
    size_t nodes = optimizer->settings.graph->node_count;
    size_t backends = optimizer->settings.registry->count;
    *worth = (struct worth){ .node_count = nodes };
    worth->prices = memory_alloc((nodes + 1) * sizeof *worth->prices);
    worth->ratios = memory_alloc((nodes * backends + 1) * sizeof *worth->ratios);
    worth->sizes = memory_alloc((nodes * backends + 1) * sizeof *worth->sizes);
    if (!worth->prices || !worth->ratios || !worth->sizes) {
        worth_free(worth);
        return error_memory(error);
    }
    struct place_problem problem = optimizer_problem(optimizer, optimizer->enabled);
    problem.state_limit = STATES;
    problem.switch_ns = NULL;
    struct placement placement = { 0 };
    struct error local = { 0 };
    collage_status status = place_dynamic(&problem, &placement, &local);
    if (status == COLLAGE_ERROR_UNSUPPORTED)
        return COLLAGE_OK; /* not all nodes have a kernel yet: everything is worth it */
    if (status != COLLAGE_OK) {
        worth_free(worth);
        return error_set(error, status, "%s", local.text);
    }
    worth_price(optimizer->set, &placement, worth->prices);
    if (placement.cost_ns > 0 &&
        (!(optimizer->best_ns > 0) || placement.cost_ns < optimizer->best_ns))
        optimizer->best_ns = placement.cost_ns; /* for progress */
    placement_free(&placement);
    for (size_t n = 0; n < nodes; n++)
        worth->total += worth->prices[n];
    note_ratios(worth, optimizer->set);
    return COLLAGE_OK;
}

void worth_free(struct worth *worth)
{
    memory_free(worth->prices);
    memory_free(worth->ratios);
    memory_free(worth->sizes);
    *worth = (struct worth){ 0 };
}

bool worth_measuring(const struct worth *worth, const struct candidate *candidate)
{
    if (worth->total <= 0)
        return true;
    if (price_of(worth, candidate) < negligible * worth->total)
        return false;
    double least = HUGE_VAL;
    for (uint32_t n = 0; n < candidate->region.node_count; n++) {
        size_t at = candidate->backend * worth->node_count + candidate->region.nodes[n];
        if (!worth->sizes[at] || worth->sizes[at] < candidate->region.node_count)
            return true; /* nothing around it is known */
        least = fmin(least, worth->ratios[at]);
    }
    return least <= hopeless;
}
