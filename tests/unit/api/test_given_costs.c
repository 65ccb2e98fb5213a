/* SPDX-License-Identifier: Apache-2.0 */
/* Costs that a user's function gives, through the public API: the test plugin takes Relu only. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <collage/backend.h>
#include <collage/collage.h>

static char folder[] = "/tmp/given-costs-XXXXXX";

static struct fixture {
    collage_context *context;
    collage_model *model;
} fixture;

/* What a function answers for Relu on the test plugin, and what it was asked. */
struct answers {
    collage_cost_answer answer;
    double cost_ns;
    int asked;
};

static collage_cost_answer answer_relu(void *user, const collage_cost_question *q, double *cost_ns)
{
    struct answers *answers = user;
    assert_true(q->struct_size >= sizeof *q);
    assert_int_equal(q->threads, 1);
    assert_true(q->output_count >= 1 && q->outputs[0].rank >= 1);
    assert_true(q->subgraph->node_count >= 1 && q->fingerprint[0] && q->device[0]);
    if (strcmp(q->backend, "faulty") != 0)
        return COLLAGE_COST_UNKNOWN;
    assert_string_equal(q->operators, "Relu");
    assert_true(strcmp(q->version, "1.0") == 0 || !q->version[0]); /* an explanation may not know */
    assert_int_equal(q->outputs[0].dtype, COLLAGE_FLOAT32);
    assert_int_equal(q->inputs[0].rank, 4);
    answers->asked++;
    *cost_ns = answers->cost_ns;
    return answers->answer;
}

static void check(collage_status status)
{
    if (status != COLLAGE_OK)
        fail_msg("%s", collage_context_message(fixture.context));
}

static void expect(collage_status status, collage_status wanted, const char *message)
{
    assert_int_equal(status, wanted);
    if (!strstr(collage_context_message(fixture.context), message))
        fail_msg("'%s', not '%s'", collage_context_message(fixture.context), message);
}

static int make_fixture(void **state)
{
    (void)state;
    char model[128];
    uint64_t bytes;
    assert_non_null(mkdtemp(folder));
    const collage_context_options options = { .struct_size = sizeof options,
                                              .cache_directory = folder,
                                              .plugin_directory =
                                                  COLLAGE_BUILD_DIR "/test-plugins/faulty" };
    assert_int_equal(collage_context_create(&options, &fixture.context), COLLAGE_OK);
    check(collage_weights_fill(fixture.context, COLLAGE_NETWORKS "/tiny_cnn.onnx", folder, &bytes));
    snprintf(model, sizeof model, "%s/tiny_cnn.onnx", folder);
    check(collage_model_load(fixture.context, model, NULL, 0, &fixture.model));
    return 0;
}

static int drop_fixture(void **state)
{
    (void)state;
    char command[64];
    collage_model_destroy(fixture.model);
    collage_context_destroy(fixture.context);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

struct output {
    char text[1 << 16];
    size_t count;
};

static bool take(void *user, const char *bytes, size_t count)
{
    struct output *out = user;
    if (count >= sizeof out->text - out->count)
        return false;
    memcpy(out->text + out->count, bytes, count);
    out->count += count;
    out->text[out->count] = '\0';
    return true;
}

static collage_status optimize(collage_plan **plan)
{
    const collage_optimize_options how = { .struct_size = sizeof how,
                                           .backends = "faulty,reference",
                                           .threads = 1,
                                           .race_seconds = 0.2,
                                           .search = COLLAGE_SEARCH_GREEDY };
    return collage_optimize(fixture.context, fixture.model, &how, plan);
}

/* Does the plan say that something is given, and does it run on the plugin? */
static void expect_plan(const char *has, const char *has_not)
{
    static struct output out;
    collage_plan *plan = NULL;
    out.count = 0;
    check(optimize(&plan));
    check(
        collage_plan_report(fixture.context, fixture.model, plan, COLLAGE_FORMAT_JSON, take, &out));
    if (!strstr(out.text, has))
        fail_msg("no %s", has);
    if (strstr(out.text, has_not))
        fail_msg("there is %s", has_not);
    out.count = 0;
    check(collage_explain(fixture.context, fixture.model, plan, NULL, take, &out));
    collage_plan_destroy(plan);
}

static uint64_t count_stored(void)
{
    static struct output out;
    uint64_t count = 0;
    const collage_costs_filter filter = { .struct_size = sizeof filter,
                                          .backend = "faulty",
                                          .op_type = "Relu" };
    out.count = 0;
    check(collage_costs_list(fixture.context, &filter, take, &out, &count));
    return count;
}

static void test_a_given_cost_takes_the_place_of_a_measured_one(void **state)
{
    (void)state;
    struct answers answers = { .answer = COLLAGE_COST_GIVEN, .cost_ns = 321 };
    check(collage_cost_function_add(fixture.context, "mine", answer_relu, &answers, NULL));
    expect_plan("\"given\"", "\"nothing\"");
    assert_true(answers.asked > 0);
    assert_int_equal(count_stored(), 0);
    /* Never: the reference does it. */
    answers.answer = COLLAGE_COST_NEVER;
    expect_plan("\"given\"", "\"backend\": \"faulty\"");
    assert_int_equal(count_stored(), 0);
    /* Nothing is said: it is measured. */
    answers.answer = COLLAGE_COST_UNKNOWN;
    expect_plan("\"faulty\"", "\"given\"");
    assert_true(count_stored() > 0);
    check(collage_cost_function_remove(fixture.context, "mine"));
}

static void test_what_is_no_cost_fails(void **state)
{
    (void)state;
    const double wrong[] = { (double)NAN, -1, 0, (double)INFINITY, -(double)INFINITY, 1e16 };
    struct answers answers = { .answer = COLLAGE_COST_GIVEN };
    collage_plan *plan = NULL;
    check(collage_cost_function_add(fixture.context, "mine", answer_relu, &answers, NULL));
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        answers.cost_ns = wrong[k];
        expect(optimize(&plan), COLLAGE_ERROR_ARGUMENT, "the cost function 'mine' gives");
        assert_null(plan);
    }
    answers.answer = (collage_cost_answer)7;
    expect(optimize(&plan), COLLAGE_ERROR_ARGUMENT, "gives the answer 7");
    check(collage_cost_function_remove(fixture.context, "mine"));
}

/* The last one that was added is asked first, and who says nothing leaves it to the next. */
static void test_several(void **state)
{
    (void)state;
    struct answers first = { .answer = COLLAGE_COST_NEVER };
    struct answers second = { .answer = COLLAGE_COST_GIVEN, .cost_ns = 100 };
    const collage_registration replace = { .struct_size = sizeof replace, .replace = true };
    const collage_registration keep = { .struct_size = sizeof keep, .keep = true };
    const collage_registration other = { .struct_size = sizeof other, .target = "Nobody*" };
    collage_context *context = fixture.context;
    check(collage_cost_function_add(context, "first", answer_relu, &first, NULL));
    check(collage_cost_function_add(context, "second", answer_relu, &second, NULL));
    expect_plan("\"faulty\"", "\"nothing\"");
    assert_int_equal(first.asked, 0);
    second.answer = COLLAGE_COST_UNKNOWN;
    expect_plan("\"given\"", "\"backend\": \"faulty\"");
    assert_true(first.asked > 0);
    expect(collage_cost_function_add(context, "first", answer_relu, &first, NULL),
           COLLAGE_ERROR_ARGUMENT, "already");
    expect(collage_cost_function_add(context, "third", answer_relu, &first, &replace),
           COLLAGE_ERROR_ARGUMENT, "no cost function 'third'");
    expect(collage_cost_function_add(context, "third", answer_relu, &first, &keep),
           COLLAGE_ERROR_ARGUMENT, "cannot be kept");
    expect(collage_cost_function_add(context, "a\nb", answer_relu, &first, NULL),
           COLLAGE_ERROR_ARGUMENT, "printable");
    expect(collage_cost_function_add(context, "third", NULL, NULL, NULL), COLLAGE_ERROR_ARGUMENT,
           "NULL");
    check(collage_cost_function_add(context, "first", answer_relu, &second, &replace));
    check(collage_cost_function_add(context, "elsewhere", answer_relu, &first, &other));
    assert_int_equal(collage_registered_count(context), 3);
    collage_registered_info info = { .struct_size = sizeof info };
    check(collage_registered_describe(context, 0, &info));
    assert_string_equal(info.kind, "function");
    assert_string_equal(info.name, "first");
    assert_true(info.here && !info.kept);
    check(collage_registered_describe(context, 2, &info));
    assert_false(info.here);
    check(collage_cost_function_remove(context, "elsewhere"));
    check(collage_cost_function_remove(context, "first"));
    check(collage_cost_function_remove(context, "second"));
    expect(collage_cost_function_remove(context, "first"), COLLAGE_ERROR_ARGUMENT,
           "no cost function 'first'");
    assert_int_equal(collage_registered_count(context), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_given_cost_takes_the_place_of_a_measured_one),
        cmocka_unit_test(test_what_is_no_cost_fails),
        cmocka_unit_test(test_several),
    };
    return cmocka_run_group_tests(tests, make_fixture, drop_fixture);
}
