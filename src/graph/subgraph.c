/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/subgraph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/attribute_hash.h"

/* A sub-graph under construction: the memory of all its parts, counted beforehand. */
struct builder {
    const struct graph *graph;
    uint32_t *index; /* value id -> index in the sub-graph + 1; 0: not yet met */
    collage_value *values;
    const collage_value **value_list;
    uint32_t value_count;
    collage_node *nodes;
    const collage_node **node_list;
    uint32_t *ids; /* the node's inputs and outputs, one after the other */
};

/* Equal address and length is equal contents for as long as the graph lives; kernels do not outlive
 * it. */
static uint64_t share_key(const struct graph *graph, const struct tensor *tensor)
{
    uint64_t parts[4] = { (uint64_t)(uintptr_t)tensor->data, tensor_bytes(tensor),
                          graph->source.low, graph->source.high };
    uint64_t key = hash_of(parts, sizeof parts).low;
    return key ? key : 1;
}

static uint32_t add_value(struct builder *builder, value_id id)
{
    if (id == GRAPH_NONE)
        return COLLAGE_NO_VALUE;
    if (builder->index[id])
        return builder->index[id] - 1;
    const struct value *from = &builder->graph->values[id];
    uint32_t at = builder->value_count++;
    builder->index[id] = at + 1;
    builder->values[at] = (collage_value){
        .name = from->name,
        .dtype = from->tensor.dtype,
        .rank = from->tensor.rank,
        .dims = from->tensor.dims,
        .data = from->tensor.data,
        .bytes = tensor_bytes(&from->tensor),
        .share_key = from->kind == VALUE_CONSTANT ? share_key(builder->graph, &from->tensor) : 0,
    };
    builder->value_list[at] = &builder->values[at];
    return at;
}

static const uint32_t *add_values(struct builder *builder, const value_id *ids, uint32_t count)
{
    uint32_t *out = builder->ids;
    builder->ids += count;
    for (uint32_t k = 0; k < count; k++)
        out[k] = add_value(builder, ids[k]);
    return out;
}

/* ---- constants that were dequantized ---- */

enum { SOURCES = 3 }; /* integers, scale, zero */

static const struct dequantized *dequantized_of(const struct builder *builder, value_id id)
{
    return id == GRAPH_NONE ? NULL : builder->graph->values[id].dequantized;
}

/* Does the node read what a DequantizeLinear of the region makes? */
static bool reads_dequantized(const struct builder *builder, const struct region *region,
                              const collage_node *base)
{
    const struct graph *graph = builder->graph;
    for (uint32_t k = 0; k < base->input_count; k++) {
        value_id v = base->inputs[k];
        node_id producer = v == GRAPH_NONE ? GRAPH_NONE : graph->values[v].producer;
        if (producer != GRAPH_NONE && region_has(region, producer) &&
            strcmp(graph->nodes[producer].base.op_type, "DequantizeLinear") == 0)
            return true;
    }
    return false;
}

/* The constant scale that a value was dequantized with; NULL if there is none. */
static const struct tensor *scale_of(const struct builder *builder, value_id id)
{
    const struct graph *graph = builder->graph;
    if (id == GRAPH_NONE)
        return NULL;
    if (graph->values[id].dequantized)
        return &graph->values[graph->values[id].dequantized->scale].tensor;
    node_id producer = graph->values[id].producer;
    if (producer == GRAPH_NONE ||
        strcmp(graph->nodes[producer].base.op_type, "DequantizeLinear") != 0)
        return NULL;
    value_id scale = graph->nodes[producer].base.inputs[1];
    return graph_is_constant(graph, scale) ? &graph->values[scale].tensor : NULL;
}

/* Libraries add the integers of a bias to sums of products of integers, whatever its scale: that is
 * right if it is the product of the operands' scales. */
static bool has_scale_of_products(const struct builder *builder, const collage_node *base)
{
    static const double rounding = 1e-5;
    const struct dequantized *from = dequantized_of(builder, base->inputs[2]);
    const struct tensor *bias = &builder->graph->values[from->scale].tensor;
    const struct tensor *x = scale_of(builder, base->inputs[0]);
    const struct tensor *w = scale_of(builder, base->inputs[1]);
    int64_t count = tensor_elements(bias), channels = w ? tensor_elements(w) : 0;
    if (from->zero != GRAPH_NONE || !x || !w || tensor_elements(x) != 1 ||
        (channels != 1 && channels != count))
        return false;
    for (int64_t k = 0; k < count; k++) {
        double product = tensor_get(x, 0) * tensor_get(w, channels == 1 ? 0 : k);
        if (!(fabs(tensor_get(bias, k) - product) <= rounding * fabs(product)))
            return false;
    }
    return true;
}

/* 32 bits are those of a bias, the third input. */
static bool is_of_use(const struct builder *builder, const collage_node *base, uint32_t input)
{
    const struct dequantized *from = dequantized_of(builder, base->inputs[input]);
    if (!from)
        return false;
    return builder->graph->values[from->integers].tensor.dtype != COLLAGE_INT32 ||
           (input == 2 && has_scale_of_products(builder, base));
}

/* Adds what the constant was dequantized from to the values of the sub-graph. */
static bool add_sources(struct builder *builder, struct arena *arena, value_id id)
{
    collage_value *value = &builder->values[builder->index[id] - 1];
    const struct dequantized *from = dequantized_of(builder, id);
    if (value->dequantized)
        return true;
    collage_dequantized *sources = arena_alloc(arena, sizeof *sources);
    if (!sources)
        return false;
    sources->integers = add_value(builder, from->integers); /* in this order: hashes see it */
    sources->scale = add_value(builder, from->scale);
    sources->zero = add_value(builder, from->zero);
    sources->axis = from->axis;
    sources->block_size = from->block_size;
    value->dequantized = sources;
    return true;
}

/*
 * Beside quantized activations, libraries with kernels for integers want weights and biases as
 * integers. Elsewhere float32 is better: they would dequantize at each run.
 */
static bool show_dequantized(struct builder *builder, struct arena *arena,
                             const struct region *region)
{
    for (uint32_t i = 0; i < region->node_count; i++) {
        const collage_node *base = &builder->graph->nodes[region->nodes[i]].base;
        for (uint32_t k = 0; k < base->input_count; k++)
            if (is_of_use(builder, base, k) && reads_dequantized(builder, region, base) &&
                !add_sources(builder, arena, base->inputs[k]))
                return false;
    }
    return true;
}

/* ---- the whole ---- */

static bool allocate(struct builder *builder, struct arena *arena, const struct region *region)
{
    size_t ids = (size_t)region->input_count + region->output_count, sources = 0;
    for (uint32_t i = 0; i < region->node_count; i++) {
        const collage_node *base = &builder->graph->nodes[region->nodes[i]].base;
        ids += (size_t)base->input_count + base->output_count;
        for (uint32_t k = 0; k < base->input_count; k++)
            sources += dequantized_of(builder, base->inputs[k]) ? SOURCES : 0;
    }
    builder->index = memory_alloc(builder->graph->value_count * sizeof *builder->index);
    builder->values = arena_array(arena, ids + sources, sizeof *builder->values);
    builder->value_list = arena_array(arena, ids + sources, sizeof(collage_value *));
    builder->nodes = arena_array(arena, region->node_count, sizeof *builder->nodes);
    builder->node_list = arena_array(arena, region->node_count, sizeof(collage_node *));
    builder->ids = arena_array(arena, ids, sizeof *builder->ids);
    return builder->index && builder->values && builder->value_list && builder->nodes &&
           builder->node_list && builder->ids;
}

collage_status subgraph_make(struct arena *arena, const struct graph *graph,
                             const struct region *region, const collage_subgraph **out,
                             struct error *error)
{
    struct builder builder = { .graph = graph };
    collage_subgraph *subgraph = arena_alloc(arena, sizeof *subgraph);
    *out = NULL;
    if (!subgraph || !allocate(&builder, arena, region)) {
        memory_free(builder.index);
        return error_memory(error);
    }
    subgraph->inputs = add_values(&builder, region->inputs, region->input_count);
    for (uint32_t i = 0; i < region->node_count; i++) {
        collage_node node = graph->nodes[region->nodes[i]].base;
        node.inputs = add_values(&builder, node.inputs, node.input_count);
        node.outputs = add_values(&builder, node.outputs, node.output_count);
        builder.nodes[i] = node;
        builder.node_list[i] = &builder.nodes[i];
    }
    subgraph->outputs = add_values(&builder, region->outputs, region->output_count);
    bool shown = show_dequantized(&builder, arena, region);
    memory_free(builder.index);
    if (!shown)
        return error_memory(error);
    subgraph->struct_size = sizeof *subgraph;
    subgraph->values = builder.value_list;
    subgraph->value_count = builder.value_count;
    subgraph->nodes = builder.node_list;
    subgraph->node_count = region->node_count;
    subgraph->input_count = region->input_count;
    subgraph->output_count = region->output_count;
    subgraph->opset = OPS_OPSET;
    *out = subgraph;
    return COLLAGE_OK;
}

collage_status subgraph_make_identity(struct arena *arena, const struct tensor *shape,
                                      const collage_subgraph **out, struct error *error)
{
    static const uint32_t zero = 0;
    static const uint32_t one = 1;
    static const collage_node identity = { .op_type = "Identity",
                                           .name = "reorder",
                                           .inputs = &zero,
                                           .input_count = 1,
                                           .outputs = &one,
                                           .output_count = 1 };
    static const collage_node *const nodes[1] = { &identity };
    collage_subgraph *subgraph = arena_alloc(arena, sizeof *subgraph);
    collage_value *values = arena_array(arena, 2, sizeof *values);
    const collage_value **list = arena_array(arena, 2, sizeof(collage_value *));
    int64_t *dims = arena_copy(arena, shape->dims, sizeof shape->dims);
    *out = NULL;
    if (!subgraph || !values || !list || !dims)
        return error_memory(error);
    for (int k = 0; k < 2; k++) {
        values[k] = (collage_value){ .name = k ? "to" : "from",
                                     .dtype = shape->dtype,
                                     .rank = shape->rank,
                                     .dims = dims,
                                     .bytes = tensor_bytes(shape) };
        list[k] = &values[k];
    }
    *subgraph = (collage_subgraph){ .struct_size = sizeof *subgraph,
                                    .values = list,
                                    .value_count = 2,
                                    .nodes = nodes,
                                    .node_count = 1,
                                    .inputs = &zero,
                                    .input_count = 1,
                                    .outputs = &one,
                                    .output_count = 1,
                                    .opset = OPS_OPSET };
    *out = subgraph;
    return COLLAGE_OK;
}

/* Contents matter where they steer what a kernel does (shapes, axes, scalars), not for weights:
 * these are real numbers, or integers of up to 16 bits. */
enum { HASHED_ELEMENTS = 64 };

static bool contents_count(const collage_value *value)
{
    switch (value->dtype) {
    case COLLAGE_FLOAT32:
    case COLLAGE_FLOAT16:
    case COLLAGE_FLOAT64:
    case COLLAGE_BFLOAT16:
    case COLLAGE_INT8:
    case COLLAGE_UINT8:
    case COLLAGE_INT16:
    case COLLAGE_UINT16:
        return value->bytes / dtype_size(value->dtype) <= HASHED_ELEMENTS;
    default:
        return true;
    }
}

/* Scales of QuantizeLinear and DequantizeLinear, and what constants were dequantized from, are
 * weights as well, however small: otherwise no two layers of a quantized network would be equal.
 * Zero points count: kernels are faster where they are 0. */
static bool *find_weights(const collage_subgraph *subgraph)
{
    bool *weights = memory_alloc(subgraph->value_count * sizeof *weights);
    for (uint32_t n = 0; weights && n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        bool scales = strcmp(node->op_type, "QuantizeLinear") == 0 ||
                      strcmp(node->op_type, "DequantizeLinear") == 0;
        if (scales && node->input_count > 1 && node->inputs[1] != COLLAGE_NO_VALUE)
            weights[node->inputs[1]] = true;
    }
    for (uint32_t v = 0; weights && v < subgraph->value_count; v++) {
        const collage_dequantized *from = subgraph->values[v]->dequantized;
        if (from)
            weights[v] = weights[from->integers] = weights[from->scale] = true;
    }
    return weights;
}

static void hash_value(struct hash_state *state, const collage_value *value, bool weights)
{
    const collage_dequantized *from = value->dequantized;
    hash_u64(state, (uint64_t)value->dtype);
    hash_u64(state, (uint64_t)value->rank);
    hash_bytes(state, value->dims, (size_t)value->rank * sizeof *value->dims);
    hash_u64(state, value->data != NULL);
    if (value->data && !weights && contents_count(value))
        hash_bytes(state, value->data, (size_t)value->bytes);
    if (from) {
        hash_u64(state, from->integers);
        hash_u64(state, from->scale);
        hash_u64(state, from->zero);
        hash_u64(state, (uint64_t)from->axis);
        hash_u64(state, (uint64_t)from->block_size);
    }
}

static void hash_list(struct hash_state *state, const uint32_t *list, uint32_t count)
{
    hash_u64(state, count);
    hash_bytes(state, list, count * sizeof *list);
}

/* Values are numbered by first use (subgraph_make does), so their indices are the wiring. */
struct hash subgraph_hash(const collage_subgraph *subgraph)
{
    bool *weights = find_weights(subgraph);
    struct hash_state *state = weights ? hash_begin() : NULL;
    if (!state) {
        memory_free(weights);
        return (struct hash){ 0 };
    }
    bool ok = true;
    hash_u64(state, (uint64_t)subgraph->opset);
    hash_u64(state, subgraph->value_count);
    for (uint32_t v = 0; v < subgraph->value_count; v++)
        hash_value(state, subgraph->values[v], weights[v]);
    memory_free(weights);
    hash_u64(state, subgraph->node_count);
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        hash_string(state, node->op_type);
        hash_list(state, node->inputs, node->input_count);
        hash_list(state, node->outputs, node->output_count);
        ok = attribute_hash_all(state, node) && ok;
    }
    hash_list(state, subgraph->inputs, subgraph->input_count);
    hash_list(state, subgraph->outputs, subgraph->output_count);
    struct hash hash = hash_end(state);
    return ok ? hash : (struct hash){ 0 };
}

void subgraph_describe(const collage_subgraph *subgraph, char *text, size_t size)
{
    enum { SHOWN = 6 };
    size_t used = 0;
    if (size)
        text[0] = '\0';
    for (uint32_t n = 0; n < subgraph->node_count && n <= SHOWN && used < size; n++) {
        const char *word = n == SHOWN ? "..." : subgraph->nodes[n]->op_type;
        int length = snprintf(text + used, size - used, "%s%s", n ? "+" : "", word);
        used += length > 0 ? (size_t)length : 0;
    }
}
