/* SPDX-License-Identifier: Apache-2.0 */
/* Random patterns and rules on random graphs of a few nodes, against what they mean. */
#include "unit/pattern/brute_match.h"

#include "unit/pattern/sets.h"

enum { ROUNDS = 3000, MAX_NODES = 8, MAX_STEPS = 4 };

static uint32_t below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(splitmix64(state) >> 33) % limit;
}

static const struct {
    const char *name;
    uint32_t least, most; /* operands */
} ops[] = { { "Relu", 1, 1 }, { "Sub", 2, 2 }, { "Add", 2, 2 }, { "Sum", 1, 3 }, { "Clip", 1, 3 } };
enum { OPS = sizeof ops / sizeof ops[0] };

/* ---- graphs ---- */

/* Two inputs, two constants, up to MAX_NODES nodes of one result; all that nobody uses is an
 * output, and some others. Clip takes scalars behind its first operand. */
static struct graph *random_graph(uint64_t *state)
{
    struct text text = { 0 };
    uint32_t count = 2 + below(state, MAX_NODES - 1);
    bool used[MAX_NODES] = { false };
    text_string(&text, "graph \"random\" {\n  input %x: float32[4]\n  input %z: float32[4]\n"
                       "  const %w: float32[4] = {1, 2, 3, 4}\n  const %lo: float32[] = {-1}\n");
    for (uint32_t n = 0; n < count; n++) {
        uint32_t op = below(state, OPS);
        uint32_t operands = ops[op].least + below(state, ops[op].most - ops[op].least + 1);
        bool clip = strcmp(ops[op].name, "Clip") == 0;
        text_format(&text, "  %%v%u: float32[4] = %s(", n, ops[op].name);
        for (uint32_t k = 0; k < operands; k++) {
            uint32_t choice = below(state, 8);
            text_string(&text, k ? ", " : "");
            if (clip && k > 0) { /* a trailing "_" would be no operand */
                text_string(&text, choice < 4 && k + 1 < operands ? "_" : "%lo");
            } else if (n > 0 && choice < 6) {
                uint32_t from = below(state, 2) ? n - 1 : below(state, n);
                used[from] = true;
                text_format(&text, "%%v%u", from);
            } else {
                text_string(&text, choice == 7 ? "%w" : below(state, 2) ? "%x" : "%z");
            }
        }
        text_string(&text, ")\n");
    }
    for (uint32_t n = 0; n < count; n++)
        if (!used[n] || below(state, 6) == 0)
            text_format(&text, "  output %%v%u\n", n);
    text_string(&text, "}\n");
    assert_false(text.failed);
    struct graph *graph = parse_graph(text.bytes);
    text_free(&text);
    return graph;
}

/* ---- patterns ---- */

static void random_operand(uint64_t *state, uint32_t step, struct text *text)
{
    uint32_t choice = below(state, 12);
    if (step > 0 && choice < 6)
        text_format(text, "v%u", below(state, 2) ? step - 1 : below(state, step));
    else if (choice < 3)
        text_string(text, "_");
    else if (choice < 8)
        text_string(text, below(state, 2) ? "x" : "z");
    else if (choice < 9)
        text_string(text, "o?");
    else if (choice < 10)
        text_string(text, "const _");
    else
        text_string(text, "_");
}

static void random_step(uint64_t *state, uint32_t step, struct text *text)
{
    uint32_t op = below(state, OPS);
    uint32_t operands = below(state, ops[op].most + 1);
    bool rest = operands == 0 || below(state, 4) == 0;
    bool before = operands > 0 && rest && below(state, 3) == 0;
    text_format(text, " v%u = ", step);
    if (below(state, 4) == 0)
        text_format(text, "(%s|%s)", ops[op].name, ops[below(state, OPS)].name);
    else
        text_string(text, ops[op].name);
    text_string(text, step > 0 && below(state, 6) == 0 && operands > 0 ? "?(" : "(");
    text_string(text, before ? "..., " : "");
    for (uint32_t k = 0; k < operands; k++) {
        text_string(text, k ? ", " : "");
        random_operand(state, step, text);
    }
    text_string(text, rest && operands ? ", " : "");
    text_string(text, rest ? below(state, 4) ? "..." : "const ..." : "");
    text_string(text, ")");
}

/* NULL: it makes no sense (its steps are not connected, or the like). */
static struct pattern_file *random_pattern(uint64_t *state)
{
    struct text text = { 0 };
    struct pattern_file *file;
    uint32_t steps = 1 + below(state, MAX_STEPS);
    text_string(&text, "collage_patterns 1 backend b pattern p {");
    for (uint32_t k = 0; k < steps; k++)
        random_step(state, k, &text);
    if (below(state, 3) == 0) { /* one after the other: arguments have no order */
        uint32_t first = below(state, steps), second = below(state, steps);
        text_format(&text, " output v%u, v%u", first, second);
    }
    text_string(&text, " }");
    assert_false(text.failed);
    if (pattern_file_parse("random", text.bytes, text.count, &file, NULL) != COLLAGE_OK)
        file = NULL;
    text_free(&text);
    return file;
}

/* ---- comparing ---- */

struct marks {
    bool found[BRUTE_SETS];
    size_t count;
};

static bool mark_set(void *user, const node_id *nodes, uint32_t count)
{
    struct marks *marks = user;
    uint32_t set = 0;
    for (uint32_t k = 0; k < count; k++) {
        assert_true(k == 0 || nodes[k] > nodes[k - 1]);
        set |= 1u << nodes[k];
    }
    assert_false(marks->found[set]); /* each once */
    marks->found[set] = true;
    marks->count++;
    return true;
}

static void show(const struct graph *graph, uint32_t set, bool wanted, uint64_t round)
{
    struct text text = { 0 };
    graph_print(graph, &text);
    fail_msg("round %llu: the set %x is %s\n%s", (unsigned long long)round, set,
             wanted ? "missing" : "too much", text.bytes);
}

/* Of what was cut off, all sets must be wanted, but some may be missing. */
static size_t compare_sets(const struct pattern_entry *entry, const struct graph *graph,
                           const bool *wanted, uint64_t round, size_t *cut_offs)
{
    static struct marks marks;
    struct graph_uses uses;
    bool cut_off;
    memset(&marks, 0, sizeof marks);
    assert_int_equal(graph_uses_build(graph, &uses, NULL), COLLAGE_OK);
    assert_int_equal(pattern_entry_match(entry, graph, &uses, mark_set, &marks, &cut_off, NULL),
                     COLLAGE_OK);
    *cut_offs += cut_off;
    for (uint32_t set = 0; set < BRUTE_SETS; set++)
        if (marks.found[set] != wanted[set] && !(cut_off && wanted[set]))
            show(graph, set, wanted[set], round);
    graph_uses_free(&uses);
    return marks.count;
}

static void test_patterns(void **state)
{
    (void)state;
    static struct brute brute;
    size_t patterns = 0, matches = 0, cut_offs = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t seed = round;
        struct pattern_file *file = random_pattern(&seed);
        if (!file)
            continue;
        struct graph *graph = random_graph(&seed);
        memset(&brute, 0, sizeof brute);
        brute.graph = graph;
        for (uint32_t f = 0; f < file->entries[0].form_count; f++) {
            brute.dag = &file->entries[0].forms[f];
            brute_match(&brute, 0);
        }
        patterns++;
        matches += compare_sets(&file->entries[0], graph, brute.found, round, &cut_offs);
        graph_destroy(graph);
        pattern_file_destroy(file);
    }
    assert_true(patterns > ROUNDS / 8); /* or the test says nothing */
    assert_true(matches > ROUNDS / 16);
    assert_true(cut_offs < ROUNDS / 100);
}

/* ---- rules ---- */

/* The rule below. */
static bool may_fuse(const struct graph *graph, node_id producer, node_id consumer)
{
    const char *from = graph->nodes[producer].op->name, *to = graph->nodes[consumer].op->name;
    bool sum = strcmp(from, "Add") == 0 || strcmp(from, "Sub") == 0;
    return (sum && strcmp(to, "Relu") == 0) || (sum && strcmp(to, "Add") == 0) ||
           (strcmp(from, "Relu") == 0 && strcmp(to, "Sub") == 0);
}

static bool is_taken(const struct graph *graph, node_id node)
{
    const char *name = graph->nodes[node].op->name;
    return strcmp(name, "Relu") == 0 || strcmp(name, "Add") == 0 || strcmp(name, "Sub") == 0;
}

/* Connected along pairs that are allowed, with no other pair inside. */
static bool is_group(const struct graph *graph, uint32_t set)
{
    uint32_t reached = set & (~set + 1), before = 0; /* the first node */
    for (node_id n = 0; n < graph->node_count; n++)
        for (node_id m = 0; m < n && (set >> n & 1); m++)
            if ((set >> m & 1) && brute_reads(graph, n, m) && !may_fuse(graph, m, n))
                return false;
    while (reached != before) {
        before = reached;
        for (node_id n = 0; n < graph->node_count; n++)
            for (node_id m = 0; m < n; m++)
                if ((set >> n & 1) && (set >> m & 1) && brute_reads(graph, n, m) &&
                    ((reached >> n & 1) || (reached >> m & 1)))
                    reached |= (1u << n) | (1u << m);
    }
    return reached == set;
}

static bool is_wanted(const struct graph *graph, uint32_t set)
{
    uint32_t nodes = 0, outputs = 0;
    for (node_id n = 0; n < graph->node_count; n++) {
        if (!(set >> n & 1))
            continue;
        if (!is_taken(graph, n))
            return false;
        nodes++;
        outputs += brute_leaves(graph, set, graph->nodes[n].base.outputs[0]);
    }
    return nodes >= 1 && nodes <= 4 && outputs <= 2 && is_group(graph, set) &&
           brute_is_convex(graph, set);
}

static void test_rules(void **state)
{
    (void)state;
    static bool wanted[BRUTE_SETS];
    size_t sets = 0, cut_offs = 0;
    struct pattern_file *file =
        parse_entries("rule r { operators Relu, Add, Sub "
                      "fuse (Add|Sub) -> (Relu|Add), Relu -> Sub nodes 4 outputs 2 }");
    for (uint64_t round = 0; round < ROUNDS / 4; round++) {
        uint64_t seed = round;
        struct graph *graph = random_graph(&seed);
        for (uint32_t set = 0; set < BRUTE_SETS; set++)
            wanted[set] = set < (1u << graph->node_count) && is_wanted(graph, set);
        sets += compare_sets(&file->entries[0], graph, wanted, round, &cut_offs);
        graph_destroy(graph);
    }
    assert_true(sets > ROUNDS / 4);
    assert_int_equal(cut_offs, 0);
    pattern_file_destroy(file);
}

/* A chain of four additions: the smallest sets come first. */
static void test_rule_order(void **state)
{
    (void)state;
    struct text text = { 0 };
    text_string(&text, "graph \"chain\" {\n  input %v0: float32[4]\n");
    for (int k = 0; k < 4; k++)
        text_format(&text, "  %%v%d: float32[4] = Add(%%v%d, %%v%d)\n", k + 1, k, k);
    text_string(&text, "  output %v4\n}\n");
    struct graph *graph = parse_graph(text.bytes);
    expect_sets(graph, "rule r { operators Add fuse Add -> Add nodes 3 }",
                "0 1 2 3 0,1 1,2 2,3 0,1,2 1,2,3");
    expect_sets(graph, "rule r { operators Add, Relu nodes 3 }", "0 1 2 3");
    expect_sets(graph, "rule r { operators Add fuse Add -> Add nodes 1 }", "0 1 2 3");
    expect_sets(graph, "rule r { operators Relu }", "");
    text_free(&text);
    graph_destroy(graph);
}

/* A hundred users of one value: the sets are cut off, and the small ones come first. */
static void test_rule_limits(void **state)
{
    (void)state;
    struct text text = { 0 };
    struct text sets = { 0 };
    bool cut_off;
    text_string(&text, "graph \"star\" {\n  input %x: float32[4]\n  %y: float32[4] = Relu(%x)\n");
    for (int k = 0; k < 100; k++)
        text_format(&text, "  %%v%d: float32[4] = Neg(%%y)\n  output %%v%d\n", k, k);
    text_string(&text, "}\n");
    struct graph *graph = parse_graph(text.bytes);
    struct pattern_file *file =
        parse_entries("rule r { operators Relu, Neg fuse Relu -> Neg nodes 16 }");
    list_sets(&file->entries[0], graph, &sets, &cut_off);
    assert_true(cut_off);
    assert_memory_equal(sets.bytes, "0 1 2 3 ", 8);
    assert_non_null(strstr(sets.bytes, " 100 0,1 0,2 "));
    pattern_file_destroy(file);
    graph_destroy(graph);
    text_free(&text);
    text_free(&sets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_rule_order),
        cmocka_unit_test(test_rule_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
