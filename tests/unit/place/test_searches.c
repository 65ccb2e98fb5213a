/* SPDX-License-Identifier: Apache-2.0 */
/* The searches by single operators: their placements are ones, and never better than the best. */
#include "unit/place/random_problem.h"

#include "place/cover.h"
#include "place/fuse.h"

static const collage_backend_api graph_level = { .struct_size = sizeof graph_level,
                                                 .name = "beta",
                                                 .kind = COLLAGE_GRAPH_LEVEL };
static const collage_backend_api op_level = { .struct_size = sizeof op_level,
                                              .name = "alpha",
                                              .kind = COLLAGE_OP_LEVEL };

enum { BETA = 2 };

/* In every other problem beta takes graphs; in every third, candidates have copies. */
static void open_problem(struct fixture *f, uint64_t seed, uint32_t most_nodes)
{
    random_copying_problem(f, seed * 7919, most_nodes, seed % 3 == 0);
    for (uint32_t k = 0; k < FIXTURE_BACKENDS; k++)
        f->entries[k].api = &op_level;
    if (seed % 2)
        f->entries[BETA].api = &graph_level;
}

static void check_parts(const struct fixture *f, const struct placement *placement)
{
    for (size_t k = 0; k < placement->count; k++) {
        const struct candidate *c = &f->set.items[placement->chosen[k]];
        assert_true(cover_takes_part(&f->problem, c, false));
        assert_true(c->view || f->entries[c->backend].api->kind != COLLAGE_GRAPH_LEVEL ||
                    c->region.node_count == 1);
    }
}

/* What is executed in its order covers every node once, and no candidate waits for itself:
 * check_placement. exact = brute <= the search. */
static void compare(const struct fixture *f, uint64_t seed, const struct placement *found)
{
    struct placement brute, exact;
    const struct place_limits limits = { .seconds = 20 };
    check_placement(f, found);
    check_parts(f, found);
    assert_int_equal(place_brute(&f->problem, &brute, NULL), COLLAGE_OK);
    assert_int_equal(place_exact(&f->problem, &limits, &exact, NULL), COLLAGE_OK);
    if (fabs(exact.cost_ns - brute.cost_ns) > 1e-9 || found->cost_ns < brute.cost_ns - 1e-9)
        fail_msg("seed %llu: exact %.9g, brute %.9g, search %.9g", (unsigned long long)seed,
                 exact.cost_ns, brute.cost_ns, found->cost_ns);
    placement_free(&brute);
    placement_free(&exact);
}

static collage_status by_priority(const struct place_problem *problem, struct placement *out,
                                  struct error *error)
{
    static const uint32_t order[] = { BETA, 1, REGISTRY_REFERENCE };
    return place_greedy(problem, order, 3, out, error);
}

static collage_status by_operators(const struct place_problem *problem, struct placement *out,
                                   struct error *error)
{
    return place_op_level(problem, 0, out, error);
}

static collage_status by_dear_operators(const struct place_problem *problem, struct placement *out,
                                        struct error *error)
{
    return place_op_level(problem, 10, out, error);
}

typedef collage_status (*search_fn)(const struct place_problem *, struct placement *,
                                    struct error *);
static const search_fn searches[] = { by_operators, by_dear_operators, by_priority };

static void test_placements_are_some(void **state)
{
    (void)state;
    uint32_t feasible[3] = { 0 }, worse[3] = { 0 };
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct fixture f;
        open_problem(&f, seed, 8);
        struct placement exact;
        collage_status best = place_dynamic(&f.problem, &exact, NULL);
        for (size_t k = 0; k < 3; k++) {
            struct placement found;
            struct error error = { 0 };
            collage_status status = searches[k](&f.problem, &found, &error);
            assert_int_equal(status, error.status);
            if (status) {
                assert_int_equal(status, COLLAGE_ERROR_UNSUPPORTED);
                assert_null(found.chosen);
                continue;
            }
            assert_int_equal(best, COLLAGE_OK); /* theirs is a placement, too */
            compare(&f, seed, &found);
            assert_false(found.optimal);
            feasible[k]++;
            worse[k] += found.cost_ns > exact.cost_ns + 1e-9;
            placement_free(&found);
        }
        placement_free(&exact);
        fixture_close(&f);
    }
    for (size_t k = 0; k < 3; k++) {
        print_message("search %zu: %u feasible, %u of them not the best\n", k, feasible[k],
                      worse[k]);
        assert_true(feasible[k] > 500 && worse[k] > 200);
    }
}

/* Where layouts and order have no say and all candidates take part, the published program is exact:
 * with a term for each kernel that is the step's. */
static void test_op_level_is_exact_without_layouts(void **state)
{
    (void)state;
    uint32_t feasible = 0, multiple = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct fixture f;
        struct placement found, brute;
        open_problem(&f, seed, seed % 8 ? 8 : 10);
        f.problem.switch_ns = NULL;
        for (size_t c = 0; c < f.set.count; c++) {
            fixture_set_layouts(&f, &f.set.items[c], "", "");
            if (!cover_takes_part(&f.problem, &f.set.items[c], false))
                f.set.items[c].cost.state = COST_FAILED;
        }
        collage_status s1 = place_op_level(&f.problem, 0, &found, NULL);
        collage_status s2 = place_brute(&f.problem, &brute, NULL);
        if (s1 != s2 || (!s1 && fabs(found.cost_ns - brute.cost_ns) > 1e-9))
            fail_msg("seed %llu: op-level %d %.9g, brute %d %.9g", (unsigned long long)seed, s1,
                     found.cost_ns, s2, brute.cost_ns);
        if (!s1) {
            check_placement(&f, &found);
            feasible++;
            multiple += found.count < f.graph->node_count;
        }
        placement_free(&found);
        placement_free(&brute);
        fixture_close(&f);
    }
    print_message("%u feasible, %u with larger candidates\n", feasible, multiple);
    assert_true(feasible > 1000 && multiple > 100);
}

/* ---- by hand ---- */

/* x -> n0 Conv -> n1 Add -> n2 Relu -> n3 Reshape, which is a view, -> n4 Conv. */
static void open_chain(struct fixture *f)
{
    static const char *const ops[] = { "Conv", "Add", "Relu", "Reshape", "Conv" };
    fixture_open(f, 1);
    value_id v = fixture_value(f, VALUE_INPUT);
    graph_set_inputs(f->graph, &v, 1, NULL);
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        v = fixture_step(f, ops[k], &v, 1);
    graph_set_outputs(f->graph, &v, 1, NULL);
    fixture_seal(f);
    for (uint32_t k = 0; k < FIXTURE_BACKENDS; k++)
        f->entries[k].api = &op_level;
}

static candidate_id add(struct fixture *f, uint32_t backend, node_id first, uint32_t count,
                        double cost_ns)
{
    node_id nodes[5];
    for (uint32_t k = 0; k < count; k++)
        nodes[k] = first + k;
    assert_non_null(fixture_candidate(f, backend, nodes, count, cost_ns));
    return (candidate_id)f->set.count - 1;
}

static candidate_id add_view(struct fixture *f, node_id node)
{
    candidate_id id = add(f, REGISTRY_REFERENCE, node, 1, 0);
    f->set.items[id].view = true;
    return id;
}

#define CHOSEN(placement, ...)                                                                     \
    expect_chosen(placement, (const candidate_id[]){ __VA_ARGS__ },                                \
                  sizeof((const candidate_id[]){ __VA_ARGS__ }) / sizeof(candidate_id))

static void expect_chosen(struct placement *placement, const candidate_id *wanted, size_t count)
{
    assert_int_equal(placement->count, count);
    for (size_t k = 0; k < count; k++)
        assert_int_equal(placement->chosen[k], wanted[k]);
    placement_free(placement);
}

static void test_greedy_goes_by_priority(void **state)
{
    (void)state;
    struct fixture f;
    struct placement found;
    open_chain(&f);
    candidate_id reference[5], alpha[5];
    for (node_id n = 0; n < 5; n++)
        reference[n] = add(&f, REGISTRY_REFERENCE, n, 1, 1); /* cheap, but the last resort */
    candidate_id view = add_view(&f, 3);
    alpha[0] = add(&f, 1, 0, 1, 10);
    alpha[1] = add(&f, 1, 1, 1, 10);
    candidate_id pair = add(&f, 1, 0, 2, 90); /* dear, but the largest pattern */
    candidate_id beta = add(&f, BETA, 1, 1, 70);
    assert_int_equal(place_greedy(&f.problem, (uint32_t[]){ 1, BETA, 0 }, 3, &found, NULL), 0);
    CHOSEN(&found, pair, reference[2], view, reference[4]);
    assert_int_equal(place_greedy(&f.problem, (uint32_t[]){ BETA, 1, 0 }, 3, &found, NULL), 0);
    CHOSEN(&found, alpha[0], beta, reference[2], view, reference[4]);
    candidate_id cheaper = add(&f, BETA, 1, 1, 60); /* another variant */
    assert_int_equal(place_greedy(&f.problem, (uint32_t[]){ BETA, 1, 0 }, 3, &found, NULL), 0);
    CHOSEN(&found, alpha[0], cheaper, reference[2], view, reference[4]);
    struct error error = { 0 };
    assert_int_equal(place_greedy(&f.problem, (uint32_t[]){ 1, BETA }, 2, &found, &error),
                     COLLAGE_ERROR_UNSUPPORTED); /* nobody in the list takes n2 */
    assert_non_null(strstr(error.text, "'n2'"));
    fixture_close(&f);
}

static void test_op_level_adds_the_term(void **state)
{
    (void)state;
    struct fixture f;
    struct placement found;
    open_chain(&f);
    candidate_id single[5];
    for (node_id n = 0; n < 5; n++)
        single[n] = add(&f, 1, n, 1, 10);
    candidate_id view = add_view(&f, 3);
    candidate_id triple = add(&f, 1, 0, 3, 34);
    assert_int_equal(place_op_level(&f.problem, 0, &found, NULL), COLLAGE_OK);
    assert_true(fabs(found.cost_ns - 40) < 1e-9);
    CHOSEN(&found, single[0], single[1], single[2], view, single[4]);
    assert_int_equal(place_op_level(&f.problem, 3, &found, NULL), COLLAGE_OK);
    assert_true(fabs(found.cost_ns - 44) < 1e-9); /* its cost is by the problem's own step */
    CHOSEN(&found, triple, view, single[4]);
    f.problem.step_ns = 3;
    assert_int_equal(place_op_level(&f.problem, 0, &found, NULL), COLLAGE_OK);
    assert_true(fabs(found.cost_ns - 50) < 1e-9);
    CHOSEN(&found, triple, view, single[4]);
    f.entries[1].api = &graph_level; /* no regions: single operators */
    assert_int_equal(place_op_level(&f.problem, 0, &found, NULL), COLLAGE_OK);
    CHOSEN(&found, single[0], single[1], single[2], view, single[4]);
    fixture_close(&f);
}

/* The cheapest kernels need a conversion: it is paid if there is one; else all stay row-major. */
static void test_conversions_are_found_afterwards(void **state)
{
    (void)state;
    struct fixture f;
    struct placement found;
    open_chain(&f);
    candidate_id single[5], blocked;
    for (node_id n = 0; n < 5; n++)
        single[n] = add(&f, 1, n, 1, 10);
    blocked = add(&f, BETA, 1, 1, 8);
    fixture_set_layouts(&f, &f.set.items[blocked], "", "aBcd8b");
    assert_int_equal(place_op_level(&f.problem, 0, &found, NULL), COLLAGE_OK);
    CHOSEN(&found, single[0], single[1], single[2], single[3], single[4]);
    assert_int_equal(place_greedy(&f.problem, (uint32_t[]){ BETA, 1 }, 2, &found, NULL), 0);
    CHOSEN(&found, single[0], single[1], single[2], single[3], single[4]);
    fixture_transition(&f, f.graph->nodes[1].base.outputs[0], "aBcd8b", "", 1, 100);
    assert_int_equal(place_op_level(&f.problem, 0, &found, NULL), COLLAGE_OK);
    assert_true(fabs(found.cost_ns - 148) < 1e-9); /* it does not look so far */
    CHOSEN(&found, single[0], blocked, single[2], single[3], single[4]);
    fixture_close(&f);
}

/* ---- neighbours ---- */

/* Does the graph of groups have an order? `count` places, groups by place. */
static bool has_order(const struct fixture *f, const struct placement *placement,
                      const uint32_t *groups)
{
    uint32_t owner[64], left = 0;
    bool done[64] = { false };
    for (uint32_t p = 0; p < placement->count; p++) {
        const struct region *region = &f->set.items[placement->chosen[p]].region;
        for (uint32_t k = 0; k < region->node_count; k++)
            owner[region->nodes[k]] = groups[p];
        left += groups[p] == p;
    }
    for (bool again = true; again;) {
        again = false;
        for (uint32_t g = 0; g < placement->count; g++) {
            bool ready = groups[g] == g && !done[g];
            for (node_id n = 0; n < f->graph->node_count && ready; n++)
                for (uint32_t k = 0; owner[n] == g && k < f->graph->nodes[n].base.input_count;
                     k++) {
                    const struct value *v = &f->graph->values[f->graph->nodes[n].base.inputs[k]];
                    if (v->kind == VALUE_COMPUTED && owner[v->producer] != g &&
                        !done[owner[v->producer]])
                        ready = false;
                }
            done[g] = done[g] || ready;
            left -= ready;
            again = again || ready;
        }
    }
    return left == 0;
}

static bool are_neighbours(const struct fixture *f, const struct placement *placement, uint32_t a,
                           uint32_t b)
{
    const struct region *from = &f->set.items[placement->chosen[a]].region;
    const struct region *to = &f->set.items[placement->chosen[b]].region;
    for (uint32_t k = 0; k < from->output_count; k++)
        for (uint32_t j = 0; j < to->input_count; j++)
            if (from->outputs[k] == to->inputs[j])
                return true;
    return false;
}

/* Neighbours with one home that stayed apart would make a circle if they were one. */
static void check_apart(const struct fixture *f, const struct placement *placement,
                        const uint32_t *homes, const uint32_t *groups)
{
    for (uint32_t a = 0; a < placement->count; a++)
        for (uint32_t b = 0; b < placement->count; b++) {
            uint32_t joined[64];
            if (homes[a] == FUSE_ALONE || homes[a] != homes[b] || groups[a] == groups[b] ||
                !are_neighbours(f, placement, a, b))
                continue;
            uint32_t first = groups[a] < groups[b] ? groups[a] : groups[b];
            for (uint32_t p = 0; p < placement->count; p++)
                joined[p] = groups[p] == groups[a] || groups[p] == groups[b] ? first : groups[p];
            assert_false(has_order(f, placement, joined));
        }
}

static void test_neighbours_become_regions(void **state)
{
    (void)state;
    uint32_t joined = 0, apart = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct fixture f;
        struct placement found;
        uint32_t homes[64], groups[64];
        open_problem(&f, seed, 14);
        if (place_op_level(&f.problem, 0, &found, NULL) == COLLAGE_OK) {
            for (size_t p = 0; p < found.count; p++)
                homes[p] = fixture_random(&f, 3) ? 1 + fixture_random(&f, 2) : FUSE_ALONE;
            assert_int_equal(
                fuse_neighbours(&f.set, NULL, found.chosen, found.count, homes, groups, NULL),
                COLLAGE_OK);
            assert_true(has_order(&f, &found, groups));
            for (uint32_t p = 0; p < found.count; p++) {
                assert_true(groups[p] <= p && groups[groups[p]] == groups[p]);
                assert_int_equal(homes[groups[p]], homes[p]);
                assert_true(homes[p] != FUSE_ALONE || groups[p] == p);
                joined += groups[p] != p;
            }
            check_apart(&f, &found, homes, groups);
            for (uint32_t p = 0; p < found.count; p++)
                for (uint32_t q = 0; q < p; q++)
                    apart += homes[p] != FUSE_ALONE && homes[p] == homes[q] &&
                             groups[p] != groups[q] && are_neighbours(&f, &found, q, p);
        }
        placement_free(&found);
        fixture_close(&f);
    }
    print_message("%u joined, %u kept apart\n", joined, apart);
    assert_true(joined > 500 && apart > 50);
}

/* n2 .. n4 on beta with the view between them; where beta does not take the view, in two parts. */
static void test_views_come_along(void **state)
{
    (void)state;
    struct fixture f;
    open_chain(&f);
    candidate_id chosen[5];
    uint32_t homes[5], groups[5];
    bool asked[5 * FIXTURE_BACKENDS] = { false };
    const char *refusals[5 * FIXTURE_BACKENDS] = { NULL };
    f.set.asked = asked;
    f.set.refusals = refusals;
    asked[3 * FIXTURE_BACKENDS + BETA] = true;
    for (node_id n = 0; n < 5; n++)
        chosen[n] = n == 3 ? add_view(&f, n) : add(&f, BETA, n, 1, 10);
    for (int takes = 1; takes >= 0; takes--) {
        refusals[3 * FIXTURE_BACKENDS + BETA] = takes ? NULL : "no views";
        for (uint32_t p = 0; p < 5; p++)
            homes[p] = p == 2 || p == 4 ? BETA : FUSE_ALONE;
        assert_int_equal(fuse_neighbours(&f.set, NULL, chosen, 5, homes, groups, NULL), COLLAGE_OK);
        assert_int_equal(groups[1], 1);
        assert_int_equal(groups[2], 2);
        assert_int_equal(groups[3], takes ? 2 : 3);
        assert_int_equal(groups[4], takes ? 2 : 4);
    }
    refusals[3 * FIXTURE_BACKENDS + BETA] = NULL;
    for (uint32_t p = 0; p < 5; p++)
        homes[p] = p == 2 ? BETA : FUSE_ALONE; /* nobody behind the view */
    assert_int_equal(fuse_neighbours(&f.set, NULL, chosen, 5, homes, groups, NULL), COLLAGE_OK);
    assert_int_equal(groups[3], 3);
    f.set.asked = NULL;
    f.set.refusals = NULL;
    fixture_close(&f);
}

/* ---- several ends ---- */

/* x -> n0 -> n1, and n0 -> n2: files of patterns may name any of these sets of nodes. */
static void test_one_end(void **state)
{
    (void)state;
    static const struct {
        node_id nodes[3];
        uint32_t count;
        bool one_end;
    } rows[] = { { { 0 }, 1, true },
                 { { 0, 1 }, 2, false }, /* n0 is used outside, too */
                 { { 1, 2 }, 2, false },
                 { { 0, 1, 2 }, 3, false } };
    struct fixture f;
    fixture_open(&f, 1);
    value_id x = fixture_value(&f, VALUE_INPUT), ends[2];
    graph_set_inputs(f.graph, &x, 1, NULL);
    value_id middle = fixture_step(&f, "Relu", &x, 1);
    for (size_t k = 0; k < 2; k++)
        ends[k] = fixture_step(&f, "Relu", &middle, 1);
    graph_set_outputs(f.graph, ends, 2, NULL);
    fixture_seal(&f);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const struct candidate *c = fixture_candidate(&f, 1, rows[k].nodes, rows[k].count, 1);
        assert_non_null(c);
        assert_int_equal(cover_has_one_end(&f.set, &c->region), rows[k].one_end);
    }
    fixture_close(&f);
    open_chain(&f);
    candidate_id chain = add(&f, 1, 0, 3, 1);
    assert_true(cover_has_one_end(&f.set, &f.set.items[chain].region));
    fixture_close(&f);
}

/* ---- no memory ---- */

static collage_status by_neighbours(const struct place_problem *problem, struct placement *out,
                                    struct error *error)
{
    uint32_t homes[64], groups[64];
    collage_status status = place_op_level(problem, 0, out, error);
    for (size_t p = 0; p < out->count; p++)
        homes[p] = BETA;
    if (!status)
        status = fuse_neighbours(problem->set, NULL, out->chosen, out->count, homes, groups, error);
    if (status)
        placement_free(out);
    return status;
}

/* Every allocation that fails gives the error, and no leak (seen by the sanitizer). */
static void test_out_of_memory(void **state)
{
    (void)state;
    static const search_fn all[] = { by_operators, by_priority, by_neighbours };
    struct fixture f;
    struct placement found;
    uint64_t seed = 1;
    for (;; seed++) { /* one that all can place */
        open_problem(&f, seed, 9);
        bool feasible = f.graph->node_count > 6;
        for (size_t k = 0; k < 3 && feasible; k++) {
            feasible = all[k](&f.problem, &found, NULL) == COLLAGE_OK;
            placement_free(&found);
        }
        if (feasible)
            break;
        fixture_close(&f);
    }
    for (size_t k = 0; k < 3; k++) {
        collage_status status = COLLAGE_ERROR_MEMORY;
        size_t n = 1;
        for (; status == COLLAGE_ERROR_MEMORY && n < 100000; n++) {
            struct error error = { 0 };
            memory_fail_after(n);
            status = all[k](&f.problem, &found, &error);
            memory_fail_after(0);
            assert_int_equal(status, error.status);
            if (status == COLLAGE_OK)
                check_placement(&f, &found);
            placement_free(&found);
        }
        assert_true(n > 4);
        assert_int_equal(status, COLLAGE_OK);
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placements_are_some),
        cmocka_unit_test(test_op_level_is_exact_without_layouts),
        cmocka_unit_test(test_greedy_goes_by_priority),
        cmocka_unit_test(test_op_level_adds_the_term),
        cmocka_unit_test(test_conversions_are_found_afterwards),
        cmocka_unit_test(test_neighbours_become_regions),
        cmocka_unit_test(test_views_come_along),
        cmocka_unit_test(test_one_end),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
