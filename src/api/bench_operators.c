/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handles.h"
#include "bench/operators.h"

/* What the caller knows of the options, the rest being defaults: they grow at their end. False if
 * that is too little. */
static bool take_options(const collage_bench_operators_options *given,
                         collage_bench_operators_options *options)
{
    *options = (collage_bench_operators_options){ .struct_size = sizeof *options };
    if (!given)
        return true;
    size_t known = given->struct_size < sizeof *options ? given->struct_size : sizeof *options;
    if (known < offsetof(collage_bench_operators_options, precision))
        return false;
    memcpy(options, given, known);
    return true;
}

collage_status collage_bench_operators(collage_context *context,
                                       const collage_bench_operators_options *given,
                                       collage_format format, collage_write_fn write, void *user)
{
    collage_backend_info info = { .struct_size = sizeof info };
    struct error *error = context_begin(context);
    collage_bench_operators_options own;
    if (!write || !take_options(given, &own) || (own.case_count > 0 && !own.cases))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_bench_operators: a pointer is NULL or struct_size is not set");
    const collage_bench_operators_options *options = &own;
    if ((unsigned)options->precision > COLLAGE_PRECISION_STRICT)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "there is no precision %d",
                         (int)options->precision);
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
