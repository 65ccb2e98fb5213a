/* SPDX-License-Identifier: Apache-2.0 */
/* If and Loop: operators that run bodies (sub-graphs, held by their attributes; collage_node says
 * what goes in and out). Shapes are static: both branches of an If make the same, and what a Loop
 * carries keeps its shape. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"

/* Of one Loop: no more are run by the reference. */
enum { ITERATIONS_LIMIT = 100000 };

/* A body while it is inferred or run. */
struct frame {
    const collage_subgraph *body;
    struct tensor *values; /* the results of nodes have memory of their own if `compute` */
    bool compute;
};

static bool has_type(const struct tensor *tensor, const collage_value *declared)
{
    return tensor->dtype == declared->dtype && tensor->rank == declared->rank &&
           memcmp(tensor->dims, declared->dims, (size_t)tensor->rank * sizeof *tensor->dims) == 0;
}

static bool same_type(const struct tensor *a, const struct tensor *b)
{
    return a->dtype == b->dtype && tensor_same_shape(a, b);
}

static collage_status check_type(const struct frame *frame, uint32_t value,
                                 const struct tensor *tensor, struct error *error)
{
    const collage_value *declared = frame->body->values[value];
    if (has_type(tensor, declared))
        return COLLAGE_OK;
    char dims[160];
    dims_print(tensor->dims, tensor->rank, dims, sizeof dims);
    return shape_error(error, "value '%.100s' of its sub-graph would be %s %s", declared->name,
                       dtype_name(tensor->dtype), dims);
}

/* The outputs' memory belongs to the frame, that of left-out ones to the caller. */
static collage_status place_outputs(struct frame *frame, const struct op_call *call,
                                    struct error *error)
{
    const collage_node *node = call->node;
    for (uint32_t k = 0; k < node->output_count; k++) {
        struct tensor *output = &call->outputs[k];
        uint32_t value = node->outputs[k];
        if (value != COLLAGE_NO_VALUE) {
            collage_status status = check_type(frame, value, output, error);
            if (status != COLLAGE_OK)
                return status;
        }
        if (frame->compute) {
            output->data = memory_alloc_aligned((size_t)tensor_bytes(output));
            if (!output->data)
                return error_memory(error);
        }
        if (value != COLLAGE_NO_VALUE)
            frame->values[value] = *output;
    }
    return COLLAGE_OK;
}

static collage_status call_node(struct frame *frame, const struct op *op,
                                const struct op_call *call, struct error *error)
{
    collage_status status = op_infer(op, call, error);
    if (status == COLLAGE_OK)
        status = place_outputs(frame, call, error);
    return status == COLLAGE_OK && frame->compute ? op->compute(call, error) : status;
}

static collage_status run_node(struct frame *frame, const collage_node *node, struct error *error)
{
    const struct op *op = op_find(node->op_type);
    if (!op)
        return shape_error(error, "unknown operator '%.60s' in its sub-graph", node->op_type);
    const struct tensor **inputs = memory_alloc(node->input_count * sizeof *inputs);
    struct tensor *outputs = memory_alloc(node->output_count * sizeof *outputs);
    collage_status status = inputs && outputs ? COLLAGE_OK : error_memory(error);
    for (uint32_t k = 0; status == COLLAGE_OK && k < node->input_count; k++)
        if (node->inputs[k] != COLLAGE_NO_VALUE)
            inputs[k] = &frame->values[node->inputs[k]];
    const struct op_call call = { node, node->input_count, node->output_count, inputs, outputs };
    if (status == COLLAGE_OK)
        status = call_node(frame, op, &call, error);
    for (uint32_t k = 0; outputs && k < node->output_count; k++)
        if (node->outputs[k] == COLLAGE_NO_VALUE)
            memory_free_aligned(outputs[k].data);
    memory_free(inputs);
    memory_free(outputs);
    if (status != COLLAGE_OK && status != COLLAGE_ERROR_MEMORY)
        error_prefix(error, "'%.60s' (%s) in its sub-graph", node->name, node->op_type);
    return status;
}

static void free_results(struct frame *frame)
{
    for (uint32_t n = 0; frame->compute && n < frame->body->node_count; n++) {
        const collage_node *node = frame->body->nodes[n];
        for (uint32_t k = 0; k < node->output_count; k++)
            if (node->outputs[k] != COLLAGE_NO_VALUE)
                memory_free_aligned(frame->values[node->outputs[k]].data);
    }
}

/* Infers the body of these inputs, or runs it: `results` then have memory. */
static collage_status run_body(const collage_subgraph *body, const struct tensor *inputs,
                               bool compute, struct tensor *results, struct error *error)
{
    struct frame frame = { body, memory_alloc(body->value_count * sizeof(struct tensor)), compute };
    collage_status status = frame.values ? COLLAGE_OK : error_memory(error);
    for (uint32_t k = 0; k < body->input_count && status == COLLAGE_OK; k++) {
        status = check_type(&frame, body->inputs[k], &inputs[k], error);
        frame.values[body->inputs[k]] = inputs[k];
    }
    for (uint32_t n = 0; n < body->node_count && status == COLLAGE_OK; n++)
        status = run_node(&frame, body->nodes[n], error);
    for (uint32_t k = 0; k < body->output_count && status == COLLAGE_OK; k++) {
        const struct tensor *made = &frame.values[body->outputs[k]];
        if (compute)
            tensor_copy_data(&results[k], made);
        else
            results[k] = *made;
    }
    if (frame.values)
        free_results(&frame);
    memory_free(frame.values);
    return status;
}

static const collage_subgraph *body_of(const struct op_call *call, const char *name)
{
    const collage_attribute *a = collage_node_attribute(call->node, name, COLLAGE_ATTRIBUTE_GRAPH);
    return a ? a->graph : NULL;
}

/* The inputs from `first` on, one after the other; memory_free'd by the caller. */
static struct tensor *inputs_from(const struct op_call *call, uint32_t first)
{
    struct tensor *inputs = memory_alloc((call->input_count - first) * sizeof *inputs);
    for (uint32_t k = first; inputs && k < call->input_count; k++)
        inputs[k - first] = *call->inputs[k];
    return inputs;
}

static collage_status check_scalar(const struct op_call *call, uint32_t k, collage_dtype dtype,
                                   struct error *error)
{
    const struct tensor *input = call->inputs[k];
    if (input->dtype == dtype && tensor_elements(input) == 1)
        return COLLAGE_OK;
    return shape_error(error, "input %" PRIu32 " must be one %s", k, dtype_name(dtype));
}

/* ---- If ---- */

static collage_status infer_branch(const struct op_call *call, const char *name,
                                   struct tensor *results, struct error *error)
{
    const collage_subgraph *branch = body_of(call, name);
    if (!branch)
        return shape_error(error, "it has no sub-graph '%s'", name);
    if (branch->input_count != call->input_count - 1 || branch->output_count != call->output_count)
        return shape_error(error, "its '%s' does not fit its inputs and outputs", name);
    struct tensor *inputs = inputs_from(call, 1);
    if (!inputs)
        return error_memory(error);
    collage_status status = run_body(branch, inputs, false, results, error);
    memory_free(inputs);
    return status;
}

collage_status infer_if(const struct op_call *call, struct error *error)
{
    collage_status status = check_scalar(call, 0, COLLAGE_BOOL, error);
    struct tensor *other = memory_alloc(call->output_count * sizeof *other);
    if (status == COLLAGE_OK && !other)
        status = error_memory(error);
    if (status == COLLAGE_OK)
        status = infer_branch(call, "then_branch", other, error);
    for (uint32_t k = 0; k < call->output_count && status == COLLAGE_OK; k++)
        call_set_output(call, k, other[k].dtype, &other[k]);
    if (status == COLLAGE_OK)
        status = infer_branch(call, "else_branch", other, error);
    for (uint32_t k = 0; k < call->output_count && status == COLLAGE_OK; k++)
        if (!same_type(&other[k], &call->outputs[k]))
            status = shape_error(
                error, "its branches make output %" PRIu32 " of different types or shapes", k);
    memory_free(other);
    return status;
}

collage_status compute_if(const struct op_call *call, struct error *error)
{
    bool holds = tensor_get_int(call->inputs[0], 0) != 0;
    struct tensor *inputs = inputs_from(call, 1);
    if (!inputs)
        return error_memory(error);
    collage_status status = run_body(body_of(call, holds ? "then_branch" : "else_branch"), inputs,
                                     true, call->outputs, error);
    memory_free(inputs);
    return status;
}

/* ---- Loop ---- */

enum { LOOP_OWN = 2 }; /* inputs before what is carried: the trip count and the condition */

/* What the body takes: the iteration, the condition, carried values, captured ones. */
static struct tensor *loop_inputs(const struct op_call *call)
{
    struct tensor *inputs = inputs_from(call, 0);
    if (inputs) {
        inputs[0] = (struct tensor){ .dtype = COLLAGE_INT64 };
        inputs[1] = (struct tensor){ .dtype = COLLAGE_BOOL };
    }
    return inputs;
}

static collage_status check_loop(const struct op_call *call, const collage_subgraph *body,
                                 struct error *error)
{
    if (!body)
        return shape_error(error, "it has no sub-graph 'body'");
    if (body->input_count != call->input_count || body->output_count == 0 ||
        body->output_count - 1 > call->input_count - LOOP_OWN ||
        call->output_count > body->output_count - 1)
        return shape_error(error, "its body does not fit its inputs and outputs");
    collage_status status = check_scalar(call, 0, COLLAGE_INT64, error);
    return status == COLLAGE_OK ? check_scalar(call, 1, COLLAGE_BOOL, error) : status;
}

static collage_status check_carried(const struct op_call *call, const struct tensor *results,
                                    uint32_t carried, struct error *error)
{
    if (results[0].dtype != COLLAGE_BOOL || tensor_elements(&results[0]) != 1)
        return shape_error(error, "its body's condition must be one bool");
    for (uint32_t k = 0; k < carried; k++)
        if (!same_type(&results[1 + k], call->inputs[LOOP_OWN + k]))
            return shape_error(error,
                               "carried value %" PRIu32 " changes its type or its shape, which is "
                               "not supported",
                               k);
    return COLLAGE_OK;
}

collage_status infer_loop(const struct op_call *call, struct error *error)
{
    const collage_subgraph *body = body_of(call, "body");
    collage_status status = check_loop(call, body, error);
    if (status != COLLAGE_OK)
        return status;
    const uint32_t carried = body->output_count - 1;
    struct tensor *inputs = loop_inputs(call);
    struct tensor *results = memory_alloc(body->output_count * sizeof *results);
    status = inputs && results ? COLLAGE_OK : error_memory(error);
    for (uint32_t k = 0; k < carried && status == COLLAGE_OK; k++)
        inputs[LOOP_OWN + k].data = NULL; /* a constant is one in the first iteration only */
    if (status == COLLAGE_OK)
        status = run_body(body, inputs, false, results, error);
    if (status == COLLAGE_OK)
        status = check_carried(call, results, carried, error);
    for (uint32_t k = 0; k < call->output_count && status == COLLAGE_OK; k++)
        call_set_output(call, k, results[1 + k].dtype, &results[1 + k]);
    memory_free(inputs);
    memory_free(results);
    return status;
}

/* What goes from one iteration to the next, twice: what the body reads and what it makes. */
struct carried {
    struct tensor *inputs;  /* all of the body's; of the carried ones the memory is ours */
    struct tensor *results; /* all of the body's; the condition first */
    uint32_t count;
    int64_t iteration;
    uint8_t condition, next_condition;
};

static void carried_free(struct carried *carried)
{
    for (uint32_t k = 0; k < carried->count; k++) {
        if (carried->inputs)
            memory_free_aligned(carried->inputs[LOOP_OWN + k].data);
        if (carried->results)
            memory_free_aligned(carried->results[1 + k].data);
    }
    memory_free(carried->inputs);
    memory_free(carried->results);
}

static collage_status carried_start(const struct op_call *call, const collage_subgraph *body,
                                    struct carried *carried, struct error *error)
{
    carried->inputs = loop_inputs(call);
    carried->results = memory_alloc(body->output_count * sizeof *carried->results);
    const uint32_t count = body->output_count - 1;
    if (!carried->inputs || !carried->results)
        return error_memory(error);
    carried->inputs[0].data = &carried->iteration;
    carried->inputs[1].data = &carried->condition;
    carried->results[0] =
        (struct tensor){ .dtype = COLLAGE_BOOL, .data = &carried->next_condition };
    for (uint32_t k = 0; k < count; k++) {
        const struct tensor *initial = call->inputs[LOOP_OWN + k];
        struct tensor *input = &carried->inputs[LOOP_OWN + k], *result = &carried->results[1 + k];
        *input = *result = *initial;
        input->data = memory_alloc_aligned((size_t)tensor_bytes(initial));
        result->data = memory_alloc_aligned((size_t)tensor_bytes(initial));
        carried->count = k + 1; /* those whose memory is ours, or NULL */
        if (!input->data || !result->data)
            return error_memory(error);
        tensor_copy_data(input, initial);
    }
    return COLLAGE_OK;
}

static void carried_swap(struct carried *carried)
{
    for (uint32_t k = 0; k < carried->count; k++) {
        void *data = carried->inputs[LOOP_OWN + k].data;
        carried->inputs[LOOP_OWN + k].data = carried->results[1 + k].data;
        carried->results[1 + k].data = data;
    }
    carried->condition = carried->next_condition;
    carried->iteration++;
}

collage_status compute_loop(const struct op_call *call, struct error *error)
{
    const collage_subgraph *body = body_of(call, "body");
    const int64_t trips = tensor_get_int(call->inputs[0], 0);
    struct carried carried = { .condition = tensor_get_int(call->inputs[1], 0) != 0 };
    collage_status status = carried_start(call, body, &carried, error);
    while (status == COLLAGE_OK && carried.iteration < trips && carried.condition) {
        if (carried.iteration == ITERATIONS_LIMIT)
            status = error_set(error, COLLAGE_ERROR_UNSUPPORTED, "more than %d iterations",
                               ITERATIONS_LIMIT);
        else
            status = run_body(body, carried.inputs, true, carried.results, error);
        if (status == COLLAGE_OK)
            carried_swap(&carried);
    }
    for (uint32_t k = 0; k < call->output_count && status == COLLAGE_OK; k++)
        tensor_copy_data(&call->outputs[k], &carried.inputs[LOOP_OWN + k]);
    carried_free(&carried);
    return status;
}
