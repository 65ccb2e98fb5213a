/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that start together, each a short stretch of one kernel; the best of some stretches
 * counts: on a shared machine the others are disturbed. The kernels are built for each instruction
 * set and chosen here, since they must be as wide as the machine.
 */
#include "measure/peaks.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { STRETCHES = 6, ROUNDS = 1 << 20, CHAINS = 12, MOST_THREADS = 4096 };

static const double read_ns = 8e6;                       /* of a stretch, at least */
static const uint64_t memory_most = UINT64_C(256) << 20; /* to read past the last cache */

/* ---- kernels ---- */

/* Operations of ROUNDS rounds; *sink keeps the compiler from leaving them out. */
typedef double compute_kernel(float *sink);
/* Reads all, a multiple of 512 bytes. */
typedef void read_kernel(const float *from, size_t floats, float *sink);

static double compute_plain(float *sink)
{
    float sums[CHAINS][4] = { { 0 } };
    for (int k = 0; k < ROUNDS; k++)
        for (int c = 0; c < CHAINS; c++)
            for (int lane = 0; lane < 4; lane++)
                sums[c][lane] = sums[c][lane] * 0.5F + 1.0F;
    for (int c = 0; c < CHAINS; c++)
        *sink += sums[c][0];
    return 2.0 * ROUNDS * CHAINS * 4;
}

static void read_plain(const float *from, size_t floats, float *sink)
{
    float sums[16] = { 0 };
    for (size_t k = 0; k < floats; k += 16)
        for (int lane = 0; lane < 16; lane++)
            sums[lane] += from[k + (size_t)lane];
    for (int lane = 0; lane < 16; lane++)
        *sink += sums[lane];
}

#if defined(__x86_64__)
/* Twelve chains hide the latency of two units; more would not fit the registers. */
#define COMPUTE(name, isa, vec, lanes, set, fma, store)                                            \
    __attribute__((target(isa))) static double name(float *sink)                                   \
    {                                                                                              \
        vec sums[CHAINS];                                                                          \
        float out[lanes];                                                                          \
        const vec half = set(0.5F), one = set(1.0F);                                               \
        for (int c = 0; c < CHAINS; c++)                                                           \
            sums[c] = one;                                                                         \
        for (int k = 0; k < ROUNDS; k++) {                                                         \
            _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++) sums[c] =                    \
                fma(sums[c], half, one);                                                           \
        }                                                                                          \
        for (int c = 0; c < CHAINS; c++) {                                                         \
            store(out, sums[c]);                                                                   \
            *sink += out[0];                                                                       \
        }                                                                                          \
        return 2.0 * ROUNDS * CHAINS * (lanes);                                                    \
    }
#define READ(name, isa, vec, lanes, load, add, store, zero)                                        \
    __attribute__((target(isa))) static void name(const float *from, size_t floats, float *sink)   \
    {                                                                                              \
        vec sums[8];                                                                               \
        float out[lanes];                                                                          \
        for (int c = 0; c < 8; c++)                                                                \
            sums[c] = zero();                                                                      \
        for (size_t k = 0; k < floats; k += (size_t)8 * (lanes)) {                                 \
            _Pragma("GCC unroll 8") for (int c = 0; c < 8; c++) sums[c] =                          \
                add(sums[c], load(from + k + (size_t)c * (lanes)));                                \
        }                                                                                          \
        for (int c = 0; c < 8; c++) {                                                              \
            store(out, sums[c]);                                                                   \
            *sink += out[0];                                                                       \
        }                                                                                          \
    }
COMPUTE(compute_avx2, "avx2,fma", __m256, 8, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps)
READ(read_avx2, "avx2,fma", __m256, 8, _mm256_loadu_ps, _mm256_add_ps, _mm256_storeu_ps,
     _mm256_setzero_ps)
COMPUTE(compute_avx512, "avx512f", __m512, 16, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps)
READ(read_avx512, "avx512f", __m512, 16, _mm512_loadu_ps, _mm512_add_ps, _mm512_storeu_ps,
     _mm512_setzero_ps)
#endif

static void choose(compute_kernel **compute, read_kernel **read)
{
    *compute = compute_plain;
    *read = read_plain;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) {
        *compute = compute_avx512;
        *read = read_avx512;
    } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *compute = compute_avx2;
        *read = read_avx2;
    }
#endif
}

/* ---- threads ---- */

/* Where the threads of a stretch wait until all are there, or not all could be started. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int32_t waiting;
    enum { GATE_CLOSED, GATE_OPEN, GATE_ABANDONED } state;
};

struct runner {
    pthread_t thread;
    struct gate *gate;
    compute_kernel *compute;
    read_kernel *read;
    const float *from; /* NULL: it computes */
    size_t floats;
    double done; /* operations or bytes */
    uint64_t begin, end;
    float sink;
};

static bool pass(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->waiting++;
    pthread_cond_broadcast(&gate->changed);
    while (gate->state == GATE_CLOSED)
        pthread_cond_wait(&gate->changed, &gate->lock);
    bool open = gate->state == GATE_OPEN;
    pthread_mutex_unlock(&gate->lock);
    return open;
}

/* Waits for `begun` threads; they go on if these are all. */
static void decide(struct gate *gate, int32_t begun, bool all)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->waiting < begun)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->state = all ? GATE_OPEN : GATE_ABANDONED;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

static void *run(void *context)
{
    struct runner *runner = context;
    if (runner->from)
        runner->read(runner->from, runner->floats, &runner->sink); /* brings it where it fits */
    if (!pass(runner->gate))
        return NULL;
    runner->begin = clock_ns();
    do {
        if (runner->from)
            runner->read(runner->from, runner->floats, &runner->sink);
        else
            runner->done += runner->compute(&runner->sink);
        runner->done += runner->from ? (double)(runner->floats * sizeof(float)) : 0;
        runner->end = clock_ns();
    } while (runner->from && (double)(runner->end - runner->begin) < read_ns);
    return NULL;
}

/* The rates of all together, while the slowest works. */
static double rate_of(const struct runner *runners, int32_t count)
{
    uint64_t begin = runners[0].begin, end = runners[0].end;
    double done = 0;
    for (int32_t k = 0; k < count; k++) {
        begin = runners[k].begin < begin ? runners[k].begin : begin;
        end = runners[k].end > end ? runners[k].end : end;
        done += runners[k].done;
    }
    return end > begin ? done / (double)(end - begin) : 0;
}

static collage_status run_stretch(struct runner *runners, int32_t count, double *rate,
                                  struct error *error)
{
    struct gate gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
    int32_t begun = 0;
    while (begun < count) {
        runners[begun].gate = &gate;
        runners[begun].done = 0;
        if (pthread_create(&runners[begun].thread, NULL, run, &runners[begun]) != 0)
            break;
        begun++;
    }
    decide(&gate, begun, begun == count);
    for (int32_t k = 0; k < begun; k++)
        pthread_join(runners[k].thread, NULL);
    if (begun < count)
        return error_set(error, COLLAGE_ERROR_BACKEND, "the system gives no %d threads", count);
    *rate = fmax(*rate, rate_of(runners, count));
    return COLLAGE_OK;
}

/* ---- levels ---- */

static uint64_t cache_bytes(int level, uint64_t otherwise)
{
    long bytes = sysconf(level);
    return bytes > 0 ? (uint64_t)bytes : otherwise;
}

/* Of all threads together: what lies in that level and no nearer one. Of the last cache little:
 * other processes, and other guests of the machine, have their share. */
static uint64_t bytes_in(const struct peaks *peaks, enum peak_level level)
{
    uint64_t memory = 2 * peaks->last_level_bytes;
    if (level == PEAK_LEVEL_2)
        return peaks->level_2_bytes / 2;
    if (level == PEAK_LAST_LEVEL)
        return peaks->last_level_bytes > 4 * peaks->level_2_bytes ? 2 * peaks->level_2_bytes
                                                                  : peaks->level_2_bytes / 2;
    return memory < memory_most ? memory : memory_most;
}

/* The best rate at which so many bytes are read, by all threads together. */
static collage_status measure_reading(const struct peaks *peaks, struct runner *runners,
                                      const float *memory, uint64_t bytes, double *rate,
                                      struct error *error)
{
    const size_t piece = 128; /* floats: what a round of any kernel divides */
    size_t each = (size_t)bytes / sizeof(float) / (size_t)peaks->threads;
    each = each < piece ? piece : each / piece * piece;
    collage_status status = COLLAGE_OK;
    for (int32_t k = 0; k < peaks->threads; k++) {
        runners[k].from = memory + (size_t)k * each;
        runners[k].floats = each;
    }
    for (int s = 0; s < STRETCHES && status == COLLAGE_OK; s++)
        status = run_stretch(runners, peaks->threads, rate, error);
    return status;
}

/* What the system tells of the last cache may be all that a socket has, which others use: it is
 * that large for us up to where reading is nearer to memory's rate than to its own. */
static collage_status measure_last_level(struct peaks *peaks, struct runner *runners,
                                         const float *memory, struct error *error)
{
    const double least =
        sqrt(peaks->bytes_per_ns[PEAK_LAST_LEVEL] * peaks->bytes_per_ns[PEAK_MEMORY]);
    const uint64_t most = bytes_in(peaks, PEAK_MEMORY);
    uint64_t holds = bytes_in(peaks, PEAK_LAST_LEVEL);
    collage_status status = COLLAGE_OK;
    while (2 * holds <= peaks->last_level_bytes && 2 * holds <= most) {
        double rate = 0;
        status = measure_reading(peaks, runners, memory, 2 * holds, &rate, error);
        if (status != COLLAGE_OK || rate < least)
            break;
        holds *= 2;
    }
    if (2 * holds <= peaks->last_level_bytes)
        peaks->last_level_bytes = holds;
    return status;
}

static collage_status measure(struct peaks *peaks, struct runner *runners, const float *memory,
                              struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (int32_t k = 0; k < peaks->threads; k++)
        choose(&runners[k].compute, &runners[k].read);
    for (int s = 0; s < STRETCHES && status == COLLAGE_OK; s++)
        status = run_stretch(runners, peaks->threads, &peaks->flop_per_ns, error);
    for (int level = 0; level < PEAK_LEVELS && status == COLLAGE_OK; level++)
        status = measure_reading(peaks, runners, memory, bytes_in(peaks, (enum peak_level)level),
                                 &peaks->bytes_per_ns[level], error);
    return status == COLLAGE_OK ? measure_last_level(peaks, runners, memory, error) : status;
}

collage_status peaks_measure(int32_t threads, struct peaks *out, struct error *error)
{
    int32_t count = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    uint64_t level_2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE, UINT64_C(1) << 20);
    *out = (struct peaks){ .threads = count,
                           .level_2_bytes = level_2 * (uint64_t)count,
                           .last_level_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, level_2) };
    size_t bytes = (size_t)bytes_in(out, PEAK_MEMORY), least = (size_t)count * 512;
    bytes = bytes < (size_t)out->level_2_bytes ? (size_t)out->level_2_bytes : bytes;
    bytes = bytes < least ? least : bytes;
    float *memory = memory_alloc_aligned(bytes);
    struct runner *runners = memory_alloc((size_t)count * sizeof *runners);
    collage_status status = memory && runners ? COLLAGE_OK : error_memory(error);
    if (status == COLLAGE_OK) {
        memset(memory, 0, bytes); /* untouched pages are all one page */
        status = measure(out, runners, memory, error);
    }
    memory_free(runners);
    memory_free_aligned(memory);
    return status;
}

/* ---- the roofline ---- */

static double reading_ns(const struct peaks *peaks, uint64_t bytes, uint64_t among)
{
    enum peak_level level = among <= peaks->level_2_bytes      ? PEAK_LEVEL_2
                            : among <= peaks->last_level_bytes ? PEAK_LAST_LEVEL
                                                               : PEAK_MEMORY;
    double rate = peaks->bytes_per_ns[level];
    return rate > 0 ? (double)bytes / rate : 0;
}

double peaks_bound_ns(const struct peaks *peaks, const struct workload *work)
{
    uint64_t among =
        work->working_set_bytes > work->weight_bytes ? work->working_set_bytes : work->weight_bytes;
    double moving = reading_ns(peaks, work->weight_bytes, among) +
                    reading_ns(peaks, work->activation_bytes, work->activation_bytes);
    return fmax(peaks->flop_per_ns > 0 ? work->flop / peaks->flop_per_ns : 0, moving);
}
