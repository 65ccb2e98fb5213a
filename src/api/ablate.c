/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/search_files.h"

/* False if the struct is not one that this version knows. */
static bool take_options(const collage_ablate_options *given, collage_ablate_options *options)
{
    *options = (collage_ablate_options){ .struct_size = sizeof *options };
    if (!given)
        return true;
    size_t known = given->struct_size < sizeof *options ? given->struct_size : sizeof *options;
    if (known < offsetof(collage_ablate_options, pattern_files))
        return false;
    memcpy(options, given, known);
    return true;
}

collage_status collage_ablate(collage_context *context, const collage_model *model,
                              const collage_ablate_options *options, collage_format format,
                              collage_write_fn write, void *user)
{
    struct error *error = context_begin(context);
    collage_ablate_options own;
    if (!model || !write || !take_options(options, &own))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_ablate: a pointer is NULL or struct_size is not set");
    if (own.threads < 0 || own.threads > 4096)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "%d threads: give 1 to 4096, or 0 for all",
                         own.threads);
    if (format != COLLAGE_FORMAT_TEXT && format != COLLAGE_FORMAT_JSON)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "an ablation is reported as text or JSON only");
    struct optimizer_settings settings = settings_of(context, model);
    settings.backends = own.backends;
    settings.threads = own.threads;
    if (own.budget_seconds > 0)
        settings.budget_seconds = own.budget_seconds;
    if (own.seconds > 0)
        settings.race_seconds = own.seconds;
    struct text text = { 0 };
    struct search_files files;
    collage_status status = search_files_load(context, own.pattern_files, own.pattern_file_count,
                                              &files, &settings, error);
    if (status == COLLAGE_OK)
        status = pipeline_ablate(&settings, format, &text, error);
    if (status == COLLAGE_OK)
        status = hand_over(&text, write, user, error);
    text_free(&text);
    search_files_free(&files);
    return status;
}
