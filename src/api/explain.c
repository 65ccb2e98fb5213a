/* SPDX-License-Identifier: Apache-2.0 */
#include "api/explanation.h"
#include "api/handles.h"
#include "api/search_files.h"
#include "report/roofline.h"

collage_status collage_explain(collage_context *context, const collage_model *model,
                               const collage_plan *plan, const char *node, collage_write_fn write,
                               void *user)
{
    struct error *error = context_begin(context);
    node_id id = GRAPH_NONE;
    if (!model || !plan || !write)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_explain: a pointer is NULL");
    collage_status status = node ? graph_find_node(model->graph, node, &id, error) : COLLAGE_OK;
    if (status != COLLAGE_OK)
        return status;
    struct explanation_source source;
    struct text text = { 0 };
    status = explanation_open(context, model, plan, node ? EXPLAIN_NODE : EXPLAIN_ALL, id, &source,
                              error);
    if (status == COLLAGE_OK)
        status = node ? report_explain_node(&source.explanation, id, &text, error)
                      : report_explain_plan(&source.explanation, &text, error);
    if (status == COLLAGE_OK)
        status = hand_over(&text, write, user, error);
    text_free(&text);
    explanation_close(&source);
    return status;
}

collage_status collage_roofline(collage_context *context, const collage_model *model,
                                const collage_plan *plan, collage_format format,
                                collage_write_fn write, void *user)
{
    struct error *error = context_begin(context);
    if (!model || !plan || !write)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_roofline: a pointer is NULL");
    struct explanation_source source;
    struct text text = { 0 };
    collage_status status =
        explanation_open(context, model, plan, EXPLAIN_ROOFLINE, GRAPH_NONE, &source, error);
    if (status == COLLAGE_OK)
        status = report_roofline(&source.explanation, format, &text, error);
    if (status == COLLAGE_OK)
        status = hand_over(&text, write, user, error);
    text_free(&text);
    explanation_close(&source);
    return status;
}

collage_status collage_measure(collage_context *context, const collage_model *model,
                               const collage_measure_options *options, collage_write_fn write,
                               void *user)
{
    struct error *error = context_begin(context);
    node_id node = GRAPH_NONE;
    if (!model || !write || !options ||
        options->struct_size < offsetof(collage_measure_options, pattern_files) || !options->node)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_measure: a pointer is NULL or struct_size is not set");
    if (options->threads < 0 || options->threads > 4096)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "%d threads: give 1 to 4096, or 0 for all",
                         options->threads);
    collage_status status = graph_find_node(model->graph, options->node, &node, error);
    if (status != COLLAGE_OK)
        return status;
    struct optimizer_settings settings = settings_of(context, model);
    settings.backends = options->backends;
    settings.threads = options->threads;
    settings.remeasure = options->remeasure;
    if (options->budget_seconds > 0)
        settings.budget_seconds = options->budget_seconds;
    struct text text = { 0 };
    struct search_files files;
    /* A program that was built before the files, or the precision, came has a smaller struct. */
    const bool known = options->struct_size >= offsetof(collage_measure_options, precision);
    const bool whole = options->struct_size >= sizeof *options;
    if (whole && (unsigned)options->precision > COLLAGE_PRECISION_STRICT)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "there is no precision %d",
                         (int)options->precision);
    settings.strict = whole && options->precision == COLLAGE_PRECISION_STRICT;
    status = search_files_load(context, known ? options->pattern_files : NULL,
                               known ? options->pattern_file_count : 0, &files, &settings, error);
    if (status == COLLAGE_OK)
        status = pipeline_measure_node(&settings, node, &text, error);
    if (status == COLLAGE_OK)
        status = hand_over(&text, write, user, error);
    text_free(&text);
    search_files_free(&files);
    return status;
}
