/* SPDX-License-Identifier: Apache-2.0 */
/* The comparisons of the public API: what they take, and what they refuse before anything runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <collage/collage.h>

struct fixture {
    char folder[32];
    collage_context *context;
    collage_model *model;
    collage_plan *plan;
};

static int make_fixture(void **state)
{
    static struct fixture fixture = { .folder = "/tmp/compare-XXXXXX" };
    *state = &fixture;
    assert_non_null(mkdtemp(fixture.folder));
    const collage_context_options options = { .struct_size = sizeof options,
                                              .cache_directory = fixture.folder };
    const collage_optimize_options how = {
        .struct_size = sizeof how, .threads = 1, .backends = "reference", .race_seconds = 0.1
    };
    char path[64];
    uint64_t bytes;
    snprintf(path, sizeof path, "%s/tiny_cnn.onnx", fixture.folder);
    assert_int_equal(collage_context_create(&options, &fixture.context), COLLAGE_OK);
    assert_int_equal(collage_weights_fill(fixture.context, COLLAGE_NETWORKS "/tiny_cnn.onnx",
                                          fixture.folder, &bytes),
                     COLLAGE_OK);
    assert_int_equal(collage_model_load(fixture.context, path, NULL, 0, &fixture.model),
                     COLLAGE_OK);
    assert_int_equal(collage_optimize(fixture.context, fixture.model, &how, &fixture.plan),
                     COLLAGE_OK);
    return 0;
}

static int drop_fixture(void **state)
{
    struct fixture *fixture = *state;
    collage_plan_destroy(fixture->plan);
    collage_model_destroy(fixture->model);
    collage_context_destroy(fixture->context);
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", fixture->folder);
    return system(command) == 0 ? 0 : -1;
}

static bool drop(void *user, const char *bytes, size_t count)
{
    (void)user;
    (void)bytes;
    (void)count;
    return true;
}

/* Without running anything. */
static void test_comparison_checks_its_arguments(void **state)
{
    const struct fixture *fixture = *state;
    collage_context *context = fixture->context;
    const collage_model *model = fixture->model;
    const collage_plan *plan = fixture->plan, *none = NULL;
    const char *const names[] = { "first", NULL };
    const collage_bench_options options[] = {
        { .struct_size = offsetof(collage_bench_options, others) - 1 },
        { .struct_size = sizeof *options, .other_count = 1 },
        { .struct_size = sizeof *options, .other_count = 1, .others = &none },
        { .struct_size = sizeof *options, .other_count = SIZE_MAX, .others = &plan },
        { .struct_size = sizeof *options, .other_count = 1, .others = &plan, .names = names },
        { .struct_size = sizeof *options, .peers = "nobody" },
    };
    for (size_t k = 0; k < sizeof options / sizeof *options; k++)
        assert_int_equal(
            collage_bench(context, model, plan, &options[k], COLLAGE_FORMAT_TEXT, drop, NULL),
            COLLAGE_ERROR_ARGUMENT);
}

static bool collect(void *user, const char *bytes, size_t count)
{
    size_t before = strlen(user);
    if (before + count >= 8192)
        return false;
    memcpy((char *)user + before, bytes, count);
    return true;
}

/* A name cannot deceive who reads the table. */
static void test_several_plans_have_a_row_each(void **state)
{
    const struct fixture *fixture = *state;
    const collage_plan *const others[] = { fixture->plan };
    const char *const names[] = { "left", "ri\nght" };
    char table[8192] = "";
    collage_bench_options options = {
        .struct_size = sizeof options, .seconds = 0.01, .others = others, .other_count = 1
    };
    assert_int_equal(collage_bench(fixture->context, fixture->model, fixture->plan, &options,
                                   COLLAGE_FORMAT_TEXT, collect, table),
                     COLLAGE_OK);
    assert_non_null(strstr(table, "\n* plan "));
    assert_non_null(strstr(table, "\n  plan 2 "));
    options.names = names;
    memset(table, 0, sizeof table);
    assert_int_equal(collage_bench(fixture->context, fixture->model, fixture->plan, &options,
                                   COLLAGE_FORMAT_TEXT, collect, table),
                     COLLAGE_OK);
    assert_non_null(strstr(table, "\n* left "));
    assert_non_null(strstr(table, "\n  ri?ght "));
}

/* Whoever was compiled before a comparison took several plans passes a shorter struct, and what
 * lies behind it is not looked at. */
static void test_short_comparison_options_are_taken(void **state)
{
    const struct fixture *fixture = *state;
    const collage_bench_options old = { .struct_size = offsetof(collage_bench_options, others),
                                        .seconds = 0.01,
                                        .other_count = 5 };
    assert_int_equal(collage_bench(fixture->context, fixture->model, fixture->plan, &old,
                                   COLLAGE_FORMAT_TEXT, drop, NULL),
                     COLLAGE_OK);
}

/* Without measuring anything. */
static void test_ablation_checks_its_arguments(void **state)
{
    const struct fixture *fixture = *state;
    collage_context *context = fixture->context;
    const collage_model *model = fixture->model;
    const collage_ablate_options old = { .struct_size = sizeof(size_t) },
                                 many = { .struct_size = sizeof many, .threads = 5000 },
                                 unknown = { .struct_size = sizeof unknown, .backends = "nobody" };
    const collage_format text = COLLAGE_FORMAT_TEXT;
    assert_int_equal(collage_ablate(context, NULL, NULL, text, drop, NULL), COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(collage_ablate(context, model, NULL, text, NULL, NULL),
                     COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(collage_ablate(context, model, &old, text, drop, NULL),
                     COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(collage_ablate(context, model, &many, text, drop, NULL),
                     COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(collage_ablate(context, model, &unknown, text, drop, NULL),
                     COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(collage_ablate(context, model, NULL, COLLAGE_FORMAT_SVG, drop, NULL),
                     COLLAGE_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparison_checks_its_arguments),
        cmocka_unit_test(test_several_plans_have_a_row_each),
        cmocka_unit_test(test_short_comparison_options_are_taken),
        cmocka_unit_test(test_ablation_checks_its_arguments),
    };
    return cmocka_run_group_tests(tests, make_fixture, drop_fixture);
}
