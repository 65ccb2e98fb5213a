/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan says of the search that found it. */
#include "unit/run/fake.h"

#include "report/report.h"

/* The line that begins so is as wanted; NULL: there is none. */
static void expect_line(const char *evidence, const char *begin, const char *wanted)
{
    struct tensor image = fake_image();
    struct graph *graph = fake_graph();
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    value_id out = fake_node(graph, FAKE_RELU, in, 0, NULL);
    fake_ports(graph, &in, 1, &out, 1);
    struct fake f;
    fake_setup(&f, graph);
    fake_choose(&f, 0, 0, false, (node_id[]){ 0 }, 1);
    struct plan *plan = fake_build(&f);
    plan->evidence = evidence ? json_loads(evidence, 0, NULL) : NULL;
    assert_true(!evidence || plan->evidence);
    struct text text = { 0 };
    OK(report_plan(graph, plan, COLLAGE_FORMAT_TEXT, &text, NULL));
    const char *found = strstr(text.bytes, begin);
    if (wanted && (!found || strncmp(found, wanted, strlen(wanted)) != 0))
        fail_msg("no '%s' in:\n%s", wanted, text.bytes);
    if (!wanted)
        assert_null(found);
    text_free(&text);
    plan_destroy(plan);
    fake_teardown(&f);
    graph_destroy(graph);
}

static void expect_text(const char *evidence, const char *wanted)
{
    expect_line(evidence, "  placed by", wanted);
}

static void the_early_end_is_told(void **state)
{
    (void)state;
    static const char begin[] = "  ended early";
    expect_line("{\"candidates\": 3, \"unmeasured\": 4}", begin, NULL);
    expect_line("{\"ended_early\": 1}", begin, NULL); /* plans come from anywhere */
    expect_line("{\"ended_early\": true, \"unmeasured\": 4}", begin,
                "  ended early: 4 candidates were not measured, and the race was short\n");
}

static void the_search_is_told(void **state)
{
    (void)state;
    expect_text(NULL, NULL);
    expect_text("{\"candidates\": 3}", NULL);
    expect_text("{\"search\": 7, \"pinned\": \"x\"}", NULL); /* plans come from anywhere */
    expect_text("{\"pinned\": 1}", "  placed by the exact search; 1 node pinned\n");
    expect_text("{\"search\": \"greedy\"}", "  placed by the greedy search\n");
    expect_text("{\"search\": \"op-level\", \"pinned\": 12}",
                "  placed by the op-level search; 12 nodes pinned\n");
    expect_text("{\"search\": \"two-level\", "
                "\"evolution\": {\"generations\": 4, \"measured\": 90}}",
                "  placed by the two-level search (90 plans run end to end in 4 generations)\n");
    expect_text("{\"search\": \"a\\u001bb\"}", "  placed by the a?b search\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_search_is_told),
                                        cmocka_unit_test(the_early_end_is_told) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
