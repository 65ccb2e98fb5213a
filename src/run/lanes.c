/* SPDX-License-Identifier: Apache-2.0 */
#include "run/lanes.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/steps.h"

/* Looks before going to sleep: about 10 us, less than what waking takes. */
enum { SPINS = 300 };

/* ---- signals ---- */

static void pause_core(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool is_reached(uint32_t value, uint32_t target)
{
    return (int32_t)(value - target) >= 0;
}

/* Whoever is about to sleep has added itself to `sleepers` and then looks at `value` again; this
 * stores the value and then looks at `sleepers`: one of both sees the other. */
static void signal_post(struct lane_signal *signal, uint32_t value)
{
    atomic_store(&signal->value, value);
    if (atomic_load(&signal->sleepers) > 0)
        syscall(SYS_futex, &signal->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void signal_wait(struct lane_signal *signal, uint32_t target, bool asleep)
{
    for (int k = 0; k < (asleep ? 1 : SPINS); k++) {
        if (is_reached(atomic_load_explicit(&signal->value, memory_order_acquire), target))
            return;
        pause_core();
    }
    atomic_fetch_add(&signal->sleepers, 1);
    for (;;) {
        const uint32_t value = atomic_load(&signal->value);
        if (is_reached(value, target))
            break;
        syscall(SYS_futex, &signal->value, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    }
    atomic_fetch_sub(&signal->sleepers, 1);
}

/* ---- making ---- */

/* The place of each step in its lane, counted from 1. */
static uint32_t *count_steps(struct session *session, const struct plan_order *order)
{
    uint32_t *counts = arena_array(order->arena, session->step_count, sizeof *counts);
    for (uint32_t s = 0; s < session->step_count && counts; s++) {
        struct lane *lane = &session->lanes[order->lane[s]];
        counts[s] = ++lane->step_count;
    }
    return counts;
}

static collage_status add_waits(struct session *session, const struct plan *plan,
                                const struct plan_order *order, const uint32_t *counts,
                                uint32_t index, struct error *error)
{
    struct run_step *step = &session->steps[index];
    const uint32_t *waits = &order->waits[(size_t)index * order->lanes];
    for (uint32_t l = 0; l < order->lanes; l++)
        step->wait_count += waits[l] > 0;
    step->waits = arena_array(session->arena, step->wait_count, sizeof *step->waits);
    if (!step->waits)
        return error_memory(error);
    struct lane_wait *wait = step->waits;
    for (uint32_t l = 0; l < order->lanes; l++) {
        if (waits[l] == 0)
            continue;
        const uint32_t other = waits[l] - 1;
        session->steps[other].posts = true;
        *wait++ = (struct lane_wait){ .lane = l,
                                      .count = counts[other],
                                      .asleep = plan->steps[other].lane == PLAN_WIDE };
    }
    return COLLAGE_OK;
}

/* Nobody needs the threads before the first step that is not wide. */
static void find_begin(struct session *session, const struct plan *plan)
{
    const struct lane *caller = &session->lanes[0];
    while (session->begin < caller->step_count &&
           plan->steps[caller->steps[session->begin]].lane == PLAN_WIDE &&
           caller->steps[session->begin] == session->begin)
        session->begin++;
}

static collage_status assign(struct session *session, const struct plan *plan,
                             const struct plan_order *order, struct error *error)
{
    const uint32_t *counts = count_steps(session, order);
    if (!counts)
        return error_memory(error);
    for (uint32_t l = 0; l < session->lane_count; l++) {
        struct lane *lane = &session->lanes[l];
        lane->session = session;
        lane->steps = arena_array(session->arena, lane->step_count, sizeof *lane->steps);
        if (!lane->steps)
            return error_memory(error);
    }
    for (uint32_t s = 0; s < session->step_count; s++) {
        struct lane *lane = &session->lanes[order->lane[s]];
        lane->steps[counts[s] - 1] = s;
        session->steps[s].posts = counts[s] == lane->step_count; /* the end of the run */
        collage_status status = add_waits(session, plan, order, counts, s, error);
        if (status != COLLAGE_OK)
            return status;
    }
    find_begin(session, plan);
    return COLLAGE_OK;
}

collage_status lanes_assign(struct session *session, const struct plan *plan, struct error *error)
{
    struct plan_order order;
    collage_status status = plan_order_create(plan, &order, error);
    if (status != COLLAGE_OK)
        return status;
    status = assign(session, plan, &order, error);
    plan_order_free(&order);
    return status;
}

/* ---- running ---- */

static void fail(struct lane *lane, uint32_t step, collage_status status)
{
    lane->status = status;
    lane->failed_step = step;
    lane->message.text[sizeof lane->message.text - 1] = '\0';
    atomic_store_explicit(&lane->session->failed, true, memory_order_relaxed);
}

static void run_one(struct lane *lane, uint32_t index)
{
    struct session *session = lane->session;
    struct run_step *step = &session->steps[index];
    if (session->stamp)
        session->stamp[2 * (size_t)index] = clock_ns();
    if (step->api) {
        lane->message.text[0] = '\0';
        collage_status status = step->api->run(step->kernel, NULL, step->inputs, step->outputs,
                                               lane->scratch, &lane->message);
        if (status != COLLAGE_OK)
            fail(lane, index, status);
    } else if (step->copy_bytes) {
        memcpy(step->outputs[0], step->inputs[0], step->copy_bytes);
    }
    if (session->stamp)
        session->stamp[2 * (size_t)index + 1] = clock_ns();
}

/* After a failure, of whichever lane, nothing is run any more, but all is posted: nobody hangs. */
static void run_steps(struct lane *lane, uint32_t run)
{
    struct session *session = lane->session;
    const bool calls = lane == &session->lanes[0];
    for (uint32_t k = 0; k < lane->step_count; k++) {
        const struct run_step *step = &session->steps[lane->steps[k]];
        if (calls && k == session->begin)
            signal_post(&session->runs, run + 1);
        for (uint32_t w = 0; w < step->wait_count; w++) {
            const struct lane_wait *wait = &step->waits[w];
            struct lane *other = &session->lanes[wait->lane];
            signal_wait(&other->done, run * other->step_count + wait->count, wait->asleep);
        }
        if (!atomic_load_explicit(&session->failed, memory_order_relaxed))
            run_one(lane, lane->steps[k]);
        if (step->posts)
            signal_post(&lane->done, run * lane->step_count + k + 1);
    }
    if (calls && session->begin >= lane->step_count)
        signal_post(&session->runs, run + 1);
}

static void *lane_main(void *argument)
{
    struct lane *lane = argument;
    for (uint32_t run = 0;; run++) {
        signal_wait(&lane->session->runs, run + 1, true);
        if (atomic_load_explicit(&lane->session->stop, memory_order_relaxed))
            return NULL;
        run_steps(lane, run);
    }
}

collage_status lanes_run(struct session *session, struct error *error)
{
    const uint32_t run = atomic_load_explicit(&session->runs.value, memory_order_relaxed);
    struct lane *worst = NULL;
    atomic_store_explicit(&session->failed, false, memory_order_relaxed);
    for (uint32_t l = 0; l < session->lane_count; l++)
        session->lanes[l].status = COLLAGE_OK;
    run_steps(&session->lanes[0], run);
    for (uint32_t l = 1; l < session->lane_count; l++) {
        struct lane *lane = &session->lanes[l];
        signal_wait(&lane->done, (run + 1) * lane->step_count, false);
    }
    for (uint32_t l = 0; l < session->lane_count; l++) {
        struct lane *lane = &session->lanes[l];
        if (lane->status != COLLAGE_OK && (!worst || lane->failed_step < worst->failed_step))
            worst = lane;
    }
    return worst ? step_failed(&session->steps[worst->failed_step], worst->status, &worst->message,
                               error)
                 : COLLAGE_OK;
}

/* ---- threads ---- */

/* Signals are for the caller's threads. */
collage_status lanes_start(struct session *session, struct error *error)
{
    sigset_t all, before;
    int failed = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (uint32_t l = 1; l < session->lane_count && failed == 0; l++) {
        struct lane *lane = &session->lanes[l];
        failed = pthread_create(&lane->thread, NULL, lane_main, lane);
        lane->has_thread = failed == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == 0)
        return COLLAGE_OK;
    return error_set(error, COLLAGE_ERROR_MEMORY, "no thread can be started for a lane: %s",
                     strerror(failed));
}

void lanes_stop(struct session *session)
{
    const uint32_t run = atomic_load_explicit(&session->runs.value, memory_order_relaxed);
    atomic_store_explicit(&session->stop, true, memory_order_relaxed);
    signal_post(&session->runs, run + 1);
    for (uint32_t l = 1; l < session->lane_count; l++)
        if (session->lanes[l].has_thread)
            pthread_join(session->lanes[l].thread, NULL);
}

/* ---- what it costs ---- */

struct echo {
    struct lane_signal there, back;
    uint32_t turns;
    bool asleep;
};

static void *echo_main(void *argument)
{
    struct echo *echo = argument;
    for (uint32_t k = 1; k <= echo->turns; k++) {
        signal_wait(&echo->there, k, echo->asleep);
        signal_post(&echo->back, k);
    }
    return NULL;
}

static int compare_times(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* The lower decile (others may have the cores meanwhile) of half the way there and back, if the
 * other side spins, of the whole way if not; each time it is left alone for so long before. */
static collage_status measure_echo(bool asleep, uint64_t alone_ns, double *ns, struct error *error)
{
    enum { TURNS = 200 };
    struct echo echo = { .turns = TURNS, .asleep = asleep };
    double times[TURNS];
    pthread_t thread;
    const int failed = pthread_create(&thread, NULL, echo_main, &echo);
    if (failed != 0)
        return error_set(error, COLLAGE_ERROR_MEMORY, "no thread can be started for a lane: %s",
                         strerror(failed));
    for (uint32_t k = 1; k <= TURNS; k++) {
        uint64_t start = clock_ns();
        while (clock_ns() - start < alone_ns)
            pause_core();
        start = clock_ns();
        signal_post(&echo.there, k);
        signal_wait(&echo.back, k, false);
        times[k - 1] = (double)(clock_ns() - start) / (asleep ? 1 : 2);
    }
    pthread_join(thread, NULL);
    qsort(times, TURNS, sizeof *times, compare_times);
    *ns = times[TURNS / 10];
    return COLLAGE_OK;
}

collage_status lanes_measure(double *hand_over_ns, double *wake_ns, struct error *error)
{
    enum { SHORT_NS = 500, LONG_NS = 100000, ROUNDS = 5 };
    double least[2] = { HUGE_VAL, HUGE_VAL };
    for (int k = 0; k < ROUNDS; k++) {
        double ns[2];
        collage_status status = measure_echo(false, SHORT_NS, &ns[0], error);
        if (status == COLLAGE_OK)
            status = measure_echo(true, LONG_NS, &ns[1], error);
        if (status != COLLAGE_OK)
            return status;
        least[0] = fmin(least[0], ns[0]);
        least[1] = fmin(least[1], ns[1]);
    }
    *hand_over_ns = least[0];
    *wake_ns = fmax(least[1] - least[0], 0);
    return COLLAGE_OK;
}
