/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: which texts are some, what a backend lists of them, and the keys of their costs. */
#include "unit/pattern/fixture.h"

#include "pattern/schedule.h"

static const char network[] = "graph \"net\" {\n"
                              "  input %x: float32[1x4x6x6]\n"
                              "  %r: float32[1x4x6x6] = Relu(%x)\n"
                              "  output %r\n"
                              "}\n";

static void texts(void **state)
{
    (void)state;
    char text[COLLAGE_SCHEDULE_BYTES + 1];
    assert_true(schedule_is_text("tiles=8 parallel=rows"));
    assert_true(schedule_is_text("~"));
    static const char *const bad[] = { "",    " a",       "a ",       " ",    "a\tb",
                                       "a\n", "\x1b[31m", "\xc3\xa4", "a\x7f" };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(schedule_is_text(bad[k]));
    memset(text, 'x', sizeof text);
    text[COLLAGE_SCHEDULE_BYTES] = '\0';
    assert_false(schedule_is_text(text));
    text[COLLAGE_SCHEDULE_BYTES - 1] = '\0';
    assert_true(schedule_is_text(text));
}

/* Twice the same, one that is malformed, and no end. */
static bool endless(const collage_subgraph *subgraph, const collage_target *target,
                    const collage_variant *variant, size_t index, collage_schedule *out)
{
    assert_int_equal(subgraph->node_count, 1);
    assert_int_equal(target->threads, 1);
    assert_string_equal(variant->name, "");
    assert_int_equal(out->struct_size, sizeof *out);
    if (index == 0)
        memset(out->text, 'x', sizeof out->text); /* not terminated */
    else if (index == 1)
        snprintf(out->text, sizeof out->text, "a\nb");
    else
        snprintf(out->text, sizeof out->text, "n=%zu", index / 2);
    return true;
}

static void listing(void **state)
{
    (void)state;
    struct fixture f;
    struct error error = { 0 };
    const char *const *list;
    size_t count;
    fixture_open(&f, network);
    const bool enabled[BACKENDS] = { true, false, false };
    assert_int_equal(candidate_set_enumerate(f.set, enabled, &error), COLLAGE_OK);
    assert_int_equal(f.set->count, 1);
    assert_int_equal(candidate_schedules(f.set, 0, &list, &count, &error), COLLAGE_OK);
    assert_int_equal(count, 0); /* the backend has no such function */
    collage_backend_api api = plain_api;
    api.schedule = endless;
    f.entries[PLAIN].api = &api;
    assert_int_equal(candidate_schedules(f.set, 0, &list, &count, &error), COLLAGE_OK);
    assert_int_equal(count, SCHEDULES_MAX / 2 - 1);
    for (size_t k = 0; k < count; k++) {
        char expected[32];
        snprintf(expected, sizeof expected, "n=%zu", k + 1);
        assert_string_equal(list[k], expected);
    }
    fixture_close(&f);
}

static bool two(const collage_subgraph *subgraph, const collage_target *target,
                const collage_variant *variant, size_t index, collage_schedule *out)
{
    (void)subgraph, (void)target, (void)variant;
    snprintf(out->text, sizeof out->text, "n=%zu", index);
    return index < 2;
}

static void offers(void **state)
{
    (void)state;
    const collage_variant variant = { .struct_size = sizeof variant };
    const collage_target target = { .struct_size = sizeof target, .threads = 1 };
    const collage_subgraph subgraph = { .struct_size = sizeof subgraph };
    collage_backend_api api = plain_api;
    assert_false(schedule_is_offered(&api, &subgraph, &target, &variant, "n=0"));
    api.schedule = two;
    assert_true(schedule_is_offered(&api, &subgraph, &target, &variant, "n=1"));
    assert_false(schedule_is_offered(&api, &subgraph, &target, &variant, "n=2"));
    assert_false(schedule_is_offered(&api, &subgraph, &target, &variant, "n="));
    assert_false(schedule_is_offered(&api, &subgraph, &target, &variant, ""));
}

static void keys(void **state)
{
    (void)state;
    const struct hash candidate = { .low = 1, .high = 2 };
    struct hash own, a, b, again;
    assert_true(schedule_key(candidate, NULL, &own));
    assert_true(hash_equal(own, candidate));
    assert_true(schedule_key(candidate, "a", &a));
    assert_true(schedule_key(candidate, "b", &b));
    assert_true(schedule_key(candidate, "a", &again));
    assert_true(hash_equal(a, again));
    assert_false(hash_equal(a, b) || hash_equal(a, own));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(listing),
        cmocka_unit_test(offers),
        cmocka_unit_test(keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
