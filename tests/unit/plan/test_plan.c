/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/run/fake.h"

static void teardown(struct fake *f, struct graph *graph, struct plan *plan)
{
    plan_destroy(plan);
    fake_teardown(f);
    graph_destroy(graph);
}

static void choose_one(struct fake *f, node_id node, uint32_t backend, size_t variant)
{
    bool view = f->set.graph->nodes[node].op->flags & OP_VIEW;
    fake_choose(f, backend, variant, view, &node, 1);
}

/* ---- building ---- */

/* One blocked value with two blocked readers and two row-major ones: one reorder, not two. */
static void reorder_is_made_once(void **state)
{
    (void)state;
    struct graph *graph = fake_graph();
    struct tensor image = fake_image();
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    value_id a = fake_node(graph, FAKE_RELU, in, 0, NULL);
    value_id b = fake_node(graph, FAKE_RELU, a, 0, NULL);
    value_id c = fake_node(graph, FAKE_RELU, a, 0, NULL);
    value_id d = fake_node(graph, FAKE_RELU, a, 0, NULL);
    fake_ports(graph, &in, 1, (value_id[]){ b, c, d }, 3);
    struct fake f;
    fake_setup(&f, graph);
    choose_one(&f, 0, 0, 2); /* NHWC in, blocked out */
    choose_one(&f, 1, 1, 0);
    choose_one(&f, 2, 1, 0);
    choose_one(&f, 3, 1, 1);
    struct plan *plan = fake_build(&f);
    const enum plan_step_kind kinds[] = { PLAN_REORDER, PLAN_KERNEL, PLAN_REORDER, PLAN_KERNEL,
                                          PLAN_KERNEL,  PLAN_KERNEL, PLAN_REORDER };
    assert_int_equal(plan->step_count, 7);
    for (int s = 0; s < 7; s++)
        assert_int_equal(plan->steps[s].kind, kinds[s]);
    const struct plan_step *reorder = &plan->steps[2];
    assert_string_equal(plan->tensors[reorder->inputs[0]].layout.tag, "aBcd4b");
    assert_string_equal(plan->tensors[reorder->outputs[0]].layout.tag, "");
    assert_int_equal(plan->steps[3].inputs[0], reorder->outputs[0]);
    assert_int_equal(plan->steps[4].inputs[0], reorder->outputs[0]);
    /* d is blocked: what is reordered last is written into the caller's memory. */
    assert_int_equal(plan->tensors[plan->steps[6].outputs[0]].place, PLAN_OUTPUT);
    assert_int_equal(plan->tensors[plan->steps[6].outputs[0]].port, 2);
    teardown(&f, graph, plan);
}

static void cheapest_reorder_is_taken(void **state)
{
    (void)state;
    struct graph *graph = fake_graph();
    struct tensor image = fake_image();
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    value_id out = fake_node(graph, FAKE_RELU, in, 0, NULL);
    fake_ports(graph, &in, 1, &out, 1);
    for (int disabled = 0; disabled < 2; disabled++) {
        struct fake f;
        fake_setup(&f, graph);
        choose_one(&f, 0, 0, 1);
        struct transition list[] = { { in, layout_plain(), layout_tag("aBcd4b"), 1, 50 },
                                     { in, layout_plain(), layout_tag("aBcd4b"), 0, 70 },
                                     { in, layout_plain(), layout_tag("acdb"), 0, 1 },
                                     { in, layout_tag("acdb"), layout_tag("aBcd4b"), 0, 1 },
                                     { out, layout_tag("aBcd4b"), layout_plain(), 0, 9 } };
        f.problem.transitions = list;
        f.problem.transition_count = 5;
        f.enabled[1] = !disabled;
        struct plan *plan = fake_build(&f);
        assert_true(plan->steps[0].cost_ns == (disabled ? 70 : 50));
        assert_string_equal(plan->backends[plan->steps[0].backend].name,
                            disabled ? "alpha" : "beta");
        plan_destroy(plan);
        f.problem.transition_count = 4; /* and without the last there is no way back */
        struct placement placement = {
            .chosen = f.chosen, .count = 1, .cost_ns = 0, .optimal = false
        };
        struct error error = { 0 };
        assert_int_equal(plan_build(&f.problem, &placement, "", &plan, &error),
                         COLLAGE_ERROR_UNSUPPORTED);
        assert_string_equal(error.text, "no measured reorder brings 'v1' into the layout ''");
        fake_teardown(&f);
    }
    graph_destroy(graph);
}

/* in -> Relu -> Reshape -> Relu; the view is also an output. */
static void views_take_no_step(void **state)
{
    (void)state;
    struct graph *graph = fake_graph();
    struct tensor image = fake_image(), matrix = fake_matrix();
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    value_id a = fake_node(graph, FAKE_RELU, in, 0, NULL);
    value_id view = fake_node(graph, FAKE_RESHAPE, a, 0, &matrix);
    value_id view_of_in = fake_node(graph, FAKE_RESHAPE, in, 0, &matrix);
    value_id out = fake_node(graph, FAKE_ADD, view, view_of_in, NULL);
    fake_ports(graph, &in, 1, (value_id[]){ view, out }, 2);
    struct fake f;
    fake_setup(&f, graph);
    for (node_id n = 0; n < 4; n++)
        choose_one(&f, n, 0, 0);
    struct plan *plan = fake_build(&f);
    assert_int_equal(plan->step_count, 3); /* Relu, copy of the view, Add */
    assert_int_equal(plan->steps[1].kind, PLAN_COPY);
    const struct plan_step *add = &plan->steps[2];
    assert_int_equal(plan_tensor_root(plan, add->inputs[0]), plan->steps[0].outputs[0]);
    assert_int_equal(plan->tensors[add->inputs[1]].place, PLAN_INPUT);
    assert_int_equal(plan->tensors[add->outputs[0]].place, PLAN_OUTPUT);
    teardown(&f, graph, plan);
}

/* Which outputs lie in their inputs: only where the input dies, and is ours. */
static void in_place_only_where_it_is_safe(void **state)
{
    (void)state;
    struct graph *graph = fake_graph();
    struct tensor image = fake_image(), matrix = fake_matrix();
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    value_id a = fake_node(graph, FAKE_RELU, in, 0, NULL);         /* input of the caller: no */
    value_id b = fake_node(graph, FAKE_RELU, a, 0, NULL);          /* a is read later: no */
    value_id c = fake_node(graph, FAKE_ADD, b, a, NULL);           /* both die: yes, in b */
    value_id view = fake_node(graph, FAKE_RESHAPE, c, 0, &matrix); /* */
    value_id d = fake_node(graph, FAKE_RELU, c, 0, NULL);          /* the view is read later: no */
    value_id e = fake_node(graph, FAKE_RELU, view, 0, NULL);       /* yes, through the view */
    value_id g = fake_node(graph, FAKE_RELU, e, 0, NULL);          /* caller's output: no */
    value_id h = fake_node(graph, FAKE_RELU, d, 0, NULL);
    fake_ports(graph, &in, 1, (value_id[]){ g, h }, 2);
    struct fake f;
    fake_setup(&f, graph);
    for (node_id n = 0; n < graph->node_count; n++)
        choose_one(&f, n, 0, 0);
    struct plan *plan = fake_build(&f);
    const value_id shared[] = { c, e };
    uint32_t found = 0;
    for (uint32_t t = 0; t < plan->tensor_count; t++)
        if (plan->tensors[t].shares != GRAPH_NONE && plan->tensors[t].value != view) {
            assert_true(found < 2);
            assert_int_equal(plan->tensors[t].value, shared[found++]);
        }
    assert_int_equal(found, 2);
    teardown(&f, graph, plan);
}

/* Add(view, view) of one dying value: in place would overwrite what the other input still needs. */
static void two_views_of_one_memory(void **state)
{
    (void)state;
    struct graph *graph = fake_graph();
    struct tensor image = fake_image(), matrix = fake_matrix();
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    value_id a = fake_node(graph, FAKE_RELU, in, 0, NULL);
    value_id left = fake_node(graph, FAKE_RESHAPE, a, 0, &matrix);
    value_id right = fake_node(graph, FAKE_RESHAPE, a, 0, &matrix);
    value_id sum = fake_node(graph, FAKE_ADD, left, right, NULL);
    value_id out = fake_node(graph, FAKE_RELU, sum, 0, NULL);
    fake_ports(graph, &in, 1, &out, 1);
    struct fake f;
    fake_setup(&f, graph);
    for (node_id n = 0; n < 5; n++)
        choose_one(&f, n, 0, 0);
    struct plan *plan = fake_build(&f);
    const struct plan_step *add = &plan->steps[1];
    assert_int_equal(plan->tensors[add->outputs[0]].shares, GRAPH_NONE);
    plan->tensors[add->outputs[0]].shares = add->inputs[0]; /* and the verifier would see it */
    assert_int_equal(plan_verify(plan, graph, NULL), COLLAGE_ERROR_FORMAT);
    teardown(&f, graph, plan);
}

static void private_layouts_are_refused(void **state)
{
    (void)state;
    struct graph *graph = fake_graph();
    struct tensor image = fake_image();
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    value_id out = fake_node(graph, FAKE_RELU, in, 0, NULL);
    fake_ports(graph, &in, 1, &out, 1);
    struct fake f;
    fake_setup(&f, graph);
    node_id node = 0;
    struct candidate *c = fake_choose(&f, 0, 0, false, &node, 1);
    collage_layout private = layout_tag("!secret");
    c->output_layouts = &private;
    struct placement placement = { .chosen = f.chosen, .count = 1, .cost_ns = 0, .optimal = false };
    struct plan *plan;
    struct error error = { 0 };
    assert_int_equal(plan_build(&f.problem, &placement, "", &plan, &error),
                     COLLAGE_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "!secret"));
    teardown(&f, graph, NULL);
}

/* ---- memory ---- */

/* A long chain needs two pieces of memory, whatever its length; in place, one. */
static void chain_needs_two_buffers(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct graph *graph = fake_graph();
        struct tensor image = fake_image();
        value_id in = fake_value(graph, VALUE_INPUT, &image), last = in;
        for (int n = 0; n < 50; n++)
            last = fake_node(graph, FAKE_RELU, last, 0, NULL);
        fake_ports(graph, &in, 1, &last, 1);
        struct fake f;
        fake_setup(&f, graph);
        for (node_id n = 0; n < 50; n++) {
            struct candidate *c = fake_choose(&f, 0, 0, false, &n, 1);
            c->cost.inplace_count = (uint32_t)in_place;
        }
        struct plan *plan = fake_build(&f);
        assert_int_equal(plan->arena_bytes, in_place ? 192 : 384); /* 36 floats: 144 bytes */
        teardown(&f, graph, plan);
    }
}

static void memory_is_the_same_every_time(void **state)
{
    (void)state;
    struct graph *graph = fake_graph();
    struct tensor image = fake_image();
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    value_id values[40] = { in };
    for (int n = 1; n < 40; n++)
        values[n] = fake_node(graph, FAKE_ADD, values[n - 1], values[n / 2], NULL);
    fake_ports(graph, &in, 1, &values[39], 1);
    struct fake f;
    fake_setup(&f, graph);
    for (node_id n = 0; n < 39; n++)
        choose_one(&f, n, 0, n % 3);
    struct plan *plan = fake_build(&f), *again = fake_build(&f);
    assert_int_equal(plan->arena_bytes, again->arena_bytes);
    for (uint32_t t = 0; t < plan->tensor_count; t++)
        assert_int_equal(plan->tensors[t].offset, again->tensors[t].offset);
    plan_destroy(again);
    teardown(&f, graph, plan);
}

/* ---- the verifier finds what is wrong ---- */

struct sample {
    struct graph *graph;
    struct fake f;
    struct plan *plan;
};

/* reorder, Relu (block), reorder+view, Add in place, copy */
static void sample_setup(struct sample *s)
{
    struct tensor image = fake_image(), matrix = fake_matrix();
    s->graph = fake_graph();
    value_id in = fake_value(s->graph, VALUE_INPUT, &image);
    value_id other = fake_value(s->graph, VALUE_INPUT, &matrix);
    value_id a = fake_node(s->graph, FAKE_RELU, in, 0, NULL);
    value_id view = fake_node(s->graph, FAKE_RESHAPE, a, 0, &matrix);
    value_id b = fake_node(s->graph, FAKE_ADD, view, other, NULL);
    value_id c = fake_node(s->graph, FAKE_RELU, b, 0, NULL);
    fake_ports(s->graph, (value_id[]){ in, other }, 2, (value_id[]){ c, other }, 2);
    fake_setup(&s->f, s->graph);
    choose_one(&s->f, 0, 0, 1);
    for (node_id n = 1; n < 4; n++)
        choose_one(&s->f, n, 1, 0);
    s->plan = fake_build(&s->f);
}

static void break_share(struct plan *p)
{
    for (uint32_t t = 0; t < p->tensor_count; t++)
        if (p->tensors[t].shares != GRAPH_NONE)
            p->tensors[t].shares = p->tensor_count;
}
static void break_view(struct plan *p)
{
    for (uint32_t t = p->tensor_count; t-- > 0;)
        if (p->tensors[t].shares != GRAPH_NONE)
            p->tensors[t].shares = 0, p->tensors[t].place = PLAN_INPUT, p->tensors[t].port = 0;
}
static void break_offset(struct plan *p)
{
    for (uint32_t t = 0; t < p->tensor_count; t++)
        p->tensors[t].offset = 0;
}
static void break_end(struct plan *p)
{
    p->arena_bytes -= 64;
}
static void break_order(struct plan *p)
{
    struct plan_step step = p->steps[0];
    p->steps[0] = p->steps[1];
    p->steps[1] = step;
}
static void break_cover(struct plan *p)
{
    p->step_count--;
}
static void break_twice(struct plan *p)
{
    p->steps[p->step_count - 1] = p->steps[1];
}
static void break_layout(struct plan *p)
{
    p->tensors[p->steps[1].outputs[0]].layout = layout_tag("aBBd4b");
}
static void break_bytes(struct plan *p)
{
    p->tensors[p->steps[1].outputs[0]].bytes--;
}
static void break_value(struct plan *p)
{
    p->tensors[p->steps[1].outputs[0]].value = 0;
}
static void break_port(struct plan *p)
{
    for (uint32_t t = 0; t < p->tensor_count; t++)
        if (p->tensors[t].place == PLAN_OUTPUT)
            p->tensors[t].port ^= 1;
}
static void break_backend(struct plan *p)
{
    p->steps[1].backend = 9;
}
static void break_nodes(struct plan *p)
{
    p->steps[1].nodes[0] = 2;
}
static void break_input(struct plan *p)
{
    p->steps[1].inputs[0] = p->steps[1].outputs[0];
}
static void break_kind(struct plan *p)
{
    p->steps[0].kind = PLAN_COPY;
    p->steps[0].backend = GRAPH_NONE;
}
static void break_place(struct plan *p)
{
    p->tensors[p->steps[1].outputs[0]].place = PLAN_CONSTANT;
}

static void verifier_finds_defects(void **state)
{
    (void)state;
    static void (*const defects[])(struct plan *) = {
        break_share, break_view,   break_offset, break_end,   break_order, break_cover,
        break_twice, break_layout, break_bytes,  break_value, break_port,  break_backend,
        break_nodes, break_input,  break_kind,   break_place
    };
    for (size_t k = 0; k < sizeof defects / sizeof *defects; k++) {
        struct sample s;
        sample_setup(&s);
        OK(plan_verify(s.plan, s.graph, NULL));
        defects[k](s.plan);
        struct error error = { 0 };
        if (plan_verify(s.plan, s.graph, &error) != COLLAGE_ERROR_FORMAT)
            fail_msg("defect %zu was not found", k);
        assert_non_null(strstr(error.text, "the plan is malformed: "));
        teardown(&s.f, s.graph, s.plan);
    }
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    struct placement placement = {
        .chosen = s.f.chosen, .count = s.f.chosen_count, .cost_ns = 1, .optimal = true
    };
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status != COLLAGE_OK && n < 10000; n++) {
        struct plan *plan = NULL;
        memory_fail_after(n);
        status = plan_build(&s.f.problem, &placement, "", &plan, NULL);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK ? plan != NULL : status == COLLAGE_ERROR_MEMORY && !plan);
        plan_destroy(plan);
    }
    assert_true(status == COLLAGE_OK && n > 10);
    teardown(&s.f, s.graph, s.plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reorder_is_made_once),    cmocka_unit_test(cheapest_reorder_is_taken),
        cmocka_unit_test(views_take_no_step),      cmocka_unit_test(in_place_only_where_it_is_safe),
        cmocka_unit_test(two_views_of_one_memory), cmocka_unit_test(private_layouts_are_refused),
        cmocka_unit_test(chain_needs_two_buffers), cmocka_unit_test(memory_is_the_same_every_time),
        cmocka_unit_test(verifier_finds_defects),  cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
