/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/guard.h"

#include <string.h>

#include "base/memory.h"

enum { ZONE = 64, MARK = 0xa5 };

/* The zone behind begins right at the last byte, and reaches to the end of the allocation. */
static size_t zone_behind(uint64_t bytes)
{
    return (size_t)((bytes + 63) / 64 * 64 - bytes) + ZONE;
}

bool guarded_alloc(struct guarded *buffer, uint64_t bytes)
{
    *buffer = (struct guarded){ 0 };
    if (bytes > SIZE_MAX - (uint64_t)4 * ZONE)
        return false;
    unsigned char *base = memory_alloc_aligned(ZONE + (size_t)bytes + zone_behind(bytes));
    if (!base)
        return false;
    buffer->data = base + ZONE;
    buffer->bytes = bytes;
    memset(base, MARK, ZONE);
    memset(buffer->data + bytes, MARK, zone_behind(bytes));
    return true;
}

void guarded_free(struct guarded *buffer)
{
    if (buffer->data)
        memory_free_aligned(buffer->data - ZONE);
    *buffer = (struct guarded){ 0 };
}

void guarded_poison(struct guarded *buffer)
{
    memset(buffer->data, 0xff, (size_t)buffer->bytes);
}

static bool is_marked(const unsigned char *zone, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (zone[k] != MARK)
            return false;
    return true;
}

bool guarded_intact(const struct guarded *buffer)
{
    return !buffer->data || (is_marked(buffer->data - ZONE, ZONE) &&
                             is_marked(buffer->data + buffer->bytes, zone_behind(buffer->bytes)));
}
