/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a plan made by hand goes, by peaks that are made up. */
#include "unit/report/explained.h"

#include <jansson.h>
#include <math.h>

#include "report/roofline.h"

/* All fits the second cache: 144 bytes a value. */
static const struct peaks peaks = { .threads = 1,
                                    .flop_per_ns = 0.5,
                                    .bytes_per_ns = { 0.4, 0.2, 0.1 },
                                    .level_2_bytes = 100000,
                                    .last_level_bytes = 1000000 };

static void open_sample(struct sample *s, struct roofline *roofline)
{
    sample_setup(s);
    OK(plan_roofline(s->plan, s->graph, &peaks, NULL, s->graph->arena, roofline, NULL));
    s->explanation.roofline = roofline;
}

static void assert_near(double actual, double wanted)
{
    assert_true(fabs(actual - wanted) < 1e-9);
}

/* reorder, Relu+Add, reorder, copy, Add, Relu: values of 36 elements */
static void steps_are_counted(void **state)
{
    (void)state;
    struct sample s;
    struct roofline roofline;
    static const double flop[STEPS] = { 0, 108, 0, 0, 36, 72 };
    static const uint64_t values[STEPS] = { 2, 2, 2, 2, 3, 2 };
    open_sample(&s, &roofline);
    assert_true(roofline.known);
    for (uint32_t k = 0; k < STEPS; k++) {
        assert_near(roofline.work[k].flop, flop[k]);
        assert_int_equal(roofline.work[k].activation_bytes, 144 * values[k]);
        assert_int_equal(roofline.work[k].weight_bytes, 0);
        assert_near(roofline.bound_ns[k], fmax(flop[k] / 0.5, 144 * (double)values[k] / 0.4));
    }
    OK(plan_roofline(s.plan, s.graph, NULL, NULL, s.graph->arena, &roofline, NULL));
    assert_false(roofline.known);
    assert_near(roofline.bound_ns[1], 0);
    sample_teardown(&s);
}

/* In a lane the peaks of fewer threads count, and what the plan says that it costs there. */
static void lanes_have_their_own_peaks(void **state)
{
    (void)state;
    struct sample s;
    struct roofline roofline;
    struct peaks lane = peaks;
    sample_setup(&s);
    lane.bytes_per_ns[PEAK_LEVEL_2] = 0.2;
    s.plan->lanes = 2;
    for (uint32_t k = 0; k < STEPS; k++)
        s.plan->steps[k].lane = k == 4 ? 1 : PLAN_WIDE;
    s.plan->steps[4].cost_ns = 7000;
    OK(plan_roofline(s.plan, s.graph, &peaks, &lane, s.graph->arena, &roofline, NULL));
    s.explanation.roofline = &roofline;
    assert_near(roofline.bound_ns[4], 432 / 0.2);
    assert_near(roofline.bound_ns[5], 288 / 0.4);
    assert_near(report_step_cost(&s.explanation, 4), 7000);
    assert_near(report_step_cost(&s.explanation, 1), s.f.set.items[0].cost.cost_ns);
    s.plan->lanes = 0;
    sample_teardown(&s);
}

static void the_table(void **state)
{
    (void)state;
    struct sample s;
    struct roofline roofline;
    struct text text = { 0 };
    open_sample(&s, &roofline);
    OK(report_roofline(&s.explanation, COLLAGE_FORMAT_TEXT, &text, NULL));
    check_golden(&text, "roofline.txt");
    text.count = 0;
    OK(report_explain_plan(&s.explanation, &text, NULL));
    assert_non_null(strstr(text.bytes, "Roof: the least time"));
    text.count = 0;
    OK(report_explain_node(&s.explanation, 3, &text, NULL));
    assert_non_null(strstr(text.bytes, "\nwork        0.000 MFLOP; 0.000 MB of weights"));
    assert_non_null(strstr(text.bytes, "\nroofline    1.08 us at least, 54.0 % of the cost"));
    text_free(&text);
    sample_teardown(&s);
}

static void json_says_the_same(void **state)
{
    (void)state;
    struct sample s;
    struct roofline roofline;
    struct text text = { 0 };
    const char *operators, *backend;
    int count;
    double room, all;
    open_sample(&s, &roofline);
    OK(report_roofline(&s.explanation, COLLAGE_FORMAT_JSON, &text, NULL));
    json_t *json = json_loads(text.bytes, 0, NULL), *kinds = json_object_get(json, "kinds");
    assert_int_equal(json_array_size(json_object_get(json, "steps")), STEPS);
    assert_int_equal(json_array_size(kinds), 5); /* the reorders are one */
    double sum = 0;
    for (size_t k = 0; k < json_array_size(kinds); k++) {
        assert_int_equal(json_unpack(json_array_get(kinds, k), "{s:s, s:s, s:i, s:f}", "operators",
                                     &operators, "backend", &backend, "count", &count, "room_ns",
                                     &room),
                         0);
        assert_int_equal(count, strcmp(operators, "reorder") == 0 ? 2 : 1);
        sum += room;
    }
    assert_int_equal(json_unpack(json, "{s:f}", "room_ns", &all), 0);
    assert_near(sum, all);
    json_decref(json);
    text_free(&text);
    sample_teardown(&s);
}

static void what_is_not_known_is_an_error(void **state)
{
    (void)state;
    struct sample s;
    struct roofline roofline;
    struct text text = { 0 };
    struct error error = { 0 };
    open_sample(&s, &roofline);
    assert_int_equal(report_roofline(&s.explanation, COLLAGE_FORMAT_DOT, &text, &error),
                     COLLAGE_ERROR_ARGUMENT);
    roofline.known = false;
    error = (struct error){ 0 };
    assert_int_equal(report_roofline(&s.explanation, COLLAGE_FORMAT_TEXT, &text, &error),
                     COLLAGE_ERROR_MISMATCH);
    OK(report_explain_node(&s.explanation, 3, &text, NULL));
    assert_non_null(strstr(text.bytes, "roofline    not known before"));
    text_free(&text);
    sample_teardown(&s);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    struct sample s;
    struct roofline roofline;
    open_sample(&s, &roofline);
    for (int format = COLLAGE_FORMAT_TEXT; format <= COLLAGE_FORMAT_JSON; format++) {
        collage_status status = COLLAGE_ERROR_MEMORY;
        for (size_t n = 1; status == COLLAGE_ERROR_MEMORY && n < 1000; n++) {
            struct text text = { 0 };
            struct error error = { 0 };
            memory_fail_after(n);
            status = report_roofline(&s.explanation, (collage_format)format, &text, &error);
            memory_fail_after(0);
            text_free(&text);
        }
        assert_int_equal(status, COLLAGE_OK);
    }
    sample_teardown(&s);
}

/* Convolutions are told apart by their windows. */
static void kinds_have_windows(void **state)
{
    (void)state;
    static const struct {
        int64_t weight[5], strides[3];
        int32_t rank;
        int64_t group;
        const char *kind;
    } windows[] = {
        { { 8, 3, 3, 3 }, { 1, 1 }, 4, 1, "Conv 3x3" },
        { { 8, 3, 7, 7 }, { 2, 2 }, 4, 1, "Conv 7x7/2" },
        { { 8, 1, 5, 5 }, { 2, 1 }, 4, 8, "Conv 5x5/2x1 dw" },
        { { 8, 4, 1, 3 }, { 1, 1 }, 4, 2, "Conv 1x3 g2" },
        { { 8, 4, 3, 1, 1 }, { 1, 1, 1 }, 5, 1, "Conv 3x1x1" },
    };
    for (size_t k = 0; k < sizeof windows / sizeof *windows; k++) {
        struct graph *graph = graph_create();
        struct tensor weight = { .dtype = COLLAGE_FLOAT32, .rank = windows[k].rank };
        memcpy(weight.dims, windows[k].weight, (size_t)weight.rank * sizeof *weight.dims);
        const collage_attribute attributes[] = {
            { .name = "strides",
              .kind = COLLAGE_ATTRIBUTE_INTS,
              .ints = windows[k].strides,
              .count = (uint32_t)windows[k].rank - 2 },
            { .name = "group", .kind = COLLAGE_ATTRIBUTE_INT, .i = windows[k].group }
        };
        value_id in = fake_value(graph, VALUE_INPUT, &weight);
        value_id w = fake_value(graph, VALUE_INPUT, &weight);
        value_id out = fake_value(graph, VALUE_COMPUTED, &weight);
        node_id node = graph_add_node(graph, op_find("Conv"), "", (value_id[]){ in, w }, 2, &out, 1,
                                      attributes, 2);
        const struct plan_step step = { .kind = PLAN_KERNEL, .nodes = &node, .node_count = 1 };
        char text[64];
        report_kind(graph, &step, text, sizeof text);
        assert_string_equal(text, windows[k].kind);
        report_kind(graph, &step, text, 9); /* is cut, and ends */
        assert_int_equal(strlen(text), 8);
        graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_counted),
        cmocka_unit_test(lanes_have_their_own_peaks),
        cmocka_unit_test(the_table),
        cmocka_unit_test(json_says_the_same),
        cmocka_unit_test(what_is_not_known_is_an_error),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(kinds_have_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
