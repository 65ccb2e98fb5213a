/* SPDX-License-Identifier: Apache-2.0 */
/* Pins: what they allow, that placements keep to them, and what is said when they cannot be met. */
#include "unit/place/random_problem.h"

/* x -> n0 Conv -> n1 Relu -> n2 Conv -> n3 Reshape, a view. All on alpha, n1 on beta, too. */
static void open_chain(struct fixture *f)
{
    static const char *const ops[] = { "Conv", "Relu", "Conv", "Reshape" };
    fixture_open(f, 1);
    value_id v = fixture_value(f, VALUE_INPUT);
    graph_set_inputs(f->graph, &v, 1, NULL);
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        v = fixture_step(f, ops[k], &v, 1);
    graph_set_outputs(f->graph, &v, 1, NULL);
    fixture_seal(f);
    for (node_id n = 0; n < 4; n++)
        assert_non_null(fixture_candidate(f, 1, &n, 1, 10));
    assert_non_null(fixture_candidate(f, 1, (const node_id[]){ 0, 1 }, 2, 5));
    assert_non_null(fixture_candidate(f, 2, (const node_id[]){ 1 }, 1, 90));
    assert_non_null(fixture_candidate(f, REGISTRY_REFERENCE, (const node_id[]){ 3 }, 1, 0));
    f->set.items[6].view = true;
}

static struct pins *pin(struct fixture *f)
{
    struct pins *pins;
    assert_int_equal(pins_create(f->graph, &f->registry, &pins, NULL), COLLAGE_OK);
    f->problem.pins = pins;
    return pins;
}

static void unpin(struct fixture *f, struct pins *pins)
{
    f->problem.pins = NULL;
    pins_destroy(pins);
}

static void group(struct pins *pins, uint32_t number, uint32_t backend, node_id first,
                  uint32_t count)
{
    uint32_t index;
    for (node_id n = first; n < first + count; n++)
        assert_int_equal(pins_add_to_group(pins, number, backend, n, &index, NULL), COLLAGE_OK);
}

static void expect_cost(const struct fixture *f, double cost_ns)
{
    struct placement found;
    struct error error = { 0 };
    if (place_dynamic(&f->problem, &found, &error))
        fail_msg("%s", error.text);
    assert_true(fabs(found.cost_ns - cost_ns) < 1e-9);
    check_placement(f, &found);
    placement_free(&found);
}

static void test_nodes_are_pinned_by_name(void **state)
{
    (void)state;
    struct fixture f;
    open_chain(&f);
    expect_cost(&f, 15); /* n0 and n1 as one, n2, the view */
    struct pins *pins = pin(&f);
    assert_int_equal(pins_count(pins), 0);
    expect_cost(&f, 15);
    assert_int_equal(pins_add(pins, "n1", "beta", NULL), COLLAGE_OK);
    assert_int_equal(pins_count(pins), 1);
    assert_int_equal(pins_check(pins, &f.set, f.enabled, NULL), COLLAGE_OK);
    expect_cost(&f, 110);
    assert_int_equal(pins_add(pins, "n[01]", "alpha", NULL), COLLAGE_OK); /* the last one holds */
    assert_int_equal(pins_count(pins), 2);
    expect_cost(&f, 15);
    assert_int_equal(pins_add(pins, "*", "alpha", NULL), COLLAGE_OK);
    assert_int_equal(pins_count(pins), 4);
    expect_cost(&f, 15); /* a view needs no backend */
    assert_true(pins_leave_open(pins, 3, 1) && !pins_leave_open(pins, 3, 2));
    unpin(&f, pins);
    fixture_close(&f);
}

static void test_groups_are_candidates(void **state)
{
    (void)state;
    struct fixture f;
    open_chain(&f);
    struct pins *pins = pin(&f);
    group(pins, 7, 1, 0, 1); /* n0 alone: not with n1 */
    group(pins, 9, PINS_VIEW, 3, 1);
    assert_int_equal(pins_count(pins), 2);
    assert_int_equal(pins_check(pins, &f.set, f.enabled, NULL), COLLAGE_OK);
    expect_cost(&f, 30);
    assert_true(pins_name(pins, &f.set.items[0]) && !pins_name(pins, &f.set.items[4]));
    assert_false(pins_allow(pins, &f.set.items[4]) || pins_allow(pins, &f.set.items[3]));
    assert_false(pins_leave_open(pins, 0, 1));
    assert_int_equal(pins_add(pins, "*", "alpha", NULL), COLLAGE_OK); /* says the same */
    unpin(&f, pins);
    pins = pin(&f);
    f.set.items[4].cost.cost_ns = 50;
    expect_cost(&f, 30);
    group(pins, 0, 1, 0, 2);
    expect_cost(&f, 60); /* dear, but wanted */
    node_id nodes[2];
    pins_list(pins, 0, nodes);
    assert_true(nodes[0] == 0 && nodes[1] == 1);
    unpin(&f, pins);
    fixture_close(&f);
}

static void expect_failure(collage_status status, collage_status wanted, const struct error *error,
                           const char *text)
{
    assert_int_equal(status, wanted);
    assert_string_equal(error->text, text);
}

/* One line that names the node and what there is. */
static void test_what_cannot_be(void **state)
{
    (void)state;
    struct fixture f;
    struct error error = { 0 };
    uint32_t index;
    open_chain(&f);
    struct pins *pins = pin(&f);
    expect_failure(pins_add(pins, "conv*", "alpha", &error), COLLAGE_ERROR_ARGUMENT, &error,
                   "no node has the name 'conv*'; `collage inspect MODEL --text` shows the names");
    error_clear(&error);
    expect_failure(pins_add(pins, "n0", "gamma", &error), COLLAGE_ERROR_ARGUMENT, &error,
                   "there is no backend 'gamma'; `collage backends` lists them");
    error_clear(&error);
    assert_int_equal(pins_add(pins, "n0", "beta", NULL), COLLAGE_OK);
    expect_failure(pins_check(pins, &f.set, f.enabled, &error), COLLAGE_ERROR_ARGUMENT, &error,
                   "node 'n0' (Conv) cannot run on 'beta'; there is Conv on alpha, Conv+Relu on "
                   "alpha");
    error_clear(&error);
    unpin(&f, pins);

    pins = pin(&f);
    assert_int_equal(pins_add(pins, "n1", "beta", NULL), COLLAGE_OK);
    f.enabled[2] = false;
    expect_failure(pins_check(pins, &f.set, f.enabled, &error), COLLAGE_ERROR_ARGUMENT, &error,
                   "node 'n1' (Relu) cannot run on 'beta', which is not available or not asked "
                   "for; there is Relu on alpha, Conv+Relu on alpha");
    error_clear(&error);
    f.enabled[2] = true;
    f.set.items[5].cost = (struct cost){ .state = COST_FAILED, .reason = "it crashed" };
    struct placement found;
    expect_failure(place_dynamic(&f.problem, &found, &error), COLLAGE_ERROR_UNSUPPORTED, &error,
                   "node 'n1' (Relu) cannot run on 'beta': it crashed; there is Relu on alpha, "
                   "Conv+Relu on alpha");
    error_clear(&error);
    unpin(&f, pins);

    pins = pin(&f);
    group(pins, 4, 1, 1, 2);
    expect_failure(pins_check(pins, &f.set, f.enabled, &error), COLLAGE_ERROR_ARGUMENT, &error,
                   "node 'n1' (Relu): group 4 of the placement (2 nodes) is no candidate of "
                   "'alpha'; there is Relu on alpha, Conv+Relu on alpha");
    error_clear(&error);
    expect_failure(pins_add_to_group(pins, 5, 1, 2, &index, &error), COLLAGE_ERROR_ARGUMENT, &error,
                   "node 'n2' (Conv) is in two groups: 4 and 5");
    error_clear(&error);
    expect_failure(pins_add_to_group(pins, 4, 2, 3, &index, &error), COLLAGE_ERROR_ARGUMENT, &error,
                   "group 4 is on 'alpha' and on 'beta'");
    error_clear(&error);
    expect_failure(pins_add(pins, "n?", "beta", &error), COLLAGE_ERROR_ARGUMENT, &error,
                   "node 'n1' (Relu) is placed on 'beta', but group 4 of the placement has it on "
                   "'alpha'");
    unpin(&f, pins);
    fixture_close(&f);
}

/* Random pins on random problems: the solvers agree on what is left, and keep to it. */
static void test_placements_keep_to_pins(void **state)
{
    (void)state;
    static const char *const names[FIXTURE_BACKENDS] = { "reference", "alpha", "beta" };
    static const uint32_t order[] = { 2, 1, REGISTRY_REFERENCE };
    uint32_t feasible = 0, kept = 0, searched = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct fixture f;
        struct placement found[4] = { { 0 } };
        random_problem(&f, seed * 7919, 8);
        struct pins *pins = pin(&f);
        for (uint32_t k = 1 + fixture_random(&f, 2); k > 0; k--) {
            const char *node =
                f.graph->nodes[fixture_random(&f, (uint32_t)f.graph->node_count)].base.name;
            assert_int_equal(
                pins_add(pins, node, names[fixture_random(&f, FIXTURE_BACKENDS)], NULL),
                COLLAGE_OK);
        }
        collage_status brute = place_brute(&f.problem, &found[0], NULL);
        assert_int_equal(place_dynamic(&f.problem, &found[1], NULL), brute);
        collage_status statuses[4] = { brute, brute, place_op_level(&f.problem, 0, &found[2], NULL),
                                       place_greedy(&f.problem, order, 3, &found[3], NULL) };
        if (!brute)
            assert_true(fabs(found[0].cost_ns - found[1].cost_ns) < 1e-9);
        for (size_t s = 0; s < 4; s++) {
            for (size_t k = 0; k < found[s].count; k++) {
                const struct candidate *c = &f.set.items[found[s].chosen[k]];
                for (uint32_t n = 0; n < c->region.node_count; n++) {
                    uint32_t backend = pins->backends[c->region.nodes[n]];
                    assert_true(backend == PINS_FREE || c->view || c->backend == backend);
                    kept += backend != PINS_FREE && !c->view;
                }
            }
            searched += s > 1 && !statuses[s];
            placement_free(&found[s]);
        }
        feasible += !brute;
        unpin(&f, pins);
        fixture_close(&f);
    }
    print_message("%u feasible, %u pinned nodes, %u other searches\n", feasible, kept, searched);
    assert_true(feasible > 300 && kept > 1000 && searched > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_are_pinned_by_name),
        cmocka_unit_test(test_groups_are_candidates),
        cmocka_unit_test(test_what_cannot_be),
        cmocka_unit_test(test_placements_keep_to_pins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
