/* SPDX-License-Identifier: Apache-2.0 */
/* search_files.h: what a search takes from files and functions of the user: patterns and costs. */
#ifndef COLLAGE_API_SEARCH_FILES_H
#define COLLAGE_API_SEARCH_FILES_H

#include "api/given.h"
#include "api/patterns.h"

struct search_files {
    struct pattern_files patterns;
    struct given_costs given;
};

/* What is registered, and these files of patterns; the settings refer to it from then on. Free with
 * search_files_free, also after a failure. */
collage_status search_files_load(const collage_context *context, const char *const *pattern_files,
                                 size_t pattern_file_count, struct search_files *out,
                                 struct optimizer_settings *settings, struct error *error);
void search_files_free(struct search_files *files);

#endif
