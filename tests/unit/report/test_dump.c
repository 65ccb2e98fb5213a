/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs between the stages: as text that parses again, and as pictures. */
#include "unit/run/fake.h"

#include "graph/graph_text.h"
#include "report/dump.h"

static const char chain[] = "graph \"chain\" {\n"
                            "  input %x: float32[1x6x2x3]\n"
                            "  const %one: float32[1] = {1.0}\n"
                            "  %y: float32[1x6x2x3] = Relu(%x) \"a // b\"\n"
                            "  %\"odd name\": float32[1x6x2x3] = Add(%y, %one)\n"
                            "  %z: float32[1x6x2x3] = Identity(%\"odd name\")\n"
                            "  %end: float32[1x6x2x3] = Relu(%z)\n"
                            "  output %end\n"
                            "}\n";

static struct graph *parse(const char *text)
{
    struct graph *graph;
    struct error error = { 0 };
    if (graph_parse(text, &graph, &error))
        fail_msg("%s", error.text);
    return graph;
}

/* Relu on alpha, blocked; Add on beta; a view; Relu on beta. */
static struct plan *make_plan(struct fake *f, const struct graph *graph)
{
    fake_setup(f, graph);
    fake_choose(f, 0, 1, false, (node_id[]){ 0 }, 1);
    fake_choose(f, 1, 0, false, (node_id[]){ 1 }, 1);
    fake_choose(f, 1, 0, true, (node_id[]){ 2 }, 1);
    fake_choose(f, 1, 0, false, (node_id[]){ 3 }, 1);
    return fake_build(f);
}

static void placed_text_parses_again(void **state)
{
    (void)state;
    struct graph *graph = parse(chain);
    struct fake f;
    struct plan *plan = make_plan(&f, graph);
    struct text text = { 0 };
    OK(report_placed_text(graph, plan, &text, NULL));
    assert_non_null(strstr(text.bytes, "Relu(%x) \"a // b\"  // step 1, alpha, block\n"));
    assert_non_null(strstr(text.bytes, "Add(%y, %one)  // step 3, beta, plain\n"));
    assert_non_null(strstr(text.bytes, "Identity(%\"odd name\")  // a view\n"));
    assert_non_null(strstr(text.bytes, "Relu(%z)  // step 4, beta, plain\n"));
    assert_non_null(strstr(text.bytes, "  const %one: float32[1] = {1.0}\n"));
    struct graph *again = parse(text.bytes);
    assert_true(hash_equal(graph_hash(graph), graph_hash(again)));
    graph_destroy(again);
    text_free(&text);
    plan->backends[0].name = "evil\n}\n\x1b"; /* of the reorder and of beta */
    plan->backends[1].name = "\n";
    OK(report_placed_text(graph, plan, &text, NULL));
    graph_destroy(parse(text.bytes));
    text_free(&text);
    plan_destroy(plan);
    fake_teardown(&f);
    graph_destroy(graph);
}

static void graphs_are_drawn(void **state)
{
    (void)state;
    struct graph *graph = parse(chain);
    struct text dot = { 0 }, svg = { 0 };
    bool drawn;
    report_graph_dot(graph, &dot);
    assert_non_null(strstr(dot.bytes, "  n0 [label=\"0 Relu\\na // b\\nfloat32 1x6x2x3\"];\n"));
    assert_non_null(strstr(dot.bytes, "  i0 -> n0;\n"));
    assert_non_null(strstr(dot.bytes, "  n0 -> n1;\n"));
    assert_non_null(strstr(dot.bytes, "  n3 -> o0;\n"));
    assert_null(strstr(dot.bytes, "one")); /* constants are left out */
    OK(report_draw(&dot, graph->node_count, &drawn, &svg, NULL));
    assert_true(drawn);
    assert_non_null(strstr(svg.bytes, "<svg"));
    text_free(&svg);
    OK(report_draw(&dot, 2001, &drawn, &svg, NULL)); /* would take too long */
    assert_false(drawn);
    assert_null(svg.bytes);
    text_free(&dot);
    graph->name = "\"];evil [label=\"</svg>\x1b\\";
    graph->nodes[0].base.name = "</text><script>alert(1)</script>";
    report_graph_dot(graph, &dot);
    OK(report_draw(&dot, graph->node_count, &drawn, &svg, NULL));
    assert_null(strstr(svg.bytes, "<script>"));
    assert_null(strchr(svg.bytes, 0x1b));
    text_free(&dot);
    text_free(&svg);
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placed_text_parses_again),
        cmocka_unit_test(graphs_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
