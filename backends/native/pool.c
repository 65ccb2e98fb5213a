/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <dlfcn.h>
#include <string.h>

bool pool_open(struct pool *pool)
{
    memset(pool, 0, sizeof *pool);
    pool->library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!pool->library)
        return false;
    *(void **)&pool->parallel = dlsym(pool->library, "GOMP_parallel");
    *(void **)&pool->thread_number = dlsym(pool->library, "omp_get_thread_num");
    *(void **)&pool->thread_count = dlsym(pool->library, "omp_get_num_threads");
    if (pool->parallel && pool->thread_number && pool->thread_count)
        return true;
    pool_close(pool);
    return false;
}

/* libgomp stays loaded: its threads outlive us. */
void pool_close(struct pool *pool)
{
    memset(pool, 0, sizeof *pool);
}

struct call {
    const struct pool *pool;
    pool_body *body;
    void *context;
};

static void enter(void *data)
{
    const struct call *call = data;
    call->body(call->context, call->pool->thread_number(), call->pool->thread_count());
}

void pool_run(const struct pool *pool, int32_t threads, pool_body *body, void *context)
{
    if (threads <= 1 || !pool->parallel) {
        body(context, 0, 1);
        return;
    }
    struct call call = { pool, body, context };
    pool->parallel(enter, &call, (unsigned)threads, 0);
}
