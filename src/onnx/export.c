/* SPDX-License-Identifier: Apache-2.0 */
/* A sub-graph as an ONNX model. Messages and strings lie in one arena; constants are not copied
 * before packing. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "graph/name_map.h"
#include "onnx/message.h"
#include "onnx/onnx.h"

enum { IR_VERSION = 10 };
static const uint64_t MODEL_LIMIT = ((uint64_t)2 << 30) - 1; /* protobuf's */

struct exporter {
    struct arena *arena;
    const collage_subgraph *subgraph;
    uint64_t inline_limit;
    Onnx__GraphProto graph;
    struct name_map node_names; /* those given so far */
    bool failed;                /* out of memory */
};

static void *allocate(struct exporter *exporter, size_t count, size_t size)
{
    void *block = arena_array(exporter->arena, count, size);
    exporter->failed = exporter->failed || !block;
    return block;
}

/* protobuf-c's messages hold their strings and bytes as mutable, but packing only reads them. */
static char *as_string(const char *text)
{
    return (char *)(uintptr_t)text;
}

static void *as_data(const void *data)
{
    return (void *)(uintptr_t)data;
}

static char *value_name(const struct exporter *exporter, uint32_t value)
{
    return as_string(value == COLLAGE_NO_VALUE ? "" : exporter->subgraph->values[value]->name);
}

/* ---- attributes and nodes ---- */

static void set_attribute(Onnx__AttributeProto *out, const collage_attribute *a)
{
    static const Onnx__AttributeProto__AttributeType types[] = {
        [COLLAGE_ATTRIBUTE_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
        [COLLAGE_ATTRIBUTE_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
        [COLLAGE_ATTRIBUTE_STRING] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
        [COLLAGE_ATTRIBUTE_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
        [COLLAGE_ATTRIBUTE_FLOATS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS,
    };
    onnx__attribute_proto__init(out);
    out->name = as_string(a->name);
    out->has_type = true;
    out->type = types[a->kind];
    out->has_i = a->kind == COLLAGE_ATTRIBUTE_INT;
    out->i = a->i;
    out->has_f = a->kind == COLLAGE_ATTRIBUTE_FLOAT;
    out->f = a->f;
    out->has_s = a->kind == COLLAGE_ATTRIBUTE_STRING;
    if (out->has_s)
        out->s = (ProtobufCBinaryData){ a->count, as_data(a->s) };
    out->n_ints = a->kind == COLLAGE_ATTRIBUTE_INTS ? a->count : 0;
    out->ints = as_data(a->ints);
    out->n_floats = a->kind == COLLAGE_ATTRIBUTE_FLOATS ? a->count : 0;
    out->floats = as_data(a->floats);
}

static char **value_names(struct exporter *exporter, const uint32_t *values, uint32_t count)
{
    char **names = allocate(exporter, count, sizeof *names);
    for (uint32_t k = 0; names && k < count; k++)
        names[k] = value_name(exporter, values[k]);
    return names;
}

/* ONNX Runtime refuses two nodes of one name; a node without a name is fine. */
static char *node_name(struct exporter *exporter, const collage_node *node)
{
    if (!node->name[0] || name_map_find(&exporter->node_names, node->name) != NAME_MAP_NONE)
        return as_string("");
    if (!name_map_add(&exporter->node_names, node->name, 0))
        exporter->failed = true;
    return as_string(node->name);
}

static Onnx__NodeProto *make_node(struct exporter *exporter, const collage_node *node)
{
    Onnx__NodeProto *out = allocate(exporter, 1, sizeof *out);
    Onnx__AttributeProto *attributes =
        allocate(exporter, node->attribute_count, sizeof *attributes);
    Onnx__AttributeProto **list = allocate(exporter, node->attribute_count, sizeof *list);
    if (!out || !attributes || !list)
        return NULL;
    for (uint32_t k = 0; k < node->attribute_count; k++) {
        set_attribute(&attributes[k], &node->attributes[k]);
        list[k] = &attributes[k];
    }
    onnx__node_proto__init(out);
    out->op_type = as_string(node->op_type);
    out->name = node_name(exporter, node);
    out->n_input = node->input_count;
    out->input = value_names(exporter, node->inputs, node->input_count);
    out->n_output = node->output_count;
    out->output = value_names(exporter, node->outputs, node->output_count);
    out->n_attribute = node->attribute_count;
    out->attribute = list;
    return out;
}

/* ---- constants ---- */

static void add_entry(struct exporter *exporter, Onnx__TensorProto *tensor, const char *key,
                      const char *value)
{
    Onnx__StringStringEntryProto *entry = allocate(exporter, 1, sizeof *entry);
    if (!entry)
        return;
    onnx__string_string_entry_proto__init(entry);
    entry->key = as_string(key);
    entry->value = as_string(value);
    tensor->external_data[tensor->n_external_data++] = entry;
}

static void make_external(struct exporter *exporter, Onnx__TensorProto *tensor, uint64_t bytes)
{
    char *length = arena_format(exporter->arena, "%" PRIu64, bytes);
    tensor->external_data = allocate(exporter, 3, sizeof *tensor->external_data);
    tensor->has_data_location = true;
    tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    exporter->failed = exporter->failed || !length;
    if (exporter->failed)
        return;
    add_entry(exporter, tensor, "location", "collage");
    add_entry(exporter, tensor, "offset", "0");
    add_entry(exporter, tensor, "length", length);
}

static Onnx__TensorProto *make_initializer(struct exporter *exporter, const collage_value *value)
{
    Onnx__TensorProto *tensor = allocate(exporter, 1, sizeof *tensor);
    if (!tensor)
        return NULL;
    onnx__tensor_proto__init(tensor);
    tensor->name = as_string(value->name);
    tensor->has_data_type = true;
    tensor->data_type = (int32_t)value->dtype;
    tensor->n_dims = (size_t)value->rank;
    tensor->dims = as_data(value->dims);
    if (value->bytes > exporter->inline_limit) {
        make_external(exporter, tensor, value->bytes);
    } else {
        tensor->has_raw_data = true;
        tensor->raw_data = (ProtobufCBinaryData){ (size_t)value->bytes, as_data(value->data) };
    }
    return tensor;
}

static void make_initializers(struct exporter *exporter)
{
    const collage_subgraph *subgraph = exporter->subgraph;
    Onnx__GraphProto *graph = &exporter->graph;
    graph->initializer = allocate(exporter, subgraph->value_count, sizeof *graph->initializer);
    for (uint32_t v = 0; graph->initializer && v < subgraph->value_count; v++)
        if (subgraph->values[v]->data)
            graph->initializer[graph->n_initializer++] =
                make_initializer(exporter, subgraph->values[v]);
}

/* ---- inputs and outputs ---- */

static Onnx__TensorShapeProto *make_shape(struct exporter *exporter, const collage_value *value)
{
    size_t rank = (size_t)value->rank;
    Onnx__TensorShapeProto *shape = allocate(exporter, 1, sizeof *shape);
    Onnx__TensorShapeProto__Dimension *dims = allocate(exporter, rank, sizeof *dims);
    Onnx__TensorShapeProto__Dimension **list = allocate(exporter, rank, sizeof *list);
    if (!shape || !dims || !list)
        return NULL;
    onnx__tensor_shape_proto__init(shape);
    for (size_t k = 0; k < rank; k++) {
        onnx__tensor_shape_proto__dimension__init(&dims[k]);
        dims[k].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        dims[k].dim_value = value->dims[k];
        list[k] = &dims[k];
    }
    shape->n_dim = rank;
    shape->dim = list;
    return shape;
}

static Onnx__ValueInfoProto *make_port(struct exporter *exporter, uint32_t value, const char *name)
{
    const collage_value *v = exporter->subgraph->values[value];
    Onnx__ValueInfoProto *info = allocate(exporter, 1, sizeof *info);
    Onnx__TypeProto *type = allocate(exporter, 1, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = allocate(exporter, 1, sizeof *tensor);
    if (!info || !type || !tensor)
        return NULL;
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    tensor->has_elem_type = true;
    tensor->elem_type = (int32_t)v->dtype;
    tensor->shape = make_shape(exporter, v);
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    info->name = as_string(name);
    info->type = type;
    return info;
}

static void make_inputs(struct exporter *exporter)
{
    const collage_subgraph *subgraph = exporter->subgraph;
    Onnx__GraphProto *graph = &exporter->graph;
    graph->input = allocate(exporter, subgraph->input_count, sizeof *graph->input);
    for (uint32_t k = 0; graph->input && k < subgraph->input_count; k++)
        graph->input[graph->n_input++] =
            make_port(exporter, subgraph->inputs[k], value_name(exporter, subgraph->inputs[k]));
}

static bool is_name(const collage_subgraph *subgraph, const char *name)
{
    for (uint32_t v = 0; v < subgraph->value_count; v++)
        if (strcmp(subgraph->values[v]->name, name) == 0)
            return true;
    return false;
}

/* An output that no node makes gets a node, and a name of its own. */
static const char *copy_to_output(struct exporter *exporter, uint32_t value)
{
    Onnx__GraphProto *graph = &exporter->graph;
    Onnx__NodeProto *node = allocate(exporter, 1, sizeof *node);
    char **names = allocate(exporter, 2, sizeof *names);
    const char *name = arena_format(exporter->arena, "%s/copy", value_name(exporter, value));
    while (name && is_name(exporter->subgraph, name))
        name = arena_format(exporter->arena, "%s/copy", name);
    exporter->failed = exporter->failed || !name;
    if (exporter->failed)
        return NULL;
    names[0] = value_name(exporter, value);
    names[1] = as_string(name);
    onnx__node_proto__init(node);
    node->op_type = as_string("Identity");
    node->n_input = node->n_output = 1;
    node->input = &names[0];
    node->output = &names[1];
    graph->node[graph->n_node++] = node;
    return name;
}

static void make_nodes_and_outputs(struct exporter *exporter)
{
    const collage_subgraph *subgraph = exporter->subgraph;
    Onnx__GraphProto *graph = &exporter->graph;
    bool *made = allocate(exporter, subgraph->value_count, sizeof *made);
    graph->node = allocate(exporter, (size_t)subgraph->node_count + subgraph->output_count,
                           sizeof *graph->node);
    graph->output = allocate(exporter, subgraph->output_count, sizeof *graph->output);
    if (exporter->failed)
        return;
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        graph->node[graph->n_node++] = make_node(exporter, node);
        for (uint32_t k = 0; k < node->output_count; k++)
            if (node->outputs[k] != COLLAGE_NO_VALUE)
                made[node->outputs[k]] = true;
    }
    for (uint32_t k = 0; k < subgraph->output_count && !exporter->failed; k++) {
        uint32_t v = subgraph->outputs[k];
        const char *name = made[v] ? value_name(exporter, v) : copy_to_output(exporter, v);
        graph->output[graph->n_output++] = make_port(exporter, v, name);
    }
}

/* ---- the model ---- */

static collage_status pack(struct exporter *exporter, void **bytes, size_t *count,
                           collage_message *message)
{
    Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT;
    Onnx__OperatorSetIdProto *opsets[1] = { &opset };
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    opset.domain = as_string("");
    opset.has_version = true;
    opset.version = exporter->subgraph->opset;
    model.has_ir_version = true;
    model.ir_version = IR_VERSION;
    model.producer_name = as_string("collage");
    model.n_opset_import = 1;
    model.opset_import = opsets;
    model.graph = &exporter->graph;
    size_t size = onnx__model_proto__get_packed_size(&model);
    *bytes = memory_alloc(size);
    if (!*bytes)
        return message_set(message, COLLAGE_ERROR_MEMORY, "out of memory");
    *count = onnx__model_proto__pack(&model, *bytes);
    return COLLAGE_OK;
}

static bool is_too_large(const collage_subgraph *subgraph, uint64_t inline_limit)
{
    uint64_t total = 0;
    for (uint32_t v = 0; v < subgraph->value_count && total <= MODEL_LIMIT; v++)
        if (subgraph->values[v]->data && subgraph->values[v]->bytes <= inline_limit)
            total += subgraph->values[v]->bytes;
    return total > MODEL_LIMIT;
}

collage_status onnx_export(const collage_subgraph *subgraph, uint64_t inline_limit, void **bytes,
                           size_t *count, collage_message *message)
{
    struct exporter exporter = { .arena = arena_create(),
                                 .subgraph = subgraph,
                                 .inline_limit = inline_limit,
                                 .graph = ONNX__GRAPH_PROTO__INIT };
    *bytes = NULL;
    *count = 0;
    if (is_too_large(subgraph, inline_limit)) {
        arena_destroy(exporter.arena);
        return message_set(message, COLLAGE_ERROR_UNSUPPORTED,
                           "the sub-graph has more than 2 GB of inline constants");
    }
    collage_status status = COLLAGE_ERROR_MEMORY;
    if (exporter.arena) {
        exporter.graph.name = as_string("collage");
        make_initializers(&exporter);
        make_inputs(&exporter);
        make_nodes_and_outputs(&exporter);
        status = exporter.failed ? COLLAGE_ERROR_MEMORY : pack(&exporter, bytes, count, message);
    }
    if (status == COLLAGE_ERROR_MEMORY)
        message_set(message, status, "out of memory");
    name_map_free(&exporter.node_names);
    arena_destroy(exporter.arena);
    return status;
}
