/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/run/random_plans.h"

#include <pthread.h>

#include "base/clock.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* input -> Relu -> Add(input) -> Relu, each node a step, in these variants on alternating
 * backends. */
static struct graph *chain(void)
{
    struct graph *graph = fake_graph();
    struct tensor image = fake_image();
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    value_id a = fake_node(graph, FAKE_RELU, in, 0, NULL);
    value_id b = fake_node(graph, FAKE_ADD, a, in, NULL);
    value_id out = fake_node(graph, FAKE_RELU, b, 0, NULL);
    fake_ports(graph, &in, 1, &out, 1);
    return graph;
}

static void choose_each(struct fake *f, const size_t *variants)
{
    for (node_id n = 0; n < f->set.graph->node_count; n++)
        fake_choose(f, n % 2, variants[n], false, &n, 1);
}

static void chain_runs_in_any_layouts(void **state)
{
    (void)state;
    for (size_t mix = 0; mix < 27; mix++) {
        struct graph *graph = chain();
        struct fake f;
        fake_setup(&f, graph);
        choose_each(&f, (size_t[]){ mix % 3, mix / 3 % 3, mix / 9 });
        struct plan *plan = fake_build(&f);
        run_and_check(&f, plan);
        plan_destroy(plan);
        fake_teardown(&f);
        graph_destroy(graph);
    }
}

/* ---- random graphs and placements ---- */

/* After each kernel, whatever no later step needs is overwritten: a plan or session that reads it
 * all the same gives wrong numbers. Knows the plan's offsets, and nothing of how they were made. */
struct poisoner {
    const struct plan *plan;
    uint32_t kernel_steps[256];
};

static bool is_needed(const struct plan *plan, uint32_t root, uint32_t step)
{
    bool before = false, after = false;
    for (uint32_t s = 0; s < plan->step_count; s++)
        if (touches(plan, &plan->steps[s], root))
            *(s <= step ? &before : &after) = true;
    return before && after;
}

static char *find_base(const struct plan *plan, const struct plan_step *step,
                       const void *const *inputs, void *const *outputs)
{
    for (uint32_t k = 0; k < step->output_count; k++) {
        const struct plan_tensor *t = &plan->tensors[plan_tensor_root(plan, step->outputs[k])];
        if (t->place == PLAN_ARENA)
            return (char *)outputs[k] - t->offset;
    }
    for (uint32_t k = 0; k < step->input_count; k++) {
        const struct plan_tensor *t = &plan->tensors[plan_tensor_root(plan, step->inputs[k])];
        if (t->place == PLAN_ARENA)
            return (char *)(uintptr_t)inputs[k] - t->offset;
    }
    return NULL;
}

static void poison(struct fake_world *world, uint32_t kernel, const void *const *inputs,
                   void *const *outputs)
{
    const struct poisoner *p = world->user;
    const struct plan *plan = p->plan;
    uint32_t step = p->kernel_steps[kernel];
    char *base = find_base(plan, &plan->steps[step], inputs, outputs);
    if (!base)
        return;
    bool *keep = calloc(plan->arena_bytes + 1, sizeof *keep);
    for (uint32_t t = 0; t < plan->tensor_count; t++)
        if (plan->tensors[t].place == PLAN_ARENA && plan->tensors[t].shares == GRAPH_NONE &&
            is_needed(plan, t, step))
            memset(keep + plan->tensors[t].offset, 1, plan->tensors[t].bytes);
    for (uint64_t i = 0; i < plan->arena_bytes; i++)
        if (!keep[i])
            base[i] = (char)0xff;
    free(keep);
}

static void random_plans_give_the_reference_result(void **state)
{
    (void)state;
    uint32_t shared = 0, reordered = 0, copied = 0;
    for (uint64_t trial = 0; trial < 600; trial++) {
        seed = trial;
        struct graph *graph = random_graph();
        struct fake f;
        fake_setup(&f, graph);
        random_placement(&f);
        struct plan *plan = fake_build(&f);
        struct poisoner poisoner = { .plan = plan };
        uint32_t kernels = 0;
        for (uint32_t s = 0; s < plan->step_count; s++) {
            copied += plan->steps[s].kind == PLAN_COPY;
            reordered += plan->steps[s].kind == PLAN_REORDER;
            for (uint32_t k = 0; k < plan->steps[s].output_count; k++)
                shared += plan->tensors[plan->steps[s].outputs[k]].shares != GRAPH_NONE;
            if (plan->steps[s].kind != PLAN_COPY)
                poisoner.kernel_steps[kernels++] = s;
        }
        f.world.after = poison;
        f.world.user = &poisoner;
        run_and_check(&f, plan);
        plan_destroy(plan);
        fake_teardown(&f);
        graph_destroy(graph);
    }
    assert_true(shared > 100 && reordered > 100 && copied > 100); /* the test tests something */
}

/* ---- refusals ---- */

struct refusal {
    struct graph *graph;
    struct fake f;
    struct plan *plan;
};

static void refusal_setup(struct refusal *r)
{
    r->graph = chain();
    fake_setup(&r->f, r->graph);
    choose_each(&r->f, (size_t[]){ 1, 1, 0 });
    r->plan = fake_build(&r->f);
}

/* Expects that no session is made, frees all. */
static void refuse(struct refusal *r, collage_status status, const char *words)
{
    struct session *session = NULL;
    struct error error = { 0 };
    assert_int_equal(session_create(r->graph, r->plan, &r->f.registry, &session, &error), status);
    assert_null(session);
    if (!strstr(error.text, words))
        fail_msg("'%s' does not say '%s'", error.text, words);
    assert_int_equal(r->f.world.alive, 0);
    plan_destroy(r->plan);
    fake_teardown(&r->f);
    graph_destroy(r->graph);
}

static void strict_replay(void **state)
{
    (void)state;
    struct refusal r;
    refusal_setup(&r);
    r.plan->backends[1].version = "0.9";
    refuse(&r, COLLAGE_ERROR_MISMATCH, "alpha 0.9, but 1.0");
    refusal_setup(&r);
    r.plan->backends[1].name = "gamma";
    refuse(&r, COLLAGE_ERROR_MISMATCH, "'gamma', which is not here");
    refusal_setup(&r);
    r.plan->graph.low ^= 1;
    refuse(&r, COLLAGE_ERROR_MISMATCH, "another model");
    refusal_setup(&r);
    r.f.world.no_in_place = true;
    refuse(&r, COLLAGE_ERROR_MISMATCH, "cannot write output 0 into its input");
    refusal_setup(&r);
    r.plan->steps[1].variant = "other";
    refuse(&r, COLLAGE_ERROR_MISMATCH, "step 1 (Relu 'n0' on alpha): the backend does not offer");
    refusal_setup(&r);
    r.plan->steps[1].variant = "a name that is longer than any variant's can be";
    refuse(&r, COLLAGE_ERROR_FORMAT, "too long");
    refusal_setup(&r);
    r.plan->steps[1].schedule = "tiles=3";
    refuse(&r, COLLAGE_ERROR_MISMATCH, "the backend does not know the schedule 'tiles=3' here");
    refusal_setup(&r);
    r.f.entries[0].problem = "libfoo.so is broken";
    refuse(&r, COLLAGE_ERROR_BACKEND, "libfoo.so is broken");
}

static void failing_kernel_is_named(void **state)
{
    (void)state;
    struct refusal r;
    refusal_setup(&r);
    struct session *session = NULL;
    OK(session_create(r.graph, r.plan, &r.f.registry, &session, NULL));
    struct buffers b;
    fill(&b);
    r.f.world.fail_run = true;
    struct error error = { 0 };
    assert_int_equal(session_run(session, b.inputs, b.outputs, &error), COLLAGE_ERROR_BACKEND);
    assert_string_equal(error.text, "step 0 (reorder 'v0' on beta): told to fail");
    r.f.world.fail_run = false; /* and the session can go on */
    OK(session_run(session, b.inputs, b.outputs, NULL));
    check_outputs(r.graph, &b);
    session_destroy(session);
    plan_destroy(r.plan);
    fake_teardown(&r.f);
    graph_destroy(r.graph);
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    struct refusal r;
    refusal_setup(&r);
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status != COLLAGE_OK && n < 10000; n++) {
        struct session *session = NULL;
        struct error error = { 0 };
        memory_fail_after(n);
        status = session_create(r.graph, r.plan, &r.f.registry, &session, &error);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || (status == COLLAGE_ERROR_MEMORY && !session));
        session_destroy(session);
        assert_int_equal(r.f.world.alive, 0);
    }
    assert_true(status == COLLAGE_OK && n > 10);
    plan_destroy(r.plan);
    fake_teardown(&r.f);
    graph_destroy(r.graph);
}

/* ---- edges ---- */

static void plan_without_kernels(void **state)
{
    (void)state;
    struct graph *graph = fake_graph();
    struct tensor image = fake_image(), constant = image;
    const float *data = constant_data;
    memcpy(&constant.data, &data, sizeof constant.data);
    value_id in = fake_value(graph, VALUE_INPUT, &image);
    value_id c = fake_value(graph, VALUE_CONSTANT, &constant);
    fake_ports(graph, &in, 1, (value_id[]){ in, c, in }, 3);
    struct fake f;
    fake_setup(&f, graph);
    struct plan *plan = fake_build(&f);
    assert_int_equal(plan->step_count, 3);
    assert_int_equal(plan->arena_bytes, 0);
    run_and_check(&f, plan);
    plan_destroy(plan);
    fake_teardown(&f);
    graph_destroy(graph);
}

static void empty_tensors(void **state)
{
    (void)state;
    struct graph *graph = fake_graph();
    struct tensor empty = { .dtype = COLLAGE_FLOAT32, .rank = 4, .dims = { 1, 0, 2, 3 } };
    value_id in = fake_value(graph, VALUE_INPUT, &empty);
    value_id a = fake_node(graph, FAKE_RELU, in, 0, NULL);
    value_id b = fake_node(graph, FAKE_ADD, a, in, NULL);
    fake_ports(graph, &in, 1, (value_id[]){ b, b, in }, 3);
    struct fake f;
    fake_setup(&f, graph);
    choose_each(&f, (size_t[]){ 1, 2 });
    struct plan *plan = fake_build(&f);
    struct session *session = NULL;
    OK(session_create(graph, plan, &f.registry, &session, NULL));
    const void *inputs[] = { NULL };
    void *outputs[] = { NULL, NULL, NULL };
    OK(session_run(session, inputs, outputs, NULL));
    session_destroy(session);
    plan_destroy(plan);
    fake_teardown(&f);
    graph_destroy(graph);
}

/* ---- threads ---- */

struct job {
    struct session *session;
    struct buffers buffers;
    collage_status status;
};

static void *run_many(void *argument)
{
    struct job *job = argument;
    for (int run = 0; run < 200 && job->status == COLLAGE_OK; run++)
        job->status = session_run(job->session, job->buffers.inputs, job->buffers.outputs, NULL);
    return NULL;
}

static void sessions_run_in_threads(void **state)
{
    (void)state;
    struct refusal r;
    refusal_setup(&r);
    struct job jobs[2] = { 0 };
    pthread_t threads[2];
    for (int k = 0; k < 2; k++) {
        fill(&jobs[k].buffers);
        OK(session_create(r.graph, r.plan, &r.f.registry, &jobs[k].session, NULL));
    }
    for (int k = 0; k < 2; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, run_many, &jobs[k]), 0);
    for (int k = 0; k < 2; k++) {
        pthread_join(threads[k], NULL);
        OK(jobs[k].status);
        check_outputs(r.graph, &jobs[k].buffers);
        session_destroy(jobs[k].session);
    }
    plan_destroy(r.plan);
    fake_teardown(&r.f);
    graph_destroy(r.graph);
}

/* ---- times ---- */

static void profile_of_steps(void **state)
{
    (void)state;
    struct refusal r;
    refusal_setup(&r);
    struct session *session = NULL;
    OK(session_create(r.graph, r.plan, &r.f.registry, &session, NULL));
    struct buffers b;
    fill(&b);
    OK(session_run(session, b.inputs, b.outputs, NULL));
    assert_true(session_step_profile(session, 0).median_ns == 0); /* off */
    OK(session_set_profiling(session, true, NULL));
    for (int run = 0; run < 300; run++)
        OK(session_run(session, b.inputs, b.outputs, NULL));
    for (uint32_t s = 0; s < r.plan->step_count; s++) {
        struct session_profile p = session_step_profile(session, s);
        assert_true(p.minimum_ns > 0 && p.median_ns >= p.minimum_ns);
    }
    assert_true(session_step_profile(session, r.plan->step_count).median_ns == 0);
    OK(session_set_profiling(session, false, NULL));
    assert_true(session_step_profile(session, 0).median_ns == 0);
    uint64_t activations, weights;
    session_memory(session, &activations, &weights);
    assert_int_equal(activations, r.plan->arena_bytes + 128);
    assert_int_equal(weights, 100 * r.plan->step_count);
    session_destroy(session);
    plan_destroy(r.plan);
    fake_teardown(&r.f);
    graph_destroy(r.graph);
}

static collage_status run_nothing(collage_kernel *kernel, collage_stream *stream,
                                  const void *const *inputs, void *const *outputs, void *scratch,
                                  collage_message *message)
{
    (void)kernel;
    (void)stream;
    (void)inputs;
    (void)outputs;
    (void)scratch;
    (void)message;
    return COLLAGE_OK;
}

static void overhead_of_a_step(void **state)
{
    (void)state;
    enum { NODES = 200, RUNS = 200 };
    struct graph *graph = fake_graph();
    struct tensor image = fake_image();
    value_id in = fake_value(graph, VALUE_INPUT, &image), last = in;
    for (int n = 0; n < NODES; n++)
        last = fake_node(graph, FAKE_ADD, last, in, NULL);
    fake_ports(graph, &in, 1, &last, 1);
    struct fake f;
    fake_setup(&f, graph);
    collage_backend_api idle = fake_alpha;
    idle.run = run_nothing;
    f.entries[0].api = &idle;
    for (node_id n = 0; n < NODES; n++)
        fake_choose(&f, 0, 0, false, &n, 1);
    struct plan *plan = fake_build(&f);
    struct session *session = NULL;
    OK(session_create(graph, plan, &f.registry, &session, NULL));
    struct buffers b;
    fill(&b);
    uint64_t best[2] = { UINT64_MAX, UINT64_MAX };
    for (int profiled = 0; profiled < 2; profiled++) {
        OK(session_set_profiling(session, profiled == 1, NULL));
        for (int run = 0; run < RUNS; run++) {
            uint64_t start = clock_ns();
            (void)session_run(session, b.inputs, b.outputs, NULL);
            uint64_t took = clock_ns() - start;
            best[profiled] = took < best[profiled] ? took : best[profiled];
        }
    }
    print_message("%.1f ns a step, %.1f ns when profiled\n", (double)best[0] / NODES,
                  (double)best[1] / NODES);
    assert_true(SANITIZED || best[0] < 1000 * NODES);
    session_destroy(session);
    plan_destroy(plan);
    fake_teardown(&f);
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_runs_in_any_layouts),
        cmocka_unit_test(random_plans_give_the_reference_result),
        cmocka_unit_test(strict_replay),
        cmocka_unit_test(failing_kernel_is_named),
        cmocka_unit_test(out_of_memory_is_an_error),
        cmocka_unit_test(plan_without_kernels),
        cmocka_unit_test(empty_tensors),
        cmocka_unit_test(sessions_run_in_threads),
        cmocka_unit_test(profile_of_steps),
        cmocka_unit_test(overhead_of_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
