/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/cold.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum {
    CORES_MAX = 64, /* whose caches are emptied: beyond, it would take too long */
    LINE = 64
};

static const uint64_t small_weights = UINT64_C(64) * 1024;

/* Making pages of that much memory takes longer than reading it: it is made once. */
static struct {
    unsigned char *bytes;
    uint64_t capacity;
} memory;

static collage_status grow_memory(uint64_t bytes, struct error *error)
{
    if (bytes <= memory.capacity)
        return COLLAGE_OK;
    memory_free_aligned(memory.bytes);
    memory.capacity = 0;
    memory.bytes = memory_alloc_aligned((size_t)bytes);
    if (!memory.bytes)
        return error_memory(error);
    memory.capacity = bytes;
    memset(memory.bytes, 1, (size_t)bytes); /* untouched pages are all one page */
    return COLLAGE_OK;
}

static uint64_t configured_bytes(int level, int other)
{
    long bytes = sysconf(level);
    if (bytes <= 0)
        bytes = sysconf(other);
    return bytes > 0 ? (uint64_t)bytes : 32u << 20;
}

collage_status cold_prepare(uint64_t weights, uint64_t working_set, uint64_t level_2_bytes,
                            uint64_t last_level_bytes, struct cold *out, struct error *error)
{
    *out = (struct cold){ .level_2_bytes = level_2_bytes };
    if (level_2_bytes == 0)
        out->level_2_bytes = configured_bytes(_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE);
    if (last_level_bytes == 0)
        last_level_bytes = configured_bytes(_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE);
    uint64_t enough = last_level_bytes + last_level_bytes / 2;
    if (weights <= small_weights || weights >= enough || working_set <= out->level_2_bytes)
        return COLLAGE_OK;
    uint64_t count = working_set < enough ? working_set : enough;
    collage_status status = grow_memory(count, error);
    if (status != COLLAGE_OK)
        return status;
    out->bytes = memory.bytes;
    out->count = count;
    if (sched_getaffinity(0, sizeof out->processors, &out->processors) != 0)
        CPU_ZERO(&out->processors);
    return COLLAGE_OK;
}

static void read_lines(const struct cold *cold, uint64_t count)
{
    const volatile unsigned char *bytes = cold->bytes;
    for (uint64_t k = 0; k < count && k < cold->count; k += LINE)
        (void)bytes[k];
}

/* Private caches keep weights that reading on another core does not drive out: each core's is
 * filled on that core, by going there. */
void cold_walk(const struct cold *cold)
{
    size_t visited = 0;
    for (size_t cpu = 0; cpu < CPU_SETSIZE && visited < CORES_MAX && cold->count > 0; cpu++) {
        if (!CPU_ISSET(cpu, &cold->processors))
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) == 0)
            read_lines(cold, 2 * cold->level_2_bytes);
        visited++;
    }
    if (visited > 0)
        sched_setaffinity(0, sizeof cold->processors, &cold->processors);
    read_lines(cold, cold->count);
}
