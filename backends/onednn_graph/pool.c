/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { ALIGNMENT = 64, SLACK = 4096 };

/* Lies right before the memory that is handed out. */
struct block {
    struct block *next;
    void *start; /* of what malloc gave */
    size_t bytes, alignment;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *unused;

static struct block *block_of(void *memory)
{
    return (struct block *)memory - 1;
}

/* The smallest unused block that is not much too large; NULL if there is none. */
static struct block *take_unused(size_t bytes, size_t alignment)
{
    struct block **best = NULL;
    for (struct block **link = &unused; *link; link = &(*link)->next) {
        const struct block *b = *link;
        if (b->bytes >= bytes && b->bytes / 2 <= bytes + SLACK && b->alignment >= alignment &&
            (!best || b->bytes < (*best)->bytes))
            best = link;
    }
    if (!best)
        return NULL;
    struct block *block = *best;
    *best = block->next;
    return block;
}

static struct block *make(size_t bytes, size_t alignment)
{
    size_t head = (sizeof(struct block) + alignment - 1) / alignment * alignment;
    if (bytes > SIZE_MAX - head - alignment)
        return NULL;
    size_t whole = (head + bytes + alignment - 1) / alignment * alignment;
    char *start = aligned_alloc(alignment, whole);
    if (!start)
        return NULL;
    struct block *block = block_of(start + head);
    *block = (struct block){ .start = start, .bytes = bytes, .alignment = alignment };
    return block;
}

void *pool_take(size_t bytes, size_t alignment)
{
    if (alignment < ALIGNMENT)
        alignment = ALIGNMENT;
    pthread_mutex_lock(&lock);
    struct block *block = take_unused(bytes, alignment);
    pthread_mutex_unlock(&lock);
    if (!block)
        block = make(bytes, alignment);
    return block ? block + 1 : NULL;
}

void pool_give(void *memory)
{
    if (!memory)
        return;
    struct block *block = block_of(memory);
    pthread_mutex_lock(&lock);
    block->next = unused;
    unused = block;
    pthread_mutex_unlock(&lock);
}

void pool_trim(void)
{
    pthread_mutex_lock(&lock);
    while (unused) {
        struct block *next = unused->next;
        free(unused->start);
        unused = next;
    }
    pthread_mutex_unlock(&lock);
}
