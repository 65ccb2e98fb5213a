/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/verify.h"

#include <stdlib.h>
#include <string.h>

static collage_status broken(struct error *error, const char *what, const char *name)
{
    return error_set(error, COLLAGE_ERROR_INTERNAL, "graph invariant broken: %s: '%s'", what, name);
}

static bool is_constant_or_none(const struct graph *graph, value_id id)
{
    return id == GRAPH_NONE || (id < graph->value_count && graph_is_constant(graph, id));
}

/* What it was dequantized from is there, and was not dequantized itself. */
static collage_status check_dequantized(const struct graph *graph, const struct value *v,
                                        struct error *error)
{
    const struct dequantized *from = v->dequantized;
    if (!from)
        return COLLAGE_OK;
    bool sound = from->integers != GRAPH_NONE && from->scale != GRAPH_NONE &&
                 is_constant_or_none(graph, from->integers) &&
                 is_constant_or_none(graph, from->scale) && is_constant_or_none(graph, from->zero);
    if (v->kind != VALUE_CONSTANT || v->tensor.dtype != COLLAGE_FLOAT32 || !sound)
        return broken(error, "dequantized from what is no constant", v->name);
    if (graph->values[from->integers].dequantized || graph->values[from->scale].dequantized ||
        !tensor_same_shape(&v->tensor, &graph->values[from->integers].tensor))
        return broken(error, "dequantized from what does not fit", v->name);
    return COLLAGE_OK;
}

static collage_status check_value(const struct graph *graph, value_id id, struct error *error)
{
    const struct value *v = &graph->values[id];
    uint64_t bytes;
    if (!v->name || !v->name[0])
        return broken(error, "value without a name", "");
    if (v->tensor.rank < 0 || v->tensor.rank > COLLAGE_MAX_RANK || !dtype_size(v->tensor.dtype) ||
        !tensor_check_size(&v->tensor, &bytes))
        return broken(error, "value without a valid type and shape", v->name);
    if (v->kind == VALUE_CONSTANT && !v->tensor.data && bytes > 0)
        return broken(error, "constant without data", v->name);
    if (v->kind != VALUE_CONSTANT && v->tensor.data)
        return broken(error, "value with data that is no constant", v->name);
    if (v->kind == VALUE_COMPUTED && v->producer >= graph->node_count)
        return broken(error, "computed value without a producer", v->name);
    if (v->kind != VALUE_COMPUTED && v->producer != GRAPH_NONE)
        return broken(error, "input or constant with a producer", v->name);
    return check_dequantized(graph, v, error);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static collage_status check_names(const struct graph *graph, struct error *error)
{
    const char **names = memory_alloc(graph->value_count * sizeof *names);
    if (!names)
        return error_memory(error);
    for (size_t v = 0; v < graph->value_count; v++)
        names[v] = graph->values[v].name;
    qsort(names, graph->value_count, sizeof *names, compare_names);
    collage_status status = COLLAGE_OK;
    for (size_t v = 1; status == COLLAGE_OK && v < graph->value_count; v++)
        if (strcmp(names[v - 1], names[v]) == 0)
            status = broken(error, "two values of one name", names[v]);
    memory_free(names);
    return status;
}

/* Ids in range, operands made before, outputs that point back. */
static collage_status check_wiring(const struct graph *graph, node_id id, struct error *error)
{
    const struct node *node = &graph->nodes[id];
    const collage_node *base = &node->base;
    if (!node->op || strcmp(node->op->name, base->op_type) != 0)
        return broken(error, "removed node or wrong operator", base->name);
    for (uint32_t k = 0; k < base->input_count; k++) {
        if (base->inputs[k] == GRAPH_NONE)
            continue;
        if (base->inputs[k] >= graph->value_count)
            return broken(error, "input id out of range", base->name);
        const struct value *v = &graph->values[base->inputs[k]];
        if (v->kind == VALUE_COMPUTED && v->producer >= id)
            return broken(error, "not in topological order", base->name);
    }
    for (uint32_t k = 0; k < base->output_count; k++) {
        if (base->outputs[k] == GRAPH_NONE)
            continue;
        if (base->outputs[k] >= graph->value_count)
            return broken(error, "output id out of range", base->name);
        const struct value *v = &graph->values[base->outputs[k]];
        if (v->kind != VALUE_COMPUTED || v->producer != id)
            return broken(error, "output with another producer", base->name);
    }
    return COLLAGE_OK;
}

/* What inference gives anew is what the values say. op_infer checks the arity too. */
static collage_status check_shapes(const struct graph *graph, node_id id, struct error *error)
{
    const collage_node *base = &graph->nodes[id].base;
    struct tensor *outputs = memory_alloc(base->output_count * sizeof *outputs);
    if (!outputs)
        return error_memory(error);
    collage_status status = graph_infer_outputs(graph, id, outputs, error);
    for (uint32_t k = 0; status == COLLAGE_OK && k < base->output_count; k++) {
        if (base->outputs[k] == GRAPH_NONE)
            continue;
        const struct value *v = &graph->values[base->outputs[k]];
        if (v->tensor.dtype != outputs[k].dtype || !tensor_same_shape(&v->tensor, &outputs[k]))
            status = broken(error, "shape or type differs from inference", v->name);
    }
    memory_free(outputs);
    return status;
}

static collage_status check_ports(const struct graph *graph, struct error *error)
{
    for (uint32_t k = 0; k < graph->input_count; k++)
        if (graph->inputs[k] >= graph->value_count ||
            graph->values[graph->inputs[k]].kind != VALUE_INPUT)
            return broken(error, "model input that is no input value", graph->name);
    for (uint32_t k = 0; k < graph->output_count; k++)
        if (graph->outputs[k] >= graph->value_count)
            return broken(error, "model output id out of range", graph->name);
    if (graph->output_count == 0)
        return broken(error, "graph without outputs", graph->name);
    return COLLAGE_OK;
}

collage_status graph_verify(const struct graph *graph, struct error *error)
{
    collage_status status = check_ports(graph, error);
    for (size_t v = 0; status == COLLAGE_OK && v < graph->value_count; v++)
        status = check_value(graph, (value_id)v, error);
    if (status == COLLAGE_OK)
        status = check_names(graph, error);
    for (size_t n = 0; status == COLLAGE_OK && n < graph->node_count; n++) {
        status = check_wiring(graph, (node_id)n, error);
        if (status == COLLAGE_OK)
            status = check_shapes(graph, (node_id)n, error);
    }
    return status;
}
