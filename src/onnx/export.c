/* SPDX-License-Identifier: Apache-2.0 */
/* A sub-graph as an ONNX model. Messages and strings lie in one arena; constants are not copied
 * before packing. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "onnx/exporter.h"
#include "onnx/onnx.h"

enum { IR_VERSION = 10 };
static const uint64_t MODEL_LIMIT = ((uint64_t)2 << 30) - 1; /* protobuf's */

void *exporter_allocate(struct exporter *exporter, size_t count, size_t size)
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

const char *exporter_value_name(const struct exporter *exporter, uint32_t value)
{
    if (value == COLLAGE_NO_VALUE)
        return "";
    return exporter->names ? exporter->names[value] : exporter->subgraph->values[value]->name;
}

static char *value_name(const struct exporter *exporter, uint32_t value)
{
    return as_string(exporter_value_name(exporter, value));
}

static bool is_name(const struct exporter *exporter, const char *name)
{
    for (uint32_t v = 0; v < exporter->subgraph->value_count; v++)
        if (strcmp(exporter_value_name(exporter, v), name) == 0)
            return true;
    return false;
}

const char *exporter_fresh_name(struct exporter *exporter, const char *base)
{
    const char *name;
    do
        name = arena_format(exporter->arena, "%s/lowered.%u", base, exporter->fresh++);
    while (name && is_name(exporter, name));
    exporter->failed = exporter->failed || !name;
    return name;
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
        [COLLAGE_ATTRIBUTE_GRAPH] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH,
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

/* The graph keeps a list of names as one string. */
static void split_names(struct exporter *exporter, const collage_attribute *a,
                        Onnx__AttributeProto *out)
{
    size_t count = 1;
    for (const char *at = a->s; *at; at++)
        count += *at == ',';
    out->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
    out->has_s = false;
    out->strings = exporter_allocate(exporter, count, sizeof *out->strings);
    for (const char *at = a->s; out->strings && out->n_strings < count;) {
        size_t length = strcspn(at, ",");
        out->strings[out->n_strings++] = (ProtobufCBinaryData){ length, as_data(at) };
        at += length + 1; /* one beyond the end after the last, which is not looked at */
    }
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

static char **copy_names(struct exporter *exporter, const char *const *names, uint32_t count)
{
    char **copy = exporter_allocate(exporter, count, sizeof *copy);
    for (uint32_t k = 0; copy && k < count; k++)
        copy[k] = as_string(names[k]);
    return copy;
}

static Onnx__GraphProto *export_body(struct exporter *outer, const collage_subgraph *body,
                                     const char *const *captured, uint32_t count);

void exporter_add_node(struct exporter *exporter, const struct exporter_node *node)
{
    Onnx__NodeProto *out = exporter_allocate(exporter, 1, sizeof *out);
    Onnx__AttributeProto *attributes =
        exporter_allocate(exporter, node->attribute_count, sizeof *attributes);
    Onnx__AttributeProto **list = exporter_allocate(exporter, node->attribute_count, sizeof *list);
    if (!out || !attributes || !list)
        return;
    for (uint32_t k = 0; k < node->attribute_count; k++) {
        set_attribute(&attributes[k], &node->attributes[k]);
        if (attributes[k].has_s && strcmp(attributes[k].name, "activations") == 0)
            split_names(exporter, &node->attributes[k], &attributes[k]);
        if (node->attributes[k].kind == COLLAGE_ATTRIBUTE_GRAPH)
            attributes[k].g = export_body(exporter, node->attributes[k].graph, node->captured,
                                          node->captured_count);
        list[k] = &attributes[k];
    }
    onnx__node_proto__init(out);
    out->op_type = as_string(node->op);
    out->name = as_string(node->name);
    out->n_input = node->input_count;
    out->input = copy_names(exporter, node->inputs, node->input_count);
    out->n_output = node->output_count;
    out->output = copy_names(exporter, node->outputs, node->output_count);
    out->n_attribute = node->attribute_count;
    out->attribute = list;
    exporter->graph.node[exporter->graph.n_node++] = out;
}

static const char **value_names(struct exporter *exporter, const uint32_t *values, uint32_t count)
{
    const char **names = exporter_allocate(exporter, count, sizeof *names);
    for (uint32_t k = 0; names && k < count; k++)
        names[k] = exporter_value_name(exporter, values[k]);
    return names;
}

/* How many of its last inputs are there for its bodies only: in ONNX these find them by their
 * names. */
static uint32_t captured_count(const collage_node *node)
{
    const collage_attribute *a = collage_node_attribute(node, "body", COLLAGE_ATTRIBUTE_GRAPH);
    if (a) /* a Loop: trip count, condition, what is carried: one less than its body makes */
        return node->input_count - 1 - a->graph->output_count;
    bool is_if = collage_node_attribute(node, "then_branch", COLLAGE_ATTRIBUTE_GRAPH);
    return is_if ? node->input_count - 1 : 0;
}

static void add_as_it_is(struct exporter *exporter, const collage_node *node)
{
    const uint32_t captured = captured_count(node), own = node->input_count - captured;
    const char **inputs = value_names(exporter, node->inputs, node->input_count);
    const char **outputs = value_names(exporter, node->outputs, node->output_count);
    const char *name = node_name(exporter, node);
    if (!exporter->failed)
        exporter_add_node(exporter,
                          &(struct exporter_node){ .op = node->op_type,
                                                   .name = name,
                                                   .inputs = inputs,
                                                   .input_count = own,
                                                   .captured = inputs + own,
                                                   .captured_count = captured,
                                                   .outputs = outputs,
                                                   .output_count = node->output_count,
                                                   .attributes = node->attributes,
                                                   .attribute_count = node->attribute_count });
}

/* ---- constants ---- */

static void add_entry(struct exporter *exporter, Onnx__TensorProto *tensor, const char *key,
                      const char *value)
{
    Onnx__StringStringEntryProto *entry = exporter_allocate(exporter, 1, sizeof *entry);
    if (!entry)
        return;
    onnx__string_string_entry_proto__init(entry);
    entry->key = as_string(key);
    entry->value = as_string(value);
    tensor->external_data[tensor->n_external_data++] = entry;
}

static void make_external(struct exporter *exporter, Onnx__TensorProto *tensor, uint64_t bytes)
{
    char *offset = arena_format(exporter->arena, "%" PRIu64, exporter->external_bytes);
    char *length = arena_format(exporter->arena, "%" PRIu64, bytes);
    tensor->external_data = exporter_allocate(exporter, 3, sizeof *tensor->external_data);
    tensor->has_data_location = true;
    tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    exporter->failed = exporter->failed || !offset || !length;
    if (exporter->failed)
        return;
    add_entry(exporter, tensor, "location", "collage");
    add_entry(exporter, tensor, "offset", offset);
    add_entry(exporter, tensor, "length", length);
    exporter->external_bytes += (bytes + 63) / 64 * 64;
}

static Onnx__TensorProto *make_initializer(struct exporter *exporter, const collage_value *value)
{
    Onnx__TensorProto *tensor = exporter_allocate(exporter, 1, sizeof *tensor);
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

/* What was dequantized is made by a node, from its integers. */
static bool is_initializer(const collage_value *value)
{
    return value->data && !value->dequantized;
}

static void make_initializers(struct exporter *exporter)
{
    const collage_subgraph *subgraph = exporter->subgraph;
    Onnx__GraphProto *graph = &exporter->graph;
    size_t capacity = subgraph->value_count + (size_t)subgraph->node_count * LOWERED_CONSTANTS;
    graph->initializer = exporter_allocate(exporter, capacity, sizeof *graph->initializer);
    for (uint32_t v = 0; graph->initializer && v < subgraph->value_count; v++)
        if (is_initializer(subgraph->values[v]))
            graph->initializer[graph->n_initializer++] =
                make_initializer(exporter, subgraph->values[v]);
}

const char *exporter_add_floats(struct exporter *exporter, const char *base, int32_t rank,
                                int64_t count, const float *data)
{
    Onnx__TensorProto *tensor = exporter_allocate(exporter, 1, sizeof *tensor);
    int64_t *dims = exporter_allocate(exporter, 1, sizeof *dims);
    const char *name = exporter_fresh_name(exporter, base);
    if (!tensor || !dims || !name)
        return "";
    *dims = count;
    onnx__tensor_proto__init(tensor);
    tensor->name = as_string(name);
    tensor->has_data_type = true;
    tensor->data_type = COLLAGE_FLOAT32;
    tensor->n_dims = (size_t)rank;
    tensor->dims = dims;
    tensor->has_raw_data = true;
    tensor->raw_data = (ProtobufCBinaryData){ (size_t)count * sizeof *data, as_data(data) };
    exporter->graph.initializer[exporter->graph.n_initializer++] = tensor;
    return name;
}

/* ---- inputs and outputs ---- */

static Onnx__TensorShapeProto *make_shape(struct exporter *exporter, const collage_value *value)
{
    size_t rank = (size_t)value->rank;
    Onnx__TensorShapeProto *shape = exporter_allocate(exporter, 1, sizeof *shape);
    Onnx__TensorShapeProto__Dimension *dims = exporter_allocate(exporter, rank, sizeof *dims);
    Onnx__TensorShapeProto__Dimension **list = exporter_allocate(exporter, rank, sizeof *list);
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
    Onnx__ValueInfoProto *info = exporter_allocate(exporter, 1, sizeof *info);
    Onnx__TypeProto *type = exporter_allocate(exporter, 1, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = exporter_allocate(exporter, 1, sizeof *tensor);
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
    const uint32_t count = subgraph->input_count - exporter->captured_count;
    graph->input = exporter_allocate(exporter, count, sizeof *graph->input);
    for (uint32_t k = 0; graph->input && k < count; k++)
        graph->input[graph->n_input++] =
            make_port(exporter, subgraph->inputs[k], value_name(exporter, subgraph->inputs[k]));
}

/* An output that no node makes, or that is one already, gets a node, and a name of its own. */
static const char *copy_to_output(struct exporter *exporter, uint32_t value)
{
    Onnx__GraphProto *graph = &exporter->graph;
    Onnx__NodeProto *node = exporter_allocate(exporter, 1, sizeof *node);
    char **names = exporter_allocate(exporter, 2, sizeof *names);
    const char *name = exporter_fresh_name(exporter, exporter_value_name(exporter, value));
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

/* How often each value is used: as an input of a node, or as an output of the whole. */
static uint32_t *count_uses(struct exporter *exporter)
{
    const collage_subgraph *subgraph = exporter->subgraph;
    uint32_t *uses = exporter_allocate(exporter, subgraph->value_count, sizeof *uses);
    for (uint32_t n = 0; uses && n < subgraph->node_count; n++)
        for (uint32_t k = 0; k < subgraph->nodes[n]->input_count; k++)
            if (subgraph->nodes[n]->inputs[k] != COLLAGE_NO_VALUE)
                uses[subgraph->nodes[n]->inputs[k]]++;
    for (uint32_t k = 0; uses && k < subgraph->output_count; k++)
        uses[subgraph->outputs[k]]++;
    return uses;
}

/* The node that makes each value; COLLAGE_NO_VALUE if none does. */
static uint32_t *find_producers(struct exporter *exporter)
{
    const collage_subgraph *subgraph = exporter->subgraph;
    uint32_t *producers = exporter_allocate(exporter, subgraph->value_count, sizeof *producers);
    for (uint32_t v = 0; producers && v < subgraph->value_count; v++)
        producers[v] = COLLAGE_NO_VALUE;
    for (uint32_t n = 0; producers && n < subgraph->node_count; n++)
        for (uint32_t k = 0; k < subgraph->nodes[n]->output_count; k++)
            if (subgraph->nodes[n]->outputs[k] != COLLAGE_NO_VALUE)
                producers[subgraph->nodes[n]->outputs[k]] = n;
    return producers;
}

/* The DequantizeLinear that makes a constant. */
static void add_dequantized(struct exporter *exporter, const collage_value *value)
{
    const collage_dequantized *from = value->dequantized;
    const char *inputs[] = { exporter_value_name(exporter, from->integers),
                             exporter_value_name(exporter, from->scale),
                             exporter_value_name(exporter, from->zero) };
    const collage_attribute attributes[] = {
        { .name = "axis", .kind = COLLAGE_ATTRIBUTE_INT, .i = from->axis },
        { .name = "block_size", .kind = COLLAGE_ATTRIBUTE_INT, .i = from->block_size },
    };
    uint32_t input_count = from->zero == COLLAGE_NO_VALUE ? 2 : 3;
    exporter_add_node(exporter,
                      &(struct exporter_node){ .op = "DequantizeLinear",
                                               .name = "",
                                               .inputs = inputs,
                                               .input_count = input_count,
                                               .outputs = &value->name,
                                               .output_count = 1,
                                               .attributes = attributes,
                                               .attribute_count = from->block_size ? 2 : 1 });
}

static void make_nodes(struct exporter *exporter)
{
    const collage_subgraph *subgraph = exporter->subgraph;
    Onnx__GraphProto *graph = &exporter->graph;
    size_t capacity = (size_t)subgraph->node_count * LOWERED_NODES + subgraph->output_count;
    for (uint32_t v = 0; v < subgraph->value_count; v++)
        capacity += subgraph->values[v]->dequantized ? 1 : 0;
    graph->node = exporter_allocate(exporter, capacity, sizeof *graph->node);
    exporter->uses = count_uses(exporter);
    exporter->producers = find_producers(exporter);
    for (uint32_t v = 0; v < subgraph->value_count && !exporter->failed; v++)
        if (subgraph->values[v]->dequantized)
            add_dequantized(exporter, subgraph->values[v]);
    for (uint32_t n = 0; n < subgraph->node_count && !exporter->failed; n++)
        if (!lower_node(exporter, n) && !exporter->failed)
            add_as_it_is(exporter, subgraph->nodes[n]);
}

static void make_outputs(struct exporter *exporter)
{
    const collage_subgraph *subgraph = exporter->subgraph;
    Onnx__GraphProto *graph = &exporter->graph;
    graph->output = exporter_allocate(exporter, subgraph->output_count, sizeof *graph->output);
    for (uint32_t k = 0; k < subgraph->output_count && !exporter->failed; k++) {
        uint32_t v = subgraph->outputs[k];
        bool made = exporter->producers[v] != COLLAGE_NO_VALUE;
        for (uint32_t j = 0; j < k; j++)
            made = made && subgraph->outputs[j] != v;
        const char *name = made ? value_name(exporter, v) : copy_to_output(exporter, v);
        graph->output[graph->n_output++] = make_port(exporter, v, name);
    }
}

/* ---- bodies ---- */

/* Values of a body get names that no other value of the model has. */
static const char **body_names(struct exporter *outer, const collage_subgraph *body)
{
    const char *prefix = exporter_fresh_name(outer, "body");
    const char **names = exporter_allocate(outer, body->value_count, sizeof *names);
    for (uint32_t v = 0; names && prefix && v < body->value_count; v++) {
        names[v] = arena_format(outer->arena, "%s/%s", prefix, body->values[v]->name);
        outer->failed = outer->failed || !names[v];
    }
    return names;
}

/* The body as the graph of an attribute: its last inputs are captured under these names. */
static Onnx__GraphProto *export_body(struct exporter *outer, const collage_subgraph *body,
                                     const char *const *captured, uint32_t count)
{
    Onnx__GraphProto *graph = exporter_allocate(outer, 1, sizeof *graph);
    struct exporter inner = { .arena = outer->arena,
                              .subgraph = body,
                              .inline_limit = outer->inline_limit,
                              .graph = ONNX__GRAPH_PROTO__INIT,
                              .captured_count = count };
    inner.names = body_names(outer, body);
    if (outer->failed)
        return NULL;
    for (uint32_t k = 0; k < count; k++)
        inner.names[body->inputs[body->input_count - count + k]] = captured[k];
    inner.fresh = outer->fresh;
    inner.graph.name = as_string("body");
    make_initializers(&inner);
    make_inputs(&inner);
    make_nodes(&inner);
    make_outputs(&inner);
    name_map_free(&inner.node_names);
    outer->fresh = inner.fresh;
    outer->failed = inner.failed;
    *graph = inner.graph;
    return graph;
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
    opset.version = lower_opset(exporter->subgraph);
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
        if (is_initializer(subgraph->values[v]) && subgraph->values[v]->bytes <= inline_limit)
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
        make_nodes(&exporter);
        make_outputs(&exporter);
        status = exporter.failed ? COLLAGE_ERROR_MEMORY : pack(&exporter, bytes, count, message);
    }
    if (status == COLLAGE_ERROR_MEMORY)
        message_set(message, status, "out of memory");
    name_map_free(&exporter.node_names);
    arena_destroy(exporter.arena);
    return status;
}
