/* SPDX-License-Identifier: Apache-2.0 */
#include "api/handles.h"
#include "bench/operators.h"

collage_status collage_bench_operators(collage_context *context,
                                       const collage_bench_operators_options *options,
                                       collage_format format, collage_write_fn write, void *user)
{
    static const collage_bench_operators_options defaults = { .struct_size = sizeof defaults };
    collage_backend_info info = { .struct_size = sizeof info };
    struct error *error = context_begin(context);
    if (!options)
        options = &defaults;
    if (!write || options->struct_size < sizeof *options ||
        (options->case_count > 0 && !options->cases))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_bench_operators: a pointer is NULL or struct_size is not set");
    if (format != COLLAGE_FORMAT_TEXT && format != COLLAGE_FORMAT_JSON)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "operators are compared as text or as JSON");
    if (options->threads < 0 || options->threads > 4096)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "%d threads: give 1 to 4096, or 0 for all",
                         options->threads);
    const struct bench_settings settings = { .registry = context->registry,
                                             .plugin_directories = context->plugins,
                                             .worker_program = context->worker_program,
                                             .cache_directory = context->cache_directory,
                                             .options = options,
                                             .log = context->log,
                                             .progress = context->progress,
                                             .user = context->user };
    collage_status status = COLLAGE_OK;
    if (!options->list)
        status = collage_backend_describe(context, 0, &info); /* asks all at once */
    return status == COLLAGE_OK ? bench_report(&settings, format, write, user, error) : status;
}
