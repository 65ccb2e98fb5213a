/* SPDX-License-Identifier: Apache-2.0 */
#include "weights.h"

#include "../message.h"
#include "descriptor.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

struct weights {
    struct weights *next;
    size_t uses;
    uint64_t share_key; /* 0: this one is not shared */
    dnnl_memory_desc_t from, to;
    float scale;
    int64_t offset;
    enum packing packing;
    void *data;
    uint64_t bytes;
};

/* const void * as the library takes it; it only reads through it. */
static void *readable(const void *data)
{
    void *pointer;
    memcpy(&pointer, &data, sizeof pointer);
    return pointer;
}

static dnnl_status_t execute_reorder(const struct library *library, dnnl_primitive_t primitive,
                                     dnnl_engine_t engine, const dnnl_exec_arg_t *args)
{
    dnnl_stream_t stream = NULL;
    dnnl_status_t status = library->stream_create(&stream, engine, dnnl_stream_default_flags);
    if (status != dnnl_success)
        return status;
    status = library->primitive_execute(primitive, stream, 2, args);
    if (status == dnnl_success)
        status = library->stream_wait(stream);
    library->stream_destroy(stream);
    return status;
}

static dnnl_status_t reorder(const struct library *library, dnnl_engine_t engine,
                             struct weights *weights, const void *source)
{
    dnnl_primitive_desc_t descriptor = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, NULL }, { DNNL_ARG_TO, NULL } };
    dnnl_status_t status = library->reorder_primitive_desc_create(
        &descriptor, weights->from, engine, weights->to, engine, NULL);
    if (status == dnnl_success)
        status = library->primitive_create(&primitive, descriptor);
    if (status == dnnl_success)
        status = library->memory_create(&args[0].memory, weights->from, engine, readable(source));
    if (status == dnnl_success)
        status = library->memory_create(&args[1].memory, weights->to, engine, weights->data);
    if (status == dnnl_success)
        status = execute_reorder(library, primitive, engine, args);
    for (size_t k = 0; k < 2; k++) {
        if (args[k].memory)
            library->memory_destroy(args[k].memory);
    }
    if (primitive)
        library->primitive_destroy(primitive);
    if (descriptor)
        library->primitive_desc_destroy(descriptor);
    return status;
}

/* ONNX's input, output, forget, cell as oneDNN's input, forget, cell, output. */
static const int onnx_gate[] = { 0, 2, 3, 1 };
enum { GATES = sizeof onnx_gate / sizeof onnx_gate[0] };

/* The operand's contents in oneDNN's order of gates; NULL if out of memory. Free it. */
static float *rearrange(const struct operand *operand, const float *from)
{
    int64_t count = 1;
    for (int d = 0; d < operand->rank; d++)
        count *= operand->dims[d];
    int64_t gate = count / GATES;
    float *out = malloc((size_t)count * sizeof *out);
    for (int g = 0; g < GATES && out; g++) {
        const float *row = from + onnx_gate[g] * gate;
        for (int64_t k = 0; k < gate; k++)
            out[g * gate + k] =
                row[k] + (operand->packing == PACKING_BIASES ? row[count + k] : 0.0f);
    }
    return out;
}

/* Where the operand begins in the value's memory. */
static const void *contents(const struct weight_request *request)
{
    return (const float *)request->value->data + request->operand->offset;
}

static dnnl_status_t reorder_contents(const struct library *library, dnnl_engine_t engine,
                                      struct weights *weights, const struct weight_request *request)
{
    if (request->operand->packing == PACKING_NONE)
        return reorder(library, engine, weights, contents(request));
    float *rearranged = rearrange(request->operand, contents(request));
    dnnl_status_t status =
        rearranged ? reorder(library, engine, weights, rearranged) : dnnl_out_of_memory;
    free(rearranged);
    return status;
}

static void weights_free(const struct library *library, struct weights *weights)
{
    if (weights->from)
        library->memory_desc_destroy(weights->from);
    if (weights->to)
        library->memory_desc_destroy(weights->to);
    free(weights->data);
    free(weights);
}

/* Packs the constant into memory of its own; takes `from` over. */
static dnnl_status_t pack(const struct library *library, dnnl_engine_t engine,
                          const struct weight_request *request, dnnl_memory_desc_t from,
                          struct weights **out)
{
    struct weights *weights = calloc(1, sizeof *weights);
    if (!weights) {
        library->memory_desc_destroy(from);
        return dnnl_out_of_memory;
    }
    weights->uses = 1;
    weights->from = from;
    weights->scale = request->operand->scale;
    weights->offset = request->operand->offset;
    weights->packing = request->operand->packing;
    weights->bytes = library->memory_desc_get_size(request->wanted);
    dnnl_status_t status = library->memory_desc_clone(&weights->to, request->wanted);
    uint64_t rounded = (weights->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    weights->data = aligned_alloc(ALIGNMENT, rounded);
    if (status == dnnl_success && !weights->data)
        status = dnnl_out_of_memory;
    if (status == dnnl_success)
        status = reorder_contents(library, engine, weights, request);
    if (status != dnnl_success) {
        weights_free(library, weights);
        return status;
    }
    float *numbers = weights->data;
    for (uint64_t k = 0; weights->scale != 1.0f && k < weights->bytes / sizeof(float); k++)
        numbers[k] *= weights->scale;
    *out = weights;
    return dnnl_success;
}

static struct weights *find(const struct library *library, struct weight_table *table,
                            const struct weight_request *request, const_dnnl_memory_desc_t from)
{
    for (struct weights *w = table->first; w; w = w->next) {
        if (w->share_key == request->value->share_key && w->scale == request->operand->scale &&
            w->offset == request->operand->offset && w->packing == request->operand->packing &&
            library->memory_desc_equal(w->from, from) &&
            library->memory_desc_equal(w->to, request->wanted))
            return w;
    }
    return NULL;
}

/* Under the lock: two threads that want the same constant pack it once. */
static dnnl_status_t find_or_pack(const struct library *library, dnnl_engine_t engine,
                                  struct weight_table *table, const struct weight_request *request,
                                  dnnl_memory_desc_t from, struct weights **out)
{
    pthread_mutex_lock(&table->lock);
    dnnl_status_t status = dnnl_success;
    struct weights *weights = find(library, table, request, from);
    if (weights) {
        weights->uses++;
        library->memory_desc_destroy(from);
    } else {
        status = pack(library, engine, request, from, &weights);
        if (status == dnnl_success) {
            weights->share_key = request->value->share_key;
            weights->next = table->first;
            table->first = weights;
        }
    }
    pthread_mutex_unlock(&table->lock);
    *out = weights;
    return status;
}

collage_status weights_acquire(const struct library *library, dnnl_engine_t engine,
                               struct weight_table *table, const struct weight_request *request,
                               struct weights **out, void **data, uint64_t *bytes,
                               collage_message *message)
{
    dnnl_memory_desc_t from = NULL;
    *out = NULL;
    dnnl_status_t status = descriptor_create_plain(library, request->operand, &from);
    if (status == dnnl_success && request->shared && request->operand->scale == 1.0f &&
        request->operand->packing == PACKING_NONE &&
        (uintptr_t)contents(request) % ALIGNMENT == 0 &&
        library->memory_desc_equal(from, request->wanted)) {
        library->memory_desc_destroy(from);
        *data = readable(contents(request));
        *bytes = 0;
        return COLLAGE_OK;
    }
    if (status == dnnl_success && request->shared && request->value->share_key != 0)
        status = find_or_pack(library, engine, table, request, from, out);
    else if (status == dnnl_success)
        status = pack(library, engine, request, from, out);
    if (status != dnnl_success)
        return fail(
            message, status == dnnl_out_of_memory ? COLLAGE_ERROR_MEMORY : COLLAGE_ERROR_BACKEND,
            "oneDNN cannot pack '%s': %s", request->value->name, library_status_text(status));
    *data = (*out)->data;
    *bytes = (*out)->bytes;
    return COLLAGE_OK;
}

static void unlink_weights(struct weight_table *table, const struct weights *weights)
{
    struct weights **link = &table->first;
    while (*link && *link != weights)
        link = &(*link)->next;
    if (*link)
        *link = weights->next;
}

void weights_release(const struct library *library, struct weight_table *table,
                     struct weights *weights)
{
    if (!weights)
        return;
    pthread_mutex_lock(&table->lock);
    bool last = --weights->uses == 0;
    if (last)
        unlink_weights(table, weights);
    pthread_mutex_unlock(&table->lock);
    if (last)
        weights_free(library, weights);
}
