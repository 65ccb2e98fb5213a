/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/run/random_plans.h"

#include <math.h>

#include "plan/lane_schedule.h"

struct branching {
    struct graph *graph;
    struct fake f;
    struct plan *plan;
    struct arena *arena;
    double wide[64], lane[64];
    struct lane_kernel kernels[64];
    struct lane_schedule schedule;
};

/* A Relu, `branches` chains of `length` Relus that start there, and Adds that join them. */
static void setup(struct branching *b, uint32_t branches, uint32_t length)
{
    struct tensor image = fake_image();
    value_id ends[8];
    *b = (struct branching){ .graph = fake_graph(), .arena = arena_create() };
    value_id in = fake_value(b->graph, VALUE_INPUT, &image);
    value_id top = fake_node(b->graph, FAKE_RELU, in, 0, NULL);
    for (uint32_t k = 0; k < branches; k++) {
        ends[k] = top;
        for (uint32_t n = 0; n < length; n++)
            ends[k] = fake_node(b->graph, FAKE_RELU, ends[k], 0, NULL);
    }
    for (uint32_t k = 1; k < branches; k++)
        ends[0] = fake_node(b->graph, FAKE_ADD, ends[0], ends[k], NULL);
    fake_ports(b->graph, &in, 1, &ends[0], 1);
    fake_setup(&b->f, b->graph);
    for (node_id n = 0; n < b->graph->node_count; n++)
        fake_choose(&b->f, n % 2, 0, false, &n, 1);
    b->f.set.target.threads = 4;
    b->plan = fake_build(&b->f);
    assert_true(b->plan->step_count <= 64);
    for (uint32_t s = 0; s < b->plan->step_count; s++) {
        const struct plan_backend *backend = &b->plan->backends[b->plan->steps[s].backend];
        b->kernels[s] = (struct lane_kernel){ .backend = backend->name,
                                              .version = backend->version,
                                              .variant = "plain",
                                              .implementation = "narrow",
                                              .cost_ns = 150000 };
    }
}

static void teardown(struct branching *b)
{
    plan_destroy(b->plan);
    arena_destroy(b->arena);
    fake_teardown(&b->f);
    graph_destroy(b->graph);
}

static void find(struct branching *b, double wide_ns, double lane_ns, uint32_t lanes)
{
    for (int s = 0; s < 64; s++) {
        b->wide[s] = wide_ns;
        b->lane[s] = lane_ns;
    }
    const struct lane_costs costs = { b->wide, b->lane, 200, 20000 };
    OK(lane_schedule_find(b->plan, lanes, &costs, b->arena, &b->schedule, NULL));
}

/* Every step once, each after those that it needs. */
static void check_order(const struct branching *b)
{
    const struct plan *plan = b->plan;
    bool done[64] = { false };
    uint32_t writers[256];
    assert_true(plan->tensor_count <= 256);
    plan_tensor_writers(plan, writers);
    for (uint32_t k = 0; k < plan->step_count; k++) {
        const uint32_t s = b->schedule.order[k];
        assert_true(s < plan->step_count && !done[s]);
        for (uint32_t i = 0; i < plan->steps[s].input_count; i++) {
            uint32_t w = writers[plan_tensor_owner(plan, writers, plan->steps[s].inputs[i])];
            assert_true(w == GRAPH_NONE || done[w]);
        }
        done[s] = true;
    }
}

static void chains_stay_wide(void **state)
{
    (void)state;
    struct branching b;
    setup(&b, 1, 10);
    find(&b, 100000, 150000, 2);
    assert_int_equal(b.schedule.in_lanes, 0);
    assert_true(fabs(b.schedule.ns - 11 * 100000.0) < 30000);
    check_order(&b);
    teardown(&b);
}

/* A kernel that gains little by more threads had better leave them to another. */
static void branches_run_side_by_side(void **state)
{
    (void)state;
    struct branching b;
    setup(&b, 2, 10);
    find(&b, 100000, 120000, 2);
    assert_true(b.schedule.in_lanes >= 20);
    assert_true(b.schedule.ns < 0.7 * 22 * 100000);
    assert_true(b.schedule.ns >= 12 * 100000);
    check_order(&b);
    find(&b, 100000, 199000, 2); /* nothing to be gained */
    assert_true(b.schedule.ns < 22 * 100000 + 30000);
    check_order(&b);
    teardown(&b);
    setup(&b, 4, 6);
    find(&b, 100000, 120000, 4);
    assert_true(b.schedule.ns < 0.5 * 28 * 100000);
    check_order(&b);
    teardown(&b);
}

static void some_steps_cannot(void **state)
{
    (void)state;
    struct branching b;
    setup(&b, 2, 10);
    find(&b, 100000, 110000, 2);
    for (uint32_t s = 5; s < 8; s++)
        b.lane[s] = HUGE_VAL;
    const struct lane_costs costs = { b.wide, b.lane, 200, 20000 };
    OK(lane_schedule_find(b.plan, 2, &costs, b.arena, &b.schedule, NULL));
    for (uint32_t s = 5; s < 8; s++)
        assert_int_equal(b.schedule.lane[s], PLAN_WIDE);
    assert_true(b.schedule.in_lanes > 0);
    check_order(&b);
    teardown(&b);
}

static void the_plan_is_as_scheduled(void **state)
{
    (void)state;
    struct branching b;
    struct plan *plan = NULL;
    struct error error = { 0 };
    double step_ns[64], ns;
    setup(&b, 2, 10);
    find(&b, 100000, 120000, 2);
    b.plan->needs_code = true;
    if (plan_with_lanes(b.plan, b.graph, 2, b.schedule.order, b.schedule.lane, b.kernels, &plan,
                        &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(plan->lanes, 2);
    assert_true(plan->needs_code);
    assert_int_equal(plan->backend_count, 2);
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const uint32_t was = b.schedule.order[s];
        assert_int_equal(plan->steps[s].lane, b.schedule.lane[was]);
        assert_int_equal(plan->steps[s].nodes[0], b.plan->steps[was].nodes[0]);
        assert_string_equal(plan->steps[s].implementation,
                            plan->steps[s].lane == PLAN_WIDE ? "fake" : "narrow");
        step_ns[s] = plan->steps[s].lane == PLAN_WIDE ? 100000 : 120000;
    }
    OK(lane_schedule_time(plan, step_ns, &ns, NULL));
    assert_true(ns <= b.schedule.ns && ns > 0.9 * b.schedule.ns);
    run_and_check(&b.f, plan);
    plan_destroy(plan);
    teardown(&b);
}

/* Where lanes share memory, they must not wait for it: random graphs, whatever the costs are. */
static void random_plans_run(void **state)
{
    (void)state;
    uint32_t laned = 0, shared = 0;
    for (uint64_t trial = 0; trial < 200; trial++) {
        struct branching b = { .arena = arena_create() };
        struct plan *plan = NULL;
        struct error error = { 0 };
        seed = 5000 + trial;
        b.graph = random_graph();
        fake_setup(&b.f, b.graph);
        random_placement(&b.f);
        b.f.set.target.threads = 2;
        b.plan = fake_build(&b.f);
        assert_true(b.plan->step_count <= 64);
        for (uint32_t s = 0; s < b.plan->step_count; s++) {
            const struct plan_step *step = &b.plan->steps[s];
            const bool copy = step->backend == GRAPH_NONE;
            b.wide[s] = 10000 + draw(100000);
            b.lane[s] = draw(8) ? b.wide[s] * 1.3 : HUGE_VAL;
            b.kernels[s] = (struct lane_kernel){
                .backend = copy ? NULL : b.plan->backends[step->backend].name,
                .version = "1.0",
                .variant = step->variant,
                .implementation = "",
                .inplace_count = draw(2) && step->input_count && step->output_count ? 1 : 0,
            };
        }
        const struct lane_costs costs = { b.wide, b.lane, 200, 5000 };
        OK(lane_schedule_find(b.plan, 2, &costs, b.arena, &b.schedule, NULL));
        check_order(&b);
        if (plan_with_lanes(b.plan, b.graph, 2, b.schedule.order, b.schedule.lane, b.kernels, &plan,
                            &error) != COLLAGE_OK)
            fail_msg("%s", error.text);
        laned += b.schedule.in_lanes;
        for (uint32_t s = 0; s < plan->step_count; s++)
            for (uint32_t k = 0; k < plan->steps[s].output_count; k++)
                shared += plan->steps[s].lane != PLAN_WIDE &&
                          plan->tensors[plan->steps[s].outputs[k]].shares != GRAPH_NONE;
        run_and_check(&b.f, plan);
        plan_destroy(plan);
        teardown(&b);
    }
    assert_true(laned > 100 && shared > 10); /* the test tests something */
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    struct branching b;
    setup(&b, 2, 4);
    find(&b, 100000, 120000, 2);
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; status != COLLAGE_OK && n < 100000; n++) {
        const struct lane_costs costs = { b.wide, b.lane, 200, 20000 };
        struct arena *arena = arena_create();
        struct lane_schedule schedule;
        struct plan *plan = NULL;
        double ns;
        memory_fail_after(n);
        status = lane_schedule_find(b.plan, 2, &costs, arena, &schedule, NULL);
        if (status == COLLAGE_OK)
            status = plan_with_lanes(b.plan, b.graph, 2, schedule.order, schedule.lane, b.kernels,
                                     &plan, NULL);
        if (status == COLLAGE_OK)
            status = lane_schedule_time(plan, b.lane, &ns, NULL);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MEMORY);
        plan_destroy(plan);
        arena_destroy(arena);
    }
    OK(status);
    teardown(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_stay_wide),  cmocka_unit_test(branches_run_side_by_side),
        cmocka_unit_test(some_steps_cannot), cmocka_unit_test(the_plan_is_as_scheduled),
        cmocka_unit_test(random_plans_run),  cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
