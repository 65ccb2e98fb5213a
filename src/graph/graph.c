/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"

#include <string.h>

#include "ops/attribute.h"

struct graph *graph_create(void)
{
    struct graph *graph = memory_alloc(sizeof *graph);
    if (!graph)
        return NULL;
    graph->arena = arena_create();
    if (!graph->arena) {
        memory_free(graph);
        return NULL;
    }
    graph->name = "";
    graph->path = "";
    return graph;
}

void graph_destroy(struct graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->mapping_count; i++)
        file_unmap(&graph->mappings[i]);
    memory_free(graph->mappings);
    memory_free(graph->values);
    memory_free(graph->nodes);
    arena_destroy(graph->arena);
    memory_free(graph);
}

value_id graph_add_value(struct graph *graph, const char *name, enum value_kind kind,
                         const struct tensor *tensor)
{
    if (graph->value_count >= GRAPH_NONE ||
        !memory_grow((void **)&graph->values, &graph->value_capacity, graph->value_count,
                     sizeof *graph->values))
        return GRAPH_NONE;
    char *copy = arena_string(graph->arena, name);
    if (!copy)
        return GRAPH_NONE;
    value_id id = (value_id)graph->value_count++;
    graph->values[id] = (struct value){ .name = copy, .kind = kind, .producer = GRAPH_NONE };
    if (tensor)
        graph->values[id].tensor = *tensor;
    return id;
}

node_id graph_add_node(struct graph *graph, const struct op *op, const char *name,
                       const value_id *inputs, uint32_t input_count, const value_id *outputs,
                       uint32_t output_count, const collage_attribute *attributes,
                       uint32_t attribute_count)
{
    struct arena *arena = graph->arena;
    if (graph->node_count >= GRAPH_NONE ||
        !memory_grow((void **)&graph->nodes, &graph->node_capacity, graph->node_count,
                     sizeof *graph->nodes))
        return GRAPH_NONE;
    collage_node base = { .op_type = op->name,
                          .name = arena_string(arena, name),
                          .inputs = arena_copy(arena, inputs, input_count * sizeof *inputs),
                          .input_count = input_count,
                          .outputs = arena_copy(arena, outputs, output_count * sizeof *outputs),
                          .output_count = output_count };
    base.attributes = attribute_copy_all(arena, attributes, attribute_count);
    base.attribute_count = attribute_count;
    if (!base.name || !base.inputs || !base.outputs || !base.attributes)
        return GRAPH_NONE;
    node_id id = (node_id)graph->node_count++;
    graph->nodes[id] = (struct node){ base, op };
    for (uint32_t k = 0; k < output_count; k++)
        if (outputs[k] != GRAPH_NONE)
            graph->values[outputs[k]].producer = id;
    return id;
}

collage_status graph_set_inputs(struct graph *graph, const value_id *inputs, uint32_t count,
                                struct error *error)
{
    value_id *copy = arena_copy(graph->arena, inputs, count * sizeof *inputs);
    if (!copy)
        return error_memory(error);
    graph->inputs = copy;
    graph->input_count = count;
    return COLLAGE_OK;
}

collage_status graph_set_outputs(struct graph *graph, const value_id *outputs, uint32_t count,
                                 struct error *error)
{
    value_id *copy = arena_copy(graph->arena, outputs, count * sizeof *outputs);
    if (!copy)
        return error_memory(error);
    graph->outputs = copy;
    graph->output_count = count;
    return COLLAGE_OK;
}

value_id graph_find_value(const struct graph *graph, const char *name)
{
    for (size_t v = 0; v < graph->value_count; v++)
        if (strcmp(graph->values[v].name, name) == 0)
            return (value_id)v;
    return GRAPH_NONE;
}

const char *graph_fresh_name(struct graph *graph, const char *base)
{
    const char *name = base;
    for (unsigned n = 1; graph_find_value(graph, name) != GRAPH_NONE; n++) {
        name = arena_format(graph->arena, "%s_%u", base, n);
        if (!name)
            return NULL;
    }
    return name;
}

const char *graph_property(const struct graph *graph, const char *key)
{
    for (size_t i = 0; i < graph->property_count; i++)
        if (strcmp(graph->properties[i].key, key) == 0)
            return graph->properties[i].value;
    return NULL;
}

bool graph_is_constant(const struct graph *graph, value_id value)
{
    return value != GRAPH_NONE && graph->values[value].kind == VALUE_CONSTANT;
}

bool graph_is_output(const struct graph *graph, value_id value)
{
    for (uint32_t k = 0; k < graph->output_count; k++)
        if (graph->outputs[k] == value)
            return true;
    return false;
}

value_id *graph_node_inputs(struct graph *graph, node_id node)
{
    return (value_id *)(uintptr_t)graph->nodes[node].base.inputs;
}

void graph_replace_uses(struct graph *graph, value_id from, value_id to)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        value_id *inputs = graph_node_inputs(graph, (node_id)n);
        for (uint32_t k = 0; graph->nodes[n].op && k < graph->nodes[n].base.input_count; k++)
            if (inputs[k] == from)
                inputs[k] = to;
    }
}

void graph_remove_node(struct graph *graph, node_id node)
{
    graph->nodes[node].op = NULL;
}
