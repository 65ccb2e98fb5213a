/* SPDX-License-Identifier: Apache-2.0 */
/* Samples the kernels of a backend of this test, which can be told to do things wrong. */
#include "unit/measure/sample_fixture.h"

/* ---- a graph: x -> Relu -> y -> Mul(w) -> z ---- */

enum { RELU, MUL, WIDTH = 64 * 64, CHANNELS = 6 };

struct fixture {
    struct graph *graph;
    struct oracle *oracle;
    struct registry *registry;
    struct backend_entry entries[2];
    struct candidate_set *set;
    struct arena *arena;
    value_id x;
    float *weights;
};

static void make_graph(struct fixture *f)
{
    struct error error = { 0 };
    struct tensor shape = { .dtype = COLLAGE_FLOAT32, .rank = 4, .dims = { 1, CHANNELS, 64, 64 } };
    f->weights = calloc(CHANNELS * WIDTH, sizeof *f->weights); /* 96 KB */
    for (size_t k = 0; k < CHANNELS * WIDTH; k++)
        f->weights[k] = (float)(k % 7) - 3;
    struct tensor constant = shape;
    constant.data = f->weights;
    f->graph = graph_create();
    f->x = graph_add_value(f->graph, "x", VALUE_INPUT, &shape);
    value_id w = graph_add_value(f->graph, "w", VALUE_CONSTANT, &constant);
    value_id y = graph_add_value(f->graph, "y", VALUE_COMPUTED, &shape);
    value_id z = graph_add_value(f->graph, "z", VALUE_COMPUTED, &shape);
    const value_id operands[] = { y, w };
    graph_add_node(f->graph, op_find("Relu"), "relu", &f->x, 1, &y, 1, NULL, 0);
    graph_add_node(f->graph, op_find("Mul"), "mul", operands, 2, &z, 1, NULL, 0);
    graph_set_inputs(f->graph, &f->x, 1, &error);
    graph_set_outputs(f->graph, &z, 1, &error);
    assert_int_equal(error.status, COLLAGE_OK);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error error = { 0 };
    memset(&fake, 0, sizeof fake);
    fake.output_layout = "";
    make_graph(f);
    oracle_create(f->graph, NULL, NULL, NULL, &f->oracle, &error);
    registry_create("", NULL, NULL, &f->registry, &error);
    f->entries[0] = f->registry->entries[0];
    f->entries[1] = (struct backend_entry){
        .api = &fake_api, .name = "fake", .file = "", .problem = "", .version = ""
    };
    f->registry->entries = f->entries;
    f->registry->count = 2;
    const collage_target target = registry_host_target(1);
    candidate_set_create(f->graph, f->registry, &target, &f->set, &error);
    f->arena = arena_create();
    *state = f;
    if (error.status != COLLAGE_OK)
        print_error("%s\n", error.text);
    return error.status == COLLAGE_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    candidate_set_destroy(f->set);
    oracle_destroy(f->oracle);
    registry_destroy(f->registry);
    graph_destroy(f->graph);
    arena_destroy(f->arena);
    free(f->weights);
    free(f);
    return 0;
}

static const struct sample_conditions conditions = { .limit_seconds = 0.05, .tolerance = 1e-5 };

static candidate_id candidate(struct fixture *f, uint32_t backend, node_id node)
{
    struct error error = { 0 };
    size_t added = 0;
    if (candidate_set_add(f->set, backend, &node, 1, "test", &added, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(added, 1);
    return (candidate_id)(f->set->count - 1);
}

static struct cost sample(struct fixture *f, candidate_id id, const struct sample_conditions *how)
{
    struct cost cost;
    struct error error = { 0 };
    if (sample_candidate(f->set, id, f->oracle, how, f->arena, &cost, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(fake.destroyed, fake.compiled);
    return cost;
}

/* ---- right kernels ---- */

static void assert_sensible(const struct cost *cost)
{
    assert_string_equal(cost->reason, "");
    assert_int_equal(cost->state, COST_MEASURED);
    assert_true(cost->sample_count >= 5 && cost->sample_count <= 200);
    assert_true(cost->minimum_ns > 0 && cost->minimum_ns <= cost->low_ns);
    assert_true(cost->minimum_ns <= cost->cost_ns && cost->cost_ns <= cost->high_ns);
}

static void test_right_kernel(void **state)
{
    struct fixture *f = *state;
    struct cost cost = sample(f, candidate(f, 1, RELU), &conditions);
    assert_sensible(&cost);
    assert_string_equal(cost.implementation, "fake:jit");
    assert_int_equal(cost.scratch_bytes, SCRATCH);
    assert_true(cost.error == 0);
    assert_true(fake.flags & COLLAGE_COMPILE_UNSHARED);
    assert_int_equal(fake.compiled, 1); /* no weights: no twin */
    assert_int_equal(fake.in_place_runs, 0);
}

static void test_reference_kernel(void **state)
{
    struct fixture *f = *state;
    struct cost cost = sample(f, candidate(f, REGISTRY_REFERENCE, MUL), &conditions);
    assert_sensible(&cost);
    assert_true(cost.error == 0);
}

static void test_cold_weights(void **state)
{
    struct fixture *f = *state;
    candidate_id id = candidate(f, 1, MUL);
    struct sample_conditions cold = conditions;
    cold.working_set_bytes = 64 << 20;
    cold.limit_seconds = 1; /* each sample reads tens of megabytes, perhaps on a busy machine */
    struct cost cost = sample(f, id, &cold);
    assert_sensible(&cost);
    assert_int_equal(fake.compiled, 2);
    assert_ptr_equal(fake.weights[0], f->weights);
    assert_non_null(fake.weights[1]);
    assert_ptr_not_equal(fake.weights[1], f->weights);

    fake.compiled = fake.destroyed = 0; /* a small network keeps its weights cached */
    cost = sample(f, id, &conditions);
    assert_sensible(&cost);
    assert_int_equal(fake.compiled, 1);
}

/* What is near enough as a part of the largest value may still be further off than the product. */
static void test_strict(void **state)
{
    struct fixture *f = *state;
    const struct slack_values values = slack_values_of(f->oracle);
    struct sample_conditions strict = conditions;
    struct error error = { 0 };
    candidate_id id = candidate(f, 1, MUL);
    strict.strict = true;
    assert_int_equal(bounds_create(f->graph, &values, &strict.bounds, &error), COLLAGE_OK);
    struct cost cost = sample(f, id, &strict);
    assert_sensible(&cost);
    fake.fault = INEXACT_ELEMENT;
    cost = sample(f, id, &conditions);
    assert_sensible(&cost);
    cost = sample(f, id, &strict);
    assert_int_equal(cost.state, COST_FAILED);
    assert_non_null(strstr(cost.reason, "not strict: output '"));
    assert_true(cost.error == 0); /* it is not wrong */
    bounds_destroy(strict.bounds);
}

/* Waking threads and fetching inputs is lost in the time of a long kernel: no twin is needed. */
static void test_long_kernel_has_no_twin(void **state)
{
    fake.fault = SLOW;
    const struct sample_conditions cold = { .working_set_bytes = 64 << 20,
                                            .limit_seconds = 0.01, /* below one run */
                                            .tolerance = 1e-5 };
    struct cost cost = sample(*state, candidate(*state, 1, MUL), &cold);
    assert_int_equal(fake.compiled, 1);
    assert_true(cost.sample_count >= 3);
}

static void test_in_place(void **state)
{
    struct fixture *f = *state;
    fake.in_place = true;
    struct cost cost = sample(f, candidate(f, 1, MUL), &conditions);
    assert_sensible(&cost);
    assert_int_equal(cost.inplace_count, 1);
    assert_int_equal(fake.in_place_runs, fake.runs - 1); /* all but the first check */
}

static void test_blocked_output(void **state)
{
    struct fixture *f = *state;
    fake.output_layout = "aBcd8b";
    struct cost cost = sample(f, candidate(f, 1, RELU), &conditions);
    assert_sensible(&cost);
}

static void test_slow_kernel_is_not_sampled(void **state)
{
    struct fixture *f = *state;
    fake.fault = SLOW;
    struct sample_conditions short_limit = conditions;
    short_limit.limit_seconds = 0.001; /* 30 ms are more than 20 limits */
    struct cost cost = sample(f, candidate(f, 1, RELU), &short_limit);
    assert_int_equal(cost.state, COST_MEASURED);
    assert_int_equal(cost.sample_count, 1);
    assert_int_equal(fake.runs, 2);
    assert_true(cost.cost_ns >= 30e6);
    short_limit.limit_seconds = 5e-5; /* far too slow for a second run */
    fake.runs = 0;
    cost = sample(f, (candidate_id)(f->set->count - 1), &short_limit);
    assert_int_equal(cost.sample_count, 1);
    assert_int_equal(fake.runs, 1);
}

/* What takes three times as long as a known way to do the same will not be chosen. */
static void test_beaten_kernel_is_not_sampled(void **state)
{
    struct fixture *f = *state;
    fake.fault = SLOW; /* 30 ms */
    struct sample_conditions known = conditions;
    known.limit_seconds = 1;
    known.known_ns = 9e6;
    struct cost cost = sample(f, candidate(f, 1, RELU), &known);
    assert_int_equal(cost.state, COST_MEASURED);
    assert_int_equal(cost.sample_count, 1);
    assert_int_equal(fake.runs, 2);
    assert_true(cost.cost_ns >= 30e6);
    known.known_ns = 20e6; /* near enough to look closer */
    cost = sample(f, (candidate_id)(f->set->count - 1), &known);
    assert_true(cost.sample_count >= 3);
    fake.fault = NO_FAULT;
    known.known_ns = 1; /* first runs of short kernels say little; three samples say enough */
    cost = sample(f, (candidate_id)(f->set->count - 1), &known);
    assert_int_equal(cost.sample_count, 3);
}

/* Three samples are enough for it where each takes a while. */
static void test_first_look(void **state)
{
    struct fixture *f = *state;
    candidate_id id = candidate(f, 1, MUL);
    struct sample_conditions look = { .working_set_bytes = 64 << 20, /* read before each sample */
                                      .limit_seconds = 0.015,
                                      .tolerance = 1e-5,
                                      .quick = true };
    struct cost cost = sample(f, id, &look);
    assert_int_equal(cost.state, COST_MEASURED);
    assert_true(cost.sample_count >= 3 && cost.sample_count < 5);
    look.quick = false;
    cost = sample(f, id, &look);
    assert_true(cost.sample_count >= 5);
}

static void test_slow_first_run_is_forgiven(void **state)
{
    struct fixture *f = *state;
    fake.fault = SLOW_AT_FIRST;
    struct sample_conditions short_limit = conditions;
    short_limit.limit_seconds = 0.001;
    struct cost cost = sample(f, candidate(f, 1, RELU), &short_limit);
    assert_int_equal(cost.state, COST_MEASURED);
    assert_true(cost.sample_count > 1);
    assert_true(cost.cost_ns < 20e6);
}

/* ---- wrong ones ---- */

static void test_faults(void **state)
{
    struct fixture *f = *state;
    static const struct {
        enum fault fault;
        const char *layout;
        bool in_place;
        const char *reason;
        bool wrote_wrongly;
    } cases[] = {
        { FAIL_COMPILE, "", false, "cannot compile: odd shape", false },
        { NULL_KERNEL, "", false, "no kernel", false },
        { FAIL_RUN, "", false, "cannot run: no threads left", false },
        { WRONG_ELEMENT, "", false, "wrong result: output 'y' differs by", true },
        { WRONG_ELEMENT, "", false, "at [0,5,63,63] (", true },
        { WRITES_NOTHING, "", false, "wrong result: output 'y' at [0,0,0,0] is", true },
        { OVERRUN, "", false, "outside the memory of its output 'y'", true },
        { UNDERRUN, "", false, "outside the memory of its output 'y'", true },
        { WRONG_LATER, "", false, "outside the memory of its output 'y'", true },
        { WRITES_INPUT, "", false, "writes to its input 'x'", true },
        { SCRATCH_OVERRUN, "", false, "outside the memory of its scratch", true },
        { DIRTY_PADDING, "aBcd8b", false, "padding of output 'y' in layout aBcd8b is not", true },
        { IN_PLACE_UNSAFE, "", true, "in place of 'x': wrong result: output 'y'", true },
        { IN_PLACE_NONSENSE, "", true, "pair (0, 7), which does not exist", false },
        { IN_PLACE_MANY, "", true, "5 in-place pairs", false },
        { NO_FAULT, "!mine", false, "layout '!mine' of 'y' is private", false },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tear_down(state);
        assert_int_equal(set_up(state), 0);
        f = *state;
        fake.fault = cases[k].fault;
        fake.output_layout = cases[k].layout;
        fake.in_place = cases[k].in_place;
        struct cost cost = sample(f, candidate(f, 1, RELU), &conditions);
        if (cost.state != COST_FAILED || !strstr(cost.reason, cases[k].reason))
            fail_msg("case %zu: '%s' has no '%s'", k, cost.reason, cases[k].reason);
        assert_int_equal(cost.error > 0, cases[k].wrote_wrongly);
    }
}

static void test_library_that_does_not_open(void **state)
{
    struct fixture *f = *state;
    fake.fault = FAIL_OPEN;
    struct cost cost = sample(f, candidate(f, 1, RELU), &conditions);
    assert_int_equal(cost.state, COST_FAILED);
    assert_non_null(strstr(cost.reason, "no such library"));
}

/* ---- transitions and switches ---- */

static void test_transition(void **state)
{
    struct fixture *f = *state;
    const collage_layout plain = layout_plain(), blocked = layout_tag("aBcd8b");
    for (uint32_t backend = 0; backend < 2; backend++) {
        struct cost cost;
        struct error error = { 0 };
        assert_int_equal(sample_transition(f->set, backend, f->x, &plain, &blocked, f->oracle,
                                           &conditions, f->arena, &cost, &error),
                         COLLAGE_OK);
        assert_sensible(&cost);
        assert_int_equal(sample_transition(f->set, backend, f->x, &blocked, &plain, f->oracle,
                                           &conditions, f->arena, &cost, &error),
                         COLLAGE_OK);
        assert_sensible(&cost);
    }
}

static void test_refused_transition(void **state)
{
    struct fixture *f = *state;
    const collage_layout plain = layout_plain(), blocked = layout_tag("aBcd8b");
    struct cost cost;
    struct error error = { 0 };
    fake.fault = FAIL_SUPPORTS;
    assert_int_equal(sample_transition(f->set, 1, f->x, &plain, &blocked, f->oracle, &conditions,
                                       f->arena, &cost, &error),
                     COLLAGE_OK);
    assert_int_equal(cost.state, COST_FAILED);
    assert_non_null(strstr(cost.reason, "not today"));
}

static void test_switch(void **state)
{
    struct fixture *f = *state;
    candidate_id a = candidate(f, REGISTRY_REFERENCE, RELU), b = candidate(f, 1, MUL);
    double extra = -1;
    struct error error = { 0 };
    assert_int_equal(sample_switch(f->set, a, b, f->oracle, &extra, &error), COLLAGE_OK);
    assert_true(extra >= 0 && extra < 1e8);
    fake.fault = FAIL_RUN;
    assert_int_not_equal(sample_switch(f->set, a, b, f->oracle, &extra, &error), COLLAGE_OK);
    assert_int_equal(fake.destroyed, fake.compiled);
}

static void test_out_of_memory(void **state)
{
    struct fixture *f = *state;
    fake.in_place = true;
    fake.output_layout = "acdb";
    candidate_id id = candidate(f, 1, RELU);
    struct sample_conditions quick = conditions;
    quick.limit_seconds = 0.001;
    collage_status status = COLLAGE_ERROR_MEMORY;
    for (size_t n = 1; status != COLLAGE_OK && n < 1000; n++) {
        struct cost cost;
        struct error error = { 0 };
        memory_fail_after(n);
        status = sample_candidate(f->set, id, f->oracle, &quick, f->arena, &cost, &error);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MEMORY);
        assert_int_equal(fake.destroyed, fake.compiled);
    }
    assert_int_equal(status, COLLAGE_OK);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_right_kernel),
        CASE(test_reference_kernel),
        CASE(test_cold_weights),
        CASE(test_in_place),
        CASE(test_blocked_output),
        CASE(test_strict),
        CASE(test_long_kernel_has_no_twin),
        CASE(test_slow_kernel_is_not_sampled),
        CASE(test_beaten_kernel_is_not_sampled),
        CASE(test_first_look),
        CASE(test_slow_first_run_is_forgiven),
        CASE(test_faults),
        CASE(test_library_that_does_not_open),
        CASE(test_transition),
        CASE(test_refused_transition),
        CASE(test_switch),
        CASE(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
