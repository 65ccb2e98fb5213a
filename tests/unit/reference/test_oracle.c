/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "reference/example_input.h"
#include "reference/oracle.h"

static float addend[] = { 1, -2, 0.5f, 0 };
static int64_t indices[] = { 3, -1, 0 };

static struct graph_property properties[] = { { "collage.weights.seed", "42" },
                                              { "collage.input.x", "float" },
                                              { "collage.input.ids", "int 4" } };

/* y = Relu(x + addend), z = Gather(y, ids) */
static struct graph *make_graph(void)
{
    const struct tensor vector = { COLLAGE_FLOAT32, 1, { 4 }, NULL };
    const struct tensor list = { COLLAGE_INT64, 1, { 3 }, NULL };
    struct tensor constant = vector, unknown = { 0 };
    struct graph *graph = graph_create();
    struct error error = { 0 };
    assert_non_null(graph);
    constant.data = addend;
    value_id x = graph_add_value(graph, "x", VALUE_INPUT, &vector);
    value_id ids = graph_add_value(graph, "ids", VALUE_INPUT, &list);
    value_id c = graph_add_value(graph, "c", VALUE_CONSTANT, &constant);
    value_id sum = graph_add_value(graph, "sum", VALUE_COMPUTED, &unknown);
    value_id y = graph_add_value(graph, "y", VALUE_COMPUTED, &unknown);
    value_id z = graph_add_value(graph, "z", VALUE_COMPUTED, &unknown);
    graph_add_node(graph, op_find("Add"), "add", (value_id[]){ x, c }, 2, &sum, 1, NULL, 0);
    graph_add_node(graph, op_find("Relu"), "relu", &sum, 1, &y, 1, NULL, 0);
    graph_add_node(graph, op_find("Gather"), "gather", (value_id[]){ y, ids }, 2, &z, 1, NULL, 0);
    for (node_id n = 0; n < 3; n++)
        assert_int_equal(graph_infer_node(graph, n, &error), COLLAGE_OK);
    assert_int_equal(graph_set_inputs(graph, (value_id[]){ x, ids }, 2, &error), COLLAGE_OK);
    assert_int_equal(graph_set_outputs(graph, &z, 1, &error), COLLAGE_OK);
    graph->properties = properties;
    graph->property_count = 3;
    return graph;
}

static float x_data[] = { -3, 3, 0, 7 };
static const struct tensor given[] = { { COLLAGE_FLOAT32, 1, { 4 }, x_data },
                                       { COLLAGE_INT64, 1, { 3 }, indices } };

static double element(const struct oracle *oracle, const struct graph *graph, const char *name,
                      int64_t index)
{
    struct tensor tensor = oracle_value(oracle, graph_find_value(graph, name));
    return tensor_get(&tensor, index);
}

static void check_values(const struct oracle *oracle, const struct graph *graph)
{
    static const double sum[] = { -2, 1, 0.5, 7 }, y[] = { 0, 1, 0.5, 7 }, z[] = { 7, 7, 0 };
    for (int64_t i = 0; i < 4; i++) {
        assert_true(element(oracle, graph, "sum", i) == sum[i]);
        assert_true(element(oracle, graph, "y", i) == y[i]);
    }
    for (int64_t i = 0; i < 3; i++)
        assert_true(element(oracle, graph, "z", i) == z[i]);
}

static void test_values_are_shared(void **state)
{
    (void)state;
    struct error error = { 0 };
    struct graph *graph = make_graph();
    struct oracle *oracle, *other;
    assert_int_equal(oracle_create(graph, given, NULL, NULL, &oracle, &error), COLLAGE_OK);
    check_values(oracle, graph);
    struct tensor c = oracle_value(oracle, graph_find_value(graph, "c"));
    assert_ptr_equal(c.data, addend);
    struct tensor y = oracle_value(oracle, graph_find_value(graph, "y"));
    assert_int_equal((uintptr_t)y.data % 64, 0);
    int descriptor = dup(oracle_descriptor(oracle));
    assert_true(descriptor >= 0);
    assert_int_equal(oracle_open(graph, descriptor, &other, &error), COLLAGE_OK);
    oracle_destroy(oracle);
    check_values(other, graph);
    oracle_destroy(other);
    graph_destroy(graph);
}

static void test_open_refuses_other_sizes(void **state)
{
    (void)state;
    struct error error = { 0 };
    struct graph *graph = make_graph();
    struct oracle *oracle, *other;
    assert_int_equal(oracle_create(graph, given, NULL, NULL, &oracle, &error), COLLAGE_OK);
    int descriptor = dup(oracle_descriptor(oracle));
    graph->values[graph_find_value(graph, "y")].tensor.dims[0] = 400;
    assert_int_equal(oracle_open(graph, descriptor, &other, &error), COLLAGE_ERROR_MISMATCH);
    assert_null(other);
    assert_int_equal(close(descriptor), -1); /* it was taken over */
    oracle_destroy(oracle);
    graph_destroy(graph);
}

static void test_wrong_inputs(void **state)
{
    (void)state;
    struct graph *graph = make_graph();
    struct oracle *oracle;
    struct error error = { 0 };
    struct tensor inputs[] = { given[0], given[1] };
    inputs[0].dims[0] = 3;
    assert_int_equal(oracle_create(graph, inputs, NULL, NULL, &oracle, &error),
                     COLLAGE_ERROR_SHAPE);
    assert_non_null(strstr(error.text, "'x'"));
    error_clear(&error);
    int64_t outside[] = { 0, 4, 0 };
    inputs[0] = given[0];
    inputs[1].data = outside;
    assert_int_equal(oracle_create(graph, inputs, NULL, NULL, &oracle, &error),
                     COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "node 'gather' (Gather): index 4"));
    graph_destroy(graph);
}

static bool stop_at(void *user, size_t done, size_t total)
{
    assert_int_equal(total, 3);
    return done != *(size_t *)user;
}

static void test_interrupting(void **state)
{
    (void)state;
    struct graph *graph = make_graph();
    struct oracle *oracle;
    struct error error = { 0 };
    size_t stop = 2;
    assert_int_equal(oracle_create(graph, given, stop_at, &stop, &oracle, &error),
                     COLLAGE_ERROR_INTERRUPTED);
    assert_null(oracle);
    graph_destroy(graph);
}

static void test_example_inputs(void **state)
{
    (void)state;
    struct graph *graph = make_graph();
    struct error error = { 0 };
    float x[4], expected_x[4];
    int64_t ids[3], expected_ids[3];
    struct tensor to_x = { .data = x }, to_ids = { .data = ids };
    assert_int_equal(example_input(graph, 0, &to_x, &error), COLLAGE_OK);
    assert_int_equal(example_input(graph, 1, &to_ids, &error), COLLAGE_OK);
    assert_true(to_x.dtype == COLLAGE_FLOAT32 && to_ids.dims[0] == 3);
    struct tensor want_x = { COLLAGE_FLOAT32, 1, { 4 }, expected_x };
    struct tensor want_ids = { COLLAGE_INT64, 1, { 3 }, expected_ids };
    tensor_fill_example(&want_x, 41, 0);
    tensor_fill_example(&want_ids, 40, 4);
    assert_memory_equal(x, expected_x, sizeof x);
    assert_memory_equal(ids, expected_ids, sizeof ids);
    assert_int_equal(example_input(graph, 2, &to_x, &error), COLLAGE_ERROR_ARGUMENT);
    static const char *const bad[] = {
        "", "int", "int 0", "int -4", "int 5x", "double", "int 99999999999999999999"
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        struct graph_property rule = { "collage.input.ids", bad[k] };
        graph->properties = &rule;
        graph->property_count = 1;
        error_clear(&error);
        assert_int_equal(example_input(graph, 1, &to_ids, &error), COLLAGE_ERROR_FORMAT);
    }
    graph->property_count = 0; /* seed 0, ids 0 and 1 */
    error_clear(&error);
    assert_int_equal(example_input(graph, 1, &to_ids, &error), COLLAGE_OK);
    tensor_fill_example(&want_ids, (uint64_t)-2, 2);
    assert_memory_equal(ids, expected_ids, sizeof ids);
    graph_destroy(graph);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct graph *graph = make_graph();
    bool done = false;
    for (size_t n = 1; !done; n++) {
        struct oracle *oracle;
        struct error error = { 0 };
        memory_fail_after(n);
        collage_status status = oracle_create(graph, NULL, NULL, NULL, &oracle, &error);
        memory_fail_after(0);
        done = status == COLLAGE_OK;
        assert_true(done || (status == COLLAGE_ERROR_MEMORY && !oracle));
        oracle_destroy(oracle);
        assert_true(n < 100);
    }
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_shared), cmocka_unit_test(test_open_refuses_other_sizes),
        cmocka_unit_test(test_wrong_inputs),      cmocka_unit_test(test_interrupting),
        cmocka_unit_test(test_example_inputs),    cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
