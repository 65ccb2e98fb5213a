/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_fixture.h: a small network for tests of backends: parsed from the text form or imported,
 * with weights and inputs filled, run by the reference operators, and shown as a sub-graph.
 */
#ifndef COLLAGE_TESTS_NETWORK_FIXTURE_H
#define COLLAGE_TESTS_NETWORK_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backend/registry.h"
#include "graph/graph_text.h"
#include "graph/subgraph.h"

enum { NETWORK_PORTS = 8 };

struct network {
    struct graph *graph;
    struct arena *arena;
    const collage_subgraph *subgraph;       /* the whole graph */
    struct tensor *values;                  /* what the reference computes, by value id */
    const void *inputs[NETWORK_PORTS];      /* of the sub-graph */
    struct tensor *expected[NETWORK_PORTS]; /* of the sub-graph's outputs */
};

#define ASSERT_OK(call, error)                                                                     \
    do {                                                                                           \
        if ((call) != COLLAGE_OK)                                                                  \
            fail_msg("%s: %s", #call, (error).text);                                               \
    } while (0)

static inline void network_allocate(struct network *network)
{
    struct graph *graph = network->graph;
    network->values = memory_alloc((graph->value_count + 1) * sizeof *network->values);
    assert_non_null(network->values);
    for (size_t v = 0; v < graph->value_count; v++) {
        network->values[v] = graph->values[v].tensor;
        if (graph->values[v].kind == VALUE_CONSTANT)
            continue;
        network->values[v].data = memory_alloc_aligned(tensor_bytes(&network->values[v]));
        assert_non_null(network->values[v].data);
        if (graph->values[v].kind == VALUE_INPUT)
            tensor_fill_example(&network->values[v], 1000 + v, 2);
    }
}

static inline void network_compute(struct network *network)
{
    struct graph *graph = network->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        const struct tensor *inputs[16] = { NULL };
        struct tensor outputs[8] = { { 0 } };
        assert_true(node->base.input_count <= 16 && node->base.output_count <= 8);
        for (uint32_t k = 0; k < node->base.input_count; k++)
            if (node->base.inputs[k] != GRAPH_NONE)
                inputs[k] = &network->values[node->base.inputs[k]];
        for (uint32_t k = 0; k < node->base.output_count; k++)
            if (node->base.outputs[k] != GRAPH_NONE)
                outputs[k] = network->values[node->base.outputs[k]];
        struct op_call call = { &node->base, node->base.input_count, node->base.output_count,
                                inputs, outputs };
        struct error error = { 0 };
        ASSERT_OK(node->op->compute(&call, &error), error);
    }
}

/* The whole graph as a region and as the plugin sees it. */
static inline struct region network_subgraph(struct arena *arena, const struct graph *graph,
                                             const collage_subgraph **subgraph)
{
    struct error error = { 0 };
    struct graph_uses uses;
    struct region region;
    node_id *nodes = arena_array(arena, graph->node_count, sizeof *nodes);
    assert_non_null(nodes);
    for (size_t n = 0; n < graph->node_count; n++)
        nodes[n] = (node_id)n;
    ASSERT_OK(graph_uses_build(graph, &uses, &error), error);
    ASSERT_OK(region_make(arena, graph, &uses, nodes, (uint32_t)graph->node_count, &region, &error),
              error);
    ASSERT_OK(subgraph_make(arena, graph, &region, subgraph, &error), error);
    graph_uses_free(&uses);
    return region;
}

/* Takes over the graph. */
static inline void network_make(struct network *network, struct graph *graph)
{
    *network = (struct network){ .graph = graph, .arena = arena_create() };
    assert_non_null(network->arena);
    const struct region region = network_subgraph(network->arena, graph, &network->subgraph);
    network_allocate(network);
    network_compute(network);
    assert_true(region.input_count <= NETWORK_PORTS && region.output_count <= NETWORK_PORTS);
    for (uint32_t k = 0; k < region.input_count; k++)
        network->inputs[k] = network->values[region.inputs[k]].data;
    for (uint32_t k = 0; k < region.output_count; k++)
        network->expected[k] = &network->values[region.outputs[k]];
}

/* Constants that the text does not spell out get example values. */
static inline void network_parse(struct network *network, const char *text)
{
    struct error error = { 0 };
    struct graph *graph = NULL;
    ASSERT_OK(graph_parse(text, &graph, &error), error);
    for (size_t v = 0; v < graph->value_count; v++) {
        struct tensor *tensor = &graph->values[v].tensor;
        if (graph->values[v].kind != VALUE_CONSTANT || tensor_elements(tensor) <= 16)
            continue;
        tensor->data = arena_alloc(graph->arena, tensor_bytes(tensor));
        assert_non_null(tensor->data);
        tensor_fill_example(tensor, v, 2);
    }
    network_make(network, graph);
}

static inline void network_destroy(struct network *network)
{
    for (size_t v = 0; v < network->graph->value_count; v++)
        if (network->graph->values[v].kind != VALUE_CONSTANT)
            memory_free_aligned(network->values[v].data);
    memory_free(network->values);
    arena_destroy(network->arena);
    graph_destroy(network->graph);
}

/* ---- a backend's kernel for the whole network ---- */

static inline collage_status network_compile(const struct network *network,
                                             const struct registry *registry, uint32_t backend,
                                             const collage_target *target, uint32_t flags,
                                             const char *model_path, collage_kernel **kernel,
                                             collage_message *message)
{
    collage_layout inputs[NETWORK_PORTS] = { { "" } }, outputs[NETWORK_PORTS] = { { "" } };
    collage_variant variant = { .struct_size = sizeof variant,
                                .inputs = inputs,
                                .outputs = outputs };
    collage_compile_request request = { .struct_size = sizeof request,
                                        .subgraph = network->subgraph,
                                        .variant = &variant,
                                        .target = target,
                                        .flags = flags,
                                        .model_path = model_path };
    return registry->entries[backend].api->compile(registry->entries[backend].open, &request,
                                                   kernel, message);
}

/* Runs the kernel into fresh memory that holds rubbish, and compares with the reference. */
static inline void network_check(const struct network *network, const collage_backend_api *api,
                                 collage_kernel *kernel)
{
    void *outputs[NETWORK_PORTS];
    collage_message message = { "" };
    collage_kernel_info info = { .struct_size = sizeof info };
    api->kernel_info(kernel, &info);
    void *scratch = memory_alloc_aligned(info.scratch_bytes + 64);
    assert_non_null(scratch);
    for (uint32_t k = 0; k < network->subgraph->output_count; k++) {
        outputs[k] = memory_alloc_aligned(tensor_bytes(network->expected[k]));
        assert_non_null(outputs[k]);
        memset(outputs[k], 0x5a, tensor_bytes(network->expected[k]));
    }
    if (api->run(kernel, NULL, network->inputs, outputs, scratch, &message) != COLLAGE_OK)
        fail_msg("%s", message.text);
    for (uint32_t k = 0; k < network->subgraph->output_count; k++) {
        struct tensor actual = *network->expected[k];
        actual.data = outputs[k];
        struct tensor_difference difference = tensor_compare(&actual, network->expected[k]);
        if (!(difference.error <= TENSOR_KERNEL_TOLERANCE))
            fail_msg("output %u: error %g at %lld: %g instead of %g", k, difference.error,
                     (long long)difference.index, difference.actual, difference.expected);
        memory_free_aligned(outputs[k]);
    }
    memory_free_aligned(scratch);
}

#endif
