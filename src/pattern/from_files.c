/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates out of texts and files of patterns. What the backend refuses does not become one. */
#include "pattern/backend_text.h"
#include "pattern/enumerate.h"
#include "pattern/pattern_file.h"

struct sink {
    struct candidate_set *set;
    uint32_t backend;
    const char *name; /* of the entry */
    collage_status status;
    struct error *error;
};

static bool take_set(void *user, const node_id *nodes, uint32_t count)
{
    struct sink *sink = user;
    sink->status =
        candidate_set_add(sink->set, sink->backend, nodes, count, sink->name, NULL, sink->error);
    return sink->status == COLLAGE_OK;
}

static collage_status add_entry(struct sink *sink, const struct pattern_entry *entry)
{
    const struct candidate_set *set = sink->set;
    bool cut_off; /* nobody needs to know here: what there is will be measured */
    sink->name = entry->name;
    collage_status status =
        pattern_entry_match(entry, set->graph, &set->uses, take_set, sink, &cut_off, sink->error);
    return status == COLLAGE_OK ? sink->status : status;
}

static collage_status add_file(struct sink *sink, const struct pattern_file *file)
{
    const struct candidate_set *set = sink->set;
    const char *name = set->registry->entries[sink->backend].name;
    const struct pattern_target target = { &set->target, set->device, set->fingerprint };
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < file->count && status == COLLAGE_OK; k++)
        if (pattern_entry_fits(&file->entries[k], name, &target))
            status = add_entry(sink, &file->entries[k]);
    return status;
}

collage_status enumerate_files(struct candidate_set *set, uint32_t backend, struct error *error)
{
    struct sink sink = { .set = set, .backend = backend, .error = error };
    struct pattern_file *own;
    collage_status status = backend_text_parse(set->registry->entries[backend].api, &own, error);
    if (status == COLLAGE_OK && own)
        status = add_file(&sink, own);
    pattern_file_destroy(own);
    for (size_t f = 0; f < set->file_count && status == COLLAGE_OK; f++)
        status = add_file(&sink, set->files[f]);
    return status;
}
