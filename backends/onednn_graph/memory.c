/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include "../message.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 };

static bool is_output(const collage_subgraph *graph, uint32_t value)
{
    for (uint32_t k = 0; k < graph->output_count; k++)
        if (graph->outputs[k] == value)
            return true;
    return false;
}

bool memory_is_scratch(const struct recipe *recipe, size_t id)
{
    const struct tensor *tensor = &recipe->tensors[id];
    return !tensor->data && !tensor->outside &&
           (tensor->value == COLLAGE_NO_VALUE || !is_output(recipe->graph, tensor->value));
}

static dnnl_status_t find_lives(const struct library *library, const struct partitions *partitions,
                                const struct recipe *recipe, struct memory_span *spans)
{
    dnnl_status_t status = dnnl_success;
    for (size_t p = 0; p < partitions->count && status == dnnl_success; p++) {
        const struct partition *partition = &partitions->items[p];
        size_t ports = partition->input_count + partition->output_count;
        for (size_t k = 0; k < ports && status == dnnl_success; k++) {
            size_t id = partition->ports[k].id, bytes = 0;
            size_t root = partitions_root(partitions, id);
            struct memory_span *span = &spans[root];
            if (!memory_is_scratch(recipe, root))
                continue;
            span->last = p;
            if (k < partition->input_count)
                continue;
            span->first = span->bytes == 0 ? p : span->first;
            status = library->graph_logical_tensor_get_mem_size(&partitions->tensors[id], &bytes);
            bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
            span->bytes = bytes > span->bytes ? bytes : span->bytes;
        }
    }
    return status;
}

/* Results that the library can write over an operand that nobody reads any more. */
static void share_in_place(const struct library *library, const struct partitions *partitions,
                           struct memory_span *spans)
{
    for (size_t p = 0; p < partitions->count; p++) {
        const dnnl_graph_inplace_pair_t *pairs = NULL;
        size_t count = 0;
        if (library->graph_compiled_partition_get_inplace_ports(partitions->items[p].compiled,
                                                                &count, &pairs) != dnnl_success)
            continue;
        for (size_t k = 0; k < count; k++) {
            size_t from = spans[partitions_root(partitions, pairs[k].input_id)].root;
            size_t to = partitions_root(partitions, pairs[k].output_id);
            if (spans[from].bytes == 0 || spans[from].bytes != spans[to].bytes ||
                spans[from].last != p || spans[to].root != to || spans[to].first != p)
                continue;
            spans[to].root = from;
            spans[from].last = spans[to].last;
        }
    }
}

static int larger_first(const void *a, const void *b)
{
    const struct memory_span *const *x = a, *const *y = b;
    if ((*x)->bytes != (*y)->bytes)
        return (*x)->bytes < (*y)->bytes ? 1 : -1;
    return (*x)->root < (*y)->root ? -1 : (*x)->root > (*y)->root;
}

/* The lowest place that no placed span of the same time has. */
static uint64_t find_place(struct memory_span *const *placed, size_t count,
                           const struct memory_span *span)
{
    uint64_t offset = 0;
    for (bool again = true; again;) {
        again = false;
        for (size_t k = 0; k < count; k++) {
            const struct memory_span *other = placed[k];
            if (other->first > span->last || other->last < span->first ||
                other->offset >= offset + span->bytes || other->offset + other->bytes <= offset)
                continue;
            offset = other->offset + other->bytes;
            again = true;
        }
    }
    return offset;
}

collage_status memory_place(const struct library *library, const struct partitions *partitions,
                            const struct recipe *recipe, struct memory_span *spans, uint64_t *total,
                            collage_message *message)
{
    struct memory_span **order = calloc(partitions->tensor_count + 1, sizeof *order);
    size_t count = 0;
    if (!order)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    for (size_t id = 0; id < partitions->tensor_count; id++)
        spans[id].root = id;
    dnnl_status_t status = find_lives(library, partitions, recipe, spans);
    if (status == dnnl_success)
        share_in_place(library, partitions, spans);
    for (size_t id = 0; id < partitions->tensor_count; id++)
        if (spans[id].bytes > 0 && spans[id].root == id)
            order[count++] = &spans[id];
    qsort(order, count, sizeof *order, larger_first);
    *total = 0;
    for (size_t k = 0; k < count; k++) {
        order[k]->offset = find_place(order, k, order[k]);
        if (order[k]->offset + order[k]->bytes > *total)
            *total = order[k]->offset + order[k]->bytes;
    }
    free(order);
    for (size_t id = 0; id < partitions->tensor_count; id++)
        if (spans[id].root != id)
            spans[id].offset = spans[spans[id].root].offset;
    return status == dnnl_success
               ? COLLAGE_OK
               : fail(message, COLLAGE_ERROR_BACKEND, "oneDNN Graph gives no sizes: %s",
                      onednn_status_text(status));
}
