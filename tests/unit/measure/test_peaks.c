/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine can do at best, and what that says of a kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <unistd.h>

#include "base/memory.h"
#include "measure/peaks.h"

static const struct peaks made_up = { .threads = 2,
                                      .flop_per_ns = 100,
                                      .bytes_per_ns = { 80, 40, 10 },
                                      .level_2_bytes = 1000,
                                      .last_level_bytes = 10000 };

static void assert_near(double actual, double wanted)
{
    assert_true(fabs(actual - wanted) < 1e-9 * wanted);
}

static void the_slower_of_two_counts(void **state)
{
    (void)state;
    assert_true(peaks_bound_ns(&made_up, &(struct workload){ 0 }) == 0);
    assert_near(peaks_bound_ns(&made_up, &(struct workload){ .flop = 500 }), 5);
    /* in the second, third and no cache */
    assert_near(peaks_bound_ns(&made_up, &(struct workload){ 500, 0, 800, 0 }), 10);
    assert_near(peaks_bound_ns(&made_up, &(struct workload){ 500, 0, 8000, 0 }), 200);
    assert_near(peaks_bound_ns(&made_up, &(struct workload){ 500, 0, 80000, 0 }), 8000);
    /* weights lie where the rest of the network leaves them, and are read beside the others */
    assert_near(peaks_bound_ns(&made_up, &(struct workload){ 500, 800, 800, 900 }), 20);
    assert_near(peaks_bound_ns(&made_up, &(struct workload){ 500, 800, 800, 90000 }), 90);
    assert_near(peaks_bound_ns(&made_up, &(struct workload){ 500, 20000, 0, 1 }), 2000);
}

static void peaks_are_measured(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 2; threads++) {
        struct peaks peaks;
        struct error error = { 0 };
        if (peaks_measure(threads, &peaks, &error) != COLLAGE_OK)
            fail_msg("%s", error.text);
        assert_int_equal(peaks.threads, threads);
        assert_true(peaks.flop_per_ns > 0.1 && peaks.flop_per_ns < 1e5);
        for (int level = 0; level < PEAK_LEVELS; level++)
            assert_true(peaks.bytes_per_ns[level] > 0.01 && peaks.bytes_per_ns[level] < 1e5);
        long told = sysconf(_SC_LEVEL3_CACHE_SIZE);
        if (told > 0) /* not more than there is, whoever else uses it */
            assert_true(peaks.last_level_bytes > 0 && peaks.last_level_bytes <= (uint64_t)told);
    }
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        struct peaks peaks;
        struct error error = { 0 };
        memory_fail_after(n);
        collage_status status = peaks_measure(1, &peaks, &error);
        memory_fail_after(0);
        assert_int_equal(status, COLLAGE_ERROR_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slower_of_two_counts),
        cmocka_unit_test(peaks_are_measured),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
