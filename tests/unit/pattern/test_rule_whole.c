/* SPDX-License-Identifier: Apache-2.0 */
/* Whole sets: rules with `whole`. */
#include "unit/pattern/sets.h"

static const char features[] =
    "graph \"features\" {\n"
    "  input %x: float32[1x4x6x6]\n"
    "  input %z: float32[1x4x6x6]\n"
    "  const %w: float32[4x4x3x3] = #0123456789abcdef0123456789abcdef\n"
    "  const %b: float32[4] = {1, 2, 3, 4}\n"
    "  const %k: float32[] = {0.125}\n"
    "  %c0: float32[1x4x6x6] = Conv(%x, %w, %b) {pads=[1, 1, 1, 1]}\n"                     /* 0 */
    "  %s0: float32[1x4x6x6] = Sigmoid(%c0)\n"                                             /* 1 */
    "  %m0: float32[1x4x6x6] = Mul(%s0, %c0)\n"                                            /* 2 */
    "  %c1: float32[1x4x6x6] = Conv(%m0, %w) {pads=[1, 1, 1, 1], group=1}\n"               /* 3 */
    "  %a: float32[1x4x6x6] = Add(%x, %c1)\n"                                              /* 4 */
    "  %r: float32[1x4x6x6] = Relu(%a)\n"                                                  /* 5 */
    "  %q: float32[1x4x6x6] = Mul(%r, %k)\n"                                               /* 6 */
    "  %e: float32[1x4x6x6] = Sub(%q, %z)\n"                                               /* 7 */
    "  %f: float32[1x4x6x6] = Sub(%z, %q)\n"                                               /* 8 */
    "  %h0: float32[1x2x6x6], %h1: float32[1x2x6x6] = Split(%e) {axis=1, num_outputs=2}\n" /* 9 */
    "  %g: float32[1x2x6x6] = Mul(%h0, %h1)\n"                                             /* 10 */
    "  %cat: float32[1x12x6x6] = Concat(%f, %r, %x) {axis=1}\n"                            /* 11 */
    "  %t: float32[1x2x6x6] = LeakyRelu(%g)\n"                                             /* 12 */
    "  %u: float32[1x2x6x6] = Clip(%t, _, %k)\n"                                           /* 13 */
    "  output %cat\n"
    "  output %u\n"
    "}\n";

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
