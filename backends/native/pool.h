/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h: runs a loop body on several threads. The threads are libgomp's, which oneDNN uses as
 * well: going from one of our kernels to one of oneDNN's wakes nobody. libgomp is opened at run
 * time, and its idle threads go to sleep as GOMP_SPINCOUNT says; without it, everything runs in the
 * calling thread.
 */
#ifndef NATIVE_POOL_H
#define NATIVE_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pool {
    void *library;
    void (*parallel)(void (*body)(void *), void *data, unsigned threads, unsigned flags);
    int (*thread_number)(void);
    int (*thread_count)(void);
};

/* Never fails; false: there is no libgomp, one thread does all. */
bool pool_open(struct pool *pool);
void pool_close(struct pool *pool);

typedef void pool_body(void *context, int32_t thread, int32_t threads);

/* Calls body on `threads` threads (fewer if the system gives fewer: `threads` of the body counts),
 * the calling one included, and returns when all have returned. */
void pool_run(const struct pool *pool, int32_t threads, pool_body *body, void *context);

/* The part of `count` equal pieces of work that belongs to a thread: from *begin up to *end. */
static inline void pool_share(int64_t count, int32_t thread, int32_t threads, int64_t *begin,
                              int64_t *end)
{
    *begin = count * thread / threads;
    *end = count * (thread + 1) / threads;
}

/* Takes the next piece of uneven work; the counter starts at 0. False: none is left. */
static inline bool pool_next(atomic_llong *counter, int64_t count, int64_t *piece)
{
    *piece = atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    return *piece < count;
}

#endif
