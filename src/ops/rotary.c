/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotary.c: RotaryEmbedding: each pair of numbers of a row is turned by an angle that depends on
 * the row's position and on the pair. Pairs are neighbours (interleaved), or lie half of the turned
 * part apart. Positions are data: they are checked while computing.
 */
#include <inttypes.h>

#include "ops/call.h"
#include "ops/heads.h"

enum { X, COSINES, SINES, POSITIONS };

struct rotary {
    struct heads x;
    int64_t half; /* pairs of a row that are turned; what follows them is left alone */
    bool interleaved;
};

static collage_status read(const struct op_call *call, struct rotary *out, struct error *error)
{
    collage_status status = heads_read(call, X, "num_heads", &out->x, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t turned = collage_node_int(call->node, "rotary_embedding_dim", 0);
    if (turned == 0)
        turned = out->x.size;
    if (turned < 0 || turned > out->x.size || turned % 2 != 0)
        return shape_error(error,
                           "%" PRId64 " numbers to turn are not an even part of heads of %" PRId64,
                           turned, out->x.size);
    out->half = turned / 2;
    out->interleaved = collage_node_int(call->node, "interleaved", 0) != 0;
    return COLLAGE_OK;
}

static collage_status check_positions(const struct op_call *call, const struct rotary *rotary,
                                      struct error *error)
{
    const struct tensor *positions = call_input(call, POSITIONS);
    if (!positions)
        return COLLAGE_OK;
    if (positions->dtype != COLLAGE_INT64 || positions->rank != 2 ||
        positions->dims[0] != rotary->x.batch || positions->dims[1] != rotary->x.rows)
        return shape_error(error,
                           "the positions must be of type int64 and of shape %" PRId64 "x%" PRId64,
                           rotary->x.batch, rotary->x.rows);
    return COLLAGE_OK;
}

/* [positions][pairs] to be looked up in, or [batch][rows][pairs]. */
static collage_status check_cache(const struct op_call *call, uint32_t k,
                                  const struct rotary *rotary, struct error *error)
{
    const struct tensor *cache = call->inputs[k];
    if (cache->dtype != call->inputs[X]->dtype)
        return shape_error(error, "inputs 0 and %" PRIu32 " are of types %s and %s", k,
                           dtype_name(call->inputs[X]->dtype), dtype_name(cache->dtype));
    bool looked_up = call_input(call, POSITIONS) != NULL;
    bool fits = cache->rank == (looked_up ? 2 : 3);
    fits = fits && cache->dims[cache->rank - 1] == rotary->half;
    fits =
        fits && (looked_up ? cache->dims[0] == call->inputs[COSINES]->dims[0]
                           : cache->dims[0] == rotary->x.batch && cache->dims[1] == rotary->x.rows);
    if (fits)
        return COLLAGE_OK;
    if (looked_up)
        return shape_error(error,
                           "with positions, the cosines and the sines must be of one shape, "
                           "positions x %" PRId64,
                           rotary->half);
    return shape_error(error,
                       "without positions, input %" PRIu32 " must be of shape %" PRId64 "x%" PRId64
                       "x%" PRId64,
                       k, rotary->x.batch, rotary->x.rows, rotary->half);
}

collage_status infer_rotary_embedding(const struct op_call *call, struct error *error)
{
    struct rotary rotary;
    collage_status status = call_check_type(call, X, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = read(call, &rotary, error);
    if (status == COLLAGE_OK)
        status = check_positions(call, &rotary, error);
    if (status == COLLAGE_OK)
        status = check_cache(call, COSINES, &rotary, error);
    if (status == COLLAGE_OK)
        status = check_cache(call, SINES, &rotary, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[X]->dtype, call->inputs[X]);
    return status;
}

/* The row of the caches for row number `row` of all batches. */
static collage_status cache_row(const struct op_call *call, int64_t row, int64_t *out,
                                struct error *error)
{
    const struct tensor *positions = call_input(call, POSITIONS);
    int64_t count = call->inputs[COSINES]->dims[0];
    *out = row;
    if (!positions)
        return COLLAGE_OK;
    *out = tensor_get_int(positions, row);
    if (*out < 0 || *out >= count)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "position %" PRId64 " is out of range for %" PRId64 " positions", *out,
                         count);
    return COLLAGE_OK;
}

/* start: of the row's elements; angles: of its cosines and sines. */
static void turn_row(const struct op_call *call, const struct rotary *rotary, int64_t start,
                     int64_t angles)
{
    const struct tensor *x = call->inputs[X];
    struct tensor *y = &call->outputs[0];
    for (int64_t k = 0; k < rotary->half; k++) {
        int64_t first = start + (rotary->interleaved ? 2 * k : k);
        int64_t second = first + (rotary->interleaved ? 1 : rotary->half);
        double cosine = tensor_get(call->inputs[COSINES], angles + k);
        double sine = tensor_get(call->inputs[SINES], angles + k);
        double a = tensor_get(x, first), b = tensor_get(x, second);
        tensor_set(y, first, cosine * a - sine * b);
        tensor_set(y, second, sine * a + cosine * b);
    }
}

collage_status compute_rotary_embedding(const struct op_call *call, struct error *error)
{
    struct rotary rotary;
    collage_status status = read(call, &rotary, error);
    if (status != COLLAGE_OK)
        return status;
    const struct heads *x = &rotary.x;
    tensor_copy_data(&call->outputs[0], call->inputs[X]);
    for (int64_t b = 0; b < x->batch; b++)
        for (int64_t r = 0; r < x->rows; r++) {
            int64_t row;
            status = cache_row(call, b * x->rows + r, &row, error);
            if (status != COLLAGE_OK)
                return status;
            for (int64_t h = 0; h < x->heads; h++)
                turn_row(call, &rotary, b * x->batch_step + h * x->head_step + r * x->row_step,
                         row * rotary.half);
        }
    return COLLAGE_OK;
}
