/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/lanes.h"

#include <string.h>

struct orderer {
    const struct plan *plan;
    struct plan_order *order;
    uint32_t *writers; /* step of each tensor */
    uint32_t *touched; /* a row for each root: steps so far that read or wrote it */
    uint32_t *known;   /* a row for each lane: what it knows to have ended */
    uint32_t need[PLAN_MOST_LANES];
    uint32_t last[PLAN_MOST_LANES]; /* steps of each lane so far; of lane 0: the last wide one in
                                       `wide` */
    uint32_t wide;
};

int32_t plan_lane_threads(const struct plan *plan)
{
    if (plan->lanes == 0)
        return plan->threads;
    const int32_t threads = plan->threads / (int32_t)plan->lanes;
    return threads > 1 ? threads : 1;
}

static bool is_wide(const struct plan *plan, uint32_t step)
{
    return plan->lanes == 0 || plan->steps[step].lane == PLAN_WIDE;
}

static void need(struct orderer *o, uint32_t lane, uint32_t end)
{
    if (o->need[lane] < end)
        o->need[lane] = end;
}

/* What it reads must be there; what lies where it writes must be read by then. */
static void need_data(struct orderer *o, uint32_t index)
{
    const struct plan *plan = o->plan;
    const struct plan_step *step = &plan->steps[index];
    for (uint32_t k = 0; k < step->input_count; k++) {
        uint32_t writer = o->writers[plan_tensor_owner(plan, o->writers, step->inputs[k])];
        if (writer < index) /* GRAPH_NONE is the largest number */
            need(o, o->order->lane[writer], writer + 1);
    }
    for (uint32_t k = 0; k < step->output_count; k++) {
        if (plan->tensors[step->outputs[k]].shares == GRAPH_NONE)
            continue;
        const uint32_t root = plan_tensor_root(plan, step->outputs[k]);
        for (uint32_t lane = 0; lane < o->order->lanes; lane++)
            need(o, lane, o->touched[(size_t)root * o->order->lanes + lane]);
    }
}

/* The lane learns that a step of another one has ended, and what that one knew. */
static void learn(struct orderer *o, uint32_t *known, uint32_t lane, uint32_t end)
{
    const uint32_t lanes = o->order->lanes;
    const uint32_t *ended = &o->order->ended[(size_t)(end - 1) * lanes];
    for (uint32_t l = 0; l < lanes; l++)
        if (known[l] < ended[l])
            known[l] = ended[l];
    if (known[lane] < end)
        known[lane] = end;
}

static void touch(struct orderer *o, uint32_t index)
{
    const struct plan_step *step = &o->plan->steps[index];
    for (uint32_t k = 0; k < step->input_count + step->output_count; k++) {
        uint32_t tensor =
            k < step->input_count ? step->inputs[k] : step->outputs[k - step->input_count];
        uint32_t root = plan_tensor_root(o->plan, tensor);
        o->touched[(size_t)root * o->order->lanes + o->order->lane[index]] = index + 1;
    }
}

static void order_step(struct orderer *o, uint32_t index)
{
    const uint32_t lanes = o->order->lanes, own = o->order->lane[index];
    uint32_t *known = &o->known[(size_t)own * lanes];
    uint32_t *waits = &o->order->waits[(size_t)index * lanes];
    memset(o->need, 0, sizeof o->need);
    need_data(o, index);
    if (is_wide(o->plan, index))
        memcpy(o->need, o->last, sizeof o->need);
    else
        need(o, 0, o->wide);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (lane == own || o->need[lane] <= known[lane])
            continue;
        waits[lane] = o->need[lane];
        learn(o, known, lane, o->need[lane]);
    }
    known[own] = index;
    memcpy(&o->order->ended[(size_t)index * lanes], known, lanes * sizeof *known);
    known[own] = o->last[own] = index + 1;
    if (is_wide(o->plan, index))
        o->wide = index + 1;
    touch(o, index);
}

collage_status plan_order_create(const struct plan *plan, struct plan_order *order,
                                 struct error *error)
{
    const uint32_t lanes = plan->lanes ? plan->lanes : 1;
    *order = (struct plan_order){ .lanes = lanes, .arena = arena_create() };
    if (lanes > PLAN_MOST_LANES)
        return error_set(error, COLLAGE_ERROR_INTERNAL, "%u lanes", lanes);
    if (!order->arena)
        return error_memory(error);
    struct orderer o = { .plan = plan, .order = order };
    const size_t rows = (size_t)plan->step_count * lanes;
    order->lane = arena_array(order->arena, plan->step_count, sizeof *order->lane);
    order->waits = arena_array(order->arena, rows, sizeof *order->waits);
    order->ended = arena_array(order->arena, rows, sizeof *order->ended);
    o.writers = arena_array(order->arena, plan->tensor_count, sizeof *o.writers);
    o.touched = arena_array(order->arena, (size_t)plan->tensor_count * lanes, sizeof *o.touched);
    o.known = arena_array(order->arena, (size_t)lanes * lanes, sizeof *o.known);
    if (!order->lane || !order->waits || !order->ended || !o.writers || !o.touched || !o.known) {
        plan_order_free(order);
        return error_memory(error);
    }
    plan_tensor_writers(plan, o.writers);
    for (uint32_t s = 0; s < plan->step_count; s++) {
        order->lane[s] = is_wide(plan, s) ? 0 : plan->steps[s].lane;
        if (order->lane[s] >= lanes) {
            plan_order_free(order);
            return error_set(error, COLLAGE_ERROR_INTERNAL, "step %u is of no lane", s);
        }
        order_step(&o, s);
    }
    return COLLAGE_OK;
}

void plan_order_free(struct plan_order *order)
{
    arena_destroy(order->arena);
    *order = (struct plan_order){ 0 };
}

void plan_order_lives(const struct plan *plan, const struct plan_order *order, uint32_t *before,
                      uint32_t *after)
{
    const uint32_t lanes = order->lanes;
    const size_t cells = (size_t)plan->tensor_count * lanes;
    memset(before, 0xff, cells * sizeof *before);
    memset(after, 0, cells * sizeof *after);
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        const uint32_t *ended = &order->ended[(size_t)s * lanes];
        for (uint32_t k = 0; k < step->input_count + step->output_count; k++) {
            uint32_t tensor =
                k < step->input_count ? step->inputs[k] : step->outputs[k - step->input_count];
            const size_t row = (size_t)plan_tensor_root(plan, tensor) * lanes;
            for (uint32_t lane = 0; lane < lanes; lane++)
                if (before[row + lane] > ended[lane])
                    before[row + lane] = ended[lane];
            after[row + order->lane[s]] = s + 1;
        }
    }
}

bool plan_order_is_over(const uint32_t *after_first, const uint32_t *before_second, uint32_t lanes)
{
    for (uint32_t lane = 0; lane < lanes; lane++)
        if (after_first[lane] > before_second[lane])
            return false;
    return true;
}
