/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placing by another search than the exact one: the published ones and the everyday one, to be
 * compared with ours, and the oracle. They see the same costs, settled in the same way.
 */
#include "optimize/search.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "place/cover.h"
#include "place/fuse.h"

enum { ROUNDS = 10, PASSES = 3 };

static const char *const names[] = {
    [COLLAGE_SEARCH_EXACT] = "exact",         [COLLAGE_SEARCH_OP_LEVEL] = "op-level",
    [COLLAGE_SEARCH_TWO_LEVEL] = "two-level", [COLLAGE_SEARCH_GREEDY] = "greedy",
    [COLLAGE_SEARCH_BRUTE] = "brute",
};

const char *optimizer_search_name(collage_search search)
{
    return (size_t)search < sizeof names / sizeof *names ? names[search] : "unknown";
}

bool optimizer_is_by_operators(const struct optimizer *optimizer)
{
    collage_search search = optimizer->settings.search;
    return search == COLLAGE_SEARCH_OP_LEVEL || search == COLLAGE_SEARCH_TWO_LEVEL ||
           search == COLLAGE_SEARCH_GREEDY;
}

collage_status optimizer_check_search(const struct optimizer_settings *settings,
                                      struct error *error)
{
    if (settings->search != COLLAGE_SEARCH_BRUTE ||
        settings->graph->node_count <= PLACE_BRUTE_NODES)
        return COLLAGE_OK;
    return error_set(error, COLLAGE_ERROR_ARGUMENT,
                     "the search 'brute' tries all placements of at most %d nodes, and the model "
                     "has %zu: choose another search",
                     PLACE_BRUTE_NODES, settings->graph->node_count);
}

static void add_to_order(uint32_t *order, uint32_t *count, uint32_t backend)
{
    for (uint32_t k = 0; k < *count; k++)
        if (order[k] == backend)
            return;
    order[(*count)++] = backend;
}

/* As the user has listed them, else as the registry has them; the reference last, unless it was
 * listed. */
static void find_order(const struct optimizer *optimizer, uint32_t *order, uint32_t *count)
{
    const struct registry *registry = optimizer->settings.registry;
    const char *list = optimizer->settings.backends;
    *count = 0;
    for (const char *at = list; at;) {
        const char *end = strchr(at, ',');
        size_t length = end ? (size_t)(end - at) : strlen(at);
        for (uint32_t b = 0; b < registry->count; b++)
            if (strlen(registry->entries[b].name) == length &&
                strncmp(registry->entries[b].name, at, length) == 0)
                add_to_order(order, count, b);
        at = end ? end + 1 : NULL;
    }
    for (uint32_t b = 1; b < registry->count && !list; b++)
        add_to_order(order, count, b);
    add_to_order(order, count, REGISTRY_REFERENCE);
}

static collage_status place_by_priority(struct optimizer *optimizer,
                                        const struct place_problem *problem,
                                        struct placement *placement, struct error *error)
{
    uint32_t count;
    uint32_t *order =
        arena_array(optimizer->arena, optimizer->settings.registry->count, sizeof *order);
    if (!order)
        return error_memory(error);
    find_order(optimizer, order, &count);
    return place_greedy(problem, order, count, placement, error);
}

static collage_status search_once(struct optimizer *optimizer, struct placement *placement,
                                  struct error *error)
{
    uint64_t start = clock_ns();
    const struct optimizer_settings *settings = &optimizer->settings;
    const struct place_problem problem = optimizer_problem(optimizer, optimizer->enabled);
    collage_status status;
    if (settings->search == COLLAGE_SEARCH_BRUTE)
        status = place_brute(&problem, placement, error);
    else if (settings->search == COLLAGE_SEARCH_GREEDY)
        status = place_by_priority(optimizer, &problem, placement, error);
    else
        status = place_op_level(&problem, settings->kernel_cost_ns, placement, error);
    optimizer->counts.states += placement->states;
    optimizer->counts.place_seconds += (double)(clock_ns() - start) * 1e-9;
    return status;
}

/* Until every cost that matters for the choice is settled. */
static collage_status search_until_settled(struct optimizer *optimizer, struct placement *placement,
                                           struct error *error)
{
    collage_status status = search_once(optimizer, placement, error);
    for (uint32_t round = 0; round < ROUNDS && status == COLLAGE_OK; round++) {
        size_t again = 0;
        status = optimizer_confirm(optimizer, placement, PASSES, &again, error);
        if (status != COLLAGE_OK || again == 0)
            return status;
        placement_free(placement);
        status = search_once(optimizer, placement, error);
        optimizer->counts.rounds++;
    }
    return status;
}

/* As runtimes do it: what a library that takes graphs has claimed, it gets in pieces as large as
 * they can be. */
static collage_status join_claims(struct optimizer *optimizer, struct placement *placement,
                                  struct error *error)
{
    uint32_t *homes = arena_array(optimizer->arena, placement->count, sizeof *homes);
    if (!homes)
        return error_memory(error);
    for (size_t k = 0; k < placement->count; k++) {
        const struct candidate *candidate = &optimizer->set->items[placement->chosen[k]];
        bool joins = !candidate->view && !search_is_pinned(optimizer, placement->chosen[k]) &&
                     cover_is_graph_level(optimizer->set, candidate->backend);
        homes[k] = joins ? candidate->backend : FUSE_ALONE;
    }
    return search_join(optimizer, homes, true, placement, error);
}

/* Who gave a file of patterns should know that some of it is not looked at. */
static void note_left_out(const struct optimizer *optimizer)
{
    const struct candidate_set *set = optimizer->set;
    size_t count = 0;
    for (size_t c = 0; c < set->count; c++) {
        const struct candidate *candidate = &set->items[c];
        bool pinned = optimizer->pins && pins_name(optimizer->pins, candidate);
        count += !candidate->view && !pinned && candidate->region.node_count > 1 &&
                 !cover_is_graph_level(set, candidate->backend) &&
                 !cover_has_one_end(set, &candidate->region);
    }
    if (count == 0 || !optimizer_is_by_operators(optimizer) || !optimizer->settings.log)
        return;
    char line[128];
    snprintf(line, sizeof line, "the search '%s' leaves out %zu kernels that have several ends",
             optimizer_search_name(optimizer->settings.search), count);
    optimizer->settings.log(optimizer->settings.user, COLLAGE_LOG_INFO, line);
}

collage_status optimizer_place_search(struct optimizer *optimizer, struct error *error)
{
    const collage_search search = optimizer->settings.search;
    const char *name = optimizer_search_name(search);
    struct placement placement = { 0 };
    struct plan *plan = NULL;
    collage_status status = optimizer_report_progress(optimizer, "place", name, 0, 1, error);
    note_left_out(optimizer);
    if (status == COLLAGE_OK)
        status = search_until_settled(optimizer, &placement, error);
    if (status == COLLAGE_OK && search == COLLAGE_SEARCH_GREEDY)
        status = join_claims(optimizer, &placement, error);
    if (status == COLLAGE_OK && search == COLLAGE_SEARCH_TWO_LEVEL)
        status = search_second_level(optimizer, &placement, error);
    if (status == COLLAGE_OK) {
        const struct place_problem problem = optimizer_problem(optimizer, optimizer->enabled);
        status = plan_build(&problem, &placement, optimizer->device.fingerprint, &plan, error);
    }
    placement_free(&placement);
    if (status == COLLAGE_OK)
        status = optimizer_add_mix(optimizer, name, plan, error);
    if (status != COLLAGE_OK)
        plan_destroy(plan);
    return status;
}
