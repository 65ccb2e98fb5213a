/* SPDX-License-Identifier: Apache-2.0 */
/* model_builder.h: ONNX models for the tests of this folder, made message by message. */
#ifndef COLLAGE_TESTS_MODEL_BUILDER_H
#define COLLAGE_TESTS_MODEL_BUILDER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "graph/verify.h"
#include "onnx/message.h"
#include "onnx/onnx.h"

enum { BUILDER_ITEMS = 32 };

struct model_builder {
    struct arena *arena;
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    Onnx__OperatorSetIdProto opset;
    Onnx__OperatorSetIdProto *opsets[1];
    Onnx__NodeProto *nodes[BUILDER_ITEMS];
    Onnx__TensorProto *initializers[BUILDER_ITEMS];
    Onnx__ValueInfoProto *inputs[BUILDER_ITEMS], *outputs[BUILDER_ITEMS];
    Onnx__StringStringEntryProto *properties[BUILDER_ITEMS];
};

static inline void builder_begin(struct model_builder *b, int64_t opset)
{
    memset(b, 0, sizeof *b);
    b->arena = arena_create();
    onnx__model_proto__init(&b->model);
    onnx__graph_proto__init(&b->graph);
    onnx__operator_set_id_proto__init(&b->opset);
    b->opset.has_version = true;
    b->opset.version = opset;
    b->opsets[0] = &b->opset;
    b->model.has_ir_version = true;
    b->model.ir_version = 8;
    b->model.n_opset_import = 1;
    b->model.opset_import = b->opsets;
    b->model.graph = &b->graph;
    b->model.metadata_props = b->properties;
    b->graph.name = arena_string(b->arena, "test");
    b->graph.node = b->nodes;
    b->graph.initializer = b->initializers;
    b->graph.input = b->inputs;
    b->graph.output = b->outputs;
}

static inline void builder_end(struct model_builder *b)
{
    arena_destroy(b->arena);
}

/* shape: "1x3xN", NULL for none, "" for a scalar. */
static inline Onnx__ValueInfoProto *builder_port(struct model_builder *b, const char *name,
                                                 collage_dtype dtype, const char *shape)
{
    Onnx__ValueInfoProto *info = arena_alloc(b->arena, sizeof *info);
    Onnx__TypeProto *type = arena_alloc(b->arena, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = arena_alloc(b->arena, sizeof *tensor);
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    info->name = arena_string(b->arena, name);
    info->type = type;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    tensor->has_elem_type = true;
    tensor->elem_type = (int32_t)dtype;
    if (!shape)
        return info;
    tensor->shape = arena_alloc(b->arena, sizeof *tensor->shape);
    onnx__tensor_shape_proto__init(tensor->shape);
    tensor->shape->dim = arena_array(b->arena, BUILDER_ITEMS, sizeof(void *));
    for (char *at = arena_string(b->arena, shape); *at;) {
        Onnx__TensorShapeProto__Dimension *dim = arena_alloc(b->arena, sizeof *dim);
        onnx__tensor_shape_proto__dimension__init(dim);
        char *end = at + strcspn(at, "x");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        if (at[0] >= 'A' && at[0] <= 'Z') {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            dim->dim_param = at;
        } else if (at[0] != '?') {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dim->dim_value = atoll(at);
        }
        tensor->shape->dim[tensor->shape->n_dim++] = dim;
        at = next;
    }
    return info;
}

static inline void builder_input(struct model_builder *b, const char *name, collage_dtype dtype,
                                 const char *shape)
{
    b->inputs[b->graph.n_input++] = builder_port(b, name, dtype, shape);
}

static inline void builder_output(struct model_builder *b, const char *name)
{
    b->outputs[b->graph.n_output++] = builder_port(b, name, COLLAGE_FLOAT32, NULL);
}

static inline Onnx__TensorProto *builder_tensor(struct model_builder *b, const char *name,
                                                collage_dtype dtype, int64_t count,
                                                const void *data)
{
    Onnx__TensorProto *tensor = arena_alloc(b->arena, sizeof *tensor);
    onnx__tensor_proto__init(tensor);
    tensor->name = arena_string(b->arena, name);
    tensor->has_data_type = true;
    tensor->data_type = (int32_t)dtype;
    tensor->n_dims = 1;
    tensor->dims = arena_copy(b->arena, &count, sizeof count);
    size_t bytes = (size_t)count * dtype_size(dtype);
    tensor->has_raw_data = true;
    tensor->raw_data = (ProtobufCBinaryData){ bytes, arena_copy(b->arena, data, bytes) };
    return tensor;
}

static inline Onnx__TensorProto *builder_initializer(struct model_builder *b, const char *name,
                                                     collage_dtype dtype, int64_t count,
                                                     const void *data)
{
    return b->initializers[b->graph.n_initializer++] = builder_tensor(b, name, dtype, count, data);
}

/* A comma-separated list; an empty item is a left-out value. */
static inline char **builder_list(struct model_builder *b, const char *list, size_t *count)
{
    char **items = arena_array(b->arena, BUILDER_ITEMS, sizeof *items);
    *count = 0;
    for (char *at = arena_string(b->arena, list);;) {
        char *end = at + strcspn(at, ",");
        bool last = !*end;
        *end = '\0';
        items[(*count)++] = at;
        if (last)
            return items;
        at = end + 1;
    }
}

static inline Onnx__NodeProto *builder_node(struct model_builder *b, const char *op,
                                            const char *inputs, const char *outputs)
{
    Onnx__NodeProto *node = arena_alloc(b->arena, sizeof *node);
    onnx__node_proto__init(node);
    node->op_type = arena_string(b->arena, op);
    node->name = arena_format(b->arena, "the_%s", op);
    node->input = builder_list(b, inputs, &node->n_input);
    node->output = builder_list(b, outputs, &node->n_output);
    node->attribute = arena_array(b->arena, BUILDER_ITEMS, sizeof(void *));
    return b->nodes[b->graph.n_node++] = node;
}

static inline Onnx__AttributeProto *builder_attribute(struct model_builder *b, const char *name,
                                                      Onnx__AttributeProto__AttributeType type)
{
    Onnx__NodeProto *node = b->nodes[b->graph.n_node - 1];
    Onnx__AttributeProto *a = arena_alloc(b->arena, sizeof *a);
    onnx__attribute_proto__init(a);
    a->name = arena_string(b->arena, name);
    a->has_type = true;
    a->type = type;
    return node->attribute[node->n_attribute++] = a;
}

static inline void builder_int(struct model_builder *b, const char *name, int64_t value)
{
    Onnx__AttributeProto *a =
        builder_attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    a->has_i = true;
    a->i = value;
}

static inline void builder_float(struct model_builder *b, const char *name, float value)
{
    Onnx__AttributeProto *a =
        builder_attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    a->has_f = true;
    a->f = value;
}

static inline void builder_ints(struct model_builder *b, const char *name, size_t count,
                                const int64_t *values)
{
    Onnx__AttributeProto *a =
        builder_attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    a->n_ints = count;
    a->ints = arena_copy(b->arena, values, count * sizeof *values);
}

/* A sub-graph of the last node. The body is built like a model of its own. */
static inline void builder_body(struct model_builder *b, const char *name,
                                struct model_builder *body)
{
    builder_attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g = &body->graph;
}

static inline void builder_floats(struct model_builder *b, const char *name, size_t count,
                                  const float *values)
{
    Onnx__AttributeProto *a =
        builder_attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    a->n_floats = count;
    a->floats = arena_copy(b->arena, values, count * sizeof *values);
}

static inline void builder_string(struct model_builder *b, const char *name, const char *value)
{
    Onnx__AttributeProto *a =
        builder_attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    a->has_s = true;
    a->s = (ProtobufCBinaryData){ strlen(value), arena_copy(b->arena, value, strlen(value)) };
}

static inline collage_status builder_import(struct model_builder *b, const char *path,
                                            const collage_shape *shapes, size_t shape_count,
                                            struct graph **graph, struct error *error)
{
    size_t size = onnx__model_proto__get_packed_size(&b->model);
    uint8_t *bytes = arena_alloc(b->arena, size);
    onnx__model_proto__pack(&b->model, bytes);
    error_clear(error);
    return onnx_import_bytes(bytes, size, path, shapes, shape_count, graph, error);
}

/* Expects success. */
static inline struct graph *builder_graph(struct model_builder *b)
{
    struct graph *graph;
    struct error error;
    if (builder_import(b, NULL, NULL, 0, &graph, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    builder_end(b);
    return graph;
}

/* Expects failure with that message in it. */
static inline void builder_refused(struct model_builder *b, collage_status status,
                                   const char *message)
{
    struct graph *graph;
    struct error error;
    collage_status got = builder_import(b, NULL, NULL, 0, &graph, &error);
    if (got != status || !strstr(error.text, message))
        fail_msg("status %d, '%s' instead of %d, '%s'", got, error.text, status, message);
    assert_null(graph);
    builder_end(b);
}

#endif
