/* SPDX-License-Identifier: Apache-2.0 */
#include "place/evolve.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "tensor/tensor.h"

/* The numbers of the published search. */
enum { POPULATION = 50, TOURNAMENT = 5 };
static const double crossover = 0.5, mutation = 0.2, flip = 0.05;

/* What was measured, by the hash of the genes. */
struct memory_row {
    struct hash key;
    double value;
    bool used;
};

struct evolution {
    const struct evolve_rules *rules;
    uint32_t count, size; /* genes of an individual; individuals */
    uint64_t random;
    uint8_t *genes, *children; /* size times count */
    double *values;            /* of the individuals in genes */
    struct memory_row *rows;
    size_t row_count, row_capacity; /* capacity: a power of 2 */
    bool over;                      /* the time is */
    struct evolve_result *out;
    struct error *error;
};

/* ---- chance ---- */

static double draw(struct evolution *evolution)
{
    return (double)(splitmix64(&evolution->random) >> 11) * 0x1p-53;
}

static uint32_t draw_below(struct evolution *evolution, uint32_t limit)
{
    return (uint32_t)((splitmix64(&evolution->random) >> 33) % limit);
}

/* ---- what an individual is worth ---- */

static struct memory_row *find_row(struct memory_row *rows, size_t capacity, struct hash key)
{
    size_t at = (size_t)key.low & (capacity - 1);
    while (rows[at].used && !hash_equal(rows[at].key, key))
        at = (at + 1) & (capacity - 1);
    return &rows[at];
}

static bool make_row(struct evolution *evolution)
{
    if (2 * (evolution->row_count + 1) <= evolution->row_capacity)
        return true;
    size_t capacity = evolution->row_capacity ? 2 * evolution->row_capacity : 256;
    struct memory_row *rows = memory_alloc(capacity * sizeof *rows);
    if (!rows)
        return false;
    for (size_t k = 0; k < evolution->row_capacity; k++)
        if (evolution->rows[k].used)
            *find_row(rows, capacity, evolution->rows[k].key) = evolution->rows[k];
    memory_free(evolution->rows);
    evolution->rows = rows;
    evolution->row_capacity = capacity;
    return true;
}

static void note_best(struct evolution *evolution, const uint8_t *genes, double value)
{
    struct evolve_result *out = evolution->out;
    if (out->measured > 1 && !(value < out->value))
        return;
    memcpy(out->best, genes, evolution->count);
    out->value = value;
}

/* After the deadline what is not known yet is worth nothing. */
static collage_status find_value(struct evolution *evolution, const uint8_t *genes, double *value)
{
    struct evolve_result *out = evolution->out;
    struct hash key = hash_of(genes, evolution->count);
    *value = HUGE_VAL;
    if (!make_row(evolution))
        return error_memory(evolution->error);
    struct memory_row *row = find_row(evolution->rows, evolution->row_capacity, key);
    if (row->used) {
        *value = row->value;
        out->recalled++;
        return COLLAGE_OK;
    }
    evolution->over =
        evolution->over || (out->measured && clock_ns() >= evolution->rules->deadline);
    if (evolution->over)
        return COLLAGE_OK;
    collage_status status = evolution->rules->measure(evolution->rules->user, genes,
                                                      evolution->count, value, evolution->error);
    if (status)
        return status;
    *row = (struct memory_row){ key, *value, true };
    evolution->row_count++;
    out->measured++;
    note_best(evolution, genes, *value);
    return COLLAGE_OK;
}

static collage_status find_values(struct evolution *evolution)
{
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < evolution->size && !status; k++)
        status = find_value(evolution, evolution->genes + (size_t)k * evolution->count,
                            &evolution->values[k]);
    return status;
}

/* ---- generations ---- */

static void make_first(struct evolution *evolution)
{
    size_t count = evolution->count;
    memset(evolution->genes, 0, count);
    memset(evolution->genes + count, 1, count);
    for (size_t g = 2 * count; g < evolution->size * count; g++)
        evolution->genes[g] = (uint8_t)draw_below(evolution, 2);
}

/* The best of some that chance picks. */
static uint32_t select_parent(struct evolution *evolution)
{
    uint32_t best = draw_below(evolution, evolution->size);
    for (int k = 1; k < TOURNAMENT; k++) {
        uint32_t other = draw_below(evolution, evolution->size);
        if (evolution->values[other] < evolution->values[best])
            best = other;
    }
    return best;
}

/* Exchanges what lies between two different points, neither of them before the first gene. */
static void cross(struct evolution *evolution, uint8_t *a, uint8_t *b)
{
    uint32_t from = 1 + draw_below(evolution, evolution->count);
    uint32_t to = 1 + draw_below(evolution, evolution->count - 1);
    if (to >= from) {
        to++;
    } else {
        uint32_t swap = from;
        from = to;
        to = swap;
    }
    for (uint32_t g = from; g < to; g++) {
        uint8_t swap = a[g];
        a[g] = b[g];
        b[g] = swap;
    }
}

static void mutate(struct evolution *evolution, uint8_t *genes)
{
    for (uint32_t g = 0; g < evolution->count; g++)
        if (draw(evolution) < flip)
            genes[g] = (uint8_t)!genes[g];
}

static void breed(struct evolution *evolution)
{
    size_t count = evolution->count;
    for (uint32_t k = 0; k < evolution->size; k++)
        memcpy(evolution->children + k * count, evolution->genes + select_parent(evolution) * count,
               count);
    for (uint32_t k = 0; k + 1 < evolution->size; k += 2)
        if (draw(evolution) < crossover && count > 1)
            cross(evolution, evolution->children + k * count,
                  evolution->children + (k + 1) * count);
    for (uint32_t k = 0; k < evolution->size; k++)
        if (draw(evolution) < mutation)
            mutate(evolution, evolution->children + k * count);
    uint8_t *swap = evolution->genes;
    evolution->genes = evolution->children;
    evolution->children = swap;
}

/* Nothing is left to be measured. */
static bool is_exhausted(const struct evolution *evolution)
{
    return evolution->count < 32 && evolution->out->measured == (size_t)1 << evolution->count;
}

static collage_status run(struct evolution *evolution)
{
    const struct evolve_rules *rules = evolution->rules;
    struct evolve_result *out = evolution->out;
    make_first(evolution);
    for (;;) {
        collage_status status = find_values(evolution);
        if (status)
            return status;
        out->generations++;
        bool on = !rules->generation ||
                  rules->generation(rules->user, out->generations, out->best, out->value);
        if (!on || evolution->over || is_exhausted(evolution) ||
            (rules->generations && out->generations >= rules->generations))
            return COLLAGE_OK;
        /* Where all of a population has been seen before, no time passes in measuring. */
        if (clock_ns() >= rules->deadline)
            return COLLAGE_OK;
        breed(evolution);
    }
}

collage_status evolve_run(const struct evolve_rules *rules, uint32_t count,
                          struct evolve_result *out, struct error *error)
{
    uint32_t size = rules->population ? rules->population : POPULATION;
    *out = (struct evolve_result){ .value = HUGE_VAL };
    if (count < 1 || size < 2)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "%u individuals of %u genes: give at least 2 and 1", size, count);
    size_t bytes = (size_t)size * count;
    struct evolution evolution = { .rules = rules,
                                   .count = count,
                                   .size = size,
                                   .random = rules->seed,
                                   .genes = memory_alloc(bytes),
                                   .children = memory_alloc(bytes),
                                   .values = memory_alloc(size * sizeof(double)),
                                   .out = out,
                                   .error = error };
    out->best = memory_alloc(count);
    bool ok = evolution.genes && evolution.children && evolution.values && out->best;
    collage_status status = ok ? run(&evolution) : error_memory(error);
    memory_free(evolution.genes);
    memory_free(evolution.children);
    memory_free(evolution.values);
    memory_free(evolution.rows);
    if (status)
        evolve_free(out);
    return status;
}

void evolve_free(struct evolve_result *result)
{
    memory_free(result->best);
    *result = (struct evolve_result){ 0 };
}
