/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/lane_schedule.h"

#include <math.h>
#include <string.h>

/* How long a lane looks out before it sleeps (run/lanes.c). */
static const double spin_ns = 10000;
/* Less of the whole is no gain. */
static const double least_gain = 1e-4;
/* Steps placed by the local search, at most: a few seconds. */
enum { MOST_PLACED = 20000000, PASSES = 3, LARGEST_WINDOW = 64 };

struct scheduler {
    const struct plan *plan;
    const struct lane_costs *costs;
    uint32_t lanes, count;
    /* Who is needed by step s: before[first_before[s]] and on; who needs it: the same in after. */
    uint32_t *first_before, *before, *first_after, *after;
    double *rank; /* of each step: the longest way from its beginning to the end of all */
    bool *wide;   /* what is tried */
    /* Of one trial. */
    uint32_t *missing, *ready, *order, *lane;
    double *end;
    double free[PLAN_MOST_LANES];
    double last_wide;             /* when the last wide step ended */
    bool asleep[PLAN_MOST_LANES]; /* since that */
    uint64_t placed;
};

/* ---- who needs whom ---- */

static void link_steps(struct scheduler *s, const uint32_t *writers)
{
    const struct plan *plan = s->plan;
    uint32_t used = 0;
    for (uint32_t index = 0; index < s->count; index++) {
        const struct plan_step *step = &plan->steps[index];
        s->first_before[index] = used;
        for (uint32_t k = 0; k < step->input_count; k++) {
            uint32_t writer = writers[plan_tensor_owner(plan, writers, step->inputs[k])];
            bool known = writer >= index; /* inputs and constants have none */
            for (uint32_t j = s->first_before[index]; j < used && !known; j++)
                known = s->before[j] == writer;
            if (!known) {
                s->before[used++] = writer;
                s->first_after[writer + 1]++;
            }
        }
    }
    s->first_before[s->count] = used;
    for (uint32_t index = 0; index < s->count; index++)
        s->first_after[index + 1] += s->first_after[index];
    memset(s->missing, 0, s->count * sizeof *s->missing);
    for (uint32_t index = 0; index < s->count; index++)
        for (uint32_t j = s->first_before[index]; j < s->first_before[index + 1]; j++) {
            uint32_t writer = s->before[j];
            s->after[s->first_after[writer] + s->missing[writer]++] = index;
        }
}

static void rank_steps(struct scheduler *s)
{
    for (uint32_t index = s->count; index-- > 0;) {
        double rest = 0;
        for (uint32_t j = s->first_after[index]; j < s->first_after[index + 1]; j++)
            rest = fmax(rest, s->rank[s->after[j]]);
        s->rank[index] = rest + fmin(s->costs->wide_ns[index], s->costs->lane_ns[index]);
    }
}

static bool make(struct scheduler *s, struct arena *arena)
{
    const size_t count = s->count;
    size_t inputs = 0;
    for (uint32_t k = 0; k < s->count; k++)
        inputs += s->plan->steps[k].input_count;
    uint32_t *writers = arena_array(arena, s->plan->tensor_count, sizeof *writers);
    s->first_before = arena_array(arena, count + 1, sizeof *s->first_before);
    s->first_after = arena_array(arena, count + 1, sizeof *s->first_after);
    s->before = arena_array(arena, inputs, sizeof *s->before);
    s->after = arena_array(arena, inputs, sizeof *s->after);
    s->rank = arena_array(arena, count, sizeof *s->rank);
    s->wide = arena_array(arena, count, sizeof *s->wide);
    s->missing = arena_array(arena, count, sizeof *s->missing);
    s->ready = arena_array(arena, count, sizeof *s->ready);
    s->order = arena_array(arena, count, sizeof *s->order);
    s->lane = arena_array(arena, count, sizeof *s->lane);
    s->end = arena_array(arena, count, sizeof *s->end);
    if (!writers || !s->first_before || !s->first_after || !s->before || !s->after || !s->rank ||
        !s->wide || !s->missing || !s->ready || !s->order || !s->lane || !s->end)
        return false;
    plan_tensor_writers(s->plan, writers);
    link_steps(s, writers);
    rank_steps(s);
    return true;
}

/* ---- placing one step ---- */

static double wide_start(const struct scheduler *s)
{
    double start = s->free[0];
    for (uint32_t l = 1; l < s->lanes; l++)
        if (s->free[l] > 0 && !s->asleep[l])
            start = fmax(start, s->free[l] + s->costs->hand_over_ns);
    return start;
}

/* When the step can begin on the lane. What it waits for has ended in some lane, of which it hears
 * at once if it spins by then. */
static double lane_start(const struct scheduler *s, uint32_t step, uint32_t lane)
{
    double start = s->free[lane], heard = start;
    for (uint32_t j = s->first_before[step]; j < s->first_before[step + 1]; j++) {
        const uint32_t other = s->before[j];
        const uint32_t from = s->lane[other] == PLAN_WIDE ? 0 : s->lane[other];
        if (from != lane)
            heard = fmax(heard, s->end[other] + s->costs->hand_over_ns);
    }
    if (s->asleep[lane])
        return fmax(start + s->costs->wake_ns, heard);
    return heard - start > spin_ns ? heard + s->costs->wake_ns : heard;
}

static void place_wide(struct scheduler *s, uint32_t step)
{
    const double start = wide_start(s);
    /* Threads that had nothing to do for so long sleep. */
    const bool woken = start - s->last_wide > spin_ns;
    const double end = start + s->costs->wide_ns[step] + (woken ? s->costs->wake_ns : 0);
    for (uint32_t l = 0; l < s->lanes; l++) {
        s->free[l] = end;
        s->asleep[l] = l > 0;
    }
    s->lane[step] = PLAN_WIDE;
    s->end[step] = s->last_wide = end;
}

static void place_in_lane(struct scheduler *s, uint32_t step, uint32_t lane, double start)
{
    s->lane[step] = lane;
    s->end[step] = s->free[lane] = start + s->costs->lane_ns[step];
    s->asleep[lane] = false;
}

struct choice {
    uint32_t place, lane; /* in `ready`; PLAN_WIDE */
    double start, rank;
};

static void consider(struct choice *best, struct choice other)
{
    if (other.start < best->start || (other.start <= best->start && other.rank > best->rank))
        *best = other;
}

/* Whoever can begin first; of several, the one with the longest way to go. */
static struct choice choose(const struct scheduler *s, uint32_t ready_count)
{
    struct choice best = { .place = 0, .lane = PLAN_WIDE, .start = HUGE_VAL, .rank = 0 };
    for (uint32_t k = 0; k < ready_count; k++) {
        const uint32_t step = s->ready[k];
        struct choice choice = { .place = k, .lane = PLAN_WIDE, .rank = s->rank[step] };
        if (s->wide[step]) {
            choice.start = wide_start(s);
            consider(&best, choice);
        }
        for (choice.lane = 0; choice.lane < s->lanes && !s->wide[step]; choice.lane++) {
            choice.start = lane_start(s, step, choice.lane);
            consider(&best, choice);
        }
    }
    return best;
}

/* Places all steps, wide or not as is tried; returns the time of the whole. */
static double place_all(struct scheduler *s)
{
    uint32_t ready_count = 0;
    double end = 0;
    memset(s->free, 0, sizeof s->free);
    for (uint32_t l = 0; l < s->lanes; l++)
        s->asleep[l] = l > 0;
    s->last_wide = 0;
    for (uint32_t k = 0; k < s->count; k++) {
        s->missing[k] = s->first_before[k + 1] - s->first_before[k];
        if (s->missing[k] == 0)
            s->ready[ready_count++] = k;
    }
    for (uint32_t k = 0; k < s->count; k++) {
        const struct choice choice = choose(s, ready_count);
        const uint32_t step = s->ready[choice.place];
        if (s->wide[step])
            place_wide(s, step);
        else
            place_in_lane(s, step, choice.lane, choice.start);
        s->order[k] = step;
        s->ready[choice.place] = s->ready[--ready_count];
        for (uint32_t j = s->first_after[step]; j < s->first_after[step + 1]; j++)
            if (--s->missing[s->after[j]] == 0)
                s->ready[ready_count++] = s->after[j];
        end = fmax(end, s->end[step]);
    }
    s->placed += s->count;
    return end;
}

/* ---- which are wide ---- */

static void set_window(const struct scheduler *s, uint32_t first, uint32_t size, bool wide)
{
    for (uint32_t k = first; k < first + size && k < s->count; k++)
        s->wide[k] = isinf(s->costs->lane_ns[k]) || (wide && !isinf(s->costs->wide_ns[k]));
}

static bool differs(const struct scheduler *s, uint32_t first, uint32_t size, bool wide)
{
    for (uint32_t k = first; k < first + size && k < s->count; k++)
        if (s->wide[k] != wide && !isinf(wide ? s->costs->wide_ns[k] : s->costs->lane_ns[k]))
            return true;
    return false;
}

/* Steps that follow each other in the plan, all wide or all in lanes: kept where that is better. */
static bool try_windows(struct scheduler *s, uint32_t size, bool *saved, double *best)
{
    bool better = false;
    for (uint32_t first = 0; first < s->count; first += (size + 1) / 2)
        for (int wide = 0; wide < 2 && s->placed < MOST_PLACED; wide++) {
            if (!differs(s, first, size, wide))
                continue;
            const uint32_t width = size < s->count - first ? size : s->count - first;
            memcpy(saved, s->wide + first, width * sizeof *saved);
            set_window(s, first, size, wide);
            const double ns = place_all(s);
            if (ns < *best * (1 - least_gain)) {
                *best = ns;
                better = true;
            } else {
                memcpy(s->wide + first, saved, width * sizeof *saved);
            }
        }
    return better;
}

static void search(struct scheduler *s)
{
    bool saved[LARGEST_WINDOW];
    set_window(s, 0, s->count, true);
    double best = place_all(s);
    set_window(s, 0, s->count, false);
    const double all_in_lanes = place_all(s);
    if (all_in_lanes < best)
        best = all_in_lanes;
    else
        set_window(s, 0, s->count, true);
    bool better = true;
    for (int pass = 0; pass < PASSES && better; pass++) {
        better = false;
        for (uint32_t size = LARGEST_WINDOW; size > 0; size /= 2)
            better = try_windows(s, size, saved, &best) || better;
    }
}

collage_status lane_schedule_find(const struct plan *plan, uint32_t lanes,
                                  const struct lane_costs *costs, struct arena *arena,
                                  struct lane_schedule *out, struct error *error)
{
    struct scheduler s = {
        .plan = plan, .costs = costs, .lanes = lanes, .count = plan->step_count
    };
    if (!make(&s, arena))
        return error_memory(error);
    search(&s);
    *out = (struct lane_schedule){ .ns = place_all(&s), .order = s.order, .lane = s.lane };
    for (uint32_t k = 0; k < s.count; k++)
        out->in_lanes += s.lane[k] != PLAN_WIDE;
    return COLLAGE_OK;
}

/* ---- the time of a plan ---- */

collage_status lane_schedule_time(const struct plan *plan, const double *step_ns, double *ns,
                                  struct error *error)
{
    struct plan_order order;
    collage_status status = plan_order_create(plan, &order, error);
    *ns = 0;
    if (status != COLLAGE_OK)
        return status;
    double *end = arena_array(order.arena, plan->step_count, sizeof *end);
    double free[PLAN_MOST_LANES] = { 0 };
    for (uint32_t s = 0; s < plan->step_count && end; s++) {
        const uint32_t *waits = &order.waits[(size_t)s * order.lanes];
        double start = free[order.lane[s]];
        for (uint32_t l = 0; l < order.lanes; l++)
            if (waits[l] > 0)
                start = fmax(start, end[waits[l] - 1]);
        end[s] = free[order.lane[s]] = start + step_ns[s];
        *ns = fmax(*ns, end[s]);
    }
    status = end ? COLLAGE_OK : error_memory(error);
    plan_order_free(&order);
    return status;
}
