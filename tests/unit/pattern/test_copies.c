/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates with copies of cheap nodes that others use as well. */
#include "unit/pattern/fixture.h"

static const bool all[BACKENDS] = { true, true, true };

/* %r feeds two; %c is not cheap; %o is an output of the model. */
static const char shared[] = "graph \"shared\" {\n"
                             "  input %x: float32[1x8x4x4]\n"
                             "  %e: float32[1x8x4x4] = Sigmoid(%x)\n"
                             "  %r: float32[1x8x4x4] = Relu(%e)\n"
                             "  %a: float32[1x8x4x4] = Add(%r, %x)\n"
                             "  %b: float32[1x8x4x4] = Mul(%r, %e)\n"
                             "  %o: float32[1x8x4x4] = Sub(%a, %b)\n"
                             "  %p: float32[1x8x4x4] = Relu(%o)\n"
                             "  output %o\n"
                             "  output %p\n}\n";
enum { E, R, A, B, O, P };

static const struct candidate *find(const struct fixture *f, uint32_t backend, const node_id *nodes,
                                    uint32_t count, const node_id *copies, uint32_t copy_count)
{
    for (size_t c = 0; c < f->set->count; c++) {
        const struct candidate *candidate = &f->set->items[c];
        const struct region *region = &candidate->region;
        if (candidate->backend == backend && region->node_count == count &&
            region->copy_count == copy_count &&
            memcmp(region->nodes, nodes, count * sizeof *nodes) == 0 &&
            (!copy_count || memcmp(region->copies, copies, copy_count * sizeof *copies) == 0))
            return candidate;
    }
    return NULL;
}

static void open_shared(struct fixture *f, bool recompute)
{
    struct error error = { 0 };
    fixture_open(f, shared);
    f->set->recompute = recompute;
    if (candidate_set_enumerate(f->set, all, &error))
        fail_msg("%s", error.text);
}

static void test_off_by_default(void **state)
{
    (void)state;
    struct fixture f;
    open_shared(&f, false);
    for (size_t c = 0; c < f.set->count; c++)
        assert_int_equal(f.set->items[c].region.copy_count, 0);
    fixture_close(&f);
}

static void test_copies_are_offered(void **state)
{
    (void)state;
    struct fixture f;
    open_shared(&f, true);
    const struct candidate *add =
        find(&f, GRAPHS, (const node_id[]){ R, A }, 2, (const node_id[]){ R }, 1);
    assert_non_null(add);
    assert_string_equal(add->pattern, "recompute");
    assert_int_equal(add->region.output_count, 1); /* %a alone: %r stays inside */
    assert_int_equal(add->region.own_count, 1);
    assert_int_equal(add->region.own[0], A);
    /* With what feeds the copy: %e is read by others, too. */
    assert_non_null(
        find(&f, GRAPHS, (const node_id[]){ E, R, A }, 3, (const node_id[]){ E, R }, 2));
    assert_non_null(
        find(&f, GRAPHS, (const node_id[]){ E, R, B }, 3, (const node_id[]){ E, R }, 2));
    /* %o must be written in any case. */
    assert_null(find(&f, GRAPHS, (const node_id[]){ O, P }, 2, (const node_id[]){ O }, 1));
    /* Who takes one operator at a time is asked and refuses. */
    assert_null(find(&f, PLAIN, (const node_id[]){ R, A }, 2, (const node_id[]){ R }, 1));
    fixture_close(&f);
}

/* The same operators with %r given out, and kept: two kernels, two costs. */
static void test_keys_differ(void **state)
{
    (void)state;
    struct fixture f;
    open_shared(&f, true);
    size_t added = 0;
    const node_id nodes[] = { R, A }, copy = R;
    assert_int_equal(candidate_set_add(f.set, GRAPHS, nodes, 2, "both", &added, NULL), COLLAGE_OK);
    const struct candidate *gives = find(&f, GRAPHS, nodes, 2, NULL, 0);
    const struct candidate *keeps = find(&f, GRAPHS, nodes, 2, &copy, 1);
    assert_non_null(gives);
    assert_non_null(keeps);
    assert_int_equal(gives->region.output_count, 2);
    assert_false(hash_equal(gives->key, keeps->key));
    fixture_close(&f);
}

static void test_wrong_copies(void **state)
{
    (void)state;
    struct fixture f;
    open_shared(&f, false);
    const node_id nodes[] = { R, A }, other = B, both[] = { R, A }, last = A;
    size_t added = 0;
    assert_int_equal(
        candidate_set_add_copying(f.set, GRAPHS, nodes, 2, &other, 1, "", &added, NULL),
        COLLAGE_ERROR_ARGUMENT);
    assert_int_equal(candidate_set_add_copying(f.set, GRAPHS, nodes, 2, both, 2, "", &added, NULL),
                     COLLAGE_ERROR_ARGUMENT);
    /* Used by nobody inside: no candidate, and no error. */
    assert_int_equal(candidate_set_add_copying(f.set, GRAPHS, nodes, 2, &last, 1, "", &added, NULL),
                     COLLAGE_OK);
    assert_int_equal(added, 0);
    fixture_close(&f);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; status == COLLAGE_ERROR_MEMORY; n++) {
        struct fixture f;
        struct error error = { 0 };
        fixture_open(&f, shared);
        f.set->recompute = true;
        memory_fail_after(n);
        status = candidate_set_enumerate(f.set, all, &error);
        memory_fail_after(0);
        assert_int_equal(status, error.status);
        fixture_close(&f);
    }
    assert_int_equal(status, COLLAGE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off_by_default), cmocka_unit_test(test_copies_are_offered),
        cmocka_unit_test(test_keys_differ),    cmocka_unit_test(test_wrong_copies),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
