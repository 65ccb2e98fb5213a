/* SPDX-License-Identifier: Apache-2.0 */
#include "place/level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each state is compared with this many cheaper ones of the same covered set. */
enum { DOMINANCE_CHECKS = 24 };

static size_t key_length(const uint32_t *key)
{
    return KEY_HEAD + (size_t)key[KEY_WORDS] + 2 * (size_t)key[KEY_LIVE];
}

static const uint32_t *key_pairs(const uint32_t *key)
{
    return key + KEY_HEAD + key[KEY_WORDS];
}

uint32_t key_needs(const struct place_table *table, const uint32_t *key, value_id value,
                   uint32_t made, bool *dead)
{
    const struct graph_uses *uses = table->uses;
    uint32_t needs = 0;
    for (uint32_t u = uses->first[value]; u < uses->first[value + 1]; u++) {
        if (key_covers(key, uses->users[u]))
            continue;
        *dead = *dead || ((table->needs[u] & table->values[value].reach[made]) == 0 &&
                          !(table->idle && table->idle[u]));
        needs |= table->needs[u];
    }
    return needs;
}

void level_free(struct level *level)
{
    memory_free(level->states);
    memory_free(level->keys);
    memory_free(level->table);
    *level = (struct level){ 0 };
}

static bool rebuild_table(struct level *level, size_t capacity)
{
    uint32_t *table = memory_alloc(capacity * sizeof *table);
    if (!table)
        return false;
    for (size_t k = 0; k < level->count; k++) {
        size_t slot = level->states[k].hash & (capacity - 1);
        while (table[slot])
            slot = (slot + 1) & (capacity - 1);
        table[slot] = (uint32_t)k + 1;
    }
    memory_free(level->table);
    level->table = table;
    level->table_capacity = capacity;
    return true;
}

static bool grow_keys(struct level *level, size_t more)
{
    if (level->key_count + more <= level->key_capacity)
        return true;
    size_t capacity = level->key_capacity ? 2 * level->key_capacity : 1024;
    while (capacity < level->key_count + more)
        capacity *= 2;
    uint32_t *keys =
        memory_resize(level->keys, level->key_capacity * sizeof *keys, capacity * sizeof *keys);
    if (!keys)
        return false;
    level->keys = keys;
    level->key_capacity = capacity;
    return true;
}

collage_status level_insert(struct level *level, const struct state *state, const uint32_t *key,
                            size_t length, struct error *error)
{
    if (2 * (level->count + 1) > level->table_capacity &&
        !rebuild_table(level, level->table_capacity ? 2 * level->table_capacity : 64))
        return error_memory(error);
    uint64_t hash = hash_of(key, length * sizeof *key).low;
    size_t mask = level->table_capacity - 1, slot = hash & mask;
    for (; level->table[slot]; slot = (slot + 1) & mask) {
        struct state *other = &level->states[level->table[slot] - 1];
        const uint32_t *other_key = level->keys + other->key;
        if (other->hash != hash || key_length(other_key) != length ||
            memcmp(other_key, key, length * sizeof *key) != 0)
            continue;
        other->rest = fmax(other->rest, state->rest); /* of the same future: both hold */
        if (state->cost < other->cost) {
            other->cost = state->cost;
            other->parent = state->parent;
            other->option = state->option;
        }
        return COLLAGE_OK;
    }
    if (!memory_grow((void **)&level->states, &level->capacity, level->count,
                     sizeof *level->states) ||
        !grow_keys(level, length))
        return error_memory(error);
    struct state *added = &level->states[level->count];
    *added = *state;
    added->hash = hash;
    added->cover =
        hash_of(key + KEY_FIRST, (KEY_HEAD - KEY_FIRST + key[KEY_WORDS]) * sizeof *key).low +
        key[KEY_LIVE];
    added->key = level->key_count;
    memcpy(level->keys + level->key_count, key, length * sizeof *key);
    level->key_count += length;
    level->table[slot] = (uint32_t)++level->count;
    return COLLAGE_OK;
}

/* ---- dominance ---- */

static int compare_cover(const void *left, const void *right)
{
    const struct state *a = left, *b = right;
    if (a->cover != b->cover)
        return a->cover < b->cover ? -1 : 1;
    if (a->cost < b->cost || a->cost > b->cost)
        return a->cost < b->cost ? -1 : 1;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

static int compare_total(const void *left, const void *right)
{
    const struct state *a = left, *b = right;
    double total_a = a->cost + a->rest, total_b = b->cost + b->rest;
    if (total_a < total_b || total_a > total_b)
        return total_a < total_b ? -1 : 1;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* The live values follow from the covered nodes, unless some of these were left out. */
static bool same_cover(const uint32_t *a, const uint32_t *b)
{
    if (a[KEY_FIRST] != b[KEY_FIRST] || a[KEY_WORDS] != b[KEY_WORDS] ||
        a[KEY_LIVE] != b[KEY_LIVE] ||
        memcmp(a + KEY_HEAD, b + KEY_HEAD, a[KEY_WORDS] * sizeof *a) != 0)
        return false;
    const uint32_t *pairs_a = key_pairs(a), *pairs_b = key_pairs(b);
    for (size_t k = 0; k < a[KEY_LIVE]; k++)
        if (pairs_a[2 * k] != pairs_b[2 * k])
            return false;
    return true;
}

/*
 * Whatever follows b can follow a, at a price: each conversion that b has made, or makes cheaper,
 * and a does not. If a is cheaper than b by at least the sum of these, b is not needed. `needs`:
 * for each live value, the layouts that may still be asked for.
 */
static bool dominates(const struct place_table *table, const uint32_t *a, const uint32_t *b,
                      const uint32_t *needs, double lead)
{
    if (table->switch_ns)
        lead -= table->switch_gap[a[KEY_LAST] * (table->backend_count + 1) + b[KEY_LAST]];
    const uint32_t *pair_a = key_pairs(a), *pair_b = key_pairs(b);
    for (uint32_t k = 0; k < a[KEY_LIVE] && lead >= 0; k++) {
        const size_t at = (size_t)2 * k;
        value_id value = pair_a[at];
        uint32_t slot_a = pair_a[at + 1], slot_b = pair_b[at + 1];
        if (slot_a == slot_b)
            continue;
        for (uint32_t layout = 0; needs[k] >> layout; layout++) {
            if (!(needs[k] >> layout & 1))
                continue;
            double cost_a = slot_cost(table, value, slot_a, layout);
            double cost_b = slot_cost(table, value, slot_b, layout);
            if (cost_a > cost_b)
                lead -= cost_a - cost_b;
        }
    }
    return lead >= 0;
}

/* Moves the states of one covered set that are not dominated to `to`; returns how many. */
static size_t reduce_group(const struct level *level, const struct place_table *table,
                           const struct state *group, size_t count, struct state *to,
                           uint32_t *needs)
{
    const uint32_t *cover = level->keys + group[0].key;
    bool dead = false;
    for (uint32_t k = 0; k < cover[KEY_LIVE]; k++)
        needs[k] = key_needs(table, cover, key_pairs(cover)[(size_t)2 * k], 0, &dead);
    size_t kept = 0;
    for (size_t k = 0; k < count; k++) {
        const uint32_t *key = level->keys + group[k].key;
        bool dominated = false;
        for (size_t c = 0; c < kept && c < DOMINANCE_CHECKS && !dominated; c++)
            dominated =
                dominates(table, level->keys + to[c].key, key, needs, group[k].cost - to[c].cost);
        if (!dominated) {
            struct state state = group[k];
            to[kept++] = state;
        }
    }
    return kept;
}

static size_t largest_live(const struct level *level)
{
    size_t largest = 0;
    for (size_t k = 0; k < level->count; k++) {
        size_t live = level->keys[level->states[k].key + KEY_LIVE];
        largest = live > largest ? live : largest;
    }
    return largest;
}

/* Leaves the keys of dropped states behind. */
static bool compact_keys(struct level *level)
{
    uint32_t *keys = memory_alloc(level->key_capacity * sizeof *keys);
    if (!keys)
        return false;
    size_t end = 0;
    for (size_t k = 0; k < level->count; k++) {
        const uint32_t *key = level->keys + level->states[k].key;
        size_t length = key_length(key);
        memcpy(keys + end, key, length * sizeof *key);
        level->states[k].key = end;
        end += length;
    }
    memory_free(level->keys);
    level->keys = keys;
    level->key_count = end;
    return true;
}

collage_status level_reduce(struct level *level, const struct place_table *table, size_t limit,
                            double *dropped, struct error *error)
{
    if (level->count < 2)
        return COLLAGE_OK;
    uint32_t *needs = memory_alloc(largest_live(level) * sizeof *needs);
    if (!needs)
        return error_memory(error);
    qsort(level->states, level->count, sizeof *level->states, compare_cover);
    size_t kept = 0;
    for (size_t begin = 0, end; begin < level->count; begin = end) {
        const struct state *group = level->states + begin;
        for (end = begin + 1; end < level->count; end++)
            if (level->states[end].cover != group->cover ||
                !same_cover(level->keys + level->states[end].key, level->keys + group->key))
                break;
        kept += reduce_group(level, table, group, end - begin, level->states + kept, needs);
    }
    memory_free(needs);
    level->count = kept;
    if (kept > limit) {
        qsort(level->states, kept, sizeof *level->states, compare_total);
        level->count = limit;
        *dropped = fmin(*dropped, level->states[limit].cost + level->states[limit].rest);
    }
    return compact_keys(level) && rebuild_table(level, level->table_capacity) ? COLLAGE_OK
                                                                              : error_memory(error);
}
