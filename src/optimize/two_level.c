/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second level of the published search. The groups that the first level chose (candidates of
 * other libraries) are the genes of an individual: 0, the group stays; 1, it moves to one library
 * that takes graphs, whose neighbouring groups become one region. Every individual is run as a
 * whole, in a process of its own, and checked there: no sum of costs is believed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "measure/statistics.h"
#include "optimize/key_table.h"
#include "optimize/search.h"
#include "place/cover.h"
#include "place/evolve.h"
#include "place/fuse.h"

/* For running one individual, after it has been loaded and checked. */
static const double run_seconds = 0.3;

struct second_level {
    struct optimizer *optimizer;
    const struct placement *base; /* what the first level found */
    uint32_t backend;             /* to which groups move */
    uint32_t *genes;              /* gene by gene: the place of its group in base */
    uint32_t gene_count;
    struct arena *arena;
    struct key_table *times; /* by the candidates: different genes may give the same plan */
    uint64_t start;
};

/* ---- which groups, and to whom ---- */

/* The library that takes the whole graph in the least time; if none was measured so, the first that
 * takes graphs. UINT32_MAX if there is none. */
static uint32_t choose_backend(const struct optimizer *optimizer)
{
    const struct registry *registry = optimizer->settings.registry;
    const struct candidate_set *set = optimizer->set;
    uint32_t best = UINT32_MAX;
    double least = HUGE_VAL;
    for (uint32_t b = 0; b < registry->count && best == UINT32_MAX; b++)
        if (optimizer->enabled[b] && cover_is_graph_level(set, b))
            best = b;
    for (size_t c = 0; c < set->count; c++) {
        const struct candidate *candidate = &set->items[c];
        if (candidate->view || candidate->cost.state != COST_MEASURED ||
            candidate->region.node_count != optimizer->settings.graph->node_count ||
            !optimizer->enabled[candidate->backend] ||
            !cover_is_graph_level(set, candidate->backend) || candidate->cost.cost_ns >= least)
            continue;
        best = candidate->backend;
        least = candidate->cost.cost_ns;
    }
    return best;
}

/* The library takes every node of the group, which no pin keeps elsewhere. */
static bool can_move(const struct optimizer *optimizer, candidate_id id, uint32_t backend)
{
    const struct candidate_set *set = optimizer->set;
    const struct candidate *candidate = &set->items[id];
    if (candidate->view || candidate->backend == backend || search_is_pinned(optimizer, id))
        return false;
    for (uint32_t k = 0; k < candidate->region.node_count; k++) {
        node_id node = candidate->region.nodes[k];
        size_t cell = (size_t)node * set->registry->count + backend;
        if (!set->asked[cell] || set->refusals[cell] ||
            (optimizer->pins && !pins_leave_open(optimizer->pins, node, backend)))
            return false;
    }
    return true;
}

static collage_status find_genes(struct second_level *level, struct error *error)
{
    const struct placement *base = level->base;
    level->genes = arena_array(level->arena, base->count, sizeof *level->genes);
    if (!level->genes)
        return error_memory(error);
    for (uint32_t place = 0; place < base->count; place++)
        if (can_move(level->optimizer, base->chosen[place], level->backend))
            level->genes[level->gene_count++] = place;
    level->optimizer->counts.groups = level->gene_count;
    return COLLAGE_OK;
}

/* ---- individuals ---- */

/* The placement that the genes mean; the caller's. */
static collage_status express(struct second_level *level, const uint8_t *genes,
                              struct placement *out, struct error *error)
{
    struct optimizer *optimizer = level->optimizer;
    const struct placement *base = level->base;
    size_t bytes = base->count * sizeof *base->chosen;
    uint32_t *homes = memory_alloc(base->count * sizeof *homes);
    *out = *base;
    out->chosen = memory_alloc(bytes);
    if (!homes || !out->chosen) {
        memory_free(homes);
        placement_free(out);
        return error_memory(error);
    }
    memcpy(out->chosen, base->chosen, bytes);
    for (uint32_t place = 0; place < base->count; place++) {
        const struct candidate *candidate = &optimizer->set->items[base->chosen[place]];
        bool there = !candidate->view && candidate->backend == level->backend &&
                     !search_is_pinned(optimizer, base->chosen[place]);
        homes[place] = there ? level->backend : FUSE_ALONE;
    }
    for (uint32_t g = 0; g < level->gene_count; g++)
        if (genes[g])
            homes[level->genes[g]] = level->backend;
    collage_status status = search_join(optimizer, homes, false, out, error);
    memory_free(homes);
    if (status != COLLAGE_OK)
        placement_free(out);
    return status;
}

static bool on_round(void *user, size_t round, size_t rounds)
{
    (void)round;
    (void)rounds;
    const struct second_level *level = user;
    const struct optimizer *optimizer = level->optimizer;
    char detail[96];
    snprintf(detail, sizeof detail, "plans measured end to end: %zu",
             optimizer->counts.individuals);
    uint64_t seconds = (clock_ns() - level->start) / 1000000000;
    return optimizer_report_progress(optimizer, "place", detail, (size_t)seconds,
                                     (size_t)optimizer->settings.search_seconds + 1,
                                     NULL) == COLLAGE_OK;
}

/* HUGE_VAL if it crashes, hangs or answers wrongly. */
static collage_status run_plan(struct second_level *level, const struct plan *plan, double *value,
                               struct error *error)
{
    struct optimizer *optimizer = level->optimizer;
    struct worker_setup setup = optimizer_worker_setup(optimizer);
    struct contestant contestant = { .plan = plan, .backend = UINT32_MAX };
    const struct race_rules rules = { .seconds = run_seconds, .progress = on_round, .user = level };
    collage_status status =
        race_run(&setup, optimizer->settings.registry, &contestant, 1, &rules, error);
    struct summary summary = { 0 };
    if (status == COLLAGE_OK && !contestant.failure[0] &&
        !summary_of(contestant.samples, contestant.sample_count, &summary))
        status = error_memory(error);
    memory_free(contestant.samples);
    optimizer->counts.individuals++;
    *value = summary.count ? summary.decile : HUGE_VAL;
    return status;
}

static collage_status time_placement(struct second_level *level, const struct placement *placement,
                                     double *value, struct error *error)
{
    const struct optimizer *optimizer = level->optimizer;
    *value = HUGE_VAL;
    if (optimizer_has_enough(optimizer))
        return COLLAGE_OK; /* the rest of the generation is not measured; what was best stays so */
    struct hash key = hash_of(placement->chosen, placement->count * sizeof *placement->chosen);
    const struct cost *known = key_table_find(level->times, key);
    struct plan *plan = NULL;
    struct error own = { 0 };
    if (known) {
        *value = known->cost_ns;
        return COLLAGE_OK;
    }
    const struct place_problem problem = optimizer_problem(optimizer, optimizer->enabled);
    collage_status status =
        plan_build(&problem, placement, optimizer->device.fingerprint, &plan, &own);
    if (status == COLLAGE_ERROR_MEMORY)
        return error_memory(error);
    *value = HUGE_VAL; /* there is no conversion for some layout: it cannot live */
    if (status == COLLAGE_OK)
        status = run_plan(level, plan, value, error);
    else
        status = COLLAGE_OK;
    plan_destroy(plan);
    const struct cost cost = { .state = COST_MEASURED, .cost_ns = *value };
    if (status == COLLAGE_OK && !key_table_put(level->times, key, &cost))
        return error_memory(error);
    return status;
}

static collage_status measure(void *user, const uint8_t *genes, uint32_t count, double *value,
                              struct error *error)
{
    (void)count;
    struct second_level *level = user;
    struct placement placement;
    collage_status status = express(level, genes, &placement, error);
    if (status != COLLAGE_OK)
        return status;
    status = time_placement(level, &placement, value, error);
    placement_free(&placement);
    return status;
}

/* The best so far is in `best`; how it came about is kept for the plan's evidence. */
static bool on_generation(void *user, uint32_t generation, const uint8_t *best, double value)
{
    (void)best;
    const struct second_level *level = user;
    struct optimizer *optimizer = level->optimizer;
    if (!memory_grow((void **)&optimizer->convergence, &optimizer->convergence_capacity,
                     optimizer->counts.generations, sizeof *optimizer->convergence))
        return false; /* what was found so far is good */
    optimizer->convergence[optimizer->counts.generations++] = value;
    if (optimizer->settings.log) {
        char line[128];
        snprintf(line, sizeof line, "two-level: generation %u, %zu plans measured, best %.3f ms",
                 generation, optimizer->counts.individuals, value / 1e6);
        optimizer->settings.log(optimizer->settings.user, COLLAGE_LOG_INFO, line);
    }
    return !optimizer_has_enough(optimizer);
}

/* ---- the search ---- */

/* What the placement costs by the sum of its candidates: regions that only ever ran inside a whole
 * are measured for that. */
static collage_status predict(struct optimizer *optimizer, struct placement *placement,
                              struct error *error)
{
    const struct place_problem problem = optimizer_problem(optimizer, optimizer->enabled);
    collage_status status = COLLAGE_OK;
    bool known = true;
    for (size_t k = 0; k < placement->count && status == COLLAGE_OK; k++) {
        status = search_measure(optimizer, placement->chosen[k], error);
        known = known && optimizer->set->items[placement->chosen[k]].cost.state == COST_MEASURED;
    }
    if (status == COLLAGE_OK)
        status =
            cover_cost(&problem, placement->chosen, placement->count, &placement->cost_ns, error);
    if (!known)
        placement->cost_ns = 0;
    return status;
}

/* The best genes, or none where nothing can be moved or nothing that was tried can live. */
static collage_status evolve(struct second_level *level, struct evolve_result *result,
                             struct error *error)
{
    const struct optimizer_settings *settings = &level->optimizer->settings;
    const struct evolve_rules rules = {
        .generations = settings->search_generations,
        .seed = settings->search_seed,
        .deadline = level->start + (uint64_t)(settings->search_seconds * 1e9),
        .measure = measure,
        .generation = on_generation,
        .user = level,
    };
    collage_status status = evolve_run(&rules, level->gene_count, result, error);
    if (status == COLLAGE_OK && !(result->value < HUGE_VAL))
        memset(result->best, 0, level->gene_count);
    return status;
}

static collage_status search(struct second_level *level, struct placement *out, struct error *error)
{
    struct optimizer *optimizer = level->optimizer;
    struct evolve_result result = { 0 };
    collage_status status = find_genes(level, error);
    if (status == COLLAGE_OK && level->gene_count > 0) {
        status = optimizer_need_reference(optimizer, error);
        /* The measuring worker's threads must not disturb. */
        worker_destroy(optimizer->worker);
        optimizer->worker = NULL;
        level->start = clock_ns();
        if (status == COLLAGE_OK)
            status = evolve(level, &result, error);
        optimizer->counts.search_seconds = (double)(clock_ns() - level->start) * 1e-9;
    }
    if (status == COLLAGE_OK)
        status = express(level, result.best, out, error);
    evolve_free(&result);
    return status;
}

collage_status search_second_level(struct optimizer *optimizer, struct placement *placement,
                                   struct error *error)
{
    struct second_level level = { .optimizer = optimizer,
                                  .base = placement,
                                  .backend = choose_backend(optimizer) };
    if (level.backend == UINT32_MAX)
        return COLLAGE_OK; /* there is no second level without a library that takes graphs */
    struct placement moved = { 0 };
    level.arena = arena_create();
    level.times = key_table_create();
    collage_status status =
        level.arena && level.times ? search(&level, &moved, error) : error_memory(error);
    if (status == COLLAGE_OK)
        status = predict(optimizer, &moved, error);
    if (status == COLLAGE_OK) {
        placement_free(placement);
        *placement = moved;
    } else {
        placement_free(&moved);
    }
    key_table_destroy(level.times);
    arena_destroy(level.arena);
    return status;
}
