/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/graph/parse.h"

static void check_round_trip(const char *text, const char *expected)
{
    struct graph *graph = parse(text);
    struct text printed = { 0 };
    graph_print(graph, &printed);
    assert_string_equal(printed.bytes, expected);
    struct graph *again = parse(printed.bytes);
    assert_true(hash_equal(graph_hash(graph), graph_hash(again)));
    text_free(&printed);
    graph_destroy(graph);
    graph_destroy(again);
}

static void prints_what_it_parsed(void **state)
{
    (void)state;
    static const char text[] =
        "graph \"odd \\\"name\\\" \\x0a\" {\n"
        "  input %x: float32[1x3x4]\n"
        "  const %\"a b\": float32[] = {-inf}\n"
        "  const %b: int64[3] = {-9223372036854775808, 0, 9223372036854775807}\n"
        "  const %\"colon:\": bool[2] = {0, 1}\n"
        "  const %empty: float32[0] = {}\n"
        "  const %half: float16[2] = {0.0999755859, nan}\n"
        "  const %large: float32[5x5] = #0123456789abcdef0123456789abcdef\n"
        "  %y: float32[1x3x4] = Clip(%x, %\"a b\")\n"
        "  %z: float32[1x4x3] = Transpose(%y) {perm = [0, 2, 1]} \"turn\"\n"
        "  %w: float32[1x4x3] = LeakyRelu(%z) {alpha = 1.0}\n"
        "  output %w\n"
        "  output %b\n"
        "}\n";
    check_round_trip(text, text);
}

static void white_space_and_comments_are_free(void **state)
{
    (void)state;
    check_round_trip("// first\ngraph\"g\"{input%x: int32[ 2 ]\n\n // more\n%y: int32[2]=Neg( %x )"
                     "output %y}// end",
                     "graph \"g\" {\n  input %x: int32[2]\n  %y: int32[2] = Neg(%x)\n"
                     "  output %y\n}\n");
}

static const struct {
    const char *text, *message;
} bad[] = {
    { "", "line 1, column 1: expected 'graph'" },
    { "graph \"g\" {", "line 1, column 12: expected '%'" },
    { "graph \"g\" {\n  output %y\n}",
      "line 2, column 10: expected a value that is defined before" },
    { "graph \"g\" { input %x: float99[1] output %x }", "expected an element type" },
    { "graph \"g\" { input %x: float32[1 output %x }", "expected 'x' or ']'" },
    { "graph \"g\" { input %x: float32[-1] output %x }", "expected a possible shape" },
    { "graph \"g\" { input %x: float32[1x1x1x1x1x1x1x1x1] output %x }", "at most 8 dimensions" },
    { "graph \"g\" { input %x: float32[99999999999999999999] output %x }", "expected an integer" },
    { "graph \"g\" { input %x: float32[1] input %x: float32[1] output %x }",
      "expected a new name" },
    { "graph \"g\" { input %x: float32[1] }", "expected an output" },
    { "graph \"g\" { input %x: float32[1] output %x } more", "expected the end" },
    { "graph \"g\" { const %x: float32[2] = {1.0} output %x }", "expected ','" },
    { "graph \"g\" { const %x: float32[2] = #12 output %x }", "32 hexadecimal digits" },
    { "graph \"g\" { const %x: float32[100000x100000] = #00000000000000000000000000000000 }",
      "at most 2 GB" },
    { "graph \"g\" { const %x: float32[100000] = {1.0} }", "expected a hash" },
    { "graph \"g\" { input %x: float32[2] %y: float32[2] = Foo(%x) output %y }", "known operator" },
    { "graph \"g\" { input %x: float32[2] %y: float32[3] = Relu(%x) output %y }",
      "expected the type float32 2" },
    { "graph \"g\" { input %x: float32[2] %y: float32[2] = Relu(%x, %x) output %y }", "inputs" },
    { "graph \"g\" { input %x: float32[2] %y: float32[2] = Relu(%x) {a = 1, a = 2} output %y }",
      "each attribute once" },
    { "graph \"g\\q\" {", "expected \\\", \\\\ or \\xHH" },
    { "graph \"g\\x00\" {", "two hexadecimal digits" },
    { "graph \"g", "expected '\"'" },
    { "graph \"g\" { input %\"\": float32[1] }", "expected a name" },
};

static void errors_name_the_place(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct graph *graph;
        struct error error = { 0 };
        collage_status status = graph_parse(bad[k].text, &graph, &error);
        assert_null(graph);
        if (status == COLLAGE_OK || !strstr(error.text, bad[k].message))
            fail_msg("case %zu: '%s' instead of '%s'", k, error.text, bad[k].message);
        assert_int_equal(status, error.status);
    }
}

static void every_prefix_is_an_error(void **state)
{
    (void)state;
    static const char text[] = "graph \"g\" {\n  input %x: float32[1x3x4]\n"
                               "  const %\"a\\x20b\": float32[2] = {1.0, 2.0}\n"
                               "  %y: float32[1x4x3] = Transpose(%x) {perm = [0, 2, 1]} \"turn\"\n"
                               "  output %y\n}";
    char prefix[sizeof text];
    for (size_t length = 0; length + 1 < sizeof text; length++) {
        struct graph *graph;
        struct error error = { 0 };
        memcpy(prefix, text, length);
        prefix[length] = '\0';
        assert_int_not_equal(graph_parse(prefix, &graph, &error), COLLAGE_OK);
        assert_int_equal(error.status, COLLAGE_ERROR_FORMAT);
    }
}

static void summary_counts(void **state)
{
    (void)state;
    struct graph *graph =
        parse("graph \"g\" { input %x: float32[1x100] "
              "const %w: float32[100x2] = #00000000000000000000000000000000 "
              "%y: float32[1x2] = MatMul(%x, %w) %z: float32[1x2] = Relu(%y) output %z }");
    struct text text = { 0 };
    graph_print_summary(graph, &text);
    assert_non_null(strstr(text.bytes, "nodes       2\n"));
    assert_non_null(strstr(text.bytes, "constants   1, 200 elements"));
    assert_non_null(strstr(text.bytes, "MatMul 1, Relu 1"));
    assert_non_null(strstr(text.bytes, "x: float32 1x100"));
    text_free(&text);
    graph_destroy(graph);
}

static void summary_cannot_steer_a_terminal(void **state)
{
    (void)state;
    struct graph *graph = parse("graph \"g\\x1b[31m\" { input %\"a\\x0ab\": float32[2] "
                                "%y: float32[2] = Relu(%\"a\\x0ab\") output %y }");
    struct text text = { 0 };
    graph_print_summary(graph, &text);
    assert_non_null(strstr(text.bytes, "graph       g?[31m\n"));
    assert_non_null(strstr(text.bytes, "a?b: float32 2\n"));
    text_free(&text);
    graph_destroy(graph);
}

static void work_of_no_channels_is_a_number(void **state)
{
    (void)state;
    struct graph *graph = parse("graph \"g\" { input %x: float32[1x2x3x3] "
                                "const %w: float32[0x2x1x1] = {} "
                                "%y: float32[1x0x3x3] = Conv(%x, %w) output %y }");
    struct text text = { 0 };
    graph_print_summary(graph, &text);
    assert_non_null(strstr(text.bytes, "work        0.000 GFLOP"));
    text_free(&text);
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_what_it_parsed),
        cmocka_unit_test(white_space_and_comments_are_free),
        cmocka_unit_test(errors_name_the_place),
        cmocka_unit_test(every_prefix_is_an_error),
        cmocka_unit_test(summary_counts),
        cmocka_unit_test(summary_cannot_steer_a_terminal),
        cmocka_unit_test(work_of_no_channels_is_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
