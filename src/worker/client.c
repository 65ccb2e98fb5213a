/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "plan/build.h"
#include "worker/process.h"
#include "worker/protocol.h"
#include "worker/worker.h"

static const double open_seconds = 60;
static const double default_job_seconds = 20;
static const double switch_seconds = 10;
static const double code_seconds = 300; /* all kernels of a plan */
/* sample.h: timing may take three limits, and each run is at most one. */
static const double limits_for_timing = 5;

struct worker {
    struct worker_setup setup;
    struct process process;
};

collage_status worker_create(const struct worker_setup *setup, struct worker **out,
                             struct error *error)
{
    *out = NULL;
    struct worker *worker = memory_alloc(sizeof *worker);
    if (!worker)
        return error_memory(error);
    worker->setup = *setup;
    if (worker->setup.job_seconds <= 0)
        worker->setup.job_seconds = default_job_seconds;
    *out = worker;
    return COLLAGE_OK;
}

void worker_destroy(struct worker *worker)
{
    if (!worker)
        return;
    process_stop(&worker->process);
    memory_free(worker);
}

/* ---- asking ---- */

/* Takes the request over. An answer with "error" becomes the error: COLLAGE_ERROR_MISMATCH, or
 * COLLAGE_ERROR_BACKEND for everything else (a lack of memory over there is not one here). */
static collage_status ask(struct worker *worker, json_t *request, double seconds, json_t **answer,
                          struct error *error)
{
    collage_status status =
        process_ask(&worker->process, request, seconds, NULL, NULL, answer, error);
    json_decref(request);
    const char *text = json_string_value(json_object_get(*answer, "error"));
    if (status == COLLAGE_OK && text) {
        json_int_t code = json_integer_value(json_object_get(*answer, "status"));
        status = error_set(
            error, code == COLLAGE_ERROR_MISMATCH ? COLLAGE_ERROR_MISMATCH : COLLAGE_ERROR_BACKEND,
            "%s", text);
        json_decref(*answer);
        *answer = NULL;
    }
    return status;
}

/* A worker that is running and has loaded the model. */
static collage_status ensure_running(struct worker *worker, struct error *error)
{
    if (process_is_alive(&worker->process))
        return COLLAGE_OK;
    const struct worker_setup *setup = &worker->setup;
    int oracle = setup->oracle ? oracle_descriptor(setup->oracle) : -1;
    collage_status status =
        process_start(setup->program, oracle, setup->log, setup->log_user, &worker->process, error);
    if (status != COLLAGE_OK)
        return status;
    json_t *answer;
    status = ask(worker, protocol_open(setup, false), open_seconds, &answer, error);
    json_decref(answer);
    if (status != COLLAGE_OK) {
        error_prefix(error, "the measuring process '%s'", setup->program);
        process_stop(&worker->process);
    }
    return status;
}

/* ---- code ---- */

static bool read_objects(const json_t *list, struct plan *plan)
{
    const size_t count = json_array_size(list);
    if (!json_is_array(list) || count > PLAN_MOST_OBJECTS)
        return false;
    plan->objects = arena_array(plan->arena, count, sizeof *plan->objects);
    for (size_t k = 0; plan->objects && k < count; k++) {
        const json_t *item = json_array_get(list, k);
        const char *name = json_string_value(json_object_get(item, "name"));
        const char *hash = json_string_value(json_object_get(item, "sha256"));
        if (!name || !hash || !plan_object_name_is_plain(name) || !plan_object_hash_is_one(hash))
            return false;
        plan->objects[k].name = arena_string(plan->arena, name);
        memcpy(plan->objects[k].sha256, hash, SHA256_TEXT);
        if (!plan->objects[k].name)
            return false;
    }
    plan->object_count = plan->objects ? (uint32_t)count : 0;
    return plan->objects != NULL;
}

collage_status worker_find_code(struct worker *worker, struct plan *plan, struct error *error)
{
    const struct worker_setup *setup = &worker->setup;
    json_t *json, *answer;
    collage_status status = ensure_running(worker, error);
    if (status == COLLAGE_OK)
        status = plan_to_json(plan, setup->graph, &json, error);
    if (status != COLLAGE_OK)
        return status;
    json_t *request = json_pack("{s:s, s:o}", "job", "code", "plan", json);
    status = ask(worker, request, code_seconds, &answer, error);
    if (status != COLLAGE_OK) {
        error_prefix(error, "the code of the plan's kernels");
        return status;
    }
    if (!read_objects(json_object_get(answer, "objects"), plan))
        status = error_set(error, COLLAGE_ERROR_BACKEND,
                           "the measuring process gave a senseless answer");
    json_decref(answer);
    if (status != COLLAGE_OK || plan->object_count == 0)
        return status;
    const char *folder =
        arena_format(plan->arena, "%s/%s", setup->cache_directory, PLAN_CODE_FOLDER);
    plan->folder = folder ? plan_absolute_path(plan->arena, folder) : NULL;
    return plan->folder ? COLLAGE_OK : error_memory(error);
}

/* ---- describing ---- */

static collage_status describe(struct worker *worker, struct registry *registry, uint32_t backend,
                               struct error *error)
{
    collage_status status = ensure_running(worker, error);
    if (status != COLLAGE_OK)
        return status;
    json_t *answer, *request = json_pack("{s:s, s:s}", "job", "describe", "backend",
                                         registry->entries[backend].name);
    struct error failure = { 0 };
    status = ask(worker, request, worker->setup.job_seconds, &answer, &failure);
    if (status == COLLAGE_ERROR_MEMORY)
        return error_memory(error);
    char problem[600];
    if (status == COLLAGE_ERROR_TIMEOUT || (status != COLLAGE_OK && worker->process.pid == 0))
        snprintf(problem, sizeof problem, "opening the library %s", failure.text);
    else
        snprintf(problem, sizeof problem, "%s", failure.text);
    const char *version = json_string_value(json_object_get(answer, "version"));
    bool kept = registry_set_version(registry, backend, version ? version : "", problem);
    json_decref(answer);
    return kept ? COLLAGE_OK : error_memory(error);
}

collage_status worker_describe_backends(struct worker *worker, struct registry *registry,
                                        struct error *error)
{
    for (uint32_t k = 0; k < registry->count; k++) {
        if (!registry->entries[k].api)
            continue; /* malformed: its problem is known */
        collage_status status = describe(worker, registry, k, error);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

/* ---- measuring ---- */

/* What went wrong in the worker is a property of the candidate. */
static collage_status fail_cost(struct arena *arena, struct cost *cost, const struct error *failure,
                                struct error *error)
{
    *cost = (struct cost){ .state = COST_FAILED, .implementation = "" };
    cost->reason = arena_string(arena, failure->text);
    return cost->reason ? COLLAGE_OK : error_memory(error);
}

/* Takes the request over. */
static collage_status measure(struct worker *worker, json_t *request,
                              const struct sample_conditions *conditions, struct arena *arena,
                              struct cost *cost, struct error *error)
{
    double seconds = worker->setup.job_seconds + limits_for_timing * conditions->limit_seconds;
    json_t *answer;
    struct error failure = { 0 };
    collage_status status = ask(worker, request, seconds, &answer, &failure);
    if (status == COLLAGE_OK)
        status = protocol_read_cost(json_object_get(answer, "cost"), arena, cost);
    json_decref(answer);
    if (status == COLLAGE_ERROR_MEMORY) /* says nothing of the candidate */
        return error_memory(error);
    if (status == COLLAGE_ERROR_FORMAT) {
        process_stop(&worker->process);
        error_set(&failure, COLLAGE_ERROR_BACKEND, "the measuring process gave a senseless answer");
    }
    if (status != COLLAGE_OK)
        return fail_cost(arena, cost, &failure, error);
    if (cost->state == COST_FAILED && cost->error > 0)
        process_stop(&worker->process); /* it wrote something wrong: perhaps elsewhere, too */
    return COLLAGE_OK;
}

collage_status worker_measure(struct worker *worker, struct candidate_set *set, candidate_id id,
                              const struct sample_conditions *conditions, struct arena *arena,
                              struct cost *cost, struct error *error)
{
    collage_status status = ensure_running(worker, error);
    if (status != COLLAGE_OK)
        return status;
    json_t *request =
        json_pack("{s:s, s:o, s:o}", "job", "measure", "candidate", protocol_candidate(set, id),
                  "conditions", protocol_conditions(conditions));
    return measure(worker, request, conditions, arena, cost, error);
}

collage_status worker_measure_transition(struct worker *worker, struct candidate_set *set,
                                         uint32_t backend, value_id value,
                                         const collage_layout *from, const collage_layout *to,
                                         const struct sample_conditions *conditions,
                                         struct arena *arena, struct cost *cost,
                                         struct error *error)
{
    collage_status status = ensure_running(worker, error);
    if (status != COLLAGE_OK)
        return status;
    json_t *request =
        json_pack("{s:s, s:s, s:I, s:s, s:s, s:o}", "job", "transition", "backend",
                  set->registry->entries[backend].name, "value", (json_int_t)value, "from",
                  from->tag, "to", to->tag, "conditions", protocol_conditions(conditions));
    return measure(worker, request, conditions, arena, cost, error);
}

collage_status worker_measure_switch(struct worker *worker, struct candidate_set *set,
                                     candidate_id a, candidate_id b, double *extra_ns,
                                     struct error *error)
{
    *extra_ns = 0;
    collage_status status = ensure_running(worker, error);
    if (status != COLLAGE_OK)
        return status;
    json_t *answer;
    json_t *request = json_pack("{s:s, s:o, s:o}", "job", "switch", "a", protocol_candidate(set, a),
                                "b", protocol_candidate(set, b));
    struct error failure = { 0 };
    status = ask(worker, request, worker->setup.job_seconds + switch_seconds, &answer, &failure);
    if (status == COLLAGE_ERROR_MEMORY)
        return error_memory(error);
    double value = json_number_value(json_object_get(answer, "extra_ns"));
    *extra_ns = value > 0 ? value : 0;
    json_decref(answer);
    if (status != COLLAGE_OK && worker->setup.log) {
        char line[640];
        snprintf(line, sizeof line, "the cost of going from %s to %s is taken as 0: %s",
                 set->registry->entries[set->items[a].backend].name,
                 set->registry->entries[set->items[b].backend].name, failure.text);
        worker->setup.log(worker->setup.log_user, COLLAGE_LOG_WARNING, line);
    }
    return COLLAGE_OK;
}
