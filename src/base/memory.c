/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The only mutable globals of the library, for the fault tests: a countdown, 0 when off, and
 * whether it ends with one failure. */
static atomic_size_t fail_countdown;
static atomic_bool fail_once;

void memory_fail_after(size_t n)
{
    atomic_store(&fail_once, false);
    atomic_store(&fail_countdown, n);
}

void memory_fail_once(size_t n)
{
    atomic_store(&fail_once, true);
    atomic_store(&fail_countdown, n);
}

static bool must_fail(void)
{
    size_t n = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    if (n == 0)
        return false;
    if (n == 1 && atomic_load(&fail_once))
        return atomic_exchange(&fail_countdown, 0) == 1; /* of several threads one fails */
    if (n == 1)
        return true; /* stays at 1: every later allocation fails too */
    atomic_fetch_sub(&fail_countdown, 1);
    return false;
}

void *memory_alloc(size_t bytes)
{
    if (must_fail())
        return NULL;
    return calloc(1, bytes ? bytes : 1);
}

void *memory_resize(void *block, size_t old_bytes, size_t new_bytes)
{
    if (must_fail())
        return NULL;
    char *moved = realloc(block, new_bytes ? new_bytes : 1);
    if (moved && new_bytes > old_bytes)
        memset(moved + old_bytes, 0, new_bytes - old_bytes);
    return moved;
}

void memory_free(void *block)
{
    free(block);
}

char *memory_copy_string(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memory_alloc(bytes);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

void *memory_alloc_aligned(size_t bytes)
{
    if (must_fail() || bytes > SIZE_MAX - 64)
        return NULL;
    return aligned_alloc(64, bytes ? (bytes + 63) / 64 * 64 : 64);
}

void memory_free_aligned(void *block)
{
    free(block);
}

bool memory_grow(void **items, size_t *capacity, size_t count, size_t element_size)
{
    if (count < *capacity)
        return true;
    size_t more = *capacity ? *capacity * 2 : 16;
    if (more > SIZE_MAX / element_size)
        return false;
    void *moved = memory_resize(*items, *capacity * element_size, more * element_size);
    if (!moved)
        return false;
    *items = moved;
    *capacity = more;
    return true;
}

struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(16) char data[];
};

struct arena {
    struct chunk *first;
    size_t bytes;
};

struct arena *arena_create(void)
{
    return memory_alloc(sizeof(struct arena));
}

void arena_destroy(struct arena *arena)
{
    if (!arena)
        return;
    for (struct chunk *chunk = arena->first; chunk;) {
        struct chunk *next = chunk->next;
        memory_free(chunk);
        chunk = next;
    }
    memory_free(arena);
}

enum { CHUNK_BYTES = 64 * 1024 };

void *arena_alloc(struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes == 0)
        bytes = 16;
    struct chunk *chunk = arena->first;
    if (!chunk || chunk->size - chunk->used < bytes) {
        size_t size = bytes > CHUNK_BYTES / 4 ? bytes : CHUNK_BYTES;
        chunk = memory_alloc(sizeof *chunk + size);
        if (!chunk)
            return NULL;
        chunk->size = size;
        arena->bytes += size;
        if (size == bytes && arena->first) { /* keep the chunk that still has room in front */
            chunk->next = arena->first->next;
            arena->first->next = chunk;
        } else {
            chunk->next = arena->first;
            arena->first = chunk;
        }
    }
    void *result = chunk->data + chunk->used;
    chunk->used += bytes;
    return result;
}

void *arena_array(struct arena *arena, size_t count, size_t element_size)
{
    if (element_size && count > SIZE_MAX / element_size)
        return NULL;
    return arena_alloc(arena, count * element_size);
}

void *arena_copy(struct arena *arena, const void *data, size_t bytes)
{
    void *copy = arena_alloc(arena, bytes);
    if (copy && bytes)
        memcpy(copy, data, bytes);
    return copy;
}

char *arena_string(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, strlen(text) + 1);
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    va_list again;
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

size_t arena_bytes(const struct arena *arena)
{
    return arena->bytes;
}
