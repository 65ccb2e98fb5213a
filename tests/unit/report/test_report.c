/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/run/fake.h"

#include "report/report.h"

struct sample {
    struct graph *graph;
    struct fake f;
    struct plan *plan;
};

static struct plan_result results[] = {
    { .name = "mix",
      .note = "",
      .chosen = true,
      .minimum_ns = 12.31e6,
      .median_ns = 12.5e6,
      .low_ns = 12.4e6,
      .high_ns = 12.6e6,
      .ratio = 1,
      .ratio_low = 1,
      .ratio_high = 1,
      .predicted_ns = 12.1e6,
      .steps_ns = 12.2e6,
      .worst_error = 1e-7,
      .peak_bytes = 310u << 20 },
    { .name = "alpha",
      .note = "with beta for Gather",
      .minimum_ns = 13.9e6,
      .median_ns = 14.05e6,
      .low_ns = 14e6,
      .high_ns = 14.1e6,
      .ratio = 1.124,
      .ratio_low = 1.118,
      .ratio_high = 1.131,
      .peak_bytes = 290u << 20 },
    { .name = "beta",
      .note = "",
      .minimum_ns = 25e6,
      .median_ns = 26e6,
      .low_ns = 25e6,
      .high_ns = 27e6,
      .ratio = 2.08,
      .ratio_low = 2.05,
      .ratio_high = 2.11 },
    { .name = "gamma (peer)", .note = "absent: no gamma" },
};

static void sample_setup(struct sample *s)
{
    struct tensor image = fake_image(), matrix = fake_matrix();
    s->graph = fake_graph();
    value_id in = fake_value(s->graph, VALUE_INPUT, &image);
    value_id other = fake_value(s->graph, VALUE_INPUT, &matrix);
    value_id a = fake_node(s->graph, FAKE_RELU, in, 0, NULL);
    a = fake_node(s->graph, FAKE_ADD, a, in, NULL);
    value_id view = fake_node(s->graph, FAKE_RESHAPE, a, 0, &matrix);
    value_id b = fake_node(s->graph, FAKE_ADD, view, other, NULL);
    value_id c = fake_node(s->graph, FAKE_RELU, b, 0, NULL);
    fake_ports(s->graph, (value_id[]){ in, other }, 2, (value_id[]){ c, view }, 2);
    fake_setup(&s->f, s->graph);
    fake_choose(&s->f, 0, 1, false, (node_id[]){ 0, 1 }, 2);
    for (node_id n = 2; n < 5; n++)
        fake_choose(&s->f, 1, 0, n == 2, &n, 1);
    s->plan = fake_build(&s->f);
    s->plan->device_name = "a machine";
    s->plan->results = results;
    s->plan->result_count = 4;
}

static void sample_teardown(struct sample *s)
{
    plan_destroy(s->plan);
    fake_teardown(&s->f);
    graph_destroy(s->graph);
}

/* Golden texts: set COLLAGE_WRITE_GOLDEN to write them anew. */
static void check_golden(const struct text *text, const char *name)
{
    char path[512];
    struct mapping golden;
    snprintf(path, sizeof path, "%s/golden/report/%s", COLLAGE_TESTS, name);
    if (getenv("COLLAGE_WRITE_GOLDEN"))
        OK(file_write(path, text->bytes, text->count, NULL));
    OK(file_map(path, &golden, NULL));
    if (golden.bytes != text->count || memcmp(golden.data, text->bytes, text->count) != 0)
        fail_msg("differs from %s:\n%s", path, text->bytes);
    file_unmap(&golden);
}

static void check_columns(const struct text *text)
{
    size_t column = 0;
    for (size_t k = 0; k < text->count; k++) {
        column = text->bytes[k] == '\n' ? 0 : column + 1;
        assert_true(column <= 100);
    }
}

static void golden_texts(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    struct text text = { 0 };
    OK(report_plan(s.graph, s.plan, COLLAGE_FORMAT_TEXT, &text, NULL));
    check_columns(&text);
    check_golden(&text, "plan.txt");
    text_free(&text);
    OK(report_results(s.graph, s.plan, COLLAGE_FORMAT_TEXT, &text, NULL));
    check_golden(&text, "results.txt");
    text_free(&text);
    OK(report_plan(s.graph, s.plan, COLLAGE_FORMAT_DOT, &text, NULL));
    check_golden(&text, "plan.dot");
    text_free(&text);
    sample_teardown(&s);
}

static void json_is_the_plan(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    struct text text = { 0 };
    OK(report_plan(s.graph, s.plan, COLLAGE_FORMAT_JSON, &text, NULL));
    json_t *json = json_loadb(text.bytes, text.count, 0, NULL);
    struct plan *plan;
    OK(plan_from_json(json, s.graph, &plan, NULL));
    plan_destroy(plan);
    json_decref(json);
    text_free(&text);
    OK(report_results(s.graph, s.plan, COLLAGE_FORMAT_JSON, &text, NULL));
    json = json_loadb(text.bytes, text.count, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(json, "results")), 4);
    assert_null(json_object_get(json, "steps"));
    json_decref(json);
    text_free(&text);
    struct error error = { 0 };
    assert_int_equal(report_results(s.graph, s.plan, COLLAGE_FORMAT_SVG, &text, &error),
                     COLLAGE_ERROR_ARGUMENT);
    text_free(&text);
    sample_teardown(&s);
}

static void picture(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    struct text first = { 0 }, second = { 0 };
    OK(report_plan(s.graph, s.plan, COLLAGE_FORMAT_SVG, &first, NULL));
    OK(report_plan(s.graph, s.plan, COLLAGE_FORMAT_SVG, &second, NULL));
    assert_string_equal(first.bytes, second.bytes);
    assert_non_null(strstr(first.bytes, "<svg"));
    assert_non_null(strstr(first.bytes, "Relu+Add"));
    assert_non_null(strstr(first.bytes, "#56b4e9"));
    assert_non_null(strstr(first.bytes, "#e69f00"));
    text_free(&first);
    text_free(&second);
    sample_teardown(&s);
}

/* Names come from files: they must end no string, no element, and steer no terminal. */
static void hostile_names(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    s.graph->name = "\"];evil [label=\"</svg>\x1b[2J\\";
    s.graph->values[0].name = "a\"b\\N<b>\n\xff\xfe";
    s.plan->backends[0].name = "<script>\x1b\\";
    s.plan->device_name = "\x1b]0;x\x07";
    struct text text = { 0 };
    OK(report_plan(s.graph, s.plan, COLLAGE_FORMAT_TEXT, &text, NULL));
    for (size_t k = 0; k < text.count; k++)
        assert_true(text.bytes[k] == '\n' || (unsigned char)text.bytes[k] >= 0x20);
    text_free(&text);
    OK(report_plan(s.graph, s.plan, COLLAGE_FORMAT_SVG, &text, NULL));
    assert_null(strstr(text.bytes, "<script>"));
    assert_null(strstr(text.bytes, "<b>"));
    assert_null(strstr(text.bytes, ">evil<"));
    assert_null(strchr(text.bytes, 0x1b));
    assert_ptr_equal(strstr(text.bytes, "</svg>"), text.bytes + text.count - 7);
    text_free(&text);
    sample_teardown(&s);
}

static void plan_without_results_or_steps(void **state)
{
    (void)state;
    struct graph *graph = fake_graph();
    struct tensor image = fake_image();
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    fake_ports(graph, &in, 1, &in, 1);
    struct fake f;
    fake_setup(&f, graph);
    struct plan *plan = fake_build(&f);
    struct text text = { 0 };
    for (int format = COLLAGE_FORMAT_TEXT; format <= COLLAGE_FORMAT_HTML; format++)
        OK(report_plan(graph, plan, (collage_format)format, &text, NULL));
    text_free(&text);
    plan_destroy(plan);
    fake_teardown(&f);
    graph_destroy(graph);
}

/* As long as a real network, with a residual connection around every third node. */
static void long_network(void **state)
{
    (void)state;
    enum { NODES = 200 };
    struct graph *graph = fake_graph();
    struct tensor image = fake_image();
    value_id in = fake_value(graph, VALUE_INPUT, &image), values[NODES + 1] = { in };
    for (int n = 1; n <= NODES; n++)
        values[n] = n % 3 ? fake_node(graph, FAKE_RELU, values[n - 1], 0, NULL)
                          : fake_node(graph, FAKE_ADD, values[n - 1], values[n - 3], NULL);
    fake_ports(graph, &in, 1, &values[NODES], 1);
    struct fake f;
    fake_setup(&f, graph);
    for (node_id n = 0; n < NODES; n++)
        fake_choose(&f, n / 20 % 2, n / 30 % 2, false, &n, 1);
    struct plan *plan = fake_build(&f);
    struct text text = { 0 };
    OK(report_plan(graph, plan, COLLAGE_FORMAT_TEXT, &text, NULL));
    check_columns(&text);
    OK(report_plan(graph, plan, COLLAGE_FORMAT_SVG, &text, NULL));
    OK(report_plan(graph, plan, COLLAGE_FORMAT_HTML, &text, NULL));
    text_free(&text);
    plan_destroy(plan);
    fake_teardown(&f);
    graph_destroy(graph);
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    for (int format = COLLAGE_FORMAT_TEXT; format <= COLLAGE_FORMAT_HTML; format++) {
        collage_status status = COLLAGE_ERROR_MEMORY;
        size_t n = 1;
        for (; status != COLLAGE_OK && n < 100; n++) {
            struct text text = { 0 };
            memory_fail_after(n);
            status = report_plan(s.graph, s.plan, (collage_format)format, &text, NULL);
            memory_fail_after(0);
            assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MEMORY);
            text_free(&text);
        }
        assert_true(status == COLLAGE_OK && n > 2);
    }
    sample_teardown(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_texts),
        cmocka_unit_test(json_is_the_plan),
        cmocka_unit_test(picture),
        cmocka_unit_test(hostile_names),
        cmocka_unit_test(plan_without_results_or_steps),
        cmocka_unit_test(long_network),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
