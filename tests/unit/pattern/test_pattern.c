/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern language: what parses, what is refused and how, what matches. */
#include "unit/pattern/fixture.h"

#include "pattern/pattern.h"

static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "column 1 of \"\": expected an operator" },
        { "Conv ", "column 6 of \"Conv \": expected an operator" },
        { " Conv", "column 1 of \" Conv\": expected an operator" },
        { "Convolution", "column 1 of \"Convolution\": unknown operator 'Convolution'" },
        { "Conv (Relu|Nope)*2", "column 12 of \"Conv (Relu|Nope)*2\": unknown operator 'Nope'" },
        { "(Relu", "column 6 of \"(Relu\": expected '|' or ')'" },
        { "(Relu|)", "column 7 of \"(Relu|)\": expected an operator" },
        { "()", "column 2 of \"()\": expected an operator" },
        { "Conv*2", "column 5 of \"Conv*2\": expected a space or the end" },
        { "Conv Relu*", "column 11 of \"Conv Relu*\": expected a number" },
        { "Conv Relu*0", "column 11 of \"Conv Relu*0\": expected a number from 1 to 32" },
        { "Conv Relu*99999999999", "expected a number from 1 to 32" },
        { "Conv Relu*-1", "expected a number" },
        { "Conv Relu*2x", "column 12 of \"Conv Relu*2x\": expected '*', a space or the end" },
        { "Conv Relu*32 Relu*32", "expected at most 64 steps in all" },
        { "Conv,Relu", "column 5" },
        { "AnOperatorWithANameThatIsMuchLongerThanTheSixtyThreeLettersThatAreAllowedForIt",
          "expected a shorter name" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct pattern *pattern;
        struct error error = { 0 };
        assert_int_equal(pattern_parse("p", cases[k].text, &pattern, &error), COLLAGE_ERROR_FORMAT);
        assert_null(pattern);
        if (!strstr(error.text, cases[k].message) || !strstr(error.text, "pattern 'p'"))
            fail_msg("\"%s\": %s", cases[k].text, error.text);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; status == COLLAGE_ERROR_MEMORY; n++) {
        struct pattern *pattern;
        memory_fail_after(n);
        status = pattern_parse("p", "Conv (Relu|Add)*3", &pattern, NULL);
        memory_fail_after(0);
        pattern_destroy(pattern);
    }
    assert_int_equal(status, COLLAGE_OK);
}

struct matches {
    char text[256];
};

static bool record(void *user, const node_id *nodes, uint32_t count)
{
    struct matches *matches = user;
    size_t used = strlen(matches->text);
    for (uint32_t k = 0; k < count; k++)
        used += (size_t)snprintf(matches->text + used, sizeof matches->text - used, "%s%u",
                                 k      ? ","
                                 : used ? " "
                                        : "",
                                 nodes[k]);
    return true;
}

static void expect(const struct graph *graph, const char *text, node_id first, const char *wanted)
{
    struct pattern *pattern;
    struct graph_uses uses;
    struct matches matches = { "" };
    assert_int_equal(pattern_parse("p", text, &pattern, NULL), COLLAGE_OK);
    assert_int_equal(graph_uses_build(graph, &uses, NULL), COLLAGE_OK);
    pattern_match(pattern, graph, &uses, first, record, &matches);
    assert_string_equal(matches.text, wanted);
    graph_uses_free(&uses);
    pattern_destroy(pattern);
}

/* a = Relu(x); b = Neg(a); c = Add(b, y); d = Mul(c, c); e = Relu(d); f = Abs(e); g = Neg(e) */
static const char chain[] = "graph \"chain\" {\n"
                            "  input %x: float32[4]\n"
                            "  input %y: float32[4]\n"
                            "  %a: float32[4] = Relu(%x)\n"
                            "  %b: float32[4] = Neg(%a)\n"
                            "  %c: float32[4] = Add(%y, %b)\n"
                            "  %d: float32[4] = Mul(%c, %c)\n"
                            "  %e: float32[4] = Relu(%d)\n"
                            "  %f: float32[4] = Abs(%e)\n"
                            "  %g: float32[4] = Neg(%e)\n"
                            "  output %f\n"
                            "  output %g\n"
                            "}\n";

static void test_matching(void **state)
{
    (void)state;
    struct graph *graph = parse_graph(chain);
    expect(graph, "Relu", 0, "0");
    expect(graph, "Relu", 1, "");
    expect(graph, "Relu Neg", 0, "0 0,1");
    expect(graph, "Relu Add", 0, "0"); /* every prefix, even of what does not match on */
    expect(graph, "Relu (Neg|Add)*1", 0, "0 0,1");
    expect(graph, "Relu (Neg|Add)*2", 0, "0 0,1 0,1,2"); /* any operand continues the chain */
    expect(graph, "Relu (Neg|Add)*9", 0, "0 0,1 0,1,2");
    expect(graph, "Relu Neg*3 Add", 0, "0 0,1 0,1,2");
    expect(graph, "Relu Abs*3 Neg", 0, "0 0,1"); /* "*" may be passed over */
    expect(graph, "Relu Abs*3 Sub", 0, "0");
    expect(graph, "Relu Neg*1 Neg Add", 0, "0 0,1 0,1,2"); /* either Neg may be it */
    expect(graph, "Add Mul Relu", 2, "2 2,3 2,3,4");       /* x*x: both uses in one consumer */
    expect(graph, "Relu (Abs|Neg)", 4, "4");               /* two consumers end the chain */
    expect(graph, "(Abs|Neg) Relu", 5, "5");               /* so does a model output */
    graph_destroy(graph);
}

static bool stop_after_first(void *user, const node_id *nodes, uint32_t count)
{
    (void)nodes;
    assert_int_equal(count, 1);
    return ++*(int *)user < 1;
}

static void test_stopping(void **state)
{
    (void)state;
    struct graph *graph = parse_graph(chain);
    struct pattern *pattern;
    struct graph_uses uses;
    int calls = 0;
    assert_int_equal(pattern_parse("p", "Relu Neg Add", &pattern, NULL), COLLAGE_OK);
    assert_int_equal(graph_uses_build(graph, &uses, NULL), COLLAGE_OK);
    pattern_match(pattern, graph, &uses, 0, stop_after_first, &calls);
    assert_int_equal(calls, 1);
    graph_uses_free(&uses);
    pattern_destroy(pattern);
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_matching),
        cmocka_unit_test(test_stopping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
