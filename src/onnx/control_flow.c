/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/control_flow.h"

#include <string.h>

#include "onnx/control_data.h"
#include "onnx/draft.h"
#include "onnx/scope.h"
#include "onnx/unroll.h"

/* ---- what the three share ---- */

collage_status control_flow_body(struct importer *importer, const Onnx__NodeProto *node,
                                 const char *attribute, const Onnx__GraphProto **body,
                                 struct error *error)
{
    const Onnx__AttributeProto *a = scope_node_attribute(importer, node, attribute);
    if (!a || !a->g)
        return error_set(error, COLLAGE_ERROR_FORMAT, "it has no sub-graph '%s'", attribute);
    if (a->g->n_sparse_initializer > 0)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "sparse initializers are not supported");
    *body = a->g;
    return COLLAGE_OK;
}

collage_status control_flow_inputs(struct importer *importer, const Onnx__NodeProto *node,
                                   value_id *inputs, struct error *error)
{
    for (size_t k = 0; k < node->n_input; k++) {
        const char *name = message_string(node->input[k]);
        inputs[k] = GRAPH_NONE;
        if (name[0] && !scope_find(importer, name, &inputs[k]))
            return scope_missing(importer, "input", name, error);
    }
    return COLLAGE_OK;
}

collage_status control_flow_inline(struct importer *importer, const Onnx__GraphProto *graph,
                                   const char *prefix, const value_id *inputs, value_id *outputs,
                                   struct error *error)
{
    struct scope scope = { .sees_caller = true };
    const struct body body = { graph->node, graph->n_node, graph->initializer,
                               graph->n_initializer };
    collage_status status = scope_enter(importer, &scope, prefix, error);
    for (size_t k = 0; k < graph->n_input && status == COLLAGE_OK; k++)
        status = scope_bind(importer, message_string(graph->input[k]->name), inputs[k], error);
    if (status == COLLAGE_OK)
        status = scope_import_constants(importer, &body, error);
    if (status == COLLAGE_OK)
        status = scope_import_nodes(importer, &body, error);
    for (size_t k = 0; k < graph->n_output && status == COLLAGE_OK; k++) {
        const char *name = message_string(graph->output[k]->name);
        if (!scope_find(importer, name, &outputs[k]) || outputs[k] == GRAPH_NONE)
            status = scope_missing(importer, "the sub-graph's output", name, error);
    }
    scope_leave(importer, &scope);
    return status;
}

collage_status control_flow_bind(struct importer *importer, const Onnx__NodeProto *node, size_t k,
                                 value_id id, struct error *error)
{
    const char *name = k < node->n_output ? message_string(node->output[k]) : "";
    return name[0] ? scope_bind(importer, name, id, error) : COLLAGE_OK;
}

/* False if the value is not a constant of one element, of that kind. */
static bool read_constant(const struct importer *importer, value_id id, int64_t *out)
{
    if (id == GRAPH_NONE || !graph_is_constant(importer->graph, id))
        return false;
    const struct tensor *tensor = &importer->graph->values[id].tensor;
    if (dtype_is_float(tensor->dtype) || tensor_elements(tensor) != 1)
        return false;
    *out = tensor_get_int(tensor, 0);
    return true;
}

const char *control_flow_name(const Onnx__NodeProto *node)
{
    const char *name = message_string(node->name);
    return name[0] || node->n_output == 0 ? name : message_string(node->output[0]);
}

/* ---- If ---- */

static collage_status import_if(struct importer *importer, const Onnx__NodeProto *node,
                                struct error *error)
{
    const Onnx__GraphProto *branch = NULL;
    value_id condition = GRAPH_NONE;
    int64_t is_true;
    if (node->n_input != 1)
        return error_set(error, COLLAGE_ERROR_FORMAT, "it takes one input");
    collage_status status = control_flow_inputs(importer, node, &condition, error);
    if (status != COLLAGE_OK)
        return status;
    if (condition == GRAPH_NONE)
        return error_set(error, COLLAGE_ERROR_FORMAT, "its condition is missing");
    if (!read_constant(importer, condition, &is_true))
        return control_data_if(importer, node, condition, error);
    status =
        control_flow_body(importer, node, is_true ? "then_branch" : "else_branch", &branch, error);
    if (status != COLLAGE_OK)
        return status;
    if (branch->n_input > 0 || branch->n_output < node->n_output)
        return error_set(error, COLLAGE_ERROR_FORMAT, "its branch does not fit its outputs");
    value_id *outputs = memory_alloc(branch->n_output * sizeof *outputs);
    if (!outputs)
        return error_memory(error);
    status = control_flow_inline(importer, branch, control_flow_name(node), NULL, outputs, error);
    for (size_t k = 0; k < node->n_output && status == COLLAGE_OK; k++)
        status = control_flow_bind(importer, node, k, outputs[k], error);
    memory_free(outputs);
    return status;
}

/* ---- Loop ---- */

/* Loop(trip count, condition, initial values) {body(iteration, condition, values) -> condition,
 * values, collected}. */
static collage_status loop_run(struct importer *importer, struct loop *loop, int64_t trips,
                               value_id condition, struct error *error)
{
    const struct draft owner = { .name = loop->name };
    value_id *inputs = memory_alloc(loop->body->n_input * sizeof *inputs);
    collage_status status = inputs ? COLLAGE_OK : error_memory(error);
    while (status == COLLAGE_OK && (int64_t)loop->iterations < trips) {
        int64_t goes_on = 1, iteration = (int64_t)loop->iterations;
        bool yes = true;
        if (condition != GRAPH_NONE && !read_constant(importer, condition, &goes_on))
            loop->depends_on_data = true;
        if (loop->depends_on_data || !goes_on)
            break;
        struct tensor number = { .dtype = COLLAGE_INT64, .data = &iteration };
        struct tensor truth = { .dtype = COLLAGE_BOOL, .data = &yes };
        status = draft_constant(importer, &owner, "iteration", number, &inputs[0], error);
        if (status == COLLAGE_OK)
            status = draft_constant(importer, &owner, "goes_on", truth, &inputs[1], error);
        if (loop->carried_count)
            memcpy(&inputs[2], loop->carried, loop->carried_count * sizeof *inputs);
        if (status == COLLAGE_OK)
            status = unroll_iterate(importer, loop, inputs, 1, &condition, error);
    }
    memory_free(inputs);
    return status;
}

static collage_status loop_start(struct importer *importer, struct loop *loop, int64_t *trips,
                                 value_id *condition, struct error *error)
{
    const Onnx__NodeProto *node = loop->node;
    *condition = node->n_input > 1 ? loop->inputs[1] : GRAPH_NONE;
    *trips = INT64_MAX;
    size_t count = node->n_input > 2 ? node->n_input - 2 : 0;
    if (loop->body->n_input != 2 + count || loop->body->n_output < 1 + count ||
        node->n_output > loop->body->n_output - 1)
        return error_set(error, COLLAGE_ERROR_FORMAT, "its body does not fit its inputs");
    loop->depends_on_data = node->n_input > 0 && loop->inputs[0] != GRAPH_NONE &&
                            !read_constant(importer, loop->inputs[0], trips);
    loop->collected_count = loop->body->n_output - 1 - count;
    return unroll_set_carried(loop, count ? loop->inputs + 2 : NULL, count, error);
}

/* What was unrolled before that was found goes. */
static collage_status keep_loop(struct importer *importer, const struct loop *loop, node_id first,
                                struct error *error)
{
    for (size_t n = first; n < importer->graph->node_count; n++)
        graph_remove_node(importer->graph, (node_id)n);
    return control_data_loop(importer, loop->node, loop->body, loop->inputs, error);
}

static collage_status import_loop(struct importer *importer, const Onnx__NodeProto *node,
                                  struct error *error)
{
    struct loop loop;
    int64_t trips = 0;
    value_id condition = GRAPH_NONE;
    const node_id first = (node_id)importer->graph->node_count;
    collage_status status = unroll_open(importer, node, &loop, error);
    if (status == COLLAGE_OK)
        status = loop_start(importer, &loop, &trips, &condition, error);
    if (status == COLLAGE_OK)
        status = loop_run(importer, &loop, trips, condition, error);
    if (status == COLLAGE_OK && loop.depends_on_data)
        status = keep_loop(importer, &loop, first, error);
    for (size_t k = 0; k < node->n_output && status == COLLAGE_OK && !loop.depends_on_data; k++) {
        value_id id = k < loop.carried_count ? loop.carried[k] : GRAPH_NONE;
        if (k >= loop.carried_count && message_string(node->output[k])[0])
            status = unroll_stack(importer, &loop, k - loop.carried_count, 0, false, &id, error);
        if (status == COLLAGE_OK)
            status = control_flow_bind(importer, node, k, id, error);
    }
    unroll_close(&loop);
    return status;
}

control_flow_fn control_flow_find(const char *op_type)
{
    static const struct {
        const char *op;
        control_flow_fn import;
    } table[] = { { "If", import_if }, { "Loop", import_loop }, { "Scan", control_flow_scan } };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(table[k].op, op_type) == 0)
            return table[k].import;
    return NULL;
}
