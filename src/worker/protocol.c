/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/protocol.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "graph/subgraph.h"
#include "pattern/schedule.h"

/* ---- pieces ---- */

static json_t *shapes_to_json(const collage_shape *shapes, size_t count)
{
    json_t *list = json_array();
    for (size_t k = 0; list && k < count; k++) {
        json_t *dims = json_array();
        for (int32_t d = 0; dims && d < shapes[k].rank; d++)
            json_array_append_new(dims, json_integer(shapes[k].dims[d]));
        json_array_append_new(list, json_pack("{s:s, s:o}", "name", shapes[k].name, "dims", dims));
    }
    return list;
}

bool protocol_read_shapes(const json_t *json, struct arena *arena, collage_shape **shapes,
                          size_t *count)
{
    *count = json_array_size(json);
    *shapes = arena_array(arena, *count, sizeof **shapes);
    if (!*shapes)
        return false;
    for (size_t k = 0; k < *count; k++) {
        const json_t *item = json_array_get(json, k), *dims = json_object_get(item, "dims");
        collage_shape *shape = &(*shapes)[k];
        shape->name = json_string_value(json_object_get(item, "name"));
        if (!shape->name || json_array_size(dims) > COLLAGE_MAX_RANK)
            return false;
        shape->rank = (int32_t)json_array_size(dims);
        for (int32_t d = 0; d < shape->rank; d++)
            shape->dims[d] = json_integer_value(json_array_get(dims, (size_t)d));
    }
    return true;
}

static json_t *layouts_to_json(const collage_layout *layouts, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t k = 0; list && k < count; k++)
        json_array_append_new(list, json_string(layouts[k].tag));
    return list;
}

bool protocol_read_layout(const json_t *json, collage_layout *out)
{
    const char *tag = json_string_value(json);
    if (!tag || strlen(tag) >= sizeof out->tag)
        return false;
    snprintf(out->tag, sizeof out->tag, "%s", tag);
    return true;
}

static bool read_layouts(const json_t *json, struct arena *arena, collage_layout **layouts,
                         uint32_t *count)
{
    *count = (uint32_t)json_array_size(json);
    *layouts = arena_array(arena, *count, sizeof **layouts);
    for (uint32_t k = 0; *layouts && k < *count; k++)
        if (!protocol_read_layout(json_array_get(json, k), &(*layouts)[k]))
            return false;
    return *layouts != NULL;
}

/* ---- requests ---- */

json_t *protocol_open(const struct worker_setup *setup, bool standalone)
{
    char hash[33] = "";
    if (setup->graph) {
        struct hash identity = graph_hash(setup->graph);
        if (hash_equal(identity, (struct hash){ 0 }))
            return NULL;
        hash_print(identity, hash);
    }
    return json_pack("{s:s, s:s, s:s?, s:s?, s:o, s:i, s:s, s:b, s:b, s:s?}", "job", "open",
                     "plugins", setup->plugin_directories ? setup->plugin_directories : "", "model",
                     setup->model_path, "case", setup->case_name, "shapes",
                     shapes_to_json(setup->shapes, setup->shape_count), "threads", setup->threads,
                     "graph", hash, "oracle", setup->oracle != NULL, "standalone", standalone,
                     "cache", setup->cache_directory);
}

static json_t *nodes_to_json(const node_id *nodes, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t k = 0; list && k < count; k++)
        json_array_append_new(list, json_integer(nodes[k]));
    return list;
}

static bool read_nodes(const json_t *list, struct arena *arena, node_id **nodes, uint32_t *count)
{
    *count = (uint32_t)json_array_size(list);
    *nodes = arena_array(arena, *count, sizeof **nodes);
    for (uint32_t k = 0; *nodes && k < *count; k++) {
        json_int_t node = json_integer_value(json_array_get(list, k));
        if (node < 0 || node >= GRAPH_NONE)
            return false;
        (*nodes)[k] = (node_id)node;
    }
    return *nodes != NULL;
}

json_t *protocol_candidate(const struct candidate_set *set, candidate_id id)
{
    const struct candidate *candidate = &set->items[id];
    const struct region *region = &candidate->region;
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "backend",
                     set->registry->entries[candidate->backend].name, "variant", candidate->variant,
                     "pattern", candidate->pattern ? candidate->pattern : "", "nodes",
                     nodes_to_json(region->nodes, region->node_count), "copies",
                     nodes_to_json(region->copies, region->copy_count), "inputs",
                     layouts_to_json(candidate->input_layouts, region->input_count), "outputs",
                     layouts_to_json(candidate->output_layouts, region->output_count));
}

bool protocol_read_candidate(const json_t *json, struct arena *arena,
                             struct protocol_candidate *out)
{
    *out =
        (struct protocol_candidate){ .backend = json_string_value(json_object_get(json, "backend")),
                                     .variant = json_string_value(json_object_get(json, "variant")),
                                     .pattern =
                                         json_string_value(json_object_get(json, "pattern")) };
    if (!out->backend || !out->variant || !out->pattern ||
        !read_nodes(json_object_get(json, "nodes"), arena, &out->nodes, &out->node_count) ||
        !read_nodes(json_object_get(json, "copies"), arena, &out->copies, &out->copy_count))
        return false;
    return read_layouts(json_object_get(json, "inputs"), arena, &out->inputs, &out->input_count) &&
           read_layouts(json_object_get(json, "outputs"), arena, &out->outputs, &out->output_count);
}

json_t *protocol_conditions(const struct sample_conditions *conditions)
{
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:b, s:b, s:s*}", "working_set_bytes",
                     (json_int_t)conditions->working_set_bytes, "level_2_bytes",
                     (json_int_t)conditions->level_2_bytes, "last_level_bytes",
                     (json_int_t)conditions->last_level_bytes, "limit_seconds",
                     conditions->limit_seconds, "tolerance", conditions->tolerance, "known_ns",
                     conditions->known_ns, "quick", conditions->quick, "strict", conditions->strict,
                     "schedule", conditions->schedule);
}

static uint64_t read_bytes(const json_t *json, const char *name)
{
    json_int_t bytes = json_integer_value(json_object_get(json, name));
    return bytes > 0 ? (uint64_t)bytes : 0;
}

bool protocol_read_conditions(const json_t *json, struct sample_conditions *out)
{
    *out = (struct sample_conditions){
        .working_set_bytes = read_bytes(json, "working_set_bytes"),
        .level_2_bytes = read_bytes(json, "level_2_bytes"),
        .last_level_bytes = read_bytes(json, "last_level_bytes"),
        .limit_seconds = json_number_value(json_object_get(json, "limit_seconds")),
        .tolerance = json_number_value(json_object_get(json, "tolerance")),
        .known_ns = json_number_value(json_object_get(json, "known_ns")),
        .quick = json_is_true(json_object_get(json, "quick")),
        .strict = json_is_true(json_object_get(json, "strict")),
        .schedule = json_string_value(json_object_get(json, "schedule"))
    };
    return json_is_object(json) && out->limit_seconds >= 0 && out->tolerance >= 0 &&
           out->known_ns >= 0 && (!out->schedule || schedule_is_text(out->schedule));
}

/* ---- costs ---- */

/* Libraries may say things that are not UTF-8, which JSON cannot hold. */
/* JSON has no infinity: -1 stands for it. */
static double finite_or_minus_one(double value)
{
    return isfinite(value) ? value : -1;
}

json_t *protocol_cost(const struct cost *cost)
{
    json_t *json = json_object(), *inplace = json_array();
    for (uint32_t k = 0; inplace && k < 2 * cost->inplace_count && k < 8; k++)
        json_array_append_new(inplace, json_integer(cost->inplace[k]));
    const struct member {
        const char *name;
        json_t *value;
    } members[] = {
        { "measured", json_boolean(cost->state == COST_MEASURED) },
        { "passing", json_boolean(cost->passing) },
        { "cost_ns", json_real(finite_or_minus_one(cost->cost_ns)) },
        { "minimum_ns", json_real(finite_or_minus_one(cost->minimum_ns)) },
        { "low_ns", json_real(finite_or_minus_one(cost->low_ns)) },
        { "high_ns", json_real(finite_or_minus_one(cost->high_ns)) },
        { "error", json_real(finite_or_minus_one(cost->error)) },
        { "samples", json_integer(cost->sample_count) },
        { "weight_bytes", json_integer((json_int_t)cost->weight_bytes) },
        { "scratch_bytes", json_integer((json_int_t)cost->scratch_bytes) },
        { "inplace", inplace },
        { "implementation", json_text(cost->implementation ? cost->implementation : "") },
        { "reason", json_text(cost->reason ? cost->reason : "") },
    };
    bool ok = json != NULL;
    for (size_t k = 0; k < sizeof members / sizeof *members; k++) /* takes over all values */
        ok = json_object_set_new(json, members[k].name, members[k].value) == 0 && ok;
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

static bool read_number(const json_t *json, const char *name, double *out)
{
    const json_t *value = json_object_get(json, name);
    *out = json_number_value(value);
    return json_is_number(value);
}

static bool read_count(const json_t *json, const char *name, uint64_t *out)
{
    const json_t *value = json_object_get(json, name);
    json_int_t number = json_integer_value(value);
    *out = number > 0 ? (uint64_t)number : 0;
    return json_is_integer(value) && number >= 0;
}

static bool read_inplace(const json_t *list, struct cost *out)
{
    size_t count = json_array_size(list);
    if (count > sizeof out->inplace / sizeof *out->inplace || count % 2)
        return false;
    for (size_t k = 0; k < count; k++) {
        json_int_t index = json_integer_value(json_array_get(list, k));
        if (index < 0 || index > UINT32_MAX)
            return false;
        out->inplace[k] = (uint32_t)index;
    }
    out->inplace_count = (uint32_t)count / 2;
    return true;
}

/* Absent is ""; NULL if out of memory. */
static const char *read_string(const json_t *json, const char *name, struct arena *arena)
{
    const char *text = json_string_value(json_object_get(json, name));
    return arena_string(arena, text ? text : "");
}

collage_status protocol_read_cost(const json_t *json, struct arena *arena, struct cost *out)
{
    *out = (struct cost){ .state = json_is_true(json_object_get(json, "measured")) ? COST_MEASURED
                                                                                   : COST_FAILED };
    out->passing = out->state == COST_FAILED && json_is_true(json_object_get(json, "passing"));
    out->implementation = read_string(json, "implementation", arena);
    out->reason = read_string(json, "reason", arena);
    uint64_t samples = 0;
    if (!out->implementation || !out->reason)
        return COLLAGE_ERROR_MEMORY;
    if (!read_number(json, "cost_ns", &out->cost_ns) ||
        !read_number(json, "minimum_ns", &out->minimum_ns) ||
        !read_number(json, "low_ns", &out->low_ns) ||
        !read_number(json, "high_ns", &out->high_ns) || !read_number(json, "error", &out->error) ||
        !read_count(json, "samples", &samples) ||
        !read_count(json, "weight_bytes", &out->weight_bytes) ||
        !read_count(json, "scratch_bytes", &out->scratch_bytes) ||
        !read_inplace(json_object_get(json, "inplace"), out))
        return COLLAGE_ERROR_FORMAT;
    out->sample_count = (uint32_t)samples;
    if (out->error < 0)
        out->error = (double)INFINITY;
    bool sane = out->state == COST_FAILED || (out->cost_ns >= 0 && isfinite(out->error));
    return sane ? COLLAGE_OK : COLLAGE_ERROR_FORMAT;
}
