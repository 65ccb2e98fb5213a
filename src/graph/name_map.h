/* SPDX-License-Identifier: Apache-2.0 */
/* name_map.h: names to 32-bit numbers, by open addressing. Keys are not copied. */
#ifndef COLLAGE_GRAPH_NAME_MAP_H
#define COLLAGE_GRAPH_NAME_MAP_H

#include "base/memory.h"

#define NAME_MAP_NONE UINT32_MAX

struct name_entry {
    const char *name; /* NULL: free */
    uint64_t hash;
    uint32_t number;
};

struct name_map {
    struct name_entry *entries;
    size_t capacity, count; /* capacity: a power of two, or 0 */
};

/* NAME_MAP_NONE if the name is not there. */
uint32_t name_map_find(const struct name_map *map, const char *name);
/* The name must be new. False if out of memory. */
bool name_map_add(struct name_map *map, const char *name, uint32_t number);
void name_map_free(struct name_map *map);

#endif
