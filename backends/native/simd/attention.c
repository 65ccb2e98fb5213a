/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.h"

#include "math.h"
#include "product.h"

enum { DIRECT_ROW = 512 }; /* rows farther apart than this collide in the cache: they are packed */

/* Where a block keeps what, in its scratch. */
struct work {
    const struct attention_block *block;
    float *keys, *values; /* packed */
    float *sums;          /* of weights times values, [query][columns] */
    float *scores;        /* [ATTENTION_ROWS][ATTENTION_KEYS] */
    float *tops, *totals; /* of each query: the greatest score, and the sum of the weights */
    int64_t columns;
    int64_t key, key_count; /* the tile */
    struct product_panels k, v;
};

INLINE vec load(const float *from, int64_t part)
{
    return part >= LANES ? vec_load(from) : vec_load_part(from, part);
}

INLINE void store(float *to, vec v, int64_t part)
{
    if (part >= LANES)
        vec_store(to, v);
    else
        vec_store_part(to, v, part);
}

/* ---- the operands of a tile ---- */

static void take_keys(struct work *w)
{
    const struct attention_block *b = w->block;
    const float *from = b->k + w->key * b->k_key;
    w->k = (struct product_panels){ w->keys, b->size * PRODUCT_COLUMNS, PRODUCT_COLUMNS };
    if (b->k_key != 1)
        product_pack_transposed(w->keys, from, b->k_key, b->size, w->key_count);
    else if (w->key_count % LANES == 0 && b->k_size <= DIRECT_ROW)
        w->k = (struct product_panels){ from, PRODUCT_COLUMNS, b->k_size };
    else
        product_pack(w->keys, from, b->k_size, b->size, w->key_count);
}

static void take_values(struct work *w)
{
    const struct attention_block *b = w->block;
    const float *from = b->v + w->key * b->v_row;
    w->v = (struct product_panels){ w->values, w->key_count * PRODUCT_COLUMNS, PRODUCT_COLUMNS };
    if (b->value_size % LANES == 0 && b->v_row <= DIRECT_ROW)
        w->v = (struct product_panels){ from, PRODUCT_COLUMNS, b->v_row };
    else
        product_pack(w->values, from, b->v_row, w->key_count, b->value_size);
}

/* ---- scores ---- */

static void apply_mask(const struct attention_step *step, float *scores, int64_t at, int64_t count)
{
    const float *mask = (const float *)step->mask + at;
    const unsigned char *bytes = (const unsigned char *)step->mask + at;
    const bool drop = step->op == ATTENTION_DROP;
    if (step->op == ATTENTION_ADD && step->key == 1) {
        for (int64_t k = 0; k < count; k += LANES)
            store(scores + k, load(scores + k, count - k) + load(mask + k, count - k), count - k);
    } else if (step->op == ATTENTION_ADD) {
        for (int64_t k = 0; k < count; k += LANES)
            store(scores + k, load(scores + k, count - k) + *mask, count - k);
    } else {
        for (int64_t k = 0; k < count; k++)
            scores[k] = (bytes[k * step->key] != 0) != drop ? scores[k] : step->scalar;
    }
}

/* What the steps make of a row's scores; what lies behind `seen` is hidden. */
static void apply_steps(const struct work *w, float *scores, int64_t query, int64_t seen)
{
    const struct attention_block *b = w->block;
    int64_t count = w->key_count;
    for (uint32_t s = 0; s < b->step_count; s++) {
        const struct attention_step *step = &b->steps[s];
        if (step->op == ATTENTION_SCALE) {
            for (int64_t k = 0; k < count; k += LANES)
                store(scores + k, load(scores + k, count - k) * step->scalar, count - k);
        } else if (step->op == ATTENTION_SHIFT) {
            for (int64_t k = 0; k < count; k += LANES)
                store(scores + k, load(scores + k, count - k) + step->scalar, count - k);
        } else {
            apply_mask(step, scores, query * step->row + w->key * step->key, count);
        }
    }
    for (int64_t k = seen < 0 ? 0 : seen; k < count; k++)
        scores[k] = -INFINITY;
}

/* The largest of the scores and `found`. NaN may be lost: it comes back with the weights. */
static float largest(const float *scores, int64_t count, float found)
{
    vec best = vec_set(found), other = best;
    int64_t k = 0;
    for (; k + 2 * LANES <= count; k += 2 * LANES) {
        best = vec_max(best, vec_load(scores + k));
        other = vec_max(other, vec_load(scores + k + LANES));
    }
    for (; k < count; k += LANES) {
        ivec there = vec_lane_numbers() < (int32_t)(count - k < LANES ? count - k : LANES);
        best = vec_max(best, vec_select(there, load(scores + k, count - k), best));
    }
    return vec_largest(vec_max(best, other));
}

/* Scores become weights; the sum of them. */
static float weigh(float *scores, int64_t count, float top)
{
    vec a = vec_set(0.0f), b = a;
    int64_t k = 0;
    for (; k + 2 * LANES <= count; k += 2 * LANES) {
        vec x = vec_exp(vec_load(scores + k) - top);
        vec y = vec_exp(vec_load(scores + k + LANES) - top);
        vec_store(scores + k, x);
        vec_store(scores + k + LANES, y);
        a = a + x;
        b = b + y;
    }
    for (; k < count; k += LANES) {
        int64_t part = count - k < LANES ? count - k : LANES;
        vec x = vec_exp(load(scores + k, part) - top);
        x = vec_select(vec_lane_numbers() < (int32_t)part, x, vec_set(0.0f));
        store(scores + k, x, part);
        a = a + x;
    }
    return vec_sum(a + b);
}

static void scale_sums(const struct work *w, int64_t query, float factor)
{
    float *sums = w->sums + query * w->columns;
    for (int64_t c = 0; c < w->block->value_size; c += LANES)
        vec_store(sums + c, vec_load(sums + c) * factor);
}

/* Some queries against the tile. */
static void run_rows(const struct work *w, int64_t query, int64_t rows)
{
    const struct attention_block *b = w->block;
    const bool first = w->key == 0;
    int64_t last_seen = b->first + query + rows - 1; /* by the last of them */
    if (b->causal && w->key > last_seen)
        return;
    product(w->scores, ATTENTION_KEYS, b->q + query * b->q_row, b->q_row, &w->k, rows, w->key_count,
            b->size, false);
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = query + r, seen = w->key_count;
        float *scores = w->scores + r * ATTENTION_KEYS;
        if (b->causal && b->first + at + 1 - w->key < seen)
            seen = b->first + at + 1 - w->key;
        apply_steps(w, scores, at, seen);
        float before = first ? -INFINITY : w->tops[at];
        float top = largest(scores, w->key_count, before);
        float shift = top == -INFINITY ? 0.0f : top; /* nothing is seen yet */
        float total = weigh(scores, w->key_count, shift);
        w->tops[at] = top;
        if (first) {
            w->totals[at] = total;
        } else {
            float factor = expf(before - shift);
            w->totals[at] = w->totals[at] * factor + total;
            if (factor != 1.0f)
                scale_sums(w, at, factor);
        }
    }
    product(w->sums + query * w->columns, w->columns, w->scores, ATTENTION_KEYS, &w->v, rows,
            b->value_size, w->key_count, !first);
}

static void finish(const struct work *w)
{
    const struct attention_block *b = w->block;
    for (int64_t r = 0; r < b->queries; r++) {
        const float *sums = w->sums + r * w->columns;
        float *y = b->y + r * b->y_row, total = w->totals[r];
        if (total == 0.0f && b->none_is_zero) {
            memset(y, 0, (size_t)b->value_size * sizeof(float));
            continue;
        }
        float factor = 1.0f / total;
        for (int64_t c = 0; c < b->value_size; c += LANES)
            store(y + c, vec_load(sums + c) * factor, b->value_size - c);
    }
}

static void block(const struct attention_block *b)
{
    int64_t columns = (b->value_size + ATTENTION_PANEL - 1) / ATTENTION_PANEL * ATTENTION_PANEL;
    struct work w = { .block = b, .columns = columns, .scores = b->scratch };
    w.keys = w.scores + ATTENTION_ROWS * ATTENTION_KEYS;
    w.values = w.keys + ATTENTION_KEYS * b->size;
    w.sums = w.values + ATTENTION_KEYS * columns;
    w.tops = w.sums + ATTENTION_QUERIES * columns;
    w.totals = w.tops + ATTENTION_QUERIES;
    for (w.key = 0; w.key < b->keys; w.key += b->tile) {
        w.key_count = b->keys - w.key < b->tile ? b->keys - w.key : b->tile;
        if (b->causal && w.key > b->first + b->queries - 1)
            break;
        take_keys(&w);
        take_values(&w);
        for (int64_t r = 0; r < b->queries; r += ATTENTION_ROWS)
            run_rows(&w, r, b->queries - r < ATTENTION_ROWS ? b->queries - r : ATTENTION_ROWS);
    }
    finish(&w);
}

const struct attention_kernels ISA(attention_kernels) = { block };
