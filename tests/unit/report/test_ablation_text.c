/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed of a model with one library more at a time: as a golden text, and as JSON. */
#include "unit/report/explained.h"

#include "report/ablation.h"

static const struct ablation_row rows[] = {
    { .added = "alpha",
      .version = "1.0",
      .note = "with reference for Gather",
      .failure = "",
      .predicted_ns = 12.1e6,
      .minimum_ns = 12.31e6,
      .median_ns = 12.5e6,
      .low_ns = 12.4e6,
      .high_ns = 12.6e6,
      .speed_up = { 1, 1, 1 },
      .worst_error = 1e-7,
      .peak_bytes = 310u << 20 },
    { .added = "beta",
      .version = "2.0",
      .note = "",
      .failure = "",
      .predicted_ns = 9.5e6,
      .minimum_ns = 9.8e6,
      .median_ns = 10e6,
      .low_ns = 9.9e6,
      .high_ns = 10.1e6,
      .speed_up = { 1.25, 1.24, 1.26 },
      .gain = { 1.25, 1.24, 1.26 } },
    { .added = "gamma",
      .version = "",
      .note = "",
      .failure = "",
      .same = true,
      .predicted_ns = 9.5e6,
      .minimum_ns = 9.8e6,
      .median_ns = 10e6,
      .speed_up = { 1.25, 1.24, 1.26 },
      .gain = { 1, 1, 1 } },
    { .added = "delta", .version = "", .note = "", .failure = "its process crashed" },
    { .added = "epsilon",
      .version = "",
      .note = "",
      .failure = "",
      .predicted_ns = 9.4e6,
      .minimum_ns = 9.7e6,
      .median_ns = 10e6,
      .speed_up = { 1.252, 1.24, 1.264 } },
};

static const struct ablation_row alone[] = {
    { .added = "beta",
      .version = "2.0",
      .note = "alone: its own session and defaults",
      .failure = "",
      .minimum_ns = 19.8e6,
      .median_ns = 20e6,
      .speed_up = { 0.625, 0.62, 0.63 } },
};

static const struct ablation sample = { .model = "fake",
                                        .device_name = "a machine",
                                        .threads = 2,
                                        .rows = rows,
                                        .row_count = sizeof rows / sizeof *rows,
                                        .alone = alone,
                                        .alone_count = 1 };

static void golden_text(void **state)
{
    (void)state;
    struct text text = { 0 };
    OK(report_ablation(&sample, COLLAGE_FORMAT_TEXT, &text, NULL));
    check_golden(&text, "ablation.txt");
    text_free(&text);
}

static void json_has_all_of_it(void **state)
{
    (void)state;
    struct text text = { 0 };
    OK(report_ablation(&sample, COLLAGE_FORMAT_JSON, &text, NULL));
    json_t *json = json_loadb(text.bytes, text.count, 0, NULL);
    const json_t *list = json_object_get(json, "rows");
    assert_int_equal(json_array_size(list), sample.row_count);
    const json_t *third = json_array_get(list, 2);
    assert_int_equal(json_array_size(json_object_get(third, "libraries")), 3);
    assert_true(json_is_true(json_object_get(third, "same")));
    assert_int_equal(json_array_size(json_object_get(third, "gain")), 3);
    const json_t *failed = json_array_get(list, 3);
    assert_true(json_is_null(json_object_get(failed, "speed_up")));
    assert_string_equal(json_string_value(json_object_get(failed, "failure")),
                        "its process crashed");
    assert_int_equal(json_array_size(json_object_get(json, "alone")), 1);
    json_decref(json);
    text_free(&text);
}

static void names_steer_no_terminal(void **state)
{
    (void)state;
    static const char evil[] = "\x1b[2J\n\xff";
    const struct ablation_row row = {
        .added = evil, .version = evil, .note = evil, .failure = evil, .median_ns = 1
    };
    const struct ablation odd = {
        .model = evil, .device_name = evil, .threads = 1, .rows = &row, .row_count = 1
    };
    struct text text = { 0 };
    OK(report_ablation(&odd, COLLAGE_FORMAT_TEXT, &text, NULL));
    assert_null(strchr(text.bytes, 0x1b));
    text_free(&text);
    OK(report_ablation(&odd, COLLAGE_FORMAT_JSON, &text, NULL));
    json_t *json = json_loadb(text.bytes, text.count, 0, NULL);
    assert_true(json_is_object(json));
    json_decref(json);
    text_free(&text);
    struct error error = { 0 };
    assert_int_equal(report_ablation(&odd, COLLAGE_FORMAT_SVG, &text, &error),
                     COLLAGE_ERROR_ARGUMENT);
    text_free(&text);
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status != COLLAGE_OK && n < 100; n++) {
        struct text text = { 0 };
        memory_fail_after(n);
        status = report_ablation(&sample, COLLAGE_FORMAT_TEXT, &text, NULL);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MEMORY);
        text_free(&text);
    }
    assert_true(status == COLLAGE_OK && n > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_text),
        cmocka_unit_test(json_has_all_of_it),
        cmocka_unit_test(names_steer_no_terminal),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
