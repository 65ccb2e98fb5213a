/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <string.h>

#include "cost/device.h"

static void test_stable(void **state)
{
    (void)state;
    struct device_facts a, b;
    assert_int_equal(device_facts_read(&a, NULL), COLLAGE_OK);
    assert_int_equal(device_facts_read(&b, NULL), COLLAGE_OK);
    assert_memory_equal(&a, &b, sizeof a);
    struct hash hash;
    assert_true(hash_parse(a.fingerprint, &hash));
    assert_true(hash.low != 0 || hash.high != 0);
}

static void test_plausible(void **state)
{
    (void)state;
    struct device_facts facts;
    assert_int_equal(device_facts_read(&facts, NULL), COLLAGE_OK);
    assert_true(facts.physical_cores >= 1 && facts.physical_cores < 4096);
    assert_non_null(strstr(facts.name, " core"));
    if (facts.last_level_cache_bytes && facts.l2_bytes)
        assert_true(facts.last_level_cache_bytes >= facts.l2_bytes);
}

static void test_counts_usable_cores_only(void **state)
{
    (void)state;
    cpu_set_t before, one;
    if (sched_getaffinity(0, sizeof before, &before) != 0 || CPU_COUNT(&before) < 2)
        skip();
    size_t first = 0;
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    struct device_facts all, pinned;
    assert_int_equal(device_facts_read(&all, NULL), COLLAGE_OK);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(device_facts_read(&pinned, NULL), COLLAGE_OK);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(pinned.physical_cores, 1);
    if (all.physical_cores > 1)
        assert_string_not_equal(all.fingerprint, pinned.fingerprint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stable),
        cmocka_unit_test(test_plausible),
        cmocka_unit_test(test_counts_usable_cores_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
