/* SPDX-License-Identifier: Apache-2.0 */
/* test_bench_operators.c: cases run in workers on the reference and on a plugin that misbehaves on
 * demand: what is measured, what fails with which reason, and how it is written. */
#include "bench/operators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORKER_PROGRAM COLLAGE_BUILD_DIR "/bin/collage-worker"
#define FAULTY_PLUGINS COLLAGE_BUILD_DIR "/test-plugins/faulty"

struct fixture {
    struct registry *registry;
    collage_bench_operators_options options;
    struct bench_settings settings;
    struct text text;
    struct error error;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    unsetenv("COLLAGE_FAULTY");
    f->options =
        (collage_bench_operators_options){ .struct_size = sizeof f->options, .threads = 1 };
    if (registry_create(FAULTY_PLUGINS, NULL, NULL, &f->registry, &f->error) != COLLAGE_OK)
        fail_msg("%s", f->error.text);
    f->settings = (struct bench_settings){ .registry = f->registry,
                                           .plugin_directories = FAULTY_PLUGINS,
                                           .worker_program = WORKER_PROGRAM,
                                           .options = &f->options };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    unsetenv("COLLAGE_FAULTY");
    registry_destroy(f->registry);
    text_free(&f->text);
    free(f);
    return 0;
}

static bool keep(void *user, const char *bytes, size_t count)
{
    text_append(user, bytes, count);
    return true;
}

static collage_status report(struct fixture *f, const char *const *names, size_t count,
                             collage_format format)
{
    f->options.cases = names;
    f->options.case_count = count;
    f->text.count = 0;
    memset(&f->error, 0, sizeof f->error);
    return bench_report(&f->settings, format, keep, &f->text, &f->error);
}

static const char *const relu[] = { "relu_vector" };

static void expect(const struct fixture *f, const char *words)
{
    if (!strstr(f->text.bytes, words))
        fail_msg("'%s' is not in:\n%s", words, f->text.bytes);
}

static void test_measures_and_refuses(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = { "relu_vector", "tanh", "reshape" };
    f->options.backends = "reference,faulty";
    assert_int_equal(report(f, names, 3, COLLAGE_FORMAT_TEXT), COLLAGE_OK);
    expect(f, "1 thread.");
    expect(f, "\nroof: the least time by the machine's peaks");
    expect(f, "ratio   GFLOP/s   roof\n");
    expect(f, "%"); /* of a line of numbers */
    expect(f, "relu_vector: 33 -> 33\n");
    expect(f, "  faulty                      "); /* a line of numbers */
    expect(f, "refused: takes one float32 Relu only");
    expect(f, "refused: a view: nothing is computed");
    assert_null(strstr(f->text.bytes, "failed"));
}

static void test_the_reference_only_on_request(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(report(f, relu, 1, COLLAGE_FORMAT_TEXT), COLLAGE_OK);
    assert_null(strstr(f->text.bytes, "reference"));
}

static void test_failures_cost_one_row(void **state)
{
    struct fixture *f = *state;
    static const struct failure {
        const char *behaviour, *words;
        collage_status status;
    } failures[] = {
        { "wrong", "failed: wrong result", COLLAGE_ERROR_WRONG_RESULT },
        { "crash", "failed: crashed (SIGSEGV)", COLLAGE_OK },
        { "compile-fail", "fails on purpose", COLLAGE_OK },
    };
    f->options.backends = "reference,faulty";
    for (size_t k = 0; k < sizeof failures / sizeof failures[0]; k++) {
        setenv("COLLAGE_FAULTY", failures[k].behaviour, 1);
        assert_int_equal(report(f, relu, 1, COLLAGE_FORMAT_TEXT), failures[k].status);
        expect(f, failures[k].words);
        expect(f, "  reference  ");
    }
}

static void test_writes_json(void **state)
{
    struct fixture *f = *state;
    setenv("COLLAGE_FAULTY", "wrong", 1);
    f->options.backends = "reference,faulty";
    assert_int_equal(report(f, relu, 1, COLLAGE_FORMAT_JSON), COLLAGE_ERROR_WRONG_RESULT);
    json_t *json = json_loadb(f->text.bytes, f->text.count, 0, NULL);
    assert_non_null(json);
    const json_t *item = json_array_get(json_object_get(json, "cases"), 0);
    const json_t *results = json_object_get(item, "results");
    assert_string_equal(json_string_value(json_object_get(item, "case")), "relu_vector");
    assert_int_equal(json_integer_value(json_object_get(json, "threads")), 1);
    assert_int_equal(json_array_size(results), 2);
    const json_t *good = json_array_get(results, 0), *bad = json_array_get(results, 1);
    assert_string_equal(json_string_value(json_object_get(good, "state")), "measured");
    assert_true(json_real_value(json_object_get(good, "minimum_ns")) > 0);
    assert_true(json_real_value(json_object_get(good, "ratio")) == 1);
    assert_true(json_real_value(json_object_get(good, "roof")) > 0);
    assert_true(json_real_value(json_object_get(item, "bound_ns")) > 0);
    assert_true(json_real_value(json_object_get(json_object_get(json, "peaks"), "gflops")) > 0);
    assert_string_equal(json_string_value(json_object_get(bad, "state")), "failed");
    assert_true(json_is_true(json_object_get(bad, "wrong")));
    json_decref(json);
}

static void test_refuses_unknown_names(void **state)
{
    struct fixture *f = *state;
    static const char *const nonsense[] = { "relu_vector", "nonsense" };
    assert_int_equal(report(f, nonsense, 2, COLLAGE_FORMAT_TEXT), COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(f->error.text, "'nonsense'"));
    f->options.backends = "reference,bogus";
    assert_int_equal(report(f, relu, 1, COLLAGE_FORMAT_TEXT), COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(f->error.text, "'bogus'"));
    f->options.backends = NULL;
    f->options.filter = "tanh";
    assert_int_equal(report(f, relu, 1, COLLAGE_FORMAT_TEXT), COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(f->error.text, "'tanh'"));
    f->options.filter = NULL;
    registry_set_version(f->registry, registry_find(f->registry, "faulty"), "", "it is broken");
    f->options.backends = "faulty";
    assert_int_equal(report(f, relu, 1, COLLAGE_FORMAT_TEXT), COLLAGE_ERROR_BACKEND);
    assert_non_null(strstr(f->error.text, "it is broken"));
    f->options.backends = NULL;
    assert_int_equal(report(f, relu, 1, COLLAGE_FORMAT_TEXT), COLLAGE_ERROR_BACKEND);
    assert_int_equal(f->text.count, 0);
}

static void test_chooses_cases(void **state)
{
    struct fixture *f = *state;
    f->options.list = true;
    assert_int_equal(report(f, NULL, 0, COLLAGE_FORMAT_TEXT), COLLAGE_OK);
    expect(f, "resnet50_stem ");
    assert_null(strstr(f->text.bytes, "relu_vector "));
    f->options.all = true;
    assert_int_equal(report(f, NULL, 0, COLLAGE_FORMAT_TEXT), COLLAGE_OK);
    expect(f, "resnet50_stem ");
    expect(f, "relu_vector ");
    f->options.filter = "lstm_";
    assert_int_equal(report(f, NULL, 0, COLLAGE_FORMAT_TEXT), COLLAGE_OK);
    expect(f, "lstm_reverse ");
    assert_null(strstr(f->text.bytes, "relu_vector "));
}

static bool interrupt(void *user, const collage_progress *progress)
{
    (void)user;
    (void)progress;
    return false;
}

static bool refuse_output(void *user, const char *bytes, size_t count)
{
    (void)user;
    (void)bytes;
    (void)count;
    return false;
}

static void test_can_be_stopped(void **state)
{
    struct fixture *f = *state;
    f->settings.progress = interrupt;
    assert_int_equal(report(f, relu, 1, COLLAGE_FORMAT_TEXT), COLLAGE_ERROR_INTERRUPTED);
    f->settings.progress = NULL;
    assert_int_equal(
        bench_report(&f->settings, COLLAGE_FORMAT_TEXT, refuse_output, NULL, &f->error),
        COLLAGE_ERROR_INTERRUPTED); /* the first failure wins */
    memset(&f->error, 0, sizeof f->error);
    assert_int_equal(
        bench_report(&f->settings, COLLAGE_FORMAT_TEXT, refuse_output, NULL, &f->error),
        COLLAGE_ERROR_IO);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_measures_and_refuses),  TEST(test_the_reference_only_on_request),
        TEST(test_failures_cost_one_row), TEST(test_writes_json),
        TEST(test_refuses_unknown_names), TEST(test_chooses_cases),
        TEST(test_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
