/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "onnx/contrib.h"
#include "onnx/control_flow.h"
#include "onnx/decompose.h"
#include "onnx/functions.h"
#include "onnx/scope.h"

enum {
    ATTRIBUTE_LIMIT = 64,
    PORT_LIMIT = 65536,
    FOLD_BYTES = 64 * 1024,
    NODES_LIMIT = 1 << 18 /* functions that call functions multiply */
};

/* Names in the graph, wherever they come from. */
static bool is_taken(const struct importer *importer, const char *name)
{
    return name_map_find(&importer->values, name) != NAME_MAP_NONE ||
           name_map_find(&importer->producers, name) != NAME_MAP_NONE ||
           name_map_find(&importer->inner_names, name) != NAME_MAP_NONE;
}

/* A number to be tried behind a name: the small ones first, then such as were never tried, lest
 * thousands of names with one beginning cost their square. */
static unsigned next_number(struct importer *importer, unsigned tried)
{
    enum { SMALL = 8 };
    return tried < SMALL ? tried + 1 : SMALL + ++importer->numbers_given;
}

/* What the graph calls a value that has this name in a function or a sub-graph. NULL: no memory. */
static const char *graph_name(struct importer *importer, const char *name)
{
    struct arena *arena = importer->graph->arena;
    const char *prefix = importer->scope->prefix;
    const char *full = arena_format(arena, "%s%s", prefix, name);
    for (unsigned n = 1; full && is_taken(importer, full); n = next_number(importer, n))
        full = arena_format(arena, "%s%s_%u", prefix, name, n);
    return full;
}

collage_status importer_value(struct importer *importer, const char *name, enum value_kind kind,
                              const struct tensor *tensor, value_id *out, struct error *error)
{
    enum { NAME_LIMIT = 4096 };
    *out = GRAPH_NONE;
    if (!name[0] || strlen(name) > NAME_LIMIT)
        return error_set(error, COLLAGE_ERROR_FORMAT, "a value has an empty or very long name");
    const char *full = importer->scope ? graph_name(importer, name) : name;
    if (!full)
        return error_memory(error);
    value_id id = graph_add_value(importer->graph, full, kind, tensor);
    if (id == GRAPH_NONE)
        return error_memory(error);
    const char *kept = importer->graph->values[id].name;
    if (importer->scope && !name_map_add(&importer->inner_names, kept, id))
        return error_memory(error);
    collage_status status = scope_bind(importer, importer->scope ? name : kept, id, error);
    *out = status == COLLAGE_OK ? id : GRAPH_NONE;
    return status;
}

static bool is_used_here(const struct importer *importer, const char *name)
{
    const struct scope *scope = importer->scope;
    return scope ? name_map_find(&scope->values, name) != NAME_MAP_NONE ||
                       name_map_find(&scope->producers, name) != NAME_MAP_NONE
                 : is_taken(importer, name);
}

const char *importer_fresh_name(struct importer *importer, const char *base, const char *what)
{
    struct arena *arena = importer->graph->arena;
    const char *name = arena_format(arena, "%.200s.%s", base, what);
    for (unsigned n = 1; name && is_used_here(importer, name); n = next_number(importer, n))
        name = arena_format(arena, "%.200s.%s_%u", base, what, n);
    return name;
}

/* ---- attributes ---- */

static collage_status wrong_type(const Onnx__AttributeProto *proto, struct error *error)
{
    return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                     "attribute '%s' has the type %d, which is not supported here",
                     message_string(proto->name), proto->has_type ? (int)proto->type : 0);
}

/* In the message a text does not end with 0. */
static collage_status convert_string(struct importer *importer, const Onnx__AttributeProto *proto,
                                     collage_attribute *out, struct error *error)
{
    const size_t length = proto->s.len;
    if (length >= UINT32_MAX || (length && memchr(proto->s.data, '\0', length)))
        return error_set(error, COLLAGE_ERROR_FORMAT, "attribute '%s' is no text", out->name);
    char *text = arena_alloc(importer->graph->arena, length + 1);
    if (!text)
        return error_memory(error);
    if (length)
        memcpy(text, proto->s.data, length);
    out->kind = COLLAGE_ATTRIBUTE_STRING;
    out->s = text;
    out->count = (uint32_t)length;
    return COLLAGE_OK;
}

/* Lists keep pointing into the message; graph_add_node copies them. */
static collage_status convert_attribute(struct importer *importer,
                                        const Onnx__AttributeProto *proto, const char *name,
                                        collage_attribute *out, struct error *error)
{
    *out = (collage_attribute){ .name = name };
    if (proto->n_ints > UINT32_MAX / 8 || proto->n_floats > UINT32_MAX / 8)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "attribute '%s' is too long", out->name);
    switch (proto->has_type ? proto->type : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        out->kind = COLLAGE_ATTRIBUTE_INT;
        out->i = proto->i;
        return COLLAGE_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        out->kind = COLLAGE_ATTRIBUTE_FLOAT;
        out->f = proto->f;
        return COLLAGE_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        return convert_string(importer, proto, out, error);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        out->kind = COLLAGE_ATTRIBUTE_INTS;
        out->ints = proto->ints;
        out->count = (uint32_t)proto->n_ints;
        return COLLAGE_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        out->kind = COLLAGE_ATTRIBUTE_FLOATS;
        out->floats = proto->floats;
        out->count = (uint32_t)proto->n_floats;
        return COLLAGE_OK;
    default:
        return wrong_type(proto, error);
    }
}

/* The activations of recurrent operators are a list of strings. The default list is dropped, any
 * other becomes one string of names with commas between. */
static bool is_default_activations(const char *op_type, const Onnx__AttributeProto *proto)
{
    static const struct {
        const char *op, *names[3];
    } table[] = { { "LSTM", { "Sigmoid", "Tanh", "Tanh" } },
                  { "GRU", { "Sigmoid", "Tanh", NULL } },
                  { "RNN", { "Tanh", NULL, NULL } } };
    if (!proto->name || strcmp(proto->name, "activations") != 0)
        return false;
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        size_t count = table[row].names[1] ? table[row].names[2] ? 3 : 2 : 1;
        if (strcmp(table[row].op, op_type) != 0 || proto->n_strings % count != 0)
            continue;
        size_t equal = 0;
        for (size_t k = 0; k < proto->n_strings; k++) {
            const char *name = table[row].names[k % count];
            equal += proto->strings[k].len == strlen(name) &&
                     memcmp(proto->strings[k].data, name, strlen(name)) == 0;
        }
        return equal == proto->n_strings;
    }
    return false;
}

static collage_status join_strings(struct importer *importer, const Onnx__AttributeProto *proto,
                                   collage_attribute *out, struct error *error)
{
    enum { NAMES_LIMIT = 64, NAME_LIMIT = 64 };
    char *text = arena_alloc(importer->graph->arena, (size_t)NAMES_LIMIT * NAME_LIMIT);
    size_t length = 0;
    if (!text)
        return error_memory(error);
    for (size_t k = 0; k < proto->n_strings; k++) {
        const ProtobufCBinaryData *name = &proto->strings[k];
        if (k >= NAMES_LIMIT || name->len == 0 || name->len >= NAME_LIMIT ||
            memchr(name->data, '\0', name->len) || memchr(name->data, ',', name->len))
            return error_set(error, COLLAGE_ERROR_FORMAT, "attribute '%s' is no list of names",
                             out->name);
        if (k > 0)
            text[length++] = ',';
        memcpy(text + length, name->data, name->len);
        length += name->len;
    }
    *out = (collage_attribute){
        .name = out->name, .kind = COLLAGE_ATTRIBUTE_STRING, .s = text, .count = (uint32_t)length
    };
    return COLLAGE_OK;
}

static collage_status convert_attributes(struct importer *importer, const Onnx__NodeProto *proto,
                                         struct draft *draft, struct error *error)
{
    if (proto->n_attribute > ATTRIBUTE_LIMIT)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "%zu attributes", proto->n_attribute);
    draft->attributes =
        arena_array(importer->graph->arena, proto->n_attribute, sizeof *draft->attributes);
    if (!draft->attributes)
        return error_memory(error);
    for (size_t k = 0; k < proto->n_attribute; k++) {
        const char *name = message_string(proto->attribute[k]->name);
        const Onnx__AttributeProto *attribute = scope_attribute(importer, proto->attribute[k]);
        /* A call that leaves an attribute out leaves it out of the operators that refer to it. */
        if (!attribute || is_default_activations(draft->op_type, attribute))
            continue;
        for (uint32_t j = 0; j < draft->attribute_count; j++)
            if (strcmp(draft->attributes[j].name, name) == 0)
                return error_set(error, COLLAGE_ERROR_FORMAT, "attribute '%s' is there twice",
                                 name);
        collage_attribute *to = &draft->attributes[draft->attribute_count];
        to->name = name;
        collage_status status = strcmp(name, "activations") == 0 && attribute->n_strings > 0
                                    ? join_strings(importer, attribute, to, error)
                                    : convert_attribute(importer, attribute, name, to, error);
        if (status != COLLAGE_OK)
            return status;
        draft->attribute_count++;
    }
    return COLLAGE_OK;
}

/* ---- Constant and ConstantOfShape: the operators with tensors in attributes ---- */

/* The data keep pointing into the message where they are no tensor. */
static collage_status constant_value(struct importer *importer, const Onnx__AttributeProto *a,
                                     const char *name, struct tensor *tensor, struct error *error)
{
    const void *data = NULL;
    *tensor = (struct tensor){ 0 };
    if (strcmp(name, "value") == 0 && a->t)
        return importer_tensor(importer, a->t, "value", tensor, error);
    if (strcmp(name, "value_float") == 0 && a->has_f) {
        *tensor = (struct tensor){ .dtype = COLLAGE_FLOAT32 };
        data = &a->f;
    } else if (strcmp(name, "value_int") == 0 && a->has_i) {
        *tensor = (struct tensor){ .dtype = COLLAGE_INT64 };
        data = &a->i;
    } else if (strcmp(name, "value_floats") == 0) {
        *tensor = (struct tensor){ COLLAGE_FLOAT32, 1, { (int64_t)a->n_floats }, NULL };
        data = a->floats;
    } else if (strcmp(name, "value_ints") == 0) {
        *tensor = (struct tensor){ COLLAGE_INT64, 1, { (int64_t)a->n_ints }, NULL };
        data = a->ints;
    } else {
        return wrong_type(a, error);
    }
    tensor->data = arena_copy(importer->graph->arena, data, (size_t)tensor_bytes(tensor));
    return tensor->data ? COLLAGE_OK : error_memory(error);
}

static collage_status import_constant(struct importer *importer, const Onnx__NodeProto *proto,
                                      struct error *error)
{
    struct tensor tensor;
    value_id id;
    if (proto->n_attribute != 1 || proto->n_output != 1)
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "a Constant has one attribute and one output");
    const Onnx__AttributeProto *value = scope_attribute(importer, proto->attribute[0]);
    if (!value)
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "it refers to an attribute that the function's call does not have");
    const char *kind = message_string(proto->attribute[0]->name);
    collage_status status = constant_value(importer, value, kind, &tensor, error);
    if (status != COLLAGE_OK)
        return status;
    return importer_value(importer, message_string(proto->output[0]), VALUE_CONSTANT, &tensor, &id,
                          error);
}

/* ConstantOfShape(shape) {value} is Expand(value, shape) with a scalar value. */
static collage_status convert_constant_of_shape(struct importer *importer,
                                                const Onnx__NodeProto *proto, struct draft *draft,
                                                struct error *error)
{
    const Onnx__AttributeProto *value = scope_node_attribute(importer, proto, "value");
    struct tensor tensor = { .dtype = COLLAGE_FLOAT32 };
    if (draft->input_count != 1 || (value && !value->t))
        return error_set(error, COLLAGE_ERROR_FORMAT, "it takes one input and a tensor 'value'");
    if (value) {
        collage_status status = importer_tensor(importer, value->t, "value", &tensor, error);
        if (status != COLLAGE_OK)
            return status;
        if (tensor_elements(&tensor) != 1)
            return error_set(error, COLLAGE_ERROR_FORMAT, "'value' must have one element");
        tensor.rank = 0;
    } else {
        tensor.data = arena_alloc(importer->graph->arena, sizeof(float));
    }
    const char *name = importer_fresh_name(importer, draft->name, "value");
    value_id *inputs = arena_array(importer->graph->arena, 2, sizeof *inputs);
    if (!tensor.data || !name || !inputs)
        return error_memory(error);
    inputs[1] = draft->inputs[0];
    draft->op_type = "Expand";
    draft->inputs = inputs;
    draft->input_count = 2;
    draft->attribute_count = 0;
    return importer_value(importer, name, VALUE_CONSTANT, &tensor, &inputs[0], error);
}

/* ---- nodes ---- */

static collage_status find_inputs(struct importer *importer, const Onnx__NodeProto *proto,
                                  struct draft *draft, struct error *error)
{
    for (uint32_t k = 0; k < draft->input_count; k++) {
        const char *name = message_string(proto->input[k]);
        draft->inputs[k] = GRAPH_NONE;
        if (name[0] && !scope_find(importer, name, &draft->inputs[k]))
            return scope_missing(importer, "input", name, error);
    }
    /* Left-out inputs at the end are as good as not there. */
    while (draft->input_count > 0 && draft->inputs[draft->input_count - 1] == GRAPH_NONE)
        draft->input_count--;
    return COLLAGE_OK;
}

static collage_status make_draft(struct importer *importer, const Onnx__NodeProto *proto,
                                 struct draft *draft, struct error *error)
{
    struct arena *arena = importer->graph->arena;
    if (proto->n_input > PORT_LIMIT || proto->n_output > PORT_LIMIT || proto->n_output == 0)
        return error_set(error, COLLAGE_ERROR_FORMAT, "%zu inputs and %zu outputs", proto->n_input,
                         proto->n_output);
    *draft = (struct draft){ .op_type = message_string(proto->op_type),
                             .name = message_string(proto->name),
                             .input_count = (uint32_t)proto->n_input,
                             .output_count = (uint32_t)proto->n_output };
    if (!draft->name[0])
        draft->name = message_string(proto->output[0]);
    draft->inputs = arena_array(arena, proto->n_input, sizeof *draft->inputs);
    draft->outputs = arena_array(arena, proto->n_output, sizeof *draft->outputs);
    draft->output_names = arena_array(arena, proto->n_output, sizeof *draft->output_names);
    if (!draft->inputs || !draft->outputs || !draft->output_names)
        return error_memory(error);
    for (uint32_t k = 0; k < draft->output_count; k++)
        draft->output_names[k] = message_string(proto->output[k]);
    while (draft->output_count > 1 && !draft->output_names[draft->output_count - 1][0])
        draft->output_count--;
    return find_inputs(importer, proto, draft, error);
}

static collage_status unsupported_operator(const struct importer *importer,
                                           const Onnx__NodeProto *proto, struct error *error)
{
    return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                     "operator '%s' (node '%s', domain '%s', opset %lld) is not supported",
                     message_string(proto->op_type), message_string(proto->name),
                     message_string(proto->domain), (long long)importer->opset);
}

static collage_status convert_node(struct importer *importer, const Onnx__NodeProto *proto,
                                   struct error *error)
{
    struct draft draft;
    const Onnx__FunctionProto *function = function_find(importer, proto);
    if (function)
        return function_inline(importer, function, proto, error);
    if (strcmp(proto->op_type, "Constant") == 0)
        return import_constant(importer, proto, error);
    control_flow_fn control_flow = control_flow_find(proto->op_type);
    if (control_flow)
        return control_flow(importer, proto, error);
    collage_status status = make_draft(importer, proto, &draft, error);
    if (status != COLLAGE_OK)
        return status;
    const char *domain = message_string(proto->domain);
    if (strcmp(proto->op_type, "ConstantOfShape") == 0)
        status = convert_constant_of_shape(importer, proto, &draft, error);
    else
        status = convert_attributes(importer, proto, &draft, error);
    if (status == COLLAGE_OK)
        status = contrib_is_domain(domain) ? contrib_convert(importer, &draft, error)
                                           : importer_upgrade(importer, &draft, error);
    if (status == COLLAGE_OK)
        status = decompose(importer, &draft, error);
    if (status != COLLAGE_OK)
        return status;
    if (!op_find(draft.op_type))
        return unsupported_operator(importer, proto, error);
    return importer_emit(importer, &draft, error);
}

bool onnx_knows_operator(const char *op_type)
{
    return op_find(op_type) || strcmp(op_type, "Constant") == 0 ||
           strcmp(op_type, "ConstantOfShape") == 0 || control_flow_find(op_type) ||
           decompose_knows(op_type) || importer_renames(op_type);
}

collage_status importer_node(struct importer *importer, const Onnx__NodeProto *proto,
                             struct error *error)
{
    const char *domain = message_string(proto->domain);
    bool known = !domain[0] || strcmp(domain, "ai.onnx") == 0 || contrib_is_domain(domain);
    if (!proto->op_type || (!known && !function_find(importer, proto)))
        return unsupported_operator(importer, proto, error);
    if (++importer->nodes_seen > NODES_LIMIT)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "more than %d nodes, with functions and loops unrolled", NODES_LIMIT);
    struct error inner = { 0 };
    collage_status status = convert_node(importer, proto, &inner);
    if (status == COLLAGE_OK)
        return status;
    const char *name = message_string(proto->name);
    if (status != COLLAGE_ERROR_MEMORY && !strstr(inner.text, "node '"))
        error_prefix(&inner, "node '%.100s' (%.60s)",
                     name[0]           ? name
                     : proto->n_output ? message_string(proto->output[0])
                                       : "",
                     proto->op_type);
    return error_set(error, status, "%s", inner.text);
}

/* ---- into the graph ---- */

static collage_status declare_outputs(struct importer *importer, struct draft *draft,
                                      struct error *error)
{
    for (uint32_t k = 0; k < draft->output_count; k++) {
        draft->outputs[k] = GRAPH_NONE;
        if (!draft->output_names[k][0])
            continue;
        collage_status status = importer_value(importer, draft->output_names[k], VALUE_COMPUTED,
                                               NULL, &draft->outputs[k], error);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

static bool is_small(const struct graph *graph, value_id v)
{
    return v == GRAPH_NONE || tensor_bytes(&graph->values[v].tensor) <= FOLD_BYTES;
}

static bool is_small_constant(const struct graph *graph, value_id v)
{
    return v == GRAPH_NONE ||
           (graph_is_constant(graph, v) && is_small(graph, v) && !graph->values[v].dequantized);
}

/* Shape arithmetic: small constants make a small constant; shapes are known. All of it together is
 * bounded too: nodes are cheap in a file. What was dequantized is weights: they are left to canon/.
 */
static bool should_fold(const struct importer *importer, const struct node *node)
{
    static const uint64_t total_limit = (uint64_t)256 << 20;
    const struct graph *graph = importer->graph;
    bool constant = importer->folded_bytes <= total_limit && !(node->op->flags & OP_CONTROL);
    for (uint32_t k = 0; k < node->base.input_count; k++)
        constant = constant && is_small_constant(graph, node->base.inputs[k]);
    for (uint32_t k = 0; k < node->base.output_count; k++)
        if (!is_small(graph, node->base.outputs[k]))
            return false;
    return constant || (node->op->flags & OP_SHAPE);
}

/* Turns the newest node into constants. An operator that cannot be computed stays as it is. */
static collage_status fold(struct importer *importer, node_id id, struct error *error)
{
    struct graph *graph = importer->graph;
    const collage_node *base = &graph->nodes[id].base;
    bool folded;
    collage_status status = graph_fold_node(graph, id, &folded, error);
    if (status != COLLAGE_OK || !folded)
        return status;
    for (uint32_t k = 0; k < base->output_count; k++)
        if (base->outputs[k] != GRAPH_NONE)
            importer->folded_bytes += tensor_bytes(&graph->values[base->outputs[k]].tensor);
    graph->node_count--;
    return COLLAGE_OK;
}

collage_status importer_emit(struct importer *importer, struct draft *draft, struct error *error)
{
    struct graph *graph = importer->graph;
    collage_status status = declare_outputs(importer, draft, error);
    if (status != COLLAGE_OK)
        return status;
    node_id id = graph_add_node(graph, op_find(draft->op_type), draft->name, draft->inputs,
                                draft->input_count, draft->outputs, draft->output_count,
                                draft->attributes, draft->attribute_count);
    if (id == GRAPH_NONE)
        return error_memory(error);
    status = graph_infer_node(graph, id, error);
    if (status != COLLAGE_OK)
        return status;
    return should_fold(importer, &graph->nodes[id]) ? fold(importer, id, error) : COLLAGE_OK;
}
