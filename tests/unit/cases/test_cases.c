/* SPDX-License-Identifier: Apache-2.0 */
/* test_cases.c: the table of cases and the language that they are written in. */
#include "cases/case_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static collage_status make(const char *text, struct case_graph *made, struct error *error)
{
    struct operator_case row = { "test", text, false };
    memset(error, 0, sizeof *error);
    return case_graph_create(&row, made, error);
}

static struct tensor output_of(const struct case_graph *made, uint32_t k)
{
    return made->tensors[made->graph->outputs[k]];
}

static void test_rows_are_well_formed(void **state)
{
    (void)state;
    for (size_t k = 0; k < operator_case_count; k++) {
        struct case_graph made;
        struct error error = { 0 };
        if (case_graph_parse(&operator_cases[k], &made, &error) != COLLAGE_OK)
            fail_msg("%s", error.text);
        case_graph_destroy(&made);
        if (operator_case_find(operator_cases[k].name) != &operator_cases[k])
            fail_msg("there are two cases %s", operator_cases[k].name);
    }
    assert_null(operator_case_find("nonsense"));
}

static void test_values_are_as_written(void **state)
{
    (void)state;
    struct case_graph made;
    struct error error;
    assert_int_equal(make("x: +2x3; s = (-0.5); y = Mul(x, s)", &made, &error), COLLAGE_OK);
    struct tensor x = made.tensors[made.graph->inputs[0]], y = output_of(&made, 0);
    assert_int_equal(x.rank, 2);
    for (int64_t k = 0; k < 6; k++) {
        assert_true(tensor_get(&x, k) >= 0.25);
        assert_true(tensor_get(&y, k) == -0.5 * tensor_get(&x, k));
    }
    assert_null(made.graph->values[made.graph->inputs[0]].tensor.data);
    case_graph_destroy(&made);
    assert_int_equal(make("x: *0.5 40; y = Abs(x)", &made, &error), COLLAGE_OK);
    y = output_of(&made, 0);
    for (int64_t k = 0; k < 40; k++)
        assert_true(tensor_get(&y, k) <= 0.5 * 1.7320509);
    case_graph_destroy(&made);
}

static void test_types_and_scalars(void **state)
{
    (void)state;
    struct case_graph made;
    struct error error;
    assert_int_equal(make("c: bool 5; i = <3>; v = [1,-2]; x: int64; y = Add(x, i); z = Mul(y, v)",
                          &made, &error),
                     COLLAGE_OK);
    assert_int_equal(made.tensors[made.graph->inputs[0]].dtype, COLLAGE_BOOL);
    struct tensor x = made.tensors[made.graph->inputs[1]], z = output_of(&made, 0);
    assert_int_equal(x.rank, 0);
    assert_int_equal(z.dtype, COLLAGE_INT64);
    assert_int_equal(z.dims[0], 2);
    assert_int_equal(tensor_get_int(&z, 1), -2 * (tensor_get_int(&x, 0) + 3));
    case_graph_destroy(&made);
}

static void test_several_outputs(void **state)
{
    (void)state;
    struct case_graph made;
    struct error error;
    assert_int_equal(make("x: 2x6; n = [1,2,3]; y, , u = Split(x, n) axis=1", &made, &error),
                     COLLAGE_OK);
    assert_int_equal(made.graph->output_count, 2);
    struct tensor x = made.tensors[made.graph->inputs[0]], u = output_of(&made, 1);
    assert_int_equal(u.dims[1], 3);
    assert_true(tensor_get(&u, 5) == tensor_get(&x, 11));
    case_graph_destroy(&made);
}

static void test_texts_in_quotes(void **state)
{
    (void)state;
    struct case_graph made;
    struct error error;
    assert_int_equal(make("x: 2x2; v: 2; y = Einsum(x, v) equation='ii, j->'", &made, &error),
                     COLLAGE_OK);
    const collage_attribute *equation = &made.graph->nodes[0].base.attributes[0];
    assert_int_equal(equation->kind, COLLAGE_ATTRIBUTE_STRING);
    assert_string_equal(equation->s, "ii, j->");
    assert_int_equal(output_of(&made, 0).rank, 0);
    case_graph_destroy(&made);
    assert_int_equal(make("x: 2x2; y = Dropout(x) seed='7'", &made, &error), COLLAGE_ERROR_SHAPE);
    assert_non_null(strstr(error.text, "wrong type"));
}

static void test_mistakes_name_the_case(void **state)
{
    (void)state;
    static const char *const mistakes[] = {
        "",
        "x",
        "x: 2x3",
        "x: ; y = Relu(x)",
        "x: 2x3; y = Nonsense(x)",
        "x: 2x3; y = Relu(z)",
        "x: 2x3; y = Relu(x",
        "x: 2x3; y = Relu(x) axis",
        "x: 2x3; y = Softmax(x) axis=7",
        "x: 2x3; y = Einsum(x) equation='ij->ji",
        "x: 2x3; y, z = 2x3",
        "x: float99 2x3; y = Relu(x)",
        "x: *half 2x3; y = Relu(x)",
        "x: 1x2x3x4x5x6x7x8x9; y = Relu(x)",
        "x: 2x3; a = [1,oops]; y = ReduceSum(x, a)",
        "x: 2x3; y = Relu(x) extra!",
        "x: 2x3; y = Einsum(x) equation='ij",
        "x: 2x3; a, b, c, d, e, f, g, h, i = Split(x)",
    };
    for (size_t k = 0; k < sizeof mistakes / sizeof mistakes[0]; k++) {
        struct case_graph made;
        struct error error;
        if (make(mistakes[k], &made, &error) == COLLAGE_OK)
            fail_msg("taken: %s", mistakes[k]);
        if (!error.text[0])
            fail_msg("no reason: %s", mistakes[k]);
        assert_null(made.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_well_formed), cmocka_unit_test(test_values_are_as_written),
        cmocka_unit_test(test_types_and_scalars),    cmocka_unit_test(test_several_outputs),
        cmocka_unit_test(test_texts_in_quotes),      cmocka_unit_test(test_mistakes_name_the_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
