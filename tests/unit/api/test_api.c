/* SPDX-License-Identifier: Apache-2.0 */
/* The public API, end to end on tiny_cnn, with whatever libraries are installed (the reference is
 * always there). */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <collage/collage.h>
#include <jansson.h>

static char folder[256];
static char model_path[512];
static char plan_path[512];

struct fixture {
    collage_context *context;
    collage_model *model;
    collage_plan *plan;
};

static void check(const struct fixture *fixture, collage_status status)
{
    if (status != COLLAGE_OK)
        fail_msg("%s", collage_context_message(fixture->context));
}

static int make_fixture(void **state)
{
    static struct fixture fixture;
    snprintf(folder, sizeof folder, "%s/api-XXXXXX", "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(model_path, sizeof model_path, "%s/tiny_cnn.onnx", folder);
    snprintf(plan_path, sizeof plan_path, "%s/tiny_cnn.plan.json", folder);
    collage_context_options options = { .struct_size = sizeof options, .cache_directory = folder };
    assert_int_equal(collage_context_create(&options, &fixture.context), COLLAGE_OK);
    uint64_t bytes = 0;
    check(&fixture,
          collage_weights_fill(fixture.context, COLLAGE_NETWORKS "/tiny_cnn.onnx", folder, &bytes));
    assert_true(bytes > 70000);
    check(&fixture, collage_model_load(fixture.context, model_path, NULL, 0, &fixture.model));
    collage_optimize_options how = {
        .struct_size = sizeof how, .threads = 1, .backends = "reference", .race_seconds = 1
    };
    check(&fixture, collage_optimize(fixture.context, fixture.model, &how, &fixture.plan));
    *state = &fixture;
    return 0;
}

static int drop_fixture(void **state)
{
    struct fixture *fixture = *state;
    collage_plan_destroy(fixture->plan);
    collage_model_destroy(fixture->model);
    collage_context_destroy(fixture->context);
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

struct run {
    float input[3 * 32 * 32], output[10];
};

static DLTensor dense(void *data, int64_t *shape, int32_t rank)
{
    return (DLTensor){ .data = data,
                       .device = { kDLCPU, 0 },
                       .ndim = rank,
                       .dtype = { kDLFloat, 32, 1 },
                       .shape = shape };
}

static void run_once(const struct fixture *fixture, collage_session *session, struct run *run)
{
    int64_t in_shape[] = { 1, 3, 32, 32 };
    int64_t out_shape[] = { 1, 10 };
    check(fixture, collage_model_example_input(fixture->context, fixture->model, 0, run->input,
                                               sizeof run->input));
    DLTensor input = dense(run->input, in_shape, 4);
    DLTensor output = dense(run->output, out_shape, 2);
    assert_int_equal(collage_session_run(session, &input, 1, &output, 1), COLLAGE_OK);
}

/* The first values that bench/networks/expected.tsv states, computed by another implementation. */
static void assert_expected(const struct run *run)
{
    static const float expected[] = { -0.06081478f, -0.6802682f, -0.6195782f, 0.7732135f };
    for (int k = 0; k < 4; k++)
        assert_float_equal(run->output[k], expected[k], 1e-5);
}

static void test_run_gives_the_expected_values(void **state)
{
    struct fixture *fixture = *state;
    collage_session *session;
    struct run run;
    check(fixture,
          collage_session_create(fixture->context, fixture->model, fixture->plan, &session));
    run_once(fixture, session, &run);
    assert_expected(&run);
    collage_session_destroy(session);
}

static void test_plan_survives_saving(void **state)
{
    struct fixture *fixture = *state;
    check(fixture, collage_plan_save(fixture->context, fixture->model, fixture->plan, plan_path));
    collage_model *model;
    collage_plan *plan;
    check(fixture, collage_plan_load(fixture->context, plan_path, NULL, &model, &plan));
    collage_session *session;
    struct run run;
    check(fixture, collage_session_create(fixture->context, model, plan, &session));
    run_once(fixture, session, &run);
    assert_expected(&run);
    collage_session_destroy(session);
    collage_plan_destroy(plan);
    collage_model_destroy(model);
}

static void count_warnings(void *user, collage_log_level level, const char *line)
{
    if (level == COLLAGE_LOG_WARNING && strstr(line, "another machine"))
        ++*(int *)user;
}

static int warnings_of_loading(const char *path)
{
    int warnings = 0;
    collage_context_options options = { .struct_size = sizeof options,
                                        .cache_directory = folder,
                                        .log = count_warnings,
                                        .user = &warnings };
    struct fixture own;
    assert_int_equal(collage_context_create(&options, &own.context), COLLAGE_OK);
    check(&own, collage_plan_load(own.context, path, NULL, &own.model, &own.plan));
    collage_plan_destroy(own.plan);
    collage_model_destroy(own.model);
    collage_context_destroy(own.context);
    return warnings;
}

static void test_plan_of_another_machine_says_so(void **state)
{
    struct fixture *fixture = *state;
    check(fixture, collage_plan_save(fixture->context, fixture->model, fixture->plan, plan_path));
    assert_int_equal(warnings_of_loading(plan_path), 0);
    json_t *json = json_load_file(plan_path, 0, NULL);
    assert_non_null(json);
    json_object_set_new(json, "device", json_string("0123456789abcdef0123456789abcdef"));
    assert_int_equal(json_dump_file(json, plan_path, 0), 0);
    json_decref(json);
    assert_int_equal(warnings_of_loading(plan_path), 1);
}

static void test_verification_passes(void **state)
{
    struct fixture *fixture = *state;
    collage_verification result = { .struct_size = sizeof result };
    check(fixture, collage_verify(fixture->context, fixture->model, fixture->plan, &result));
    assert_int_equal(result.elements, 10);
    assert_true(result.worst_error <= result.tolerance);
}

static void test_wrong_shapes_are_refused(void **state)
{
    struct fixture *fixture = *state;
    collage_session *session;
    struct run run;
    check(fixture,
          collage_session_create(fixture->context, fixture->model, fixture->plan, &session));
    int64_t wrong[] = { 1, 3, 32, 31 };
    int64_t out_shape[] = { 1, 10 };
    DLTensor input = dense(run.input, wrong, 4);
    DLTensor output = dense(run.output, out_shape, 2);
    assert_int_equal(collage_session_run(session, &input, 1, &output, 1), COLLAGE_ERROR_SHAPE);
    assert_non_null(strstr(collage_session_message(session), "1x3x32x31"));
    wrong[3] = 32;
    input.dtype.bits = 64;
    assert_int_equal(collage_session_run(session, &input, 1, &output, 1), COLLAGE_ERROR_SHAPE);
    input.dtype.bits = 32;
    int64_t transposed[] = { 3072, 1, 96, 3 };
    input.strides = transposed;
    assert_int_equal(collage_session_run(session, &input, 1, &output, 1), COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(collage_session_run(session, &input, 0, &output, 1), COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(collage_session_run(session, NULL, 1, &output, 1), COLLAGE_ERROR_ARGUMENT);
    input.strides = NULL;
    assert_int_equal(collage_session_run(session, &input, 1, NULL, 1), COLLAGE_ERROR_ARGUMENT);
    input.byte_offset = 2;
    assert_int_equal(collage_session_run(session, &input, 1, &output, 1), COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(collage_session_message(session), "aligned"));
    collage_session_destroy(session);
}

struct thread_job {
    const struct fixture *fixture;
    collage_session *session;
    struct run run;
};

static void *run_many(void *user)
{
    struct thread_job *job = user;
    int64_t in_shape[] = { 1, 3, 32, 32 };
    int64_t out_shape[] = { 1, 10 };
    DLTensor input = dense(job->run.input, in_shape, 4);
    DLTensor output = dense(job->run.output, out_shape, 2);
    for (int k = 0; k < 5; k++)
        if (collage_session_run(job->session, &input, 1, &output, 1) != COLLAGE_OK)
            return job;
    return NULL;
}

static void test_sessions_run_in_several_threads(void **state)
{
    struct fixture *fixture = *state;
    static struct thread_job jobs[2];
    pthread_t threads[2];
    for (int k = 0; k < 2; k++) {
        jobs[k].fixture = fixture;
        check(fixture, collage_session_create(fixture->context, fixture->model, fixture->plan,
                                              &jobs[k].session));
        check(fixture, collage_model_example_input(fixture->context, fixture->model, 0,
                                                   jobs[k].run.input, sizeof jobs[k].run.input));
    }
    for (int k = 0; k < 2; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, run_many, &jobs[k]), 0);
    for (int k = 0; k < 2; k++) {
        void *failed;
        assert_int_equal(pthread_join(threads[k], &failed), 0);
        assert_null(failed);
        assert_expected(&jobs[k].run);
        collage_session_destroy(jobs[k].session);
    }
}

static bool stop_at_once(void *user, const collage_progress *progress)
{
    (void)progress;
    ++*(int *)user;
    return false;
}

static void test_optimising_can_be_interrupted(void **state)
{
    (void)state;
    int calls = 0;
    collage_context_options options = { .struct_size = sizeof options,
                                        .cache_directory = folder,
                                        .progress = stop_at_once,
                                        .user = &calls };
    collage_context *context;
    collage_model *model;
    collage_plan *plan = NULL;
    assert_int_equal(collage_context_create(&options, &context), COLLAGE_OK);
    assert_int_equal(collage_model_load(context, model_path, NULL, 0, &model), COLLAGE_OK);
    assert_int_equal(collage_optimize(context, model, NULL, &plan), COLLAGE_ERROR_INTERRUPTED);
    assert_null(plan);
    assert_true(calls >= 1);
    collage_model_destroy(model);
    collage_context_destroy(context);
}

/* Ends measuring early, at the first report or once something is measured. */
struct finisher {
    collage_context *context;
    bool at_once;
    int calls;
};

static bool finish_early(void *user, const collage_progress *progress)
{
    struct finisher *finisher = user;
    finisher->calls++;
    if (finisher->at_once || (strcmp(progress->stage, "measure") == 0 && progress->done >= 2))
        collage_context_finish(finisher->context);
    return true;
}

static collage_status optimize_until_enough(struct finisher *finisher, collage_plan **plan)
{
    char cache[300]; /* what is not settled stays out of the other tests' way */
    snprintf(cache, sizeof cache, "%s/early", folder);
    const collage_context_options options = { .struct_size = sizeof options,
                                              .cache_directory = cache,
                                              .progress = finish_early,
                                              .user = finisher };
    const collage_optimize_options how = { .struct_size = sizeof how,
                                           .threads = 1,
                                           .backends = "reference",
                                           .remeasure = true,
                                           .race_seconds = 100 };
    collage_model *model;
    assert_int_equal(collage_context_create(&options, &finisher->context), COLLAGE_OK);
    assert_int_equal(collage_model_load(finisher->context, model_path, NULL, 0, &model),
                     COLLAGE_OK);
    collage_context_finish(finisher->context); /* nothing runs: this ends nothing */
    collage_status status = collage_optimize(finisher->context, model, &how, plan);
    collage_model_destroy(model);
    return status;
}

/* The plan of what is measured; none if that is nothing. */
static void test_measuring_can_be_ended_early(void **state)
{
    const struct fixture *fixture = *state;
    collage_plan *plan = NULL;
    struct finisher hasty = { .at_once = true }, later = { .at_once = false };
    assert_int_equal(optimize_until_enough(&hasty, &plan), COLLAGE_ERROR_INTERRUPTED);
    assert_null(plan);
    assert_non_null(strstr(collage_context_message(hasty.context), "before anything was measured"));
    collage_context_destroy(hasty.context);
    assert_int_equal(optimize_until_enough(&later, &plan), COLLAGE_OK);
    assert_true(later.calls > 2);
    collage_session *session;
    struct run run;
    check(fixture, collage_session_create(fixture->context, fixture->model, plan, &session));
    run_once(fixture, session, &run);
    assert_expected(&run);
    collage_session_destroy(session);
    collage_plan_destroy(plan);
    collage_context_destroy(later.context);
    collage_context_finish(NULL);
}

struct collected {
    char bytes[1 << 16];
    size_t count;
};

static bool collect(void *user, const char *bytes, size_t count)
{
    struct collected *text = user;
    if (count > sizeof text->bytes - text->count)
        return false;
    memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
    return true;
}

/* A number of the plan's evidence. */
static json_int_t evidence(const struct fixture *fixture, const collage_plan *plan,
                           const char *member)
{
    static struct collected text;
    text.count = 0;
    check(fixture, collage_plan_report(fixture->context, fixture->model, plan, COLLAGE_FORMAT_JSON,
                                       collect, &text));
    json_t *json = json_loadb(text.bytes, text.count, 0, NULL);
    json_t *number = json_object_get(json_object_get(json, "evidence"), member);
    assert_true(json_is_integer(number));
    json_int_t value = json_integer_value(number);
    json_decref(json);
    return value;
}

static void keep_warning(void *user, collage_log_level level, const char *line)
{
    if (level == COLLAGE_LOG_WARNING)
        snprintf(user, 512, "%s", line);
}

static void test_a_damaged_cost_store_is_reported(void **state)
{
    (void)state;
    char cache[300], store[320], warning[512] = "";
    snprintf(cache, sizeof cache, "%s/damaged", folder);
    snprintf(store, sizeof store, "%s/costs.sqlite", cache);
    assert_int_equal(mkdir(cache, 0700), 0);
    FILE *file = fopen(store, "w");
    assert_non_null(file);
    for (int k = 0; k < 1000; k++)
        fputs("no database ", file);
    assert_int_equal(fclose(file), 0);
    collage_context_options options = { .struct_size = sizeof options,
                                        .cache_directory = cache,
                                        .log = keep_warning,
                                        .user = warning };
    collage_context *context;
    collage_model *model;
    collage_plan *plan;
    collage_optimize_options how = {
        .struct_size = sizeof how, .threads = 1, .backends = "reference", .race_seconds = 1
    };
    assert_int_equal(collage_context_create(&options, &context), COLLAGE_OK);
    assert_int_equal(collage_model_load(context, model_path, NULL, 0, &model), COLLAGE_OK);
    assert_int_equal(collage_optimize(context, model, &how, &plan), COLLAGE_OK);
    assert_non_null(strstr(warning, "costs.sqlite"));
    collage_plan_destroy(plan);
    collage_model_destroy(model);
    collage_context_destroy(context);
}

static void test_second_run_measures_nothing(void **state)
{
    struct fixture *fixture = *state;
    assert_true(evidence(fixture, fixture->plan, "measured") > 0);
    collage_optimize_options how = {
        .struct_size = sizeof how, .threads = 1, .backends = "reference", .race_seconds = 1
    };
    collage_plan *plan;
    check(fixture, collage_optimize(fixture->context, fixture->model, &how, &plan));
    assert_int_equal(evidence(fixture, plan, "measured"), 0);
    assert_true(evidence(fixture, plan, "reused") > 0);
    collage_plan_destroy(plan);
    how.remeasure = true;
    check(fixture, collage_optimize(fixture->context, fixture->model, &how, &plan));
    assert_true(evidence(fixture, plan, "measured") > 0);
    collage_plan_destroy(plan);
}

static void test_bad_arguments_have_messages(void **state)
{
    struct fixture *fixture = *state;
    collage_plan *plan = NULL;
    collage_optimize_options how = { .struct_size = sizeof how, .backends = "onednnn" };
    assert_int_equal(collage_optimize(fixture->context, fixture->model, &how, &plan),
                     COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(collage_context_message(fixture->context), "onednnn"));
    how = (collage_optimize_options){ .struct_size = sizeof how, .threads = -1 };
    assert_int_equal(collage_optimize(fixture->context, fixture->model, &how, &plan),
                     COLLAGE_ERROR_ARGUMENT);
    how = (collage_optimize_options){ .struct_size = sizeof how, .search = (collage_search)99 };
    assert_int_equal(collage_optimize(fixture->context, fixture->model, &how, &plan),
                     COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(collage_context_message(fixture->context), "99"));
    how = (collage_optimize_options){ .struct_size = sizeof how, .pin_count = 1 };
    assert_int_equal(collage_optimize(fixture->context, fixture->model, &how, &plan),
                     COLLAGE_ERROR_ARGUMENT);
    const collage_pin pin = { "nosuch", "reference" };
    how.backends = "reference";
    how.pins = &pin;
    assert_int_equal(collage_optimize(fixture->context, fixture->model, &how, &plan),
                     COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(collage_context_message(fixture->context), "'nosuch'"));
    collage_model *model = NULL;
    assert_int_equal(collage_model_load(fixture->context, "/nonexistent.onnx", NULL, 0, &model),
                     COLLAGE_ERROR_IO);
    assert_non_null(strstr(collage_context_message(fixture->context), "/nonexistent.onnx"));
    assert_null(model);
    collage_shape shape = { .name = NULL, .rank = 4, .dims = { 1, 3, 32, 32 } };
    assert_int_equal(collage_model_load(fixture->context, model_path, &shape, 1, &model),
                     COLLAGE_ERROR_ARGUMENT);
    shape = (collage_shape){ .name = "input", .rank = COLLAGE_MAX_RANK + 1 };
    assert_int_equal(collage_model_load(fixture->context, model_path, &shape, 1, &model),
                     COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(collage_context_message(fixture->context), "rank 9"));
    int64_t one = 1;
    DLTensor empty = dense(NULL, &one, 1);
    assert_int_equal(collage_tensor_write(fixture->context, plan_path, &empty),
                     COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(collage_context_create(NULL, NULL), COLLAGE_ERROR_ARGUMENT);
}

/* Options grow at their end: what a caller does not know yet is not looked at. */
static void test_older_options_are_taken(void **state)
{
    struct fixture *fixture = *state;
    collage_plan *plan = NULL;
    collage_optimize_options how = { .struct_size = offsetof(collage_optimize_options, search),
                                     .backends = "onednnn",
                                     .search = (collage_search)99 };
    assert_int_equal(collage_optimize(fixture->context, fixture->model, &how, &plan),
                     COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(collage_context_message(fixture->context), "onednnn"));
    how.struct_size--;
    assert_int_equal(collage_optimize(fixture->context, fixture->model, &how, &plan),
                     COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(collage_context_message(fixture->context), "struct_size"));
    how = (collage_optimize_options){ .struct_size =
                                          offsetof(collage_optimize_options, pattern_files),
                                      .backends = "onednnn",
                                      .pattern_file_count = 1 }; /* beyond what it knows */
    assert_int_equal(collage_optimize(fixture->context, fixture->model, &how, &plan),
                     COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(collage_context_message(fixture->context), "onednnn"));
    how.struct_size = sizeof how;
    assert_int_equal(collage_optimize(fixture->context, fixture->model, &how, &plan),
                     COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(collage_context_message(fixture->context), "pattern_files"));
}

static void test_a_placement_is_kept(void **state)
{
    struct fixture *fixture = *state;
    char path[512];
    collage_plan *plan;
    snprintf(path, sizeof path, "%s/placement.csv", folder);
    check(fixture, collage_placement_save(fixture->context, fixture->model, fixture->plan, path));
    collage_optimize_options how = { .struct_size = sizeof how,
                                     .threads = 1,
                                     .backends = "reference",
                                     .race_seconds = 1,
                                     .search = COLLAGE_SEARCH_OP_LEVEL,
                                     .placement = path };
    check(fixture, collage_optimize(fixture->context, fixture->model, &how, &plan));
    assert_int_equal(evidence(fixture, plan, "pinned"), 10); /* all nodes */
    collage_plan_destroy(plan);
    assert_int_equal(collage_placement_save(fixture->context, fixture->model, fixture->plan, NULL),
                     COLLAGE_ERROR_ARGUMENT);
}

static bool keep_nothing(void *user, const char *bytes, size_t count)
{
    size_t *sum = user;
    *sum += bytes ? count : 0;
    return true;
}

static void test_a_session_has_its_roofline(void **state)
{
    struct fixture *fixture = *state;
    collage_session *session;
    collage_step_profile step = { .struct_size = sizeof step };
    size_t told = 0;
    check(fixture,
          collage_session_create(fixture->context, fixture->model, fixture->plan, &session));
    assert_int_equal(collage_session_step(session, 0, &step), COLLAGE_OK);
    assert_true(step.flop > 0 && step.bytes > 0);
    assert_true(step.bound_ns == 0); /* not known yet */
    check(fixture, collage_session_find_peaks(fixture->context, session));
    assert_int_equal(collage_session_step(session, 0, &step), COLLAGE_OK);
    assert_true(step.bound_ns > 0);
    /* A program that was built before has a smaller struct, whose end is not written to. */
    step =
        (collage_step_profile){ .struct_size = offsetof(collage_step_profile, flop), .flop = -1 };
    assert_int_equal(collage_session_step(session, 0, &step), COLLAGE_OK);
    assert_true(step.flop < 0);
    step.struct_size = 8;
    assert_int_equal(collage_session_step(session, 0, &step), COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(collage_session_find_peaks(fixture->context, NULL), COLLAGE_ERROR_ARGUMENT);
    collage_session_destroy(session);
    for (int format = COLLAGE_FORMAT_TEXT; format <= COLLAGE_FORMAT_JSON; format++)
        check(fixture, collage_roofline(fixture->context, fixture->model, fixture->plan,
                                        (collage_format)format, keep_nothing, &told));
    assert_true(told > 500);
    assert_int_equal(collage_roofline(fixture->context, fixture->model, fixture->plan,
                                      COLLAGE_FORMAT_SVG, keep_nothing, &told),
                     COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(collage_roofline(fixture->context, fixture->model, NULL, COLLAGE_FORMAT_TEXT,
                                      keep_nothing, &told),
                     COLLAGE_ERROR_ARGUMENT);
}

static void test_profile_has_every_step(void **state)
{
    struct fixture *fixture = *state;
    collage_session *session;
    struct run run;
    check(fixture,
          collage_session_create(fixture->context, fixture->model, fixture->plan, &session));
    assert_int_equal(collage_session_set_profiling(session, true), COLLAGE_OK);
    for (int k = 0; k < 3; k++)
        run_once(fixture, session, &run);
    assert_true(collage_session_step_count(session) > 0);
    for (size_t k = 0; k < collage_session_step_count(session); k++) {
        collage_step_profile profile = { .struct_size = sizeof profile };
        assert_int_equal(collage_session_step(session, k, &profile), COLLAGE_OK);
        assert_true(profile.minimum_ns > 0 && profile.minimum_ns <= profile.median_ns);
        assert_true(strlen(profile.ops) > 0);
    }
    uint64_t activations = 0;
    uint64_t weights = 0;
    collage_session_memory(session, &activations, &weights);
    assert_true(activations > 0);
    collage_session_destroy(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_gives_the_expected_values),
        cmocka_unit_test(test_plan_survives_saving),
        cmocka_unit_test(test_plan_of_another_machine_says_so),
        cmocka_unit_test(test_verification_passes),
        cmocka_unit_test(test_wrong_shapes_are_refused),
        cmocka_unit_test(test_sessions_run_in_several_threads),
        cmocka_unit_test(test_optimising_can_be_interrupted),
        cmocka_unit_test(test_measuring_can_be_ended_early),
        cmocka_unit_test(test_second_run_measures_nothing),
        cmocka_unit_test(test_a_damaged_cost_store_is_reported),
        cmocka_unit_test(test_bad_arguments_have_messages),
        cmocka_unit_test(test_older_options_are_taken),
        cmocka_unit_test(test_a_placement_is_kept),
        cmocka_unit_test(test_a_session_has_its_roofline),
        cmocka_unit_test(test_profile_has_every_step),
    };
    return cmocka_run_group_tests(tests, make_fixture, drop_fixture);
}
