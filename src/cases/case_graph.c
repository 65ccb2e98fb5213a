/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/case_graph.h"

#include "graph/graph_text.h"
#include "graph/subgraph.h"
#include "graph/verify.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_NODES = 64,
    MAX_INPUTS = 40,
    MAX_OUTPUTS = 8,
    MAX_ATTRIBUTES = 8,
    MAX_NUMBERS = 64,
    MAX_WORD = 32
};

/* Names of outputs, "" for one that is left out. */
struct outputs {
    char names[MAX_OUTPUTS][MAX_WORD];
    uint32_t count;
};

struct parser {
    const char *at;
    const struct operator_case *row;
    struct graph *graph;
    struct error *error;
    struct outputs more; /* the graph's, beside the last node's */
};

const struct operator_case operator_cases[] = {
#define CASE(name, text)  { name, text, false },
#define LARGE(name, text) { name, text, true },
#include "cases/cases.def"
#include "cases/cells.def"
#include "cases/control.def"
#include "cases/convolutions.def"
#include "cases/layers.def"
#include "cases/moves.def"
#include "cases/rows.def"
#include "cases/traps.def"
#include "cases/windows.def"
#undef LARGE
#undef CASE
};
const size_t operator_case_count = sizeof operator_cases / sizeof operator_cases[0];

static bool wrong(struct parser *p, const char *what)
{
    error_set(p->error, COLLAGE_ERROR_FORMAT, "case %s: %s at '%.20s'", p->row->name, what, p->at);
    return false;
}

/* ---- words ---- */

static void skip_space(struct parser *p)
{
    while (*p->at == ' ')
        p->at++;
}

static bool accept(struct parser *p, char letter)
{
    skip_space(p);
    if (*p->at != letter)
        return false;
    p->at++;
    return true;
}

static bool read_word(struct parser *p, char *word)
{
    size_t count = 0;
    skip_space(p);
    while (isalnum((unsigned char)*p->at) || *p->at == '_' || *p->at == '.' || *p->at == '-') {
        if (count + 1 == MAX_WORD)
            return wrong(p, "a long word");
        word[count++] = *p->at++;
    }
    word[count] = '\0';
    return true;
}

/* Up to the closing quote. */
static bool read_quoted(struct parser *p, char *word)
{
    size_t count = strcspn(p->at, "'");
    if (!p->at[count] || count >= MAX_WORD)
        return wrong(p, "a string that does not end");
    memcpy(word, p->at, count);
    word[count] = '\0';
    p->at += count + 1;
    return true;
}

/* "1,-2,3" up to `end`. */
static bool read_numbers(struct parser *p, char end, double *numbers, uint32_t *count)
{
    *count = 0;
    while (!accept(p, end)) {
        char *after;
        if (*count == MAX_NUMBERS)
            return wrong(p, "too many numbers");
        numbers[(*count)++] = strtod(p->at, &after);
        if (after == p->at)
            return wrong(p, "no number");
        p->at = after;
        accept(p, ',');
    }
    return true;
}

/* ---- values ---- */

/* "3x4", "int64 3x4", "int64" alone for a scalar */
static bool read_shape(struct parser *p, struct tensor *tensor)
{
    tensor->dtype = COLLAGE_FLOAT32;
    skip_space(p);
    bool typed = isalpha((unsigned char)*p->at);
    if (typed) {
        char word[MAX_WORD];
        if (!read_word(p, word))
            return false;
        tensor->dtype = dtype_parse(word);
        if (tensor->dtype == COLLAGE_UNDEFINED)
            return wrong(p, "an unknown type");
        skip_space(p);
    }
    while (isdigit((unsigned char)*p->at)) {
        char *after;
        if (tensor->rank == COLLAGE_MAX_RANK)
            return wrong(p, "too many dimensions");
        tensor->dims[tensor->rank++] = strtoll(p->at, &after, 10);
        p->at = *after == 'x' ? after + 1 : after;
    }
    return typed || tensor->rank > 0 || wrong(p, "no shape");
}

static bool allocate(struct parser *p, struct tensor *tensor)
{
    tensor->data = arena_alloc(p->graph->arena, tensor_bytes(tensor) + 1);
    return tensor->data || (error_memory(p->error), false);
}

/* What is done to example contents. */
struct making {
    bool positive;
    double scale;
};

static bool read_making(struct parser *p, struct making *making)
{
    making->positive = accept(p, '+');
    making->scale = 1;
    if (!accept(p, '*'))
        return true;
    char *after;
    making->scale = strtod(p->at, &after);
    if (after == p->at || *after != ' ')
        return wrong(p, "no factor");
    p->at = after;
    return true;
}

/* Example contents, in all cases others. */
static bool fill(struct parser *p, struct tensor *tensor, const struct making *making)
{
    if (!allocate(p, tensor))
        return false;
    tensor_fill_example(tensor, p->graph->value_count + 1, tensor->dtype == COLLAGE_BOOL ? 2 : 9);
    double least = dtype_is_float(tensor->dtype) ? 0.25 : 1;
    bool truth = tensor->dtype == COLLAGE_BOOL;
    for (int64_t k = 0; k < tensor_elements(tensor); k++) {
        double value = tensor_get(tensor, k) * making->scale;
        tensor_set(tensor, k, !making->positive ? value : truth ? 1 : fabs(value) + least);
    }
    return true;
}

static bool read_literal(struct parser *p, char end, struct tensor *tensor)
{
    double numbers[MAX_NUMBERS];
    uint32_t count;
    if (!read_numbers(p, end, numbers, &count))
        return false;
    tensor->dtype = end == ')' ? COLLAGE_FLOAT32 : COLLAGE_INT64;
    tensor->rank = end != ']' && count == 1 ? 0 : 1;
    tensor->dims[0] = count;
    if (!allocate(p, tensor))
        return false;
    for (uint32_t k = 0; k < count; k++)
        tensor_set(tensor, k, numbers[k]);
    return true;
}

static bool read_value(struct parser *p, const char *name, bool input)
{
    struct tensor tensor = { 0 };
    bool done;
    if (!input && accept(p, '('))
        done = read_literal(p, ')', &tensor);
    else if (!input && accept(p, '['))
        done = read_literal(p, ']', &tensor);
    else if (!input && accept(p, '<'))
        done = read_literal(p, '>', &tensor);
    else {
        struct making making;
        done = read_making(p, &making) && read_shape(p, &tensor) && fill(p, &tensor, &making);
    }
    if (!done)
        return false;
    value_id id = graph_add_value(p->graph, name, input ? VALUE_INPUT : VALUE_CONSTANT, &tensor);
    return id != GRAPH_NONE || (error_memory(p->error), false);
}

/* ---- nodes ---- */

/* The rest of 'a text'. */
static bool read_attribute(struct parser *p, const char *name, collage_attribute *attribute)
{
    struct arena *arena = p->graph->arena;
    memset(attribute, 0, sizeof *attribute);
    attribute->name = arena_string(arena, name);
    if (accept(p, '[')) {
        double numbers[MAX_NUMBERS];
        if (!read_numbers(p, ']', numbers, &attribute->count))
            return false;
        int64_t *ints = arena_array(arena, attribute->count, sizeof *ints);
        for (uint32_t k = 0; ints && k < attribute->count; k++)
            ints[k] = (int64_t)numbers[k];
        attribute->kind = COLLAGE_ATTRIBUTE_INTS;
        attribute->ints = ints;
        return true;
    }
    if (*p->at == '{') {
        size_t length;
        attribute->kind = COLLAGE_ATTRIBUTE_GRAPH;
        if (graph_parse_body(p->at, arena, &length, &attribute->graph, p->error) != COLLAGE_OK)
            return false;
        p->at += length;
        return true;
    }
    char word[MAX_WORD];
    bool quoted = accept(p, '\'');
    if (quoted ? !read_quoted(p, word) : !read_word(p, word))
        return false;
    if (quoted || (!isdigit((unsigned char)word[0]) && word[0] != '-')) {
        attribute->kind = COLLAGE_ATTRIBUTE_STRING;
        attribute->s = arena_string(arena, word);
        attribute->count = (uint32_t)strlen(word);
    } else if (strchr(word, '.')) {
        attribute->kind = COLLAGE_ATTRIBUTE_FLOAT;
        attribute->f = strtof(word, NULL);
    } else {
        attribute->kind = COLLAGE_ATTRIBUTE_INT;
        attribute->i = strtoll(word, NULL, 10);
    }
    return true;
}

static bool read_inputs(struct parser *p, value_id *inputs, uint32_t *count)
{
    *count = 0;
    do {
        char word[MAX_WORD];
        if (!read_word(p, word))
            return false;
        if (*count == MAX_INPUTS)
            return wrong(p, "too many inputs");
        inputs[*count] = word[0] ? graph_find_value(p->graph, word) : GRAPH_NONE;
        if (word[0] && inputs[*count] == GRAPH_NONE)
            return wrong(p, "an unknown value");
        ++*count;
    } while (accept(p, ','));
    return accept(p, ')') || wrong(p, "no ')'");
}

static bool read_attributes(struct parser *p, collage_attribute *attributes, uint32_t *count)
{
    *count = 0;
    for (skip_space(p); *p->at && *p->at != ';'; skip_space(p)) {
        char word[MAX_WORD];
        if (*count == MAX_ATTRIBUTES || !read_word(p, word) || !accept(p, '='))
            return wrong(p, "no attribute");
        if (!read_attribute(p, word, &attributes[(*count)++]))
            return false;
    }
    return true;
}

static bool read_node(struct parser *p, const struct outputs *outputs, const char *op_type)
{
    const struct op *op = op_find(op_type);
    value_id inputs[MAX_INPUTS], ids[MAX_OUTPUTS];
    collage_attribute attributes[MAX_ATTRIBUTES];
    uint32_t input_count = 0, attribute_count = 0;
    if (!op)
        return wrong(p, "an unknown operator");
    if (!read_inputs(p, inputs, &input_count) || !read_attributes(p, attributes, &attribute_count))
        return false;
    for (uint32_t k = 0; k < outputs->count; k++) {
        ids[k] = GRAPH_NONE;
        if (!outputs->names[k][0])
            continue;
        ids[k] = graph_add_value(p->graph, outputs->names[k], VALUE_COMPUTED, NULL);
        if (ids[k] == GRAPH_NONE)
            return error_memory(p->error), false;
    }
    node_id node = graph_add_node(p->graph, op, outputs->names[0], inputs, input_count, ids,
                                  outputs->count, attributes, attribute_count);
    if (node == GRAPH_NONE)
        return error_memory(p->error), false;
    return graph_infer_node(p->graph, node, p->error) == COLLAGE_OK;
}

static bool read_statement(struct parser *p)
{
    struct outputs names = { .count = 0 };
    char word[MAX_WORD];
    do {
        if (names.count == MAX_OUTPUTS)
            return wrong(p, "too many outputs");
        if (!read_word(p, names.names[names.count++]))
            return false;
    } while (accept(p, ','));
    if (names.count == 1 && accept(p, ':'))
        return read_value(p, names.names[0], true);
    skip_space(p);
    if (*p->at == '\0') {
        p->more = names;
        return true;
    }
    if (!accept(p, '='))
        return wrong(p, "neither ':' nor '='");
    skip_space(p);
    const char *before = p->at;
    if (isalpha((unsigned char)*p->at)) {
        if (!read_word(p, word))
            return false;
        if (accept(p, '('))
            return read_node(p, &names, word);
        p->at = before; /* a type */
    }
    return names.count == 1 ? read_value(p, names.names[0], false) : wrong(p, "no operator");
}

static bool set_border(struct parser *p)
{
    value_id inputs[MAX_INPUTS];
    uint32_t count = 0;
    struct graph *graph = p->graph;
    for (value_id v = 0; v < graph->value_count; v++) {
        if (graph->values[v].kind == VALUE_INPUT && count < MAX_INPUTS)
            inputs[count++] = v;
    }
    const collage_node *last = &graph->nodes[graph->node_count - 1].base;
    value_id outputs[MAX_OUTPUTS];
    uint32_t output_count = 0;
    for (uint32_t k = 0; k < last->output_count; k++) {
        if (last->outputs[k] != GRAPH_NONE)
            outputs[output_count++] = last->outputs[k];
    }
    for (uint32_t k = 0; k < p->more.count && output_count < MAX_OUTPUTS; k++) {
        outputs[output_count] = graph_find_value(graph, p->more.names[k]);
        if (outputs[output_count++] == GRAPH_NONE)
            return wrong(p, "an unknown output");
    }
    return graph_set_inputs(graph, inputs, count, p->error) == COLLAGE_OK &&
           graph_set_outputs(graph, outputs, output_count, p->error) == COLLAGE_OK;
}

static bool parse(struct parser *p)
{
    do {
        if (!read_statement(p))
            return false;
        skip_space(p);
    } while (accept(p, ';'));
    if (*p->at || p->graph->node_count == 0)
        return wrong(p, "the end is missing");
    return set_border(p);
}

/* ---- the reference's results ---- */

static collage_status compute_node(struct case_graph *made, const struct node *node,
                                   struct error *error)
{
    const struct tensor *inputs[MAX_INPUTS];
    struct tensor outputs[MAX_OUTPUTS] = { 0 };
    for (uint32_t k = 0; k < node->base.input_count; k++) {
        value_id v = node->base.inputs[k];
        inputs[k] = v == GRAPH_NONE ? NULL : &made->tensors[v];
    }
    struct op_call call = { .node = &node->base,
                            .input_count = node->base.input_count,
                            .output_count = node->base.output_count,
                            .inputs = inputs,
                            .outputs = outputs };
    collage_status status = op_infer(node->op, &call, error); /* of left-out outputs, too */
    for (uint32_t k = 0; k < node->base.output_count && status == COLLAGE_OK; k++) {
        outputs[k].data = arena_alloc(made->graph->arena, tensor_bytes(&outputs[k]) + 1);
        if (!outputs[k].data)
            return error_memory(error);
        if (node->base.outputs[k] != GRAPH_NONE)
            made->tensors[node->base.outputs[k]] = outputs[k];
    }
    return status == COLLAGE_OK ? node->op->compute(&call, error) : status;
}

static collage_status compute(struct case_graph *made, struct error *error)
{
    struct graph *graph = made->graph;
    collage_status status = COLLAGE_OK;
    for (node_id n = 0; n < graph->node_count && status == COLLAGE_OK; n++)
        status = compute_node(made, &graph->nodes[n], error);
    return status;
}

/* Inputs keep their contents outside the graph, as a model's do. */
static collage_status take_inputs(struct case_graph *made, struct error *error)
{
    struct graph *graph = made->graph;
    made->tensors = arena_array(graph->arena, graph->value_count, sizeof *made->tensors);
    if (!made->tensors)
        return error_memory(error);
    for (value_id v = 0; v < graph->value_count; v++) {
        made->tensors[v] = graph->values[v].tensor;
        if (graph->values[v].kind == VALUE_INPUT)
            graph->values[v].tensor.data = NULL;
    }
    return graph_verify(graph, error);
}

const struct operator_case *operator_case_find(const char *name)
{
    for (size_t k = 0; k < operator_case_count; k++) {
        if (strcmp(operator_cases[k].name, name) == 0)
            return &operator_cases[k];
    }
    return NULL;
}

collage_status case_graph_parse(const struct operator_case *row, struct case_graph *out,
                                struct error *error)
{
    memset(out, 0, sizeof *out);
    struct parser p = { .at = row->text, .row = row, .error = error };
    p.graph = out->graph = graph_create();
    if (!p.graph)
        return error_memory(error);
    collage_status status = COLLAGE_OK;
    if (!parse(&p))
        status = error->status == COLLAGE_OK ? COLLAGE_ERROR_INTERNAL : error->status;
    if (status == COLLAGE_OK)
        status = take_inputs(out, error);
    if (status == COLLAGE_OK)
        status = graph_uses_build(out->graph, &out->uses, error);
    if (status != COLLAGE_OK)
        case_graph_destroy(out);
    return status;
}

collage_status case_graph_create(const struct operator_case *row, struct case_graph *out,
                                 struct error *error)
{
    collage_status status = case_graph_parse(row, out, error);
    if (status != COLLAGE_OK)
        return status;
    status = compute(out, error);
    if (status != COLLAGE_OK)
        case_graph_destroy(out);
    return status;
}

void case_graph_destroy(struct case_graph *made)
{
    graph_uses_free(&made->uses);
    graph_destroy(made->graph);
    memset(made, 0, sizeof *made);
}

collage_status case_graph_subgraph(const struct case_graph *made, node_id first, uint32_t count,
                                   struct region *region, const collage_subgraph **out,
                                   struct error *error)
{
    node_id nodes[MAX_NODES];
    if (count > MAX_NODES)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "more than %d nodes", MAX_NODES);
    for (uint32_t k = 0; k < count; k++)
        nodes[k] = first + k;
    struct arena *arena = made->graph->arena;
    collage_status status =
        region_make(arena, made->graph, &made->uses, nodes, count, region, error);
    if (status == COLLAGE_OK)
        status = subgraph_make(arena, made->graph, region, out, error);
    return status;
}
