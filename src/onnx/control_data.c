/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/control_data.h"

#include <stdint.h>
#include <string.h>

#include "graph/body.h"
#include "onnx/control_flow.h"
#include "onnx/draft.h"
#include "onnx/scope.h"

enum { LOOP_OWN = 2 }; /* of a Loop's inputs: the trip count and the condition */

/* Ids of values or nodes. */
struct ids {
    uint32_t *list;
    size_t count, capacity;
};

/* A sub-graph that was inlined: nodes [first, end) of the graph, and what it makes. */
struct inlined {
    node_id first, end;
    value_id *outputs;
    uint32_t output_count;
};

static collage_status add_id(struct ids *ids, uint32_t id, struct error *error)
{
    if (!memory_grow((void **)&ids->list, &ids->capacity, ids->count, sizeof *ids->list))
        return error_memory(error);
    ids->list[ids->count++] = id;
    return COLLAGE_OK;
}

/* Of its outputs only the first `output_count` count. */
static collage_status inline_graph(struct importer *importer, const Onnx__GraphProto *graph,
                                   const char *prefix, const value_id *inputs,
                                   uint32_t output_count, struct inlined *out, struct error *error)
{
    *out = (struct inlined){ .first = (node_id)importer->graph->node_count,
                             .outputs = memory_alloc(graph->n_output * sizeof(value_id)),
                             .output_count = output_count };
    if (!out->outputs)
        return error_memory(error);
    collage_status status =
        control_flow_inline(importer, graph, prefix, inputs, out->outputs, error);
    out->end = (node_id)importer->graph->node_count;
    return status;
}

static bool is_inside(const struct graph *graph, const struct inlined *inlined, value_id value)
{
    node_id producer = graph->values[value].producer;
    return producer != GRAPH_NONE && producer >= inlined->first && producer < inlined->end;
}

/* Adds the value if it comes from outside and is not in the list yet. */
static collage_status capture(const struct graph *graph, const struct inlined *inlined,
                              value_id value, uint8_t *seen, struct ids *captured,
                              struct error *error)
{
    if (value == GRAPH_NONE || seen[value] || is_inside(graph, inlined, value))
        return COLLAGE_OK;
    seen[value] = 1;
    return add_id(captured, value, error);
}

/* What the inlined nodes take from around them, in order of first use. `seen`: value by value. */
static collage_status find_captured(const struct graph *graph, const struct inlined *inlined,
                                    uint8_t *seen, struct ids *captured, struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (node_id n = inlined->first; n < inlined->end && status == COLLAGE_OK; n++) {
        const struct node *node = &graph->nodes[n];
        for (uint32_t k = 0; node->op && k < node->base.input_count && status == COLLAGE_OK; k++)
            status = capture(graph, inlined, node->base.inputs[k], seen, captured, error);
    }
    for (uint32_t k = 0; k < inlined->output_count && status == COLLAGE_OK; k++)
        status = capture(graph, inlined, inlined->outputs[k], seen, captured, error);
    return status;
}

/* Takes the nodes out of the graph, into a body of these inputs. */
static collage_status take_body(struct graph *graph, const struct inlined *inlined,
                                const struct ids *inputs, const collage_subgraph **out,
                                struct error *error)
{
    struct ids nodes = { 0 };
    collage_status status = COLLAGE_OK;
    for (node_id n = inlined->first; n < inlined->end && status == COLLAGE_OK; n++)
        if (graph->nodes[n].op)
            status = add_id(&nodes, n, error);
    const struct body_parts parts = { .nodes = nodes.list,
                                      .inputs = inputs->list,
                                      .outputs = inlined->outputs,
                                      .node_count = (uint32_t)nodes.count,
                                      .input_count = (uint32_t)inputs->count,
                                      .output_count = inlined->output_count };
    if (status == COLLAGE_OK)
        status = body_make(graph->arena, graph, &parts, out, error);
    for (size_t i = 0; i < nodes.count; i++)
        graph_remove_node(graph, nodes.list[i]);
    memory_free(nodes.list);
    return status;
}

/* The node itself; outputs beyond output_count are left out. */
static collage_status emit_node(struct importer *importer, const Onnx__NodeProto *node,
                                const struct ids *inputs, uint32_t output_count,
                                const collage_attribute *attributes, uint32_t attribute_count,
                                struct error *error)
{
    struct arena *arena = importer->graph->arena;
    struct draft draft = { .op_type = node->op_type,
                           .name = control_flow_name(node),
                           .input_count = (uint32_t)inputs->count,
                           .output_count = output_count,
                           .attribute_count = attribute_count };
    draft.inputs = arena_copy(arena, inputs->list, inputs->count * sizeof *inputs->list);
    draft.outputs = arena_array(arena, output_count, sizeof *draft.outputs);
    draft.output_names = arena_array(arena, output_count, sizeof *draft.output_names);
    draft.attributes = arena_copy(arena, attributes, attribute_count * sizeof *attributes);
    if (!draft.inputs || !draft.outputs || !draft.output_names || !draft.attributes)
        return error_memory(error);
    for (uint32_t k = 0; k < output_count; k++)
        draft.output_names[k] = message_string(node->output[k]);
    return importer_emit(importer, &draft, error);
}

/* ---- If ---- */

static const char *const branch_names[2] = { "else_branch", "then_branch" };

static collage_status inline_branches(struct importer *importer, const Onnx__NodeProto *node,
                                      struct inlined branches[2], struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (int k = 0; k < 2 && status == COLLAGE_OK; k++) {
        const Onnx__GraphProto *branch = NULL;
        status = control_flow_body(importer, node, branch_names[k], &branch, error);
        if (status != COLLAGE_OK)
            return status;
        if (branch->n_input > 0 || branch->n_output < node->n_output)
            return error_set(error, COLLAGE_ERROR_FORMAT, "its branch does not fit its outputs");
        status = inline_graph(importer, branch, control_flow_name(node), NULL,
                              (uint32_t)node->n_output, &branches[k], error);
    }
    return status;
}

static collage_status make_if(struct importer *importer, const Onnx__NodeProto *node,
                              const struct inlined branches[2], struct ids *inputs, uint8_t *seen,
                              struct error *error)
{
    struct graph *graph = importer->graph;
    collage_attribute attributes[2] = { { 0 } };
    collage_status status = COLLAGE_OK;
    for (int k = 0; k < 2 && status == COLLAGE_OK; k++)
        status = find_captured(graph, &branches[k], seen, inputs, error);
    const struct ids captured = { inputs->list + 1, inputs->count - 1, 0 };
    for (int k = 0; k < 2 && status == COLLAGE_OK; k++) {
        attributes[k] =
            (collage_attribute){ .name = branch_names[k], .kind = COLLAGE_ATTRIBUTE_GRAPH };
        status = take_body(graph, &branches[k], &captured, &attributes[k].graph, error);
    }
    return status == COLLAGE_OK
               ? emit_node(importer, node, inputs, (uint32_t)node->n_output, attributes, 2, error)
               : status;
}

collage_status control_data_if(struct importer *importer, const Onnx__NodeProto *node,
                               value_id condition, struct error *error)
{
    struct inlined branches[2] = { { 0 } };
    struct ids inputs = { 0 };
    uint8_t *seen = NULL;
    collage_status status = inline_branches(importer, node, branches, error);
    if (status == COLLAGE_OK)
        status = add_id(&inputs, condition, error);
    if (status == COLLAGE_OK) {
        seen = memory_alloc(importer->graph->value_count);
        status =
            seen ? make_if(importer, node, branches, &inputs, seen, error) : error_memory(error);
    }
    memory_free(seen);
    memory_free(inputs.list);
    memory_free(branches[0].outputs);
    memory_free(branches[1].outputs);
    return status;
}

/* ---- Loop ---- */

/* A value that stands for an input of the body. It is no input of the model, and goes with the
 * nodes. */
static collage_status stand_in(struct importer *importer, const Onnx__NodeProto *node,
                               const char *what, const struct tensor *type, value_id *out,
                               struct error *error)
{
    const char *name = importer_fresh_name(importer, control_flow_name(node), what);
    struct tensor tensor = *type;
    tensor.data = NULL;
    return name ? importer_value(importer, name, VALUE_INPUT, &tensor, out, error)
                : error_memory(error);
}

/* What the body takes, as values of the graph; and the node's inputs, without any left out. */
static collage_status loop_inputs(struct importer *importer, const Onnx__NodeProto *node,
                                  const value_id *given, size_t carried, struct ids *inputs,
                                  struct ids *body_inputs, struct error *error)
{
    const struct draft owner = { .name = control_flow_name(node) };
    const struct tensor number = { .dtype = COLLAGE_INT64 }, truth = { .dtype = COLLAGE_BOOL };
    int64_t endless = INT64_MAX;
    bool yes = true;
    const struct tensor fallback[LOOP_OWN] = { { .dtype = COLLAGE_INT64, .data = &endless },
                                               { .dtype = COLLAGE_BOOL, .data = &yes } };
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < LOOP_OWN + carried && status == COLLAGE_OK; k++) {
        value_id value = k < node->n_input ? given[k] : GRAPH_NONE, inside = GRAPH_NONE;
        if (value == GRAPH_NONE && k < LOOP_OWN)
            status = draft_constant(importer, &owner, k ? "goes_on" : "trips", fallback[k], &value,
                                    error);
        else if (value == GRAPH_NONE)
            status = error_set(error, COLLAGE_ERROR_FORMAT, "an initial value is missing");
        if (status == COLLAGE_OK)
            status = add_id(inputs, value, error);
        if (status == COLLAGE_OK) {
            const struct tensor type = k == 0   ? number
                                       : k == 1 ? truth
                                                : importer->graph->values[value].tensor;
            status = stand_in(importer, node, k ? k == 1 ? "condition" : "carried" : "iteration",
                              &type, &inside, error);
        }
        if (status == COLLAGE_OK)
            status = add_id(body_inputs, inside, error);
    }
    return status;
}

/* Both lists get what is captured at their ends. */
static collage_status make_loop(struct importer *importer, const Onnx__NodeProto *node,
                                const struct inlined *body, struct ids *inputs,
                                struct ids *body_inputs, uint32_t output_count, struct error *error)
{
    struct graph *graph = importer->graph;
    size_t own = body_inputs->count;
    uint8_t *seen = memory_alloc(graph->value_count);
    if (!seen)
        return error_memory(error);
    for (size_t k = 0; k < own; k++)
        seen[body_inputs->list[k]] = 1;
    collage_status status = find_captured(graph, body, seen, body_inputs, error);
    memory_free(seen);
    for (size_t k = own; k < body_inputs->count && status == COLLAGE_OK; k++)
        status = add_id(inputs, body_inputs->list[k], error);
    collage_attribute attribute = { .name = "body", .kind = COLLAGE_ATTRIBUTE_GRAPH };
    if (status == COLLAGE_OK)
        status = take_body(graph, body, body_inputs, &attribute.graph, error);
    return status == COLLAGE_OK
               ? emit_node(importer, node, inputs, output_count, &attribute, 1, error)
               : status;
}

/* Outputs that are collected, one for each iteration, have no known shape: the node does not make
 * them, and whoever uses one is refused. */
static collage_status drop_collected(struct importer *importer, const Onnx__NodeProto *node,
                                     size_t carried, uint32_t *output_count, struct error *error)
{
    size_t named = 0;
    *output_count = 0;
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < node->n_output && status == COLLAGE_OK; k++) {
        const char *name = message_string(node->output[k]);
        if (!name[0])
            continue;
        named++;
        if (k < carried)
            *output_count = (uint32_t)k + 1;
        else
            status = scope_bind_uncollected(importer, name, control_flow_name(node), error);
    }
    if (status == COLLAGE_OK && named == 0)
        status = error_set(error, COLLAGE_ERROR_FORMAT, "it has no output");
    return status;
}

collage_status control_data_loop(struct importer *importer, const Onnx__NodeProto *node,
                                 const Onnx__GraphProto *body, const value_id *inputs,
                                 struct error *error)
{
    const size_t carried = node->n_input > LOOP_OWN ? node->n_input - LOOP_OWN : 0;
    struct ids own = { 0 }, body_inputs = { 0 };
    struct inlined inlined = { 0 };
    uint32_t output_count;
    collage_status status = drop_collected(importer, node, carried, &output_count, error);
    if (status != COLLAGE_OK || output_count == 0) /* nobody can use it */
        return status;
    status = loop_inputs(importer, node, inputs, carried, &own, &body_inputs, error);
    if (status == COLLAGE_OK)
        status = inline_graph(importer, body, control_flow_name(node), body_inputs.list,
                              (uint32_t)(1 + carried), &inlined, error);
    if (status == COLLAGE_OK)
        status = make_loop(importer, node, &inlined, &own, &body_inputs, output_count, error);
    memory_free(own.list);
    memory_free(body_inputs.list);
    memory_free(inlined.outputs);
    return status;
}
