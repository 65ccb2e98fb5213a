/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/name_map.h"

#include <string.h>

#include "base/hash.h"

/* The entry of that name, or the free one where it belongs. */
static struct name_entry *slot_of(const struct name_map *map, const char *name, uint64_t hash)
{
    size_t mask = map->capacity - 1;
    for (size_t at = (size_t)hash & mask;; at = (at + 1) & mask) {
        struct name_entry *entry = &map->entries[at];
        if (!entry->name || (entry->hash == hash && strcmp(entry->name, name) == 0))
            return entry;
    }
}

uint32_t name_map_find(const struct name_map *map, const char *name)
{
    if (map->count == 0)
        return NAME_MAP_NONE;
    const struct name_entry *entry = slot_of(map, name, hash_of(name, strlen(name)).low);
    return entry->name ? entry->number : NAME_MAP_NONE;
}

static bool grow(struct name_map *map)
{
    struct name_map larger = { .capacity = map->capacity ? map->capacity * 2 : 256,
                               .count = map->count };
    larger.entries = memory_alloc(larger.capacity * sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].name)
            *slot_of(&larger, map->entries[i].name, map->entries[i].hash) = map->entries[i];
    memory_free(map->entries);
    *map = larger;
    return true;
}

bool name_map_add(struct name_map *map, const char *name, uint32_t number)
{
    if (2 * map->count >= map->capacity && !grow(map))
        return false;
    uint64_t hash = hash_of(name, strlen(name)).low;
    *slot_of(map, name, hash) = (struct name_entry){ name, hash, number };
    map->count++;
    return true;
}

void name_map_free(struct name_map *map)
{
    memory_free(map->entries);
    *map = (struct name_map){ 0 };
}
