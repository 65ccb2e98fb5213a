/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_fixture.h"

#include "base/clock.h"

/* The plan in which the reference does everything. */
static struct plan *reference_plan(struct fixture *f)
{
    struct error error = { 0 };
    bool *enabled = calloc(f->registry->count, sizeof *enabled);
    enabled[REGISTRY_REFERENCE] = true;
    ASSERT_OK(candidate_set_enumerate(f->set, enabled, &error), error);
    for (size_t k = 0; k < f->set->count; k++)
        f->set->items[k].cost = (struct cost){ .state = COST_MEASURED,
                                               .cost_ns = f->set->items[k].view ? 0 : 1000,
                                               .implementation = "",
                                               .reason = "" };
    f->registry->entries[REGISTRY_REFERENCE].version =
        f->registry->entries[REGISTRY_REFERENCE].api->version(NULL);
    const struct place_problem problem = { .set = f->set, .enabled = enabled };
    struct placement placement;
    ASSERT_OK(place_dynamic(&problem, &placement, &error), error);
    struct plan *plan;
    ASSERT_OK(plan_build(&problem, &placement, "machine", &plan, &error), error);
    placement_free(&placement);
    free(enabled);
    return plan;
}

static void test_race(void **state)
{
    struct fixture *f = *state;
    struct plan *plan = reference_plan(f);
    struct contestant contestants[] = { { .plan = plan },
                                        { .backend = f->faulty }, /* cannot run a whole model */
                                        { .plan = plan } };
    struct error error = { 0 };
    ASSERT_OK(race_run(&f->setup, f->registry, contestants, 3,
                       &(struct race_rules){ .seconds = 0.1 }, &error),
              error);
    assert_string_equal(contestants[0].failure, "");
    assert_string_equal(contestants[2].failure, "");
    assert_true(contestants[0].sample_count >= 10);
    assert_int_equal(contestants[0].sample_count, contestants[2].sample_count);
    for (size_t k = 0; k < 3; k += 2) {
        assert_true(contestants[k].worst_error <= TENSOR_PLAN_TOLERANCE);
        assert_true(contestants[k].peak_bytes > 1000000);
        for (size_t s = 0; s < contestants[k].sample_count; s++)
            assert_true(contestants[k].samples[s] > 0 && contestants[k].samples[s] < 60e9);
        memory_free(contestants[k].samples);
    }
    assert_true(contestants[1].failure[0] != '\0');
    assert_null(contestants[1].samples);
    assert_int_equal(contestants[1].sample_count, 0);
    plan_destroy(plan);
}

static void test_missing_program(void **state)
{
    struct fixture *f = *state;
    struct contestant contestant = { .backend = f->faulty };
    struct error error = { 0 };
    f->setup.program = "/nowhere/collage-worker";
    assert_int_equal(race_run(&f->setup, f->registry, &contestant, 1,
                              &(struct race_rules){ .seconds = 0.1 }, &error),
                     COLLAGE_ERROR_IO);
}

struct interrupter {
    size_t calls, last_round, limit;
};

static bool on_round(void *user, size_t round, size_t rounds)
{
    struct interrupter *interrupter = user;
    assert_true(rounds >= round);
    assert_true(round >= interrupter->last_round);
    interrupter->last_round = round;
    return ++interrupter->calls < interrupter->limit;
}

static void test_interrupted(void **state)
{
    struct fixture *f = *state;
    struct plan *plan = reference_plan(f);
    struct contestant contestant = { .plan = plan };
    struct interrupter interrupter = { .limit = 3 };
    struct error error = { 0 };
    uint64_t start = clock_ns();
    assert_int_equal(
        race_run(&f->setup, f->registry, &contestant, 1,
                 &(struct race_rules){ .seconds = 600, .progress = on_round, .user = &interrupter },
                 &error),
        COLLAGE_ERROR_INTERRUPTED);
    assert_true((double)(clock_ns() - start) < 60e9);
    assert_int_equal(interrupter.calls, 3);
    assert_null(contestant.samples);
    plan_destroy(plan);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_race),
        CASE(test_missing_program),
        CASE(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
