/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/control_flow.h"

#include <inttypes.h>
#include <string.h>

#include "onnx/control_data.h"
#include "onnx/draft.h"
#include "onnx/scope.h"

enum { ITERATIONS_LIMIT = 10000 };

/* ---- what the three share ---- */

/* A node with a body that is run some times. Arrays have an element for each name of the node. */
struct loop {
    const Onnx__NodeProto *node;
    const Onnx__GraphProto *body;
    const char *name; /* of the node, or of its first output */
    value_id *inputs;
    /* Values that go from one iteration to the next; and what is collected of each iteration:
     * [iteration * collected_count + output]. */
    value_id *carried;
    size_t carried_count, collected_count;
    value_id *collected;
    size_t collected_capacity, iterations;
    bool depends_on_data; /* how often it runs: it cannot be unrolled */
};

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

static collage_status read_inputs(struct importer *importer, const Onnx__NodeProto *node,
                                  value_id *inputs, struct error *error)
{
    for (size_t k = 0; k < node->n_input; k++) {
        const char *name = message_string(node->input[k]);
        inputs[k] = GRAPH_NONE;
        if (name[0] && !scope_find(importer, name, &inputs[k]))
            return error_set(error, COLLAGE_ERROR_FORMAT,
                             "input '%s' is made by no node and is no input of the model", name);
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
            status = error_set(error, COLLAGE_ERROR_FORMAT,
                               "the sub-graph's output '%s' is made by no node", name);
    }
    scope_leave(importer, &scope);
    return status;
}

static collage_status bind_output(struct importer *importer, const Onnx__NodeProto *node, size_t k,
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
    collage_status status = read_inputs(importer, node, &condition, error);
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
        status = bind_output(importer, node, k, outputs[k], error);
    memory_free(outputs);
    return status;
}

/* ---- Loop and Scan ---- */

static void loop_free(struct loop *loop)
{
    memory_free(loop->inputs);
    memory_free(loop->carried);
    memory_free(loop->collected);
}

static collage_status loop_open(struct importer *importer, const Onnx__NodeProto *node,
                                struct loop *loop, struct error *error)
{
    *loop = (struct loop){ .node = node,
                           .name = control_flow_name(node),
                           .inputs = memory_alloc(node->n_input * sizeof(value_id)) };
    if (!loop->inputs)
        return error_memory(error);
    collage_status status = read_inputs(importer, node, loop->inputs, error);
    return status == COLLAGE_OK ? control_flow_body(importer, node, "body", &loop->body, error)
                                : status;
}

static collage_status loop_set_carried(struct loop *loop, const value_id *first, size_t count,
                                       struct error *error)
{
    loop->carried = memory_alloc(count * sizeof *loop->carried);
    loop->carried_count = count;
    if (!loop->carried)
        return error_memory(error);
    for (size_t k = 0; k < count; k++) {
        if (first[k] == GRAPH_NONE)
            return error_set(error, COLLAGE_ERROR_FORMAT, "an initial value is missing");
        loop->carried[k] = first[k];
    }
    return COLLAGE_OK;
}

/* One iteration more: inlines the body. `inputs` are all of the body's; of its outputs, `skip` come
 * before the carried ones: *first is the first of them. */
static collage_status loop_iterate(struct importer *importer, struct loop *loop,
                                   const value_id *inputs, size_t skip, value_id *first,
                                   struct error *error)
{
    const size_t count = loop->body->n_output;
    if (loop->iterations >= ITERATIONS_LIMIT)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "more than %d iterations",
                         ITERATIONS_LIMIT);
    value_id *outputs = memory_alloc(count * sizeof *outputs);
    const char *prefix =
        arena_format(importer->graph->arena, "%.180s.%zu", loop->name, loop->iterations);
    collage_status status = outputs && prefix ? COLLAGE_OK : error_memory(error);
    if (status == COLLAGE_OK)
        status = control_flow_inline(importer, loop->body, prefix, inputs, outputs, error);
    for (size_t k = 0; k < count && status == COLLAGE_OK; k++) {
        size_t used = loop->iterations * loop->collected_count;
        if (k < skip)
            *first = outputs[k];
        else if (k < skip + loop->carried_count)
            loop->carried[k - skip] = outputs[k];
        else if (memory_grow((void **)&loop->collected, &loop->collected_capacity,
                             used + (k - skip - loop->carried_count), sizeof *loop->collected))
            loop->collected[used + (k - skip - loop->carried_count)] = outputs[k];
        else
            status = error_memory(error);
    }
    loop->iterations++;
    memory_free(outputs);
    return status;
}

static collage_status emit(struct importer *importer, const struct loop *loop, const char *op,
                           const value_id *inputs, size_t count, const char *attribute,
                           int64_t value, value_id *out, struct error *error)
{
    const struct draft owner = { .name = loop->name };
    const collage_attribute a = { .name = attribute, .kind = COLLAGE_ATTRIBUTE_INT, .i = value };
    return draft_emit_step(
        importer, &owner,
        &(struct draft_step){ op, inputs, (uint32_t)count, &a, attribute ? 1 : 0 }, out, error);
}

/* The values of one collected output, stacked along a new axis. */
static collage_status stack(struct importer *importer, struct loop *loop, size_t output,
                            int64_t axis, bool backwards, value_id *out, struct error *error)
{
    if (loop->iterations == 0)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "it collects outputs of no iteration, whose shape is unknown");
    const struct draft owner = { .name = loop->name };
    value_id *parts = memory_alloc(loop->iterations * sizeof *parts);
    value_id axes;
    collage_status status =
        parts ? draft_ints(importer, &owner, "axis", &axis, 1, &axes, error) : error_memory(error);
    for (size_t i = 0; i < loop->iterations && status == COLLAGE_OK; i++) {
        size_t from = backwards ? loop->iterations - 1 - i : i;
        value_id part[2] = { loop->collected[from * loop->collected_count + output], axes };
        status = emit(importer, loop, "Unsqueeze", part, 2, NULL, 0, &parts[i], error);
    }
    if (status == COLLAGE_OK)
        status = emit(importer, loop, "Concat", parts, loop->iterations, "axis", axis, out, error);
    memory_free(parts);
    return status;
}

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
            status = loop_iterate(importer, loop, inputs, 1, &condition, error);
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
    return loop_set_carried(loop, count ? loop->inputs + 2 : NULL, count, error);
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
    collage_status status = loop_open(importer, node, &loop, error);
    if (status == COLLAGE_OK)
        status = loop_start(importer, &loop, &trips, &condition, error);
    if (status == COLLAGE_OK)
        status = loop_run(importer, &loop, trips, condition, error);
    if (status == COLLAGE_OK && loop.depends_on_data)
        status = keep_loop(importer, &loop, first, error);
    for (size_t k = 0; k < node->n_output && status == COLLAGE_OK && !loop.depends_on_data; k++) {
        value_id id = k < loop.carried_count ? loop.carried[k] : GRAPH_NONE;
        if (k >= loop.carried_count && message_string(node->output[k])[0])
            status = stack(importer, &loop, k - loop.carried_count, 0, false, &id, error);
        if (status == COLLAGE_OK)
            status = bind_output(importer, node, k, id, error);
    }
    loop_free(&loop);
    return status;
}

/* Element k of an attribute of ints, 0 if it is left out. */
static int64_t int_at(const Onnx__AttributeProto *a, size_t k)
{
    return a && k < a->n_ints ? a->ints[k] : 0;
}

/* What of the scanned inputs the iteration sees: Gather with a scalar index drops the axis. */
static collage_status slice_inputs(struct importer *importer, const struct loop *loop,
                                   const Onnx__AttributeProto *axes,
                                   const Onnx__AttributeProto *directions, int64_t length,
                                   value_id *inputs, struct error *error)
{
    const struct draft owner = { .name = loop->name };
    collage_status status = COLLAGE_OK;
    for (size_t k = loop->carried_count; k < loop->node->n_input && status == COLLAGE_OK; k++) {
        size_t scanned = k - loop->carried_count;
        int64_t index = (int64_t)loop->iterations;
        if (int_at(directions, scanned))
            index = length - 1 - index;
        struct tensor number = { .dtype = COLLAGE_INT64, .data = &index };
        value_id pair[2] = { loop->inputs[k], GRAPH_NONE };
        status = draft_constant(importer, &owner, "index", number, &pair[1], error);
        if (status == COLLAGE_OK)
            status = emit(importer, loop, "Gather", pair, 2, "axis", int_at(axes, scanned),
                          &inputs[k], error);
    }
    return status;
}

static collage_status scan_length(const struct importer *importer, const struct loop *loop,
                                  const Onnx__AttributeProto *axes, int64_t *length,
                                  struct error *error)
{
    *length = -1;
    for (size_t k = loop->carried_count; k < loop->node->n_input; k++) {
        if (loop->inputs[k] == GRAPH_NONE)
            return error_set(error, COLLAGE_ERROR_FORMAT, "input %zu is missing", k);
        const struct tensor *x = &importer->graph->values[loop->inputs[k]].tensor;
        int64_t axis = int_at(axes, k - loop->carried_count);
        if (axis < -x->rank || axis >= x->rank)
            return error_set(error, COLLAGE_ERROR_SHAPE, "axis %" PRId64 " is out of range", axis);
        int64_t here = x->dims[axis < 0 ? axis + x->rank : axis];
        if (*length >= 0 && here != *length)
            return error_set(error, COLLAGE_ERROR_SHAPE,
                             "its scanned inputs have %" PRId64 " and %" PRId64 " elements",
                             *length, here);
        *length = here;
    }
    return COLLAGE_OK;
}

static collage_status scan_run(struct importer *importer, struct loop *loop, struct error *error)
{
    const Onnx__AttributeProto *axes =
        scope_node_attribute(importer, loop->node, "scan_input_axes");
    const Onnx__AttributeProto *directions =
        scope_node_attribute(importer, loop->node, "scan_input_directions");
    int64_t length;
    value_id none;
    collage_status status = scan_length(importer, loop, axes, &length, error);
    value_id *inputs = memory_alloc(loop->node->n_input * sizeof *inputs);
    if (status == COLLAGE_OK && !inputs)
        status = error_memory(error);
    while (status == COLLAGE_OK && (int64_t)loop->iterations < length) {
        if (loop->carried_count)
            memcpy(inputs, loop->carried, loop->carried_count * sizeof *inputs);
        status = slice_inputs(importer, loop, axes, directions, length, inputs, error);
        if (status == COLLAGE_OK)
            status = loop_iterate(importer, loop, inputs, 0, &none, error);
    }
    memory_free(inputs);
    return status;
}

/* Scan(initial values, scanned inputs) {body(values, slices) -> values, collected}. */
static collage_status scan_start(struct importer *importer, struct loop *loop, struct error *error)
{
    const Onnx__NodeProto *node = loop->node;
    const Onnx__AttributeProto *a = scope_node_attribute(importer, node, "num_scan_inputs");
    if (importer->opset < 9)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "its form of opset 8 is not supported: convert the model to opset 9");
    if (!a || !a->has_i || a->i < 1 || (uint64_t)a->i > node->n_input)
        return error_set(error, COLLAGE_ERROR_FORMAT, "num_scan_inputs does not fit its inputs");
    size_t count = node->n_input - (size_t)a->i;
    if (loop->body->n_input != node->n_input || loop->body->n_output < count ||
        node->n_output > loop->body->n_output)
        return error_set(error, COLLAGE_ERROR_FORMAT, "its body does not fit its inputs");
    loop->collected_count = loop->body->n_output - count;
    return loop_set_carried(loop, loop->inputs, count, error);
}

static collage_status import_scan(struct importer *importer, const Onnx__NodeProto *node,
                                  struct error *error)
{
    struct loop loop;
    collage_status status = loop_open(importer, node, &loop, error);
    if (status == COLLAGE_OK)
        status = scan_start(importer, &loop, error);
    if (status == COLLAGE_OK)
        status = scan_run(importer, &loop, error);
    const Onnx__AttributeProto *axes = scope_node_attribute(importer, node, "scan_output_axes");
    const Onnx__AttributeProto *directions =
        scope_node_attribute(importer, node, "scan_output_directions");
    for (size_t k = 0; k < node->n_output && status == COLLAGE_OK; k++) {
        value_id id = k < loop.carried_count ? loop.carried[k] : GRAPH_NONE;
        size_t collected = k - loop.carried_count;
        if (k >= loop.carried_count && message_string(node->output[k])[0])
            status = stack(importer, &loop, collected, int_at(axes, collected),
                           int_at(directions, collected) != 0, &id, error);
        if (status == COLLAGE_OK)
            status = bind_output(importer, node, k, id, error);
    }
    loop_free(&loop);
    return status;
}

control_flow_fn control_flow_find(const char *op_type)
{
    static const struct {
        const char *op;
        control_flow_fn import;
    } table[] = { { "If", import_if }, { "Loop", import_loop }, { "Scan", import_scan } };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(table[k].op, op_type) == 0)
            return table[k].import;
    return NULL;
}
