/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/optimizer.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "graph/work.h"
#include "optimize/key_table.h"
#include "optimize/tune.h"

bool optimizer_has_enough(const struct optimizer *optimizer)
{
    return optimizer->settings.enough && atomic_load(optimizer->settings.enough);
}

/* Until the budget for measuring is over; 0 elsewhere: nothing is known. */
static double seconds_left(const struct optimizer *optimizer, const char *stage)
{
    uint64_t now = clock_ns();
    bool measures = strcmp(stage, "measure") == 0 && optimizer->deadline_ns > now;
    return measures ? (double)(optimizer->deadline_ns - now) * 1e-9 : 0;
}

collage_status optimizer_report_progress(const struct optimizer *optimizer, const char *stage,
                                         const char *detail, size_t done, size_t total,
                                         struct error *error)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    const struct registry *registry = settings->registry;
    const struct optimizer_counts *counts = &optimizer->counts;
    const collage_progress progress = {
        .struct_size = sizeof progress,
        .stage = stage,
        .detail = detail,
        .done = done,
        .total = total,
        .best_ns = optimizer->best_ns,
        .alone_ns = optimizer->alone_ns,
        .alone = optimizer->alone_ns > 0 ? registry->entries[optimizer->alone].name : "",
        .seconds_left = seconds_left(optimizer, stage),
    };
    if (settings->progress && !settings->progress(settings->user, &progress))
        return error_set(error, COLLAGE_ERROR_INTERRUPTED, "interrupted");
    if (optimizer_has_enough(optimizer) && counts->measured + counts->reused == 0)
        return error_set(error, COLLAGE_ERROR_INTERRUPTED,
                         "interrupted before anything was measured: there is no plan yet");
    return COLLAGE_OK;
}

struct cost_conditions optimizer_conditions(const struct optimizer *optimizer, uint32_t backend)
{
    const struct backend_entry *entry = &optimizer->settings.registry->entries[backend];
    return (struct cost_conditions){ entry->name, entry->version, optimizer->device.fingerprint,
                                     optimizer->target.threads, optimizer->working_set_log2 };
}

/* Which backends take part; one that was asked for by name must be available. */
static collage_status enable_backends(struct optimizer *optimizer, struct error *error)
{
    struct registry *registry = optimizer->settings.registry;
    const char *list = optimizer->settings.backends;
    optimizer->enabled = arena_array(optimizer->arena, registry->count, sizeof(bool));
    if (!optimizer->enabled)
        return error_memory(error);
    for (uint32_t b = 0; b < registry->count; b++) {
        const struct backend_entry *entry = &registry->entries[b];
        bool available = entry->api && entry->problem[0] == '\0';
        bool asked = list ? registry_list_holds(list, entry->name) : true;
        if (list && asked && !available)
            return error_set(error, COLLAGE_ERROR_BACKEND, "backend %s is not available: %s",
                             entry->name, entry->problem);
        optimizer->enabled[b] = available && (asked || b == REGISTRY_REFERENCE);
    }
    return COLLAGE_OK;
}

uint32_t optimizer_working_set_log2(const struct graph *graph)
{
    uint64_t bytes = graph_touched_bytes(graph);
    uint32_t log2 = 12; /* below 4 KB nothing differs */
    while (log2 < 40 && (1ull << log2) < bytes)
        log2++;
    return log2;
}

static void set_conditions(struct optimizer *optimizer)
{
    uint32_t log2 = optimizer_working_set_log2(optimizer->settings.graph);
    optimizer->working_set_log2 = log2;
    optimizer->conditions =
        (struct sample_conditions){ .working_set_bytes = 1ull << log2,
                                    .level_2_bytes = optimizer->device.l2_bytes,
                                    .last_level_bytes = optimizer->device.last_level_cache_bytes,
                                    .limit_seconds = 0.06,
                                    .tolerance = TENSOR_KERNEL_TOLERANCE,
                                    .strict = optimizer->settings.strict };
}

struct worker_setup optimizer_worker_setup(const struct optimizer *optimizer)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    return (struct worker_setup){ .program = settings->worker_program,
                                  .plugin_directories = settings->plugin_directories,
                                  .model_path = settings->model_path,
                                  .shapes = settings->shapes,
                                  .shape_count = settings->shape_count,
                                  .threads = optimizer->target.threads,
                                  .graph = settings->graph,
                                  .oracle = optimizer->oracle,
                                  .cache_directory = settings->cache_directory,
                                  .trust = settings->trust,
                                  .log = settings->log,
                                  .log_user = settings->user };
}

/* Versions are asked for in a worker without model; measuring then goes to one with the oracle. */
static collage_status describe_backends(struct optimizer *optimizer, struct error *error)
{
    struct worker_setup setup = optimizer_worker_setup(optimizer);
    setup.model_path = NULL;
    setup.graph = NULL;
    struct worker *worker;
    collage_status status = worker_create(&setup, &worker, error);
    if (status != COLLAGE_OK)
        return status;
    status = worker_describe_backends(worker, optimizer->settings.registry, error);
    worker_destroy(worker);
    return status;
}

static collage_status make_room(struct optimizer *optimizer, struct error *error)
{
    size_t backends = optimizer->settings.registry->count;
    size_t capacity = 1 + 2 * backends + 4; /* the mix, alone; pairs: at most */
    capacity += 4;                          /* in lanes */
    capacity += optimizer->settings.peer_count + optimizer->settings.other_count;
    struct arena *arena = optimizer->arena;
    optimizer->contestants = arena_array(arena, capacity, sizeof *optimizer->contestants);
    optimizer->plans = arena_array(arena, capacity, sizeof *optimizer->plans);
    optimizer->names = arena_array(arena, capacity, sizeof *optimizer->names);
    optimizer->notes = arena_array(arena, capacity, sizeof *optimizer->notes);
    optimizer->proofs = arena_array(arena, capacity, sizeof *optimizer->proofs);
    optimizer->contestant_capacity = capacity;
    return optimizer->contestants && optimizer->plans && optimizer->names && optimizer->notes &&
                   optimizer->proofs
               ? COLLAGE_OK
               : error_memory(error);
}

/* A damaged store was set aside: the user should know why all is measured again. */
static collage_status open_store(struct optimizer *optimizer, struct error *error)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    collage_status status = cost_store_open(settings->cache_directory, &optimizer->store, error);
    if (status == COLLAGE_OK && settings->log && cost_store_warning(optimizer->store)[0])
        settings->log(settings->user, COLLAGE_LOG_WARNING, cost_store_warning(optimizer->store));
    return status;
}

collage_status optimizer_open(const struct optimizer_settings *settings,
                              struct optimizer *optimizer, struct error *error)
{
    *optimizer = (struct optimizer){ .settings = *settings };
    optimizer->arena = arena_create();
    optimizer->known = key_table_create();
    if (!optimizer->arena || !optimizer->known)
        return error_memory(error);
    collage_status status = device_facts_read(&optimizer->device, error);
    if (status != COLLAGE_OK)
        return status;
    struct compiler compiler;
    compiler_find(&compiler);
    optimizer->makes_code = compiler.path[0] != '\0';
    optimizer->target = registry_host_target(settings->threads);
    set_conditions(optimizer);
    status = make_room(optimizer, error);
    if (status == COLLAGE_OK)
        status = registry_check_names(settings->registry, settings->backends, error);
    if (status == COLLAGE_OK)
        status = open_store(optimizer, error);
    if (status == COLLAGE_OK)
        status = describe_backends(optimizer, error);
    if (status == COLLAGE_OK)
        status = enable_backends(optimizer, error);
    return status == COLLAGE_OK ? tune_read_log(optimizer, error) : status;
}

void optimizer_close(struct optimizer *optimizer)
{
    for (size_t k = 0; k < optimizer->contestant_count; k++)
        memory_free(optimizer->contestants[k].samples);
    for (size_t k = 0; k < optimizer->contestant_count; k++)
        plan_destroy(optimizer->plans[k]);
    memory_free(optimizer->transitions);
    memory_free(optimizer->convergence);
    memory_free(optimizer->rounds);
    pins_destroy(optimizer->pins);
    tuning_log_destroy(optimizer->tuning);
    worker_destroy(optimizer->worker);
    oracle_destroy(optimizer->oracle);
    candidate_set_destroy(optimizer->set);
    cost_store_close(optimizer->store);
    key_table_destroy(optimizer->known);
    arena_destroy(optimizer->arena);
    *optimizer = (struct optimizer){ 0 };
}

static bool on_reference_progress(void *user, size_t done, size_t total)
{
    const struct optimizer *optimizer = user;
    return optimizer_report_progress(optimizer, "reference", "", done, total, NULL) == COLLAGE_OK;
}

collage_status optimizer_need_reference(struct optimizer *optimizer, struct error *error)
{
    if (optimizer->oracle)
        return COLLAGE_OK;
    uint64_t start = clock_ns();
    collage_status status = oracle_create(optimizer->settings.graph, NULL, on_reference_progress,
                                          optimizer, &optimizer->oracle, error);
    optimizer->counts.reference_seconds = (double)(clock_ns() - start) * 1e-9;
    return status;
}

collage_status optimizer_need_worker(struct optimizer *optimizer, struct error *error)
{
    if (optimizer->worker)
        return COLLAGE_OK;
    collage_status status = optimizer_need_reference(optimizer, error);
    if (status != COLLAGE_OK)
        return status;
    struct worker_setup setup = optimizer_worker_setup(optimizer);
    return worker_create(&setup, &optimizer->worker, error);
}

collage_status optimizer_make_candidates(struct optimizer *optimizer, struct error *error)
{
    collage_status status =
        candidate_set_create(optimizer->settings.graph, optimizer->settings.registry,
                             &optimizer->target, &optimizer->set, error);
    if (status != COLLAGE_OK)
        return status;
    optimizer->set->files = optimizer->settings.pattern_files;
    optimizer->set->file_count = optimizer->settings.pattern_file_count;
    optimizer->set->recompute = optimizer->settings.recompute;
    optimizer->set->strict = optimizer->settings.strict;
    optimizer->set->device = optimizer->device.name;
    optimizer->set->fingerprint = optimizer->device.fingerprint;
    return candidate_set_enumerate(optimizer->set, optimizer->enabled, error);
}

struct place_problem optimizer_problem(const struct optimizer *optimizer, const bool *enabled)
{
    return (struct place_problem){ .set = optimizer->set,
                                   .enabled = enabled,
                                   .transitions = optimizer->transitions,
                                   .transition_count = optimizer->transition_count,
                                   .switch_ns = optimizer->switch_ns,
                                   .step_ns = 30.0,
                                   .pins = optimizer->pins };
}
