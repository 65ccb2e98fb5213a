/* SPDX-License-Identifier: Apache-2.0 */
/* Samples the kernels of a backend of this test, which can be told to do things wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/sample.h"
#include "tensor/layout.h"

/* ---- the backend: Relu, Mul by a constant, Identity ---- */

enum fault {
    NO_FAULT,
    FAIL_SUPPORTS,
    FAIL_OPEN,
    FAIL_COMPILE,
    NULL_KERNEL,
    FAIL_RUN,
    WRONG_ELEMENT,
    WRITES_NOTHING,
    OVERRUN,
    UNDERRUN,
    WRITES_INPUT,
    SCRATCH_OVERRUN,
    DIRTY_PADDING,
    IN_PLACE_UNSAFE,
    IN_PLACE_NONSENSE,
    IN_PLACE_MANY,
    SLOW,
    SLOW_AT_FIRST,
    WRONG_LATER /* overruns, but not in the checked run */
};

enum { SCRATCH = 100 };

struct collage_backend {
    int unused;
};

struct collage_kernel {
    const float *weights;
    size_t weight_count, count;
    collage_layout from, to;
    struct tensor shape;
    bool identity;
    int runs;
};

/* What the tests set and look at. */
static struct {
    enum fault fault;
    const char *output_layout;
    bool in_place;
    int compiled, destroyed, runs, in_place_runs;
    const void *weights[4];
    uint32_t flags;
} fake;

static struct collage_backend the_backend;

static bool fake_supports(const collage_subgraph *subgraph, const collage_target *target,
                          collage_message *why)
{
    (void)target;
    if (fake.fault == FAIL_SUPPORTS)
        return message_set(why, COLLAGE_ERROR_UNSUPPORTED, "not today") == COLLAGE_OK;
    return subgraph->node_count == 1;
}

static bool fake_variant(const collage_subgraph *subgraph, const collage_target *target,
                         size_t index, collage_variant *out)
{
    (void)subgraph;
    (void)target;
    if (index > 0)
        return false;
    snprintf(out->name, sizeof out->name, "only");
    out->outputs[0] = layout_tag(fake.output_layout);
    return true;
}

static collage_status fake_open(const collage_host *host, const collage_target *target,
                                collage_backend **out, collage_message *message)
{
    (void)host;
    (void)target;
    *out = &the_backend;
    return fake.fault == FAIL_OPEN ? message_set(message, COLLAGE_ERROR_BACKEND, "no such library")
                                   : COLLAGE_OK;
}

static void fake_close(collage_backend *backend)
{
    (void)backend;
}

static const char *fake_version(const collage_backend *backend)
{
    (void)backend;
    return "1";
}

static collage_status fake_compile(collage_backend *backend, const collage_compile_request *request,
                                   collage_kernel **out, collage_message *message)
{
    (void)backend;
    if (fake.fault == FAIL_COMPILE)
        return message_set(message, COLLAGE_ERROR_UNSUPPORTED, "odd shape");
    if (fake.fault == NULL_KERNEL)
        return COLLAGE_OK;
    const collage_subgraph *subgraph = request->subgraph;
    struct collage_kernel *kernel = calloc(1, sizeof *kernel);
    const collage_value *input = subgraph->values[subgraph->inputs[0]];
    kernel->shape = (struct tensor){ .dtype = input->dtype, .rank = input->rank };
    memcpy(kernel->shape.dims, input->dims, (size_t)input->rank * sizeof *input->dims);
    kernel->count = (size_t)tensor_elements(&kernel->shape);
    kernel->from = request->variant->inputs[0];
    kernel->to = request->variant->outputs[0];
    kernel->identity = strcmp(subgraph->nodes[0]->op_type, "Identity") == 0;
    for (uint32_t k = 0; k < subgraph->value_count; k++)
        if (subgraph->values[k]->data) {
            kernel->weights = subgraph->values[k]->data;
            kernel->weight_count = (size_t)subgraph->values[k]->bytes / sizeof(float);
        }
    if (fake.compiled < 4)
        fake.weights[fake.compiled] = kernel->weights;
    fake.compiled++;
    fake.flags = request->flags;
    *out = kernel;
    return COLLAGE_OK;
}

static void fake_kernel_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    info->scratch_bytes = SCRATCH;
    info->weight_bytes = kernel->weight_count * sizeof(float);
    snprintf(info->implementation, sizeof info->implementation, "fake:jit");
    if (fake.in_place)
        info->inplace_count = 1; /* output 0 in input 0 */
    if (fake.fault == IN_PLACE_NONSENSE)
        info->inplace[1] = 7;
    if (fake.fault == IN_PLACE_MANY)
        info->inplace_count = 5;
}

static void compute(const struct collage_kernel *kernel, const float *in, float *out)
{
    for (size_t k = 0; k < kernel->count; k++)
        out[k] =
            kernel->weights ? in[k] * kernel->weights[k % kernel->weight_count] : fmaxf(in[k], 0);
}

static void misbehave(const struct collage_kernel *kernel, float *in, float *out,
                      unsigned char *scratch)
{
    switch (fake.fault) {
    case WRONG_ELEMENT:
        out[kernel->count - 1] += 0.5f;
        break;
    case OVERRUN:
        memset(out + kernel->count, 0, 1);
        break;
    case WRONG_LATER:
        if (kernel->runs > 1)
            memset(out + kernel->count, 0, 1);
        break;
    case UNDERRUN:
        memset((char *)out - 1, 0, 1);
        break;
    case WRITES_INPUT:
        in[3] = 1;
        break;
    case SCRATCH_OVERRUN:
        scratch[SCRATCH] = 0;
        break;
    case IN_PLACE_UNSAFE:
        if (in == out)
            out[0] += 1;
        break;
    case SLOW:
        usleep(30000);
        break;
    case SLOW_AT_FIRST:
        usleep(kernel->runs == 1 ? 30000 : 0);
        break;
    default:
        break;
    }
}

static collage_status fake_run(collage_kernel *kernel, collage_stream *stream,
                               const void *const *inputs, void *const *outputs, void *scratch,
                               collage_message *message)
{
    (void)stream;
    fake.runs++;
    kernel->runs++;
    fake.in_place_runs += inputs[0] == outputs[0];
    if (fake.fault == FAIL_RUN)
        return message_set(message, COLLAGE_ERROR_BACKEND, "no threads left");
    if (fake.fault == WRITES_NOTHING)
        return COLLAGE_OK;
    struct tensor result = kernel->shape;
    void *input;
    memcpy(&input, &inputs[0], sizeof input);
    if (kernel->identity || kernel->to.tag[0]) {
        float *plain = calloc(kernel->count, sizeof *plain);
        struct tensor from = kernel->shape;
        from.data = input;
        const collage_layout row_major = layout_plain();
        result.data = plain;
        layout_convert(&from, &kernel->from, plain, &row_major, NULL);
        if (!kernel->identity)
            compute(kernel, plain, plain);
        layout_convert(&result, &row_major, outputs[0], &kernel->to, NULL);
        if (fake.fault == DIRTY_PADDING)
            ((float *)outputs[0])[7] = 1; /* channel 7 of 8, where there are 6 */
        free(plain);
        return COLLAGE_OK;
    }
    compute(kernel, inputs[0], outputs[0]);
    misbehave(kernel, input, outputs[0], scratch);
    return COLLAGE_OK;
}

static void fake_kernel_destroy(collage_kernel *kernel)
{
    fake.destroyed++;
    free(kernel);
}

static const collage_backend_api fake_api = { .struct_size = sizeof fake_api,
                                              .abi_major = COLLAGE_ABI_MAJOR,
                                              .name = "fake",
                                              .kind = COLLAGE_OP_LEVEL,
                                              .supports = fake_supports,
                                              .variant = fake_variant,
                                              .open = fake_open,
                                              .close = fake_close,
                                              .version = fake_version,
                                              .compile = fake_compile,
                                              .kernel_info = fake_kernel_info,
                                              .run = fake_run,
                                              .kernel_destroy = fake_kernel_destroy };

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

/* Waking threads and fetching inputs is lost in the time of a long kernel: no twin is needed. */
static void test_long_kernel_has_no_twin(void **state)
{
    fake.fault = SLOW;
    const struct sample_conditions cold = { 64 << 20, 0.01, 1e-5, NULL }; /* below one run */
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
        CASE(test_long_kernel_has_no_twin),
        CASE(test_slow_kernel_is_not_sampled),
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
