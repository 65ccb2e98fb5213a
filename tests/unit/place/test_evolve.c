/* SPDX-License-Identifier: Apache-2.0 */
/* The genetic algorithm on functions whose least value is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "place/evolve.h"

enum { GENES = 16, INDIVIDUALS = 1 << GENES };

/* How many genes differ from the target, or what `values` says. */
struct world {
    uint32_t target;
    const double *values; /* by the genes as a number; NULL: none */
    bool met[INDIVIDUALS];
    uint32_t first[2]; /* the individuals that were measured first */
    size_t calls, fail_at;
    uint64_t trace; /* of who was measured, in order */
    uint32_t told;  /* generations */
    double last;
    uint32_t stop_at;
};

static uint32_t number_of(const uint8_t *genes, uint32_t count)
{
    uint32_t number = 0;
    for (uint32_t g = 0; g < count; g++) {
        assert_true(genes[g] <= 1);
        number |= (uint32_t)genes[g] << g;
    }
    return number;
}

static collage_status measure(void *user, const uint8_t *genes, uint32_t count, double *value,
                              struct error *error)
{
    struct world *world = user;
    uint32_t number = number_of(genes, count);
    assert_false(world->met[number]); /* what is known is not measured again */
    world->met[number] = true;
    if (world->calls < 2)
        world->first[world->calls] = number;
    world->trace = world->trace * 31 + number;
    if (++world->calls == world->fail_at)
        return error_set(error, COLLAGE_ERROR_INTERRUPTED, "enough");
    uint32_t different = 0;
    for (uint32_t bits = number ^ world->target; bits; bits &= bits - 1)
        different++;
    *value = world->values ? world->values[number] : different;
    return COLLAGE_OK;
}

static bool on_generation(void *user, uint32_t generation, const uint8_t *best, double value)
{
    struct world *world = user;
    assert_non_null(best);
    assert_int_equal(generation, ++world->told);
    assert_true(generation == 1 || value <= world->last); /* the best so far is kept */
    world->last = value;
    return generation != world->stop_at;
}

static struct evolve_rules rules_for(struct world *world)
{
    return (struct evolve_rules){ .generations = 300,
                                  .seed = 64,
                                  .deadline = UINT64_MAX,
                                  .measure = measure,
                                  .generation = on_generation,
                                  .user = world };
}

static void test_finds_the_least(void **state)
{
    (void)state;
    static struct world world;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        world = (struct world){ .target = (uint32_t)(seed * 40503) & (INDIVIDUALS - 1) };
        struct evolve_rules rules = rules_for(&world);
        struct evolve_result result;
        rules.seed = seed;
        assert_int_equal(evolve_run(&rules, GENES, &result, NULL), COLLAGE_OK);
        assert_true(result.value == 0);
        assert_int_equal(number_of(result.best, GENES), world.target);
        assert_int_equal(world.first[0], 0); /* all stay, all move: always tried */
        assert_int_equal(world.first[1], INDIVIDUALS - 1);
        assert_int_equal(result.measured, world.calls);
        assert_int_equal(result.generations, world.told);
        assert_true(result.recalled > 0 && result.measured < INDIVIDUALS / 4);
        evolve_free(&result);
    }
}

static void test_a_seed_gives_one_search(void **state)
{
    (void)state;
    static struct world world;
    uint64_t traces[3];
    for (int k = 0; k < 3; k++) {
        world = (struct world){ .target = 0x5a3c };
        struct evolve_rules rules = rules_for(&world);
        struct evolve_result result;
        rules.generations = 12;
        rules.seed = k < 2 ? 7 : 8;
        assert_int_equal(evolve_run(&rules, GENES, &result, NULL), COLLAGE_OK);
        assert_int_equal(result.generations, 12);
        traces[k] = world.trace;
        evolve_free(&result);
    }
    assert_int_equal(traces[0], traces[1]);
    assert_int_not_equal(traces[0], traces[2]);
}

static void test_limits(void **state)
{
    (void)state;
    static struct world world;
    static const struct {
        uint32_t generations, population, stop_at;
        bool late;
        uint32_t ran;
        size_t least, most; /* individuals measured */
    } rows[] = {
        { 1, 0, 0, false, 1, 40, 50 },  /* of 50, few are equal */
        { 3, 0, 0, false, 3, 50, 150 }, /* at most 50 more in each */
        { 5, 2, 0, false, 5, 2, 10 },   /* the least population */
        { 9, 7, 0, false, 9, 5, 63 },   /* an odd one */
        { 0, 0, 4, false, 4, 50, 200 }, /* the caller has had enough */
        { 300, 0, 0, true, 1, 1, 1 },   /* no time: the first is measured all the same */
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        world = (struct world){ .target = 0x1234, .stop_at = rows[r].stop_at };
        struct evolve_rules rules = rules_for(&world);
        struct evolve_result result;
        rules.generations = rows[r].generations;
        rules.population = rows[r].population;
        rules.deadline = rows[r].late ? 0 : UINT64_MAX;
        assert_int_equal(evolve_run(&rules, GENES, &result, NULL), COLLAGE_OK);
        assert_int_equal(result.generations, rows[r].ran);
        assert_true(result.measured >= rows[r].least && result.measured <= rows[r].most);
        if (rows[r].late)
            assert_int_equal(number_of(result.best, GENES), 0);
        evolve_free(&result);
    }
}

/* Few genes: ends when all there can be have been measured. */
static void test_ends_when_all_is_known(void **state)
{
    (void)state;
    static struct world world;
    static const double values[] = { 5, 3, HUGE_VAL, 1, 4, 1, 9, 9 };
    static const uint32_t best[] = { 1, 3 }; /* of 1 and 2 genes */
    for (uint32_t count = 1; count <= 3; count++) {
        world = (struct world){ .values = values };
        struct evolve_rules rules = rules_for(&world);
        struct evolve_result result;
        assert_int_equal(evolve_run(&rules, count, &result, NULL), COLLAGE_OK);
        assert_int_equal(result.measured, (size_t)1 << count);
        assert_true(result.generations < 300);
        assert_true(result.value == values[number_of(result.best, count)]);
        if (count < 3)
            assert_int_equal(number_of(result.best, count), best[count - 1]);
        else
            assert_true(result.value == 1); /* two are equally good */
        evolve_free(&result);
    }
}

static void test_failures(void **state)
{
    (void)state;
    static struct world world;
    static const double none[] = { HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL };
    struct evolve_result result;
    struct error error = { 0 };
    world = (struct world){ .values = none };
    struct evolve_rules rules = rules_for(&world);
    assert_int_equal(evolve_run(&rules, 2, &result, NULL), COLLAGE_OK);
    assert_true(result.value == HUGE_VAL); /* nothing lives: all stay where they are */
    assert_int_equal(number_of(result.best, 2), 0);
    evolve_free(&result);
    world = (struct world){ .fail_at = 60 };
    rules = rules_for(&world);
    assert_int_equal(evolve_run(&rules, GENES, &result, &error), COLLAGE_ERROR_INTERRUPTED);
    assert_string_equal(error.text, "enough");
    assert_null(result.best);
    assert_int_equal(evolve_run(&rules, 0, &result, NULL), COLLAGE_ERROR_ARGUMENT);
    rules.population = 1;
    assert_int_equal(evolve_run(&rules, 4, &result, NULL), COLLAGE_ERROR_ARGUMENT);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static struct world world;
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status == COLLAGE_ERROR_MEMORY && n < 1000; n++) {
        world = (struct world){ .target = 99 };
        struct evolve_rules rules = rules_for(&world);
        struct evolve_result result;
        struct error error = { 0 };
        rules.generations = 10;
        memory_fail_after(n);
        status = evolve_run(&rules, GENES, &result, &error);
        memory_fail_after(0);
        assert_int_equal(status, error.status);
        evolve_free(&result);
    }
    assert_true(n > 5);
    assert_int_equal(status, COLLAGE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_the_least), cmocka_unit_test(test_a_seed_gives_one_search),
        cmocka_unit_test(test_limits),          cmocka_unit_test(test_ends_when_all_is_known),
        cmocka_unit_test(test_failures),        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
