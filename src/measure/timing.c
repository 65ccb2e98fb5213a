/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/timing.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    SAMPLES_MIN = 5,
    SAMPLES_MIN_LONG = 3,
    SAMPLES_MAX = 200,
    BATCH_MAX = 1024,
    /* In place, each run works on the result of the one before: few, or values would degenerate
     * (to denormals, which are slow, where they are multiplied). */
    BATCH_MAX_SHARED = 8,
    CORES_MAX = 64, /* whose caches are emptied: beyond, it would take too long */
    LINE = 64
};

static const double sample_ns = 4000;   /* at least: 100 times what reading the clock costs */
static const double aim = 0.02;         /* the interval lies within this of the median */
static const double slow = 20;          /* limits that one run may take, and be sampled */
static const double second_chance = 20; /* times as long may a first run be, for another one */
static const double beaten = 3;         /* times as long as what is known: not sampled */
static const double patience = 30;      /* limits until fewer than the least are enough */
/* From here on waking threads and fetching inputs is lost in the time of a run: no twin is run
 * before it. */
static const double long_ns = 5e6;
static const uint64_t small_weights = UINT64_C(64) * 1024; /* stay cached, or are read in no time */

struct timing {
    struct trial *trial;
    double limit_ns;
    bool is_long;
    bool cold; /* memory is read between samples; short kernels take turns with a twin */
    size_t batch;
    unsigned char *walked;
    uint64_t walked_bytes, level_2_bytes;
    cpu_set_t processors; /* that this process may use; empty: not known */
    double samples[SAMPLES_MAX];
    size_t count;
};

static uint64_t cache_bytes(int level_3, int level_2)
{
    long bytes = sysconf(level_3);
    if (bytes <= 0)
        bytes = sysconf(level_2);
    return bytes > 0 ? (uint64_t)bytes : 32u << 20;
}

/* Weights are cold inside a network if what the rest of it touches drives them out. Weights that
 * are larger than the caches drive themselves out. */
static collage_status prepare_caches(struct timing *timing, uint64_t working_set,
                                     struct error *error)
{
    uint64_t last_level = cache_bytes(_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE);
    uint64_t level_2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE);
    uint64_t enough = last_level + last_level / 2;
    uint64_t weights = trial_weight_bytes(timing->trial);
    if (weights <= small_weights || weights >= enough || working_set <= level_2)
        return COLLAGE_OK;
    timing->walked_bytes = working_set < enough ? working_set : enough;
    timing->walked = memory_alloc_aligned((size_t)timing->walked_bytes);
    if (!timing->walked)
        return error_memory(error);
    memset(timing->walked, 1, (size_t)timing->walked_bytes); /* untouched pages are all one page */
    timing->level_2_bytes = level_2;
    if (sched_getaffinity(0, sizeof timing->processors, &timing->processors) != 0)
        CPU_ZERO(&timing->processors);
    timing->cold = true;
    return timing->is_long ? COLLAGE_OK : trial_compile_twin(timing->trial, error);
}

static void read_lines(const struct timing *timing, uint64_t count)
{
    const volatile unsigned char *bytes = timing->walked;
    for (uint64_t k = 0; k < count && k < timing->walked_bytes; k += LINE)
        (void)bytes[k];
}

/* Private caches keep weights that reading on another core does not drive out: each core's is
 * filled on that core, by going there. */
static void walk(const struct timing *timing)
{
    size_t visited = 0;
    for (size_t cpu = 0; cpu < CPU_SETSIZE && visited < CORES_MAX; cpu++) {
        if (!CPU_ISSET(cpu, &timing->processors))
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) == 0)
            read_lines(timing, 2 * timing->level_2_bytes);
        visited++;
    }
    if (visited > 0)
        sched_setaffinity(0, sizeof timing->processors, &timing->processors);
    read_lines(timing, timing->walked_bytes);
}

/* A sample: the kernel after its twin, which wakes the threads and warms inputs, outputs and code
 * but not the weights. A long kernel has no twin; only its inputs are warmed. */
static collage_status sample_cold(struct timing *timing, double *ns, struct error *error)
{
    walk(timing);
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
    return timing->cold ? sample_cold(timing, ns, error) : sample_warm(timing, ns, error);
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
    const size_t least = timing->is_long ? SAMPLES_MIN_LONG : SAMPLES_MIN;
    while (timing->count < SAMPLES_MAX) {
        double ns;
        collage_status status = take_sample(timing, &ns, error);
        if (status != COLLAGE_OK)
            return status;
        timing->samples[timing->count++] = ns;
        double spent = (double)(clock_ns() - start);
        bool enough = timing->count >= least;
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
    if (status == COLLAGE_OK && !timing->cold)
        choose_batch(timing, ns);
    return status;
}

/* From how many nanoseconds on a run is not sampled: many limits, or so long and so much more than
 * what is known that no choice will be the kernel. */
static double longest_ns(const struct sample_conditions *conditions)
{
    double by_limit = slow * conditions->limit_seconds * 1e9;
    return conditions->known_ns > 0 ? fmin(by_limit, fmax(long_ns, beaten * conditions->known_ns))
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
    status = prepare_caches(timing, conditions->working_set_bytes, error);
    if (status == COLLAGE_OK)
        status = trial_share(trial, error);
    if (status == COLLAGE_OK)
        status = warm_up(timing, error);
    if (status == COLLAGE_OK)
        status = collect(timing, out, error);
    if (status == COLLAGE_OK)
        status = trial_check_guards(trial, error);
    memory_free_aligned(timing->walked);
    memory_free(timing);
    return status;
}
