/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/pattern.h"

#include <string.h>

/*
 * A pattern is unrolled into positions, at most 64 of them: a set is one position, "set*n" is n
 * positions that may be skipped. Matching walks the only chain there is and keeps, as a bit mask,
 * the positions that the last node may have matched.
 */
enum { MAX_POSITIONS = 64, MAX_REPEATS = 32, MAX_OP_NAME = 64 };

struct position {
    const struct op **ops; /* the set; positions of one "set*n" share it */
    uint32_t op_count;
    bool optional;
};

struct pattern {
    struct arena *arena;
    struct position positions[MAX_POSITIONS];
    uint32_t count;
};

struct parser {
    const char *name, *text, *at;
    struct pattern *pattern;
    struct error *error;
};

static collage_status fail(const struct parser *parser, const char *expected)
{
    return error_set(parser->error, COLLAGE_ERROR_FORMAT,
                     "pattern '%s': column %zu of \"%s\": expected %s", parser->name,
                     (size_t)(parser->at - parser->text) + 1, parser->text, expected);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static collage_status parse_op(struct parser *parser, const struct op **out)
{
    char name[MAX_OP_NAME];
    size_t length = 0;
    const char *at = parser->at;
    while (is_letter(at[length]) || (length > 0 && is_digit(at[length])))
        length++;
    if (length == 0)
        return fail(parser, "an operator");
    if (length >= sizeof name)
        return fail(parser, "a shorter name");
    memcpy(name, at, length);
    name[length] = '\0';
    *out = op_find(name);
    if (!*out)
        return error_set(parser->error, COLLAGE_ERROR_FORMAT,
                         "pattern '%s': column %zu of \"%s\": unknown operator '%s'", parser->name,
                         (size_t)(at - parser->text) + 1, parser->text, name);
    parser->at += length;
    return COLLAGE_OK;
}

/* set = Op | "(" Op { "|" Op } ")" */
static collage_status parse_set(struct parser *parser, struct position *out)
{
    bool several = *parser->at == '(';
    uint32_t limit = 1;
    for (const char *at = parser->at; *at && *at != ')'; at++)
        limit += *at == '|';
    out->ops = arena_array(parser->pattern->arena, limit, sizeof(const struct op *));
    if (!out->ops)
        return error_memory(parser->error);
    parser->at += several;
    for (;;) {
        collage_status status = parse_op(parser, &out->ops[out->op_count]);
        if (status)
            return status;
        out->op_count++;
        if (!several)
            return COLLAGE_OK;
        char c = *parser->at;
        if (c != '|' && c != ')')
            return fail(parser, "'|' or ')'");
        parser->at++;
        if (c == ')')
            return COLLAGE_OK;
    }
}

static collage_status parse_number(struct parser *parser, uint32_t *out)
{
    if (!is_digit(*parser->at))
        return fail(parser, "a number");
    uint32_t value = 0;
    const char *at = parser->at;
    for (; is_digit(*at) && value <= MAX_REPEATS; at++)
        value = value * 10 + (uint32_t)(*at - '0');
    if (value == 0 || value > MAX_REPEATS)
        return fail(parser, "a number from 1 to 32");
    parser->at = at;
    *out = value;
    return COLLAGE_OK;
}

/* pattern = set { " " set [ "*" number ] } */
static collage_status parse_all(struct parser *parser)
{
    struct pattern *pattern = parser->pattern;
    for (bool first = true;; first = false) {
        struct position position = { 0 };
        uint32_t repeats = 1;
        collage_status status = parse_set(parser, &position);
        if (!status && !first && *parser->at == '*') {
            parser->at++;
            position.optional = true;
            status = parse_number(parser, &repeats);
        }
        if (status)
            return status;
        if (pattern->count + repeats > MAX_POSITIONS)
            return fail(parser, "at most 64 steps in all");
        for (uint32_t k = 0; k < repeats; k++)
            pattern->positions[pattern->count++] = position;
        if (*parser->at == '\0')
            return COLLAGE_OK;
        if (*parser->at != ' ')
            return fail(parser, first ? "a space or the end" : "'*', a space or the end");
        parser->at += strspn(parser->at, " ");
    }
}

collage_status pattern_parse(const char *name, const char *text, struct pattern **out,
                             struct error *error)
{
    *out = NULL;
    struct pattern *pattern = memory_alloc(sizeof *pattern);
    if (!pattern)
        return error_memory(error);
    pattern->arena = arena_create();
    struct parser parser = { name, text, text, pattern, error };
    collage_status status = pattern->arena ? parse_all(&parser) : error_memory(error);
    if (status) {
        pattern_destroy(pattern);
        return status;
    }
    *out = pattern;
    return COLLAGE_OK;
}

void pattern_destroy(struct pattern *pattern)
{
    if (!pattern)
        return;
    arena_destroy(pattern->arena);
    memory_free(pattern);
}

static bool position_takes(const struct position *position, const struct op *op)
{
    for (uint32_t k = 0; k < position->op_count; k++)
        if (position->ops[k] == op)
            return true;
    return false;
}

/* The positions that `op` may match after a node that may have matched `mask`. */
static uint64_t advance(const struct pattern *pattern, uint64_t mask, const struct op *op)
{
    uint64_t next = 0;
    bool reachable = false;
    for (uint32_t k = 0; k < pattern->count; k++) {
        if (reachable && position_takes(&pattern->positions[k], op))
            next |= UINT64_C(1) << k;
        bool matched = mask >> k & 1;
        reachable = matched || (reachable && pattern->positions[k].optional);
    }
    return next;
}

/* The node that alone uses the only used output of `node`, or GRAPH_NONE. */
static node_id single_consumer(const struct graph *graph, const struct graph_uses *uses,
                               node_id node)
{
    const collage_node *base = &graph->nodes[node].base;
    if (base->output_count == 0 || base->outputs[0] == GRAPH_NONE)
        return GRAPH_NONE;
    for (uint32_t k = 0; k < base->output_count; k++) {
        value_id value = base->outputs[k];
        if (value == GRAPH_NONE)
            continue;
        if (graph_is_output(graph, value))
            return GRAPH_NONE;
        if (k > 0 && uses->first[value] != uses->first[value + 1])
            return GRAPH_NONE;
    }
    uint32_t first = uses->first[base->outputs[0]], end = uses->first[base->outputs[0] + 1];
    if (first == end)
        return GRAPH_NONE;
    for (uint32_t k = first + 1; k < end; k++)
        if (uses->users[k] != uses->users[first])
            return GRAPH_NONE;
    return uses->users[first];
}

void pattern_match(const struct pattern *pattern, const struct graph *graph,
                   const struct graph_uses *uses, node_id first, pattern_match_fn found, void *user)
{
    node_id nodes[MAX_POSITIONS];
    uint32_t count = 0;
    if (!position_takes(&pattern->positions[0], graph->nodes[first].op))
        return;
    uint64_t mask = 1;
    for (node_id node = first; mask;) {
        nodes[count++] = node;
        if (!found(user, nodes, count) || count == pattern->count)
            return;
        node = single_consumer(graph, uses, node);
        if (node == GRAPH_NONE)
            return;
        mask = advance(pattern, mask, graph->nodes[node].op);
    }
}
