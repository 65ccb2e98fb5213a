/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: an operator of XNNPACK that is made and run, and the open library. */
#ifndef XNNPACK_KERNEL_H
#define XNNPACK_KERNEL_H

#include "recipe.h"

/* A pool of the library's threads; kernels for as many threads share one. */
struct pool {
    struct pool *next;
    int32_t threads;
    pthreadpool_t pool;
};

struct collage_backend {
    struct library library;
    pthread_mutex_t lock; /* of pools */
    struct pool *pools;
};

collage_status kernel_compile(collage_backend *backend, const collage_compile_request *request,
                              collage_kernel **out, collage_message *message);
void kernel_describe(const collage_kernel *kernel, collage_kernel_info *info);
collage_status kernel_run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message);
void kernel_destroy(collage_kernel *kernel);

/* A variant: its layout, and whether it runs on one thread of the budget. */
struct kernel_choice {
    const char *name;
    bool channels_last, single;
};

/* The index-th choice under which the sub-graph translates, with its recipe; false: there are no
 * more. */
bool kernel_choose(struct recipe *recipe, const collage_subgraph *subgraph,
                   const collage_target *target, size_t index, const struct kernel_choice **out);

#endif
