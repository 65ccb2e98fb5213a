/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.h: applies an epilogue to results while they are in cache. Only for files of simd/ that
 * are compiled for one instruction set.
 */
#ifndef NATIVE_SIMD_EPILOGUE_H
#define NATIVE_SIMD_EPILOGUE_H

#include "../epilogue.h"
#include "math.h"

INLINE vec epilogue_function(const struct epilogue_step *step, vec x)
{
    switch (step->op) {
    case EPILOGUE_CLIP:
        return vec_at_most(vec_at_least(x, vec_set(step->low)), vec_set(step->high));
    case EPILOGUE_RELU:
        return vec_at_least(x, vec_set(0.0f));
    case EPILOGUE_LEAKY_RELU:
        return vec_select(x < 0.0f, x * step->low, x);
    case EPILOGUE_SIGMOID:
        return vec_sigmoid(x);
    case EPILOGUE_TANH:
        return vec_tanh(x);
    case EPILOGUE_SWISH:
        return x * vec_sigmoid(x * step->low);
    case EPILOGUE_HARD_SWISH:
        return x *
               vec_at_most(vec_at_least(x * (1.0f / 6.0f) + 0.5f, vec_set(0.0f)), vec_set(1.0f));
    case EPILOGUE_HARD_SIGMOID:
        return vec_at_most(vec_at_least(x * step->low + step->high, vec_set(0.0f)), vec_set(1.0f));
    case EPILOGUE_GELU:
        return vec_gelu(x);
    case EPILOGUE_GELU_TANH:
        return vec_gelu_tanh(x);
    case EPILOGUE_ADD_CHANNEL:
    case EPILOGUE_MUL_CHANNEL:
    case EPILOGUE_ADD_TENSOR:
    case EPILOGUE_MUL_TENSOR:
        break;
    }
    return x;
}

/*
 * Blocked layouts: `rows` vectors of the channels channel ... channel + LANES - 1, one after the
 * other at `results`, which belong at `offset` floats into the output (and into tensors of its
 * layout).
 */
static inline void epilogue_blocked(const struct epilogue *epilogue, float *results, int64_t rows,
                                    int64_t channel, int64_t offset, const void *const *inputs)
{
    for (uint32_t k = 0; k < epilogue->count; k++) {
        const struct epilogue_step *step = &epilogue->steps[k];
        switch (step->op) {
        case EPILOGUE_ADD_CHANNEL: {
            const vec scale = vec_load(step->channel + channel);
            for (int64_t r = 0; r < rows; r++)
                vec_store(results + r * LANES, vec_load(results + r * LANES) + scale);
            break;
        }
        case EPILOGUE_MUL_CHANNEL: {
            const vec scale = vec_load(step->channel + channel);
            for (int64_t r = 0; r < rows; r++)
                vec_store(results + r * LANES, vec_load(results + r * LANES) * scale);
            break;
        }
        case EPILOGUE_ADD_TENSOR: {
            const float *tensor = (const float *)inputs[step->input] + offset;
            for (int64_t r = 0; r < rows * LANES; r += LANES)
                vec_store(results + r, vec_load(results + r) + vec_load(tensor + r));
            break;
        }
        case EPILOGUE_MUL_TENSOR: {
            const float *tensor = (const float *)inputs[step->input] + offset;
            for (int64_t r = 0; r < rows * LANES; r += LANES)
                vec_store(results + r, vec_load(results + r) * vec_load(tensor + r));
            break;
        }
        default:
            for (int64_t r = 0; r < rows * LANES; r += LANES)
                vec_store(results + r, epilogue_function(step, vec_load(results + r)));
        }
    }
}

/* Row-major layouts: `count` results in a row of one channel. */
static inline void epilogue_row(const struct epilogue *epilogue, float *results, int64_t count,
                                int64_t channel, int64_t offset, const void *const *inputs)
{
    for (int64_t at = 0; at < count; at += LANES) {
        int64_t part = count - at < LANES ? count - at : LANES;
        vec x = part == LANES ? vec_load(results + at) : vec_load_part(results + at, part);
        for (uint32_t k = 0; k < epilogue->count; k++) {
            const struct epilogue_step *step = &epilogue->steps[k];
            if (step->op == EPILOGUE_ADD_CHANNEL) {
                x = x + step->channel[channel];
            } else if (step->op == EPILOGUE_MUL_CHANNEL) {
                x = x * step->channel[channel];
            } else if (step->op == EPILOGUE_ADD_TENSOR || step->op == EPILOGUE_MUL_TENSOR) {
                const float *tensor = (const float *)inputs[step->input] + offset + at;
                vec t = part == LANES ? vec_load(tensor) : vec_load_part(tensor, part);
                x = step->op == EPILOGUE_ADD_TENSOR ? x + t : x * t;
            } else {
                x = epilogue_function(step, x);
            }
        }
        if (part == LANES)
            vec_store(results + at, x);
        else
            vec_store_part(results + at, x, part);
    }
}

#endif
