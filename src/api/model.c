/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "graph/graph_text.h"
#include "onnx/onnx.h"
#include "reference/example_input.h"
#include "tensor/npy.h"

void collage_model_destroy(collage_model *model)
{
    if (!model)
        return;
    graph_destroy(model->graph);
    arena_destroy(model->arena);
    memory_free(model->path);
    memory_free(model);
}

static collage_status copy_shapes(collage_model *model, const collage_shape *shapes, size_t count)
{
    model->shapes = arena_array(model->arena, count, sizeof *model->shapes);
    if (!model->shapes)
        return COLLAGE_ERROR_MEMORY;
    for (size_t k = 0; k < count; k++) {
        model->shapes[k] = shapes[k];
        model->shapes[k].name = arena_string(model->arena, shapes[k].name);
        if (!model->shapes[k].name)
            return COLLAGE_ERROR_MEMORY;
    }
    model->shape_count = count;
    return COLLAGE_OK;
}

collage_status model_wrap(struct graph *graph, const char *path, const collage_shape *shapes,
                          size_t shape_count, collage_model **out, struct error *error)
{
    char absolute[PATH_MAX];
    collage_model *model = memory_alloc(sizeof *model);
    if (!model) {
        graph_destroy(graph);
        return error_memory(error);
    }
    model->graph = graph;
    model->arena = arena_create();
    model->path = memory_copy_string(realpath(path, absolute) ? absolute : path);
    if (!model->arena || !model->path || copy_shapes(model, shapes, shape_count) != COLLAGE_OK) {
        collage_model_destroy(model);
        return error_memory(error);
    }
    *out = model;
    return COLLAGE_OK;
}

static collage_status check_shapes(const collage_shape *shapes, size_t count, struct error *error)
{
    for (size_t k = 0; k < count; k++) {
        if (!shapes[k].name)
            return error_set(error, COLLAGE_ERROR_ARGUMENT, "shape %zu names no input", k);
        if (shapes[k].rank < 0 || shapes[k].rank > COLLAGE_MAX_RANK)
            return error_set(error, COLLAGE_ERROR_ARGUMENT,
                             "the shape of '%s' has rank %d; at most %d", shapes[k].name,
                             shapes[k].rank, COLLAGE_MAX_RANK);
    }
    return COLLAGE_OK;
}

collage_status collage_model_load(collage_context *context, const char *path,
                                  const collage_shape *shapes, size_t shape_count,
                                  collage_model **out)
{
    struct error *error = context_begin(context);
    if (!path || !out || (shape_count && !shapes))
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_model_load: a pointer is NULL");
    *out = NULL;
    struct graph *graph = NULL;
    collage_status status = check_shapes(shapes, shape_count, error);
    if (status == COLLAGE_OK)
        status = pipeline_load(path, shapes, shape_count, &graph, error);
    if (status != COLLAGE_OK)
        return status;
    return model_wrap(graph, path, shapes, shape_count, out, error);
}

size_t collage_model_input_count(const collage_model *model)
{
    return model->graph->input_count;
}

size_t collage_model_output_count(const collage_model *model)
{
    return model->graph->output_count;
}

static collage_status describe(const struct graph *graph, const value_id *ids, size_t count,
                               size_t index, collage_tensor_info *info)
{
    if (index >= count || !info || info->struct_size < sizeof *info)
        return COLLAGE_ERROR_ARGUMENT;
    const struct value *value = &graph->values[ids[index]];
    info->name = value->name;
    info->dtype = value->tensor.dtype;
    info->rank = value->tensor.rank;
    memcpy(info->dims, value->tensor.dims, sizeof info->dims);
    return COLLAGE_OK;
}

collage_status collage_model_input(const collage_model *model, size_t index,
                                   collage_tensor_info *info)
{
    return describe(model->graph, model->graph->inputs, model->graph->input_count, index, info);
}

collage_status collage_model_output(const collage_model *model, size_t index,
                                    collage_tensor_info *info)
{
    return describe(model->graph, model->graph->outputs, model->graph->output_count, index, info);
}

collage_status collage_model_print(collage_context *context, const collage_model *model,
                                   bool summary, collage_write_fn write, void *user)
{
    struct error *error = context_begin(context);
    struct text text = { 0 };
    if (summary)
        graph_print_summary(model->graph, &text);
    else
        graph_print(model->graph, &text);
    collage_status status = COLLAGE_OK;
    if (text.failed)
        status = error_memory(error);
    else if (!text_write(&text, write, user))
        status = error_set(error, COLLAGE_ERROR_IO, "the text could not be written");
    text_free(&text);
    return status;
}

collage_status collage_model_example_input(collage_context *context, const collage_model *model,
                                           size_t index, void *data, size_t bytes)
{
    struct error *error = context_begin(context);
    if (index >= model->graph->input_count || !data)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "the model has no input number %zu", index);
    struct tensor tensor = model->graph->values[model->graph->inputs[index]].tensor;
    if (bytes != tensor_bytes(&tensor))
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "input %zu has %llu bytes, not %zu", index,
                         (unsigned long long)tensor_bytes(&tensor), bytes);
    tensor.data = data;
    return example_input(model->graph, (uint32_t)index, &tensor, error);
}

collage_status collage_weights_fill(collage_context *context, const char *model_path,
                                    const char *directory, uint64_t *bytes_written)
{
    struct error *error = context_begin(context);
    uint64_t bytes = 0;
    if (!model_path)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_weights_fill: no model");
    collage_status status = onnx_weights_fill(model_path, directory, &bytes, error);
    if (bytes_written)
        *bytes_written = bytes;
    return status;
}
