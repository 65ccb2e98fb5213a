/* SPDX-License-Identifier: Apache-2.0 */
/* Why a plan is as it is: golden texts of a plan made by hand, and what is not known. */
#include "unit/report/explained.h"

#include "report/candidates.h"

static void check_columns(const struct text *text)
{
    size_t column = 0;
    for (size_t k = 0; k < text->count; k++) {
        column = text->bytes[k] == '\n' ? 0 : column + 1;
        assert_true(column <= 100);
    }
}

static void a_whole_plan(void **state)
{
    (void)state;
    struct sample s;
    struct text text = { 0 };
    sample_setup(&s);
    OK(report_explain_plan(&s.explanation, &text, NULL));
    check_columns(&text);
    check_golden(&text, "explain_plan.txt");
    text_free(&text);
    sample_teardown(&s);
}

static void single_nodes(void **state)
{
    (void)state;
    struct sample s;
    struct text text = { 0 };
    sample_setup(&s);
    for (node_id n = 0; n < 5; n++) {
        text_format(&text, "%s", n ? "\n----\n\n" : "");
        OK(report_explain_node(&s.explanation, n, &text, NULL));
    }
    check_columns(&text);
    check_golden(&text, "explain_nodes.txt");
    text_free(&text);
    sample_teardown(&s);
}

static void a_measured_node(void **state)
{
    (void)state;
    struct sample s;
    struct text text = { 0 };
    const char *origins[MOST_CANDIDATES] = { NULL };
    sample_setup(&s);
    origins[2] = "from the store";
    origins[6] = "measured now";
    const struct measured_node measured = {
        .set = &s.f.set, .node = 3, .origins = origins, .device_name = "a machine"
    };
    OK(report_measured_node(&measured, &text, NULL));
    check_columns(&text);
    check_golden(&text, "measured_node.txt");
    text_free(&text);
    sample_teardown(&s);
}

static void what_is_not_known_is_said(void **state)
{
    (void)state;
    struct sample s;
    struct text text = { 0 };
    sample_setup(&s);
    s.explanation.comparable = false;
    memset(s.rivals, 0, sizeof s.rivals);
    OK(report_explain_plan(&s.explanation, &text, NULL));
    assert_non_null(strstr(text.bytes, "nothing can be compared"));
    assert_non_null(strstr(text.bytes, "not known\n"));
    text_free(&text);
    s.explanation.measured = s.explanation.failed = 0;
    s.plan->result_count = 0;
    OK(report_explain_plan(&s.explanation, &text, NULL));
    assert_non_null(strstr(text.bytes, "has no costs for this plan"));
    assert_non_null(strstr(text.bytes, "It took part in no race."));
    text_free(&text);
    s.steps[1] = GRAPH_NONE; /* the plugin does not offer it any more */
    OK(report_explain_node(&s.explanation, 0, &text, NULL));
    assert_non_null(strstr(text.bytes, "its backend does not offer it here"));
    assert_non_null(strstr(text.bytes, "has no costs for this plan"));
    text_free(&text);
    sample_teardown(&s);
}

static void hostile_names_steer_no_terminal(void **state)
{
    (void)state;
    struct sample s;
    struct text text = { 0 };
    sample_setup(&s);
    s.graph->nodes[0].base.name = "\x1b[2J\r";
    s.plan->backends[1].name = "\x1b]0;x\x07";
    s.plan->steps[1].implementation = "\x1b\n";
    s.refusals[ALPHA] = "\x1b\t";
    json_decref(s.plan->evidence);
    s.plan->evidence = json_pack("{s:{s:s}}", "failures", "\x1b[31m", "no number");
    OK(report_explain_plan(&s.explanation, &text, NULL));
    OK(report_explain_node(&s.explanation, 0, &text, NULL));
    for (size_t k = 0; k < text.count; k++)
        assert_true(text.bytes[k] == '\n' || (unsigned char)text.bytes[k] >= 0x20);
    text_free(&text);
    json_decref(s.plan->evidence);
    s.plan->evidence = json_pack("{s:[i]}", "failures", 1); /* free in form */
    OK(report_explain_plan(&s.explanation, &text, NULL));
    text_free(&text);
    sample_teardown(&s);
}

static void ids_and_sizes_are_short(void **state)
{
    (void)state;
    static const struct {
        node_id nodes[16];
        uint32_t count;
        const char *text;
    } rows[] = {
        { { 7 }, 1, "7" },
        { { 7, 8, 9 }, 3, "7-9" },
        { { 1, 3, 4, 9 }, 4, "1, 3-4, 9" },
        { { 0, 2, 4, 6, 8, 10, 12 }, 7, "0, 2, 4, 6, 8, 10, ..." },
        { { 0 }, 0, "" },
    };
    char text[96];
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        report_node_ids(rows[k].nodes, rows[k].count, text, sizeof text);
        assert_string_equal(text, rows[k].text);
    }
    report_node_ids(rows[3].nodes, 7, text, 5);
    assert_string_equal(text, "0, 2");
    report_bytes(0, text, sizeof text);
    assert_string_equal(text, "-");
    report_bytes(1023, text, sizeof text);
    assert_string_equal(text, "1023 B");
    report_bytes(1536, text, sizeof text);
    assert_string_equal(text, "1.5 KiB");
    report_bytes(UINT64_C(5) << 30, text, sizeof text);
    assert_string_equal(text, "5120.0 MiB");
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    for (int which = 0; which < 2; which++) {
        collage_status status = COLLAGE_ERROR_MEMORY;
        size_t n = 1;
        for (; status != COLLAGE_OK && n < 100; n++) {
            struct text text = { 0 };
            memory_fail_after(n);
            status = which ? report_explain_node(&s.explanation, 0, &text, NULL)
                           : report_explain_plan(&s.explanation, &text, NULL);
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
        cmocka_unit_test(a_whole_plan),
        cmocka_unit_test(single_nodes),
        cmocka_unit_test(a_measured_node),
        cmocka_unit_test(what_is_not_known_is_said),
        cmocka_unit_test(hostile_names_steer_no_terminal),
        cmocka_unit_test(ids_and_sizes_are_short),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
