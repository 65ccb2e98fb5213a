/* SPDX-License-Identifier: Apache-2.0 */
/* registry_names.c: lists of backends as users write them: "onednn,onnxruntime". */
#include <string.h>

#include "backend/registry.h"

bool registry_list_holds(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

collage_status registry_check_names(const struct registry *registry, const char *list,
                                    struct error *error)
{
    for (const char *at = list; at;) {
        const char *end = strchr(at, ',');
        size_t length = end ? (size_t)(end - at) : strlen(at);
        bool known = false;
        for (uint32_t b = 0; b < registry->count; b++)
            known = known || (strlen(registry->entries[b].name) == length &&
                              strncmp(registry->entries[b].name, at, length) == 0);
        if (!known)
            return error_set(error, COLLAGE_ERROR_ARGUMENT,
                             "there is no backend '%.*s'; `collage backends` lists them",
                             (int)length, at);
        at = end ? end + 1 : NULL;
    }
    return COLLAGE_OK;
}
