/* SPDX-License-Identifier: Apache-2.0 */
#include "weights.h"

#include "../message.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, FORM_BYTES = 96 };

struct weights {
    struct weights *next;
    size_t uses;
    uint64_t share_key; /* 0: this one is not shared */
    char form[FORM_BYTES];
    float *data;
};

static struct weights *find(const struct weight_table *table, uint64_t share_key, const char *form)
{
    for (struct weights *w = table->first; w; w = w->next) {
        if (w->share_key == share_key && strcmp(w->form, form) == 0)
            return w;
    }
    return NULL;
}

static struct weights *pack(const struct weight_request *request, uint64_t share_key)
{
    struct weights *weights = calloc(1, sizeof *weights);
    if (!weights || request->count > SIZE_MAX / sizeof(float) - ALIGNMENT) {
        free(weights);
        return NULL;
    }
    uint64_t bytes = (request->count * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    weights->data = aligned_alloc(ALIGNMENT, bytes ? bytes : ALIGNMENT);
    if (!weights->data) {
        free(weights);
        return NULL;
    }
    memset(weights->data, 0, bytes);
    request->pack(weights->data, request->value->data, request->context);
    weights->share_key = share_key;
    weights->uses = 1;
    snprintf(weights->form, sizeof weights->form, "%s", request->form);
    return weights;
}

collage_status weights_acquire(struct weight_table *table, const struct weight_request *request,
                               struct weights **out, const float **data, collage_message *message)
{
    uint64_t key =
        request->shared && strlen(request->form) < FORM_BYTES ? request->value->share_key : 0;
    *out = NULL;
    *data = NULL;
    pthread_mutex_lock(&table->lock);
    struct weights *weights = key ? find(table, key, request->form) : NULL;
    if (weights) {
        weights->uses++;
    } else {
        weights = pack(request, key);
        if (weights) {
            weights->next = table->first;
            table->first = weights;
        }
    }
    pthread_mutex_unlock(&table->lock);
    if (!weights)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory for packed weights");
    *out = weights;
    *data = weights->data;
    return COLLAGE_OK;
}

void weights_release(struct weight_table *table, struct weights *weights)
{
    if (!weights)
        return;
    pthread_mutex_lock(&table->lock);
    bool last = --weights->uses == 0;
    for (struct weights **link = &table->first; last && *link; link = &(*link)->next) {
        if (*link == weights) {
            *link = weights->next;
            break;
        }
    }
    pthread_mutex_unlock(&table->lock);
    if (last) {
        free(weights->data);
        free(weights);
    }
}
