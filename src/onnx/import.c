/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The import: unpack, declare initializers and inputs, then put the nodes into the graph in
 * topological order, each upgraded, inferred and (if it is shape arithmetic) evaluated at once.
 */
#include <string.h>

#include "graph/verify.h"
#include "onnx/import_order.h"
#include "onnx/importer.h"

/* ---- the header ---- */

static collage_status read_opset(struct importer *importer, struct error *error)
{
    enum { OLDEST_OPSET = 7 };
    const Onnx__ModelProto *model = importer->model;
    for (size_t k = 0; k < model->n_opset_import; k++) {
        const char *domain = message_string(model->opset_import[k]->domain);
        if (!domain[0] || strcmp(domain, "ai.onnx") == 0)
            importer->opset = model->opset_import[k]->version;
    }
    if (importer->opset < OLDEST_OPSET || importer->opset > OPS_OPSET)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "'%s' uses opset %lld; opsets %d to %d are supported", importer->path,
                         (long long)importer->opset, OLDEST_OPSET, OPS_OPSET);
    return COLLAGE_OK;
}

static collage_status check_header(struct importer *importer, struct error *error)
{
    const Onnx__ModelProto *model = importer->model;
    if (!model->graph || !model->has_ir_version || model->n_opset_import == 0)
        return error_set(error, COLLAGE_ERROR_FORMAT, "'%s' is not an ONNX model", importer->path);
    if (model->n_functions > 0)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "'%s' has model-local functions, which are not supported: inline them",
                         importer->path);
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

static collage_status read_initializers(struct importer *importer, struct error *error)
{
    const Onnx__GraphProto *graph = importer->model->graph;
    for (size_t k = 0; k < graph->n_initializer; k++) {
        struct tensor tensor;
        value_id id;
        const char *name = message_string(graph->initializer[k]->name);
        collage_status status =
            importer_tensor(importer, graph->initializer[k], name, &tensor, error);
        if (status == COLLAGE_OK)
            status = importer_value(importer, name, VALUE_CONSTANT, &tensor, &id, error);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

static collage_status read_nodes(struct importer *importer, struct error *error)
{
    const Onnx__GraphProto *graph = importer->model->graph;
    uint32_t *order;
    collage_status status = import_order(graph, &importer->producers, &order, error);
    for (size_t i = 0; status == COLLAGE_OK && i < graph->n_node; i++)
        status = importer_node(importer, graph->node[order[i]], error);
    memory_free(order);
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
        ids[k] = name_map_find(&importer->values, name);
        if (ids[k] == NAME_MAP_NONE)
            status = error_set(error, COLLAGE_ERROR_FORMAT,
                               "the model's output '%s' is made by no node", name);
    }
    if (status == COLLAGE_OK)
        status = graph_set_outputs(importer->graph, ids, (uint32_t)graph->n_output, error);
    memory_free(ids);
    return status;
}

static collage_status import_all(struct importer *importer, const collage_shape *shapes,
                                 size_t shape_count, struct error *error)
{
    collage_status status = check_header(importer, error);
    if (status == COLLAGE_OK)
        status = read_properties(importer, error);
    if (status == COLLAGE_OK)
        status = read_initializers(importer, error);
    if (status == COLLAGE_OK)
        status = importer_inputs(importer, shapes, shape_count, error);
    if (status == COLLAGE_OK)
        status = read_nodes(importer, error);
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
}

static collage_status import_bytes(struct importer *importer, const void *bytes, size_t count,
                                   const collage_shape *shapes, size_t shape_count,
                                   struct error *error)
{
    Onnx__ModelProto *model = NULL;
    importer->external.identity = hash_begin();
    if (!importer->external.identity)
        return error_memory(error);
    hash_bytes(importer->external.identity, bytes, count);
    collage_status status = message_unpack_model(bytes, count, importer->path, &model, error);
    importer->model = model;
    if (status == COLLAGE_OK)
        status = import_all(importer, shapes, shape_count, error);
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
