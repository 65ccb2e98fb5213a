/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/key_table.h"

#include "base/memory.h"

struct slot {
    bool used;
    struct hash key;
    struct cost cost;
};

/* Open addressing; keys are hashes already. Never more than half full. */
struct key_table {
    struct slot *slots;
    size_t capacity, count;
};

struct key_table *key_table_create(void)
{
    struct key_table *table = memory_alloc(sizeof *table);
    if (!table)
        return NULL;
    table->capacity = 1024;
    table->slots = memory_alloc(table->capacity * sizeof *table->slots);
    if (!table->slots) {
        memory_free(table);
        return NULL;
    }
    return table;
}

void key_table_destroy(struct key_table *table)
{
    if (!table)
        return;
    memory_free(table->slots);
    memory_free(table);
}

static struct slot *find_slot(struct slot *slots, size_t capacity, struct hash key)
{
    size_t at = (size_t)key.low & (capacity - 1);
    while (slots[at].used && !hash_equal(slots[at].key, key))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

const struct cost *key_table_find(const struct key_table *table, struct hash key)
{
    const struct slot *slot = find_slot(table->slots, table->capacity, key);
    return slot->used ? &slot->cost : NULL;
}

static bool grow(struct key_table *table)
{
    size_t capacity = table->capacity * 2;
    struct slot *slots = memory_alloc(capacity * sizeof *slots);
    if (!slots)
        return false;
    for (size_t k = 0; k < table->capacity; k++)
        if (table->slots[k].used)
            *find_slot(slots, capacity, table->slots[k].key) = table->slots[k];
    memory_free(table->slots);
    table->slots = slots;
    table->capacity = capacity;
    return true;
}

bool key_table_put(struct key_table *table, struct hash key, const struct cost *cost)
{
    if (2 * (table->count + 1) > table->capacity && !grow(table))
        return false;
    struct slot *slot = find_slot(table->slots, table->capacity, key);
    if (!slot->used)
        table->count++;
    *slot = (struct slot){ true, key, *cost };
    return true;
}

size_t key_table_count(const struct key_table *table)
{
    return table->count;
}
