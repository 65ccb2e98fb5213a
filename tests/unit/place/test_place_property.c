/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic program against trying everything, on random little graphs with random candidates. */
#include "unit/place/random_problem.h"

struct tally {
    uint32_t feasible, infeasible, several, copying; /* several: with outputs of several nodes */
};

static void count_kinds(const struct fixture *f, const struct placement *placement,
                        struct tally *tally)
{
    bool several = false, copying = false;
    for (size_t k = 0; k < placement->count; k++) {
        const struct region *region = &f->set.items[placement->chosen[k]].region;
        for (uint32_t o = 1; o < region->output_count; o++)
            several = several || f->graph->values[region->outputs[o]].producer !=
                                     f->graph->values[region->outputs[0]].producer;
        copying = copying || region->copy_count > 0;
    }
    tally->feasible++;
    tally->several += several;
    tally->copying += copying;
}

static void compare_with_brute(uint64_t first, uint64_t last, bool copying, struct tally *tally)
{
    for (uint64_t seed = first; seed <= last; seed++) {
        struct fixture f;
        struct placement dynamic, brute;
        random_copying_problem(&f, seed * 7919, seed % 8 ? 7 : 9, copying);
        struct error e1 = { 0 }, e2 = { 0 };
        collage_status s1 = place_dynamic(&f.problem, &dynamic, &e1);
        collage_status s2 = place_brute(&f.problem, &brute, &e2);
        if (s1 != s2 || (!s1 && fabs(dynamic.cost_ns - brute.cost_ns) > 1e-9))
            fail_msg("seed %llu: dynamic %d %.9g, brute %d %.9g", (unsigned long long)seed, s1,
                     dynamic.cost_ns, s2, brute.cost_ns);
        if (s1) {
            assert_int_equal(s1, COLLAGE_ERROR_UNSUPPORTED);
            tally->infeasible++;
        } else {
            assert_true(dynamic.optimal);
            check_placement(&f, &dynamic);
            check_placement(&f, &brute);
            count_kinds(&f, &dynamic, tally);
        }
        placement_free(&dynamic);
        placement_free(&brute);
        fixture_close(&f);
    }
    print_message("%u feasible, %u infeasible; %u with several outputs, %u with copies\n",
                  tally->feasible, tally->infeasible, tally->several, tally->copying);
}

static void test_equals_brute(void **state)
{
    (void)state;
    struct tally tally = { 0 };
    compare_with_brute(1, 6000, false, &tally);
    assert_true(tally.feasible > 1500 && tally.infeasible > 300 && tally.several > 300);
}

/* Nodes that several candidates compute, or only those that need them. */
static void test_copying_equals_brute(void **state)
{
    (void)state;
    struct tally tally = { 0 };
    compare_with_brute(10001, 16000, true, &tally);
    assert_true(tally.feasible > 1500 && tally.infeasible > 300 && tally.several > 100);
    assert_true(tally.copying > 500);
}

/* Few states: whatever comes out is a placement, never cheaper than the best. */
static void test_limited_is_valid(void **state)
{
    (void)state;
    uint32_t worse = 0;
    for (uint64_t seed = 1; seed <= 800; seed++) {
        struct fixture f;
        struct placement limited, exact;
        random_copying_problem(&f, seed * 104729, 12, seed % 2);
        f.problem.state_limit = 1;
        collage_status status = place_dynamic(&f.problem, &limited, NULL);
        f.problem.state_limit = 0;
        collage_status expected = place_dynamic(&f.problem, &exact, NULL);
        assert_int_equal(status, expected); /* more states are tried before giving up */
        if (status == COLLAGE_OK) {
            check_placement(&f, &limited);
            assert_true(limited.cost_ns >= exact.cost_ns - 1e-9);
            if (limited.cost_ns > exact.cost_ns + 1e-9) {
                assert_false(limited.optimal);
                worse++;
            }
        }
        placement_free(&limited);
        placement_free(&exact);
        fixture_close(&f);
    }
    assert_true(worse > 0); /* the limit did limit */
}

/* Every allocation that fails gives the error, and no leak (seen by the sanitizer). */
static void test_out_of_memory(void **state)
{
    (void)state;
    struct fixture f;
    struct placement placement;
    uint64_t seed = 1;
    for (;; seed++) { /* one that has a placement */
        random_copying_problem(&f, seed, 9, true);
        bool feasible = place_brute(&f.problem, &placement, NULL) == COLLAGE_OK;
        placement_free(&placement);
        bool copies = false;
        for (size_t c = 0; c < f.set.count; c++)
            copies = copies || f.set.items[c].region.copy_count > 0;
        if (feasible && copies && f.graph->node_count > 6)
            break;
        fixture_close(&f);
    }
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status == COLLAGE_ERROR_MEMORY && n < 100000; n++) {
        struct error error = { 0 };
        memory_fail_after(n);
        status = place_dynamic(&f.problem, &placement, &error);
        memory_fail_after(0);
        assert_int_equal(status, error.status);
        if (status == COLLAGE_OK)
            check_placement(&f, &placement);
        placement_free(&placement);
    }
    assert_true(n > 30);
    assert_int_equal(status, COLLAGE_OK);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_brute),
        cmocka_unit_test(test_copying_equals_brute),
        cmocka_unit_test(test_limited_is_valid),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
