/* SPDX-License-Identifier: Apache-2.0 */
/* Which contestant of the final race becomes the plan; the table of costs by key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "optimize/key_table.h"
#include "optimize/optimizer.h"
#include "optimize/ratio.h"

enum { ROUNDS = 60, MOST = 4 };

/* A race: the time of each contestant in a phase of the machine that slows all of them. */
struct race {
    double times[MOST]; /* 0: it is out of the race */
    double noise[MOST]; /* relative, alternating from round to round */
    size_t count, winner;
    const char *what;
};

static const struct race races[] = {
    { { 90, 100, 110 }, { 0.01, 0.01, 0.01 }, 3, 0, "the mix is faster" },
    { { 105, 100, 110 }, { 0.01, 0.01, 0.01 }, 3, 1, "the mix is slower" },
    { { 100, 110, 95 }, { 0.01, 0.01, 0.01 }, 3, 2, "the last library is the fastest" },
    { { 100, 100, 110 }, { 0.2, 0.2, 0.01 }, 3, 1, "the mix is as fast as a library" },
    { { 99.9, 100, 110 }, { 0.3, 0.1, 0.01 }, 3, 1, "the mix leads by less than the noise" },
    { { 0, 100, 90 }, { 0, 0.01, 0.01 }, 3, 2, "the mix crashed" },
    { { 100, 0, 0 }, { 0.01, 0, 0 }, 3, 0, "all libraries crashed" },
    { { 0, 0 }, { 0, 0 }, 2, SIZE_MAX, "all crashed" },
};

/* A mix, a session, an op-level library alone: who needs which proof. */
static const struct race proofs_differ[] = {
    { { 99, 100, 90 }, { 0.2, 0.01, 0.2 }, 3, 1, "plans that lead by less than the noise" },
    { { 120, 100, 99.5 }, { 0.01, 0.01, 0.01 }, 3, 2, "an op-level library is not slower" },
    { { 99.2, 100, 99 }, { 0.002, 0.002, 0.002 }, 3, 2, "the simpler of two that are as good" },
    { { 90, 100, 95 }, { 0.01, 0.01, 0.01 }, 3, 0, "the mix is faster than all who show less" },
    { { 98, 0, 100 }, { 0.2, 0, 0.01 }, 3, 2, "no session finished: the op-level library" },
};

static void fill_samples(const struct race *race, size_t c, double *samples,
                         struct contestant *contestant)
{
    if (race->times[c] <= 0) {
        snprintf(contestant->failure, sizeof contestant->failure, "crashed");
        return;
    }
    for (int k = 0; k < ROUNDS; k++) {
        double phase = k / 10 % 2 ? 1.7 : 1;
        double sign = (k + (int)c) % 2 ? 1 : -1;
        samples[k] = race->times[c] * phase * (1 + sign * race->noise[c]);
    }
    contestant->samples = samples;
    contestant->sample_count = ROUNDS;
}

static void check_winner(const struct race *race, enum proof *proofs)
{
    static double samples[MOST][ROUNDS];
    static struct plan any; /* only whether there is one counts */
    struct contestant contestants[MOST] = { { 0 } };
    struct plan *plans[MOST];
    for (size_t c = 0; c < race->count; c++) {
        plans[c] = &any;
        fill_samples(race, c, samples[c], &contestants[c]);
    }
    struct optimizer optimizer = { .contestants = contestants,
                                   .plans = plans,
                                   .proofs = proofs,
                                   .contestant_count = race->count };
    struct error error = { 0 };
    size_t winner = 99;
    assert_int_equal(optimizer_find_winner(&optimizer, PROOF_FASTER, &winner, &error), COLLAGE_OK);
    if (winner != race->winner)
        fail_msg("%s: contestant %zu won", race->what, winner);
}

static void the_mix_must_prove_itself(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof races / sizeof *races; r++)
        check_winner(&races[r], (enum proof[MOST]){ PROOF_FASTER });
    for (size_t r = 0; r < sizeof proofs_differ / sizeof *proofs_differ; r++)
        check_winner(&proofs_differ[r],
                     (enum proof[MOST]){ PROOF_FASTER, PROOF_NONE, PROOF_NOT_SLOWER });
}

/* Who was slower than the best session in new processes is no winner; who was asked and was not
 * slower stays one. */
static void one_that_lost_again_is_out(void **state)
{
    (void)state;
    static const struct {
        double again[3];
        size_t winner;
    } cases[] = {
        { { 0, 0, 0 }, 0 }, { { 0.9, 0, 0 }, 0 }, { { 1.01, 0, 0 }, 2 }, { { 1.01, 0, 1.2 }, 1 }
    };
    static const struct race race = { { 90, 100, 95 }, { 0.01, 0.01, 0.01 }, 3, 0, "heats" };
    static double samples[3][ROUNDS];
    static struct plan any;
    for (size_t r = 0; r < sizeof cases / sizeof *cases; r++) {
        struct contestant contestants[3] = { { 0 } };
        struct plan *plans[3] = { &any, &any, &any };
        enum proof proofs[3] = { PROOF_FASTER, PROOF_NONE, PROOF_NOT_SLOWER };
        for (size_t c = 0; c < 3; c++) {
            fill_samples(&race, c, samples[c], &contestants[c]);
            contestants[c].again = cases[r].again[c];
        }
        struct optimizer optimizer = {
            .contestants = contestants, .plans = plans, .proofs = proofs, .contestant_count = 3
        };
        struct error error = { 0 };
        size_t winner = 99;
        assert_int_equal(optimizer_find_winner(&optimizer, PROOF_FASTER, &winner, &error),
                         COLLAGE_OK);
        assert_int_equal(winner, cases[r].winner);
        assert_int_equal(optimizer_find_winner(&optimizer, PROOF_NONE, &winner, &error),
                         COLLAGE_OK);
        assert_int_equal(winner, 1);
    }
}

/* Whether another round is wanted, and who rests from now on. */
static void a_race_goes_on_while_it_is_open(void **state)
{
    (void)state;
    static const struct {
        struct race race;
        bool open, rests[MOST];
    } cases[] = {
        { { { 90, 100 }, { 0.01, 0.01 }, 2, 0, "a clear lead" }, false, { false, true } },
        { { { 100, 100.5 }, { 0.2, 0.1 }, 2, 0, "equal within a wide noise" }, true, { false } },
        { { { 100, 100.1 }, { 0.001, 0.001 }, 2, 0, "equal, and known well" }, false, { false } },
        { { { 100, 170, 100.5 }, { 0.1, 0.01, 0.2 }, 3, 0, "one is far behind" },
          true,
          { false, true, false } },
        { { { 0, 100 }, { 0, 0.01 }, 2, 1, "one is left" }, false, { false } },
    };
    for (size_t r = 0; r < sizeof cases / sizeof *cases; r++) {
        static double samples[MOST][ROUNDS];
        struct contestant contestants[MOST] = { { 0 } };
        const struct race *race = &cases[r].race;
        for (size_t c = 0; c < race->count; c++)
            fill_samples(race, c, samples[c], &contestants[c]);
        bool open = !cases[r].open;
        assert_int_equal(race_is_open(contestants, race->count, 1.05, &open), COLLAGE_OK);
        if (open != cases[r].open)
            fail_msg("%s: open is wrong", race->what);
        for (size_t c = 0; c < race->count; c++)
            if (contestants[c].rests != cases[r].rests[c])
                fail_msg("%s: rests of %zu is wrong", race->what, c);
    }
}

/* Who cannot compare does not say that all is clear. */
static void a_race_without_memory_fails(void **state)
{
    (void)state;
    static double samples[MOST][ROUNDS];
    const struct race race = { { 100, 100.5, 101 }, { 0.2, 0.1, 0.2 }, 3, 0, "wide noise" };
    struct contestant contestants[MOST] = { { 0 } };
    bool open;
    size_t failed = 0;
    for (size_t c = 0; c < race.count; c++)
        fill_samples(&race, c, samples[c], &contestants[c]);
    for (size_t n = 1; n <= 100; n++) {
        memory_fail_once(n);
        collage_status status = race_is_open(contestants, race.count, 1.05, &open);
        memory_fail_after(0);
        failed += status == COLLAGE_ERROR_MEMORY;
        if (status == COLLAGE_OK) {
            assert_int_equal(failed, n - 1); /* each allocation failed once */
            break;
        }
    }
    assert_true(failed >= 4); /* two comparisons for the leader, two with it */
    assert_int_equal(race_is_open(contestants, race.count, 1.05, &open), COLLAGE_OK);
    assert_true(open);
}

static void costs_are_found_by_key(void **state)
{
    (void)state;
    enum { KEYS = 5000 };
    struct key_table *table = key_table_create();
    assert_non_null(table);
    for (uint64_t k = 0; k < KEYS; k++) { /* many keys share the low bits: they must be probed */
        struct cost cost = { .cost_ns = (double)k };
        struct hash key = { k / 4, k };
        assert_null(key_table_find(table, key));
        assert_true(key_table_put(table, key, &cost));
    }
    struct cost replaced = { .cost_ns = -1 };
    assert_true(key_table_put(table, (struct hash){ 0, 1 }, &replaced));
    assert_int_equal(key_table_count(table), KEYS);
    for (uint64_t k = 0; k < KEYS; k++) {
        const struct cost *cost = key_table_find(table, (struct hash){ k / 4, k });
        assert_non_null(cost);
        assert_true(cost->cost_ns == (k == 1 ? -1 : (double)k));
    }
    key_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mix_must_prove_itself),
        cmocka_unit_test(one_that_lost_again_is_out),
        cmocka_unit_test(a_race_goes_on_while_it_is_open),
        cmocka_unit_test(a_race_without_memory_fails),
        cmocka_unit_test(costs_are_found_by_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
