/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours that become regions, and what the settings pin, on a chain with made-up costs. */
#include "unit/pattern/fixture.h"

#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "optimize/search.h"
#include "place/fuse.h"

enum { NODES = 5 };
static const char chain[] = "graph \"chain\" {\n"
                            "  input %v0: float32[4]\n"
                            "  %v1: float32[4] = Relu(%v0) \"a\"\n"
                            "  %v2: float32[4] = Relu(%v1) \"b\"\n"
                            "  %v3: float32[4] = Relu(%v2) \"c\"\n"
                            "  %v4: float32[4] = Relu(%v3) \"d\"\n"
                            "  %v5: float32[4] = Tanh(%v4) \"e\"\n" /* graphs refuses it */
                            "  output %v5\n}\n";

struct sample {
    struct fixture f;
    struct optimizer optimizer;
    bool enabled[BACKENDS];
};

static void set_up(struct sample *s)
{
    struct error error = { 0 };
    *s = (struct sample){ .enabled = { true, false, true } };
    fixture_open(&s->f, chain);
    if (candidate_set_enumerate(s->f.set, s->enabled, &error))
        fail_msg("%s", error.text);
    s->optimizer = (struct optimizer){ .set = s->f.set, .enabled = s->enabled };
    s->optimizer.arena = arena_create();
    s->optimizer.settings.graph = s->f.set->graph;
    s->optimizer.settings.registry = s->f.set->registry;
    assert_non_null(s->optimizer.arena);
}

static void tear_down(struct sample *s)
{
    pins_destroy(s->optimizer.pins);
    arena_destroy(s->optimizer.arena);
    fixture_close(&s->f);
}

/* The candidate of that backend that begins at `first` and has `count` nodes. */
static candidate_id find(const struct sample *s, uint32_t backend, node_id first, uint32_t count)
{
    for (size_t c = 0; c < s->f.set->count; c++) {
        const struct candidate *candidate = &s->f.set->items[c];
        if (candidate->backend == backend && candidate->region.node_count == count &&
            candidate->region.nodes[0] == first)
            return (candidate_id)c;
    }
    fail_msg("no candidate of %u nodes at %u", count, first);
    return 0;
}

static candidate_id measured(const struct sample *s, uint32_t backend, node_id first,
                             uint32_t count, double ns)
{
    candidate_id id = find(s, backend, first, count);
    s->f.set->items[id].cost =
        (struct cost){ .state = COST_MEASURED, .cost_ns = ns, .implementation = "", .reason = "" };
    return id;
}

/* a, b on graphs, c on plain, d on graphs, e on plain. */
static struct placement singles(const struct sample *s)
{
    static const uint32_t backends[NODES] = { GRAPHS, GRAPHS, PLAIN, GRAPHS, PLAIN };
    struct placement placement = { .chosen = memory_alloc(NODES * sizeof *placement.chosen),
                                   .count = NODES };
    assert_non_null(placement.chosen);
    for (node_id n = 0; n < NODES; n++)
        placement.chosen[n] = measured(s, backends[n], n, 1, 100);
    return placement;
}

static void join(struct sample *s, const uint32_t *homes, struct placement *placement)
{
    uint32_t own[NODES];
    struct error error = { 0 };
    memcpy(own, homes, sizeof own);
    *placement = singles(s);
    if (search_join(&s->optimizer, own, false, placement, &error))
        fail_msg("%s", error.text);
}

static void neighbours_become_regions(void **state)
{
    (void)state;
    static const uint32_t there[NODES] = { GRAPHS, GRAPHS, FUSE_ALONE, GRAPHS, FUSE_ALONE };
    static const uint32_t moved[NODES] = { FUSE_ALONE, FUSE_ALONE, GRAPHS, GRAPHS, FUSE_ALONE };
    static const uint32_t all[NODES] = { GRAPHS, GRAPHS, GRAPHS, GRAPHS, FUSE_ALONE };
    struct sample s;
    struct placement placement;
    set_up(&s);
    join(&s, there, &placement);
    candidate_id pair = find(&s, GRAPHS, 0, 2);
    assert_int_equal(placement.count, 4);
    assert_int_equal(placement.chosen[0], pair);
    assert_int_equal(placement.chosen[2], find(&s, GRAPHS, 3, 1)); /* one alone is there already */
    assert_true(placement.cost_ns == 0); /* nobody knows what the pair takes */
    placement_free(&placement);
    measured(&s, GRAPHS, 0, 2, 150);
    join(&s, there, &placement);
    assert_true(fabs(placement.cost_ns - (150 + 300 + 4 * 30)) < 1e-9);
    placement_free(&placement);
    s.f.set->items[pair].cost.state = COST_FAILED;
    join(&s, there, &placement);
    assert_int_equal(placement.count, NODES);
    placement_free(&placement);
    join(&s, moved, &placement); /* c moves to its neighbour */
    assert_int_equal(placement.count, 4);
    assert_int_equal(placement.chosen[2], find(&s, GRAPHS, 2, 2));
    placement_free(&placement);
    join(&s, all, &placement);
    assert_int_equal(placement.count, 2);
    assert_int_equal(placement.chosen[0], find(&s, GRAPHS, 0, 4));
    placement_free(&placement);
    tear_down(&s);
}

/* A single operator moves, too; one that the library refuses stays. */
static void single_operators_move(void **state)
{
    (void)state;
    static const uint32_t homes[NODES] = { FUSE_ALONE, FUSE_ALONE, GRAPHS, FUSE_ALONE, GRAPHS };
    struct sample s;
    struct placement placement;
    set_up(&s);
    measured(&s, GRAPHS, 2, 1, 70);
    join(&s, homes, &placement);
    assert_int_equal(placement.count, NODES);
    assert_int_equal(placement.chosen[2], find(&s, GRAPHS, 2, 1));
    assert_int_equal(placement.chosen[4], find(&s, PLAIN, 4, 1));
    assert_true(fabs(placement.cost_ns - (470 + 5 * 30)) < 1e-9);
    placement_free(&placement);
    tear_down(&s);
}

static void expect_failure(struct sample *s, const char *words)
{
    struct error error = { 0 };
    pins_destroy(s->optimizer.pins);
    s->optimizer.pins = NULL;
    if (optimizer_make_pins(&s->optimizer, &error) == COLLAGE_OK || !strstr(error.text, words))
        fail_msg("'%s' instead of '%s'", error.text, words);
}

static void settings_are_pinned(void **state)
{
    (void)state;
    static const collage_pin on_graphs[] = { { "[ab]", "graphs" }, { "b", "plain" } };
    static const collage_pin refused[] = { { "e", "graphs" } };
    static const collage_pin absent[] = { { "c", "chains" } };
    static const collage_pin unknown[] = { { "z", "plain" } };
    struct sample s;
    set_up(&s);
    assert_int_equal(optimizer_make_pins(&s.optimizer, NULL), COLLAGE_OK);
    assert_null(s.optimizer.pins); /* nothing is pinned, nothing is different */
    s.optimizer.settings.pins = on_graphs;
    s.optimizer.settings.pin_count = 2;
    assert_int_equal(optimizer_make_pins(&s.optimizer, NULL), COLLAGE_OK);
    assert_int_equal(s.optimizer.pins->backends[0], GRAPHS);
    assert_int_equal(s.optimizer.pins->backends[1], PLAIN);
    assert_int_equal(pins_count(s.optimizer.pins), 2);
    assert_ptr_equal(optimizer_problem(&s.optimizer, s.enabled).pins, s.optimizer.pins);
    s.optimizer.settings.pin_count = 1;
    s.optimizer.settings.pins = refused;
    expect_failure(&s, "node 'e' (Tanh) cannot run on 'graphs': no hyperbolics; there is Tanh on "
                       "plain");
    s.optimizer.settings.pins = absent;
    expect_failure(&s, "'chains', which is not available or not asked for");
    s.optimizer.settings.pins = unknown;
    expect_failure(&s, "no node has the name 'z'");
    tear_down(&s);
}

/* A library that takes regions is offered the groups of a placement. */
static void groups_become_candidates(void **state)
{
    (void)state;
    static const char odd[] = "post_dfs_order,annotation\n1,5-graphs_Relu+Relu\n2,5-graphs\n";
    static const char refused[] = "post_dfs_order,annotation\n3,5-graphs\n4,5-graphs\n";
    static const char wide[] = "post_dfs_order,annotation\n1,5-plain\n2,5-plain\n";
    char path[] = "/tmp/pinned-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    struct sample s;
    set_up(&s);
    s.optimizer.settings.placement_path = path;
    assert_int_equal(file_write(path, odd, strlen(odd), NULL), COLLAGE_OK);
    assert_int_equal(COUNT(&s.f, GRAPHS, 1, 2), 0);
    assert_int_equal(optimizer_make_pins(&s.optimizer, NULL), COLLAGE_OK);
    assert_int_equal(COUNT(&s.f, GRAPHS, 1, 2), 1);
    assert_true(pins_name(s.optimizer.pins, &s.f.set->items[find(&s, GRAPHS, 1, 2)]));
    assert_true(search_is_pinned(&s.optimizer, find(&s, GRAPHS, 1, 2)));
    assert_int_equal(file_write(path, refused, strlen(refused), NULL), COLLAGE_OK);
    expect_failure(&s, "node 'd' (Relu): group 5 of the placement (2 nodes) is no candidate of "
                       "'graphs'");
    assert_int_equal(file_write(path, wide, strlen(wide), NULL), COLLAGE_OK);
    expect_failure(&s, "is no candidate of 'plain'; there is Relu on plain");
    tear_down(&s);
    assert_int_equal(unlink(path), 0);
}

static void brute_is_for_small_graphs(void **state)
{
    (void)state;
    struct sample s;
    struct error error = { 0 };
    set_up(&s);
    struct graph large = *s.f.graph;
    large.node_count = PLACE_BRUTE_NODES + 1;
    s.optimizer.settings.search = COLLAGE_SEARCH_BRUTE;
    assert_int_equal(optimizer_check_search(&s.optimizer.settings, NULL), COLLAGE_OK);
    s.optimizer.settings.graph = &large;
    assert_int_equal(optimizer_check_search(&s.optimizer.settings, &error), COLLAGE_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "at most 12 nodes"));
    s.optimizer.settings.search = COLLAGE_SEARCH_GREEDY;
    assert_int_equal(optimizer_check_search(&s.optimizer.settings, NULL), COLLAGE_OK);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_become_regions), cmocka_unit_test(single_operators_move),
        cmocka_unit_test(settings_are_pinned),       cmocka_unit_test(groups_become_candidates),
        cmocka_unit_test(brute_is_for_small_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
