/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd_run.c: blocks of tiles, one after the other, for each group of channels: input
 * transform, products, output transform. With many tiles each thread has blocks of its own; with
 * few, all threads share the transformed tiles of a block and each makes other output channels.
 */
#include "winograd.h"

#include <unistd.h>

enum { TILES_MOST = 4 << 20 }; /* floats of transformed tiles of a block, in schedules */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t parts(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

static int64_t tile_count(const struct winograd_shape *shape)
{
    return shape->batch * shape->tile_rows * shape->tile_columns;
}

/* Input planes that a block of `planes` output planes reads. */
static int64_t input_planes(const struct winograd_shape *shape, int64_t planes)
{
    return smaller((planes - 1) * shape->depth_stride + shape->taps, shape->depth);
}

/* ---- blocking ---- */

static int64_t l2_floats(void)
{
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    int64_t known = bytes > 0 ? bytes : INT64_C(512) * 1024;
    return larger(INT64_C(256) * 1024, smaller(known, INT64_C(2048) * 1024)) /
           (int64_t)sizeof(float);
}

/* Floats between elements: an odd number of cache lines, so that they do not meet in the sets of
 * the caches. */
static int64_t spread(int64_t floats)
{
    return (floats + 15) / 16 * 16 + (floats / 16 % 2 ? 0 : 16);
}

void winograd_choose_blocking(struct winograd *winograd, int64_t lanes, int32_t threads,
                              const int64_t *schedule)
{
    const struct winograd_shape *shape = &winograd->shape;
    struct winograd_blocking *blocking = &winograd->blocking;
    const int64_t piece = winograd->kernels->piece_tiles, tiles = tile_count(shape);
    const int64_t cache = l2_floats();
    blocking->planes = smaller(shape->out_depth, 4);
    int64_t planes = input_planes(shape, blocking->planes);
    const int64_t values = shape->points * shape->points;
    int64_t per_tile = values * planes * shape->in_blocks * lanes;
    /* Half of the cache for transformed tiles, but enough of them for each panel of weights. */
    int64_t wanted = larger(cache / 2 / per_tile, parts(28, blocking->planes));
    wanted = smaller(larger(wanted / piece, 1) * piece, tiles);
    int64_t apart = parts(shape->out_depth, blocking->planes) * shape->groups;
    blocking->shared = threads > 1 && parts(tiles, wanted) * apart < threads &&
                       shape->groups == 1 && parts(shape->out_blocks, shape->panel) >= threads;
    if (schedule[WINOGRAD_TILES] > 0)
        wanted = smaller(schedule[WINOGRAD_TILES], tiles);
    if (schedule[WINOGRAD_PARALLEL] >= 0)
        blocking->shared =
            shape->groups == 1 && schedule[WINOGRAD_PARALLEL] == WINOGRAD_OWN_CHANNELS;
    int64_t blocks = parts(tiles, wanted);
    if (!blocking->shared && apart < threads && schedule[WINOGRAD_TILES] < 0)
        blocks = smaller(parts(blocks, threads) * threads, tiles);
    blocking->tiles = parts(tiles, blocks);
    blocking->tile_stride = spread(blocking->tiles * shape->in_blocks * lanes);
    blocking->tile_floats = spread(planes * values * blocking->tile_stride);
    blocking->channels = shape->panel; /* weights are then read one after the other */
    if (schedule[WINOGRAD_CHANNELS] > 0)
        blocking->channels = schedule[WINOGRAD_CHANNELS];
    blocking->channels = smaller(blocking->channels, shape->out_blocks);
    blocking->result_stride =
        spread(blocking->tiles * blocking->planes * blocking->channels * lanes);
    blocking->result_floats = spread(shape->side * shape->side * blocking->result_stride);
}

void winograd_list_schedules(const struct winograd *winograd, int64_t lanes, int32_t threads,
                             struct schedule_space *out)
{
    static const int64_t none[SCHEDULE_AXES] = { -1, -1, -1 };
    static const char *const words[] = {
        [WINOGRAD_OWN_TILES] = "tiles", [WINOGRAD_OWN_CHANNELS] = "channels"
    };
    struct winograd own = *winograd;
    winograd_choose_blocking(&own, lanes, threads, none);
    const struct winograd_blocking *blocking = &own.blocking;
    const int64_t tiles = tile_count(&own.shape), out_blocks = own.shape.out_blocks;
    struct schedule_axis *axis = schedule_add_axis(out, "tiles", NULL);
    for (int64_t wanted = larger(blocking->tiles / 2, 1); wanted <= 4 * blocking->tiles;
         wanted *= 2) {
        int64_t made = smaller(wanted, tiles);
        if (made != blocking->tiles && made * blocking->tile_floats / blocking->tiles <= TILES_MOST)
            schedule_add_value(axis, made);
    }
    axis = schedule_add_axis(out, "channels", NULL);
    for (int64_t wanted = 2; wanted <= 8; wanted *= 2) {
        int64_t made = smaller(wanted * WINOGRAD_PANEL, out_blocks);
        if (made != blocking->channels)
            schedule_add_value(axis, made);
    }
    axis = schedule_add_axis(out, "parallel", words);
    if (threads > 1 && parts(out_blocks, WINOGRAD_PANEL) > 1)
        schedule_add_value(axis, blocking->shared ? WINOGRAD_OWN_TILES : WINOGRAD_OWN_CHANNELS);
}

uint64_t winograd_scratch_bytes(const struct winograd *winograd, int32_t threads)
{
    const struct winograd_blocking *blocking = &winograd->blocking;
    int64_t shares = blocking->shared ? 1 : threads;
    return (uint64_t)(blocking->tile_floats * shares + blocking->result_floats * threads) *
           sizeof(float);
}

/* ---- one block ---- */

struct job {
    const struct winograd *winograd;
    int64_t lanes;
    const float *from;
    float *to;
    const void *const *inputs;
    float *scratch;
    int32_t threads; /* that the scratch is made for */
};

struct block {
    int64_t group;               /* of channels */
    int64_t first, count;        /* tiles */
    int64_t plane, planes;       /* output planes */
    int64_t in_first, in_planes; /* input planes */
    float *tiles, *results;
};

/* Of each group. */
static int64_t block_count(const struct winograd *winograd)
{
    return parts(tile_count(&winograd->shape), winograd->blocking.tiles) *
           parts(winograd->shape.out_depth, winograd->blocking.planes);
}

static struct block block_of(const struct job *job, int64_t index, int32_t thread)
{
    const struct winograd_shape *shape = &job->winograd->shape;
    const struct winograd_blocking *blocking = &job->winograd->blocking;
    const int64_t tiles = tile_count(shape);
    int64_t across = parts(tiles, blocking->tiles);
    struct block block = { .group = index / block_count(job->winograd) };
    index %= block_count(job->winograd);
    block.first = winograd_piece(tiles, index % across, across);
    block.count = winograd_piece(tiles, index % across + 1, across) - block.first;
    block.plane = index / across * blocking->planes;
    block.planes = smaller(blocking->planes, shape->out_depth - block.plane);
    int64_t top = block.plane * shape->depth_stride - shape->pad_front;
    int64_t end =
        smaller(top + (block.planes - 1) * shape->depth_stride + shape->taps, shape->depth);
    block.in_first = larger(top, 0);
    block.in_planes = larger(end - block.in_first, 0);
    int64_t shares = blocking->shared ? 1 : job->threads;
    block.tiles = job->scratch + (blocking->shared ? 0 : thread) * blocking->tile_floats;
    block.results =
        job->scratch + shares * blocking->tile_floats + thread * blocking->result_floats;
    return block;
}

/* Input transform of channel blocks begin ... end - 1. */
static void transform_input(const struct job *job, const struct block *block, int64_t begin,
                            int64_t end)
{
    const struct winograd *winograd = job->winograd;
    const struct winograd_shape *shape = &winograd->shape;
    const int64_t stride = winograd->blocking.tile_stride;
    const int64_t plane_floats = shape->points * shape->points * stride;
    for (int64_t p = 0; p < block->in_planes; p++) {
        struct winograd_tiles tiles = { .first = block->first,
                                        .count = block->count,
                                        .plane = block->in_first + p,
                                        .group = block->group,
                                        .stride = stride };
        winograd->kernels->input(shape, job->from, block->tiles + p * plane_floats, &tiles, begin,
                                 end);
    }
}

/* What is added up for one element of an output plane, without the planes in the padding. */
static void list_terms(const struct job *job, const struct block *block, const int64_t *values,
                       int64_t count, int64_t plane, int64_t tap_floats,
                       struct winograd_product *product)
{
    const struct winograd_shape *shape = &job->winograd->shape;
    const int64_t stride = job->winograd->blocking.tile_stride;
    const int64_t plane_floats = shape->points * shape->points * stride;
    const int64_t top = plane * shape->depth_stride - shape->pad_front; /* the plane of tap 0 */
    const int64_t begin = larger(0, -top), end = smaller(shape->taps, shape->depth - top);
    product->term_count = 0;
    for (int64_t v = 0; v < count; v++) {
        for (int64_t tap = begin; tap < end; tap++) {
            int64_t term = product->term_count++;
            product->terms[term].tiles =
                values[v] * stride + (top + tap - block->in_first) * plane_floats;
            product->terms[term].weights = (v * shape->taps + tap) * tap_floats;
        }
    }
}

/* The products of one element, one output plane and one panel, for all tiles. */
static void multiply_panel(const struct job *job, const struct block *block, const int64_t *values,
                           int64_t count, int64_t plane, int64_t vectors, const float *weights,
                           float *results)
{
    const struct winograd *winograd = job->winograd;
    const struct winograd_shape *shape = &winograd->shape;
    struct winograd_product product = {
        .weights = weights,
        .channels = shape->in_channels,
        .result_stride = block->count * block->planes * job->lanes,
    };
    list_terms(job, block, values, count, plane, shape->in_channels * vectors * job->lanes,
               &product);
    int64_t pieces = parts(block->count, winograd->kernels->piece_tiles);
    for (int64_t p = 0; p < pieces; p++) {
        int64_t first = winograd_piece(block->count, p, pieces);
        int64_t tiles = winograd_piece(block->count, p + 1, pieces) - first;
        product.tiles = block->tiles + first * shape->in_blocks * job->lanes;
        product.results = results + first * job->lanes;
        winograd->kernels->multiply(tiles, vectors)(&product);
    }
}

/* The products of one element, for which `passed` values have been before. */
static void multiply_element(const struct job *job, const struct block *block,
                             const int64_t *values, int64_t count, int64_t passed, int64_t begin,
                             int64_t end, float *results)
{
    const struct winograd_shape *shape = &job->winograd->shape;
    const int64_t plane_floats = block->count * job->lanes;
    const int64_t value_floats = shape->taps * shape->in_channels * job->lanes;
    const int64_t block_floats = shape->points * shape->points * value_floats;
    const float *weights = job->winograd->weights + block->group * shape->out_blocks * block_floats;
    for (int64_t k = begin; k < end; k += shape->panel) {
        const int64_t vectors = smaller(shape->out_blocks - k, shape->panel);
        for (int64_t p = 0; p < block->planes; p++)
            multiply_panel(job, block, values, count, block->plane + p, vectors,
                           weights + k * block_floats + passed * value_floats * vectors,
                           results + ((k - begin) * block->planes + p) * plane_floats);
    }
}

/* Products and output transform of the output channel blocks begin ... end - 1. */
static void make_channels(const struct job *job, const struct block *block, int64_t begin,
                          int64_t end)
{
    const struct winograd *winograd = job->winograd;
    const struct winograd_shape *shape = &winograd->shape;
    const int64_t stride = winograd->blocking.result_stride;
    const int64_t plane_floats = block->count * job->lanes;
    const int64_t vector_floats = plane_floats * block->planes;
    int64_t passed = 0;
    for (int64_t element = 0; element < shape->side * shape->side; element++) {
        int64_t values[WINOGRAD_PHASES];
        int64_t count = winograd_values(shape, element, values);
        multiply_element(job, block, values, count, passed, begin, end,
                         block->results + element * stride);
        passed += count;
    }
    for (int64_t k = begin; k < end; k++) {
        for (int64_t p = 0; p < block->planes; p++) {
            struct winograd_tiles tiles = { .first = block->first,
                                            .count = block->count,
                                            .plane = block->plane + p,
                                            .group = block->group,
                                            .stride = stride };
            winograd->kernels->output(
                shape, block->results + (k - begin) * vector_floats + p * plane_floats, job->to,
                &tiles, k, &winograd->epilogue, job->inputs);
        }
    }
}

static void make_all_channels(const struct job *job, const struct block *block, int64_t begin,
                              int64_t end)
{
    for (int64_t k = begin; k < end; k += job->winograd->blocking.channels)
        make_channels(job, block, k, smaller(k + job->winograd->blocking.channels, end));
}

/* ---- threads ---- */

static void own_blocks(void *context, int32_t thread, int32_t threads)
{
    const struct job *job = context;
    const struct winograd_shape *shape = &job->winograd->shape;
    int64_t begin, end;
    pool_share(block_count(job->winograd) * shape->groups, thread, threads, &begin, &end);
    for (int64_t b = begin; b < end; b++) {
        struct block block = block_of(job, b, thread);
        transform_input(job, &block, 0, shape->in_blocks);
        make_all_channels(job, &block, 0, shape->out_blocks);
    }
}

struct shared_job {
    struct job job;
    int64_t block;
};

static void shared_input(void *context, int32_t thread, int32_t threads)
{
    const struct shared_job *shared = context;
    struct block block = block_of(&shared->job, shared->block, thread);
    int64_t begin, end;
    pool_share(shared->job.winograd->shape.in_blocks, thread, threads, &begin, &end);
    transform_input(&shared->job, &block, begin, end);
}

static void shared_channels(void *context, int32_t thread, int32_t threads)
{
    const struct shared_job *shared = context;
    const struct winograd_shape *shape = &shared->job.winograd->shape;
    const int64_t out_blocks = shape->out_blocks;
    struct block block = block_of(&shared->job, shared->block, thread);
    int64_t begin, end;
    pool_share(parts(out_blocks, shape->panel), thread, threads, &begin, &end);
    make_all_channels(&shared->job, &block, begin * shape->panel,
                      smaller(end * shape->panel, out_blocks));
}

void winograd_run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                  void *scratch)
{
    const struct winograd *winograd = kernel->state;
    const struct pool *pool = &kernel->backend->pool;
    struct shared_job shared = { .job = { .winograd = winograd,
                                          .lanes = isa_lanes(kernel->isa),
                                          .from = inputs[winograd->input],
                                          .to = outputs[0],
                                          .inputs = inputs,
                                          .scratch = scratch,
                                          .threads = kernel->threads } };
    if (!winograd->blocking.shared) {
        pool_run(pool, kernel->threads, own_blocks, &shared.job);
        return;
    }
    for (; shared.block < block_count(winograd); shared.block++) {
        pool_run(pool, kernel->threads, shared_input, &shared);
        pool_run(pool, kernel->threads, shared_channels, &shared);
    }
}
