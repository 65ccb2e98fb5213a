/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/timing.h"

#include <math.h>

#include "base/clock.h"
#include "measure/cold.h"

enum {
    SAMPLES_MIN = 5,
    SAMPLES_MIN_LONG = 3, /* also of a first look */
    SAMPLES_MAX = 200,
    BATCH_MAX = 1024,
    /* In place, each run works on the result of the one before: few, or values would degenerate
     * (to denormals, which are slow, where they are multiplied). */
    BATCH_MAX_SHARED = 8
};

static const double sample_ns = 4000;    /* at least: 100 times what reading the clock costs */
static const double aim = 0.02;          /* the interval lies within this of the median */
static const double slow = 20;           /* limits that one run may take, and be sampled */
static const double second_chance = 20;  /* times as long may a first run be, for another one */
static const double beaten = 3;          /* times as long as what is known: not sampled */
static const double behind = 1.5;        /* times as long: a few samples are enough */
static const double quick_part = 1. / 3; /* of the limit, for a first look */
static const double patience = 30;       /* limits until fewer than the least are enough */
static const double beaten_ns = 1e6;     /* first runs of shorter kernels say little */
/* From here on waking threads and fetching inputs is lost in the time of a run: no twin is run
 * before it. */
static const double long_ns = 5e6;

struct timing {
    struct trial *trial;
    double limit_ns, known_ns;
    size_t least; /* samples */
    bool is_long;
    struct cold cold; /* if it reads memory between samples, short kernels take turns with a twin */
    size_t batch;
    double samples[SAMPLES_MAX];
    size_t count;
};

static collage_status prepare_caches(struct timing *timing,
                                     const struct sample_conditions *conditions,
                                     struct error *error)
{
    collage_status status =
        cold_prepare(trial_weight_bytes(timing->trial), conditions->working_set_bytes,
                     conditions->level_2_bytes, conditions->last_level_bytes, &timing->cold, error);
    return status == COLLAGE_OK && timing->cold.count > 0 && !timing->is_long
               ? trial_compile_twin(timing->trial, error)
               : status;
}

/* A sample: the kernel after its twin, which wakes the threads and warms inputs, outputs and code
 * but not the weights. A long kernel has no twin; only its inputs are warmed. */
static collage_status sample_cold(struct timing *timing, double *ns, struct error *error)
{
    cold_walk(&timing->cold);
    trial_refresh(timing->trial);
    if (timing->is_long) {
        trial_read_inputs(timing->trial);
    } else {
        collage_status status = trial_run(timing->trial, TRIAL_FIRST, error);
        if (status != COLLAGE_OK)
            return status;
        trial_refresh(timing->trial);
    }
    uint64_t start = clock_ns();
    collage_status status =
        trial_run(timing->trial, timing->is_long ? TRIAL_FIRST : TRIAL_TWIN, error);
    *ns = (double)(clock_ns() - start);
    return status;
}

/* A sample: a batch of runs after one that wakes the threads. Long kernels follow one another. */
static collage_status sample_warm(struct timing *timing, double *ns, struct error *error)
{
    trial_refresh(timing->trial);
    collage_status status = COLLAGE_OK;
    if (!timing->is_long)
        status = trial_run(timing->trial, TRIAL_FIRST, error);
    trial_refresh(timing->trial);
    uint64_t start = clock_ns();
    for (size_t k = 0; k < timing->batch && status == COLLAGE_OK; k++)
        status = trial_run(timing->trial, TRIAL_FIRST, error);
    *ns = (double)(clock_ns() - start) / (double)timing->batch;
    return status;
}

static collage_status take_sample(struct timing *timing, double *ns, struct error *error)
{
    return timing->cold.count > 0 ? sample_cold(timing, ns, error) : sample_warm(timing, ns, error);
}

static void choose_batch(struct timing *timing, double run_ns)
{
    double most = trial_is_shared(timing->trial) ? BATCH_MAX_SHARED : BATCH_MAX;
    double wanted = ceil(sample_ns / fmax(run_ns, 1));
    timing->batch = (size_t)fmax(1, fmin(wanted, most));
}

static bool is_narrow(const struct summary *summary)
{
    return summary->low >= summary->median * (1 - aim) &&
           summary->high <= summary->median * (1 + aim);
}

static collage_status collect(struct timing *timing, struct summary *out, struct error *error)
{
    uint64_t start = clock_ns();
    double fastest = HUGE_VAL;
    while (timing->count < SAMPLES_MAX) {
        double ns;
        collage_status status = take_sample(timing, &ns, error);
        if (status != COLLAGE_OK)
            return status;
        timing->samples[timing->count++] = ns;
        fastest = fmin(fastest, ns);
        double spent = (double)(clock_ns() - start);
        bool enough = timing->count >= timing->least;
        bool is_behind = timing->known_ns > 0 && fastest > behind * timing->known_ns;
        if (is_behind && timing->count >= SAMPLES_MIN_LONG)
            break;
        if (spent > timing->limit_ns * (enough ? 1 : patience))
            break;
        if (timing->count < SAMPLES_MIN)
            continue;
        if (!summary_of(timing->samples, timing->count, out))
            return error_memory(error);
        if (is_narrow(out))
            return COLLAGE_OK;
    }
    return summary_of(timing->samples, timing->count, out) ? COLLAGE_OK : error_memory(error);
}

/* The first sample of each kind is warm-up: lazy initialisation, code, page faults. */
static collage_status warm_up(struct timing *timing, struct error *error)
{
    double ns = 0;
    timing->batch = 1;
    collage_status status = take_sample(timing, &ns, error);
    if (status == COLLAGE_OK && timing->cold.count == 0)
        choose_batch(timing, ns);
    return status;
}

/* From how many nanoseconds on a run is not sampled: many limits, or so long and so much more than
 * what is known that no choice will be the kernel. */
static double longest_ns(const struct sample_conditions *conditions)
{
    double by_limit = slow * conditions->limit_seconds * 1e9;
    return conditions->known_ns > 0 ? fmin(by_limit, fmax(beaten_ns, beaten * conditions->known_ns))
                                    : by_limit;
}

/* A kernel whose run takes too long is not sampled: *run_ns is its cost. Since a first run may also
 * be slow because something is initialised or the machine is busy, it gets a second chance, unless
 * that would take too long. */
static collage_status is_too_slow(struct trial *trial, const struct sample_conditions *conditions,
                                  double *run_ns, bool *too_slow, struct error *error)
{
    const double longest = longest_ns(conditions);
    *too_slow = *run_ns > longest;
    if (!*too_slow || *run_ns > second_chance * longest)
        return COLLAGE_OK;
    uint64_t start = clock_ns();
    collage_status status = trial_run(trial, TRIAL_FIRST, error);
    *run_ns = fmin(*run_ns, (double)(clock_ns() - start));
    *too_slow = *run_ns > longest;
    return status;
}

collage_status timing_sample(struct trial *trial, const struct sample_conditions *conditions,
                             double first_ns, struct summary *out, struct error *error)
{
    double limit_ns = conditions->limit_seconds * 1e9;
    bool too_slow;
    collage_status status = is_too_slow(trial, conditions, &first_ns, &too_slow, error);
    if (status != COLLAGE_OK)
        return status;
    if (too_slow) {
        *out = (struct summary){ .count = 1,
                                 .minimum = first_ns,
                                 .decile = first_ns,
                                 .median = first_ns,
                                 .low = first_ns,
                                 .high = first_ns };
        return COLLAGE_OK;
    }
    struct timing *timing = memory_alloc(sizeof *timing);
    if (!timing)
        return error_memory(error);
    timing->trial = trial;
    timing->limit_ns = limit_ns;
    timing->is_long = first_ns > long_ns;
    timing->known_ns = conditions->known_ns;
    timing->least = timing->is_long || conditions->quick ? SAMPLES_MIN_LONG : SAMPLES_MIN;
    if (conditions->quick)
        timing->limit_ns *= quick_part;
    status = prepare_caches(timing, conditions, error);
    if (status == COLLAGE_OK)
        status = trial_share(trial, error);
    if (status == COLLAGE_OK)
        status = warm_up(timing, error);
    if (status == COLLAGE_OK)
        status = collect(timing, out, error);
    if (status == COLLAGE_OK)
        status = trial_check_guards(trial, error);
    memory_free(timing);
    return status;
}
