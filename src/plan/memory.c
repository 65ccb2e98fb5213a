/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the activations: how long each piece lives, and where it lies. Views and in-place
 * outputs share one piece. Placing is greedy by size, each into the smallest gap that fits
 * (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020,
 * section 5.2).
 */
#include "plan/plan.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 };

/* A piece of memory: a root tensor of the arena and all that share it. */
struct piece {
    uint32_t tensor;
    uint32_t first, last; /* steps */
    uint64_t bytes;       /* rounded up to the alignment */
    uint64_t offset;
};

static void touch(struct piece *piece, uint32_t tensor, uint32_t step)
{
    if (piece->tensor == GRAPH_NONE) {
        *piece = (struct piece){ .tensor = tensor, .first = step, .last = step };
    } else {
        piece->first = step < piece->first ? step : piece->first;
        piece->last = step > piece->last ? step : piece->last;
    }
}

/* One piece for each tensor; those that are not in the arena, or empty, keep tensor == GRAPH_NONE.
 */
static void find_lives(const struct plan *plan, struct piece *pieces)
{
    for (uint32_t t = 0; t < plan->tensor_count; t++)
        pieces[t].tensor = GRAPH_NONE;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        for (uint32_t k = 0; k < step->input_count + step->output_count; k++) {
            uint32_t tensor =
                k < step->input_count ? step->inputs[k] : step->outputs[k - step->input_count];
            uint32_t root = plan_tensor_root(plan, tensor);
            if (plan->tensors[root].place == PLAN_ARENA && plan->tensors[root].bytes > 0)
                touch(&pieces[root], root, s);
        }
    }
}

/* Largest first; ties by time, then by index, so that the result is the same everywhere. */
static int compare_pieces(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

/* placed: indices into pieces, by ascending offset. */
static uint64_t find_gap(const struct piece *pieces, const uint32_t *placed, uint32_t placed_count,
                         const struct piece *piece)
{
    uint64_t end = 0, best = UINT64_MAX, best_size = UINT64_MAX;
    for (uint32_t k = 0; k < placed_count; k++) {
        const struct piece *other = &pieces[placed[k]];
        if (other->last < piece->first || other->first > piece->last)
            continue;
        if (other->offset >= end + piece->bytes && other->offset - end < best_size) {
            best = end;
            best_size = other->offset - end;
        }
        if (other->offset + other->bytes > end)
            end = other->offset + other->bytes;
    }
    return best != UINT64_MAX ? best : end;
}

static uint64_t place_pieces(struct piece *pieces, uint32_t count, uint32_t *placed)
{
    uint64_t total = 0;
    for (uint32_t k = 0; k < count; k++) {
        pieces[k].offset = find_gap(pieces, placed, k, &pieces[k]);
        uint32_t at = k;
        for (; at > 0 && pieces[placed[at - 1]].offset > pieces[k].offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = k;
        if (pieces[k].offset + pieces[k].bytes > total)
            total = pieces[k].offset + pieces[k].bytes;
    }
    return total;
}

/* Those that share memory: shares come before them. */
static void place_sharers(struct plan *plan, const struct graph *graph, uint32_t *writers)
{
    bool part;
    plan_tensor_writers(plan, writers);
    for (uint32_t t = 0; t < plan->tensor_count; t++) {
        struct plan_tensor *tensor = &plan->tensors[t];
        if (tensor->shares != GRAPH_NONE && tensor->place == PLAN_ARENA)
            tensor->offset = plan->tensors[tensor->shares].offset +
                             plan_share_offset(plan, graph, writers, t, &part);
    }
}

collage_status plan_memory(struct plan *plan, const struct graph *graph, struct error *error)
{
    struct piece *pieces = memory_alloc(plan->tensor_count * sizeof *pieces);
    uint32_t *placed = memory_alloc(plan->tensor_count * sizeof *placed);
    if (!pieces || !placed) {
        memory_free(pieces);
        memory_free(placed);
        return error_memory(error);
    }
    find_lives(plan, pieces);
    uint32_t count = 0;
    for (uint32_t t = 0; t < plan->tensor_count; t++) {
        plan->tensors[t].offset = 0;
        if (pieces[t].tensor == GRAPH_NONE)
            continue;
        pieces[count] = pieces[t];
        pieces[count++].bytes = (plan->tensors[t].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    qsort(pieces, count, sizeof *pieces, compare_pieces);
    plan->arena_bytes = place_pieces(pieces, count, placed);
    for (uint32_t k = 0; k < count; k++)
        plan->tensors[pieces[k].tensor].offset = pieces[k].offset;
    place_sharers(plan, graph, placed); /* as long as the tensors */
    memory_free(pieces);
    memory_free(placed);
    return COLLAGE_OK;
}
