/* SPDX-License-Identifier: Apache-2.0 */
/* Files of given costs, when memory is short and when they are damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cost/given.h"

static const char text[] = "collage_given_costs 1\n"
                           "one Conv+Relu 2.5us out=1x8x* threads=2\n"
                           "any Conv* 1ms\r\n"
                           "any * never dtype=int64\n";

static void ask(const struct given_costs *given, const char *backend, const char *operators,
                int32_t threads, struct arena *arena, struct cost *cost)
{
    struct error error = { 0 };
    const collage_tensor_info tensor = { .dtype = COLLAGE_FLOAT32, .rank = 3, .dims = { 1, 8, 4 } };
    const collage_cost_question question = { .struct_size = sizeof question,
                                             .backend = backend,
                                             .version = "1",
                                             .operators = operators,
                                             .variant = "",
                                             .inputs = &tensor,
                                             .outputs = &tensor,
                                             .input_count = 1,
                                             .output_count = 1,
                                             .threads = threads };
    assert_int_equal(given_costs_ask(given, &question, arena, cost, &error), COLLAGE_OK);
}

static void test_lines(void **state)
{
    (void)state;
    struct error error = { 0 };
    struct given_source source = { .name = "file" };
    struct arena *arena = arena_create();
    struct cost cost;
    assert_non_null(arena);
    assert_int_equal(given_file_parse("f", text, sizeof text - 1, &source.file, &error),
                     COLLAGE_OK);
    const struct given_costs given = { &source, 1 };
    ask(&given, "one", "Conv+Relu", 2, arena, &cost);
    assert_int_equal(cost.state, COST_MEASURED);
    assert_float_equal(cost.cost_ns, 2500, 1e-9);
    assert_string_equal(cost.giver, "file");
    assert_int_equal(cost.sample_count, 0);
    ask(&given, "one", "Conv+Relu", 1, arena, &cost);
    assert_float_equal(cost.cost_ns, 1e6, 1e-6);
    ask(&given, "two", "Conv", 2, arena, &cost);
    assert_float_equal(cost.cost_ns, 1e6, 1e-6);
    ask(&given, "two", "MatMul", 2, arena, &cost);
    assert_int_equal(cost.state, COST_UNKNOWN);
    assert_null(cost.giver);
    given_file_destroy(source.file);
    arena_destroy(arena);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct given_file *file = NULL;
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; n < 100 && status == COLLAGE_ERROR_MEMORY; n++) {
        struct error error = { 0 };
        memory_fail_after(n);
        status = given_file_parse("f", text, sizeof text - 1, &file, &error);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || strstr(error.text, "out of memory"));
    }
    assert_int_equal(status, COLLAGE_OK);
    given_file_destroy(file);
}

/* Each byte changed, and each length: an error or a file, and nothing worse. */
static void test_damaged(void **state)
{
    (void)state;
    char copy[sizeof text];
    for (size_t at = 0; at < sizeof text - 1; at++)
        for (int value = 0; value < 256; value++) {
            struct given_file *file;
            struct error error = { 0 };
            memcpy(copy, text, sizeof text);
            copy[at] = (char)value;
            const size_t length = value == 255 ? at : sizeof text - 1;
            collage_status status = given_file_parse("f", copy, length, &file, &error);
            assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_FORMAT);
            assert_int_equal(file != NULL, status == COLLAGE_OK);
            given_file_destroy(file);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
