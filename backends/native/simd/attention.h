/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.h: softmax(Q K^T) V for a block of queries of one head, with what is done to the
 * scores. The keys come in tiles, and the softmax is corrected from tile to tile, so that scores
 * never leave the cache.
 */
#ifndef NATIVE_SIMD_ATTENTION_H
#define NATIVE_SIMD_ATTENTION_H

#include "../isa.h"

enum {
    ATTENTION_QUERIES = 96, /* of a block */
    ATTENTION_ROWS = 24,    /* of them, whose scores are in cache at a time */
    ATTENTION_KEYS = 256,   /* of a tile */
    ATTENTION_PANEL = 64,   /* columns that a packed operand is rounded up to */
    ATTENTION_STEPS = 4
};

enum attention_op {
    ATTENTION_SCALE, /* * scalar */
    ATTENTION_SHIFT, /* + scalar */
    ATTENTION_ADD,   /* + a mask */
    ATTENTION_KEEP,  /* what the mask of bool says; else the scalar */
    ATTENTION_DROP   /* the scalar where the mask of bool says so */
};

/* What is done to the scores, in this order. */
struct attention_step {
    enum attention_op op;
    float scalar;
    const void *mask; /* of the head and the block's first query, key 0 */
    int64_t row, key; /* strides; of keys 0 or 1 */
};

/* A block of queries of one head. Strides are in elements. */
struct attention_block {
    const float *q, *k, *v;
    float *y;
    int64_t q_row, y_row;  /* the elements of a row are adjacent */
    int64_t k_key, k_size; /* one of them is 1 */
    int64_t v_row;
    int64_t queries, keys, size, value_size;
    int64_t tile;  /* keys of a tile, at most ATTENTION_KEYS */
    int64_t first; /* the position of the first query, for `causal` */
    bool causal;
    bool none_is_zero; /* a query that sees no key gives 0; else NaN */
    uint32_t step_count;
    struct attention_step steps[ATTENTION_STEPS];
    float *scratch; /* attention_scratch() floats, aligned to a vector */
};

/* Of elements of a key, and of a value. */
static inline int64_t attention_scratch(int64_t size, int64_t value_size)
{
    int64_t columns = (value_size + ATTENTION_PANEL - 1) / ATTENTION_PANEL * ATTENTION_PANEL;
    return ATTENTION_KEYS * size + ATTENTION_KEYS * columns + ATTENTION_QUERIES * columns +
           (int64_t)ATTENTION_ROWS * ATTENTION_KEYS + INT64_C(2) * ATTENTION_QUERIES;
}

struct attention_kernels {
    void (*block)(const struct attention_block *block);
};

ISA_DECLARE(attention_kernels, attention_kernels);

#endif
