/* SPDX-License-Identifier: Apache-2.0 */
/* From candidates with copies to a plan: they are chosen where that is cheaper, and only there. */
#include "unit/pattern/fixture.h"

#include <math.h>

#include "plan/plan.h"

static const bool all[BACKENDS] = { true, true, true };

/* Two kernels that each need %r, which is cheap: a write and two reads, or twice the work. */
static const char forked[] = "graph \"forked\" {\n"
                             "  input %x: float32[1x8x4x4]\n"
                             "  %r: float32[1x8x4x4] = Relu(%x)\n"
                             "  %a: float32[1x8x4x4] = Add(%r, %x)\n"
                             "  %t: float32[1x8x4x4] = Tanh(%a)\n"
                             "  %b: float32[1x8x4x4] = Mul(%r, %t)\n"
                             "  output %b\n}\n";

static void price(struct fixture *f, double alone_ns, double copying_ns)
{
    for (size_t c = 0; c < f->set->count; c++) {
        struct candidate *candidate = &f->set->items[c];
        if (candidate->view)
            continue;
        candidate->cost.state = COST_MEASURED;
        candidate->cost.cost_ns = candidate->region.copy_count ? copying_ns : alone_ns;
    }
}

static uint32_t count_copying(const struct fixture *f, const struct placement *placement)
{
    uint32_t count = 0;
    for (size_t k = 0; k < placement->count; k++)
        count += f->set->items[placement->chosen[k]].region.copy_count > 0;
    return count;
}

static void expect(double copying_ns, double cost_ns, uint32_t copying, uint32_t steps)
{
    struct fixture f;
    struct error error = { 0 };
    struct placement exact, brute;
    struct plan *plan = NULL;
    fixture_open(&f, forked);
    f.set->recompute = true;
    assert_int_equal(candidate_set_enumerate(f.set, all, NULL), COLLAGE_OK);
    price(&f, 100, copying_ns);
    const struct place_problem problem = { .set = f.set, .enabled = all };
    const struct place_limits limits = { .seconds = 5 };
    if (place_exact(&problem, &limits, &exact, &error) || place_brute(&problem, &brute, &error) ||
        plan_build(&problem, &exact, "device", &plan, &error) || plan_verify(plan, f.graph, &error))
        fail_msg("%s", error.text);
    assert_true(fabs(exact.cost_ns - cost_ns) < 1e-9 && fabs(brute.cost_ns - cost_ns) < 1e-9);
    assert_int_equal(count_copying(&f, &exact), copying);
    assert_int_equal(plan->step_count, steps);
    plan_destroy(plan);
    placement_free(&exact);
    placement_free(&brute);
    fixture_close(&f);
}

/* The kernels are Relu+Add, Tanh, Relu+Mul; else Relu, Add, Tanh, Mul or Relu+Add with two outputs.
 */
static void test_chosen_where_cheaper(void **state)
{
    (void)state;
    expect(60, 60 + 100 + 60, 2, 3);
    expect(99, 99 + 100 + 99, 2, 3);
}

static void test_left_where_dearer(void **state)
{
    (void)state;
    expect(110, 300, 0, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chosen_where_cheaper),
        cmocka_unit_test(test_left_where_dearer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
