/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/enumerate.h"

#include "pattern/pattern.h"

/* Where the matches of one pattern go. */
struct sink {
    struct candidate_set *set;
    uint32_t backend;
    const char *pattern;
    bool *matched; /* node by node: some pattern starts there */
    collage_status status;
    struct error *error;
};

static bool take_match(void *user, const node_id *nodes, uint32_t count)
{
    struct sink *sink = user;
    sink->matched[nodes[0]] = true;
    sink->status =
        candidate_set_add(sink->set, sink->backend, nodes, count, sink->pattern, NULL, sink->error);
    return sink->status == COLLAGE_OK;
}

static collage_status match_pattern(struct sink *sink, const collage_pattern *description)
{
    struct candidate_set *set = sink->set;
    struct pattern *pattern;
    collage_status status =
        pattern_parse(description->name, description->text, &pattern, sink->error);
    if (status) {
        error_prefix(sink->error, "backend %s", set->registry->entries[sink->backend].name);
        return status;
    }
    sink->pattern = description->name;
    for (node_id node = 0; node < set->graph->node_count && !sink->status; node++)
        pattern_match(pattern, set->graph, &set->uses, node, take_match, sink);
    pattern_destroy(pattern);
    return sink->status;
}

/* Every node that no pattern starts at gets a reason. */
static collage_status explain_unmatched(const struct sink *sink)
{
    struct candidate_set *set = sink->set;
    for (node_id node = 0; node < set->graph->node_count; node++) {
        size_t cell = (size_t)node * set->registry->count + sink->backend;
        if (sink->matched[node] || set->asked[cell] || candidate_node_is_view(set->graph, node))
            continue;
        set->asked[cell] = true;
        set->refusals[cell] =
            arena_format(set->arena, "no pattern starts with %s", set->graph->nodes[node].op->name);
        if (!set->refusals[cell])
            return error_memory(sink->error);
    }
    return COLLAGE_OK;
}

static collage_status enumerate_matches(struct candidate_set *set, uint32_t backend,
                                        struct error *error)
{
    const collage_backend_api *api = set->registry->entries[backend].api;
    struct sink sink = { .set = set, .backend = backend, .error = error };
    sink.matched = memory_alloc(set->graph->node_count * sizeof *sink.matched);
    if (!sink.matched)
        return error_memory(error);
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < api->pattern_count && !status; k++)
        status = match_pattern(&sink, &api->patterns[k]);
    if (!status)
        status = enumerate_files(set, backend, error);
    if (!status)
        status = explain_unmatched(&sink);
    memory_free(sink.matched);
    return status;
}

collage_status candidate_set_enumerate(struct candidate_set *set, const bool *enabled,
                                       struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (node_id node = 0; node < set->graph->node_count && !status; node++)
        if (candidate_node_is_view(set->graph, node))
            status = candidate_set_add_view(set, node, error);
    for (uint32_t k = 0; k < set->registry->count && !status; k++) {
        const collage_backend_api *api = set->registry->entries[k].api;
        if (!enabled[k] || !api)
            continue;
        bool graph_level = api->kind == COLLAGE_GRAPH_LEVEL;
        status = graph_level ? enumerate_regions(set, k, error) : enumerate_matches(set, k, error);
        if (!status && graph_level)
            status = enumerate_files(set, k, error);
        if (!status && set->recompute)
            status = enumerate_copies(set, k, error);
    }
    return status ? status : enumerate_parts(set, error);
}
