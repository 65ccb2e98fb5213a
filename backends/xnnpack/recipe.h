/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe.h: a sub-graph translated, without the library, into the one operator of XNNPACK that runs
 * it. What translates is supported; a variant is a layout under which it translates.
 */
#ifndef XNNPACK_RECIPE_H
#define XNNPACK_RECIPE_H

#include "../message.h"
#include "library.h"

enum { RECIPE_DIMS = XNN_MAX_TENSOR_DIMS, RECIPE_INPUTS = 2 };

struct recipe;

/* An operator of XNNPACK. Flags are XNNPACK's. */
struct operation {
    enum xnn_status (*create)(const struct library *library, const struct recipe *recipe,
                              uint32_t flags, xnn_operator_t *out);
    enum xnn_status (*setup)(const struct library *library, const struct recipe *recipe,
                             xnn_operator_t made, const float *const inputs[RECIPE_INPUTS],
                             float *output, pthreadpool_t pool);
};

/* What it reads when it runs: a constant, or an input of the sub-graph. */
struct operand {
    uint32_t value;
    const float *constant; /* NULL: input */
    uint32_t input;
    bool channels_last;
    size_t rank, dims[RECIPE_DIMS]; /* as they lie; of binary operators */
};

/* How constant weights lie: as the library wants them, or as ONNX's Conv and ConvTranspose have
 * them, from which they are put into the library's order [group][out][y][x][in]. */
enum weight_order { WEIGHTS_AS_THEY_ARE, WEIGHTS_OUT_FIRST, WEIGHTS_IN_FIRST };

/* A window over an image; pads are those of the sides. */
struct window {
    uint32_t kernel[2], strides[2], dilations[2], begin[2], end[2];
    size_t in[2], out[2];
};

struct recipe {
    const struct operation *operation;
    bool channels_last; /* the variant: asked for, before it is read */
    uint32_t operand_count;
    struct operand operands[RECIPE_INPUTS];
    uint32_t made; /* the value that the operator makes; a clamp may follow */
    float low, high;
    bool elementwise; /* the result may lie in an operand of the same shape */
    size_t batch, channels_in, channels_out, groups; /* channels of a group */
    struct window window;
    float number;    /* alpha of an activation */
    uint32_t resize; /* flags of the resizing */
    /* Constants that are packed when the kernel is made. */
    const float *weights, *bias;
    bool weights_transposed; /* [in][out] */
    enum weight_order order;
};

/* Translates for a layout; `why` (may be NULL) says why not. */
bool recipe_read(struct recipe *recipe, const collage_subgraph *subgraph, bool channels_last,
                 collage_message *why);

/* ---- for the readers: window.c, pointwise.c, rows.c, resize.c ---- */

/* How each reader looks: it fills the recipe, whose `channels_last` is set, from nodes[0]. */
typedef bool recipe_reader(struct recipe *recipe, const collage_subgraph *subgraph,
                           collage_message *why);
recipe_reader read_convolution, read_deconvolution, read_pool, read_global_pool, read_unary,
    read_binary, read_prelu, read_matmul, read_gemm, read_softmax, read_resize;

__attribute__((format(printf, 2, 3))) bool recipe_refuse(collage_message *why, const char *format,
                                                         ...);

/* The value of a node's input; NULL: it is left out. */
const collage_value *recipe_input(const collage_subgraph *subgraph, const collage_node *node,
                                  uint32_t index);

/* Makes operand `index` of a value that is a float32 constant or input of the sub-graph. Inputs are
 * channels-last if the recipe is and they have at least 3 dimensions. */
bool recipe_operand(struct recipe *recipe, uint32_t index, const collage_subgraph *subgraph,
                    uint32_t value, collage_message *why);

/* The rest of the chain, nodes[first...], as one clamp of `made`. */
bool recipe_clamp(struct recipe *recipe, const collage_subgraph *subgraph, uint32_t first,
                  collage_message *why);

/* A constant of one float32; false: it is none. */
bool recipe_scalar(const collage_value *value, float *out);

/* A dimension as the library counts it in an image. */
static inline size_t recipe_size(int64_t dimension)
{
    return (size_t)dimension;
}

/* The product of dims [first, last). */
size_t recipe_product(const collage_value *value, int32_t first, int32_t last);

#endif
