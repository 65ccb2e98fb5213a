/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns and rules that a plugin gives as text: what they offer, and what is refused. */
#include "unit/pattern/fixture.h"

#include "pattern/backend_text.h"

/* 0 Conv, 1 Add of a residual, 2 Relu, 3 Tanh of the residual */
static const char network[] = "graph \"tail\" {\n"
                              "  input %x: float32[1x4x8x8]\n"
                              "  input %r: float32[1x4x8x8]\n"
                              "  input %w: float32[4x4x1x1]\n"
                              "  %c: float32[1x4x8x8] = Conv(%x, %w)\n"
                              "  %s: float32[1x4x8x8] = Add(%c, %r)\n"
                              "  %y: float32[1x4x8x8] = Relu(%s)\n"
                              "  %t: float32[1x4x8x8] = Tanh(%r)\n"
                              "  output %y\n"
                              "  output %t\n"
                              "}\n";

/* CHAINS with a text instead of chains. */
static collage_backend_api with_text(const char *text)
{
    collage_backend_api api = chains_api;
    api.patterns = NULL;
    api.pattern_count = 0;
    api.variant = NULL;
    api.pattern_text = text;
    return api;
}

static void test_offers(void **state)
{
    (void)state;
    static const char text[] = "collage_patterns 1\n"
                               "pattern tail { c = Conv(x, w) s = Add(c, r) t = Tanh(r)\n"
                               "  output s, t }\n"
                               "backend chains # itself: allowed\n"
                               "rule small { operators Add, Relu fuse Add -> Relu }\n"
                               "target avx512 chain never \"Conv\"\n";
    collage_backend_api api = with_text(text);
    const bool enabled[BACKENDS] = { [CHAINS] = true };
    struct error error = { 0 };
    struct fixture f;
    fixture_open(&f, network);
    f.entries[CHAINS].api = &api;
    if (candidate_set_enumerate(f.set, enabled, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(f.set->count, 4);
    assert_int_equal(COUNT(&f, CHAINS, 0, 1, 3), 1); /* two outputs: no chain */
    assert_int_equal(COUNT(&f, CHAINS, 1), 1);
    assert_int_equal(COUNT(&f, CHAINS, 2), 1);
    assert_int_equal(COUNT(&f, CHAINS, 1, 2), 1);
    assert_string_equal(f.set->items[0].pattern, "tail");
    fixture_close(&f);
}

/* The text is beside the chains, and a graph-level backend may have one, too. */
static void test_beside_what_there_is(void **state)
{
    (void)state;
    static const char text[] = "collage_patterns 1 chain more \"Add Relu\"";
    collage_backend_api chains = chains_api, graphs = graphs_api;
    chains.pattern_text = graphs.pattern_text = text;
    const bool enabled[BACKENDS] = { [CHAINS] = true, [GRAPHS] = true };
    struct fixture f;
    fixture_open(&f, network);
    f.entries[CHAINS].api = &chains;
    f.entries[GRAPHS].api = &graphs;
    assert_int_equal(candidate_set_enumerate(f.set, enabled, NULL), COLLAGE_OK);
    assert_int_equal(COUNT(&f, CHAINS, 0, 1, 2), 2); /* its chain, two variants */
    assert_int_equal(COUNT(&f, CHAINS, 1, 2), 2);
    assert_int_equal(COUNT(&f, GRAPHS, 1, 2), 1);
    fixture_close(&f);
}

static const struct {
    const char *text, *message;
} malformed[] = {
    { "", "pattern_text of backend chains:1:1: expected 'collage_patterns', not the end" },
    { "collage_patterns 1\nbackend plain", "pattern_text of backend chains:2:9: expected 'chains': "
                                           "the text of a backend is for itself" },
    { "collage_patterns 1\nbackend chains, plain",
      "pattern_text of backend chains:2:17: expected" },
    { "collage_patterns 1\nchain c \"Swoosh\"", "pattern_text of backend chains:2:9: pattern 'c'" },
};

/* Such a plugin is malformed; the others stay as they are. */
static void test_malformed(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof malformed / sizeof malformed[0]; k++) {
        collage_backend_api api = with_text(malformed[k].text);
        const bool enabled[BACKENDS] = { [CHAINS] = true };
        struct error error = { 0 };
        struct fixture f;
        fixture_open(&f, network);
        f.entries[CHAINS].api = &api;
        assert_int_equal(candidate_set_enumerate(f.set, enabled, &error), COLLAGE_ERROR_FORMAT);
        assert_memory_equal(error.text, malformed[k].message, strlen(malformed[k].message));
        f.registry.arena = arena_create();
        assert_int_equal(backend_text_check(&f.registry, 0, &error), COLLAGE_OK);
        assert_null(f.entries[CHAINS].api);
        assert_memory_equal(f.entries[CHAINS].problem, malformed[k].message,
                            strlen(malformed[k].message));
        assert_ptr_equal(f.entries[PLAIN].api, &plain_api);
        arena_destroy(f.registry.arena);
        fixture_close(&f);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    collage_backend_api api = with_text("collage_patterns 1 chain c \"Conv (Add|Relu)*2\"");
    collage_status status = COLLAGE_ERROR_MEMORY;
    struct fixture f;
    fixture_open(&f, network);
    f.entries[CHAINS].api = &api;
    f.registry.arena = arena_create();
    for (size_t n = 1; status == COLLAGE_ERROR_MEMORY && n < 1000; n++) {
        struct error error = { 0 };
        memory_fail_after(n);
        status = backend_text_check(&f.registry, 0, &error);
        memory_fail_after(0);
        assert_ptr_equal(f.entries[CHAINS].api, &api); /* well-formed, whatever lacks */
    }
    assert_int_equal(status, COLLAGE_OK);
    arena_destroy(f.registry.arena);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offers),
        cmocka_unit_test(test_beside_what_there_is),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
