/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "api/explanation.h"
#include "api/handles.h"
#include "api/search_files.h"
#include "base/printable.h"
#include "plan/placement_log.h"
#include "report/html.h"
#include "report/report.h"

struct optimizer_settings settings_of(collage_context *context, const collage_model *model)
{
    return (struct optimizer_settings){ .graph = model->graph,
                                        .model_path = model->path,
                                        .shapes = model->shapes,
                                        .shape_count = model->shape_count,
                                        .registry = context->registry,
                                        .plugin_directories = context->plugins,
                                        .worker_program = context->worker_program,
                                        .solver_program = context->solver_program,
                                        .cache_directory = context->cache_directory,
                                        .trust = context->trust,
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

/* What the caller knows of the options, the rest being defaults: they grow at their end. False if
 * that is too little. */
static bool take_options(const collage_optimize_options *given, collage_optimize_options *options)
{
    *options = (collage_optimize_options){ .struct_size = sizeof *options };
    if (!given)
        return true;
    size_t known = given->struct_size < sizeof *options ? given->struct_size : sizeof *options;
    if (known < offsetof(collage_optimize_options, search))
        return false;
    memcpy(options, given, known);
    return true;
}

static collage_status check_options(const collage_optimize_options *options, struct error *error)
{
    if (options->threads < 0 || options->threads > 4096)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "%d threads: give 1 to 4096, or 0 for all",
                         options->threads);
    if ((unsigned)options->precision > COLLAGE_PRECISION_STRICT)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "there is no precision %d",
                         (int)options->precision);
    if ((unsigned)options->search > COLLAGE_SEARCH_BRUTE)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "there is no search %d",
                         (int)options->search);
    if (options->allow_recompute && options->search != COLLAGE_SEARCH_EXACT &&
        options->search != COLLAGE_SEARCH_BRUTE)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "allow_recompute: the searches exact and brute can, others cannot");
    if (options->search_generations < 0)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "%d generations: give 1 or more, or 0 for 100",
                         options->search_generations);
    if (!(options->kernel_cost_ns >= 0 && isfinite(options->kernel_cost_ns)))
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "a kernel cannot cost %g ns",
                         options->kernel_cost_ns);
    if (!(options->tune_seconds >= 0 && options->tune_seconds < 1e9))
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "%g seconds for tuning: give 0 or more",
                         options->tune_seconds);
    if (options->pin_count && !options->pins)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_optimize: pins is NULL");
    for (size_t k = 0; k < options->pin_count; k++)
        if (!options->pins[k].node || !options->pins[k].backend)
            return error_set(error, COLLAGE_ERROR_ARGUMENT,
                             "collage_optimize: pin %zu has no node or no backend", k);
    return COLLAGE_OK;
}

/* What is not given stays at the default. */
static void set_search(const collage_optimize_options *options, struct optimizer_settings *settings)
{
    settings->search = options->search;
    settings->kernel_cost_ns = options->kernel_cost_ns;
    settings->search_seed = options->search_seed ? options->search_seed : 64;
    settings->search_generations =
        options->search_generations ? (uint32_t)options->search_generations : 100;
    settings->search_seconds = options->search_seconds > 0 ? options->search_seconds : 300;
    settings->pins = options->pins;
    settings->pin_count = options->pin_count;
    settings->placement_path = options->placement;
    settings->recompute = options->allow_recompute;
    settings->strict = options->precision == COLLAGE_PRECISION_STRICT;
    settings->tune_seconds = options->tune_seconds;
    settings->tuning_log = options->tuning_log;
}

collage_status collage_optimize(collage_context *context, const collage_model *model,
                                const collage_optimize_options *options, collage_plan **out)
{
    struct error *error = context_begin(context);
    collage_optimize_options own;
    if (!model || !out || !take_options(options, &own))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_optimize: a pointer is NULL or struct_size is not set");
    *out = NULL;
    collage_status status = check_options(&own, error);
    if (status != COLLAGE_OK)
        return status;
    atomic_store(&context->enough, false);
    struct optimizer_settings settings = settings_of(context, model);
    settings.backends = own.backends;
    settings.threads = own.threads;
    settings.remeasure = own.remeasure;
    settings.enough = &context->enough;
    if (own.budget_seconds > 0)
        settings.budget_seconds = own.budget_seconds;
    if (own.race_seconds > 0)
        settings.race_seconds = own.race_seconds;
    set_search(&own, &settings);
    struct plan *plan = NULL;
    struct search_files files;
    status = search_files_load(context, own.pattern_files, own.pattern_file_count, &files,
                               &settings, error);
    if (status == COLLAGE_OK)
        status = pipeline_optimize(&settings, &plan, error);
    search_files_free(&files);
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
    struct device_facts here;
    if (!context->log || device_facts_read(&here, NULL) != COLLAGE_OK ||
        strcmp(plan->device, here.fingerprint) == 0)
        return;
    struct text line = { 0 };
    text_format(&line,
                "plan '%s' was made on another machine (%s; this is %s): optimize the model again "
                "to have the fastest for this one",
                path, plan->device_name, here.name);
    if (!line.failed) {
        printable_make(line.bytes, false); /* what the file calls that machine */
        context->log(context->user, COLLAGE_LOG_WARNING, line.bytes);
    }
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
    if (status == COLLAGE_OK && made->object_count > 0) {
        status = plan_set_folder(made, path, error);
        if (status != COLLAGE_OK)
            plan_destroy(made);
    }
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
    collage_status status = plan_codes_save(plan->plan, path, context->trust, error);
    return status == COLLAGE_OK ? plan_save(plan->plan, model->graph, path, error) : status;
}

collage_status collage_placement_save(collage_context *context, const collage_model *model,
                                      const collage_plan *plan, const char *path)
{
    struct error *error = context_begin(context);
    if (!model || !plan || !path)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_placement_save: a pointer is NULL");
    struct text text = { 0 };
    collage_status status = placement_log_write(plan->plan, model->graph, &text, error);
    if (status == COLLAGE_OK)
        status = file_write(path, text.bytes, text.count, error);
    text_free(&text);
    return status;
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
    collage_status status =
        explanation_open(context, model, plan, EXPLAIN_ALL, GRAPH_NONE, &source, &own);
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

collage_status check_codes(const collage_context *context, const struct plan *plan,
                           struct error *error)
{
    struct plan_codes codes;
    collage_status status = plan_codes_load(plan, context->trust, &codes, error);
    plan_codes_free(&codes);
    return status;
}

collage_status collage_verify(collage_context *context, const collage_model *model,
                              const collage_plan *plan, collage_verification *result)
{
    struct error *error = context_begin(context);
    if (!model || !result || result->struct_size < sizeof *result)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_verify: a pointer is NULL or struct_size is not set");
    collage_status status = plan ? check_codes(context, plan->plan, error) : COLLAGE_OK;
    if (status != COLLAGE_OK)
        return status;
    struct optimizer_settings settings = settings_of(context, model);
    settings.threads = plan ? plan->plan->threads : 0;
    return pipeline_verify(&settings, plan ? plan->plan : NULL, result, error);
}
