/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights.h: constants in the layout a primitive wants, packed once and shared between the kernels
 * of this process that want the same. Safe from several threads.
 */
#ifndef ONEDNN_WEIGHTS_H
#define ONEDNN_WEIGHTS_H

#include "library.h"
#include "recipe.h"

#include <pthread.h>

struct weights; /* one packed constant, counted */

struct weight_table {
    pthread_mutex_t lock;
    struct weights *first;
};

struct weight_request {
    const struct operand *operand;
    const collage_value *value;
    const_dnnl_memory_desc_t wanted;
    bool shared; /* may be shared, or read where it lies */
};

/* Packs it, or finds it packed. The data stay valid until weights_release; *bytes is what the copy
 * takes, 0 if the constant is read where it lies (*out is NULL then). */
collage_status weights_acquire(const struct library *library, dnnl_engine_t engine,
                               struct weight_table *table, const struct weight_request *request,
                               struct weights **out, void **data, uint64_t *bytes,
                               collage_message *message);
void weights_release(const struct library *library, struct weight_table *table,
                     struct weights *weights);

#endif
