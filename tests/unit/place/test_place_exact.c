/* SPDX-License-Identifier: Apache-2.0 */
/* Exact placement against trying everything, and what becomes of it when its solver fails. */
#include "unit/place/random_problem.h"

#include "place/solve.h"

static const char *solver_path(void)
{
    static const char path[] = COLLAGE_BUILD_DIR "/bin/collage-solver";
    return path;
}

struct tally {
    uint32_t feasible, infeasible, solved, optimal;
};

static void compare(uint64_t seed, size_t state_limit, struct tally *tally)
{
    struct fixture f;
    struct placement exact, brute;
    random_problem(&f, seed * 7919, seed % 8 ? 7 : 9);
    f.problem.state_limit = state_limit;
    const struct place_limits limits = { .seconds = 20, .solver = solver_path() };
    struct error error = { 0 };
    collage_status status = place_exact(&f.problem, &limits, &exact, &error);
    collage_status expected = place_brute(&f.problem, &brute, NULL);
    if (status != expected || (!status && fabs(exact.cost_ns - brute.cost_ns) > 1e-9) ||
        (!status && exact.bound_ns > brute.cost_ns + 1e-9) || (!status && !exact.optimal))
        fail_msg("seed %llu, %zu states: exact %d %.9g (bound %.9g, %zu solves), brute %d %.9g %s",
                 (unsigned long long)seed, state_limit, status, exact.cost_ns, exact.bound_ns,
                 exact.solves, expected, brute.cost_ns, error.text);
    if (status) {
        tally->infeasible++;
    } else {
        check_placement(&f, &exact);
        tally->feasible++;
        tally->solved += exact.solves > 0;
        tally->optimal += exact.optimal;
    }
    placement_free(&exact);
    placement_free(&brute);
    fixture_close(&f);
}

static void test_equals_brute(void **state)
{
    (void)state;
    struct tally tally = { 0 };
    for (uint64_t seed = 1; seed <= 1000; seed++)
        compare(seed, 0, &tally);
    print_message("%u feasible, %u infeasible\n", tally.feasible, tally.infeasible);
    assert_true(tally.feasible > 500 && tally.infeasible > 100);
}

/* The dynamic program may keep next to nothing: the solver has to find and to prove. */
static void test_truncated_equals_brute(void **state)
{
    (void)state;
    struct tally tally = { 0 };
    for (uint64_t seed = getenv("SEED")?21:1; seed <= 1000; seed++)
        compare(seed, 1 + seed % 3, &tally);
    print_message("%u feasible, %u infeasible, %u solved\n", tally.feasible, tally.infeasible,
                  tally.solved);
    assert_true(tally.solved > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_brute),
        cmocka_unit_test(test_truncated_equals_brute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
