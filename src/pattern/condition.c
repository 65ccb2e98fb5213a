/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/condition.h"

#include <string.h>

#include "pattern/attribute_test.h"

/* Depth bounds the parser's recursion, TERMS that of evaluation ("1+1+1..." leans to the left). */
enum { MAX_DEPTH = 24, MAX_TERMS = 200 };

enum kind {
    NUMBER,
    AND,
    OR,
    NOT,
    NEGATE,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    REMAINDER,
    COMPARE,
    DIM,
    RANK,
    ELEMENTS,
    BYTES,
    DTYPE,
    USES,
    CONSTANT,
    PRESENT,
    OUTPUT,
    COUNT,
    ATTRIBUTE,
};

struct condition {
    enum kind kind;
    enum comparison comparison;
    int64_t number;
    uint32_t value;
    const char *name;              /* of an attribute */
    const struct condition *a, *b; /* b: also the index of DIM and ATTRIBUTE */
};

struct parser {
    struct scanner *scanner;
    const struct condition_names *names;
    uint32_t depth, terms;
};

/* ---- parsing: each level is a line of the grammar (docs/patterns.md) ---- */

static struct condition *make(struct parser *parser, enum kind kind, const struct condition *a,
                              const struct condition *b)
{
    if (++parser->terms > MAX_TERMS) {
        scanner_fail(parser->scanner, "a shorter condition, of at most 200 terms");
        return NULL;
    }
    struct condition *made = arena_alloc(parser->scanner->arena, sizeof *made);
    if (!made) {
        scanner_out_of_memory(parser->scanner);
        return NULL;
    }
    made->kind = kind;
    made->a = a;
    made->b = b;
    return made;
}

static struct condition *make_number(struct parser *parser, int64_t number)
{
    struct condition *made = make(parser, NUMBER, NULL, NULL);
    if (made)
        made->number = number;
    return made;
}

static const struct condition *parse_or(struct parser *parser);

static bool enter(struct parser *parser)
{
    return ++parser->depth <= MAX_DEPTH ||
           scanner_fail(parser->scanner, "fewer parentheses inside each other");
}

static const struct function {
    const char *name;
    enum kind kind;
    bool rest, index, attribute;
} functions[] = {
    { "dim", DIM, false, true, false },
    { "rank", RANK, false, false, false },
    { "elements", ELEMENTS, false, false, false },
    { "bytes", BYTES, false, false, false },
    { "dtype", DTYPE, false, false, false },
    { "uses", USES, false, false, false },
    { "constant", CONSTANT, false, false, false },
    { "present", PRESENT, false, false, false },
    { "output", OUTPUT, false, false, false },
    { "count", COUNT, true, false, false },
    { "attr", ATTRIBUTE, false, false, true },
};

static bool parse_value_name(struct parser *parser, const struct function *function,
                             uint32_t *value)
{
    struct scanner *scanner = parser->scanner;
    const struct token place = scanner->token;
    const char *name;
    if (!scanner_word(scanner, "a value", &name))
        return false;
    int32_t found = parser->names->find(parser->names->user, name);
    if (found < 0)
        return scanner_fail_at(scanner, &place, "expected a value of the pattern; '%s' is none",
                               name);
    *value = (uint32_t)found;
    if (parser->names->is_rest(parser->names->user, *value) == function->rest)
        return true;
    return scanner_fail_at(scanner, &place, "expected %s, which '%s' is not",
                           function->rest ? "operands with '...'" : "one value", name);
}

static bool attribute_exists(const char *name)
{
    collage_attribute_kind kind;
    for (size_t k = 0; k < op_count(); k++)
        if (op_find_attribute(op_at(k), name, &kind) &&
            (kind == COLLAGE_ATTRIBUTE_INT || kind == COLLAGE_ATTRIBUTE_INTS))
            return true;
    return false;
}

static bool parse_attribute_name(struct parser *parser, const char **name)
{
    struct scanner *scanner = parser->scanner;
    if (!scanner_expect(scanner, ","))
        return false;
    const struct token place = scanner->token;
    if (!scanner_word(scanner, "an attribute", name))
        return false;
    return attribute_exists(*name) ||
           scanner_fail_at(scanner, &place,
                           "expected an attribute of whole numbers; no operator has '%s'", *name);
}

/* What stands in the parentheses of a function. */
static const struct condition *parse_call(struct parser *parser, const struct function *function)
{
    struct scanner *scanner = parser->scanner;
    uint32_t value = 0;
    const char *name = NULL;
    const struct condition *index = NULL;
    if (!scanner_expect(scanner, "(") || !parse_value_name(parser, function, &value) ||
        (function->attribute && !parse_attribute_name(parser, &name)))
        return NULL;
    if (function->index && !scanner_is(scanner, ",")) {
        scanner_expect(scanner, ",");
        return NULL;
    }
    if ((function->index || function->attribute) && scanner_accept(scanner, ",")) {
        if (!enter(parser))
            return NULL;
        index = parse_or(parser);
        parser->depth--;
        if (!index)
            return NULL;
    }
    if (!scanner_expect(scanner, ")"))
        return NULL;
    struct condition *made = make(parser, function->kind, NULL, index);
    if (made) {
        made->value = value;
        made->name = name;
    }
    return made;
}

static const struct condition *parse_named(struct parser *parser)
{
    struct scanner *scanner = parser->scanner;
    const struct token place = scanner->token;
    const char *word;
    if (!scanner_word(scanner, "a number or a function", &word))
        return NULL;
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++)
        if (strcmp(functions[k].name, word) == 0)
            return parse_call(parser, &functions[k]);
    collage_dtype dtype = dtype_parse(word);
    if (dtype != COLLAGE_UNDEFINED)
        return make_number(parser, (int64_t)dtype);
    scanner_fail_at(scanner, &place, "expected a number, a function or an element type, not '%s'",
                    word);
    return NULL;
}

static const struct condition *parse_primary(struct parser *parser)
{
    struct scanner *scanner = parser->scanner;
    int64_t number;
    if (scanner->token.kind == TOKEN_NUMBER)
        return scanner_integer(scanner, "a whole number", &number) ? make_number(parser, number)
                                                                   : NULL;
    if (!scanner_accept(scanner, "("))
        return parse_named(parser);
    if (!enter(parser))
        return NULL;
    const struct condition *inside = parse_or(parser);
    parser->depth--;
    return inside && scanner_expect(scanner, ")") ? inside : NULL;
}

static const struct condition *parse_unary(struct parser *parser)
{
    bool negate = scanner_is(parser->scanner, "-");
    if (!negate && !scanner_is(parser->scanner, "!"))
        return parse_primary(parser);
    scanner_next(parser->scanner);
    if (!enter(parser))
        return NULL;
    const struct condition *inside = parse_unary(parser);
    parser->depth--;
    return inside ? make(parser, negate ? NEGATE : NOT, inside, NULL) : NULL;
}

struct operation {
    const char *text;
    enum kind kind;
};

static const struct operation *accept_operation(struct scanner *scanner,
                                                const struct operation *operations, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (scanner_accept(scanner, operations[k].text))
            return &operations[k];
    return NULL;
}

static const struct condition *parse_left(struct parser *parser, const struct operation *operations,
                                          size_t count,
                                          const struct condition *(*next)(struct parser *parser))
{
    const struct condition *left = next(parser);
    while (left) {
        const struct operation *operation = accept_operation(parser->scanner, operations, count);
        if (!operation)
            return left;
        const struct condition *right = next(parser);
        left = right ? make(parser, operation->kind, left, right) : NULL;
    }
    return NULL;
}

static const struct condition *parse_product(struct parser *parser)
{
    static const struct operation operations[] = { { "*", MULTIPLY },
                                                   { "/", DIVIDE },
                                                   { "%", REMAINDER } };
    return parse_left(parser, operations, 3, parse_unary);
}

static const struct condition *parse_sum(struct parser *parser)
{
    static const struct operation operations[] = { { "+", ADD }, { "-", SUBTRACT } };
    return parse_left(parser, operations, 2, parse_product);
}

static const struct condition *parse_comparison(struct parser *parser)
{
    enum comparison comparison;
    const struct condition *left = parse_sum(parser);
    if (!left || !comparison_accept(parser->scanner, &comparison))
        return left;
    const struct condition *right = parse_sum(parser);
    struct condition *made = right ? make(parser, COMPARE, left, right) : NULL;
    if (made)
        made->comparison = comparison;
    return made;
}

static const struct condition *parse_and(struct parser *parser)
{
    static const struct operation operations[] = { { "&&", AND } };
    return parse_left(parser, operations, 1, parse_comparison);
}

static const struct condition *parse_or(struct parser *parser)
{
    static const struct operation operations[] = { { "||", OR } };
    return parse_left(parser, operations, 1, parse_and);
}

bool condition_parse(struct scanner *scanner, const struct condition_names *names,
                     const struct condition **out)
{
    struct parser parser = { .scanner = scanner, .names = names };
    *out = parse_or(&parser);
    return *out != NULL;
}

void condition_visit(const struct condition *condition, void (*visit)(void *user, uint32_t value),
                     void *user)
{
    if (!condition)
        return;
    if (condition->kind >= DIM)
        visit(user, condition->value);
    condition_visit(condition->a, visit, user);
    condition_visit(condition->b, visit, user);
}

/* ---- evaluating ---- */

static bool evaluate(const struct condition *condition, const struct condition_scope *scope,
                     int64_t *out);

/* Numbers of times; being an output of the model is one. */
static int64_t count_uses(const struct condition_scope *scope, value_id value)
{
    return (int64_t)scope->uses->first[value + 1] - (int64_t)scope->uses->first[value] +
           (graph_is_output(scope->graph, value) ? 1 : 0);
}

static bool evaluate_dim(const struct condition *condition, const struct condition_scope *scope,
                         const struct tensor *tensor, int64_t *out)
{
    int64_t index;
    if (!evaluate(condition->b, scope, &index))
        return false;
    if (index < 0 && index >= -(int64_t)tensor->rank)
        index += tensor->rank;
    if (index < 0 || index >= tensor->rank)
        return false;
    *out = tensor->dims[index];
    return true;
}

static bool evaluate_attribute(const struct condition *condition,
                               const struct condition_scope *scope, value_id value, int64_t *out)
{
    const struct value *found = &scope->graph->values[value];
    int64_t index = 0;
    if (found->kind != VALUE_COMPUTED || (condition->b && !evaluate(condition->b, scope, &index)))
        return false;
    return attribute_integer(&scope->graph->nodes[found->producer], condition->name, index, out);
}

/* A property of a value. */
static bool evaluate_property(const struct condition *condition,
                              const struct condition_scope *scope, int64_t *out)
{
    value_id value = scope->values[condition->value];
    *out = value != GRAPH_NONE;
    if (condition->kind == PRESENT)
        return true;
    *out = (int64_t)value;
    if (condition->kind == COUNT)
        return true;
    if (value == GRAPH_NONE)
        return false;
    const struct tensor *tensor = &scope->graph->values[value].tensor;
    switch (condition->kind) {
    case RANK:
        *out = tensor->rank;
        return true;
    case ELEMENTS:
        *out = tensor_elements(tensor);
        return true;
    case BYTES:
        *out = (int64_t)tensor_bytes(tensor);
        return true;
    case DTYPE:
        *out = (int64_t)tensor->dtype;
        return true;
    case USES:
        *out = count_uses(scope, value);
        return true;
    case CONSTANT:
        *out = graph_is_constant(scope->graph, value);
        return true;
    case OUTPUT:
        *out = graph_is_output(scope->graph, value);
        return true;
    case DIM:
        return evaluate_dim(condition, scope, tensor, out);
    default:
        return evaluate_attribute(condition, scope, value, out);
    }
}

static bool compare(enum comparison comparison, int64_t a, int64_t b)
{
    switch (comparison) {
    case IS_EQUAL:
        return a == b;
    case IS_DIFFERENT:
        return a != b;
    case IS_LESS:
        return a < b;
    case IS_AT_MOST:
        return a <= b;
    case IS_MORE:
        return a > b;
    case IS_AT_LEAST:
        return a >= b;
    }
    return false;
}

/* Both sides are there. Remainders have the sign of the left side, as in C. */
static bool apply(const struct condition *condition, int64_t a, int64_t b, int64_t *out)
{
    switch (condition->kind) {
    case ADD:
        return !__builtin_add_overflow(a, b, out);
    case SUBTRACT:
        return !__builtin_sub_overflow(a, b, out);
    case MULTIPLY:
        return !__builtin_mul_overflow(a, b, out);
    case DIVIDE:
    case REMAINDER:
        if (b == 0 || (a == INT64_MIN && b == -1))
            return false;
        *out = condition->kind == DIVIDE ? a / b : a % b;
        return true;
    default:
        *out = compare(condition->comparison, a, b);
        return true;
    }
}

static bool evaluate(const struct condition *condition, const struct condition_scope *scope,
                     int64_t *out)
{
    int64_t a, b;
    if (condition->kind == NUMBER) {
        *out = condition->number;
        return true;
    }
    if (condition->kind >= DIM)
        return evaluate_property(condition, scope, out);
    if (!evaluate(condition->a, scope, &a))
        return false;
    if (condition->kind == NOT || condition->kind == NEGATE) {
        *out = a == 0;
        return condition->kind == NOT || !__builtin_sub_overflow(INT64_C(0), a, out);
    }
    if (condition->kind == AND || condition->kind == OR) {
        *out = a != 0;
        if ((condition->kind == AND) == (a == 0))
            return true; /* the left side decides */
        if (!evaluate(condition->b, scope, &b))
            return false;
        *out = b != 0;
        return true;
    }
    return evaluate(condition->b, scope, &b) && apply(condition, a, b, out);
}

bool condition_holds(const struct condition *condition, const struct condition_scope *scope)
{
    int64_t value;
    return evaluate(condition, scope, &value) && value != 0;
}
