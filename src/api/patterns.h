/* SPDX-License-Identifier: Apache-2.0 */
/* patterns.h: the files of patterns of one call of the API. */
#ifndef COLLAGE_API_PATTERNS_H
#define COLLAGE_API_PATTERNS_H

#include "api/handles.h"
#include "pattern/pattern_file.h"

struct pattern_files {
    struct pattern_file **items;
    size_t count;
};

/* Reads those that are registered (of one that cannot be read it warns) and these; warns of
 * backends that are not here. Free with pattern_files_free, also after a failure. */
collage_status pattern_files_load(const collage_context *context, const char *const *paths,
                                  size_t count, struct pattern_files *out, struct error *error);
/* These only. */
collage_status pattern_files_load_given(const collage_context *context, const char *const *paths,
                                        size_t count, struct pattern_files *out,
                                        struct error *error);
void pattern_files_free(struct pattern_files *files);

#endif
