/* SPDX-License-Identifier: Apache-2.0 */
/* Regions that a placement gives reason to try: neighbours taken in, slow nodes left out. */
#include "unit/pattern/fixture.h"

#include "optimize/propose.h"

enum { NODES = 5 };
static const char chain[] = "graph \"chain\" {\n"
                            "  input %v0: float32[4]\n"
                            "  %v1: float32[4] = Relu(%v0)\n"
                            "  %v2: float32[4] = Relu(%v1)\n"
                            "  %v3: float32[4] = Relu(%v2)\n"
                            "  %v4: float32[4] = Relu(%v3)\n"
                            "  %v5: float32[4] = Relu(%v4)\n"
                            "  output %v5\n}\n";

struct sample {
    struct fixture f;
    struct optimizer optimizer;
    bool enabled[BACKENDS];
    candidate_id chosen[NODES];
    struct placement placement;
    struct proposals proposals;
};

static void set_up(struct sample *s)
{
    *s = (struct sample){ .enabled = { true, true, true } };
    fixture_open(&s->f, chain);
    s->optimizer = (struct optimizer){ .set = s->f.set, .enabled = s->enabled };
    s->placement.chosen = s->chosen;
}

/* A measured candidate of the nodes first..last. */
static void add(struct sample *s, uint32_t backend, node_id first, node_id last, double cost_ns,
                bool chosen)
{
    node_id nodes[NODES];
    uint32_t count = 0;
    size_t added = 0;
    for (node_id n = first; n <= last; n++)
        nodes[count++] = n;
    assert_int_equal(candidate_set_add(s->f.set, backend, nodes, count, "made", &added, NULL),
                     COLLAGE_OK);
    assert_int_equal(added, 1);
    candidate_id id = (candidate_id)s->f.set->count - 1;
    s->f.set->items[id].cost = (struct cost){ .state = COST_MEASURED, .cost_ns = cost_ns };
    if (chosen)
        s->chosen[s->placement.count++] = id;
}

static void propose(struct sample *s)
{
    struct error error = { 0 };
    if (propose_regions(&s->optimizer, &s->placement, &s->proposals, &error))
        fail_msg("%s", error.text);
}

static bool has(const struct sample *s, node_id first, node_id last)
{
    for (size_t c = 0; c < s->f.set->count; c++) {
        const struct candidate *candidate = &s->f.set->items[c];
        if (candidate->backend == GRAPHS && candidate->region.nodes[0] == first &&
            candidate->region.node_count == last - first + 1 &&
            candidate->cost.state == COST_UNKNOWN)
            return true;
    }
    return false;
}

static void place_in_the_middle(struct sample *s)
{
    set_up(s);
    add(s, PLAIN, 0, 0, 100, true);
    add(s, GRAPHS, 1, 2, 20, true);
    add(s, PLAIN, 3, 3, 100, true);
    add(s, PLAIN, 4, 4, 100, true);
}

/* Before it the library is known to be slow, behind it to be fast. */
static void test_neighbours_join(void **state)
{
    (void)state;
    struct sample s;
    place_in_the_middle(&s);
    add(&s, GRAPHS, 0, 0, 500, false);
    add(&s, GRAPHS, 3, 3, 10, false);
    propose(&s);
    assert_int_equal(s.proposals.made, 1);
    assert_int_equal(s.proposals.dismissed, 1);
    assert_true(has(&s, 1, 3));
    assert_false(has(&s, 0, 2));
    propose(&s); /* nothing is proposed twice */
    assert_int_equal(s.proposals.made, 0);
    fixture_close(&s.f);
}

/* Where nothing is known, an optimist tries. */
static void test_unknown_is_tried(void **state)
{
    (void)state;
    struct sample s;
    place_in_the_middle(&s);
    propose(&s);
    assert_int_equal(s.proposals.made, 2);
    assert_true(has(&s, 0, 2) && has(&s, 1, 3));
    fixture_close(&s.f);
}

/* The library is slower in the middle: the placement has none of it, and its profile makes two. */
static void test_profile_makes_regions(void **state)
{
    (void)state;
    struct sample s;
    set_up(&s);
    for (node_id n = 0; n < NODES; n++) {
        add(&s, PLAIN, n, n, 100, true);
        add(&s, GRAPHS, n, n, n == 2 ? 150 : 60, false);
    }
    propose(&s);
    assert_int_equal(s.proposals.made, 2);
    assert_true(has(&s, 0, 1) && has(&s, 3, 4));
    fixture_close(&s.f);
}

static void place_as_whole(struct sample *s, double elsewhere_ns)
{
    set_up(s);
    add(s, GRAPHS, 0, 4, 500, true);
    for (node_id n = 0; n < NODES; n++)
        add(s, GRAPHS, n, n, n == 2 ? 450 : 12, false);
    add(s, PLAIN, 2, 2, elsewhere_ns, false);
}

static void test_slow_node_splits(void **state)
{
    (void)state;
    struct sample s;
    place_as_whole(&s, 50);
    propose(&s);
    assert_int_equal(s.proposals.made, 2);
    assert_true(has(&s, 0, 1) && has(&s, 3, 4));
    fixture_close(&s.f);
    place_as_whole(&s, 1000); /* it is slow everywhere */
    propose(&s);
    assert_int_equal(s.proposals.made, 0);
    assert_int_equal(s.proposals.dismissed, 1);
    fixture_close(&s.f);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; status == COLLAGE_ERROR_MEMORY; n++) {
        struct sample s;
        struct error error = { 0 };
        place_in_the_middle(&s);
        memory_fail_after(n);
        status = propose_regions(&s.optimizer, &s.placement, &s.proposals, &error);
        memory_fail_after(0);
        assert_int_equal(status, error.status);
        fixture_close(&s.f);
    }
    assert_int_equal(status, COLLAGE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours_join),       cmocka_unit_test(test_unknown_is_tried),
        cmocka_unit_test(test_profile_makes_regions), cmocka_unit_test(test_slow_node_splits),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
