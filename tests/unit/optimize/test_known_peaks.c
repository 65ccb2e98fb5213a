/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's peaks: the best ever measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cost/device.h"
#include "optimize/known_peaks.h"

#define OK(call) assert_int_equal(call, COLLAGE_OK)

static void the_best_is_kept(void **state)
{
    (void)state;
    struct device_facts here;
    struct peaks first = { 0 }, second = { 0 };
    bool known = true;
    OK(device_facts_read(&here, NULL));
    struct peaks_source source = { .device = here.fingerprint };
    OK(cost_store_open(NULL, &source.store, NULL));
    OK(known_peaks_find(&source, 1, &first, &known, NULL));
    assert_false(known);
    source.measure = true;
    OK(known_peaks_find(&source, 1, &first, &known, NULL));
    assert_true(known && first.threads == 1 && first.flop_per_ns > 0);
    source.measure = false;
    OK(known_peaks_find(&source, 1, &second, &known, NULL));
    assert_true(known);
    assert_memory_equal(&first, &second, sizeof first);
    OK(known_peaks_find(&source, 2, &second, &known, NULL));
    assert_false(known); /* on other threads */
    source.measure = true;
    OK(known_peaks_find(&source, 1, &second, &known, NULL));
    assert_true(known && second.flop_per_ns >= first.flop_per_ns);
    for (int level = 0; level < PEAK_LEVELS; level++)
        assert_true(second.bytes_per_ns[level] >= first.bytes_per_ns[level]);
    const struct cost_conditions conditions = { "collage", collage_version(), here.fingerprint, 1,
                                                0 };
    OK(cost_store_put_fact(source.store, "peaks: operations", &conditions, 1e-3, NULL));
    OK(known_peaks_find(&source, 1, &second, &known, NULL));
    assert_true(known && second.flop_per_ns > 0.1); /* a bad moment does not stay */
    cost_store_close(source.store);
}

static void another_machine_is_not_measured_here(void **state)
{
    (void)state;
    struct peaks peaks;
    bool known = true;
    struct peaks_source source = { .device = "0123456789abcdef", .measure = true };
    OK(cost_store_open(NULL, &source.store, NULL));
    OK(known_peaks_find(&source, 1, &peaks, &known, NULL));
    assert_false(known);
    cost_store_close(source.store);
}

/* A store is a file that anybody may have written. */
static void damaged_facts_are_not_believed(void **state)
{
    (void)state;
    static const char *const keys[] = { "peaks: operations",        "peaks: from second cache",
                                        "peaks: from last cache",   "peaks: from memory",
                                        "peaks: second cache size", "peaks: last cache size" };
    const struct cost_conditions conditions = { "collage", collage_version(), "0123456789abcdef", 1,
                                                0 };
    struct peaks peaks;
    bool known = false;
    struct peaks_source source = { .device = conditions.device };
    OK(cost_store_open(NULL, &source.store, NULL));
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        OK(cost_store_put_fact(source.store, keys[k], &conditions, 100, NULL));
    OK(known_peaks_find(&source, 1, &peaks, &known, NULL));
    assert_true(known && peaks.last_level_bytes == 100);
    OK(cost_store_put_fact(source.store, keys[1], &conditions, -1, NULL));
    OK(known_peaks_find(&source, 1, &peaks, &known, NULL));
    assert_false(known);
    OK(cost_store_put_fact(source.store, keys[1], &conditions, 1, NULL));
    OK(cost_store_put_fact(source.store, keys[5], &conditions, 1e300, NULL));
    OK(known_peaks_find(&source, 1, &peaks, &known, NULL));
    assert_false(known);
    cost_store_close(source.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_is_kept),
        cmocka_unit_test(another_machine_is_not_measured_here),
        cmocka_unit_test(damaged_facts_are_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
