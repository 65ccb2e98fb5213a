/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives candidates their costs. The order matters: the whole graph on each graph-level backend
 * first, then op-level kernels of one operator (they make placements possible; those that move most
 * in all the places where they stand first), then those of several, the most promising first
 * (singles.h), then regions, the largest first, then
 * single operators. Regions and operators come in waves; before each, what is known by then says
 * which of them are worth it (worth.h). The reference is slow and always possible: it is measured
 * only for operators that nothing else takes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "optimize/candidate_cost.h"
#include "optimize/key_table.h"
#include "optimize/optimizer.h"
#include "optimize/singles.h"
#include "optimize/worth.h"
#include "place/cover.h"

/* Kernels are of op-level backends, of one operator or of several; regions and single operators of
 * graph-level ones. */
enum rank { RANK_WHOLE, RANK_KERNEL, RANK_FUSED, RANK_REFERENCE, RANK_REGION, RANK_SINGLE };

/* Of the budget, when the first look at kernels of one operator, at all kernels and at regions is
 * over; the rest is for merging and confirming. */
static const double singles_end = 0.3, kernels_end = 0.45, regions_end = 0.75;

struct job {
    candidate_id id;
    enum rank rank;
    uint32_t size;
    enum lag lag; /* of RANK_FUSED: whether its kernel is good without the fusion */
    /* What one measurement says something of: of RANK_FUSED what the operators take one by one, of
     * RANK_KERNEL the bytes of its tensors; times the places in the network with this key. */
    double price;
};

static enum rank rank_of(const struct optimizer *optimizer, const struct candidate *candidate)
{
    const struct registry *registry = optimizer->settings.registry;
    if (candidate->backend == REGISTRY_REFERENCE)
        return RANK_REFERENCE;
    if (registry->entries[candidate->backend].api->kind == COLLAGE_OP_LEVEL)
        return candidate->region.node_count > 1 ? RANK_FUSED : RANK_KERNEL;
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
    if (a->lag != b->lag)
        return a->lag < b->lag ? -1 : 1;
    if (a->price != b->price)
        return a->price > b->price ? -1 : 1;
    if (a->size != b->size)
        return (a->size < b->size) == (a->rank == RANK_FUSED) ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* The time, to be compared with deadlines: all are over once the user has enough, but for that of
 * what there is no plan without (UINT64_MAX). */
static uint64_t time_ns(const struct optimizer *optimizer)
{
    return optimizer_has_enough(optimizer) ? UINT64_MAX - 1 : clock_ns();
}

/* Searches by single operators have no use for regions, and of op-level libraries none for what has
 * several ends, unless they are pinned. */
static bool is_wanted(const struct optimizer *optimizer, const struct candidate *candidate)
{
    const struct pins *pins = optimizer->pins;
    if (pins && !pins_allow(pins, candidate))
        return false;
    if (!optimizer_is_by_operators(optimizer) || candidate->region.node_count == 1)
        return true;
    enum rank rank = rank_of(optimizer, candidate);
    /* What the whole takes tells the two-level search which library to move groups to. */
    bool useless = rank == RANK_REGION ||
                   (rank == RANK_FUSED && !cover_has_one_end(optimizer->set, &candidate->region)) ||
                   (rank == RANK_WHOLE && optimizer->settings.search != COLLAGE_SEARCH_TWO_LEVEL);
    return !useless || (pins && pins_name(pins, candidate));
}

/* Can the search choose the candidate for this node, whatever it chooses for others? */
static bool counts_as_cover(const struct optimizer *optimizer, const struct candidate *candidate)
{
    bool alone = candidate->region.node_count == 1;
    if (optimizer->pins && pins_name(optimizer->pins, candidate))
        return true;
    if (optimizer->settings.search == COLLAGE_SEARCH_GREEDY)
        return alone; /* it does not look back */
    return alone || !optimizer_is_by_operators(optimizer) ||
           (rank_of(optimizer, candidate) == RANK_FUSED &&
            cover_has_one_end(optimizer->set, &candidate->region));
}

/* Does a measured candidate of an op-level library (other than the reference), or any, cover the
 * node? */
static bool node_is_covered(const struct optimizer *optimizer, node_id node, bool op_level_only)
{
    const struct candidate_set *set = optimizer->set;
    for (size_t c = 0; c < set->count; c++) {
        const struct candidate *candidate = &set->items[c];
        if (candidate->cost.state != COST_MEASURED || candidate->backend == REGISTRY_REFERENCE ||
            !counts_as_cover(optimizer, candidate))
            continue;
        const collage_backend_api *api = set->registry->entries[candidate->backend].api;
        if (op_level_only && api->kind != COLLAGE_OP_LEVEL)
            continue;
        if (region_covers(&candidate->region, node))
            return true;
    }
    return false;
}

/* Where another op-level library takes part, it must be able to run alone: the reference fills its
 * holes, unless time was too short to know which holes it has. */
static bool reference_is_needed(const struct optimizer *optimizer, node_id node)
{
    const struct registry *registry = optimizer->settings.registry;
    bool op_level = false;
    for (uint32_t b = 0; b < registry->count && time_ns(optimizer) < optimizer->look_deadline_ns;
         b++)
        op_level = op_level || (b != REGISTRY_REFERENCE && optimizer->enabled[b] &&
                                registry->entries[b].api->kind == COLLAGE_OP_LEVEL);
    return !node_is_covered(optimizer, node, op_level);
}

static int compare_keys(const void *left, const void *right)
{
    const struct candidate *a = *(const struct candidate *const *)left;
    const struct candidate *b = *(const struct candidate *const *)right;
    if (a->key.high != b->key.high)
        return a->key.high < b->key.high ? -1 : 1;
    if (a->key.low != b->key.low)
        return a->key.low < b->key.low ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* How many candidates have the same key, candidate by candidate; NULL: out of memory. */
static uint32_t *count_places(const struct candidate_set *set)
{
    const struct candidate **sorted = memory_alloc((set->count + 1) * sizeof *sorted);
    uint32_t *places = memory_alloc((set->count + 1) * sizeof *places);
    if (!sorted || !places) {
        memory_free(sorted);
        memory_free(places);
        return NULL;
    }
    for (size_t c = 0; c < set->count; c++)
        sorted[c] = &set->items[c];
    qsort(sorted, set->count, sizeof *sorted, compare_keys);
    for (size_t begin = 0, end; begin < set->count; begin = end) {
        for (end = begin + 1; end < set->count && hash_equal(sorted[begin]->key, sorted[end]->key);)
            end++;
        for (size_t k = begin; k < end; k++)
            places[sorted[k] - set->items] = (uint32_t)(end - begin);
    }
    memory_free(sorted);
    return places;
}

static double moved_bytes(const struct graph *graph, node_id node)
{
    const collage_node *base = &graph->nodes[node].base;
    double bytes = 0;
    for (uint32_t k = 0; k < base->input_count; k++)
        if (base->inputs[k] != GRAPH_NONE)
            bytes += (double)tensor_bytes(&graph->values[base->inputs[k]].tensor);
    for (uint32_t k = 0; k < base->output_count; k++)
        if (base->outputs[k] != GRAPH_NONE)
            bytes += (double)tensor_bytes(&graph->values[base->outputs[k]].tensor);
    return bytes;
}

/* What measuring kernels promises, and which fused ones cannot win, by what single operators cost.
 */
static collage_status price_jobs(const struct optimizer *optimizer, struct job *jobs, size_t count,
                                 struct error *error)
{
    const struct candidate_set *set = optimizer->set;
    struct singles singles = { 0 };
    size_t kernels = 0;
    for (size_t k = 0; k < count; k++)
        kernels += jobs[k].rank == RANK_FUSED || jobs[k].rank == RANK_KERNEL;
    if (kernels == 0)
        return COLLAGE_OK;
    uint32_t *places = count_places(set);
    if (!places || !singles_create(set, &singles)) {
        memory_free(places);
        return error_memory(error);
    }
    for (size_t k = 0; k < count; k++) {
        const struct candidate *candidate = &set->items[jobs[k].id];
        if (jobs[k].rank == RANK_KERNEL)
            jobs[k].price = moved_bytes(set->graph, candidate->region.nodes[0]);
        if (jobs[k].rank == RANK_FUSED) {
            jobs[k].price = singles_price(&singles, &candidate->region);
            jobs[k].lag = singles_lag(&singles, candidate);
        }
        jobs[k].price *= places[jobs[k].id];
    }
    singles_free(&singles);
    memory_free(places);
    return COLLAGE_OK;
}

/* Candidates without a cost, of ranks first to last, in the order in which they are measured. */
static collage_status list_jobs(struct optimizer *optimizer, enum rank first, enum rank last,
                                struct job **out, size_t *count, struct error *error)
{
    const struct candidate_set *set = optimizer->set;
    struct job *jobs = memory_alloc((set->count + 1) * sizeof *jobs);
    if (!jobs)
        return error_memory(error);
    *count = 0;
    for (candidate_id id = 0; id < set->count; id++) {
        const struct candidate *candidate = &set->items[id];
        enum rank rank = rank_of(optimizer, candidate);
        if (candidate->cost.state == COST_UNKNOWN && optimizer->enabled[candidate->backend] &&
            rank >= first && rank <= last && is_wanted(optimizer, candidate))
            jobs[(*count)++] =
                (struct job){ .id = id, .rank = rank, .size = candidate->region.node_count };
    }
    collage_status status = price_jobs(optimizer, jobs, *count, error);
    if (status != COLLAGE_OK) {
        memory_free(jobs);
        return status;
    }
    qsort(jobs, *count, sizeof *jobs, compare_jobs);
    *out = jobs;
    return COLLAGE_OK;
}

/* Nothing measured so far covers some pinned node of it: without it there may be no placement. */
static bool is_demanded(const struct optimizer *optimizer, const struct candidate *candidate)
{
    const struct candidate_set *set = optimizer->set;
    const struct pins *pins = optimizer->pins;
    for (uint32_t n = 0; pins && n < candidate->region.node_count; n++) {
        node_id node = candidate->region.nodes[n];
        bool covered = !pins_hold(pins, node);
        for (size_t c = 0; c < set->count && !covered; c++) {
            const struct candidate *other = &set->items[c];
            covered = other->cost.state == COST_MEASURED && region_covers(&other->region, node) &&
                      pins_allow(pins, other);
        }
        if (!covered)
            return true;
    }
    return false;
}

/* Could the backend take the node, and is it not known what that costs? */
static bool lacks_costs(const struct optimizer *optimizer, node_id node, uint32_t backend)
{
    const struct candidate_set *set = optimizer->set;
    bool lacks = false;
    for (size_t c = 0; c < set->count; c++) {
        const struct candidate *candidate = &set->items[c];
        if ((candidate->backend != backend && !candidate->view) || candidate->part)
            continue;
        const bool holds = region_covers(&candidate->region, node);
        if (holds && (candidate->view || candidate->cost.state == COST_MEASURED))
            return false;
        lacks = lacks || (holds && candidate->cost.state == COST_UNKNOWN);
    }
    return lacks;
}

/* Until when it may be measured. What lets an op-level library run alone may take the whole budget:
 * no plan may be slower than a library alone. Without the reference for what nobody else takes, and
 * without what is pinned, there is no plan at all: no budget for these. */
static uint64_t deadline_of(const struct optimizer *optimizer, const struct job *job)
{
    const struct candidate *candidate = &optimizer->set->items[job->id];
    if (job->rank == RANK_REFERENCE || is_demanded(optimizer, candidate))
        return UINT64_MAX;
    bool needed = job->rank == RANK_KERNEL && time_ns(optimizer) > optimizer->look_deadline_ns &&
                  lacks_costs(optimizer, candidate->region.nodes[0], candidate->backend);
    return needed ? optimizer->deadline_ns : optimizer->look_deadline_ns;
}

/* For progress: the fastest library by itself, and with it the first plan. */
static void note_alone(struct optimizer *optimizer, const struct candidate *candidate)
{
    double ns = candidate->cost.cost_ns;
    if (candidate->cost.state != COST_MEASURED ||
        (optimizer->alone_ns > 0 && optimizer->alone_ns <= ns))
        return;
    optimizer->alone_ns = ns;
    optimizer->alone = candidate->backend;
    if (!(optimizer->best_ns > 0) || ns < optimizer->best_ns)
        optimizer->best_ns = ns;
}

/* One candidate: known, stored, or measured now if it is worth it and there is time left. */
static collage_status settle(struct optimizer *optimizer, const struct job *job,
                             const struct worth *worth, struct error *error)
{
    struct candidate *candidate = &optimizer->set->items[job->id];
    if (job->rank == RANK_REFERENCE && !reference_is_needed(optimizer, candidate->region.nodes[0]))
        return COLLAGE_OK;
    struct cost cost;
    collage_status status = candidate_cost_known(optimizer, job->id, &cost, error);
    if (status != COLLAGE_OK)
        return status;
    bool useless = job->lag == LAG_HOPELESS ||
                   (job->rank >= RANK_REGION && !worth_measuring(worth, candidate));
    if (cost.state == COST_UNKNOWN && useless && !is_demanded(optimizer, candidate)) {
        optimizer->counts.not_worth++;
        return COLLAGE_OK;
    }
    if (cost.state == COST_UNKNOWN) {
        if (time_ns(optimizer) > deadline_of(optimizer, job)) {
            optimizer->counts.unmeasured++;
            return COLLAGE_OK;
        }
        status = candidate_cost_measure(optimizer, job->id, true, &cost, error);
        if (status != COLLAGE_OK)
            return status;
    }
    if (!key_table_find(optimizer->known, candidate->key)) {
        optimizer->counts.given += cost.giver != NULL;
        optimizer->counts.failed += cost.state == COST_FAILED && !cost.giver;
        if (!key_table_put(optimizer->known, candidate->key, &cost))
            return error_memory(error);
    }
    optimizer->set->items[job->id].cost = cost;
    if (job->rank == RANK_WHOLE)
        note_alone(optimizer, candidate);
    return COLLAGE_OK;
}

/* A new wave begins where the kind of candidates changes, or their size halves. */
static bool begins_wave(const struct job *jobs, size_t k, size_t begin)
{
    return jobs[k].rank >= RANK_REGION &&
           (k == 0 || jobs[k].rank != jobs[k - 1].rank || 2 * jobs[k].size < jobs[begin].size);
}

static collage_status measure_ranks(struct optimizer *optimizer, enum rank first, enum rank last,
                                    struct error *error)
{
    uint64_t start = clock_ns();
    struct job *jobs = NULL;
    size_t count = 0;
    collage_status status = list_jobs(optimizer, first, last, &jobs, &count, error);
    if (status != COLLAGE_OK)
        return status;
    struct worth worth = { 0 };
    size_t begin = 0;
    for (size_t k = 0; k < count && status == COLLAGE_OK; k++) {
        const struct candidate *candidate = &optimizer->set->items[jobs[k].id];
        if (!optimizer_is_by_operators(optimizer) && begins_wave(jobs, k, begin)) {
            begin = k;
            worth_free(&worth);
            status = worth_create(optimizer, &worth, error);
        }
        if (status == COLLAGE_OK)
            status = optimizer_report_progress(
                optimizer, "measure",
                optimizer->settings.registry->entries[candidate->backend].name, k, count, error);
        if (status == COLLAGE_OK)
            status = settle(optimizer, &jobs[k], &worth, error);
    }
    worth_free(&worth);
    memory_free(jobs);
    optimizer->counts.candidates = optimizer->set->count;
    optimizer->counts.keys = key_table_count(optimizer->known);
    optimizer->counts.measure_seconds += (double)(clock_ns() - start) * 1e-9;
    return status;
}

static double budget_ns(const struct optimizer *optimizer)
{
    return optimizer->settings.budget_seconds * 1e9;
}

collage_status optimizer_measure_kernels(struct optimizer *optimizer, struct error *error)
{
    uint64_t now = clock_ns();
    size_t unmeasured = optimizer->counts.unmeasured, not_worth = optimizer->counts.not_worth;
    optimizer->deadline_ns = now + (uint64_t)budget_ns(optimizer);
    optimizer->look_deadline_ns = now + (uint64_t)(singles_end * budget_ns(optimizer));
    collage_status status = measure_ranks(optimizer, RANK_WHOLE, RANK_KERNEL, error);
    optimizer->look_deadline_ns = now + (uint64_t)(kernels_end * budget_ns(optimizer));
    if (status == COLLAGE_OK)
        status = measure_ranks(optimizer, RANK_FUSED, RANK_FUSED, error);
    /* What is left of both: fused kernels whose operators were not known yet, too. */
    optimizer->counts.unmeasured = unmeasured;
    optimizer->counts.not_worth = not_worth;
    /* Searches by single operators see what the reference must do once they have all others. */
    bool by_operators = optimizer_is_by_operators(optimizer);
    return status == COLLAGE_OK ? measure_ranks(optimizer, RANK_KERNEL,
                                                by_operators ? RANK_FUSED : RANK_REFERENCE, error)
                                : status;
}

collage_status optimizer_measure_operators(struct optimizer *optimizer, struct error *error)
{
    optimizer->look_deadline_ns = optimizer->deadline_ns;
    collage_status status = measure_ranks(optimizer, RANK_REGION, RANK_SINGLE, error);
    if (status != COLLAGE_OK)
        return status;
    return measure_ranks(optimizer, RANK_REFERENCE, RANK_REFERENCE, error);
}

collage_status optimizer_need_kernels(struct optimizer *optimizer, struct error *error)
{
    optimizer->deadline_ns = optimizer->look_deadline_ns = clock_ns(); /* only what is stored */
    collage_status status = measure_ranks(optimizer, RANK_WHOLE, RANK_FUSED, error);
    const struct registry *registry = optimizer->settings.registry;
    bool missing = false;
    for (node_id n = 0; n < optimizer->settings.graph->node_count && !missing; n++)
        for (uint32_t b = 0; b < registry->count && !missing; b++)
            missing = optimizer->enabled[b] && b != REGISTRY_REFERENCE &&
                      registry->entries[b].api->kind == COLLAGE_OP_LEVEL &&
                      lacks_costs(optimizer, n, b);
    if (status != COLLAGE_OK)
        return status;
    return missing ? optimizer_measure_kernels(optimizer, error)
                   : measure_ranks(optimizer, RANK_REFERENCE, RANK_REFERENCE, error);
}

collage_status optimizer_measure_merged(struct optimizer *optimizer, struct error *error)
{
    uint64_t now = clock_ns(), deadline = optimizer->deadline_ns;
    optimizer->look_deadline_ns = now < deadline ? now + (deadline - now) / 2 : deadline;
    return measure_ranks(optimizer, RANK_REGION, RANK_SINGLE, error);
}

/* What the placement pays for each node. */
static double *node_prices(const struct optimizer *optimizer, const struct placement *placement)
{
    double *prices = memory_alloc((optimizer->settings.graph->node_count + 1) * sizeof *prices);
    if (prices)
        worth_price(optimizer->set, placement, prices);
    return prices;
}

static bool matters(const struct candidate *candidate, const double *prices)
{
    double price = 0;
    for (uint32_t n = 0; n < candidate->region.node_count; n++)
        price += prices[candidate->region.nodes[n]];
    return candidate->cost.cost_ns <= 1.15 * price;
}

/* What the user says, and what it took inside the network, is not measured alone again. */
static bool is_settled(const struct cost *cost)
{
    return cost->giver || cost->alone_ns > 0;
}

/* Measures the candidate's key again; the lower cost counts, for all candidates of that key. */
static collage_status measure_again(struct optimizer *optimizer, candidate_id id,
                                    struct error *error)
{
    struct cost best = optimizer->set->items[id].cost;
    collage_status status = optimizer_measure_again(optimizer, id, &best, error);
    return status == COLLAGE_OK
               ? optimizer_set_cost(optimizer, optimizer->set->items[id].key, &best, error)
               : status;
}

/* What a library takes for the whole graph decides which of its regions are worth measuring, so it
 * is measured at two times. What was stored by an earlier run has been confirmed. */
static collage_status measure_wholes_again(struct optimizer *optimizer, struct error *error)
{
    const struct candidate_set *set = optimizer->set;
    collage_status status = COLLAGE_OK;
    for (candidate_id id = 0; id < set->count && status == COLLAGE_OK; id++) {
        const struct candidate *candidate = &set->items[id];
        if (optimizer->counts.measured == 0 || rank_of(optimizer, candidate) != RANK_WHOLE ||
            candidate->cost.state != COST_MEASURED || is_settled(&candidate->cost) ||
            !optimizer->enabled[candidate->backend] ||
            time_ns(optimizer) > optimizer->look_deadline_ns)
            continue;
        status = measure_again(optimizer, id, error);
    }
    return status;
}

collage_status optimizer_measure_regions(struct optimizer *optimizer, struct error *error)
{
    uint64_t rest = (uint64_t)((1 - regions_end) * budget_ns(optimizer));
    optimizer->look_deadline_ns = optimizer->deadline_ns - rest;
    collage_status status = measure_wholes_again(optimizer, error);
    if (status != COLLAGE_OK)
        return status;
    return measure_ranks(optimizer, RANK_REGION, RANK_SINGLE, error);
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
            !optimizer->enabled[candidate->backend] || is_settled(&candidate->cost) ||
            candidate->cost.passes >= passes || !matters(candidate, prices))
            continue;
        if (time_ns(optimizer) > optimizer->deadline_ns)
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
