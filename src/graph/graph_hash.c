/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/attribute_hash.h"
#include "graph/graph.h"

/* Contents of constants up to this size count; larger ones are told apart by graph->source. */
enum { SMALL_BYTES = 4096 };

static void hash_value(struct hash_state *state, const struct value *value)
{
    const struct tensor *t = &value->tensor;
    hash_string(state, value->name);
    hash_u64(state, (uint64_t)value->kind);
    hash_u64(state, (uint64_t)t->dtype);
    hash_u64(state, (uint64_t)t->rank);
    hash_bytes(state, t->dims, (size_t)t->rank * sizeof *t->dims);
    if (value->kind == VALUE_CONSTANT && tensor_bytes(t) <= SMALL_BYTES)
        hash_bytes(state, t->data, (size_t)tensor_bytes(t));
    if (value->dequantized) {
        const struct dequantized *from = value->dequantized;
        hash_u64(state, from->integers);
        hash_u64(state, from->scale);
        hash_u64(state, from->zero);
        hash_u64(state, (uint64_t)from->axis);
        hash_u64(state, (uint64_t)from->block_size);
    }
}

static bool hash_node(struct hash_state *state, const collage_node *node)
{
    hash_string(state, node->op_type);
    hash_string(state, node->name);
    hash_u64(state, node->input_count);
    hash_bytes(state, node->inputs, node->input_count * sizeof *node->inputs);
    hash_u64(state, node->output_count);
    hash_bytes(state, node->outputs, node->output_count * sizeof *node->outputs);
    return attribute_hash_all(state, node);
}

struct hash graph_hash(const struct graph *graph)
{
    struct hash_state *state = hash_begin();
    if (!state)
        return (struct hash){ 0 };
    bool ok = true;
    hash_u64(state, graph->value_count);
    for (size_t v = 0; v < graph->value_count; v++)
        hash_value(state, &graph->values[v]);
    hash_u64(state, graph->node_count);
    for (size_t n = 0; n < graph->node_count; n++)
        ok = hash_node(state, &graph->nodes[n].base) && ok;
    hash_u64(state, graph->input_count);
    hash_bytes(state, graph->inputs, graph->input_count * sizeof *graph->inputs);
    hash_u64(state, graph->output_count);
    hash_bytes(state, graph->outputs, graph->output_count * sizeof *graph->outputs);
    struct hash hash = hash_end(state);
    return ok ? hash : (struct hash){ 0 };
}
