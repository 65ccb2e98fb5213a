/* SPDX-License-Identifier: Apache-2.0 */
/* Plans with copies: nodes that several steps compute, each for itself. */
#include "unit/run/runs.h"

#include "plan/placement_log.h"

/* The first node feeds two others. Its copies are all there is of it, or one of two has a copy. */
static struct graph *shared_maker(void)
{
    struct graph *graph = fake_graph();
    struct tensor image = fake_image();
    value_id in = fake_value(graph, VALUE_INPUT, &image), outs[2];
    value_id a = fake_node(graph, FAKE_RELU, in, 0, NULL);
    outs[0] = fake_node(graph, FAKE_ADD, a, in, NULL);
    outs[1] = fake_node(graph, FAKE_ADD, in, a, NULL);
    fake_ports(graph, &in, 1, outs, 2);
    return graph;
}

static const node_id maker = 0;

static void choose_with_copies(struct fake *f, bool left_out)
{
    if (!left_out)
        fake_choose(f, 0, 1, false, &maker, 1);
    fake_choose_copying(f, 1, 0, false, (const node_id[]){ 0, 1 }, 2, &maker, 1);
    if (left_out)
        fake_choose_copying(f, 0, 2, false, (const node_id[]){ 0, 2 }, 2, &maker, 1);
    else
        fake_choose(f, 1, 1, false, (const node_id[]){ 2 }, 1);
}

static void copies_run(void **state)
{
    (void)state;
    for (int left_out = 0; left_out < 2; left_out++) {
        struct graph *graph = shared_maker();
        struct fake f;
        fake_setup(&f, graph);
        choose_with_copies(&f, left_out);
        struct plan *plan = fake_build(&f);
        run_and_check(&f, plan);
        plan_destroy(plan);
        fake_teardown(&f);
        graph_destroy(graph);
    }
}

/* What a plan of unknown origin may not do with copies. */
static void wrong_copies_are_refused(void **state)
{
    (void)state;
    struct graph *graph = shared_maker();
    struct fake f;
    struct error error = { 0 };
    fake_setup(&f, graph);
    choose_with_copies(&f, true);
    struct plan *plan = fake_build(&f);
    uint32_t last = plan->step_count - 1;
    while (plan->steps[last].kind != PLAN_KERNEL)
        last--;
    struct plan_step whole = plan->steps[last];
    plan->steps[last].nodes[0] = 1; /* a copy that nobody uses */
    assert_int_equal(plan_verify(plan, graph, &error), COLLAGE_ERROR_FORMAT);
    plan->steps[last].nodes[0] = 0;
    OK(plan_verify(plan, graph, NULL));
    plan->steps[last].node_count = 1; /* a copy alone, that gives nothing */
    plan->steps[last].output_count = 0;
    assert_int_equal(plan_verify(plan, graph, NULL), COLLAGE_ERROR_FORMAT);
    plan->steps[last] = whole;
    plan->steps[last].nodes++; /* without the copy: what it makes is read nowhere */
    plan->steps[last].node_count--;
    assert_int_equal(plan_verify(plan, graph, NULL), COLLAGE_ERROR_FORMAT);
    plan->steps[last] = whole;
    OK(plan_verify(plan, graph, NULL));
    plan_destroy(plan);
    fake_teardown(&f);
    graph_destroy(graph);
}

/* Saved and read again, it is the same plan: copies are told by what the steps write. */
static void copies_are_saved(void **state)
{
    (void)state;
    for (int left_out = 0; left_out < 2; left_out++) {
        struct graph *graph = shared_maker();
        struct fake f;
        struct error error = { 0 };
        json_t *json = NULL;
        struct plan *read = NULL;
        fake_setup(&f, graph);
        choose_with_copies(&f, left_out);
        struct plan *plan = fake_build(&f);
        if (plan_to_json(plan, graph, &json, &error) || plan_from_json(json, graph, &read, &error))
            fail_msg("%s", error.text);
        assert_int_equal(read->step_count, plan->step_count);
        run_and_check(&f, read);
        json_decref(json);
        plan_destroy(read);
        plan_destroy(plan);
        fake_teardown(&f);
        graph_destroy(graph);
    }
}

/* A node has the line of who covers it, or none; a group with copies does not name its operators.
 */
static void copies_are_not_in_the_log(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "post_dfs_order,annotation\n0,0-alpha_Relu\n1,1-beta\n2,2-beta_Add\n",
        "post_dfs_order,annotation\n1,0-beta\n2,1-alpha\n",
    };
    for (int left_out = 0; left_out < 2; left_out++) {
        struct graph *graph = shared_maker();
        struct fake f;
        struct text text = { 0 };
        fake_setup(&f, graph);
        choose_with_copies(&f, left_out);
        struct plan *plan = fake_build(&f);
        OK(placement_log_write(plan, graph, &text, NULL));
        assert_string_equal(text.bytes, expected[left_out]);
        text_free(&text);
        plan_destroy(plan);
        fake_teardown(&f);
        graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_run),
        cmocka_unit_test(wrong_copies_are_refused),
        cmocka_unit_test(copies_are_saved),
        cmocka_unit_test(copies_are_not_in_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
