/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The import: unpack, declare initializers and inputs, then put the nodes into the graph in
 * topological order, each upgraded, inferred and (if it is shape arithmetic) evaluated at once.
 */
#include <string.h>

#include "graph/verify.h"
#include "onnx/draft.h"
#include "onnx/scope.h"

/* ---- the header ---- */

collage_status importer_check_opset(const struct importer *importer, int64_t opset,
                                    struct error *error)
{
    enum { OLDEST_OPSET = 7 };
    if (opset < OLDEST_OPSET || opset > OPS_OPSET)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "'%s' uses opset %lld; opsets %d to %d are supported", importer->path,
                         (long long)opset, OLDEST_OPSET, OPS_OPSET);
    return COLLAGE_OK;
}

static collage_status read_opset(struct importer *importer, struct error *error)
{
    const Onnx__ModelProto *model = importer->model;
    for (size_t k = 0; k < model->n_opset_import; k++) {
        const char *domain = message_string(model->opset_import[k]->domain);
        if (!domain[0] || strcmp(domain, "ai.onnx") == 0)
            importer->opset = model->opset_import[k]->version;
    }
    return importer_check_opset(importer, importer->opset, error);
}

static collage_status check_header(struct importer *importer, struct error *error)
{
    const Onnx__ModelProto *model = importer->model;
    if (!model->graph || !model->has_ir_version || model->n_opset_import == 0)
        return error_set(error, COLLAGE_ERROR_FORMAT, "'%s' is not an ONNX model", importer->path);
    if (model->graph->n_sparse_initializer > 0)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "'%s' has sparse initializers, which are not supported", importer->path);
    return read_opset(importer, error);
}

static collage_status read_properties(struct importer *importer, struct error *error)
{
    const Onnx__ModelProto *model = importer->model;
    struct graph *graph = importer->graph;
    graph->name = arena_string(graph->arena, message_string(model->graph->name));
    graph->path = arena_string(graph->arena, importer->path);
    graph->properties =
        arena_array(graph->arena, model->n_metadata_props, sizeof *graph->properties);
    if (!graph->name || !graph->path || !graph->properties) {
        graph->name = graph->path = "";
        return error_memory(error);
    }
    for (size_t k = 0; k < model->n_metadata_props; k++) {
        const Onnx__StringStringEntryProto *entry = model->metadata_props[k];
        struct graph_property *property = &graph->properties[k];
        property->key = arena_string(graph->arena, message_string(entry->key));
        property->value = arena_string(graph->arena, message_string(entry->value));
        if (!property->key || !property->value)
            return error_memory(error);
        graph->property_count++;
    }
    return COLLAGE_OK;
}

/* ---- the graph ---- */

/* A value that a function or a sub-graph made has a longer name in the graph than the model's
 * output: it gets that one. An output that has been given out already is copied. */
static collage_status name_output(struct importer *importer, const char *name,
                                  const value_id *given, size_t given_count, value_id *id,
                                  struct error *error)
{
    struct value *value = &importer->graph->values[*id];
    if (strcmp(value->name, name) == 0)
        return COLLAGE_OK;
    bool is_new = value->kind == VALUE_COMPUTED;
    for (size_t k = 0; k < given_count; k++)
        is_new = is_new && given[k] != *id;
    if (is_new) {
        value->name = arena_string(importer->graph->arena, name);
        return value->name ? COLLAGE_OK : error_memory(error);
    }
    value_id copy;
    const char *copy_name = arena_string(importer->graph->arena, name);
    if (!copy_name)
        return error_memory(error);
    const struct draft as_output = { .name = copy_name };
    const struct draft_step step = { "Identity", id, 1, NULL, 0 };
    collage_status status = draft_emit_step(importer, &as_output, &step, &copy, error);
    if (status == COLLAGE_OK)
        importer->graph->values[copy].name = copy_name;
    *id = copy;
    return status;
}

static collage_status read_outputs(struct importer *importer, struct error *error)
{
    const Onnx__GraphProto *graph = importer->model->graph;
    if (graph->n_output == 0)
        return error_set(error, COLLAGE_ERROR_FORMAT, "'%s' has no outputs", importer->path);
    value_id *ids = memory_alloc(graph->n_output * sizeof *ids);
    if (!ids)
        return error_memory(error);
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; status == COLLAGE_OK && k < graph->n_output; k++) {
        const char *name = message_string(graph->output[k]->name);
        if (!scope_find(importer, name, &ids[k]) || ids[k] == GRAPH_NONE)
            status = scope_missing(importer, "the model's output", name, error);
        else
            status = name_output(importer, name, ids, k, &ids[k], error);
    }
    if (status == COLLAGE_OK)
        status = graph_set_outputs(importer->graph, ids, (uint32_t)graph->n_output, error);
    memory_free(ids);
    return status;
}

/* Since IR version 4 an initializer that is listed among the inputs too is only the default of one.
 * It is taken as a constant, unless the caller gives the shape of that input: then it is an input
 * like any other. */
static bool is_left_as_input(const struct importer *importer, const char *name,
                             const collage_shape *shapes, size_t shape_count)
{
    enum { DEFAULTS_SINCE = 4 };
    const Onnx__GraphProto *graph = importer->model->graph;
    bool is_named = false, is_listed = false;
    if (importer->model->ir_version < DEFAULTS_SINCE)
        return false;
    for (size_t k = 0; k < shape_count && !is_named; k++)
        is_named = strcmp(shapes[k].name, name) == 0;
    for (size_t k = 0; k < graph->n_input && is_named && !is_listed; k++)
        is_listed = strcmp(message_string(graph->input[k]->name), name) == 0;
    return is_listed;
}

static collage_status import_initializers(struct importer *importer, const collage_shape *shapes,
                                          size_t shape_count, struct error *error)
{
    const Onnx__GraphProto *graph = importer->model->graph;
    Onnx__TensorProto **constants = memory_alloc(graph->n_initializer * sizeof *constants);
    size_t count = 0;
    if (!constants)
        return error_memory(error);
    for (size_t k = 0; k < graph->n_initializer; k++)
        if (!is_left_as_input(importer, message_string(graph->initializer[k]->name), shapes,
                              shape_count))
            constants[count++] = graph->initializer[k];
    const struct body body = { .initializers = constants, .initializer_count = count };
    collage_status status = scope_import_constants(importer, &body, error);
    memory_free(constants);
    return status;
}

static collage_status import_all(struct importer *importer, const collage_shape *shapes,
                                 size_t shape_count, struct error *error)
{
    collage_status status = check_header(importer, error);
    if (status != COLLAGE_OK)
        return status;
    const Onnx__GraphProto *graph = importer->model->graph;
    const struct body body = { .nodes = graph->node, .node_count = graph->n_node };
    status = read_properties(importer, error);
    if (status == COLLAGE_OK)
        status = import_initializers(importer, shapes, shape_count, error);
    if (status == COLLAGE_OK)
        status = importer_inputs(importer, shapes, shape_count, error);
    if (status == COLLAGE_OK)
        status = scope_import_nodes(importer, &body, error);
    if (status == COLLAGE_OK)
        status = read_outputs(importer, error);
    if (status == COLLAGE_OK)
        status = graph_compact(importer->graph, error);
    if (status == COLLAGE_OK)
        status = graph_verify(importer->graph, error);
    return status;
}

/* The mappings become the graph's, the identity of all files its source. */
static void hand_over(struct importer *importer)
{
    importer->graph->mappings = importer->external.mappings;
    importer->graph->mapping_count = importer->external.count;
    if (importer->external.identity)
        importer->graph->source = hash_end(importer->external.identity);
    external_close(&importer->external);
    name_map_free(&importer->values);
    name_map_free(&importer->producers);
    name_map_free(&importer->inner_names);
    memory_free(importer->loops);
}

static collage_status import_bytes(struct importer *importer, const void *bytes, size_t count,
                                   const collage_shape *shapes, size_t shape_count,
                                   struct error *error)
{
    Onnx__ModelProto *model = NULL;
    importer->external.identity = hash_begin();
    if (!importer->external.identity)
        return error_memory(error);
    collage_status status = message_unpack_model(bytes, count, importer->path, &model, error);
    importer->model = model;
    if (status == COLLAGE_OK) { /* a file that is refused for its size is not read */
        hash_bytes(importer->external.identity, bytes, count);
        status = import_all(importer, shapes, shape_count, error);
    }
    message_free_model(model);
    return status;
}

collage_status onnx_import_bytes(const void *bytes, size_t count, const char *path,
                                 const collage_shape *shapes, size_t shape_count,
                                 struct graph **out, struct error *error)
{
    struct importer importer = { .graph = graph_create(), .path = path ? path : "" };
    struct error none = { 0 }; /* the import reads back what it reports */
    error = error ? error : &none;
    *out = NULL;
    if (!importer.graph)
        return error_memory(error);
    collage_status status = path ? external_open(path, &importer.external, error) : COLLAGE_OK;
    if (status == COLLAGE_OK)
        status = import_bytes(&importer, bytes, count, shapes, shape_count, error);
    hand_over(&importer);
    if (status == COLLAGE_OK)
        *out = importer.graph;
    else
        graph_destroy(importer.graph);
    return status;
}

collage_status onnx_import(const char *path, const collage_shape *shapes, size_t shape_count,
                           struct graph **out, struct error *error)
{
    struct mapping file;
    *out = NULL;
    collage_status status = file_map(path, &file, error);
    if (status != COLLAGE_OK)
        return status;
    status = onnx_import_bytes(file.data, file.bytes, path, shapes, shape_count, out, error);
    file_unmap(&file);
    return status;
}
