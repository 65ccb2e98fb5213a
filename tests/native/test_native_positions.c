/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that say which rows of a table are meant: those that are out of range are found before
 * anything is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "positions.h"

#include <cmocka.h> /* after the plugin's headers: it has a macro of the name of their function */

enum { COUNT = 3, ROWS = 5 };

/* Positions that are the only input of a sub-graph. */
static bool read_positions(collage_dtype dtype, uint64_t bytes, struct positions *out)
{
    static const int64_t dims[] = { COUNT };
    const collage_value value = {
        .name = "i", .dtype = dtype, .rank = 1, .dims = dims, .bytes = bytes
    };
    const collage_value *values[] = { &value };
    const uint32_t inputs[] = { 0 };
    const collage_subgraph subgraph = {
        .values = values, .value_count = 1, .inputs = inputs, .input_count = 1
    };
    return positions_read(&subgraph, 0, ROWS, out);
}

static bool check_wide(bool from_end, int64_t number, collage_message *message)
{
    struct positions positions;
    const int64_t numbers[COUNT] = { 0, ROWS - 1, number };
    const void *const inputs[] = { numbers };
    assert_true(read_positions(COLLAGE_INT64, sizeof numbers, &positions));
    positions.from_end = from_end;
    return positions_check(&positions, inputs, message);
}

static void numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    collage_message message = { .text = "" };
    assert_true(check_wide(false, 2, &message));
    assert_false(check_wide(false, ROWS, &message));
    assert_string_equal(message.text, "index 5 is out of range for 5 rows");
    assert_false(check_wide(false, -1, &message));
    assert_true(check_wide(true, -ROWS, &message));
    assert_false(check_wide(true, -ROWS - 1, &message));
    assert_false(check_wide(true, INT64_MIN, &message));
    assert_false(check_wide(true, INT64_MAX, &message));
}

static void rows_are_counted_from_the_end(void **state)
{
    (void)state;
    struct positions positions;
    const int32_t given[COUNT] = { -1, -ROWS, 3 };
    const void *volatile numbers = given; /* compilers see no further: which type it has is data */
    const void *const inputs[] = { numbers };
    assert_true(read_positions(COLLAGE_INT32, sizeof numbers, &positions));
    positions.from_end = true;
    assert_true(positions_check(&positions, inputs, NULL));
    assert_int_equal(positions_at(&positions, numbers, 0), ROWS - 1);
    assert_int_equal(positions_at(&positions, numbers, 1), 0);
    assert_int_equal(positions_at(&positions, numbers, 2), 3);
}

static void other_types_are_no_positions(void **state)
{
    (void)state;
    struct positions positions;
    assert_false(read_positions(COLLAGE_FLOAT32, COUNT * sizeof(float), &positions));
    assert_false(read_positions(COLLAGE_INT64, 0, &positions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(rows_are_counted_from_the_end),
        cmocka_unit_test(other_types_are_no_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
