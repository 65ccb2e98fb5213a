/* SPDX-License-Identifier: Apache-2.0 */
/* One library more at a time, with made-up costs: in which order, and what is told of the race. */
#include "unit/pattern/fixture.h"

#include "optimize/key_table.h"
#include "optimize/optimizer.h"

#define OK_STATUS(call) assert_int_equal(call, COLLAGE_OK)

enum { NODES = 4, ROOM = 8, ROUNDS = 20 };
static const char chain[] = "graph \"chain\" {\n"
                            "  input %v0: float32[4]\n"
                            "  %v1: float32[4] = Relu(%v0)\n"
                            "  %v2: float32[4] = Relu(%v1)\n"
                            "  %v3: float32[4] = Relu(%v2)\n"
                            "  %v4: float32[4] = Relu(%v3)\n"
                            "  output %v4\n}\n";

/* The first backend of the fixture stands for the reference; "chains" takes nothing of this graph.
 */
struct sample {
    struct fixture f;
    struct optimizer optimizer;
    bool enabled[BACKENDS];
    struct contestant contestants[ROOM];
    struct plan *plans[ROOM];
    const char *names[ROOM], *notes[ROOM];
    enum proof proofs[ROOM];
    double samples[ROOM][ROUNDS];
};

static void set_up(struct sample *s)
{
    *s = (struct sample){ .enabled = { true, true, true } };
    fixture_open(&s->f, chain);
    for (uint32_t b = 0; b < BACKENDS; b++)
        s->f.entries[b].version = "1";
    struct error error = { 0 };
    if (candidate_set_enumerate(s->f.set, s->enabled, &error))
        fail_msg("%s", error.text);
    s->optimizer = (struct optimizer){ .set = s->f.set,
                                       .enabled = s->enabled,
                                       .arena = arena_create(),
                                       .known = key_table_create(),
                                       .contestants = s->contestants,
                                       .plans = s->plans,
                                       .names = s->names,
                                       .notes = s->notes,
                                       .proofs = s->proofs,
                                       .contestant_capacity = ROOM };
    s->optimizer.settings.graph = s->f.set->graph;
    s->optimizer.settings.registry = s->f.set->registry;
    s->optimizer.settings.remeasure = true; /* there is no store; the budget is spent */
    s->optimizer.target.threads = 1;
}

static void tear_down(struct sample *s)
{
    for (size_t k = 0; k < s->optimizer.contestant_count; k++)
        plan_destroy(s->plans[k]);
    memory_free(s->optimizer.rounds);
    key_table_destroy(s->optimizer.known);
    arena_destroy(s->optimizer.arena);
    fixture_close(&s->f);
}

/* All that covers just the node on that backend. */
static void set_cost(struct sample *s, uint32_t backend, node_id node, enum cost_state state,
                     double ns)
{
    size_t found = 0;
    for (size_t c = 0; c < s->f.set->count; c++) {
        struct candidate *candidate = &s->f.set->items[c];
        if (candidate->backend != backend || candidate->region.node_count != 1 ||
            candidate->region.nodes[0] != node)
            continue;
        candidate->cost = (struct cost){
            .state = state, .cost_ns = ns, .passes = 9, .implementation = "", .reason = ""
        };
        found++;
    }
    assert_true(found > 0);
}

static void place(struct sample *s)
{
    struct error error = { 0 };
    if (optimizer_place_ablation(&s->optimizer, &error))
        fail_msg("%s", error.text);
    assert_int_equal(s->optimizer.ablation_count, 2);
    assert_ptr_equal(s->optimizer.enabled, s->enabled);
}

static void write_out(struct sample *s, struct ablation *out)
{
    struct error error = { 0 };
    if (optimizer_write_ablation(&s->optimizer, out, &error))
        fail_msg("%s", error.text);
    assert_int_equal(out->row_count, 2);
}

/* Whoever makes the whole cheapest comes first; who cannot gain anything has the same plan. */
static void the_best_library_comes_first(void **state)
{
    (void)state;
    struct sample s;
    struct ablation out;
    set_up(&s);
    for (node_id n = 0; n < NODES; n++) {
        set_cost(&s, PLAIN, n, COST_MEASURED, 1000);
        set_cost(&s, GRAPHS, n, COST_MEASURED, 100);
    }
    place(&s);
    assert_int_equal(s.optimizer.ablation[0].backend, GRAPHS);
    assert_int_equal(s.optimizer.ablation[1].backend, CHAINS);
    assert_int_equal(s.optimizer.contestant_count, 1);
    assert_int_equal(s.optimizer.ablation[1].contestant, 0);
    for (size_t k = 0; k < ROUNDS; k++)
        s.samples[0][k] = 500;
    s.contestants[0].samples = s.samples[0];
    s.contestants[0].sample_count = ROUNDS;
    write_out(&s, &out);
    assert_string_equal(out.rows[0].added, "graphs");
    assert_false(out.rows[0].same);
    assert_true(out.rows[1].same);
    assert_true(out.rows[0].predicted_ns >= 400 && out.rows[0].predicted_ns < 1000);
    assert_true(out.rows[0].median_ns >= 500 && out.rows[0].median_ns <= 500);
    assert_true(out.rows[1].speed_up.median >= 1 && out.rows[1].speed_up.median <= 1);
    tear_down(&s);
}

/* Alone, "chains" runs all on the reference; then "graphs" helps with two nodes of four. */
static void each_row_is_compared_with_the_first_and_the_one_before(void **state)
{
    (void)state;
    struct sample s;
    struct ablation out;
    set_up(&s);
    s.enabled[GRAPHS] = false;
    for (node_id n = 0; n < NODES; n++)
        set_cost(&s, PLAIN, n, COST_MEASURED, 1000);
    struct error error = { 0 };
    OK_STATUS(optimizer_place_ablation(&s.optimizer, &error));
    assert_int_equal(s.optimizer.ablation_count, 1);
    s.enabled[GRAPHS] = true;
    set_cost(&s, GRAPHS, 0, COST_MEASURED, 100);
    set_cost(&s, GRAPHS, 3, COST_MEASURED, 100);
    struct plan *plan;
    bool all[BACKENDS] = { true, true, true };
    OK_STATUS(optimizer_place_on(&s.optimizer, all, true, &plan, &error));
    assert_non_null(plan);
    OK_STATUS(optimizer_add_mix(&s.optimizer, "+ graphs", plan, &error));
    assert_false(optimizer_same_steps(s.plans[0], s.plans[1]));
    s.optimizer.ablation[s.optimizer.ablation_count++] =
        (struct optimizer_ablation){ .backend = GRAPHS, .contestant = 1 };
    OK_STATUS(optimizer_add_library(&s.optimizer, GRAPHS, &error));
    for (size_t c = 0; c < 3; c++) {
        for (size_t k = 0; k < ROUNDS; k++)
            s.samples[c][k] = (c == 0 ? 3000 : c == 1 ? 2000 : 6000) * (k % 3 ? 1 : 1.5);
        s.contestants[c].samples = s.samples[c];
        s.contestants[c].sample_count = ROUNDS;
    }
    write_out(&s, &out);
    assert_false(out.rows[1].same);
    assert_true(out.rows[1].speed_up.median > 1.499 && out.rows[1].speed_up.median < 1.501);
    assert_true(out.rows[1].gain.low > 1.499 && out.rows[1].gain.high < 1.501);
    assert_int_equal(out.alone_count, 1);
    assert_string_equal(out.alone[0].added, "graphs");
    assert_true(out.alone[0].speed_up.median > 0.499 && out.alone[0].speed_up.median < 0.501);
    tear_down(&s);
}

/* Nobody has a kernel for one node, not even the reference. */
static void without_a_placement_the_row_says_so(void **state)
{
    (void)state;
    struct sample s;
    struct ablation out;
    set_up(&s);
    for (node_id n = 0; n < NODES; n++) {
        set_cost(&s, PLAIN, n, n == 1 ? COST_FAILED : COST_MEASURED, 1000);
        set_cost(&s, GRAPHS, n, n == 1 ? COST_FAILED : COST_MEASURED, 100);
    }
    place(&s);
    assert_int_equal(s.optimizer.contestant_count, 0);
    write_out(&s, &out);
    for (size_t k = 0; k < out.row_count; k++) {
        assert_non_null(strstr(out.rows[k].failure, "no placement"));
        assert_false(out.rows[k].same);
        assert_true(out.rows[k].speed_up.median <= 0);
    }
    tear_down(&s);
}

static void without_a_library_there_is_nothing_to_add(void **state)
{
    (void)state;
    struct sample s;
    struct error error = { 0 };
    set_up(&s);
    s.enabled[CHAINS] = s.enabled[GRAPHS] = false;
    assert_int_equal(optimizer_place_ablation(&s.optimizer, &error), COLLAGE_ERROR_BACKEND);
    assert_non_null(strstr(error.text, "no library"));
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_library_comes_first),
        cmocka_unit_test(each_row_is_compared_with_the_first_and_the_one_before),
        cmocka_unit_test(without_a_placement_the_row_says_so),
        cmocka_unit_test(without_a_library_there_is_nothing_to_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
