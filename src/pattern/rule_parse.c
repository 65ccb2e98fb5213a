/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/rule.h"

enum { MAX_OPERATORS = 128, MAX_PAIRS = 64, DEFAULT_NODES = 4 };

struct parser {
    struct scanner *scanner;
    struct op_choice operators[MAX_OPERATORS];
    struct rule_pair pairs[MAX_PAIRS];
    struct rule *rule;
};

/* "operators" op { "," op } */
static bool parse_operators(struct parser *parser)
{
    struct scanner *scanner = parser->scanner;
    struct rule *rule = parser->rule;
    do {
        if (rule->operator_count == MAX_OPERATORS)
            return scanner_fail(scanner, "at most 128 operators");
        if (!op_choice_parse(scanner, &parser->operators[rule->operator_count++]))
            return false;
    } while (scanner_accept(scanner, ","));
    return true;
}

static bool is_taken(const struct parser *parser, const struct op *op)
{
    for (uint32_t k = 0; k < parser->rule->operator_count; k++)
        if (parser->operators[k].op == op)
            return true;
    return false;
}

/* A pair with an operator that is not taken would never do anything: surely a slip. */
static bool parse_side(struct parser *parser, const struct op_choice **out, uint32_t *count)
{
    struct scanner *scanner = parser->scanner;
    const struct token place = scanner->token;
    if (!op_choices_parse(scanner, out, count))
        return false;
    for (uint32_t k = 0; k < *count; k++)
        if (!is_taken(parser, (*out)[k].op))
            return scanner_fail_at(scanner, &place,
                                   "expected operators that 'operators' lists above; %s is not "
                                   "among them",
                                   (*out)[k].op->name);
    return true;
}

/* "fuse" ops "->" ops { "," ops "->" ops } */
static bool parse_pairs(struct parser *parser)
{
    struct scanner *scanner = parser->scanner;
    do {
        if (parser->rule->pair_count == MAX_PAIRS)
            return scanner_fail(scanner, "at most 64 pairs");
        struct rule_pair *pair = &parser->pairs[parser->rule->pair_count++];
        if (!parse_side(parser, &pair->producers, &pair->producer_count) ||
            !scanner_expect(scanner, "->") ||
            !parse_side(parser, &pair->consumers, &pair->consumer_count))
            return false;
    } while (scanner_accept(scanner, ","));
    return true;
}

static bool parse_limit(struct parser *parser, const char *what, uint32_t most, uint32_t *out)
{
    const struct token place = parser->scanner->token;
    int64_t number;
    if (!scanner_integer(parser->scanner, what, &number))
        return false;
    if (number < 1 || number > most)
        return scanner_fail_at(parser->scanner, &place, "expected a number from 1 to %u", most);
    *out = (uint32_t)number;
    return true;
}

static bool parse_line(struct parser *parser)
{
    struct scanner *scanner = parser->scanner;
    if (scanner_accept(scanner, "operators"))
        return parse_operators(parser);
    if (scanner_accept(scanner, "fuse"))
        return parse_pairs(parser);
    if (scanner_accept(scanner, "nodes"))
        return parse_limit(parser, "a number of nodes", RULE_NODES, &parser->rule->nodes);
    if (scanner_accept(scanner, "outputs"))
        return parse_limit(parser, "a number of outputs", RULE_NODES, &parser->rule->outputs);
    if (scanner_accept(scanner, "whole"))
        return parse_limit(parser, "a number of nodes", RULE_WHOLE_NODES, &parser->rule->whole);
    return scanner_fail(scanner, "'operators', 'fuse', 'nodes', 'outputs', 'whole' or '}'");
}

static bool parse_lines(struct parser *parser)
{
    struct scanner *scanner = parser->scanner;
    struct rule *rule = parser->rule;
    const struct token place = scanner->token;
    if (!scanner_expect(scanner, "{"))
        return false;
    while (!scanner_accept(scanner, "}"))
        if (!parse_line(parser))
            return false;
    if (rule->operator_count == 0)
        return scanner_fail_at(scanner, &place, "expected 'operators' in the rule");
    rule->operators = arena_copy(scanner->arena, parser->operators,
                                 rule->operator_count * sizeof parser->operators[0]);
    rule->pairs =
        arena_copy(scanner->arena, parser->pairs, rule->pair_count * sizeof parser->pairs[0]);
    return (rule->operators && rule->pairs) || scanner_out_of_memory(scanner);
}

bool rule_parse(struct scanner *scanner, struct rule *out)
{
    struct parser *parser = memory_alloc(sizeof *parser);
    if (!parser)
        return scanner_out_of_memory(scanner);
    *out = (struct rule){ .nodes = DEFAULT_NODES };
    parser->scanner = scanner;
    parser->rule = out;
    bool parsed = parse_lines(parser);
    memory_free(parser);
    return parsed;
}
