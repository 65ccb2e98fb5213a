/* SPDX-License-Identifier: Apache-2.0 */
/* What the choices of a placement are worth, by hand: other backends, pieces, layouts, switches. */
#include "unit/place/fixture.h"

#include "place/rivals.h"

enum { REFERENCE, ALPHA, BETA };

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

static candidate_id add(struct fixture *f, uint32_t backend, node_id first, uint32_t count,
                        double cost_ns)
{
    node_id nodes[4];
    for (uint32_t k = 0; k < count; k++)
        nodes[k] = first + k;
    assert_non_null(fixture_candidate(f, backend, nodes, count, cost_ns));
    return (candidate_id)(f->set.count - 1);
}

static void find(struct fixture *f, const candidate_id *order, size_t count, size_t at,
                 struct rivals **rivals, struct rival *out)
{
    struct error error = { 0 };
    if (rivals_create(&f->problem, order, count, rivals, &error) ||
        rivals_find(*rivals, at, out, &error))
        fail_msg("%s", error.text);
}

static void assert_extra(const struct rival *rival, double extra_ns)
{
    assert_true(rival->found);
    assert_true(rival->proven);
    if (fabs(rival->extra_ns - extra_ns) > 1e-9)
        fail_msg("%g, not %g", rival->extra_ns, extra_ns);
}

/* Each of three nodes alone on alpha; beta would be a bit dearer, dearer, cheaper. */
static void other_backends_and_switches(void **state)
{
    (void)state;
    for (int switches = 0; switches < 2; switches++) {
        struct fixture f;
        struct rival out[FIXTURE_BACKENDS];
        candidate_id order[3];
        static const double dearer[] = { 4, 2, -5 }, switched[] = { 8, 9, -2 };
        open_chain(&f);
        for (node_id n = 0; n < 3; n++) {
            order[n] = add(&f, ALPHA, n, 1, 10);
            add(&f, BETA, n, 1, 10 + dearer[n]);
        }
        f.switch_ns[ALPHA * FIXTURE_BACKENDS + BETA] = 3;
        f.switch_ns[BETA * FIXTURE_BACKENDS + ALPHA] = 4;
        f.problem.switch_ns = switches ? f.switch_ns : NULL;
        for (size_t at = 0; at < 3; at++) {
            struct rivals *rivals;
            find(&f, order, 3, at, &rivals, out);
            assert_extra(&out[BETA], switches ? switched[at] : dearer[at]);
            assert_int_equal(out[BETA].count, 1);
            assert_int_equal(out[BETA].chosen[0], order[at] + 1);
            assert_false(out[ALPHA].found); /* it has no other way */
            assert_false(out[REFERENCE].found);
            rivals_destroy(rivals);
        }
        f.enabled[BETA] = false;
        struct rivals *rivals;
        find(&f, order, 3, 0, &rivals, out);
        assert_false(out[BETA].found);
        rivals_destroy(rivals);
        fixture_close(&f);
    }
}

static void a_fused_kernel_against_pieces(void **state)
{
    (void)state;
    struct fixture f;
    struct rival out[FIXTURE_BACKENDS];
    struct rivals *rivals;
    open_chain(&f);
    candidate_id fused = add(&f, ALPHA, 0, 3, 25);
    for (node_id n = 0; n < 3; n++) {
        add(&f, ALPHA, n, 1, 10);
        add(&f, BETA, n, 1, 12 - n);
    }
    f.problem.step_ns = 1;
    find(&f, &fused, 1, 0, &rivals, out);
    assert_extra(&out[BETA], 12 + 11 + 10 + 3 - 26);
    assert_int_equal(out[BETA].count, 3);
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(f.set.items[out[BETA].chosen[k]].region.nodes[0], k);
    assert_extra(&out[ALPHA], 30 + 3 - 26); /* another way on its own backend */
    rivals_destroy(rivals);
    fixture_close(&f);
}

static void conversions_count(void **state)
{
    (void)state;
    struct fixture f;
    struct rival out[FIXTURE_BACKENDS];
    candidate_id order[3];
    struct rivals *rivals;
    open_chain(&f);
    for (node_id n = 0; n < 3; n++)
        order[n] = add(&f, ALPHA, n, 1, 10);
    candidate_id blocked = add(&f, BETA, 1, 1, 4);
    fixture_set_layouts(&f, &f.set.items[blocked], "aBcd8b", "aBcd8b");
    find(&f, order, 3, 1, &rivals, out);
    assert_false(out[BETA].found); /* no conversion has a cost */
    rivals_destroy(rivals);
    fixture_transition(&f, 1, "", "aBcd8b", REFERENCE, 2);
    fixture_transition(&f, 2, "aBcd8b", "", REFERENCE, 3);
    find(&f, order, 3, 1, &rivals, out);
    assert_extra(&out[BETA], 4 + 2 + 3 - 10);
    rivals_destroy(rivals);
    fixture_close(&f);
}

static void the_reference_fills_holes(void **state)
{
    (void)state;
    struct fixture f;
    struct rival out[FIXTURE_BACKENDS];
    candidate_id order[2];
    struct rivals *rivals;
    open_chain(&f);
    order[0] = add(&f, ALPHA, 0, 2, 15);
    order[1] = add(&f, ALPHA, 2, 1, 10);
    add(&f, BETA, 0, 1, 6);
    find(&f, order, 2, 0, &rivals, out);
    assert_false(out[BETA].found); /* nobody runs the other node */
    rivals_destroy(rivals);
    candidate_id hole = add(&f, REFERENCE, 1, 1, 100);
    find(&f, order, 2, 0, &rivals, out);
    assert_extra(&out[BETA], 6 + 100 - 15);
    assert_int_equal(out[BETA].chosen[1], hole);
    assert_false(out[REFERENCE].found);
    rivals_destroy(rivals);
    add(&f, REFERENCE, 0, 1, 1); /* cheaper than beta's, but there is no hole */
    find(&f, order, 2, 0, &rivals, out);
    assert_extra(&out[BETA], 6 + 100 - 15);
    assert_extra(&out[REFERENCE], 1 + 100 - 15);
    rivals_destroy(rivals);
    fixture_close(&f);
}

static void views_stay_views(void **state)
{
    (void)state;
    struct fixture f;
    struct rival out[FIXTURE_BACKENDS];
    candidate_id order[2];
    struct rivals *rivals;
    open_chain(&f);
    order[0] = add(&f, ALPHA, 0, 1, 10);
    order[1] = add(&f, ALPHA, 2, 1, 10);
    candidate_id view = add(&f, REFERENCE, 1, 1, 0);
    f.set.items[view].view = true;
    add(&f, BETA, 2, 1, 17);
    add(&f, BETA, 1, 2, 1); /* would take the view as well: other nodes, so no rival */
    find(&f, order, 2, 1, &rivals, out);
    assert_extra(&out[BETA], 7);
    assert_int_equal(out[BETA].count, 1);
    rivals_destroy(rivals);
    fixture_close(&f);
}

static void what_is_no_placement_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    candidate_id order[3];
    struct rivals *rivals;
    struct error error = { 0 };
    open_chain(&f);
    for (node_id n = 0; n < 3; n++)
        order[n] = add(&f, ALPHA, n, 1, 10);
    assert_int_equal(rivals_create(&f.problem, order, 2, &rivals, &error),
                     COLLAGE_ERROR_UNSUPPORTED);
    assert_null(rivals);
    f.set.items[order[1]].cost.state = COST_UNKNOWN;
    error_clear(&error);
    assert_int_equal(rivals_create(&f.problem, order, 3, &rivals, &error),
                     COLLAGE_ERROR_UNSUPPORTED);
    rivals_destroy(NULL);
    fixture_close(&f);
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    struct fixture f;
    candidate_id order[3];
    open_chain(&f);
    for (node_id n = 0; n < 3; n++) {
        order[n] = add(&f, ALPHA, n, 1, 10);
        add(&f, BETA, n, 1, 11);
    }
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status != COLLAGE_OK && n < 2000; n++) {
        struct rivals *rivals = NULL;
        struct rival out[FIXTURE_BACKENDS];
        memory_fail_after(n);
        status = rivals_create(&f.problem, order, 3, &rivals, NULL);
        if (status == COLLAGE_OK)
            status = rivals_find(rivals, 1, out, NULL);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MEMORY);
        rivals_destroy(rivals);
    }
    assert_true(status == COLLAGE_OK && n > 10);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_backends_and_switches),
        cmocka_unit_test(a_fused_kernel_against_pieces),
        cmocka_unit_test(conversions_count),
        cmocka_unit_test(the_reference_fills_holes),
        cmocka_unit_test(views_stay_views),
        cmocka_unit_test(what_is_no_placement_is_refused),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
