/* SPDX-License-Identifier: Apache-2.0 */
/* Exact placement against trying everything, and what becomes of it when its solver fails. */
#include "unit/place/random_problem.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "place/dynamic.h"
#include "place/rounds.h"
#include "place/solve.h"

static const char solver[] = COLLAGE_BUILD_DIR "/bin/collage-solver";

/* Without CBC there is no solver: then the dynamic program must do all of it. */
static bool has_solver(void)
{
    struct stat found;
    return stat(solver, &found) == 0;
}

struct tally {
    uint32_t feasible, infeasible, solved;
};

/* exact: what place_exact or a part of it returned. */
static void compare(const struct fixture *f, uint64_t seed, collage_status status,
                    struct placement *exact, struct tally *tally)
{
    struct placement brute;
    collage_status expected = place_brute(&f->problem, &brute, NULL);
    if (status != expected || (!status && (fabs(exact->cost_ns - brute.cost_ns) > 1e-9 ||
                                           exact->bound_ns > brute.cost_ns + 1e-9)))
        fail_msg("seed %llu: exact %d %.9g (bound %.9g, %zu solves), brute %d %.9g",
                 (unsigned long long)seed, status, exact->cost_ns, exact->bound_ns, exact->solves,
                 expected, brute.cost_ns);
    if (status) {
        tally->infeasible++;
    } else {
        check_placement(f, exact);
        tally->feasible++;
        tally->solved += exact->solves > 0;
    }
    placement_free(exact);
    placement_free(&brute);
}

static void run_all(size_t most_states, bool copying, struct tally *tally)
{
    for (uint64_t seed = 1; seed <= 1200; seed++) {
        struct fixture f;
        struct placement exact;
        random_copying_problem(&f, seed * 7919, seed % 8 ? 7 : 9, copying);
        f.problem.state_limit = most_states ? 1 + seed % most_states : 0;
        const struct place_limits limits = { .seconds = 20, .solver = solver };
        collage_status status = place_exact(&f.problem, &limits, &exact, NULL);
        if (!status && !exact.optimal)
            fail_msg("seed %llu: bound %.9g, cost %.9g", (unsigned long long)seed, exact.bound_ns,
                     exact.cost_ns);
        compare(&f, seed, status, &exact, tally);
        fixture_close(&f);
    }
    print_message("%u feasible, %u infeasible, %u with the solver\n", tally->feasible,
                  tally->infeasible, tally->solved);
}

static void test_equals_brute(void **state)
{
    (void)state;
    struct tally tally = { 0 };
    run_all(0, false, &tally);
    run_all(0, true, &tally);
    assert_true(tally.feasible > 1000 && tally.infeasible > 200);
}

/* The dynamic program may keep next to nothing: the solver has to find and to prove. */
static void test_truncated_equals_brute(void **state)
{
    (void)state;
    if (!has_solver())
        skip();
    struct tally tally = { 0 };
    run_all(3, false, &tally);
    assert_true(tally.solved > 50);
    tally = (struct tally){ 0 };
    run_all(3, true, &tally);
    assert_true(tally.solved > 50);
}

/* CBC alone: no bounds for the dynamic program, and a bad placement to start from. */
static void solve_by_rounds(const struct fixture *f, struct placement *best, collage_status *status)
{
    struct place_table table;
    struct dynamic_result first;
    const struct dynamic_limits limits = { .states = 1, .known_ns = HUGE_VAL };
    *status = place_table_make(&f->problem, &table, NULL);
    if (*status == COLLAGE_OK) {
        assert_int_equal(dynamic_run(&table, &limits, &first, NULL), COLLAGE_OK);
        *status = first.chosen ? COLLAGE_OK : COLLAGE_ERROR_UNSUPPORTED;
        *best = (struct placement){ first.chosen, first.count, first.cost_ns, 0, false, 0, 0 };
    }
    if (*status == COLLAGE_OK) {
        bool done = false;
        assert_int_equal(rounds_run(&table, solver, clock_ns() + UINT64_C(20000000000), HUGE_VAL,
                                    best, &done, NULL),
                         COLLAGE_OK);
        assert_true(done && placement_is_optimal(best));
    }
    place_table_free(&table);
}

static void test_rounds_equal_brute(void **state)
{
    (void)state;
    if (!has_solver())
        skip();
    struct tally tally = { 0 };
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct fixture f;
        struct placement best = { 0 };
        collage_status status;
        random_copying_problem(&f, seed * 15485863, 6, seed % 2);
        solve_by_rounds(&f, &best, &status);
        compare(&f, seed, status, &best, &tally);
        fixture_close(&f);
    }
    assert_true(tally.solved > 100);
}

/* a0 -> b1, b0 -> c1, c0 -> a1: three pairs wait for each other; any two of them would do. */
static void test_cycles_are_cut(void **state)
{
    (void)state;
    if (!has_solver())
        skip();
    struct fixture f;
    fixture_open(&f, 1);
    value_id x = fixture_value(&f, VALUE_INPUT), heads[3], ends[3];
    graph_set_inputs(f.graph, &x, 1, NULL);
    for (uint32_t k = 0; k < 3; k++)
        heads[k] = fixture_step(&f, "Relu", &x, 1);
    for (uint32_t k = 0; k < 3; k++)
        ends[k] = fixture_step(&f, "Relu", &heads[(k + 2) % 3], 1);
    graph_set_outputs(f.graph, ends, 3, NULL);
    fixture_seal(&f);
    for (node_id n = 0; n < 6; n++)
        fixture_candidate(&f, 1, &n, 1, 10);
    for (node_id k = 0; k < 3; k++)
        assert_non_null(fixture_candidate(&f, 2, (const node_id[]){ k, k + 3 }, 2, 1));
    struct placement best = { 0 };
    struct tally tally = { 0 };
    collage_status status;
    solve_by_rounds(&f, &best, &status);
    assert_true(best.solves >= 2 && fabs(best.cost_ns - 22) < 1e-9); /* the first answer: 3 */
    compare(&f, 0, status, &best, &tally);
    fixture_close(&f);
}

/* ---- solvers that fail ---- */

static const char *write_solver(const char *name, const char *script)
{
    static char path[512];
    mkdir(COLLAGE_TEST_DATA, 0700);
    snprintf(path, sizeof path, "%s/%s-solver", COLLAGE_TEST_DATA, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

/* A problem that one state a level does not solve: *cost_ns is what it finds. */
static void open_hard_problem(struct fixture *f, double *cost_ns)
{
    for (uint64_t seed = 1;; seed++) {
        struct placement limited, brute;
        random_problem(f, seed * 104729, 9);
        f->problem.state_limit = 1;
        collage_status status = place_dynamic(&f->problem, &limited, NULL);
        bool hard = place_brute(&f->problem, &brute, NULL) == COLLAGE_OK && status == COLLAGE_OK &&
                    limited.cost_ns > brute.cost_ns + 1;
        *cost_ns = limited.cost_ns;
        placement_free(&limited);
        placement_free(&brute);
        if (hard)
            return;
        fixture_close(f);
    }
}

static void test_solver_fails(void **state)
{
    (void)state;
    static const struct {
        const char *name, *script;
    } failures[] = {
        { "missing", NULL },
        { "silent", "exit 0" },
        { "killed", "kill -9 $$" },
        { "garbage", "exec head -c 1000000 /dev/urandom >&0" },
        { "zeros", "exec head -c 1000000 /dev/zero >&0" },
        { "endless", "exec cat /dev/urandom >&0" },
        { "deaf", "exec sleep 100" },
    };
    struct fixture f;
    double cost_ns;
    open_hard_problem(&f, &cost_ns);
    for (size_t k = 0; k < sizeof failures / sizeof failures[0]; k++) {
        const char *path = failures[k].script ? write_solver(failures[k].name, failures[k].script)
                                              : "/nowhere/collage-solver";
        const struct place_limits limits = { .seconds = 0.3, .solver = path };
        struct placement placement;
        uint64_t start = clock_ns();
        assert_int_equal(place_exact(&f.problem, &limits, &placement, NULL), COLLAGE_OK);
        assert_true((double)(clock_ns() - start) < 20e9);
        check_placement(&f, &placement);
        assert_true(placement.cost_ns <= cost_ns + 1e-9);
        assert_true(placement.bound_ns <= placement.cost_ns);
        assert_false(placement.optimal);
        assert_int_equal(placement.solves, 0);
        placement_free(&placement);
    }
    const struct place_limits none = { .seconds = 1 };
    struct placement placement;
    assert_int_equal(place_exact(&f.problem, &none, &placement, NULL), COLLAGE_OK);
    assert_false(placement.optimal);
    placement_free(&placement);
    fixture_close(&f);
}

/* What the process says must be of the program's size; a program must be one. */
static void test_solver_alone(void **state)
{
    (void)state;
    if (!has_solver())
        skip();
    struct program program = { 0 };
    struct program_answer answer;
    uint64_t deadline = clock_ns() + UINT64_C(10000000000);
    assert_int_equal(program_solve(solver, &program, PROGRAM_SOLVE, deadline, &answer, NULL),
                     COLLAGE_ERROR_ARGUMENT);
    uint32_t row = program_add_row(&program, 1, 1); /* a + b = 1, a costs 3, b costs 2 */
    for (double cost = 3; cost >= 2; cost--) {
        program_add_column(&program, cost, true);
        program_add_entry(&program, row, 1);
    }
    assert_int_equal(program_solve(solver, &program, PROGRAM_SOLVE, deadline, &answer, NULL),
                     COLLAGE_OK);
    assert_true(answer.reply.has_solution && answer.reply.proven);
    assert_true(fabs(answer.reply.bound - 2) < 1e-6 && answer.columns[1] > 0.5);
    program_answer_free(&answer);
    assert_int_equal(program_solve(solver, &program, PROGRAM_RELAX, deadline, &answer, NULL),
                     COLLAGE_OK);
    double reduced[2];
    assert_true(fabs(program_price(&program, answer.prices, reduced) - 2) < 1e-6);
    assert_true(fabs(reduced[0] - 1) < 1e-6 && fabs(reduced[1]) < 1e-6);
    program_answer_free(&answer);
    program.row[1] = 7; /* no such row: the solver refuses */
    assert_int_equal(program_solve(solver, &program, PROGRAM_RELAX, deadline, &answer, NULL),
                     COLLAGE_ERROR_BACKEND);
    assert_int_equal(program_solve(solver, &program, PROGRAM_RELAX, clock_ns(), &answer, NULL),
                     COLLAGE_ERROR_TIMEOUT);
    program_free(&program);
}

/* Any prices give a bound that holds; columns that are cheaper than their prices lower it. */
static void test_prices(void **state)
{
    (void)state;
    struct program program = { 0 };
    uint32_t equal = program_add_row(&program, 1, 1),
             most = program_add_row(&program, -HUGE_VAL, 1);
    program_add_column(&program, 5, true);
    program_add_late_entry(&program, 0, equal, 1);
    program_add_column(&program, 4, true);
    program_add_entry(&program, equal, 1);
    program_add_late_entry(&program, 1, most, 2);
    program_settle(&program);
    assert_int_equal(program.entry_count, 3);
    double reduced[2];
    assert_true(fabs(program_price(&program, (const double[]){ 4, 0 }, reduced) - 4) < 1e-12);
    assert_true(fabs(reduced[0] - 1) < 1e-12 && fabs(reduced[1]) < 1e-12);
    assert_true(fabs(program_price(&program, (const double[]){ 7, -1 }, reduced) - 3) < 1e-12);
    assert_true(fabs(program_price(&program, (const double[]){ 3, 9 }, reduced) - 3) < 1e-12);
    program_free(&program);
}

/* Every allocation that fails gives the error, and no leak (seen by the sanitizer). */
static void test_out_of_memory(void **state)
{
    (void)state;
    struct fixture f;
    double cost_ns;
    open_hard_problem(&f, &cost_ns);
    const struct place_limits limits = { .seconds = 20, .solver = solver };
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status == COLLAGE_ERROR_MEMORY && n < 100000; n += n < 300 ? 1 : 13) {
        struct error error = { 0 };
        struct placement placement;
        memory_fail_after(n);
        status = place_exact(&f.problem, &limits, &placement, &error);
        memory_fail_after(0);
        assert_int_equal(status, error.status);
        if (status == COLLAGE_OK)
            check_placement(&f, &placement);
        placement_free(&placement);
    }
    assert_true(n > 100);
    assert_int_equal(status, COLLAGE_OK);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_brute),
        cmocka_unit_test(test_truncated_equals_brute),
        cmocka_unit_test(test_rounds_equal_brute),
        cmocka_unit_test(test_cycles_are_cut),
        cmocka_unit_test(test_solver_fails),
        cmocka_unit_test(test_solver_alone),
        cmocka_unit_test(test_prices),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
