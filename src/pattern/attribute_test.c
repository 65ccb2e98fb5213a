/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/attribute_test.h"

#include <math.h>
#include <string.h>

#include "pattern/attribute_default.h"

enum { MAX_CHOICES = 64, MAX_TESTS = 16, MAX_NUMBERS = 64 };

/* ---- parsing ---- */

bool comparison_accept(struct scanner *scanner, enum comparison *out)
{
    static const struct {
        const char *text;
        enum comparison comparison;
    } rows[] = { { "==", IS_EQUAL }, { "=", IS_EQUAL },    { "!=", IS_DIFFERENT }, { "<", IS_LESS },
                 { ">", IS_MORE },   { "<=", IS_AT_MOST }, { ">=", IS_AT_LEAST } };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        if (scanner_accept(scanner, rows[k].text)) {
            *out = rows[k].comparison;
            return true;
        }
    return false;
}

static bool parse_list(struct scanner *scanner, struct attribute_test *test)
{
    double numbers[MAX_NUMBERS] = { 0 };
    if (!scanner_expect(scanner, "["))
        return false;
    bool more = !scanner_accept(scanner, "]");
    while (more) {
        if (test->count == MAX_NUMBERS)
            return scanner_fail(scanner, "at most 64 numbers");
        if (!scanner_number(scanner, &numbers[test->count++]))
            return false;
        more = !scanner_accept(scanner, "]");
        if (more && !scanner_accept(scanner, ","))
            return scanner_fail(scanner, "',' or ']'");
    }
    test->numbers = arena_copy(scanner->arena, numbers, test->count * sizeof numbers[0]);
    return test->numbers || scanner_out_of_memory(scanner);
}

static bool parse_single(struct scanner *scanner, struct attribute_test *test)
{
    double *number = arena_alloc(scanner->arena, sizeof *number);
    if (!number)
        return scanner_out_of_memory(scanner);
    test->numbers = number;
    test->count = 1;
    return scanner_number(scanner, number);
}

static bool is_ordered(enum comparison comparison)
{
    return comparison != IS_EQUAL && comparison != IS_DIFFERENT;
}

static bool parse_value(struct scanner *scanner, struct attribute_test *test)
{
    const struct token place = scanner->token;
    switch (test->kind) {
    case COLLAGE_ATTRIBUTE_INT:
    case COLLAGE_ATTRIBUTE_FLOAT:
        return parse_single(scanner, test);
    case COLLAGE_ATTRIBUTE_INTS:
    case COLLAGE_ATTRIBUTE_FLOATS:
        if (!parse_list(scanner, test))
            return false;
        break;
    case COLLAGE_ATTRIBUTE_STRING:
        if (!scanner_string(scanner, &test->text))
            return false;
        break;
    case COLLAGE_ATTRIBUTE_GRAPH:
        return scanner_fail(scanner, "another attribute: a graph cannot be compared");
    }
    return !is_ordered(test->comparison) ||
           scanner_fail_at(scanner, &place, "expected a single number after '<' or '>'");
}

static bool parse_test(struct scanner *scanner, const struct op *op, struct attribute_test *test)
{
    const struct token place = scanner->token;
    if (!scanner_word(scanner, "an attribute", &test->name))
        return false;
    if (!op_find_attribute(op, test->name, &test->kind))
        return scanner_fail_at(scanner, &place, "expected an attribute of %s, which has no '%s'",
                               op->name, test->name);
    if (!comparison_accept(scanner, &test->comparison))
        return scanner_fail(scanner, "'=', '!=', '<', '<=', '>' or '>='");
    return parse_value(scanner, test);
}

bool op_choice_parse(struct scanner *scanner, struct op_choice *out)
{
    const struct token place = scanner->token;
    const char *name;
    if (!scanner_word(scanner, "an operator", &name))
        return false;
    *out = (struct op_choice){ .op = op_find(name) };
    if (!out->op)
        return scanner_fail_at(scanner, &place, "expected an operator; '%s' is none", name);
    if (!scanner_accept(scanner, "["))
        return true;
    struct attribute_test tests[MAX_TESTS] = { { .count = 0 } };
    do {
        if (out->test_count == MAX_TESTS)
            return scanner_fail(scanner, "at most 16 attributes");
        if (!parse_test(scanner, out->op, &tests[out->test_count++]))
            return false;
    } while (scanner_accept(scanner, ","));
    if (!scanner_accept(scanner, "]"))
        return scanner_fail(scanner, "',' or ']'");
    out->tests = arena_copy(scanner->arena, tests, out->test_count * sizeof tests[0]);
    return out->tests || scanner_out_of_memory(scanner);
}

bool op_choices_parse(struct scanner *scanner, const struct op_choice **out, uint32_t *count)
{
    struct op_choice choices[MAX_CHOICES] = { { .op = NULL } };
    bool several = scanner_accept(scanner, "(");
    *count = 0;
    do {
        if (*count == MAX_CHOICES)
            return scanner_fail(scanner, "at most 64 operators");
        if (!op_choice_parse(scanner, &choices[(*count)++]))
            return false;
    } while (several && scanner_accept(scanner, "|"));
    if (several && !scanner_accept(scanner, ")"))
        return scanner_fail(scanner, "'|' or ')'");
    *out = arena_copy(scanner->arena, choices, *count * sizeof choices[0]);
    return *out || scanner_out_of_memory(scanner);
}

/* ---- matching ---- */

static const collage_attribute *find(const collage_node *node, const char *name)
{
    for (uint32_t k = 0; k < node->attribute_count; k++)
        if (strcmp(node->attributes[k].name, name) == 0)
            return &node->attributes[k];
    return NULL;
}

/* Stored values are float32: 1e-5 in a pattern means the nearest one. */
static bool compare(double value, enum comparison comparison, double wanted)
{
    const float a = (float)value, b = (float)wanted;
    bool equal = value == wanted || (a == b && fabs(wanted) < 16777216.0);
    switch (comparison) {
    case IS_EQUAL:
        return equal;
    case IS_DIFFERENT:
        return !equal;
    case IS_LESS:
        return !equal && value < wanted;
    case IS_AT_MOST:
        return equal || value < wanted;
    case IS_MORE:
        return !equal && value > wanted;
    case IS_AT_LEAST:
        return equal || value > wanted;
    }
    return false;
}

/* Element k of a number or a list. */
static double element(const collage_attribute *attribute, uint32_t k)
{
    switch (attribute->kind) {
    case COLLAGE_ATTRIBUTE_INT:
        return (double)attribute->i;
    case COLLAGE_ATTRIBUTE_FLOAT:
        return (double)attribute->f;
    case COLLAGE_ATTRIBUTE_INTS:
        return (double)attribute->ints[k];
    case COLLAGE_ATTRIBUTE_FLOATS:
        return (double)attribute->floats[k];
    case COLLAGE_ATTRIBUTE_STRING:
    case COLLAGE_ATTRIBUTE_GRAPH:
        break;
    }
    return (double)NAN;
}

static bool is_list(collage_attribute_kind kind)
{
    return kind == COLLAGE_ATTRIBUTE_INTS || kind == COLLAGE_ATTRIBUTE_FLOATS;
}

static bool list_equal(const struct attribute_test *test, const collage_attribute *attribute,
                       const struct attribute_default *fallback)
{
    if (attribute && attribute->count != test->count)
        return false;
    for (uint32_t k = 0; k < test->count; k++)
        if (!compare(attribute ? element(attribute, k) : fallback->number, IS_EQUAL,
                     test->numbers[k]))
            return false;
    return true;
}

static bool test_holds(const struct attribute_test *test, const struct node *node)
{
    const collage_attribute *attribute = find(&node->base, test->name);
    const struct attribute_default *fallback =
        attribute ? NULL : attribute_default_find(node->op, test->name);
    if (attribute ? attribute->kind != test->kind : !fallback)
        return false;
    bool wanted = test->comparison == IS_EQUAL;
    if (test->kind == COLLAGE_ATTRIBUTE_STRING) {
        const char *text = attribute ? attribute->s : fallback->text;
        return text && (strcmp(text, test->text) == 0) == wanted;
    }
    if (is_list(test->kind))
        return list_equal(test, attribute, fallback) == wanted;
    return compare(attribute ? element(attribute, 0) : fallback->number, test->comparison,
                   test->numbers[0]);
}

bool op_choice_takes(const struct op_choice *choice, const struct node *node)
{
    if (choice->op != node->op)
        return false;
    for (uint32_t k = 0; k < choice->test_count; k++)
        if (!test_holds(&choice->tests[k], node))
            return false;
    return true;
}

bool op_choices_take(const struct op_choice *choices, uint32_t count, const struct node *node)
{
    for (uint32_t k = 0; k < count; k++)
        if (op_choice_takes(&choices[k], node))
            return true;
    return false;
}

bool attribute_integer(const struct node *node, const char *name, int64_t index, int64_t *out)
{
    const collage_attribute *attribute = find(&node->base, name);
    collage_attribute_kind kind;
    if (attribute) {
        if (attribute->kind == COLLAGE_ATTRIBUTE_INT && index == 0)
            *out = attribute->i;
        else if (attribute->kind == COLLAGE_ATTRIBUTE_INTS && index >= 0 &&
                 index < (int64_t)attribute->count)
            *out = attribute->ints[index];
        else
            return false;
        return true;
    }
    const struct attribute_default *fallback = attribute_default_find(node->op, name);
    if (!fallback || !op_find_attribute(node->op, name, &kind) ||
        (kind != COLLAGE_ATTRIBUTE_INT && kind != COLLAGE_ATTRIBUTE_INTS) || index < 0 ||
        (kind == COLLAGE_ATTRIBUTE_INT && index > 0))
        return false;
    *out = (int64_t)fallback->number;
    return true;
}
