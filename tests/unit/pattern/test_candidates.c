/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates: what is added, what is not, keys, refusals, views, merging. */
#include "unit/pattern/fixture.h"

#include "pattern/merge.h"

/* Two equal convolution blocks, a view, and operators that some backends refuse. */
static const char network[] =
    "graph \"net\" {\n"
    "  input %x: float32[1x4x6x6]\n"
    "  const %w: float32[4x4x3x3] = #0123456789abcdef0123456789abcdef\n"
    "  const %shape: int64[2] = {1, 144}\n"
    "  %c0: float32[1x4x6x6] = Conv(%x, %w) {pads=[1, 1, 1, 1]}\n"  /* 0 */
    "  %r0: float32[1x4x6x6] = Relu(%c0)\n"                         /* 1 */
    "  %c1: float32[1x4x6x6] = Conv(%r0, %w) {pads=[1, 1, 1, 1]}\n" /* 2 */
    "  %r1: float32[1x4x6x6] = Relu(%c1)\n"                         /* 3 */
    "  %s: float32[1x4x6x6] = Sub(%r1, %r0)\n"                      /* 4 */
    "  %t: float32[1x4x6x6] = Tanh(%s)\n"                           /* 5 */
    "  %g: float32[1x4x6x6] = Sigmoid(%t)\n"                        /* 6 */
    "  %v: float32[1x144] = Reshape(%g, %shape)\n"                  /* 7 */
    "  %o: float32[1x144] = Relu(%v)\n"                             /* 8 */
    "  output %o\n"
    "}\n";

static void enumerate(struct fixture *f)
{
    const bool enabled[BACKENDS] = { true, true, true };
    struct error error = { 0 };
    if (candidate_set_enumerate(f->set, enabled, &error))
        fail_msg("%s", error.text);
}

static const struct candidate *find(const struct fixture *f, uint32_t backend, node_id first,
                                    uint32_t count, const char *variant)
{
    for (size_t c = 0; c < f->set->count; c++) {
        const struct candidate *candidate = &f->set->items[c];
        if (candidate->backend == backend && candidate->region.nodes[0] == first &&
            candidate->region.node_count == count && strcmp(candidate->variant, variant) == 0)
            return candidate;
    }
    fail_msg("no such candidate");
    return NULL;
}

static void test_op_level(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, network);
    enumerate(&f);
    assert_int_equal(COUNT(&f, PLAIN, 0), 1);
    assert_int_equal(COUNT(&f, PLAIN, 0, 1), 0);
    assert_int_equal(COUNT(&f, CHAINS, 0), 2); /* two patterns match it, two variants are sound */
    assert_int_equal(COUNT(&f, CHAINS, 0, 1), 2);
    assert_int_equal(COUNT(&f, CHAINS, 2, 3), 2);
    assert_int_equal(COUNT(&f, CHAINS, 2, 3, 4), 0); /* refused */
    assert_int_equal(COUNT(&f, CHAINS, 1), 0);
    const struct candidate *rows = find(&f, CHAINS, 0, 2, "rows");
    const struct candidate *blocks = find(&f, CHAINS, 0, 2, "blocks");
    assert_string_equal(rows->input_layouts[0].tag, ""); /* "abcd" in canonical form */
    assert_string_equal(blocks->input_layouts[0].tag, "aBcd8b");
    assert_string_equal(blocks->output_layouts[0].tag, "");
    assert_int_equal(blocks->variant_index, 1);
    assert_int_equal(blocks->cost.state, COST_UNKNOWN);
    assert_string_equal(blocks->pattern, "conv");
    fixture_close(&f);
}

static void test_keys(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, network);
    enumerate(&f);
    struct hash first = find(&f, CHAINS, 0, 2, "rows")->key;
    assert_true(hash_equal(first, find(&f, CHAINS, 2, 2, "rows")->key)); /* an equal block */
    assert_false(hash_equal(first, find(&f, CHAINS, 0, 2, "blocks")->key));
    assert_false(hash_equal(first, find(&f, CHAINS, 0, 1, "rows")->key));
    assert_false(hash_equal(find(&f, PLAIN, 0, 1, "")->key, find(&f, GRAPHS, 0, 1, "")->key));
    fixture_close(&f);
}

/* Strict precision: another algorithm than direct summation is not offered, and sums have keys of
 * their own: what was checked less is not known. */
static void test_strict(void **state)
{
    (void)state;
    struct fixture f, strict;
    fixture_open(&f, network);
    enumerate(&f);
    fixture_open(&strict, network);
    strict.set->strict = true;
    enumerate(&strict);
    assert_int_equal(COUNT(&f, CHAINS, 0, 1), 2);
    assert_int_equal(COUNT(&strict, CHAINS, 0, 1), 1);
    assert_int_equal(COUNT(&strict, PLAIN, 0), 1);
    assert_false(
        hash_equal(find(&f, CHAINS, 0, 2, "rows")->key, find(&strict, CHAINS, 0, 2, "rows")->key));
    assert_true(hash_equal(find(&f, PLAIN, 1, 1, "")->key, find(&strict, PLAIN, 1, 1, "")->key));
    fixture_close(&f);
    fixture_close(&strict);
}

static void test_refusals(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, network);
    enumerate(&f);
    assert_null(refusal(&f, PLAIN, 0));
    assert_string_equal(refusal(&f, PLAIN, 6), "not supported"); /* Sigmoid, without a reason */
    assert_null(refusal(&f, CHAINS, 0));
    assert_string_equal(refusal(&f, CHAINS, 4), "no pattern starts with Sub");
    assert_string_equal(refusal(&f, GRAPHS, 5), "no hyperbolics");
    assert_null(refusal(&f, GRAPHS, 4));
    fixture_close(&f);
}

static void test_views(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, network);
    enumerate(&f);
    size_t views = 0;
    for (size_t c = 0; c < f.set->count; c++) {
        const struct candidate *candidate = &f.set->items[c];
        if (!candidate->view)
            continue;
        views++;
        assert_int_equal(candidate->region.nodes[0], 7);
        assert_int_equal(candidate->region.input_count, 1);
        assert_int_equal(candidate->cost.state, COST_MEASURED);
        assert_true(candidate->cost.cost_ns == 0.0);
        assert_int_equal(candidate->backend, REGISTRY_REFERENCE);
    }
    assert_int_equal(views, 1);
    assert_int_equal(COUNT(&f, PLAIN, 7), 0); /* no kernel for what costs nothing */
    assert_int_equal(COUNT(&f, GRAPHS, 7), 0);
    assert_int_equal(COUNT(&f, GRAPHS, 6, 7, 8), 1); /* but inside a region it may be */
    fixture_close(&f);
}

static void test_adding(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, network);
    size_t added = 9;
    node_id pair[] = { 0, 1 }, open[] = { 0, 1, 3 }, unsorted[] = { 1, 0 }, beyond[] = { 99 };
    assert_int_equal(candidate_set_add(f.set, GRAPHS, pair, 2, "test", &added, NULL), COLLAGE_OK);
    assert_int_equal(added, 1);
    assert_int_equal(candidate_set_add(f.set, GRAPHS, pair, 2, "test", &added, NULL), COLLAGE_OK);
    assert_int_equal(added, 0); /* it is there already */
    assert_int_equal(candidate_set_add(f.set, CHAINS, pair, 2, "test", &added, NULL), COLLAGE_OK);
    assert_int_equal(added, 2);
    assert_int_equal(candidate_set_add(f.set, GRAPHS, open, 3, "test", &added, NULL), COLLAGE_OK);
    assert_int_equal(added, 0); /* not convex */
    assert_int_equal(f.set->count, 3);
    assert_int_equal(candidate_set_add(f.set, GRAPHS, unsorted, 2, "test", &added, NULL),
                     COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(candidate_set_add(f.set, GRAPHS, beyond, 1, "test", &added, NULL),
                     COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(candidate_set_add(f.set, GRAPHS, pair, 0, "test", &added, NULL),
                     COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(candidate_set_add(f.set, BACKENDS, pair, 2, "test", &added, NULL),
                     COLLAGE_ERROR_ARGUMENT);
    struct arena *arena = arena_create();
    const collage_subgraph *subgraph;
    assert_int_equal(candidate_subgraph(f.set, 0, arena, &subgraph, NULL), COLLAGE_OK);
    assert_int_equal(subgraph->node_count, 2);
    arena_destroy(arena);
    fixture_close(&f);
}

static void test_bad_pattern(void **state)
{
    (void)state;
    static const collage_pattern wrong[] = { { "new", "Conv Swoosh" } };
    collage_backend_api api = chains_api;
    api.patterns = wrong;
    api.pattern_count = 1;
    struct fixture f;
    fixture_open(&f, network);
    f.entries[CHAINS].api = &api;
    const bool enabled[BACKENDS] = { true, true, true };
    struct error error = { 0 };
    assert_int_equal(candidate_set_enumerate(f.set, enabled, &error), COLLAGE_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "backend chains: pattern 'new'"));
    assert_non_null(strstr(error.text, "Swoosh"));
    fixture_close(&f);
}

static void test_disabled_and_malformed_backends(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, network);
    f.entries[GRAPHS].api = NULL; /* a plugin that did not load */
    const bool enabled[BACKENDS] = { false, true, true };
    assert_int_equal(candidate_set_enumerate(f.set, enabled, NULL), COLLAGE_OK);
    for (size_t c = 0; c < f.set->count; c++)
        assert_true(f.set->items[c].view || f.set->items[c].backend == CHAINS);
    fixture_close(&f);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct graph *graph = parse_graph(network);
    collage_status status = COLLAGE_ERROR_MEMORY;
    const bool enabled[BACKENDS] = { true, true, true };
    size_t n = 1;
    for (; status == COLLAGE_ERROR_MEMORY && n < 20000; n++) {
        struct fixture f;
        struct error error = { 0 };
        fixture_open_graph(&f, graph);
        memory_fail_after(n);
        status = candidate_set_enumerate(f.set, enabled, &error);
        memory_fail_after(0);
        assert_int_equal(status, error.status);
        candidate_set_destroy(f.set);
    }
    assert_int_equal(status, COLLAGE_OK);
    assert_true(n > 50);
    graph_destroy(graph);
}

/* ---- merging ---- */

static candidate_id add_one(struct fixture *f, uint32_t backend, const node_id *nodes,
                            uint32_t count)
{
    size_t added;
    assert_int_equal(candidate_set_add(f->set, backend, nodes, count, "test", &added, NULL),
                     COLLAGE_OK);
    assert_true(added > 0);
    return (candidate_id)(f->set->count - added);
}

/* A key made without memory for the operator's attributes would be that of every operator. */
static void test_keys_out_of_memory(void **state)
{
    (void)state;
    static const node_id conv[] = { 0 }, relu[] = { 1 };
    struct graph *graph = parse_graph(network);
    struct hash key = { 0 };
    for (size_t n = 0; n < 40; n++) { /* 0: nothing fails */
        struct fixture f;
        size_t added = 0;
        fixture_open_graph(&f, graph);
        add_one(&f, PLAIN, conv, 1);
        memory_fail_once(n);
        collage_status status = candidate_set_add(f.set, PLAIN, relu, 1, "test", &added, NULL);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || (n > 0 && status == COLLAGE_ERROR_MEMORY));
        if (status == COLLAGE_OK && n == 0)
            key = f.set->items[f.set->count - 1].key;
        if (status == COLLAGE_OK)
            assert_true(hash_equal(f.set->items[f.set->count - 1].key, key));
        candidate_set_destroy(f.set);
    }
    graph_destroy(graph);
}

/* 0 Relu(x), 1 view of it, 2 Neg of the view, 3 Abs, 4 Add(2's, 3's) */
static const char branches[] = "graph \"branches\" {\n"
                               "  input %x: float32[2x3]\n"
                               "  const %shape: int64[1] = {6}\n"
                               "  %a: float32[2x3] = Relu(%x)\n"
                               "  %v: float32[6] = Reshape(%a, %shape)\n"
                               "  %n: float32[6] = Neg(%v)\n"
                               "  %t: float32[6] = Abs(%v)\n"
                               "  %s: float32[6] = Add(%n, %t)\n"
                               "  output %s\n"
                               "}\n";

static void test_merging(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, branches);
    const bool none[BACKENDS] = { false, false, false };
    assert_int_equal(candidate_set_enumerate(f.set, none, NULL), COLLAGE_OK); /* the view */
    assert_int_equal(f.set->count, 1);
    candidate_id chosen[5];
    static const node_id all[] = { 0, 1, 2, 3, 4 };
    chosen[0] = add_one(&f, GRAPHS, &all[0], 1);
    chosen[1] = 0;
    chosen[2] = add_one(&f, GRAPHS, &all[2], 1);
    chosen[3] = add_one(&f, CHAINS, &all[3], 1);
    chosen[4] = add_one(&f, GRAPHS, &all[4], 1);
    size_t added;
    assert_int_equal(candidate_set_merge(f.set, chosen, 5, &added, NULL), COLLAGE_OK);
    assert_int_equal(COUNT(&f, GRAPHS, 0, 1, 2), 1); /* through the view */
    assert_int_equal(COUNT(&f, GRAPHS, 2, 4), 1);
    assert_int_equal(COUNT(&f, GRAPHS, 0, 1, 2, 4), 0); /* 3 is between, on another backend */
    assert_int_equal(added, 2);
    assert_int_equal(candidate_set_merge(f.set, chosen, 5, &added, NULL), COLLAGE_OK);
    assert_int_equal(added, 0); /* nothing new */
    chosen[3] = add_one(&f, GRAPHS, &all[3], 1);
    assert_int_equal(candidate_set_merge(f.set, chosen, 5, &added, NULL), COLLAGE_OK);
    assert_int_equal(COUNT(&f, GRAPHS, 0, 1, 3), 1);
    assert_int_equal(COUNT(&f, GRAPHS, 3, 4), 1);
    assert_int_equal(COUNT(&f, GRAPHS, 0, 1, 2, 3, 4), 1); /* the maximal group */
    assert_int_equal(added, 3);
    fixture_close(&f);
}

static void test_merging_out_of_memory(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, branches);
    static const node_id all[] = { 0, 1, 2, 3, 4 };
    candidate_id chosen[2] = { add_one(&f, GRAPHS, &all[2], 1), add_one(&f, GRAPHS, &all[4], 1) };
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t added;
    for (size_t n = 1; status == COLLAGE_ERROR_MEMORY && n < 1000; n++) {
        memory_fail_after(n);
        status = candidate_set_merge(f.set, chosen, 2, &added, NULL);
        memory_fail_after(0);
    }
    assert_int_equal(status, COLLAGE_OK);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_op_level),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_strict),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_adding),
        cmocka_unit_test(test_bad_pattern),
        cmocka_unit_test(test_disabled_and_malformed_backends),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_keys_out_of_memory),
        cmocka_unit_test(test_merging),
        cmocka_unit_test(test_merging_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
