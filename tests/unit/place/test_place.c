/* SPDX-License-Identifier: Apache-2.0 */
/* Placement by hand: layouts, views, switches, cycles, and what is said when there is none. */
#include "unit/place/fixture.h"

/* x -> n0 Conv -> n1 Relu -> n2 Conv, the last is the output. */
static void open_chain(struct fixture *f)
{
    fixture_open(f, 1);
    value_id v = fixture_value(f, VALUE_INPUT);
    graph_set_inputs(f->graph, &v, 1, NULL);
    v = fixture_step(f, "Conv", &v, 1);
    v = fixture_step(f, "Relu", &v, 1);
    v = fixture_step(f, "Conv", &v, 1);
    graph_set_outputs(f->graph, &v, 1, NULL);
    fixture_seal(f);
}

static void add(struct fixture *f, uint32_t backend, node_id first, uint32_t count, double cost_ns,
                const char *inputs, const char *outputs)
{
    node_id nodes[4];
    for (uint32_t k = 0; k < count; k++)
        nodes[k] = first + k;
    struct candidate *c = fixture_candidate(f, backend, nodes, count, cost_ns);
    assert_non_null(c);
    fixture_set_layouts(f, c, inputs, outputs);
}

static void expect_cost(struct fixture *f, double cost_ns, size_t count)
{
    collage_status (*const solvers[])(const struct place_problem *, struct placement *,
                                      struct error *) = { place_dynamic, place_brute };
    for (size_t k = 0; k < 2; k++) {
        struct placement placement;
        struct error error = { 0 };
        if (solvers[k](&f->problem, &placement, &error))
            fail_msg("%s", error.text);
        assert_true(fabs(placement.cost_ns - cost_ns) < 1e-9);
        assert_int_equal(placement.count, count);
        assert_true(placement.optimal);
        check_placement(f, &placement);
        placement_free(&placement);
    }
}

static void expect_failure(struct fixture *f, const char *message)
{
    struct placement placement;
    struct error error = { 0 };
    assert_int_equal(place_dynamic(&f->problem, &placement, &error), COLLAGE_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, message);
    assert_null(placement.chosen);
    assert_int_equal(place_brute(&f->problem, &placement, NULL), COLLAGE_ERROR_UNSUPPORTED);
}

static void test_layouts_pay_when_kept(void **state)
{
    (void)state;
    struct fixture f;
    open_chain(&f);
    for (node_id n = 0; n < 3; n++)
        add(&f, 1, n, 1, 10, "", "");
    expect_cost(&f, 30, 3);
    add(&f, 2, 0, 1, 5, "", "aBcd8b"); /* 5 saved, but it must be converted back: no gain */
    fixture_transition(&f, 1, "aBcd8b", "", 0, 7);
    expect_cost(&f, 30, 3);
    add(&f, 2, 1, 1, 9, "aBcd8b", "aBcd8b");
    add(&f, 2, 2, 1, 4, "aBcd8b", "");
    expect_cost(&f, 18, 3); /* blocked all the way */
    f.problem.step_ns = 1;
    expect_cost(&f, 21, 3);
    add(&f, 1, 0, 3, 19.5, "", "");
    expect_cost(&f, 20.5, 1); /* one step instead of three */
    fixture_close(&f);
}

static void test_views_are_free(void **state)
{
    (void)state;
    struct fixture f;
    open_chain(&f);
    for (node_id n = 0; n < 3; n++)
        add(&f, 1, n, 1, 10, "", "");
    add(&f, REGISTRY_REFERENCE, 1, 1, 0, "", "");
    f.set.items[3].view = true;
    f.problem.step_ns = 2;
    f.enabled[REGISTRY_REFERENCE] = false; /* views need no backend */
    f.switch_ns[1 * FIXTURE_BACKENDS + 0] = f.switch_ns[0 * FIXTURE_BACKENDS + 1] = 50;
    f.problem.switch_ns = f.switch_ns;
    expect_cost(&f, 24, 3);
    fixture_close(&f);
}

static void test_switches(void **state)
{
    (void)state;
    struct fixture f;
    open_chain(&f);
    for (node_id n = 0; n < 3; n++)
        add(&f, 1, n, 1, 10, "", "");
    add(&f, 2, 1, 1, 4, "", "");
    expect_cost(&f, 24, 3);
    f.switch_ns[1 * FIXTURE_BACKENDS + 2] = f.switch_ns[2 * FIXTURE_BACKENDS + 1] = 2.5;
    f.problem.switch_ns = f.switch_ns;
    expect_cost(&f, 29, 3);
    f.switch_ns[1 * FIXTURE_BACKENDS + 2] = 4;
    expect_cost(&f, 30, 3); /* not worth it any more */
    fixture_close(&f);
}

/* a0 -> b1, b0 -> a1: {a0, a1} and {b0, b1} are convex, but each waits for the other. */
static void test_no_cycles(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, 1);
    value_id x = fixture_value(&f, VALUE_INPUT);
    graph_set_inputs(f.graph, &x, 1, NULL);
    value_id a0 = fixture_step(&f, "Relu", &x, 1);
    value_id b0 = fixture_step(&f, "Relu", &x, 1);
    value_id ends[2] = { fixture_step(&f, "Relu", &b0, 1), fixture_step(&f, "Relu", &a0, 1) };
    graph_set_outputs(f.graph, ends, 2, NULL);
    fixture_seal(&f);
    for (node_id n = 0; n < 4; n++)
        add(&f, 1, n, 1, 10, "", "");
    assert_non_null(fixture_candidate(&f, 2, (const node_id[]){ 0, 2 }, 2, 1)); /* a0, a1 */
    assert_non_null(fixture_candidate(&f, 2, (const node_id[]){ 1, 3 }, 2, 1)); /* b0, b1 */
    expect_cost(&f, 21, 3);                                                     /* not 2 */
    fixture_close(&f);
}

static void test_infeasible(void **state)
{
    (void)state;
    struct fixture f;
    open_chain(&f);
    add(&f, 1, 0, 1, 10, "", "acdb");
    add(&f, 1, 2, 1, 10, "", "");
    expect_failure(&f, "node 'n1' (Relu): no backend has a working kernel for it");
    add(&f, 1, 1, 1, 10, "", "");
    f.set.items[2].cost.state = COST_FAILED;
    expect_failure(&f, "node 'n1' (Relu): no backend has a working kernel for it");
    f.set.items[2].cost.state = COST_MEASURED;
    expect_failure(&f, "node 'n0' (Conv): its kernels do not fit those around it (no conversion "
                       "between their layouts, or no order)");
    fixture_transition(&f, 1, "acdb", "", 2, 3);
    f.enabled[2] = false;
    expect_failure(&f, "node 'n0' (Conv): its kernels do not fit those around it (no conversion "
                       "between their layouts, or no order)");
    f.enabled[2] = true;
    expect_cost(&f, 33, 3);
    f.set.items[1].cost.cost_ns = (double)NAN; /* a cost that is none is not used */
    expect_failure(&f, "node 'n2' (Conv): no backend has a working kernel for it");
    fixture_close(&f);
}

static void test_too_many_layouts(void **state)
{
    (void)state;
    struct fixture f;
    open_chain(&f);
    char tag[32];
    add(&f, 1, 1, 1, 10, "", "");
    add(&f, 1, 2, 1, 10, "", "");
    for (int k = 0; k < 30; k++) {
        snprintf(tag, sizeof tag, "!private%d", k);
        add(&f, 2, 0, 1, 1, "", tag);
    }
    add(&f, 1, 0, 1, 10, "", "");
    struct placement placement;
    assert_int_equal(place_dynamic(&f.problem, &placement, NULL), COLLAGE_OK);
    assert_false(placement.optimal); /* some candidates had no say */
    assert_true(fabs(placement.cost_ns - 30) < 1e-9);
    placement_free(&placement);
    fixture_close(&f);
}

static void test_extremes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, 1);
    value_id v = fixture_value(&f, VALUE_INPUT);
    graph_set_inputs(f.graph, &v, 1, NULL);
    graph_set_outputs(f.graph, &v, 1, NULL);
    fixture_seal(&f);
    expect_cost(&f, 0, 0); /* no nodes at all */
    fixture_close(&f);
    fixture_open(&f, 1);
    v = fixture_value(&f, VALUE_INPUT);
    graph_set_inputs(f.graph, &v, 1, NULL);
    for (int k = 0; k < 13; k++)
        v = fixture_step(&f, "Relu", &v, 1);
    fixture_seal(&f);
    struct placement placement;
    assert_int_equal(place_brute(&f.problem, &placement, NULL), COLLAGE_ERROR_ARGUMENT);
    fixture_close(&f);
}

/* Twelve nodes with many kernels each, the cheapest last: hours, if nothing ended it. */
static void test_brute_gives_up(void **state)
{
    (void)state;
    enum { NODES = PLACE_BRUTE_NODES, KERNELS = 8 };
    struct fixture f;
    fixture_open(&f, 1);
    value_id v = fixture_value(&f, VALUE_INPUT);
    graph_set_inputs(f.graph, &v, 1, NULL);
    for (int k = 0; k < NODES; k++)
        v = fixture_step(&f, "Relu", &v, 1);
    graph_set_outputs(f.graph, &v, 1, NULL);
    fixture_seal(&f);
    for (node_id n = 0; n < NODES; n++)
        for (int k = 0; k < KERNELS; k++)
            add(&f, 0, n, 1, 100 - 0.001 * k, "", "");
    struct placement placement;
    struct error error = { 0 };
    assert_int_equal(place_brute(&f.problem, &placement, &error), COLLAGE_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "there are more placements than can all be tried");
    assert_null(placement.chosen);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts_pay_when_kept),
        cmocka_unit_test(test_views_are_free),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_no_cycles),
        cmocka_unit_test(test_infeasible),
        cmocka_unit_test(test_too_many_layouts),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_brute_gives_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
