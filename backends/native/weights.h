/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights.h: constants in the form that a kernel wants, made once and shared between the kernels of
 * this process that want the same. Safe from several threads.
 */
#ifndef NATIVE_WEIGHTS_H
#define NATIVE_WEIGHTS_H

#include <collage/backend.h>

#include <pthread.h>

struct weights; /* one packed constant, counted */

struct weight_table {
    pthread_mutex_t lock;
    struct weights *first;
};

/* Fills `to` (64-byte aligned, zeroed) from the constant's contents. */
typedef void weights_pack(float *to, const float *from, const void *context);

struct weight_request {
    const collage_value *value; /* constant, float32 */
    const char *form;           /* what pack makes, with all its parameters: "winograd 4 64x64"; at
                                   most 95 characters. Equal forms of equal constants are shared */
    uint64_t count;             /* floats that pack makes */
    weights_pack *pack;
    const void *context;
    bool shared; /* false: COLLAGE_COMPILE_UNSHARED */
};

/* Packs it, or finds it packed. *data stay valid until weights_release. */
collage_status weights_acquire(struct weight_table *table, const struct weight_request *request,
                               struct weights **out, const float **data, collage_message *message);
void weights_release(struct weight_table *table, struct weights *weights); /* NULL is fine */

#endif
