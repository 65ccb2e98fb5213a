/* SPDX-License-Identifier: Apache-2.0 */
/* Which regions are worth a measurement, on a chain of four operators with made-up costs. */
#include "unit/pattern/fixture.h"

#include "optimize/worth.h"

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
    struct optimizer optimizer;
    struct worth worth;
    bool enabled[BACKENDS];
};

static void set_up(struct sample *s)
{
    *s = (struct sample){ .enabled = { true, false, true } };
    fixture_open(&s->f, chain);
    struct error error = { 0 };
    if (candidate_set_enumerate(s->f.set, s->enabled, &error))
        fail_msg("%s", error.text);
    const node_id half[] = { 0, 1 };
    if (candidate_set_add(s->f.set, GRAPHS, half, 2, "half", NULL, &error))
        fail_msg("%s", error.text);
    s->optimizer = (struct optimizer){ .set = s->f.set, .enabled = s->enabled };
    s->optimizer.settings.graph = s->f.set->graph;
    s->optimizer.settings.registry = s->f.set->registry;
}

static void tear_down(struct sample *s)
{
    worth_free(&s->worth);
    fixture_close(&s->f);
}

/* The candidate of that backend that begins at `first` and has `count` nodes. */
static struct candidate *find(const struct sample *s, uint32_t backend, node_id first,
                              uint32_t count)
{
    for (size_t c = 0; c < s->f.set->count; c++) {
        struct candidate *candidate = &s->f.set->items[c];
        if (candidate->backend == backend && candidate->region.node_count == count &&
            candidate->region.nodes[0] == first)
            return candidate;
    }
    fail_msg("no candidate of %u nodes at %u", count, first);
    return NULL;
}

static void set_cost(const struct sample *s, uint32_t backend, node_id first, uint32_t count,
                     double ns)
{
    find(s, backend, first, count)->cost =
        (struct cost){ .state = COST_MEASURED, .cost_ns = ns, .implementation = "", .reason = "" };
}

static void look(struct sample *s)
{
    struct error error = { 0 };
    worth_free(&s->worth);
    if (worth_create(&s->optimizer, &s->worth, &error))
        fail_msg("%s", error.text);
}

static void without_a_placement_all_is_worth_it(void **state)
{
    (void)state;
    struct sample s;
    set_up(&s);
    set_cost(&s, PLAIN, 0, 1, 100); /* the other nodes have no kernel yet */
    look(&s);
    assert_true(worth_measuring(&s.worth, find(&s, GRAPHS, 0, 2)));
    tear_down(&s);
}

static void a_library_that_is_far_behind_is_not_asked_for_parts(void **state)
{
    (void)state;
    struct sample s;
    set_up(&s);
    for (node_id n = 0; n < NODES; n++)
        set_cost(&s, PLAIN, n, 1, 100);
    look(&s);
    assert_true(worth_measuring(&s.worth, find(&s, GRAPHS, 0, NODES))); /* nothing known around */
    set_cost(&s, GRAPHS, 0, NODES, 1000);
    look(&s);
    assert_false(worth_measuring(&s.worth, find(&s, GRAPHS, 0, 2)));
    assert_false(worth_measuring(&s.worth, find(&s, GRAPHS, 1, 1)));
    set_cost(&s, GRAPHS, 0, NODES, 500);
    look(&s);
    assert_true(worth_measuring(&s.worth, find(&s, GRAPHS, 0, 2)));
    tear_down(&s);
}

static void the_smallest_region_around_decides(void **state)
{
    (void)state;
    struct sample s;
    set_up(&s);
    for (node_id n = 0; n < NODES; n++)
        set_cost(&s, PLAIN, n, 1, 100);
    set_cost(&s, GRAPHS, 0, NODES, 500);
    set_cost(&s, GRAPHS, 0, 2, 400); /* the first half is what makes it slow */
    look(&s);
    assert_false(worth_measuring(&s.worth, find(&s, GRAPHS, 0, 1)));
    assert_true(worth_measuring(&s.worth, find(&s, GRAPHS, 2, 1)));
    tear_down(&s);
}

static void what_takes_no_time_is_left_alone(void **state)
{
    (void)state;
    struct sample s;
    set_up(&s);
    for (node_id n = 0; n < NODES; n++)
        set_cost(&s, PLAIN, n, 1, n == 1 ? 0.01 : 100);
    look(&s);
    assert_false(worth_measuring(&s.worth, find(&s, GRAPHS, 1, 1)));
    assert_true(worth_measuring(&s.worth, find(&s, GRAPHS, 2, 1)));
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_placement_all_is_worth_it),
        cmocka_unit_test(a_library_that_is_far_behind_is_not_asked_for_parts),
        cmocka_unit_test(the_smallest_region_around_decides),
        cmocka_unit_test(what_takes_no_time_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
