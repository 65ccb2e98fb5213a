/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a pattern becomes its forms: it is read once for each choice of optional steps, so
 * that what follows (plan, matcher) knows nothing of them. A step that is left out gives its first
 * operand as its result; values that only it has are left out.
 */
#include <string.h>

#include "pattern/dag.h"

enum { MAX_DEPTH = 16 };

struct name {
    const char *name;
    uint32_t value;
};

struct parser {
    struct scanner *scanner;
    uint32_t left_out; /* bit k: the k-th optional step */
    uint32_t optional_count, depth;
    struct dag_value values[DAG_VALUES];
    bool used[DAG_VALUES]; /* by a node of the form */
    uint32_t value_count;
    struct name names[DAG_VALUES];
    uint32_t name_count;
    struct dag_node nodes[DAG_NODES];
    uint32_t node_count, place_count;
    struct dag_condition conditions[DAG_CONDITIONS];
    uint32_t condition_count;
    bool has_outputs;
};

/* ---- names and values ---- */

static uint32_t find_name(const struct parser *parser, const char *name)
{
    for (uint32_t k = 0; k < parser->name_count; k++)
        if (strcmp(parser->names[k].name, name) == 0)
            return parser->names[k].value;
    return DAG_NONE;
}

static bool add_value(struct parser *parser, const struct dag_value *value, uint32_t *out)
{
    if (parser->value_count == DAG_VALUES)
        return scanner_fail(parser->scanner, "at most 160 values in a pattern");
    *out = parser->value_count++;
    parser->values[*out] = *value;
    parser->used[*out] = false;
    return true;
}

/* The name is not there yet; "" and "_" are kept nowhere. Names are as many as values, at most:
 * each comes with a value, or with a step that is left out, whose value another form has. */
static bool add_name(struct parser *parser, const char *name, uint32_t value)
{
    if (!*name || strcmp(name, "_") == 0)
        return true;
    if (parser->name_count == DAG_VALUES)
        return scanner_fail(parser->scanner, "at most 160 names in a pattern");
    parser->names[parser->name_count++] = (struct name){ name, value };
    return true;
}

static bool parse_name(struct parser *parser, const char **name)
{
    static const char *const words[] = { "const", "none", "output", "where" };
    struct scanner *scanner = parser->scanner;
    const struct token place = scanner->token;
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
        if (scanner_is(scanner, words[k]))
            return scanner_fail(scanner, "the name of a value");
    if (!scanner_word(scanner, "the name of a value", name))
        return false;
    return !op_find(*name) ||
           scanner_fail_at(scanner, &place, "expected the name of a value; '%s' is an operator",
                           *name);
}

static bool parse_new_name(struct parser *parser, const char **name)
{
    const struct token place = parser->scanner->token;
    if (!parse_name(parser, name))
        return false;
    return find_name(parser, *name) == DAG_NONE ||
           scanner_fail_at(parser->scanner, &place, "expected a new name; '%s' is used above",
                           *name);
}

/* ---- operands ---- */

struct operand_list {
    struct dag_operand items[DAG_OPERANDS];
    uint32_t count;
    bool rest, rest_before, rest_constant, any_optional;
    const char *rest_name; /* NULL: none */
    bool optional_step;
};

struct made {
    uint32_t node;  /* DAG_NONE: a step that is left out, with this value */
    uint32_t value; /* DAG_NONE: not known yet */
    bool optional;
};

static bool parse_call(struct parser *parser, struct made *made);

static bool give_results(struct parser *parser, uint32_t node, const uint32_t *results,
                         uint32_t count)
{
    uint32_t *copy = arena_copy(parser->scanner->arena, results, count * sizeof *results);
    if (!copy)
        return scanner_out_of_memory(parser->scanner);
    parser->nodes[node].results = copy;
    parser->nodes[node].result_count = count;
    return true;
}

static bool parse_nested(struct parser *parser, struct operand_list *list, uint32_t *value)
{
    struct made made;
    if (list->optional_step && list->count > 0)
        return scanner_fail(parser->scanner,
                            "the name of a value: an optional step has no other steps inside");
    if (!parse_call(parser, &made))
        return false;
    *value = made.value;
    if (made.node == DAG_NONE)
        return true;
    const struct dag_value result = { .name = "", .role = DAG_RESULT, .node = made.node };
    return add_value(parser, &result, value) && give_results(parser, made.node, value, 1);
}

static bool parse_exact(struct parser *parser, uint32_t *value)
{
    struct dag_value constant = { .name = "", .role = DAG_INPUT, .constant = true, .exact = true };
    return scanner_number(parser->scanner, &constant.number) && add_value(parser, &constant, value);
}

/* A name that may be there already. */
static bool use_name(struct parser *parser, const struct token *place, const char *name,
                     bool constant, uint32_t *value)
{
    *value = find_name(parser, name);
    if (*value == DAG_NONE || strcmp(name, "_") == 0) {
        const struct dag_value input = { .name = name, .role = DAG_INPUT, .constant = constant };
        return add_value(parser, &input, value) && add_name(parser, name, *value);
    }
    struct dag_value *known = &parser->values[*value];
    if (known->role == DAG_REST)
        return scanner_fail_at(parser->scanner, place,
                               "expected one value; '%s' stands for several operands", name);
    if (constant && known->role != DAG_INPUT)
        return scanner_fail_at(parser->scanner, place,
                               "expected an input after 'const'; '%s' is computed", name);
    known->constant = known->constant || constant;
    return true;
}

static bool is_call(const struct parser *parser)
{
    struct scanner ahead = *parser->scanner;
    if (scanner_is(&ahead, "("))
        return true;
    if (ahead.token.kind != TOKEN_WORD)
        return false;
    scanner_next(&ahead);
    if (scanner_accept(&ahead, "?"))
        return scanner_is(&ahead, "(");
    return scanner_is(&ahead, "(") || scanner_is(&ahead, "[");
}

/* [ "const" ] ( name | "_" ) [ "?" | "..." ] */
static bool parse_named(struct parser *parser, struct operand_list *list)
{
    struct scanner *scanner = parser->scanner;
    bool constant = scanner_accept(scanner, "const");
    const struct token place = scanner->token;
    const char *name;
    if (constant && scanner_accept(scanner, "...")) {
        list->rest = list->rest_constant = true;
        return true;
    }
    if (!parse_name(parser, &name))
        return false;
    if (scanner_accept(scanner, "...")) {
        if (strcmp(name, "_") != 0 && find_name(parser, name) != DAG_NONE)
            return scanner_fail_at(scanner, &place, "expected a new name; '%s' is used above",
                                   name);
        list->rest = true;
        list->rest_constant = constant;
        list->rest_name = name;
        return true;
    }
    struct dag_operand *operand = &list->items[list->count];
    if (!use_name(parser, &place, name, constant, &operand->value))
        return false;
    operand->optional = scanner_accept(scanner, "?");
    if (operand->optional && parser->values[operand->value].role != DAG_INPUT)
        return scanner_fail_at(scanner, &place, "expected an input before '?'; '%s' is computed",
                               name);
    list->any_optional = list->any_optional || operand->optional;
    list->count++;
    return true;
}

static bool parse_operand(struct parser *parser, struct operand_list *list)
{
    struct scanner *scanner = parser->scanner;
    if (list->count == DAG_OPERANDS)
        return scanner_fail(scanner, "at most 96 operands in a pattern");
    struct dag_operand *operand = &list->items[list->count];
    *operand = (struct dag_operand){ .value = DAG_NONE };
    if (scanner_accept(scanner, "...")) {
        if (list->count == 0 && !list->rest_before && scanner_is(scanner, ","))
            list->rest_before = true;
        else
            list->rest = true;
        return true;
    }
    if (!scanner_is(scanner, "const") && !scanner_is(scanner, "none") && is_call(parser)) {
        if (!parse_nested(parser, list, &operand->value))
            return false;
    } else if (scanner->token.kind == TOKEN_NUMBER || scanner_is(scanner, "-")) {
        if (!parse_exact(parser, &operand->value))
            return false;
    } else if (!scanner_accept(scanner, "none")) {
        return parse_named(parser, list);
    }
    list->count++;
    return true;
}

/* "(" [ operand { "," operand } ] ")" */
static bool parse_operands(struct parser *parser, struct operand_list *list)
{
    struct scanner *scanner = parser->scanner;
    const struct token place = scanner->token;
    if (!scanner_expect(scanner, "("))
        return false;
    if (scanner_accept(scanner, ")"))
        return true;
    do {
        if (list->rest)
            return scanner_fail(scanner, "')' after '...'");
        if (!parse_operand(parser, list))
            return false;
    } while (scanner_accept(scanner, ","));
    if (!scanner_accept(scanner, ")"))
        return scanner_fail(scanner, "',' or ')'");
    if (list->rest_before && !list->rest)
        return scanner_fail_at(scanner, &place, "expected '...' at the end of the operands, too");
    if (list->rest_before && list->any_optional)
        return scanner_fail_at(scanner, &place, "expected no '?' between '...' and '...'");
    return true;
}

/* ---- nodes ---- */

static bool add_node(struct parser *parser, const struct op_choice *choices, uint32_t choice_count,
                     const struct operand_list *list, uint32_t *out)
{
    struct scanner *scanner = parser->scanner;
    if (parser->node_count == DAG_NODES)
        return scanner_fail(scanner, "at most 32 operators in a pattern");
    if (parser->place_count + list->count > DAG_OPERANDS)
        return scanner_fail(scanner, "at most 96 operands in a pattern");
    struct dag_node node = { .choices = choices,
                             .choice_count = choice_count,
                             .operands = arena_copy(scanner->arena, list->items,
                                                    list->count * sizeof list->items[0]),
                             .operand_count = list->count,
                             .first_place = parser->place_count,
                             .rest = list->rest,
                             .rest_before = list->rest_before,
                             .rest_constant = list->rest_constant,
                             .rest_value = DAG_NONE };
    if (!node.operands)
        return scanner_out_of_memory(scanner);
    *out = parser->node_count;
    if (list->rest_name) {
        const struct dag_value rest = { .name = list->rest_name, .role = DAG_REST, .node = *out };
        if (!add_value(parser, &rest, &node.rest_value) ||
            !add_name(parser, list->rest_name, node.rest_value))
            return false;
    }
    for (uint32_t k = 0; k < list->count; k++)
        if (list->items[k].value != DAG_NONE)
            parser->used[list->items[k].value] = true;
    parser->place_count += list->count;
    parser->nodes[parser->node_count++] = node;
    return true;
}

static bool check_optional_step(struct parser *parser, const struct token *place,
                                const struct operand_list *list)
{
    if (list->count == 0 || list->items[0].value == DAG_NONE || list->items[0].optional ||
        list->rest_before || list->rest_name)
        return scanner_fail_at(parser->scanner, place,
                               "expected an operand that is always there as the first of an "
                               "optional step");
    return parser->optional_count++ < DAG_OPTIONAL_STEPS ||
           scanner_fail_at(parser->scanner, place, "expected at most 4 optional steps");
}

/* ops [ "?" ] "(" operands ")" */
static bool parse_call(struct parser *parser, struct made *made)
{
    struct scanner *scanner = parser->scanner;
    const struct token place = scanner->token;
    const struct op_choice *choices;
    uint32_t choice_count;
    struct operand_list list = { .count = 0 };
    *made = (struct made){ DAG_NONE, DAG_NONE, false };
    if (parser->depth == MAX_DEPTH)
        return scanner_fail(scanner, "fewer operators inside each other");
    if (!op_choices_parse(scanner, &choices, &choice_count))
        return false;
    made->optional = list.optional_step = scanner_accept(scanner, "?");
    parser->depth++;
    if (!parse_operands(parser, &list))
        return false;
    parser->depth--;
    if (made->optional) {
        uint32_t bit = parser->optional_count;
        if (!check_optional_step(parser, &place, &list))
            return false;
        if (parser->left_out >> bit & 1) {
            made->value = list.items[0].value;
            return true;
        }
    }
    return add_node(parser, choices, choice_count, &list, &made->node);
}

/* ---- statements ---- */

struct result_names {
    const char *names[DAG_RESULTS]; /* "_": none */
    struct token places[DAG_RESULTS];
    uint32_t count;
};

static bool parse_result_names(struct parser *parser, struct result_names *names)
{
    struct scanner *scanner = parser->scanner;
    bool several = scanner_accept(scanner, "(");
    names->count = 0;
    do {
        if (names->count == DAG_RESULTS)
            return scanner_fail(scanner, "at most 16 results");
        names->places[names->count] = scanner->token;
        if (!parse_new_name(parser, &names->names[names->count++]))
            return false;
    } while (several && scanner_accept(scanner, ","));
    return !several || scanner_accept(scanner, ")") || scanner_fail(scanner, "',' or ')'");
}

static bool define_results(struct parser *parser, const struct result_names *names,
                           const struct made *made)
{
    struct scanner *scanner = parser->scanner;
    uint32_t results[DAG_RESULTS] = { 0 };
    for (uint32_t k = 0; k < names->count; k++) {
        const struct dag_value result = {
            .name = names->names[k], .role = DAG_RESULT, .node = made->node, .result = k
        };
        results[k] = DAG_NONE;
        if (strcmp(names->names[k], "_") == 0)
            continue;
        if (find_name(parser, names->names[k]) != DAG_NONE) /* an operand of this very step */
            return scanner_fail_at(scanner, &names->places[k],
                                   "expected a new name; '%s' is in this step already",
                                   names->names[k]);
        if (made->node == DAG_NONE)
            return add_name(parser, names->names[k], made->value);
        if (!add_value(parser, &result, &results[k]) ||
            !add_name(parser, names->names[k], results[k]))
            return false;
    }
    return made->node == DAG_NONE || give_results(parser, made->node, results, names->count);
}

/* results "=" call */
static bool parse_step(struct parser *parser)
{
    struct scanner *scanner = parser->scanner;
    struct result_names names;
    struct made made;
    if (!parse_result_names(parser, &names) || !scanner_expect(scanner, "="))
        return false;
    const struct token place = scanner->token;
    if (!parse_call(parser, &made))
        return false;
    if (made.optional && names.count != 1)
        return scanner_fail_at(scanner, &place, "expected one result of an optional step");
    return define_results(parser, &names, &made);
}

/* "output" name { "," name } */
static bool parse_outputs(struct parser *parser)
{
    struct scanner *scanner = parser->scanner;
    parser->has_outputs = true;
    do {
        const struct token place = scanner->token;
        const char *name;
        if (!parse_name(parser, &name))
            return false;
        uint32_t value = find_name(parser, name);
        if (value == DAG_NONE)
            return scanner_fail_at(scanner, &place,
                                   "expected a result of a step above; '%s' is none", name);
        if (parser->values[value].role == DAG_RESULT)
            parser->values[value].output = true;
        else if (parser->left_out == 0) /* else of a step that is left out */
            return scanner_fail_at(scanner, &place,
                                   "expected a result of a step above; '%s' is an operand", name);
    } while (scanner_accept(scanner, ","));
    return true;
}

static int32_t find_for_condition(const void *user, const char *name)
{
    uint32_t value = find_name(user, name);
    return value == DAG_NONE ? -1 : (int32_t)value;
}

static bool is_rest_for_condition(const void *user, uint32_t value)
{
    const struct parser *parser = user;
    return parser->values[value].role == DAG_REST;
}

static bool parse_condition(struct parser *parser)
{
    const struct condition_names names = { find_for_condition, is_rest_for_condition, parser };
    if (parser->condition_count == DAG_CONDITIONS)
        return scanner_fail(parser->scanner, "at most 32 conditions in a pattern");
    return condition_parse(parser->scanner, &names,
                           &parser->conditions[parser->condition_count++].condition);
}

static bool parse_body(struct parser *parser)
{
    struct scanner *scanner = parser->scanner;
    if (!scanner_expect(scanner, "{"))
        return false;
    while (!scanner_accept(scanner, "}")) {
        bool parsed = scanner_accept(scanner, "output")  ? parse_outputs(parser)
                      : scanner_accept(scanner, "where") ? parse_condition(parser)
                      : scanner->token.kind == TOKEN_WORD || scanner_is(scanner, "(")
                          ? parse_step(parser)
                          : scanner_fail(scanner, "a step, 'output', 'where' or '}'");
        if (!parsed)
            return false;
    }
    return true;
}

/* ---- forms ---- */

static void choose_outputs(struct parser *parser)
{
    for (uint32_t v = 0; v < parser->value_count && !parser->has_outputs; v++)
        parser->values[v].output = parser->values[v].role == DAG_RESULT && !parser->used[v];
}

static bool finish(struct parser *parser, const struct token *place, struct dag *out)
{
    struct scanner *scanner = parser->scanner;
    struct arena *arena = scanner->arena;
    choose_outputs(parser);
    struct dag_condition *conditions = arena_copy(
        arena, parser->conditions, parser->condition_count * sizeof parser->conditions[0]);
    *out = (struct dag){
        .values = arena_copy(arena, parser->values, parser->value_count * sizeof parser->values[0]),
        .nodes = arena_copy(arena, parser->nodes, parser->node_count * sizeof parser->nodes[0]),
        .value_count = parser->value_count,
        .node_count = parser->node_count,
        .condition_count = parser->condition_count
    };
    if (!conditions || !out->values || !out->nodes)
        return scanner_out_of_memory(scanner);
    bool connected;
    if (dag_plan(arena, out, conditions, &connected))
        return true;
    if (connected)
        return scanner_out_of_memory(scanner);
    return scanner_fail_at(scanner, place, "expected steps that values connect%s",
                           parser->left_out ? ", also without the optional ones" : "");
}

static bool parse_forms(struct scanner *scanner, struct parser *parser, struct dag *forms,
                        uint32_t *count)
{
    const struct scanner begin = *scanner;
    uint32_t choices = 1;
    *count = 0;
    for (uint32_t left_out = 0; left_out < choices; left_out++) {
        *parser = (struct parser){ .scanner = scanner, .left_out = left_out };
        *scanner = begin;
        if (!parse_body(parser))
            return false;
        if (left_out == 0 && parser->node_count == 0)
            return scanner_fail_at(scanner, &begin.token, "expected a step in the pattern");
        choices = 1u << parser->optional_count;
        if (parser->node_count > 0 && !finish(parser, &begin.token, &forms[(*count)++]))
            return false;
    }
    return true;
}

bool dag_parse(struct scanner *scanner, const struct dag **out, uint32_t *count)
{
    struct dag *forms = arena_array(scanner->arena, 1u << DAG_OPTIONAL_STEPS, sizeof *forms);
    struct parser *parser = memory_alloc(sizeof *parser);
    bool parsed = false;
    *count = 0;
    if (!forms || !parser)
        scanner_out_of_memory(scanner);
    else
        parsed = parse_forms(scanner, parser, forms, count);
    memory_free(parser);
    *out = forms;
    return parsed;
}
