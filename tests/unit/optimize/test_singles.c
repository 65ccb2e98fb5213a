/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of one operator say of fused ones, on a convolution and its activation with made-up
 * costs. */
#include "unit/pattern/fixture.h"

#include "optimize/singles.h"

enum { CONV, RELU };
static const char pair[] = "graph \"pair\" {\n"
                           "  input %x: float32[1x4x6x6]\n"
                           "  const %w: float32[4x4x1x1] = #0123456789abcdef0123456789abcdef\n"
                           "  %c: float32[1x4x6x6] = Conv(%x, %w)\n"
                           "  %r: float32[1x4x6x6] = Relu(%c)\n"
                           "  output %r\n}\n";

static void set_up(struct fixture *f)
{
    const bool enabled[BACKENDS] = { [PLAIN] = true, [CHAINS] = true };
    struct error error = { 0 };
    fixture_open(f, pair);
    if (candidate_set_enumerate(f->set, enabled, &error))
        fail_msg("%s", error.text);
}

static struct candidate *find(const struct fixture *f, uint32_t backend, const char *variant,
                              node_id first, uint32_t count)
{
    for (size_t c = 0; c < f->set->count; c++) {
        struct candidate *candidate = &f->set->items[c];
        if (candidate->backend == backend && candidate->region.node_count == count &&
            candidate->region.nodes[0] == first && strcmp(candidate->variant, variant) == 0)
            return candidate;
    }
    fail_msg("no candidate '%s' of %u nodes at %u", variant, count, first);
    return NULL;
}

static void set_cost(struct candidate *candidate, double ns)
{
    candidate->cost =
        (struct cost){ .state = COST_MEASURED, .cost_ns = ns, .implementation = "", .reason = "" };
}

static enum lag lag_of(const struct fixture *f, const struct candidate *candidate)
{
    struct singles singles;
    assert_true(singles_create(f->set, &singles));
    enum lag lag = singles_lag(&singles, candidate);
    singles_free(&singles);
    return lag;
}

static double price(const struct fixture *f, const struct candidate *candidate)
{
    struct singles singles;
    assert_true(singles_create(f->set, &singles));
    double ns = singles_price(&singles, &candidate->region);
    singles_free(&singles);
    return ns;
}

static void a_fused_kernel_replaces_the_fastest_of_each(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f);
    const struct candidate *fused = find(&f, CHAINS, "rows", CONV, 2);
    assert_true(price(&f, fused) == 0);
    set_cost(find(&f, PLAIN, "", CONV, 1), 300);
    set_cost(find(&f, CHAINS, "rows", CONV, 1), 200);
    assert_true(price(&f, fused) == 200);
    assert_true(singles_known_ns(f.set, fused) == 0); /* what the other takes is not known */
    set_cost(find(&f, PLAIN, "", RELU, 1), 50);
    assert_true(price(&f, fused) == 250);
    assert_true(singles_known_ns(f.set, fused) == 250);
    assert_true(singles_known_ns(f.set, find(&f, CHAINS, "blocks", CONV, 1)) == 200);
    set_cost(find(&f, CHAINS, "blocks", CONV, 2), 220);
    assert_true(singles_known_ns(f.set, fused) == 220);
    fixture_close(&f);
}

static void a_variant_that_is_slow_alone_is_not_fused(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f);
    const struct candidate *rows = find(&f, CHAINS, "rows", CONV, 2);
    const struct candidate *blocks = find(&f, CHAINS, "blocks", CONV, 2);
    set_cost(find(&f, CHAINS, "rows", CONV, 1), 100);
    set_cost(find(&f, CHAINS, "blocks", CONV, 1), 200);
    assert_int_equal(lag_of(&f, blocks),
                     LAG_SOME); /* the Relu is not known: it may be the costliest */
    set_cost(find(&f, PLAIN, "", RELU, 1), 50);
    assert_int_equal(lag_of(&f, rows), LAG_NONE);
    assert_int_equal(lag_of(&f, blocks), LAG_HOPELESS);
    set_cost(find(&f, CHAINS, "blocks", CONV, 1), 150); /* fusing could make up for this */
    assert_int_equal(lag_of(&f, blocks), LAG_MUCH);
    set_cost(find(&f, CHAINS, "blocks", CONV, 1), 120);
    assert_int_equal(lag_of(&f, blocks), LAG_SOME);
    set_cost(find(&f, CHAINS, "blocks", CONV, 1), 200);
    set_cost(find(&f, PLAIN, "", RELU, 1), 500); /* it saves the pass over memory */
    assert_int_equal(lag_of(&f, blocks), LAG_SOME);
    fixture_close(&f);
}

static void a_variant_that_exists_only_fused_is_tried_early(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f);
    set_cost(find(&f, PLAIN, "", CONV, 1), 100);
    set_cost(find(&f, PLAIN, "", RELU, 1), 10);
    struct candidate *fused = find(&f, CHAINS, "blocks", CONV, 2);
    assert_int_equal(lag_of(&f, fused), LAG_SOME); /* it is not measured */
    fused->variant = "both";
    assert_int_equal(lag_of(&f, fused), LAG_NONE);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fused_kernel_replaces_the_fastest_of_each),
        cmocka_unit_test(a_variant_that_is_slow_alone_is_not_fused),
        cmocka_unit_test(a_variant_that_exists_only_fused_is_tried_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
