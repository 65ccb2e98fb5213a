/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_fixture.h"

#include "base/clock.h"
#include "tensor/layout.h"

static const struct sample_conditions conditions = { .working_set_bytes = 1 << 20,
                                                     .limit_seconds = 0.02,
                                                     .tolerance = TENSOR_KERNEL_TOLERANCE };

static struct cost measure(struct fixture *f, struct worker *worker, candidate_id id)
{
    struct cost cost;
    struct error error = { 0 };
    ASSERT_OK(worker_measure(worker, f->set, id, &conditions, f->arena, &cost, &error), error);
    return cost;
}

static struct worker *create(const struct worker_setup *setup)
{
    struct worker *worker;
    struct error error = { 0 };
    ASSERT_OK(worker_create(setup, &worker, &error), error);
    return worker;
}

static void test_measures(void **state)
{
    struct fixture *f = *state;
    struct worker *worker = create(&f->setup);
    struct cost conv = measure(f, worker, fixture_candidate(f, REGISTRY_REFERENCE, "Conv"));
    assert_string_equal(conv.reason, "");
    assert_int_equal(conv.state, COST_MEASURED);
    assert_true(conv.cost_ns > 100 && conv.cost_ns < 1e9);
    assert_true(conv.minimum_ns <= conv.cost_ns && conv.low_ns <= conv.high_ns);
    assert_true(conv.error == 0);
    assert_string_equal(conv.implementation, "reference");
    struct cost relu = measure(f, worker, fixture_candidate(f, f->faulty, "Relu"));
    assert_int_equal(relu.state, COST_MEASURED);
    assert_string_equal(relu.implementation, "faulty");
    worker_destroy(worker);
}

static void test_transition_and_switch(void **state)
{
    struct fixture *f = *state;
    struct worker *worker = create(&f->setup);
    const collage_layout plain = layout_plain(), blocked = layout_tag("aBcd16b");
    value_id value = f->graph->nodes[fixture_find_op(f, "Conv")].base.outputs[0];
    struct cost cost;
    struct error error = { 0 };
    ASSERT_OK(worker_measure_transition(worker, f->set, REGISTRY_REFERENCE, value, &plain, &blocked,
                                        &conditions, f->arena, &cost, &error),
              error);
    assert_string_equal(cost.reason, "");
    assert_int_equal(cost.state, COST_MEASURED);
    ASSERT_OK(worker_measure_transition(worker, f->set, f->faulty, value, &plain, &blocked,
                                        &conditions, f->arena, &cost, &error),
              error);
    assert_int_equal(cost.state, COST_FAILED);
    assert_non_null(strstr(cost.reason, "Relu only"));
    double extra = -1;
    ASSERT_OK(worker_measure_switch(worker, f->set,
                                    fixture_candidate(f, REGISTRY_REFERENCE, "Conv"),
                                    fixture_candidate(f, f->faulty, "Relu"), &extra, &error),
              error);
    assert_true(extra >= 0 && extra < 1e9);
    worker_destroy(worker);
}

/* Whatever a library does costs that candidate, and nothing else. */
static void test_isolation(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *behaviour, *reason;
    } cases[] = {
        { "crash", "crashed (SIGSEGV)" },
        { "hang", "timed out after" },
        { "fail", "fails on purpose" },
        { "wrong", "wrong result: output" },
        { "compile-crash", "crashed (SIGSEGV)" },
        { "compile-hang", "timed out after" },
        { "compile-fail", "cannot compile: fails on purpose" },
        { "open-crash", "crashed (SIGSEGV)" },
        { "open-fail", "fails on purpose" },
    };
    candidate_id right = fixture_candidate(f, REGISTRY_REFERENCE, "Relu");
    candidate_id wrong = fixture_candidate(f, f->faulty, "Relu");
    f->setup.job_seconds = 3;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        setenv("COLLAGE_FAULTY", cases[k].behaviour, 1);
        struct worker *worker = create(&f->setup);
        assert_int_equal(measure(f, worker, right).state, COST_MEASURED);
        struct cost cost = measure(f, worker, wrong);
        assert_int_equal(cost.state, COST_FAILED);
        if (!strstr(cost.reason, cases[k].reason))
            fail_msg("%s: '%s' has no '%s'", cases[k].behaviour, cost.reason, cases[k].reason);
        assert_int_equal(measure(f, worker, right).state, COST_MEASURED);
        worker_destroy(worker);
    }
}

static void test_describes_backends(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *behaviour, *problem;
    } cases[] = {
        { "", "" },
        { "open-crash", "opening the library crashed (SIGSEGV)" },
        { "open-hang", "opening the library timed out after" },
        { "open-fail", "fails on purpose" },
    };
    struct worker_setup setup = f->setup;
    setup.model_path = NULL;
    setup.graph = NULL;
    setup.oracle = NULL;
    setup.job_seconds = 2;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        setenv("COLLAGE_FAULTY", cases[k].behaviour, 1);
        struct worker *worker = create(&setup);
        struct error error = { 0 };
        ASSERT_OK(worker_describe_backends(worker, f->registry, &error), error);
        const struct backend_entry *faulty = &f->registry->entries[f->faulty];
        assert_string_equal(faulty->version, k == 0 ? "1.0" : "");
        assert_int_equal(faulty->problem[0] == '\0', k == 0);
        assert_non_null(strstr(faulty->problem, cases[k].problem));
        assert_string_not_equal(f->registry->entries[REGISTRY_REFERENCE].version, "");
        assert_string_equal(f->registry->entries[REGISTRY_REFERENCE].problem, "");
        assert_null(faulty->open); /* not in this process */
        worker_destroy(worker);
    }
}

static void test_program_that_is_missing(void **state)
{
    struct fixture *f = *state;
    struct cost cost;
    f->setup.program = "/nowhere/collage-worker";
    struct worker *worker = create(&f->setup);
    struct error error = { 0 };
    assert_int_equal(worker_measure(worker, f->set,
                                    fixture_candidate(f, REGISTRY_REFERENCE, "Relu"), &conditions,
                                    f->arena, &cost, &error),
                     COLLAGE_ERROR_IO);
    assert_non_null(strstr(error.text, "/nowhere/collage-worker"));
    worker_destroy(worker);
}

static void test_program_that_is_no_worker(void **state)
{
    struct fixture *f = *state;
    struct cost cost;
    f->setup.program = "/bin/true";
    struct worker *worker = create(&f->setup);
    struct error error = { 0 };
    assert_int_not_equal(worker_measure(worker, f->set,
                                        fixture_candidate(f, REGISTRY_REFERENCE, "Relu"),
                                        &conditions, f->arena, &cost, &error),
                         COLLAGE_OK);
    assert_non_null(strstr(error.text, "/bin/true"));
    worker_destroy(worker);
}

static void test_model_that_changed(void **state)
{
    struct fixture *f = *state;
    struct cost cost;
    struct error error = { 0 };
    candidate_id id = fixture_candidate(f, REGISTRY_REFERENCE, "Relu");
    struct graph *other = graph_create();
    f->setup.graph = other;
    struct worker *worker = create(&f->setup);
    assert_int_equal(worker_measure(worker, f->set, id, &conditions, f->arena, &cost, &error),
                     COLLAGE_ERROR_MISMATCH);
    assert_non_null(strstr(error.text, "has changed"));
    worker_destroy(worker);
    graph_destroy(other);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_measures),
        CASE(test_transition_and_switch),
        CASE(test_isolation),
        CASE(test_describes_backends),
        CASE(test_program_that_is_missing),
        CASE(test_program_that_is_no_worker),
        CASE(test_model_that_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
