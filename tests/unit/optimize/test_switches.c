/* SPDX-License-Identifier: Apache-2.0 */
/* What the change from a library to another costs: nothing where there is nothing to measure it by,
 * and an error, not nothing, where memory is short. */
#include "unit/pattern/fixture.h"

#include "optimize/optimizer.h"

static const char chain[] = "graph \"chain\" {\n"
                            "  input %v0: float32[4]\n"
                            "  %v1: float32[4] = Relu(%v0)\n"
                            "  output %v1\n}\n";

static void no_memory_is_not_no_cost(void **state)
{
    (void)state;
    struct fixture f;
    bool enabled[BACKENDS] = { true, true, true };
    fixture_open(&f, chain);
    for (size_t b = 0; b < BACKENDS; b++)
        f.entries[b].version = "1";
    struct error error = { 0 };
    if (candidate_set_enumerate(f.set, enabled, &error))
        fail_msg("%s", error.text);
    /* The store is not asked, and nothing is measured. */
    struct optimizer optimizer = { .set = f.set, .enabled = enabled };
    optimizer.settings.graph = f.set->graph;
    optimizer.settings.registry = f.set->registry;
    optimizer.settings.remeasure = optimizer.settings.stored_only = true;
    size_t failed = 0, n = 1;
    for (collage_status status = COLLAGE_ERROR_MEMORY; status != COLLAGE_OK; n++) {
        assert_true(n < 100);
        optimizer.arena = arena_create();
        error_clear(&error);
        memory_fail_once(n);
        status = optimizer_measure_switches(&optimizer, &error);
        memory_fail_after(0);
        if (status != COLLAGE_OK)
            assert_int_equal(status, COLLAGE_ERROR_MEMORY);
        failed += status != COLLAGE_OK;
        if (status == COLLAGE_OK)
            for (size_t k = 0; k < (size_t)BACKENDS * BACKENDS; k++)
                assert_true(optimizer.switch_ns[k] <= 0);
        arena_destroy(optimizer.arena);
    }
    assert_true(failed >= 1);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory_is_not_no_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
