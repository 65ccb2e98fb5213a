/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.h: what follows a convolution or a product in the same kernel: a bias, a residual, an
 * activation. Read from the chain of nodes behind the main node, applied to each row of results
 * while it is in cache (simd/epilogue.h).
 */
#ifndef NATIVE_EPILOGUE_H
#define NATIVE_EPILOGUE_H

#include "family.h"

enum epilogue_op {
    EPILOGUE_ADD_CHANNEL, /* + channel[c] */
    EPILOGUE_MUL_CHANNEL, /* * channel[c] */
    EPILOGUE_ADD_TENSOR,  /* + a tensor of the output's shape and layout */
    EPILOGUE_MUL_TENSOR,
    EPILOGUE_CLIP, /* low, high; NaN stays NaN */
    EPILOGUE_RELU,
    EPILOGUE_LEAKY_RELU, /* low: alpha */
    EPILOGUE_SIGMOID,
    EPILOGUE_TANH,
    EPILOGUE_SWISH,        /* low: alpha; x * sigmoid(alpha * x) */
    EPILOGUE_HARD_SWISH,   /* x * clip(x / 6 + 1 / 2, 0, 1) */
    EPILOGUE_HARD_SIGMOID, /* clip(low * x + high, 0, 1) */
    EPILOGUE_GELU,         /* with erf */
    EPILOGUE_GELU_TANH
};

enum { EPILOGUE_MAX = 8 };

struct epilogue_step {
    enum epilogue_op op;
    float low, high;
    const float *channel; /* EPILOGUE_*_CHANNEL: one for each channel, padded with zeros to whole
                             blocks of 16 */
    uint32_t input;       /* EPILOGUE_*_TENSOR: index of the sub-graph's input */
};

struct epilogue {
    uint32_t count;
    struct epilogue_step steps[EPILOGUE_MAX];
    float *channels; /* what the steps' `channel` point into; epilogue_free */
};

/*
 * Can nodes[first...] be an epilogue of the value `made` of rank at least 2, whose channels lie on
 * channel_axis? They must be a chain to the sub-graph's only output, each using the result of the
 * one before exactly once; `bias` (a value or COLLAGE_NO_VALUE) is added first. Operands are
 * constants, scalar or one for each channel, or inputs of exactly the shape of the result. Fills
 * *epilogue but for the channels' contents (nothing to free). `why` may be NULL.
 */
bool epilogue_takes(struct epilogue *epilogue, const collage_subgraph *subgraph, uint32_t first,
                    uint32_t made, int32_t channel_axis, uint32_t bias, collage_message *why);

/* Makes it; only of what epilogue_takes took. */
collage_status epilogue_make(struct epilogue *epilogue, const collage_subgraph *subgraph,
                             uint32_t first, uint32_t made, int32_t channel_axis, uint32_t bias,
                             collage_message *message);
void epilogue_free(struct epilogue *epilogue);

/* Which of the sub-graph's inputs are tensors of the epilogue, a bit each (inputs from 32 on are
 * left out: refuse such sub-graphs): they lie in the output's layout. */
static inline uint32_t epilogue_tensor_inputs(const struct epilogue *epilogue)
{
    uint32_t inputs = 0;
    for (uint32_t k = 0; k < epilogue->count; k++) {
        const struct epilogue_step *step = &epilogue->steps[k];
        if ((step->op == EPILOGUE_ADD_TENSOR || step->op == EPILOGUE_MUL_TENSOR) &&
            step->input < 32)
            inputs |= 1u << step->input;
    }
    return inputs;
}

#endif
