/* SPDX-License-Identifier: Apache-2.0 */
#include "api/search_files.h"

collage_status search_files_load(const collage_context *context, const char *const *pattern_files,
                                 size_t pattern_file_count, struct search_files *out,
                                 struct optimizer_settings *settings, struct error *error)
{
    *out = (struct search_files){ .given = { 0 } };
    collage_status status =
        pattern_files_load(context, pattern_files, pattern_file_count, &out->patterns, error);
    if (status == COLLAGE_OK)
        status = given_costs_load(context, &out->given, error);
    settings->pattern_files = out->patterns.items;
    settings->pattern_file_count = out->patterns.count;
    settings->given = &out->given;
    return status;
}

void search_files_free(struct search_files *files)
{
    pattern_files_free(&files->patterns);
    given_costs_free(&files->given);
}
