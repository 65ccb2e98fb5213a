/* SPDX-License-Identifier: Apache-2.0 */
/* The placement log: written from a plan, read back as pins, and what is no such file. */
#include "unit/run/fake.h"

#include <unistd.h>

#include "base/file.h"
#include "plan/placement_log.h"

static char path[] = "/tmp/placement-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int drop_file(void **state)
{
    (void)state;
    return unlink(path);
}

/*
 * x -> n0 Relu -> n1 Relu -> n2 Add -> n3 Reshape -> n4 Relu, the output. n2 takes n1's result
 *       \_________________/            first, then x: depth first n0 and n1 come before it.
 * n5 Relu of x is an output of its own, the first one.
 */
struct sample {
    struct graph *graph;
    struct fake f;
    struct plan *plan;
};

static void sample_setup(struct sample *s)
{
    struct tensor image = fake_image(), matrix = fake_matrix();
    s->graph = fake_graph();
    value_id x = fake_value(s->graph, VALUE_INPUT, &image);
    value_id a = fake_node(s->graph, FAKE_RELU, x, 0, NULL);
    value_id b = fake_node(s->graph, FAKE_RELU, a, 0, NULL);
    value_id c = fake_node(s->graph, FAKE_ADD, b, x, NULL);
    value_id view = fake_node(s->graph, FAKE_RESHAPE, c, 0, &matrix);
    value_id out = fake_node(s->graph, FAKE_RELU, view, 0, NULL);
    value_id other = fake_node(s->graph, FAKE_RELU, x, 0, NULL);
    fake_ports(s->graph, &x, 1, (value_id[]){ other, out }, 2);
    fake_setup(&s->f, s->graph);
    fake_choose(&s->f, 1, 0, false, (node_id[]){ 0 }, 1);
    fake_choose(&s->f, 0, 1, false, (node_id[]){ 1, 2 }, 2);
    fake_choose(&s->f, 1, 0, true, (node_id[]){ 3 }, 1);
    fake_choose(&s->f, 1, 0, false, (node_id[]){ 4 }, 1);
    fake_choose(&s->f, 0, 0, false, (node_id[]){ 5 }, 1);
    s->plan = fake_build(&s->f);
}

static void sample_teardown(struct sample *s)
{
    plan_destroy(s->plan);
    fake_teardown(&s->f);
    graph_destroy(s->graph);
}

static struct pins *no_pins(const struct sample *s)
{
    struct pins *pins;
    OK(pins_create(s->graph, &s->f.registry, &pins, NULL));
    return pins;
}

static void test_it_is_a_table(void **state)
{
    (void)state;
    static const char wanted[] = "post_dfs_order,annotation\n"
                                 "0,3-alpha_Relu\n" /* n5: the first output */
                                 "1,0-beta_Relu\n"
                                 "2,1-alpha_Relu+Add\n"
                                 "3,1-alpha_Relu+Add\n";
    struct sample s;
    struct text text = { 0 };
    sample_setup(&s);
    OK(placement_log_write(s.plan, s.graph, &text, NULL));
    assert_true(strncmp(text.bytes, wanted, strlen(wanted)) == 0);
    assert_non_null(strstr(text.bytes, "-view_Reshape\n5,2-beta_Relu\n"));
    text_free(&text);
    sample_teardown(&s);
}

/* The pins that come of it allow what was chosen, and nothing else. */
static void test_round_trip(void **state)
{
    (void)state;
    struct sample s;
    struct text text = { 0 };
    struct error error = { 0 };
    sample_setup(&s);
    struct pins *pins = no_pins(&s);
    OK(placement_log_write(s.plan, s.graph, &text, NULL));
    OK(file_write(path, text.bytes, text.count, NULL));
    if (placement_log_read(path, pins, &error))
        fail_msg("%s", error.text);
    assert_int_equal(pins_count(pins), s.graph->node_count);
    assert_int_equal(pins->group_count, s.f.chosen_count);
    for (size_t k = 0; k < s.f.chosen_count; k++) {
        struct candidate candidate = s.f.set.items[s.f.chosen[k]];
        assert_true(pins_name(pins, &candidate) && pins_allow(pins, &candidate));
        candidate.backend = 1 - candidate.backend;
        assert_true(candidate.view || !pins_allow(pins, &candidate));
        candidate.view = !candidate.view;
        assert_false(pins_allow(pins, &candidate));
    }
    pins_destroy(pins);
    text_free(&text);
    sample_teardown(&s);
}

struct text_case {
    const char *text, *message; /* NULL: it is fine */
};

/* What follows the first line, and what is said of it, behind the name of the file. */
static const struct text_case rows[] = {
    { "", NULL },
    { "1,5-beta\n", NULL },
    { "\n3,5-alpha_Relu+Add\r\n\n2,5-alpha", NULL },
    { "2,5-\"alpha\"\n", "line 2: '\"alpha\"' does not begin with a backend" },
    { "2,\"5-alpha_Relu\"\n", NULL },
    { "4,5-view\n", NULL },
    { "hello\n", "line 2: 'hello' is not a number, a comma and an annotation" },
    { "1;5-beta\n", "line 2: '1;5-beta' is not a number, a comma and an annotation" },
    { "-1,5-beta\n", "line 2: '-1,5-beta' is not a number" },
    { " 1,5-beta\n", "line 2: ' 1,5-beta' is not a number" },
    { "4294967296,5-beta\n", "is not a number" },
    { "99999999999999999999,5-beta\n", "is not a number" },
    { "1,beta\n", "line 2: 'beta' is not GROUP-BACKEND_PATTERN" },
    { "1,5beta\n", "line 2: '5beta' is not GROUP-BACKEND_PATTERN" },
    { "1,-5-beta\n", "is not GROUP-BACKEND_PATTERN" },
    { "1,5-gamma_Relu\n", "line 2: 'gamma_Relu' does not begin with a backend" },
    { "1,5-betamax\n", "line 2: 'betamax' does not begin with a backend" },
    { "6,5-beta\n", "line 2: there is no node 6: the model has 6" },
    { "1,5-beta\n1,6-beta\n", "line 3: node 1 has a line before" },
    { "1,5-beta\n2,5-alpha\n", "line 3: group 5 is on 'beta' and on 'alpha'" },
    { "2,5-alpha_Relu+Add\n3,5-alpha_Relu\n",
      "line 3: group 5 was 'Relu+Add' before, and is 'Relu' here" },
    { "2,5-alpha_Relu+Add\n", ": group 5 is 'Relu+Add' there, but its nodes are Relu: the file" },
    { "1,5-beta_Conv\n", ": group 5 is 'Conv' there, but its nodes are Relu: the file is of" },
};

static void read_text(const struct sample *s, const struct text_case *row, const char *bytes,
                      size_t count)
{
    struct error error = { 0 };
    struct pins *pins = no_pins(s);
    OK(file_write(path, bytes, count, NULL));
    collage_status status = placement_log_read(path, pins, &error);
    if (!row->message && status)
        fail_msg("'%s': %s", row->text, error.text);
    if (row->message) {
        if (status == COLLAGE_OK || !strstr(error.text, row->message))
            fail_msg("'%s': '%s' instead of '%s'", row->text, error.text, row->message);
        assert_true(strncmp(error.text, "'/tmp/placement-", 16) == 0); /* names the file */
        assert_null(strchr(error.text, '\n'));
    }
    pins_destroy(pins);
}

static void test_rows(void **state)
{
    (void)state;
    struct sample s;
    sample_setup(&s);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct text text = { 0 };
        text_format(&text, "post_dfs_order,annotation\n%s", rows[k].text);
        read_text(&s, &rows[k], text.bytes, text.count);
        text_free(&text);
    }
    sample_teardown(&s);
}

static void test_what_is_no_table(void **state)
{
    (void)state;
    static const struct text_case wholes[] = {
        { "", "' is empty" },
        { "annotation\n", "line 1: the first line must be 'post_dfs_order,annotation'" },
        { "\n", "line 1: the first line must be" },
        { "{\"format\": \"collage-plan\"}", "line 1: the first line must be" },
    };
    static const struct text_case bytes = { "NUL", "line 1: this is no line of text" };
    static const struct text_case lines = { "long", "line 2: this is no line of text" };
    struct sample s;
    sample_setup(&s);
    for (size_t k = 0; k < sizeof wholes / sizeof *wholes; k++)
        read_text(&s, &wholes[k], wholes[k].text, strlen(wholes[k].text));
    read_text(&s, &bytes, "post\0dfs\n", 9);
    char text[2000];
    memset(text, '1', sizeof text);
    memcpy(text, "post_dfs_order,annotation\n", 26);
    read_text(&s, &lines, text, sizeof text);
    struct error error = { 0 };
    struct pins *pins = no_pins(&s);
    assert_int_equal(placement_log_read("/nonexistent.csv", pins, &error), COLLAGE_ERROR_IO);
    assert_non_null(strstr(error.text, "'/nonexistent.csv'"));
    pins_destroy(pins);
    sample_teardown(&s);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct sample s;
    struct text text = { 0 };
    sample_setup(&s);
    OK(placement_log_write(s.plan, s.graph, &text, NULL));
    OK(file_write(path, text.bytes, text.count, NULL));
    text_free(&text);
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status == COLLAGE_ERROR_MEMORY && n < 1000; n++) {
        struct pins *pins = NULL;
        struct error error = { 0 };
        memory_fail_after(n);
        status = pins_create(s.graph, &s.f.registry, &pins, &error);
        if (!status)
            status = placement_log_read(path, pins, &error);
        if (!status)
            status = placement_log_write(s.plan, s.graph, &text, &error);
        memory_fail_after(0);
        assert_int_equal(status, error.status);
        pins_destroy(pins);
        text_free(&text);
    }
    assert_true(n > 3);
    assert_int_equal(status, COLLAGE_OK);
    sample_teardown(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_a_table), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_rows),          cmocka_unit_test(test_what_is_no_table),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_file, drop_file);
}
