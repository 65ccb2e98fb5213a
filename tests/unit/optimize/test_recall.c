/* SPDX-License-Identifier: Apache-2.0 */
/* What the cost store knows about a plan: a chain of four operators with made-up costs. */
#include "unit/pattern/fixture.h"

#include <unistd.h>

#include "optimize/recall.h"

enum { NODES = 4 };
static const char chain[] = "graph \"chain\" {\n"
                            "  input %v0: float32[4]\n"
                            "  %v1: float32[4] = Relu(%v0)\n"
                            "  %v2: float32[4] = Relu(%v1)\n"
                            "  %v3: float32[4] = Relu(%v2)\n"
                            "  %v4: float32[4] = Relu(%v3)\n"
                            "  output %v4\n}\n";

struct sample {
    struct fixture f;
    char directory[64];
    bool enabled[BACKENDS];
    struct plan *plan;
    struct recall recall;
};

/* The candidate of that backend that begins at `first` and has `count` nodes. */
static candidate_id find(const struct candidate_set *set, uint32_t backend, node_id first,
                         uint32_t count)
{
    for (candidate_id id = 0; id < set->count; id++) {
        const struct candidate *candidate = &set->items[id];
        if (candidate->backend == backend && candidate->region.node_count == count &&
            candidate->region.nodes[0] == first)
            return id;
    }
    fail_msg("no candidate of %u nodes at %u", count, first);
    return GRAPH_NONE;
}

static void set_up(struct sample *s)
{
    *s = (struct sample){ .enabled = { true, true, true } };
    snprintf(s->directory, sizeof s->directory, "/tmp/collage-recall-XXXXXX");
    assert_non_null(mkdtemp(s->directory));
    fixture_open(&s->f, chain);
    for (int b = 0; b < BACKENDS; b++)
        s->f.entries[b].version = "1.0";
    struct error error = { 0 };
    const node_id half[] = { 0, 1 };
    if (candidate_set_enumerate(s->f.set, s->enabled, &error) ||
        candidate_set_add(s->f.set, GRAPHS, half, 2, "half", NULL, &error))
        fail_msg("%s", error.text);
}

static void tear_down(struct sample *s)
{
    static const char *const names[] = { "costs.sqlite", "costs.sqlite-wal", "costs.sqlite-shm",
                                         "costs.lock" };
    char path[128];
    recall_close(&s->recall);
    plan_destroy(s->plan);
    fixture_close(&s->f);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        snprintf(path, sizeof path, "%s/%s", s->directory, names[k]);
        unlink(path);
    }
    assert_int_equal(rmdir(s->directory), 0);
}

/* These candidates, at 100 ns each, become the plan. */
static void make_plan(struct sample *s, candidate_id *chosen, size_t count)
{
    struct error error = { 0 };
    for (size_t k = 0; k < count; k++)
        s->f.set->items[chosen[k]].cost = (struct cost){
            .state = COST_MEASURED, .cost_ns = 100, .implementation = "", .reason = ""
        };
    struct place_problem problem = { .set = s->f.set, .enabled = s->enabled };
    struct placement placement = { .chosen = chosen, .count = count, .cost_ns = 100 };
    if (plan_build(&problem, &placement, "machine", &s->plan, &error))
        fail_msg("%s", error.text);
}

static void put(struct sample *s, struct cost_store *store, candidate_id id, const char *version,
                enum cost_state state, double cost_ns)
{
    const struct candidate *candidate = &s->f.set->items[id];
    const struct cost_conditions conditions = { .backend = s->f.entries[candidate->backend].name,
                                                .version = version,
                                                .device = "machine",
                                                .threads = 1,
                                                .working_set_log2 =
                                                    optimizer_working_set_log2(s->f.graph) };
    const struct cost cost = { .state = state,
                               .cost_ns = cost_ns,
                               .implementation = "",
                               .reason = state == COST_FAILED ? "crashed" : "" };
    struct error error = { 0 };
    if (cost_store_put(store, candidate->key, &conditions, "", &cost, &error))
        fail_msg("%s", error.text);
}

static void open_recall(struct sample *s, const char *directory)
{
    const struct recall_settings settings = { .graph = s->f.graph,
                                              .plan = s->plan,
                                              .registry = &s->f.registry,
                                              .cache_directory = directory };
    struct error error = { 0 };
    if (recall_open(&settings, &s->recall, &error))
        fail_msg("%s", error.text);
}

static void costs_are_those_of_the_plans_conditions(void **state)
{
    (void)state;
    struct sample s;
    struct error error = { 0 };
    struct cost_store *store;
    candidate_id chosen[NODES];
    set_up(&s);
    for (node_id n = 0; n < NODES; n++)
        chosen[n] = find(s.f.set, PLAIN, n, 1);
    make_plan(&s, chosen, NODES);
    assert_int_equal(cost_store_open(s.directory, &store, &error), COLLAGE_OK);
    put(&s, store, chosen[0], "1.0", COST_MEASURED, 90);
    put(&s, store, chosen[0], "9.9", COST_MEASURED, 1); /* not the plan's version */
    put(&s, store, find(s.f.set, GRAPHS, 0, 1), "2.9", COST_MEASURED, 1);
    put(&s, store, find(s.f.set, GRAPHS, 0, 1), "2.10", COST_MEASURED, 120); /* newer than 2.9 */
    put(&s, store, find(s.f.set, GRAPHS, 0, NODES), "2.10", COST_FAILED, 0);
    cost_store_close(store);
    open_recall(&s, s.directory);
    const struct candidate_set *set = s.recall.optimizer.set;
    assert_int_equal(s.recall.measured, 2 * NODES); /* equal operators share their costs */
    assert_int_equal(s.recall.failed, 1);
    assert_int_equal(s.recall.unmeasured, 0);
    assert_string_equal(s.recall.registry.entries[GRAPHS].version, "2.10");
    assert_string_equal(s.f.entries[GRAPHS].version, "1.0"); /* another's stays what it is */
    assert_string_equal(set->items[find(set, GRAPHS, 0, NODES)].cost.reason, "crashed");
    assert_non_null(s.recall.rivals);
    for (uint32_t k = 0; k < NODES; k++) {
        struct rival out[BACKENDS];
        assert_int_equal(s.recall.steps[k], find(set, PLAIN, k, 1));
        assert_true(set->items[s.recall.steps[k]].cost.cost_ns == 90);
        assert_int_equal(recall_find_rivals(&s.recall, k, out, &error), COLLAGE_OK);
        assert_true(out[GRAPHS].found && !out[PLAIN].found && !out[CHAINS].found);
        assert_true(out[GRAPHS].extra_ns > 29.999 && out[GRAPHS].extra_ns < 30.001);
    }
    tear_down(&s);
}

static void merged_regions_are_found_again(void **state)
{
    (void)state;
    struct sample s;
    set_up(&s);
    candidate_id chosen[] = { find(s.f.set, GRAPHS, 0, 2), find(s.f.set, PLAIN, 2, 1),
                              find(s.f.set, PLAIN, 3, 1) };
    make_plan(&s, chosen, 3);
    open_recall(&s, NULL); /* an empty store, in memory */
    const struct candidate_set *set = s.recall.optimizer.set;
    assert_int_equal(s.recall.steps[0], find(set, GRAPHS, 0, 2));
    assert_int_equal(s.recall.measured, 0);
    assert_true(set->items[s.recall.steps[0]].cost.cost_ns == 100); /* the plan's own */
    assert_null(s.recall.rivals);
    struct rival out[BACKENDS];
    assert_int_equal(recall_find_rivals(&s.recall, 0, out, NULL), COLLAGE_OK);
    for (int b = 0; b < BACKENDS; b++)
        assert_false(out[b].found);
    tear_down(&s);
}

static void a_backend_that_is_gone_has_no_candidate(void **state)
{
    (void)state;
    struct sample s;
    set_up(&s);
    candidate_id chosen[NODES];
    for (node_id n = 0; n < NODES; n++)
        chosen[n] = find(s.f.set, n == 1 ? GRAPHS : PLAIN, n, 1);
    make_plan(&s, chosen, NODES);
    s.f.entries[GRAPHS].name = "renamed";
    open_recall(&s, NULL);
    assert_int_equal(s.recall.steps[1], GRAPH_NONE);
    assert_int_not_equal(s.recall.steps[0], GRAPH_NONE);
    s.f.entries[GRAPHS].name = "graphs";
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_those_of_the_plans_conditions),
        cmocka_unit_test(merged_regions_are_found_again),
        cmocka_unit_test(a_backend_that_is_gone_has_no_candidate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
