/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/memory.h"
#include "measure/statistics.h"

static const double close_enough = 1e-12;

static void assert_near(double actual, double expected, double allowed)
{
    if (!(fabs(actual - expected) <= allowed))
        fail_msg("%.17g is not %.17g", actual, expected);
}

static void test_empty(void **state)
{
    (void)state;
    struct summary s;
    assert_true(summary_of(NULL, 0, &s));
    assert_int_equal(s.count, 0);
    assert_near(s.median, 0, close_enough);
    assert_true(paired_ratio(NULL, NULL, 0, &s));
    assert_int_equal(s.count, 0);
}

static void test_order_statistics(void **state)
{
    (void)state;
    /* Binomial(n, 1/2): the interval is [X(l), X(n+1-l)] with l-1 the largest k of which
     * P(B <= k) <= 0.025. Tables: n = 6: l = 1; 8: 1; 9: 2; 10: 2; 12: 3; 15: 4; 20: 6. */
    static const struct {
        size_t count, low;
    } cases[] = { { 1, 1 },  { 2, 1 },   { 5, 1 },  { 6, 1 },  { 8, 1 },
                  { 9, 2 },  { 10, 2 },  { 12, 3 }, { 15, 4 }, { 20, 6 }, /* exact */
                  { 25, 8 }, { 100, 41 } /* 25/2 - 0.98 * 5 = 7.6; 50 - 0.98 * 10 = 40.2 */ };
    double samples[100];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t n = cases[c].count;
        for (size_t k = 0; k < n; k++)
            samples[k] = (double)((k * 37) % n) + 1; /* 1..n shuffled where 37 and n are coprime */
        if (n == 1)
            samples[0] = 1;
        struct summary s;
        assert_true(summary_of(samples, n, &s));
        assert_int_equal(s.count, n);
        assert_near(s.minimum, 1, close_enough);
        assert_near(s.median, (double)(n + 1) / 2, close_enough);
        assert_near(s.low, (double)cases[c].low, close_enough);
        assert_near(s.high, (double)(n + 1 - cases[c].low), close_enough);
    }
}

static void test_lowest_decile(void **state)
{
    (void)state;
    double samples[60], lowest;
    for (size_t k = 0; k < 60; k++)
        samples[k] = (double)(100 * (2 - k / 20) + k % 20); /* 200.., 100.., 0.. */
    assert_true(lowest_decile(samples, 60, 3, &lowest));
    assert_near(lowest, 1, close_enough); /* the decile of 0..19 */
    assert_true(lowest_decile(samples, 60, 1, &lowest));
    assert_near(lowest, 5, close_enough);
    assert_true(lowest_decile(samples, 40, 2, &lowest));
    assert_near(lowest, 101, close_enough);
    assert_true(lowest_decile(samples, 2, 3, &lowest)); /* fewer samples than parts */
    assert_near(lowest, 200, close_enough);
    assert_true(lowest_decile(NULL, 0, 3, &lowest));
    assert_near(lowest, 0, close_enough);
}

static void test_input_is_not_sorted_in_place(void **state)
{
    (void)state;
    double samples[] = { 3, 1, 2 };
    struct summary s;
    assert_true(summary_of(samples, 3, &s));
    assert_near(samples[0], 3, close_enough);
    assert_near(s.median, 2, close_enough);
}

static void test_paired_ratio(void **state)
{
    (void)state;
    double a[40], b[40];
    for (size_t k = 0; k < 40; k++) {
        b[k] = 100 + (double)(k * k); /* drifts by a lot: only the pairing shows the ratio */
        a[k] = b[k] * (1.2 + 0.001 * (double)(k % 5));
    }
    struct summary s, again;
    assert_true(paired_ratio(a, b, 40, &s));
    assert_near(s.median, 1.202, 1e-9);
    assert_near(s.minimum, 1.2, 1e-9);
    assert_true(s.low >= 1.2 && s.low <= s.median);
    assert_true(s.high <= 1.2041 && s.high >= s.median);
    assert_true(paired_ratio(a, b, 40, &again));
    assert_memory_equal(&s, &again, sizeof s);
}

static void test_interval_covers_one_for_equals(void **state)
{
    (void)state;
    double a[30], b[30];
    uint32_t x = 12345;
    for (size_t k = 0; k < 30; k++) {
        x = x * 1664525u + 1013904223u;
        a[k] = 100 + (double)(x >> 28);
        x = x * 1664525u + 1013904223u;
        b[k] = 100 + (double)(x >> 28);
    }
    struct summary s;
    assert_true(paired_ratio(a, b, 30, &s));
    assert_true(s.low <= 1.0 && s.high >= 1.0);
    assert_true(s.high - s.low > 0.001);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    double samples[] = { 1, 2, 3 };
    struct summary s;
    memory_fail_after(1);
    bool summary = summary_of(samples, 3, &s);
    memory_fail_after(2);
    bool ratio = paired_ratio(samples, samples, 3, &s);
    memory_fail_after(0);
    assert_false(summary);
    assert_false(ratio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),         cmocka_unit_test(test_order_statistics),
        cmocka_unit_test(test_lowest_decile), cmocka_unit_test(test_input_is_not_sorted_in_place),
        cmocka_unit_test(test_paired_ratio),  cmocka_unit_test(test_interval_covers_one_for_equals),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
