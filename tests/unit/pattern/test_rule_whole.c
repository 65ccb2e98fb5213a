/* SPDX-License-Identifier: Apache-2.0 */
/* Whole sets: rules with `whole`. */
#include "unit/pattern/sets.h"

#define WHOLE           "(Sigmoid|Mul|Add|Relu|Sub|Split|Concat|LeakyRelu|Clip)"
#define WHOLE_OPERATORS "operators Sigmoid, Mul, Add, Relu, Sub, Split, Concat, LeakyRelu, Clip "

/* What only the last node of a set uses, and what only that uses: results with users outside stay
 * out, and so does all before them. */
static void test_whole(void **state)
{
    (void)state;
    struct graph *graph = parse_graph(features);
    expect_sets(graph, "rule r { " WHOLE_OPERATORS "fuse " WHOLE " -> " WHOLE " whole 8 }",
                "1,2 4,5 7,9 7,9,10 8,11 7,9,10,12 7,9,10,12,13");
    expect_sets(graph, "rule r { " WHOLE_OPERATORS "fuse " WHOLE " -> " WHOLE " whole 3 }",
                "1,2 4,5 7,9 7,9,10 8,11 9,10,12 10,12,13");
    expect_sets(graph, "rule r { " WHOLE_OPERATORS "fuse Add -> Relu, LeakyRelu -> Clip whole 64 }",
                "4,5 12,13");
    expect_sets(graph, "rule r { " WHOLE_OPERATORS "whole 64 }", "");
    expect_sets(graph, "rule r { " WHOLE_OPERATORS "fuse " WHOLE " -> " WHOLE " whole 1 }", "");
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
