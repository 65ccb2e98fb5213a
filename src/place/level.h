/* SPDX-License-Identifier: Apache-2.0 */
/*
 * level.h: internal to place/: the states of the dynamic program that cover equally many nodes.
 *
 * A state's key says all that the future depends on: which nodes are covered (all below `first`,
 * and a window of bits from there), in which layouts each live value is there, and which backend
 * ran last. States with equal keys keep the cheaper.
 */
#ifndef COLLAGE_PLACE_LEVEL_H
#define COLLAGE_PLACE_LEVEL_H

#include "place/options.h"

/*
 * A key, in 32-bit words: the head, then `words` words of the window (bit b of word w: node
 * 32 * (first / 32 + w) + b, only nodes >= first; the last word is not 0), then `live` pairs of
 * value and slot, ascending. A slot: the layout it was made in (upper 5 bits), and the layouts it
 * was converted to and may still be taken in (lower 27 bits).
 */
enum { KEY_LAST, KEY_LIVE, KEY_FIRST, KEY_WORDS, KEY_HEAD };

struct state {
    uint64_t hash, cover; /* of the key; of the covered set alone */
    double cost;          /* so far */
    double rest;          /* lower bound of what is still to come */
    size_t key;           /* offset into the level's keys */
    uint32_t parent;      /* in the history */
    uint32_t option;      /* that led here */
};

struct level {
    struct state *states;
    size_t count, capacity;
    uint32_t *keys;
    size_t key_count, key_capacity;
    uint32_t *table; /* hash table: index + 1 of a state, 0: empty */
    size_t table_capacity;
};

static inline uint32_t slot_make(uint32_t made, uint32_t converted)
{
    return made << PLACE_LAYOUTS | (converted & ~(UINT32_C(1) << made));
}

static inline uint32_t slot_made(uint32_t slot)
{
    return slot >> PLACE_LAYOUTS;
}

static inline bool slot_has(uint32_t slot, uint32_t layout)
{
    return slot_made(slot) == layout || (slot >> layout & 1);
}

static inline uint32_t slot_converted(uint32_t slot)
{
    return slot & ((UINT32_C(1) << PLACE_LAYOUTS) - 1);
}

/* What it costs to have the value in that layout too; HUGE_VAL if it cannot be. */
static inline double slot_cost(const struct place_table *table, value_id value, uint32_t slot,
                               uint32_t layout)
{
    const struct place_value *v = &table->values[value];
    return slot_has(slot, layout) ? 0 : v->convert[slot_made(slot) * v->layout_count + layout];
}

static inline bool key_covers(const uint32_t *key, node_id node)
{
    uint32_t first = key[KEY_FIRST];
    if (node < first)
        return true;
    uint32_t word = node / 32 - first / 32;
    return word < key[KEY_WORDS] && (key[KEY_HEAD + word] >> (node % 32) & 1);
}

/* The layouts in which users that are not covered yet may take the value, which was made in the
 * layout `made`. *dead: there is one that must take it and cannot, however it is converted. */
uint32_t key_needs(const struct place_table *table, const uint32_t *key, value_id value,
                   uint32_t made, bool *dead);

void level_free(struct level *level);
/* Adds a state unless an equal one is as cheap. `state` comes with cost, rest, parent, option. */
collage_status level_insert(struct level *level, const struct state *state, const uint32_t *key,
                            size_t key_length, struct error *error);
/* Drops dominated states, then the dearest beyond `limit`: *dropped becomes the least that a
 * completion of these may cost, if it is less than before. */
collage_status level_reduce(struct level *level, const struct place_table *table, size_t limit,
                            double *dropped, struct error *error);

#endif
