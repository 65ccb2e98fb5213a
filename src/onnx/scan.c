/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c: Scan, unrolled along the axis that it scans; and its form of opset 8. */
#include <inttypes.h>
#include <string.h>

#include "onnx/control_flow.h"
#include "onnx/draft.h"
#include "onnx/scope.h"
#include "onnx/unroll.h"

/* Element k of an attribute of ints, 0 if it is left out. */
static int64_t int_at(const Onnx__AttributeProto *a, size_t k)
{
    return a && k < a->n_ints ? a->ints[k] : 0;
}

/* What a Scan says of its axes and directions; NULL: 0 for each. */
struct scan_form {
    const Onnx__AttributeProto *input_axes, *input_directions, *output_axes, *output_directions;
};

/* What of the scanned inputs the iteration sees: Gather with a scalar index drops the axis. */
static collage_status slice_inputs(struct importer *importer, const struct loop *loop,
                                   const struct scan_form *form, int64_t length, value_id *inputs,
                                   struct error *error)
{
    const struct draft owner = { .name = loop->name };
    collage_status status = COLLAGE_OK;
    for (size_t k = loop->carried_count; k < loop->input_count && status == COLLAGE_OK; k++) {
        size_t scanned = k - loop->carried_count;
        int64_t index = (int64_t)loop->iterations;
        if (int_at(form->input_directions, scanned))
            index = length - 1 - index;
        struct tensor number = { .dtype = COLLAGE_INT64, .data = &index };
        value_id pair[2] = { loop->inputs[k], GRAPH_NONE };
        status = draft_constant(importer, &owner, "index", number, &pair[1], error);
        if (status == COLLAGE_OK)
            status = unroll_emit(importer, loop, "Gather", pair, 2, "axis",
                                 int_at(form->input_axes, scanned), &inputs[k], error);
    }
    return status;
}

static collage_status scan_length(const struct importer *importer, const struct loop *loop,
                                  const Onnx__AttributeProto *axes, int64_t *length,
                                  struct error *error)
{
    *length = -1;
    for (size_t k = loop->carried_count; k < loop->input_count; k++) {
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

static collage_status scan_run(struct importer *importer, struct loop *loop,
                               const struct scan_form *form, struct error *error)
{
    int64_t length;
    value_id none;
    collage_status status = scan_length(importer, loop, form->input_axes, &length, error);
    value_id *inputs = memory_alloc(loop->input_count * sizeof *inputs);
    if (status == COLLAGE_OK && !inputs)
        status = error_memory(error);
    while (status == COLLAGE_OK && (int64_t)loop->iterations < length) {
        if (loop->carried_count)
            memcpy(inputs, loop->carried, loop->carried_count * sizeof *inputs);
        status = slice_inputs(importer, loop, form, length, inputs, error);
        if (status == COLLAGE_OK)
            status = unroll_iterate(importer, loop, inputs, 0, &none, error);
    }
    memory_free(inputs);
    return status;
}

static collage_status scan_output(struct importer *importer, struct loop *loop,
                                  const struct scan_form *form, size_t k, value_id *out,
                                  struct error *error)
{
    *out = k < loop->carried_count ? loop->carried[k] : GRAPH_NONE;
    if (k < loop->carried_count)
        return COLLAGE_OK;
    const size_t collected = k - loop->carried_count;
    return unroll_stack(importer, loop, collected, int_at(form->output_axes, collected),
                        int_at(form->output_directions, collected) != 0, out, error);
}

/* Scan(initial values, scanned inputs) {body(values, slices) -> values, collected}: does the body
 * fit these inputs, and how many of them are initial values? */
static collage_status scan_start(struct importer *importer, struct loop *loop, struct error *error)
{
    const Onnx__NodeProto *node = loop->node;
    const Onnx__AttributeProto *a = scope_node_attribute(importer, node, "num_scan_inputs");
    if (!a || !a->has_i || a->i < 1 || (uint64_t)a->i > loop->input_count)
        return error_set(error, COLLAGE_ERROR_FORMAT, "num_scan_inputs does not fit its inputs");
    size_t count = loop->input_count - (size_t)a->i;
    if (loop->body->n_input != loop->input_count || loop->body->n_output < count ||
        node->n_output > loop->body->n_output)
        return error_set(error, COLLAGE_ERROR_FORMAT, "its body does not fit its inputs");
    loop->carried_count = count;
    loop->collected_count = loop->body->n_output - count;
    return COLLAGE_OK;
}

/* ---- Scan of opset 8 ---- */

/* Scan(lengths, initial values, scanned inputs): all but the lengths have a batch in front, of
 * which the body sees one element at a time, and behind it the axis that is scanned. Each element
 * of the batch is scanned for itself. */
struct batch {
    value_id *given; /* the node's inputs */
    value_id *made;  /* [output * size + element] */
    int64_t size;
    struct scan_form form;
};

/* The size of the batch and how far is scanned, as far as the shapes agree. */
static collage_status batch_shape(const struct importer *importer, const struct loop *loop,
                                  const struct batch *batch, int64_t *size, int64_t *length,
                                  struct error *error)
{
    *size = *length = -1;
    for (size_t k = 0; k < loop->input_count; k++) {
        const bool scanned = k >= loop->carried_count;
        if (batch->given[1 + k] == GRAPH_NONE)
            return error_set(error, COLLAGE_ERROR_FORMAT, "input %zu is missing", 1 + k);
        const struct tensor *x = &importer->graph->values[batch->given[1 + k]].tensor;
        if (x->rank < (scanned ? 2 : 1))
            return error_set(error, COLLAGE_ERROR_SHAPE,
                             "input %zu has too few dimensions: in opset 8 a batch comes first%s",
                             1 + k, scanned ? ", then what is scanned" : "");
        if (*size >= 0 && x->dims[0] != *size)
            return error_set(error, COLLAGE_ERROR_SHAPE,
                             "its inputs have batches of %" PRId64 " and %" PRId64, *size,
                             x->dims[0]);
        *size = x->dims[0];
        if (scanned)
            *length = x->dims[1];
    }
    return COLLAGE_OK;
}

/* Lengths that are the axis's own say nothing; what others leave of the outputs is not defined. */
static collage_status check_lengths(const struct importer *importer, value_id lengths,
                                    int64_t length, struct error *error)
{
    bool whole = lengths == GRAPH_NONE;
    if (!whole && graph_is_constant(importer->graph, lengths)) {
        const struct tensor *tensor = &importer->graph->values[lengths].tensor;
        whole = !dtype_is_float(tensor->dtype);
        for (int64_t k = 0; k < tensor_elements(tensor) && whole; k++)
            whole = tensor_get_int(tensor, k) == length;
    }
    return whole ? COLLAGE_OK
                 : error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                             "its sequences have lengths of their own (sequence_lens of opset 8), "
                             "which is not supported");
}

static collage_status batch_open(struct importer *importer, struct loop *loop, struct batch *batch,
                                 struct error *error)
{
    const Onnx__NodeProto *node = loop->node;
    int64_t length = 0;
    if (node->n_input < 2)
        return error_set(error, COLLAGE_ERROR_FORMAT, "it has no scanned input");
    batch->given = loop->inputs;
    batch->form.input_directions = scope_node_attribute(importer, node, "directions");
    loop->input_count = node->n_input - 1;
    loop->inputs = memory_alloc(loop->input_count * sizeof *loop->inputs);
    if (!loop->inputs)
        return error_memory(error);
    collage_status status = scan_start(importer, loop, error);
    if (status == COLLAGE_OK)
        status = batch_shape(importer, loop, batch, &batch->size, &length, error);
    if (status == COLLAGE_OK)
        status = check_lengths(importer, batch->given[0], length, error);
    if (status != COLLAGE_OK)
        return status;
    if (batch->size < 1)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "its batch is empty");
    if (batch->size > UNROLL_ITERATIONS / (length > 1 ? length : 1))
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "more than %d iterations",
                         UNROLL_ITERATIONS);
    if (node->n_output + node->n_input > UNROLL_VALUES / (size_t)batch->size)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "its iterations make more than %d values", UNROLL_VALUES);
    batch->made = memory_alloc(node->n_output * (size_t)batch->size * sizeof *batch->made);
    return batch->made ? COLLAGE_OK : error_memory(error);
}

static collage_status batch_scan(struct importer *importer, struct loop *loop, struct batch *batch,
                                 int64_t element, struct error *error)
{
    const struct draft owner = { .name = loop->name };
    const struct tensor number = { .dtype = COLLAGE_INT64, .data = &element };
    value_id pair[2] = { GRAPH_NONE, GRAPH_NONE };
    collage_status status = draft_constant(importer, &owner, "element", number, &pair[1], error);
    for (size_t k = 0; k < loop->input_count && status == COLLAGE_OK; k++) {
        pair[0] = batch->given[1 + k];
        status = unroll_emit(importer, loop, "Gather", pair, 2, "axis", 0, &loop->inputs[k], error);
    }
    if (status == COLLAGE_OK)
        status = unroll_set_carried(loop, loop->inputs, loop->carried_count, error);
    loop->iterations = 0;
    if (status == COLLAGE_OK)
        status = scan_run(importer, loop, &batch->form, error);
    for (size_t k = 0; k < loop->node->n_output && status == COLLAGE_OK; k++)
        if (message_string(loop->node->output[k])[0])
            status = scan_output(importer, loop, &batch->form, k,
                                 &batch->made[k * (size_t)batch->size + (size_t)element], error);
    return status;
}

static collage_status import_scan_of_batches(struct importer *importer, const Onnx__NodeProto *node,
                                             struct error *error)
{
    struct loop loop;
    struct batch batch = { 0 };
    collage_status status = unroll_open(importer, node, &loop, error);
    if (status == COLLAGE_OK)
        status = batch_open(importer, &loop, &batch, error);
    for (int64_t b = 0; b < batch.size && status == COLLAGE_OK; b++)
        status = batch_scan(importer, &loop, &batch, b, error);
    for (size_t k = 0; k < node->n_output && status == COLLAGE_OK; k++) {
        value_id id = GRAPH_NONE;
        if (!message_string(node->output[k])[0])
            continue;
        status = unroll_join(importer, &loop, &batch.made[k * (size_t)batch.size],
                             (size_t)batch.size, 0, &id, error);
        if (status == COLLAGE_OK)
            status = control_flow_bind(importer, node, k, id, error);
    }
    memory_free(batch.given);
    memory_free(batch.made);
    unroll_close(&loop);
    return status;
}

collage_status control_flow_scan(struct importer *importer, const Onnx__NodeProto *node,
                                 struct error *error)
{
    if (importer->opset < 9)
        return import_scan_of_batches(importer, node, error);
    struct loop loop;
    const struct scan_form form = {
        .input_axes = scope_node_attribute(importer, node, "scan_input_axes"),
        .input_directions = scope_node_attribute(importer, node, "scan_input_directions"),
        .output_axes = scope_node_attribute(importer, node, "scan_output_axes"),
        .output_directions = scope_node_attribute(importer, node, "scan_output_directions"),
    };
    collage_status status = unroll_open(importer, node, &loop, error);
    if (status == COLLAGE_OK)
        status = scan_start(importer, &loop, error);
    if (status == COLLAGE_OK)
        status = unroll_set_carried(&loop, loop.inputs, loop.carried_count, error);
    if (status == COLLAGE_OK)
        status = scan_run(importer, &loop, &form, error);
    for (size_t k = 0; k < node->n_output && status == COLLAGE_OK; k++) {
        value_id id = GRAPH_NONE;
        if (!message_string(node->output[k])[0])
            continue;
        status = scan_output(importer, &loop, &form, k, &id, error);
        if (status == COLLAGE_OK)
            status = control_flow_bind(importer, node, k, id, error);
    }
    unroll_close(&loop);
    return status;
}
