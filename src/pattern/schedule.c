/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/schedule.h"

#include <stdio.h>
#include <string.h>

bool schedule_is_text(const char *text)
{
    size_t length = strnlen(text, COLLAGE_SCHEDULE_BYTES);
    if (length == 0 || length == COLLAGE_SCHEDULE_BYTES || text[0] == ' ' ||
        text[length - 1] == ' ')
        return false;
    for (size_t k = 0; k < length; k++)
        if (text[k] < ' ' || text[k] > '~')
            return false;
    return true;
}

/* The index-th of what the backend lists; false: there are no more. */
static bool list(const collage_backend_api *api, const collage_subgraph *subgraph,
                 const collage_target *target, const collage_variant *variant, size_t index,
                 collage_schedule *out)
{
    *out = (collage_schedule){ .struct_size = sizeof *out };
    return api->schedule && index < SCHEDULES_MAX &&
           api->schedule(subgraph, target, variant, index, out);
}

bool schedule_is_offered(const collage_backend_api *api, const collage_subgraph *subgraph,
                         const collage_target *target, const collage_variant *variant,
                         const char *schedule)
{
    collage_schedule offered;
    if (!schedule_is_text(schedule))
        return false;
    for (size_t k = 0; list(api, subgraph, target, variant, k, &offered); k++)
        if (strncmp(offered.text, schedule, sizeof offered.text) == 0)
            return true;
    return false;
}

static bool is_listed(const char *const *texts, size_t count, const char *text)
{
    for (size_t k = 0; k < count; k++)
        if (strcmp(texts[k], text) == 0)
            return true;
    return false;
}

static collage_status list_all(const struct candidate_set *set, const struct candidate *candidate,
                               const collage_subgraph *subgraph, const char **texts, size_t *count,
                               struct error *error)
{
    const collage_backend_api *api = set->registry->entries[candidate->backend].api;
    const struct region *region = &candidate->region;
    collage_variant variant = { .struct_size = sizeof variant };
    collage_schedule offered;
    variant.inputs = arena_copy(set->arena, candidate->input_layouts,
                                region->input_count * sizeof *variant.inputs);
    variant.outputs = arena_copy(set->arena, candidate->output_layouts,
                                 region->output_count * sizeof *variant.outputs);
    if (!variant.inputs || !variant.outputs)
        return error_memory(error);
    snprintf(variant.name, sizeof variant.name, "%s", candidate->variant);
    for (size_t k = 0; list(api, subgraph, &set->target, &variant, k, &offered); k++) {
        if (!memchr(offered.text, '\0', sizeof offered.text) || !schedule_is_text(offered.text) ||
            is_listed(texts, *count, offered.text))
            continue;
        texts[*count] = arena_string(set->arena, offered.text);
        if (!texts[*count])
            return error_memory(error);
        ++*count;
    }
    return COLLAGE_OK;
}

collage_status candidate_schedules(const struct candidate_set *set, candidate_id id,
                                   const char *const **out, size_t *count, struct error *error)
{
    const struct candidate *candidate = &set->items[id];
    *out = NULL;
    *count = 0;
    if (candidate->view || !set->registry->entries[candidate->backend].api->schedule)
        return COLLAGE_OK;
    const char **texts = arena_array(set->arena, SCHEDULES_MAX, sizeof *texts);
    struct arena *scratch = arena_create();
    const collage_subgraph *subgraph;
    collage_status status = texts && scratch
                                ? candidate_subgraph(set, id, scratch, &subgraph, error)
                                : error_memory(error);
    if (status == COLLAGE_OK)
        status = list_all(set, candidate, subgraph, texts, count, error);
    arena_destroy(scratch);
    *out = texts;
    return status;
}

bool schedule_key(struct hash candidate, const char *schedule, struct hash *out)
{
    *out = candidate;
    if (!schedule)
        return true;
    struct hash_state *state = hash_begin();
    if (!state)
        return false;
    hash_string(state, "schedule");
    hash_u64(state, candidate.low);
    hash_u64(state, candidate.high);
    hash_string(state, schedule);
    *out = hash_end(state);
    return true;
}
