/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/backend_text.h"

#include <stdio.h>
#include <string.h>

collage_status backend_text_parse(const collage_backend_api *api, struct pattern_file **out,
                                  struct error *error)
{
    char where[64];
    *out = NULL;
    if (!api->pattern_text)
        return COLLAGE_OK;
    snprintf(where, sizeof where, "pattern_text of backend %.32s", api->name);
    return pattern_file_parse_own(where, api->name, api->pattern_text, strlen(api->pattern_text),
                                  out, error);
}

collage_status backend_text_check(struct registry *registry, uint32_t first, struct error *error)
{
    for (uint32_t k = first; k < registry->count; k++) {
        struct backend_entry *entry = &registry->entries[k];
        struct error problem = { .status = COLLAGE_OK };
        struct pattern_file *file = NULL;
        if (!entry->api || backend_text_parse(entry->api, &file, &problem) == COLLAGE_OK) {
            pattern_file_destroy(file);
            continue;
        }
        const char *text = arena_string(registry->arena, problem.text);
        if (problem.status == COLLAGE_ERROR_MEMORY || !text)
            return error_memory(error);
        entry->api = NULL;
        entry->problem = text;
    }
    return COLLAGE_OK;
}
