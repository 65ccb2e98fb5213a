/* SPDX-License-Identifier: Apache-2.0 */
/* What may differ, and by how much, behind operators that round to steps. */
#include "unit/graph/parse.h"
#include "unit/onnx/run_graph.h"

#include <math.h>

#include "reference/slack.h"

#define IN "graph \"g\" { input %x: float32[2x3] const %s: float32[] = {0.5} "
#define ROUNDED                                                                                    \
    IN "%p: float32[2x3] = Abs(%x) %q: uint8[2x3] = QuantizeLinear(%p, %s) "                       \
       "%a: float32[2x3] = DequantizeLinear(%q, %s) "

static struct tensor value_of(const void *graph, value_id id)
{
    return ((const struct graph *)graph)->values[id].tensor;
}

/* A text that has been computed. */
static struct graph *make(const char *text)
{
    struct graph *graph = parse(text);
    struct error error = { 0 };
    assert_true(run_fill_inputs(graph));
    if (run_graph(graph, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    return graph;
}

static void each_rounding_is_a_step(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double slack;
    } rows[] = {
        { IN "%y: float32[2x3] = Tanh(%x) output %y }", 0 },
        { IN "%y: uint8[2x3] = QuantizeLinear(%x, %s) output %y }", 1 },
        { IN "%r: float32[2x3] = Tanh(%x) %y: uint8[2x3] = QuantizeLinear(%r, %s) output %y }", 1 },
        { ROUNDED "output %a }", 0.5 },
        { ROUNDED "%t: float32[3x2] = Transpose(%a) {perm = [1, 0]} %y: float32[3x2] = Relu(%t) "
                  "output %y }",
          0.5 },
        { ROUNDED "%y: float32[2x3] = Add(%a, %a) output %y }", 1 },
        { ROUNDED "%y: float32[2x3] = Add(%a, %x) output %y }", 0.5 },
        { ROUNDED "%y: float32[2x3] = Softmax(%a) output %y }", 0.25 },
        /* as much louder as it makes the largest value */
        { ROUNDED "const %w: float32[3x3] = {4.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 4.0} "
                  "%y: float32[2x3] = MatMul(%a, %w) output %y }",
          2 },
        /* a finer step after a coarse one; no more than eight */
        { ROUNDED "const %f: float32[] = {0.125} %y: uint8[2x3] = QuantizeLinear(%a, %f) "
                  "output %y }",
          5 },
        { ROUNDED "const %f: float32[] = {0.0078125} %y: uint8[2x3] = QuantizeLinear(%a, %f) "
                  "output %y }",
          8 },
        /* indices and conditions are right or wrong */
        { ROUNDED "%y: int64[2x1] = ArgMax(%a) {axis = 1} output %y }", 0 },
        { ROUNDED "%y: bool[2x3] = Greater(%a, %x) output %y }", 0 },
        { "graph \"g\" { input %x: uint8[2x3] const %s: float32[] = {0.5} "
          "%y: float32[2x3] = DequantizeLinear(%x, %s) output %y }",
          0 },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct graph *graph = make(rows[k].text);
        const struct slack_values values = { value_of, graph };
        struct error error = { 0 };
        double slack = -1;
        assert_int_equal(slack_find(graph, NULL, &values, &slack, &error), COLLAGE_OK);
        if (!(fabs(slack - rows[k].slack) <= 1e-9))
            fail_msg("row %zu: %g instead of %g", k, slack, rows[k].slack);
        graph_destroy(graph);
    }
}

/* What comes into a region is exact: kernels are checked on the reference's inputs. */
static void a_region_begins_exactly(void **state)
{
    (void)state;
    struct graph *graph = make(ROUNDED "%y: float32[2x3] = Relu(%a) output %y }");
    struct arena *arena = arena_create();
    struct graph_uses uses;
    struct region region;
    struct error error = { 0 };
    const struct slack_values values = { value_of, graph };
    double slack;
    assert_int_equal(graph_uses_build(graph, &uses, &error), COLLAGE_OK);
    for (node_id first = 1; first < 3; first++) {
        const node_id nodes[] = { first, 1 + first };
        assert_int_equal(region_make(arena, graph, &uses, nodes, 2, &region, &error), COLLAGE_OK);
        assert_int_equal(region.output_count, 1);
        assert_int_equal(slack_find(graph, &region, &values, &slack, &error), COLLAGE_OK);
        assert_true(slack == (first == 1 ? 0.5 : 0));
    }
    const node_id quantize = 1;
    assert_int_equal(region_make(arena, graph, &uses, &quantize, 1, &region, &error), COLLAGE_OK);
    memory_fail_after(1);
    assert_int_equal(slack_find(graph, &region, &values, &slack, &error), COLLAGE_ERROR_MEMORY);
    memory_fail_after(0);
    graph_uses_free(&uses);
    arena_destroy(arena);
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rounding_is_a_step),
        cmocka_unit_test(a_region_begins_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
