/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the activations: how long each piece lives, and where it lies. Views and in-place
 * outputs share one piece. Placing is greedy by size, each into the smallest gap that fits
 * (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020,
 * section 5.2).
 */
#include "plan/lanes.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 };

/* A piece of memory: a root tensor of the arena and all that share it. */
struct piece {
    uint32_t tensor;
    uint32_t first;                 /* step */
    const uint32_t *before, *after; /* plan_order_lives */
    uint64_t bytes;                 /* rounded up to the alignment */
    uint64_t offset;
};

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
                         const struct piece *piece, uint32_t lanes)
{
    uint64_t end = 0, best = UINT64_MAX, best_size = UINT64_MAX;
    for (uint32_t k = 0; k < placed_count; k++) {
        const struct piece *other = &pieces[placed[k]];
        if (plan_order_is_over(other->after, piece->before, lanes) ||
            plan_order_is_over(piece->after, other->before, lanes))
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

static uint64_t place_pieces(struct piece *pieces, uint32_t count, uint32_t *placed, uint32_t lanes)
{
    uint64_t total = 0;
    for (uint32_t k = 0; k < count; k++) {
        pieces[k].offset = find_gap(pieces, placed, k, &pieces[k], lanes);
        uint32_t at = k;
        for (; at > 0 && pieces[placed[at - 1]].offset > pieces[k].offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = k;
        if (pieces[k].offset + pieces[k].bytes > total)
            total = pieces[k].offset + pieces[k].bytes;
    }
    return total;
}

/* Pieces of what lies in the arena and is not empty; their steps begin with the least of
 * `before`, that of the lane which has the first one. */
static uint32_t list_pieces(struct plan *plan, const struct plan_order *order, uint32_t *before,
                            uint32_t *after, struct piece *pieces)
{
    uint32_t count = 0;
    plan_order_lives(plan, order, before, after);
    for (uint32_t t = 0; t < plan->tensor_count; t++) {
        struct plan_tensor *tensor = &plan->tensors[t];
        const size_t row = (size_t)t * order->lanes;
        tensor->offset = 0;
        if (tensor->place != PLAN_ARENA || tensor->shares != GRAPH_NONE || tensor->bytes == 0 ||
            before[row] == UINT32_MAX)
            continue;
        uint32_t first = 0;
        for (uint32_t lane = 0; lane < order->lanes; lane++)
            first = before[row + lane] > first ? before[row + lane] : first;
        pieces[count++] =
            (struct piece){ .tensor = t,
                            .first = first,
                            .before = before + row,
                            .after = after + row,
                            .bytes = (tensor->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };
    }
    return count;
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
    struct plan_order order;
    collage_status status = plan_order_create(plan, &order, error);
    if (status != COLLAGE_OK)
        return status;
    const size_t cells = (size_t)plan->tensor_count * order.lanes;
    struct piece *pieces = arena_array(order.arena, plan->tensor_count, sizeof *pieces);
    uint32_t *placed = arena_array(order.arena, plan->tensor_count, sizeof *placed);
    uint32_t *before = arena_array(order.arena, cells, sizeof *before);
    uint32_t *after = arena_array(order.arena, cells, sizeof *after);
    if (!pieces || !placed || !before || !after) {
        plan_order_free(&order);
        return error_memory(error);
    }
    const uint32_t count = list_pieces(plan, &order, before, after, pieces);
    qsort(pieces, count, sizeof *pieces, compare_pieces);
    plan->arena_bytes = place_pieces(pieces, count, placed, order.lanes);
    for (uint32_t k = 0; k < count; k++)
        plan->tensors[pieces[k].tensor].offset = pieces[k].offset;
    place_sharers(plan, graph, placed); /* as long as the tensors */
    plan_order_free(&order);
    return COLLAGE_OK;
}
