/* SPDX-License-Identifier: Apache-2.0 */
#include "finish.h"

#include "../../native/simd/epilogue.h"

static void rows(const struct epilogue *epilogue, const struct finish_part *part,
                 const void *const *inputs)
{
    for (int64_t r = 0; r < part->rows; r++)
        epilogue_row(epilogue, part->to + r * part->step, part->count, part->channel + r,
                     part->offset + r * part->step, inputs);
}

INLINE vec load(const float *from, int64_t count)
{
    return count == LANES ? vec_load(from) : vec_load_part(from, count);
}

static void columns(const struct epilogue *epilogue, const struct finish_part *part,
                    const void *const *inputs)
{
    for (int64_t r = 0; r < part->rows; r++) {
        float *row = part->to + r * part->step;
        for (int64_t at = 0; at < part->count; at += LANES) {
            int64_t count = part->count - at < LANES ? part->count - at : LANES;
            int64_t offset = part->offset + r * part->step + at;
            vec x = load(row + at, count);
            for (uint32_t k = 0; k < epilogue->count; k++) {
                const struct epilogue_step *step = &epilogue->steps[k];
                if (step->op == EPILOGUE_ADD_CHANNEL)
                    x = x + load(step->channel + part->channel + at, count);
                else if (step->op == EPILOGUE_MUL_CHANNEL)
                    x = x * load(step->channel + part->channel + at, count);
                else if (step->op == EPILOGUE_ADD_TENSOR)
                    x = x + load((const float *)inputs[step->input] + offset, count);
                else if (step->op == EPILOGUE_MUL_TENSOR)
                    x = x * load((const float *)inputs[step->input] + offset, count);
                else
                    x = epilogue_function(step, x);
            }
            if (count == LANES)
                vec_store(row + at, x);
            else
                vec_store_part(row + at, x, count);
        }
    }
}

const struct finish_kernels ISA(finish_kernels) = { rows, columns };
