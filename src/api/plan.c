/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <string.h>

#include "api/explanation.h"
#include "api/handles.h"
#include "api/peers.h"
#include "report/html.h"
#include "report/report.h"

struct optimizer_settings settings_of(collage_context *context, const collage_model *model)
{
    return (struct optimizer_settings){ .graph = model->graph,
                                        .model_path = model->path,
                                        .shapes = model->shapes,
                                        .shape_count = model->shape_count,
                                        .registry = context->registry,
                                        .plugin_directories = context->plugin_directories,
                                        .worker_program = context->worker_program,
                                        .solver_program = context->solver_program,
                                        .cache_directory = context->cache_directory,
                                        .budget_seconds = 300,
                                        .race_seconds = 20,
                                        .log = context->log,
                                        .progress = context->progress,
                                        .user = context->user };
}

void collage_plan_destroy(collage_plan *plan)
{
    if (!plan)
        return;
    plan_destroy(plan->plan);
    memory_free(plan);
}

static collage_status wrap(struct plan *plan, collage_plan **out, struct error *error)
{
    collage_plan *handle = memory_alloc(sizeof *handle);
    if (!handle) {
        plan_destroy(plan);
        return error_memory(error);
    }
    handle->plan = plan;
    *out = handle;
    return COLLAGE_OK;
}

collage_status collage_optimize(collage_context *context, const collage_model *model,
                                const collage_optimize_options *options, collage_plan **out)
{
    static const collage_optimize_options defaults = { .struct_size = sizeof defaults };
    struct error *error = context_begin(context);
    if (!options)
        options = &defaults;
    if (!model || !out || options->struct_size < sizeof *options)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_optimize: a pointer is NULL or struct_size is not set");
    *out = NULL;
    if (options->threads < 0 || options->threads > 4096)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "%d threads: give 1 to 4096, or 0 for all",
                         options->threads);
    struct optimizer_settings settings = settings_of(context, model);
    settings.backends = options->backends;
    settings.threads = options->threads;
    settings.remeasure = options->remeasure;
    if (options->budget_seconds > 0)
        settings.budget_seconds = options->budget_seconds;
    if (options->race_seconds > 0)
        settings.race_seconds = options->race_seconds;
    struct plan *plan;
    collage_status status = pipeline_optimize(&settings, &plan, error);
    if (status != COLLAGE_OK)
        return status;
    return wrap(plan, out, error);
}

/* The header says which model and shapes; the graph then proves that the rest fits. */
static collage_status load_model(const char *path, const char *model_path, const json_t *json,
                                 collage_model **out, struct error *error)
{
    struct plan *header = NULL;
    char found[PATH_MAX];
    struct graph *graph = NULL;
    collage_status status = plan_from_json(json, NULL, &header, error);
    if (status == COLLAGE_OK && !model_path) {
        status = plan_model_path(json, path, found, sizeof found, error);
        model_path = found;
    }
    if (status == COLLAGE_OK)
        status = pipeline_load(model_path, header->shapes, header->shape_count, &graph, error);
    if (status == COLLAGE_OK)
        status = model_wrap(graph, model_path, header->shapes, header->shape_count, out, error);
    plan_destroy(header);
    return status;
}

/* On another machine a plan is still right (a kernel that this one cannot run is refused when the
 * session is made), but what made it the fastest was measured elsewhere. */
static void warn_of_other_machine(const collage_context *context, const char *path,
                                  const struct plan *plan)
{
    if (!context->log)
        return;
    struct device_facts here;
    device_facts_read(&here);
    if (strcmp(plan->device, here.fingerprint) == 0)
        return;
    struct text line = { 0 };
    text_format(&line,
                "plan '%s' was made on another machine (%s; this is %s): optimize the model again "
                "to have the fastest for this one",
                path, plan->device_name, here.name);
    if (!line.failed)
        context->log(context->user, COLLAGE_LOG_WARNING, line.bytes);
    text_free(&line);
}

collage_status collage_plan_load(collage_context *context, const char *path, const char *model_path,
                                 collage_model **model, collage_plan **plan)
{
    struct error *error = context_begin(context);
    if (!path || !model || !plan)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_plan_load: a pointer is NULL");
    *model = NULL;
    *plan = NULL;
    json_t *json = NULL;
    collage_model *loaded = NULL;
    struct plan *made = NULL;
    collage_status status = plan_read(path, &json, error);
    if (status != COLLAGE_OK)
        return status; /* the message names the file */
    status = load_model(path, model_path, json, &loaded, error);
    if (status == COLLAGE_OK)
        status = plan_from_json(json, loaded->graph, &made, error);
    if (status == COLLAGE_OK)
        status = wrap(made, plan, error);
    json_decref(json);
    if (status != COLLAGE_OK) {
        if (status != COLLAGE_ERROR_IO) /* those name the file */
            error_prefix(error, "plan '%s'", path);
        collage_model_destroy(loaded);
        return status;
    }
    warn_of_other_machine(context, path, (*plan)->plan);
    *model = loaded;
    return COLLAGE_OK;
}

collage_status collage_plan_save(collage_context *context, const collage_model *model,
                                 const collage_plan *plan, const char *path)
{
    struct error *error = context_begin(context);
    if (!model || !plan || !path)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_plan_save: a pointer is NULL");
    return plan_save(plan->plan, model->graph, path, error);
}

collage_status hand_over(const struct text *text, collage_write_fn write, void *user,
                         struct error *error)
{
    if (text->failed)
        return error_memory(error);
    if (!text_write(text, write, user))
        return error_set(error, COLLAGE_ERROR_IO, "the report could not be written");
    return COLLAGE_OK;
}

/* The page tells the alternatives, too. A cost store that cannot be read does not keep anybody from
 * looking at a plan. */
static collage_status report_page(const collage_context *context, const collage_model *model,
                                  const collage_plan *plan, struct text *text, struct error *error)
{
    struct explanation_source source;
    struct error own = { 0 };
    collage_status status = explanation_open(context, model, plan, GRAPH_NONE, &source, &own);
    if (status != COLLAGE_OK && status != COLLAGE_ERROR_MEMORY && context->log)
        context->log(context->user, COLLAGE_LOG_WARNING, own.text);
    if (status == COLLAGE_ERROR_MEMORY)
        error_memory(error);
    else
        status = report_html(model->graph, plan->plan,
                             status == COLLAGE_OK ? &source.explanation : NULL, text, error);
    explanation_close(&source);
    return status;
}

collage_status collage_plan_report(collage_context *context, const collage_model *model,
                                   const collage_plan *plan, collage_format format,
                                   collage_write_fn write, void *user)
{
    struct error *error = context_begin(context);
    if (!model || !plan || !write)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_plan_report: a pointer is NULL");
    struct text text = { 0 };
    collage_status status = format == COLLAGE_FORMAT_HTML
                                ? report_page(context, model, plan, &text, error)
                                : report_plan(model->graph, plan->plan, format, &text, error);
    if (status == COLLAGE_OK)
        status = hand_over(&text, write, user, error);
    text_free(&text);
    return status;
}

collage_status collage_bench(collage_context *context, const collage_model *model,
                             const collage_plan *plan, const collage_bench_options *options,
                             collage_format format, collage_write_fn write, void *user)
{
    struct error *error = context_begin(context);
    if (!model || !plan || !write || (options && options->struct_size < sizeof *options))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_bench: a pointer is NULL or struct_size is not set");
    struct optimizer_settings settings = settings_of(context, model);
    settings.threads = plan->plan->threads;
    if (options && options->seconds > 0)
        settings.race_seconds = options->seconds;
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    struct text text = { 0 };
    struct peer *peers = NULL;
    collage_status status = peers_find(options ? options->peers : NULL, context->peer_directories,
                                       arena, &peers, &settings.peer_count, error);
    settings.peers = peers;
    if (status == COLLAGE_OK)
        status = pipeline_bench(&settings, plan->plan, error);
    if (status == COLLAGE_OK)
        status = report_results(model->graph, plan->plan, format, &text, error);
    if (status == COLLAGE_OK)
        status = hand_over(&text, write, user, error);
    text_free(&text);
    arena_destroy(arena);
    return status;
}

collage_status collage_peers_check(collage_context *context, const char *peers)
{
    struct error *error = context_begin(context);
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    struct peer *found;
    size_t count;
    collage_status status =
        peers_find(peers, context->peer_directories, arena, &found, &count, error);
    arena_destroy(arena);
    return status;
}

collage_status collage_verify(collage_context *context, const collage_model *model,
                              const collage_plan *plan, collage_verification *result)
{
    struct error *error = context_begin(context);
    if (!model || !result || result->struct_size < sizeof *result)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_verify: a pointer is NULL or struct_size is not set");
    struct optimizer_settings settings = settings_of(context, model);
    settings.threads = plan ? plan->plan->threads : 0;
    return pipeline_verify(&settings, plan ? plan->plan : NULL, result, error);
}
