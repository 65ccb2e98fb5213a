/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/import_order.h"

enum { WHITE, GREY, BLACK };

/* A depth-first walk with an explicit stack. */
struct walk {
    Onnx__NodeProto *const *nodes;
    const struct name_map *producers;
    uint8_t *colour;
    uint32_t *stack, *next_input;
    uint32_t *order;
    size_t count;
};

static collage_status walk_from(struct walk *walk, uint32_t root, struct error *error)
{
    size_t depth = 0;
    walk->stack[depth++] = root;
    walk->colour[root] = GREY;
    while (depth > 0) {
        uint32_t n = walk->stack[depth - 1];
        const Onnx__NodeProto *node = walk->nodes[n];
        if (walk->next_input[n] == node->n_input) {
            walk->colour[n] = BLACK;
            walk->order[walk->count++] = n;
            depth--;
            continue;
        }
        const char *name = message_string(node->input[walk->next_input[n]++]);
        uint32_t producer = name[0] ? name_map_find(walk->producers, name) : NAME_MAP_NONE;
        if (producer == NAME_MAP_NONE || walk->colour[producer] == BLACK)
            continue;
        if (walk->colour[producer] == GREY)
            return error_set(error, COLLAGE_ERROR_FORMAT,
                             "the graph has a cycle through node '%s' (value '%s')",
                             message_string(node->name), name);
        walk->colour[producer] = GREY;
        walk->stack[depth++] = producer;
    }
    return COLLAGE_OK;
}

static collage_status find_producers(Onnx__NodeProto *const *nodes, size_t count,
                                     struct name_map *producers, struct error *error)
{
    if (count >= NAME_MAP_NONE)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "too many nodes");
    for (uint32_t n = 0; n < count; n++)
        for (size_t k = 0; k < nodes[n]->n_output; k++) {
            const char *name = message_string(nodes[n]->output[k]);
            if (!name[0])
                continue;
            if (name_map_find(producers, name) != NAME_MAP_NONE)
                return error_set(error, COLLAGE_ERROR_FORMAT, "value '%s' is made by two nodes",
                                 name);
            if (!name_map_add(producers, name, n))
                return error_memory(error);
        }
    return COLLAGE_OK;
}

collage_status import_order(Onnx__NodeProto *const *nodes, size_t n, struct name_map *producers,
                            uint32_t **order, struct error *error)
{
    *order = NULL;
    collage_status status = find_producers(nodes, n, producers, error);
    if (status != COLLAGE_OK)
        return status;
    struct walk walk = { .nodes = nodes,
                         .producers = producers,
                         .colour = memory_alloc(n),
                         .stack = memory_alloc(n * sizeof(uint32_t)),
                         .next_input = memory_alloc(n * sizeof(uint32_t)),
                         .order = memory_alloc(n * sizeof(uint32_t)) };
    if (!walk.colour || !walk.stack || !walk.next_input || !walk.order)
        status = error_memory(error);
    for (uint32_t i = 0; status == COLLAGE_OK && i < n; i++)
        if (walk.colour[i] == WHITE)
            status = walk_from(&walk, i, error);
    memory_free(walk.colour);
    memory_free(walk.stack);
    memory_free(walk.next_input);
    *order = walk.order;
    return status;
}
