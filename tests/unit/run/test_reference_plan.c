/* SPDX-License-Identifier: Apache-2.0 */
/* The real stages one after the other, on the built-in backend alone: enumerate, place, build,
 * save, load, run. */
#include "unit/run/fake.h"

#include "place/place.h"
#include "run/session.h"

static value_id add(struct graph *graph, const char *op, value_id a, value_id b,
                    const collage_attribute *attribute)
{
    value_id inputs[2] = { a, b };
    struct tensor unknown = { .dtype = COLLAGE_FLOAT32 };
    value_id out = fake_value(graph, VALUE_COMPUTED, &unknown);
    node_id node = graph_add_node(graph, op_find(op), op, inputs, b == GRAPH_NONE ? 1 : 2, &out, 1,
                                  attribute, attribute ? 1 : 0);
    assert_int_not_equal(node, GRAPH_NONE);
    OK(graph_infer_node(graph, node, NULL));
    return out;
}

/* Relu, Conv (unit kernel), view, Softmax, MatMul with itself; the view is an output too. */
static struct graph *network(void)
{
    static const float weights[36] = { 1, 2, 3, 4, 5, 6, -7, 8, 9 };
    static const int64_t dims[] = { 6, 6 };
    const void *weight_data = weights, *dim_data = dims;
    struct graph *graph = fake_graph();
    struct tensor image = fake_image();
    struct tensor filter = { .dtype = COLLAGE_FLOAT32, .rank = 4, .dims = { 6, 6, 1, 1 } };
    struct tensor shape = { .dtype = COLLAGE_INT64, .rank = 1, .dims = { 2 } };
    memcpy(&filter.data, &weight_data, sizeof filter.data);
    memcpy(&shape.data, &dim_data, sizeof shape.data);
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    value_id w = fake_value(graph, VALUE_CONSTANT, &filter);
    value_id s = fake_value(graph, VALUE_CONSTANT, &shape);
    value_id a = add(graph, "Relu", in, GRAPH_NONE, NULL);
    value_id b = add(graph, "Conv", a, w, NULL);
    value_id view = add(graph, "Reshape", b, s, NULL);
    const collage_attribute axis = { .name = "axis", .kind = COLLAGE_ATTRIBUTE_INT, .i = -1 };
    value_id c = add(graph, "Softmax", view, GRAPH_NONE, &axis);
    value_id d = add(graph, "MatMul", c, view, NULL);
    fake_ports(graph, &in, 1, (value_id[]){ d, view }, 2);
    return graph;
}

static struct plan *optimize(const struct graph *graph, struct registry *registry)
{
    const bool enabled[] = { true };
    struct candidate_set *set;
    struct placement placement;
    struct plan *plan = NULL;
    struct error error = { 0 };
    collage_target target = registry_host_target(1);
    OK(candidate_set_create(graph, registry, &target, &set, &error));
    OK(candidate_set_enumerate(set, enabled, &error));
    for (size_t k = 0; k < set->count; k++)
        if (!set->items[k].view)
            set->items[k].cost = (struct cost){ .state = COST_MEASURED, .cost_ns = 100 };
    OK(registry_open(registry, 0, &target, &error));
    struct place_problem problem = { .set = set, .enabled = enabled };
    if (place_dynamic(&problem, &placement, &error) != COLLAGE_OK ||
        plan_build(&problem, &placement, "", &plan, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    placement_free(&placement);
    candidate_set_destroy(set);
    return plan;
}

static void reference_plan(void **state)
{
    (void)state;
    struct graph *graph = network();
    struct registry *registry;
    struct error error = { 0 };
    OK(registry_create("", NULL, NULL, &registry, &error));
    struct plan *made = optimize(graph, registry), *plan;
    json_t *json;
    OK(plan_to_json(made, graph, &json, &error));
    plan_destroy(made);
    if (plan_from_json(json, graph, &plan, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    json_decref(json);
    struct session *session;
    if (session_create(graph, plan, registry, &session, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    plan_destroy(plan); /* the session does not need it */
    float in[36], out[36], view[36];
    for (int k = 0; k < 36; k++)
        in[k] = (float)(k % 7) - 3;
    const void *inputs[] = { in };
    OK(session_run(session, inputs, (void *[]){ out, view }, &error));
    float **values = fake_evaluate(graph, inputs);
    assert_memory_equal(out, values[graph->outputs[0]], sizeof out);
    assert_memory_equal(view, values[graph->outputs[1]], sizeof view);
    fake_values_free(graph, values);
    session_destroy(session);
    registry_destroy(registry);
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(reference_plan) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
