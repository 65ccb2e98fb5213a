/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the text form. Each node is inferred as it is read, and its outputs must be of the type
 * that the text says. */
#include <stdio.h>
#include <string.h>

#include "graph/body.h"
#include "graph/graph_lexer.h"
#include "graph/graph_text.h"
#include "graph/name_map.h"
#include "graph/verify.h"

enum { LIST_LIMIT = 65536, DEPTH_LIMIT = 32 };

struct parser {
    struct lexer lexer;
    struct graph *graph;
    struct name_map values;
    value_id *inputs, *outputs;
    size_t input_count, input_capacity, output_count, output_capacity;
    /* Of the node that is being read. */
    value_id *operands;
    size_t operand_count, operand_capacity;
    value_id *results;
    size_t result_count, result_capacity;
    collage_attribute *attributes;
    size_t attribute_count, attribute_capacity;
    int64_t *ints;
    float *floats;
    size_t int_capacity, float_capacity;
    void *zeros; /* shared by all stand-ins */
    uint64_t zero_bytes;
    uint32_t depth; /* of the bodies that this is in */
};

static bool out_of_memory(struct parser *parser)
{
    error_memory(parser->lexer.error);
    return false;
}

static bool push(struct parser *parser, value_id **list, size_t *count, size_t *capacity,
                 value_id id)
{
    if (*count == LIST_LIMIT)
        return lexer_fail(&parser->lexer, "a shorter list");
    if (!memory_grow((void **)list, capacity, *count, sizeof **list))
        return out_of_memory(parser);
    (*list)[(*count)++] = id;
    return true;
}

static bool define(struct parser *parser, enum value_kind kind, value_id *id)
{
    const char *name;
    if (!lexer_name(&parser->lexer, &name))
        return false;
    if (name_map_find(&parser->values, name) != NAME_MAP_NONE)
        return lexer_fail(&parser->lexer, "a new name");
    *id = graph_add_value(parser->graph, name, kind, NULL);
    if (*id == GRAPH_NONE || !name_map_add(&parser->values, parser->graph->values[*id].name, *id))
        return out_of_memory(parser);
    return true;
}

static bool use(struct parser *parser, value_id *id)
{
    const char *name;
    lexer_peek(&parser->lexer, "%"); /* skips white space */
    const char *start = parser->lexer.at;
    if (!lexer_name(&parser->lexer, &name))
        return false;
    *id = name_map_find(&parser->values, name);
    if (*id != NAME_MAP_NONE)
        return true;
    parser->lexer.at = start;
    return lexer_fail(&parser->lexer, "a value that is defined before");
}

/* ": float32[1x3x224x224]" */
static bool parse_type(struct parser *parser, struct tensor *tensor)
{
    struct lexer *lexer = &parser->lexer;
    const char *word;
    *tensor = (struct tensor){ 0 };
    if (!lexer_expect(lexer, ":") || !lexer_word(lexer, &word))
        return false;
    tensor->dtype = dtype_parse(word);
    if (tensor->dtype == COLLAGE_UNDEFINED)
        return lexer_fail(lexer, "an element type before this");
    if (!lexer_expect(lexer, "["))
        return false;
    while (!lexer_accept(lexer, "]")) {
        if (tensor->rank == COLLAGE_MAX_RANK)
            return lexer_fail(lexer, "at most 8 dimensions");
        if (tensor->rank > 0) { /* "x" may be followed by digits at once: no word */
            if (*lexer->at != 'x')
                return lexer_fail(lexer, "'x' or ']'");
            lexer->at++;
        }
        if (!lexer_int(lexer, &tensor->dims[tensor->rank++]))
            return false;
    }
    uint64_t bytes;
    return tensor_check_size(tensor, &bytes) || lexer_fail(lexer, "a possible shape before this");
}

/* ---- constants ---- */

static bool parse_elements(struct parser *parser, struct tensor *tensor)
{
    size_t size = dtype_size(tensor->dtype);
    int64_t count = tensor_elements(tensor);
    if (count > LIST_LIMIT)
        return lexer_fail(&parser->lexer, "a hash, for so many elements");
    tensor->data = arena_array(parser->graph->arena, (size_t)count, size);
    if (!tensor->data)
        return out_of_memory(parser);
    for (int64_t i = 0; i < count; i++) {
        double real;
        int64_t integer;
        if (i > 0 && !lexer_expect(&parser->lexer, ","))
            return false;
        switch (tensor->dtype) {
        case COLLAGE_FLOAT32:
        case COLLAGE_FLOAT64:
        case COLLAGE_FLOAT16:
        case COLLAGE_BFLOAT16:
            if (!lexer_real(&parser->lexer, &real))
                return false;
            tensor_set(tensor, i, real);
            break;
        default: /* little-endian: the low bytes are the narrow integer */
            if (!lexer_int(&parser->lexer, &integer))
                return false;
            integer = tensor->dtype == COLLAGE_BOOL ? integer != 0 : integer;
            memcpy((char *)tensor->data + (size_t)i * size, &integer, size);
        }
    }
    return lexer_expect(&parser->lexer, "}");
}

static bool parse_stand_in(struct parser *parser, struct value *value)
{
    struct lexer *lexer = &parser->lexer;
    char digits[33] = "";
    for (size_t k = 0; k < 32 && *lexer->at; k++)
        digits[k] = *lexer->at++;
    struct hash hash;
    if (!hash_parse(digits, &hash))
        return lexer_fail(lexer, "32 hexadecimal digits before this");
    uint64_t bytes = tensor_bytes(&value->tensor);
    if (bytes > (uint64_t)1 << 31)
        return lexer_fail(lexer, "a constant of at most 2 GB");
    if (!parser->zeros || bytes > parser->zero_bytes) {
        parser->zeros = arena_alloc(parser->graph->arena, (size_t)bytes);
        parser->zero_bytes = bytes;
    }
    value->tensor.data = parser->zeros;
    value->stands_for = arena_copy(parser->graph->arena, &hash, sizeof hash);
    return value->tensor.data && value->stands_for ? true : out_of_memory(parser);
}

static bool parse_constant(struct parser *parser)
{
    value_id id;
    struct lexer *lexer = &parser->lexer;
    if (!define(parser, VALUE_CONSTANT, &id))
        return false;
    struct value *value = &parser->graph->values[id];
    if (!parse_type(parser, &value->tensor) || !lexer_expect(lexer, "="))
        return false;
    if (lexer_accept(lexer, "#"))
        return parse_stand_in(parser, value);
    return lexer_expect(lexer, "{") && parse_elements(parser, &value->tensor);
}

/* ---- nodes ---- */

static bool parse_list(struct parser *parser, collage_attribute *a)
{
    struct lexer *lexer = &parser->lexer;
    size_t count = 0;
    bool real = lexer_accept(lexer, ".") || lexer_is_real(lexer);
    while (!lexer_accept(lexer, "]")) {
        double number;
        if (count == LIST_LIMIT)
            return lexer_fail(lexer, "a shorter list");
        if (count > 0 && !lexer_expect(lexer, ","))
            return false;
        if (!memory_grow((void **)&parser->ints, &parser->int_capacity, count, sizeof(int64_t)) ||
            !memory_grow((void **)&parser->floats, &parser->float_capacity, count, sizeof(float)))
            return out_of_memory(parser);
        if (real ? !lexer_real(lexer, &number) : !lexer_int(lexer, &parser->ints[count]))
            return false;
        if (real)
            parser->floats[count] = (float)number;
        count++;
    }
    a->kind = real ? COLLAGE_ATTRIBUTE_FLOATS : COLLAGE_ATTRIBUTE_INTS;
    a->count = (uint32_t)count;
    if (real)
        a->floats = arena_copy(parser->graph->arena, parser->floats, count * sizeof(float));
    else
        a->ints = arena_copy(parser->graph->arena, parser->ints, count * sizeof(int64_t));
    return a->floats || a->ints ? true : out_of_memory(parser);
}

static bool parse_body(struct lexer *lexer, uint32_t depth, const collage_subgraph **out);

static bool parse_attribute(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    collage_attribute a = { 0 };
    if (parser->attribute_count == 64)
        return lexer_fail(lexer, "at most 64 attributes");
    if (!lexer_word(lexer, &a.name) || !lexer_expect(lexer, "="))
        return false;
    for (size_t k = 0; k < parser->attribute_count; k++)
        if (strcmp(parser->attributes[k].name, a.name) == 0)
            return lexer_fail(lexer, "each attribute once");
    if (lexer_accept(lexer, "[")) {
        if (!parse_list(parser, &a))
            return false;
    } else if (lexer_peek(lexer, "\"")) {
        if (!lexer_string(lexer, &a.s))
            return false;
        a.kind = COLLAGE_ATTRIBUTE_STRING;
        a.count = (uint32_t)strlen(a.s);
    } else if (lexer_accept(lexer, "{")) {
        if (!parse_body(lexer, parser->depth + 1, &a.graph))
            return false;
        a.kind = COLLAGE_ATTRIBUTE_GRAPH;
    } else if (lexer_is_real(lexer)) {
        double number;
        if (!lexer_real(lexer, &number))
            return false;
        a.kind = COLLAGE_ATTRIBUTE_FLOAT;
        a.f = (float)number;
    } else {
        if (!lexer_int(lexer, &a.i))
            return false;
        a.kind = COLLAGE_ATTRIBUTE_INT;
    }
    if (!memory_grow((void **)&parser->attributes, &parser->attribute_capacity,
                     parser->attribute_count, sizeof a))
        return out_of_memory(parser);
    parser->attributes[parser->attribute_count++] = a;
    return true;
}

static bool parse_results(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    parser->result_count = 0;
    do {
        value_id id = GRAPH_NONE;
        if (!lexer_accept(lexer, "_") && (!define(parser, VALUE_COMPUTED, &id) ||
                                          !parse_type(parser, &parser->graph->values[id].tensor)))
            return false;
        if (!push(parser, &parser->results, &parser->result_count, &parser->result_capacity, id))
            return false;
    } while (lexer_accept(lexer, ","));
    return lexer_expect(lexer, "=");
}

static bool parse_operands(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    parser->operand_count = 0;
    if (!lexer_expect(lexer, "("))
        return false;
    while (!lexer_accept(lexer, ")")) {
        value_id id = GRAPH_NONE;
        if (parser->operand_count > 0 && !lexer_expect(lexer, ","))
            return false;
        if (!lexer_accept(lexer, "_") && !use(parser, &id))
            return false;
        if (!push(parser, &parser->operands, &parser->operand_count, &parser->operand_capacity, id))
            return false;
    }
    return true;
}

/* The results have the declared types; inference must give the same. */
static bool infer(struct parser *parser, node_id node)
{
    struct graph *graph = parser->graph;
    struct tensor *inferred = memory_alloc(parser->result_count * sizeof *inferred);
    if (!inferred)
        return out_of_memory(parser);
    bool ok = graph_infer_outputs(graph, node, inferred, parser->lexer.error) == COLLAGE_OK;
    for (size_t k = 0; ok && k < parser->result_count; k++) {
        if (parser->results[k] == GRAPH_NONE)
            continue;
        const struct tensor *declared = &graph->values[parser->results[k]].tensor;
        if (declared->dtype == inferred[k].dtype && tensor_same_shape(declared, &inferred[k]))
            continue;
        char dims[160], what[256];
        dims_print(inferred[k].dims, inferred[k].rank, dims, sizeof dims);
        snprintf(what, sizeof what, "the type %s %s for what is before this",
                 dtype_name(inferred[k].dtype), dims);
        ok = lexer_fail(&parser->lexer, what);
    }
    memory_free(inferred);
    return ok;
}

static bool parse_node(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    const char *op_name;
    const char *name = "";
    if (!parse_results(parser) || !lexer_word(lexer, &op_name))
        return false;
    const struct op *op = op_find(op_name);
    if (!op)
        return lexer_fail(lexer, "a known operator before this");
    if (!parse_operands(parser))
        return false;
    parser->attribute_count = 0;
    if (lexer_accept(lexer, "{")) {
        do {
            if (!parse_attribute(parser))
                return false;
        } while (lexer_accept(lexer, ","));
        if (!lexer_expect(lexer, "}"))
            return false;
    }
    if (lexer_peek(lexer, "\"") && !lexer_string(lexer, &name))
        return false;
    node_id id = graph_add_node(
        parser->graph, op, name, parser->operands, (uint32_t)parser->operand_count, parser->results,
        (uint32_t)parser->result_count, parser->attributes, (uint32_t)parser->attribute_count);
    if (id == GRAPH_NONE)
        return out_of_memory(parser);
    /* In a body the node that holds it infers: it knows which inputs are constant. */
    return parser->depth > 0 || infer(parser, id);
}

/* ---- the whole ---- */

static bool parse_statement(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    value_id id;
    if (lexer_accept(lexer, "input"))
        return define(parser, VALUE_INPUT, &id) &&
               parse_type(parser, &parser->graph->values[id].tensor) &&
               push(parser, &parser->inputs, &parser->input_count, &parser->input_capacity, id);
    if (lexer_accept(lexer, "const"))
        return parser->depth == 0 ? parse_constant(parser)
                                  : lexer_fail(lexer, "no constant: a body takes it as an input");
    if (lexer_accept(lexer, "output"))
        return use(parser, &id) &&
               push(parser, &parser->outputs, &parser->output_count, &parser->output_capacity, id);
    return parse_node(parser);
}

static bool parse_statements(struct parser *parser)
{
    while (!lexer_accept(&parser->lexer, "}"))
        if (!parse_statement(parser))
            return false;
    return parser->output_count > 0 || lexer_fail(&parser->lexer, "an output");
}

static void parser_free(struct parser *parser)
{
    name_map_free(&parser->values);
    memory_free(parser->inputs);
    memory_free(parser->outputs);
    memory_free(parser->operands);
    memory_free(parser->results);
    memory_free(parser->attributes);
    memory_free(parser->ints);
    memory_free(parser->floats);
}

static bool make_body(const struct parser *parser, const collage_subgraph **out)
{
    size_t count = parser->graph->node_count;
    node_id *nodes = memory_alloc(count * sizeof *nodes);
    if (!nodes) {
        error_memory(parser->lexer.error);
        return false;
    }
    for (size_t n = 0; n < count; n++)
        nodes[n] = (node_id)n;
    const struct body_parts parts = { nodes,
                                      parser->inputs,
                                      parser->outputs,
                                      (uint32_t)count,
                                      (uint32_t)parser->input_count,
                                      (uint32_t)parser->output_count };
    collage_status status =
        body_make(parser->lexer.arena, parser->graph, &parts, out, parser->lexer.error);
    memory_free(nodes);
    return status == COLLAGE_OK;
}

/* Statements up to "}", with names of their own. The body is the arena's of the lexer. */
static bool parse_body(struct lexer *lexer, uint32_t depth, const collage_subgraph **out)
{
    if (depth > DEPTH_LIMIT)
        return lexer_fail(lexer, "bodies at most 32 deep");
    struct parser inner = { .lexer = *lexer, .graph = graph_create(), .depth = depth };
    if (!inner.graph) {
        error_memory(lexer->error);
        return false;
    }
    bool done = parse_statements(&inner) && make_body(&inner, out);
    lexer->at = inner.lexer.at;
    graph_destroy(inner.graph);
    parser_free(&inner);
    return done;
}

static bool parse_graph(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_expect(lexer, "graph") || !lexer_string(lexer, &parser->graph->name) ||
        !lexer_expect(lexer, "{") || !parse_statements(parser))
        return false;
    lexer_peek(lexer, "}"); /* skips white space */
    if (*lexer->at)
        return lexer_fail(lexer, "the end");
    return graph_set_inputs(parser->graph, parser->inputs, (uint32_t)parser->input_count,
                            lexer->error) == COLLAGE_OK &&
           graph_set_outputs(parser->graph, parser->outputs, (uint32_t)parser->output_count,
                             lexer->error) == COLLAGE_OK &&
           graph_verify(parser->graph, lexer->error) == COLLAGE_OK;
}

collage_status graph_parse_body(const char *text, struct arena *arena, size_t *length,
                                const collage_subgraph **out, struct error *error)
{
    struct error none = { 0 };
    struct lexer lexer = { text, text, arena, error ? error : &none };
    *out = NULL;
    bool done = lexer_expect(&lexer, "{") && parse_body(&lexer, 1, out);
    *length = (size_t)(lexer.at - text);
    return done ? COLLAGE_OK : lexer.error->status;
}

collage_status graph_parse(const char *text, struct graph **out, struct error *error)
{
    struct error none = { 0 };
    struct parser parser = { .graph = graph_create() };
    error = error ? error : &none;
    *out = NULL;
    if (!parser.graph)
        return error_memory(error);
    parser.lexer = (struct lexer){ text, text, parser.graph->arena, error };
    if (parse_graph(&parser))
        *out = parser.graph;
    else
        graph_destroy(parser.graph);
    parser_free(&parser);
    return *out ? COLLAGE_OK : error->status;
}
