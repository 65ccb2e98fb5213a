/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose steps run side by side. ThreadSanitizer runs this, too. */
#include "unit/run/random_plans.h"

#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "plan/lanes.h"

/* ---- plans with lanes, by hand ---- */

/* lanes: one letter a step: 'w' for a wide one, else the lane's digit. */
static void set_lanes(struct plan *plan, const struct graph *graph, uint32_t count, int32_t threads,
                      const char *lanes)
{
    struct error error = { 0 };
    assert_int_equal(strlen(lanes), plan->step_count);
    plan->lanes = count;
    plan->threads = threads;
    for (uint32_t s = 0; s < plan->step_count; s++)
        plan->steps[s].lane = lanes[s] == 'w' ? PLAN_WIDE : (uint32_t)(lanes[s] - '0');
    if (plan_memory(plan, graph, &error) != COLLAGE_OK ||
        plan_verify(plan, graph, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
}

struct branches {
    struct graph *graph;
    struct fake f;
    struct plan *plan;
};

/* input -> Relu 0 -> Relu 1, Relu 2 -> Relu 3, Relu 4 -> Add 5 of both branches. */
static void branches_setup_sharing(struct branches *b, const char *lanes, bool in_place)
{
    struct tensor image = fake_image();
    b->graph = fake_graph();
    value_id in = fake_value(b->graph, VALUE_INPUT, &image);
    value_id top = fake_node(b->graph, FAKE_RELU, in, 0, NULL);
    value_id left = fake_node(b->graph, FAKE_RELU, top, 0, NULL);
    value_id right = fake_node(b->graph, FAKE_RELU, top, 0, NULL);
    left = fake_node(b->graph, FAKE_RELU, left, 0, NULL);
    right = fake_node(b->graph, FAKE_RELU, right, 0, NULL);
    value_id out = fake_node(b->graph, FAKE_ADD, left, right, NULL);
    fake_ports(b->graph, &in, 1, &out, 1);
    fake_setup(&b->f, b->graph);
    for (node_id n = 0; n < 6; n++)
        fake_choose(&b->f, n % 2, 0, false, &n, 1)->cost.inplace_count = in_place;
    b->plan = fake_build(&b->f);
    set_lanes(b->plan, b->graph, 2, 4, lanes);
}

static void branches_setup(struct branches *b, const char *lanes)
{
    branches_setup_sharing(b, lanes, false);
}

static void branches_teardown(struct branches *b)
{
    plan_destroy(b->plan);
    fake_teardown(&b->f);
    graph_destroy(b->graph);
}

static void order_follows_from_tensors(void **state)
{
    (void)state;
    struct branches b;
    struct plan_order order;
    branches_setup(&b, "w0101w");
    OK(plan_order_create(b.plan, &order, NULL));
    const uint32_t waits[][2] = { { 0, 0 }, { 0, 0 }, { 1, 0 }, { 0, 0 }, { 0, 0 }, { 0, 5 } };
    assert_memory_equal(order.waits, waits, sizeof waits);
    const uint32_t ended[][2] = { { 0, 0 }, { 1, 0 }, { 1, 2 }, { 3, 0 }, { 1, 4 }, { 5, 5 } };
    assert_memory_equal(order.ended, ended, sizeof ended);
    plan_order_free(&order);
    branches_teardown(&b);
    branches_setup(&b, "w01010"); /* the last needs the other lane's first */
    OK(plan_order_create(b.plan, &order, NULL));
    assert_int_equal(order.waits[11], 5);
    plan_order_free(&order);
    branches_teardown(&b);
    branches_setup_sharing(&b, "w0101w", true); /* 2 writes where 1 reads */
    assert_int_equal(plan_tensor_root(b.plan, b.plan->steps[2].outputs[0]),
                     b.plan->steps[0].outputs[0]);
    OK(plan_order_create(b.plan, &order, NULL));
    assert_int_equal(order.waits[4], 2);
    plan_order_free(&order);
    branches_teardown(&b);
}

/* What is used on the two lanes lies apart; one after the other, it need not. */
static void memory_of_lanes_lies_apart(void **state)
{
    (void)state;
    struct branches b;
    branches_setup(&b, "w0101w");
    const uint64_t side_by_side = b.plan->arena_bytes;
    for (uint32_t left = 1; left < 5; left += 2)
        for (uint32_t right = 2; right < 5; right += 2) {
            const struct plan *plan = b.plan;
            const struct plan_tensor *l =
                &plan->tensors[plan_tensor_root(plan, plan->steps[left].outputs[0])];
            const struct plan_tensor *r =
                &plan->tensors[plan_tensor_root(plan, plan->steps[right].outputs[0])];
            assert_true(l->offset + l->bytes <= r->offset || r->offset + r->bytes <= l->offset);
        }
    run_and_check(&b.f, b.plan);
    branches_teardown(&b);
    branches_setup(&b, "wwwwww");
    assert_true(b.plan->arena_bytes <= side_by_side);
    branches_teardown(&b);
}

/* ---- random plans ---- */

enum { MOST_STEPS = 64 };

/* An order of its own, from the tensors and nothing else: does a end before b begins? */
struct precedence {
    bool holds[MOST_STEPS][MOST_STEPS];
};

static bool reads_what(const struct plan *plan, const uint32_t *writers, uint32_t b, uint32_t a)
{
    for (uint32_t k = 0; k < plan->steps[b].input_count; k++)
        if (writers[plan_tensor_owner(plan, writers, plan->steps[b].inputs[k])] == a)
            return true;
    return false;
}

static void find_precedence(const struct plan *plan, struct precedence *p)
{
    uint32_t *writers = calloc(plan->tensor_count + 1, sizeof *writers);
    plan_tensor_writers(plan, writers);
    memset(p, 0, sizeof *p);
    for (uint32_t b = 0; b < plan->step_count; b++)
        for (uint32_t a = 0; a < b; a++) {
            const uint32_t x = plan->steps[a].lane, y = plan->steps[b].lane;
            p->holds[a][b] =
                x == y || x == PLAN_WIDE || y == PLAN_WIDE || reads_what(plan, writers, b, a);
            for (uint32_t k = 0; k < plan->steps[b].output_count; k++)
                if (plan->tensors[plan->steps[b].outputs[k]].shares != GRAPH_NONE &&
                    touches(plan, &plan->steps[a],
                            plan_tensor_root(plan, plan->steps[b].outputs[k])))
                    p->holds[a][b] = true;
        }
    for (uint32_t m = 0; m < plan->step_count; m++)
        for (uint32_t a = 0; a < plan->step_count; a++)
            for (uint32_t b = 0; b < plan->step_count; b++)
                if (p->holds[a][m] && p->holds[m][b])
                    p->holds[a][b] = true;
    free(writers);
}

static bool is_over(const struct plan *plan, const struct precedence *p, uint32_t first,
                    uint32_t second)
{
    for (uint32_t a = 0; a < plan->step_count; a++)
        for (uint32_t b = 0; b < plan->step_count; b++)
            if (touches(plan, &plan->steps[a], first) && touches(plan, &plan->steps[b], second) &&
                !p->holds[a][b])
                return false;
    return true;
}

static bool is_piece(const struct plan_tensor *tensor)
{
    return tensor->place == PLAN_ARENA && tensor->shares == GRAPH_NONE && tensor->bytes > 0;
}

/* Returns how many pairs lie in the same memory. */
static uint32_t check_memory(const struct plan *plan)
{
    struct precedence p;
    uint32_t reused = 0;
    find_precedence(plan, &p);
    for (uint32_t x = 0; x < plan->tensor_count; x++)
        for (uint32_t y = 0; y < x; y++) {
            const struct plan_tensor *a = &plan->tensors[x], *b = &plan->tensors[y];
            if (!is_piece(a) || !is_piece(b) || a->offset >= b->offset + b->bytes ||
                b->offset >= a->offset + a->bytes)
                continue;
            assert_true(is_over(plan, &p, x, y) || is_over(plan, &p, y, x));
            reused++;
        }
    return reused;
}

/* Through the file and back: the same lanes, the same memory. */
static void check_round_trip(const struct plan *plan, const struct graph *graph)
{
    json_t *json;
    struct plan *read;
    struct error error = { 0 };
    OK(plan_to_json(plan, graph, &json, NULL));
    if (plan_from_json(json, graph, &read, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(read->lanes, plan->lanes);
    assert_int_equal(read->arena_bytes, plan->arena_bytes);
    for (uint32_t s = 0; s < plan->step_count; s++)
        assert_int_equal(read->steps[s].lane, plan->steps[s].lane);
    for (uint32_t t = 0; t < plan->tensor_count; t++)
        assert_int_equal(read->tensors[t].offset, plan->tensors[t].offset);
    plan_destroy(read);
    json_decref(json);
}

static void random_lanes_give_the_reference_result(void **state)
{
    (void)state;
    uint32_t reused = 0, crossing = 0;
    for (uint64_t trial = 0; trial < 400; trial++) {
        seed = 1000 + trial;
        struct graph *graph = random_graph();
        struct fake f;
        char lanes[MOST_STEPS + 1] = "";
        fake_setup(&f, graph);
        random_placement(&f);
        struct plan *plan = fake_build(&f);
        const uint32_t count = 2 + draw(3);
        assert_true(plan->step_count <= MOST_STEPS);
        for (uint32_t s = 0; s < plan->step_count; s++)
            lanes[s] = draw(5) ? (char)('0' + draw(count)) : 'w';
        set_lanes(plan, graph, count, (int32_t)count, lanes);
        struct plan_order order;
        OK(plan_order_create(plan, &order, NULL));
        for (uint32_t k = 0; k < plan->step_count * count; k++)
            crossing += order.waits[k] > 0;
        plan_order_free(&order);
        reused += check_memory(plan);
        check_round_trip(plan, graph);
        run_and_check(&f, plan);
        plan_destroy(plan);
        fake_teardown(&f);
        graph_destroy(graph);
    }
    assert_true(reused > 100 && crossing > 100); /* the test tests something */
}

/* ---- running ---- */

static struct session *make_session(struct branches *b)
{
    struct session *session = NULL;
    struct error error = { 0 };
    if (session_create(b->graph, b->plan, &b->f.registry, &session, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    return session;
}

struct meeting {
    atomic_int here;
    atomic_bool met;
};

/* Kernels 1 and 2 wait for each other, a second at most. */
static void meet(struct fake_world *world, uint32_t kernel, const void *const *inputs,
                 void *const *outputs)
{
    (void)inputs;
    (void)outputs;
    struct meeting *meeting = world->user;
    if (kernel != 1 && kernel != 2)
        return;
    const uint64_t end = clock_ns() + 1000000000u;
    atomic_fetch_add(&meeting->here, 1);
    while (atomic_load(&meeting->here) < 2 && clock_ns() < end)
        continue;
    if (atomic_load(&meeting->here) == 2)
        atomic_store(&meeting->met, true);
}

static void lanes_run_at_the_same_time(void **state)
{
    (void)state;
    struct branches b;
    struct meeting meeting = { 0 };
    struct buffers buffers;
    branches_setup(&b, "w0101w");
    b.f.world.after = meet;
    b.f.world.user = &meeting;
    struct session *session = make_session(&b);
    fill(&buffers);
    OK(session_run(session, buffers.inputs, buffers.outputs, NULL));
    check_outputs(b.graph, &buffers);
    assert_true(atomic_load(&meeting.met));
    session_destroy(session);
    branches_teardown(&b);
}

static void threads_are_divided(void **state)
{
    (void)state;
    struct branches b;
    branches_setup(&b, "w0101w");
    session_destroy(make_session(&b));
    const int32_t threads[] = { 4, 2, 2, 2, 2, 4 };
    assert_memory_equal(b.f.world.threads, threads, sizeof threads);
    branches_teardown(&b);
}

static void backends_must_allow_it(void **state)
{
    (void)state;
    struct branches b;
    collage_backend_api alone = fake_beta;
    struct session *session = NULL;
    struct error error = { 0 };
    branches_setup(&b, "w0101w");
    alone.thread_flags = COLLAGE_THREADS_OBEYED;
    b.f.entries[1].api = &alone;
    assert_int_equal(session_create(b.graph, b.plan, &b.f.registry, &session, &error),
                     COLLAGE_ERROR_MISMATCH);
    assert_non_null(strstr(error.text, "step 1 (Relu 'n1' on beta): its kernels cannot run at the "
                                       "same time as others"));
    assert_int_equal(b.f.world.alive, 0);
    set_lanes(b.plan, b.graph, 2, 4, "w000ww"); /* a lane is a lane */
    memset(&error, 0, sizeof error);
    assert_int_equal(session_create(b.graph, b.plan, &b.f.registry, &session, &error),
                     COLLAGE_ERROR_MISMATCH);
    set_lanes(b.plan, b.graph, 2, 4, "wwwwww");
    run_and_check(&b.f, b.plan);
    branches_teardown(&b);
}

/* The first step in the plan's order is named, nobody hangs, and the session can go on. */
static void a_failure_ends_the_run(void **state)
{
    (void)state;
    struct branches b;
    struct buffers buffers;
    branches_setup(&b, "010101");
    struct session *session = make_session(&b);
    for (int round = 0; round < 50; round++) {
        struct error error = { 0 };
        fill(&buffers);
        b.f.world.fail_run = true;
        assert_int_equal(session_run(session, buffers.inputs, buffers.outputs, &error),
                         COLLAGE_ERROR_BACKEND);
        assert_string_equal(error.text, "step 0 (Relu 'n0' on alpha): told to fail");
        b.f.world.fail_run = false;
        OK(session_run(session, buffers.inputs, buffers.outputs, NULL));
        check_outputs(b.graph, &buffers);
    }
    session_destroy(session);
    branches_teardown(&b);
}

static void steps_are_profiled(void **state)
{
    (void)state;
    struct branches b;
    struct buffers buffers;
    branches_setup(&b, "w0101w");
    struct session *session = make_session(&b);
    fill(&buffers);
    OK(session_set_profiling(session, true, NULL));
    for (int run = 0; run < 300; run++)
        OK(session_run(session, buffers.inputs, buffers.outputs, NULL));
    for (uint32_t s = 0; s < b.plan->step_count; s++) {
        struct session_profile profile = session_step_profile(session, s);
        assert_true(profile.minimum_ns > 0 && profile.median_ns >= profile.minimum_ns &&
                    profile.minimum_ns < 1e9);
    }
    session_destroy(session);
    branches_teardown(&b);
}

static double processor_seconds(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void nobody_spins_between_runs(void **state)
{
    (void)state;
    struct branches b;
    struct buffers buffers;
    branches_setup(&b, "w0101w");
    struct session *session = make_session(&b);
    fill(&buffers);
    OK(session_run(session, buffers.inputs, buffers.outputs, NULL));
    const double before = processor_seconds();
    nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
    assert_true(processor_seconds() - before < 0.05);
    session_destroy(session);
    branches_teardown(&b);
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    struct branches b;
    branches_setup(&b, "w0101w");
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status != COLLAGE_OK && n < 10000; n++) {
        struct session *session = NULL;
        struct error error = { 0 };
        memory_fail_after(n);
        status = session_create(b.graph, b.plan, &b.f.registry, &session, &error);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || (status == COLLAGE_ERROR_MEMORY && !session));
        session_destroy(session);
        assert_int_equal(b.f.world.alive, 0);
    }
    assert_true(status == COLLAGE_OK && n > 10);
    branches_teardown(&b);
}

/* Two lanes that need each other in turns: each step is a hand-over. */
static void hand_over(void **state)
{
    (void)state;
    enum { NODES = 40, RUNS = 300 };
    struct graph *graph = fake_graph();
    struct tensor image = fake_image();
    value_id in = fake_value(graph, VALUE_INPUT, &image), last = in;
    char turns[NODES + 1] = "", same[NODES + 1] = "";
    struct fake f;
    struct buffers buffers;
    double best[2];
    for (int n = 0; n < NODES; n++) {
        last = fake_node(graph, FAKE_RELU, last, 0, NULL);
        turns[n] = (char)('0' + n % 2);
        same[n] = '0';
    }
    fake_ports(graph, &in, 1, &last, 1);
    fake_setup(&f, graph);
    for (node_id n = 0; n < NODES; n++)
        fake_choose(&f, 0, 0, false, &n, 1);
    struct plan *plan = fake_build(&f);
    fill(&buffers);
    for (int way = 0; way < 2; way++) {
        struct session *session = NULL;
        set_lanes(plan, graph, 2, 2, way ? turns : same);
        OK(session_create(graph, plan, &f.registry, &session, NULL));
        best[way] = 1e30;
        for (int run = 0; run < RUNS; run++) {
            const uint64_t start = clock_ns();
            OK(session_run(session, buffers.inputs, buffers.outputs, NULL));
            const double took = (double)(clock_ns() - start);
            best[way] = took < best[way] ? took : best[way];
        }
        check_outputs(graph, &buffers);
        session_destroy(session);
    }
    print_message("%.0f ns for going from one lane to the other\n", (best[1] - best[0]) / NODES);
    plan_destroy(plan);
    fake_teardown(&f);
    graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_follows_from_tensors),
        cmocka_unit_test(memory_of_lanes_lies_apart),
        cmocka_unit_test(random_lanes_give_the_reference_result),
        cmocka_unit_test(lanes_run_at_the_same_time),
        cmocka_unit_test(threads_are_divided),
        cmocka_unit_test(backends_must_allow_it),
        cmocka_unit_test(a_failure_ends_the_run),
        cmocka_unit_test(steps_are_profiled),
        cmocka_unit_test(nobody_spins_between_runs),
        cmocka_unit_test(out_of_memory_is_an_error),
        cmocka_unit_test(hand_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
