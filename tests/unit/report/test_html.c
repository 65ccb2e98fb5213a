/* SPDX-License-Identifier: Apache-2.0 */
/* The page: as a golden text, with names that want out, and where its boxes are. */
#include "unit/report/explained.h"

#include "report/escape.h"
#include "report/html.h"
#include "report/layers.h"

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}

/* What the script reads. */
static json_t *data_of(const struct text *page)
{
    static const char begin[] = "<script type=\"application/json\" id=\"data\">";
    const char *at = strstr(page->bytes, begin);
    assert_non_null(at);
    at += strlen(begin);
    const char *end = strstr(at, "</script>");
    assert_non_null(end);
    json_error_t where;
    json_t *json = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, &where);
    if (!json)
        fail_msg("%s", where.text);
    return json;
}

static void golden_page(void **state)
{
    (void)state;
    struct sample s;
    struct text text = { 0 }, again = { 0 };
    sample_setup(&s);
    OK(report_html(s.graph, s.plan, &s.explanation, &text, NULL));
    OK(report_html(s.graph, s.plan, &s.explanation, &again, NULL));
    assert_string_equal(text.bytes, again.bytes);
    check_golden(&text, "plan.html");
    text_free(&text);
    text_free(&again);
    sample_teardown(&s);
}

static void the_data_tell_the_roofline(void **state)
{
    (void)state;
    struct sample s;
    struct text text = { 0 };
    struct roofline roofline;
    static const struct peaks peaks = { .threads = 1,
                                        .flop_per_ns = 0.1,
                                        .bytes_per_ns = { 4, 2, 1 },
                                        .level_2_bytes = 100000,
                                        .last_level_bytes = 1000000 };
    sample_setup(&s);
    OK(plan_roofline(s.plan, s.graph, &peaks, NULL, s.graph->arena, &roofline, NULL));
    s.explanation.roofline = &roofline;
    OK(report_html(s.graph, s.plan, &s.explanation, &text, NULL));
    json_t *data = data_of(&text);
    const json_t *kernel = json_array_get(json_object_get(data, "steps"), 1);
    assert_int_equal(json_integer_value(json_object_get(kernel, "o")), 108);
    assert_int_equal(json_integer_value(json_object_get(kernel, "y")), 288);
    assert_int_equal(json_integer_value(json_object_get(kernel, "u")), 1080);
    json_decref(data);
    text_free(&text);
    sample_teardown(&s);
}

static void the_data_tell_the_alternatives(void **state)
{
    (void)state;
    struct sample s;
    struct text text = { 0 };
    sample_setup(&s);
    OK(report_html(s.graph, s.plan, &s.explanation, &text, NULL));
    json_t *data = data_of(&text);
    const json_t *steps = json_object_get(data, "steps");
    assert_int_equal(json_array_size(steps), STEPS);
    assert_int_equal(json_integer_value(json_object_get(data, "first")), 2); /* inputs */
    const json_t *kernel = json_array_get(steps, 1);
    assert_null(json_object_get(kernel, "u")); /* the machine's peaks are not known */
    assert_string_equal(json_string_value(json_object_get(kernel, "w")), "Relu+Add");
    assert_int_equal(json_array_size(json_object_get(kernel, "i")), 2);
    assert_int_equal(json_array_size(json_object_get(kernel, "r")), 1);
    assert_int_equal(json_array_size(json_object_get(kernel, "a")), 2); /* the two pieces */
    const json_t *last = json_array_get(steps, 5);
    const json_t *failed = json_array_get(json_object_get(last, "a"), 0);
    assert_string_equal(json_string_value(json_array_get(failed, 7)), "wrong result: NaN");
    const json_t *refusal = json_array_get(json_object_get(last, "f"), 0);
    assert_string_equal(json_string_value(json_array_get(refusal, 2)), "no Relu today");
    assert_string_equal(json_string_value(json_object_get(json_array_get(steps, 0), "w")),
                        "plain > aBcd4b");
    json_decref(data);
    text_free(&text);
    OK(report_html(s.graph, s.plan, NULL, &text, NULL)); /* nothing is known */
    assert_non_null(strstr(text.bytes, "has no costs of alternatives"));
    data = data_of(&text);
    assert_int_equal(json_integer_value(json_object_get(data, "known")), 0);
    json_decref(data);
    text_free(&text);
    sample_teardown(&s);
}

/* Names come from files that nobody checked: none may become an element, an attribute or code. */
static void hostile_names(void **state)
{
    (void)state;
    static const char evil[] = "</script><img src=x onerror=alert(1)>\"' onload='x\x1b\x80\xe2\x80"
                               "\xae<!--";
    struct sample s;
    struct text text = { 0 };
    sample_setup(&s);
    s.graph->name = evil;
    s.graph->values[0].name = evil;
    s.graph->values[2].name = evil;
    for (size_t n = 0; n < s.graph->node_count; n++)
        s.graph->nodes[n].base.name = evil;
    s.plan->backends[0].name = s.plan->backends[0].version = evil;
    s.plan->device_name = evil;
    s.plan->steps[1].variant = s.plan->steps[1].implementation = evil;
    s.f.entries[ALPHA].name = evil;
    s.refusals[4 * 2 + ALPHA] = evil;
    s.f.set.items[7].cost.reason = evil; /* what failed */
    s.f.set.items[4].variant = evil;
    struct plan_result odd[] = { results[0], { .name = evil, .note = evil } };
    s.plan->results = odd;
    s.plan->result_count = 2;
    OK(report_html(s.graph, s.plan, &s.explanation, &text, NULL));
    assert_int_equal(strlen(text.bytes), text.count);
    assert_int_equal(count_of(text.bytes, "<script"), 2);
    assert_int_equal(count_of(text.bytes, "</script"), 2);
    assert_int_equal(count_of(text.bytes, "<img"), 0);
    assert_int_equal(count_of(text.bytes, "<!--"), 0);
    assert_int_equal(count_of(text.bytes, "\" onerror"), 0);
    assert_int_equal(count_of(text.bytes, "' onload"), 0);
    assert_int_equal(count_of(text.bytes, "\xe2\x80\xae"), 0); /* right to left from here on */
    for (size_t k = 0; k < text.count; k++)
        assert_true(text.bytes[k] == '\n' ||
                    ((unsigned char)text.bytes[k] >= 0x20 && (unsigned char)text.bytes[k] < 0x80));
    json_t *data = data_of(&text);
    const json_t *node =
        json_array_get(json_object_get(json_array_get(json_object_get(data, "steps"), 1), "i"), 0);
    const char *name = json_string_value(json_array_get(node, 2));
    assert_non_null(name);
    assert_int_equal(strncmp(name, evil, 40), 0); /* as text it is all there */
    json_decref(data);
    text_free(&text);
    sample_teardown(&s);
}

/* The page of a plan with that evidence; the caller's. */
static struct text page_with(struct sample *s, const char *evidence)
{
    struct text text = { 0 };
    json_decref(s->plan->evidence);
    s->plan->evidence = json_loads(evidence, 0, NULL);
    assert_non_null(s->plan->evidence);
    OK(report_html(s->graph, s->plan, NULL, &text, NULL));
    return text;
}

/* As far as the evidence makes sense: plans come from anywhere. */
static void the_search_is_drawn(void **state)
{
    (void)state;
    static const struct {
        const char *evidence;
        size_t points; /* 0: no chart */
        const char *has;
    } rows[] = {
        { "{}", 0, "<main>" },
        { "{\"convergence\":[{\"step\":0,\"best_ns\":5}]}", 0, "<main>" }, /* no curve */
        { "{\"convergence\":[{\"step\":0,\"best_ns\":3e6},{\"step\":2,\"best_ns\":2e6}]}", 2,
          "from 3.000 ms to 2.000 ms" },
        { "{\"convergence\":[{\"step\":0,\"best_ns\":3e6},{\"step\":1,\"best_ns\":4e6}]}", 2,
          "from 3.000 ms to 3.000 ms" }, /* the best so far */
        { "{\"evolution\":{\"best_ns\":[3e6,2e6,2e6,1e6]}}", 4, "generation 4: 1.000 ms" },
        { "{\"evolution\":{\"best_ns\":[0,3e6,-1,\"x\",null,2e6]}}", 2, "generation 6" },
        { "{\"evolution\":[1],\"convergence\":7}", 0, "<main>" },
        { "{\"convergence\":[{\"step\":2,\"best_ns\":3},{\"step\":1,\"best_ns\":2},{}]}", 0,
          "<main>" },
        { "{\"convergence\":[{\"step\":\"<b>\",\"best_ns\":1e300},[],\"<i>\"]}", 0, "<main>" },
    };
    struct sample s;
    sample_setup(&s);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct text text = page_with(&s, rows[k].evidence);
        assert_int_equal(count_of(text.bytes, "<figure"), rows[k].points > 0);
        assert_int_equal(count_of(text.bytes, "<circle"), rows[k].points);
        if (!strstr(text.bytes, rows[k].has))
            fail_msg("no '%s' for %s", rows[k].has, rows[k].evidence);
        text_free(&text);
    }
    struct text text = page_with(&s, "{\"ended_early\":true}");
    assert_non_null(strstr(text.bytes, "ended early"));
    text_free(&text);
    sample_teardown(&s);
}

/* Reorders and copies go with the kernels before them: two runs of six steps. */
static void steps_on_one_backend_fold(void **state)
{
    (void)state;
    struct sample s;
    struct text text = { 0 };
    sample_setup(&s);
    OK(report_html(s.graph, s.plan, &s.explanation, &text, NULL));
    assert_int_equal(count_of(text.bytes, "<g class=\"f\""), 2);
    assert_non_null(strstr(text.bytes, "data-from=\"0\" data-to=\"3\""));
    assert_non_null(strstr(text.bytes, "data-from=\"4\" data-to=\"5\""));
    assert_non_null(strstr(text.bytes, "aria-label=\"Steps 4 to 5 on beta, 4.0 us, 49.8 %\""));
    assert_int_equal(count_of(text.bytes, "<path class=\"fe\""), 5);
    assert_int_equal(count_of(text.bytes, "id=\"fold\""), 1);
    assert_int_equal(count_of(text.bytes, "<rect data-i="), 5); /* a copy has no time */
    text_free(&text);
    s.plan->step_count = 0; /* nothing to fold */
    OK(report_html(s.graph, s.plan, NULL, &text, NULL));
    assert_int_equal(count_of(text.bytes, "id=\"fold"), 0);
    text_free(&text);
    s.plan->step_count = STEPS;
    sample_teardown(&s);
}

static void escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *html, *json;
    } rows[] = {
        { "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;", "\"a\\u003cb\\u003e\\u0026\\u0022\\u0027\"" },
        { "\xc3\xa9", "\xc3\xa9", "\"\\u00e9\"" },
        { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\"\\ud83d\\ude00\"" },
        { "\xc0\xaf", "&#xfffd;&#xfffd;", "\"\\ufffd\\ufffd\"" }, /* overlong */
        { "\xed\xa0\x80", "&#xfffd;&#xfffd;&#xfffd;", "\"\\ufffd\\ufffd\\ufffd\"" },
        { "\xf4\x90\x80\x80", "&#xfffd;&#xfffd;&#xfffd;&#xfffd;",
          "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
        { "x\xe2\x82", "x&#xfffd;&#xfffd;", "\"x\\ufffd\\ufffd\"" }, /* cut off */
        { "a\nb\x7f", "a&#xfffd;b&#xfffd;", "\"a\\ufffdb\\ufffd\"" },
        { "\\", "\\", "\"\\u005c\"" },
        { "", "", "\"\"" },
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct text html = { 0 }, json = { 0 };
        text_string(&html, "");
        report_put_html(&html, rows[k].text, 0);
        report_put_json(&json, rows[k].text);
        assert_string_equal(html.bytes, rows[k].html);
        assert_string_equal(json.bytes, rows[k].json);
        text_free(&html);
        text_free(&json);
    }
    struct text cut = { 0 };
    report_put_html(&cut, "\xc3\xa9<abc", 3);
    assert_string_equal(cut.bytes, "\xc3\xa9&lt;a...");
    text_free(&cut);
}

/* ---- where the boxes are ---- */

static void assert_drawn_well(const struct layers *layers)
{
    for (size_t a = 0; a < layers->box_count; a++) {
        const struct layer_box *x = &layers->boxes[a];
        assert_true(x->x - x->width / 2 >= 0 && x->x + x->width / 2 <= layers->width);
        assert_true(x->y - x->height / 2 >= 0 && x->y + x->height / 2 <= layers->height);
        for (size_t b = a + 1; b < layers->box_count; b++) {
            const struct layer_box *y = &layers->boxes[b];
            bool apart = 2 * (x->x > y->x ? x->x - y->x : y->x - x->x) >= x->width + y->width ||
                         2 * (x->y > y->y ? x->y - y->y : y->y - x->y) >= x->height + y->height;
            assert_true(apart);
        }
    }
    for (size_t e = 0; e < layers->edge_count; e++) {
        const struct layer_edge *edge = &layers->edges[e];
        const struct layer_box *from = &layers->boxes[edge->from], *to = &layers->boxes[edge->to];
        assert_true(from->layer < to->layer && from->y < to->y);
        assert_true(edge->bend_count == 0 || edge->bend_count == to->layer - from->layer - 1);
        double y = from->y;
        for (uint32_t k = 0; k < edge->bend_count; k++) {
            assert_true(layers->bends[edge->bends + k].y > y);
            y = layers->bends[edge->bends + k].y;
        }
        assert_true(to->y > y);
    }
}

/* Chains with branches and long edges, of several sizes; the last is as large as a real network. */
static void boxes_do_not_overlap(void **state)
{
    (void)state;
    static const size_t sizes[] = { 0, 1, 2, 7, 60, 1000 };
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        size_t count = sizes[k];
        struct arena *arena = arena_create();
        struct layers layers = { .box_count = count };
        uint64_t seed = count;
        layers.boxes = arena_array(arena, count, sizeof *layers.boxes);
        layers.edges = arena_array(arena, 3 * count, sizeof *layers.edges);
        for (size_t b = 0; b < count; b++) {
            layers.boxes[b].width = 40 + 20 * (double)(b % 5);
            layers.boxes[b].height = 20 + 10 * (double)(b % 3);
            if (b == 0)
                continue;
            uint32_t to = (uint32_t)b;
            uint32_t near = (uint32_t)(splitmix64(&seed) % (b < 4 ? b : 4)) + 1;
            layers.edges[layers.edge_count++] = (struct layer_edge){ .from = to - near, .to = to };
            if (b % 7 == 0) /* from anywhere */
                layers.edges[layers.edge_count++] =
                    (struct layer_edge){ .from = (uint32_t)(splitmix64(&seed) % b), .to = to };
        }
        OK(layers_arrange(&layers, arena, NULL));
        assert_drawn_well(&layers);
        arena_destroy(arena);
    }
}

/* A source that is used late stands just above its user. */
static void sources_stand_where_they_are_used(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct layer_box boxes[5];
    struct layer_edge edges[] = { { .from = 0, .to = 1 },
                                  { .from = 1, .to = 2 },
                                  { .from = 2, .to = 4 },
                                  { .from = 3, .to = 4 },
                                  { .from = 0, .to = 4 } };
    for (int b = 0; b < 5; b++)
        boxes[b] = (struct layer_box){ .width = 10, .height = 10 };
    struct layers layers = { .boxes = boxes, .box_count = 5, .edges = edges, .edge_count = 5 };
    OK(layers_arrange(&layers, arena, NULL));
    assert_drawn_well(&layers);
    assert_int_equal(boxes[4].layer, 3);
    assert_int_equal(boxes[3].layer, 2);
    assert_int_equal(edges[4].bend_count, 2);
    assert_int_equal(edges[0].bend_count, 0);
    arena_destroy(arena);
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    struct sample s;
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    sample_setup(&s);
    for (; status != COLLAGE_OK && n < 400; n++) {
        struct text text = { 0 };
        memory_fail_after(n);
        status = report_html(s.graph, s.plan, &s.explanation, &text, NULL);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MEMORY);
        text_free(&text);
    }
    assert_true(status == COLLAGE_OK && n > 2);
    sample_teardown(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_page),
        cmocka_unit_test(the_data_tell_the_roofline),
        cmocka_unit_test(the_data_tell_the_alternatives),
        cmocka_unit_test(hostile_names),
        cmocka_unit_test(the_search_is_drawn),
        cmocka_unit_test(steps_on_one_backend_fold),
        cmocka_unit_test(escapes),
        cmocka_unit_test(boxes_do_not_overlap),
        cmocka_unit_test(sources_stand_where_they_are_used),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
