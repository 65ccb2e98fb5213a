/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/unroll.h"

#include "onnx/control_flow.h"
#include "onnx/draft.h"

void unroll_close(struct loop *loop)
{
    memory_free(loop->inputs);
    memory_free(loop->carried);
    memory_free(loop->collected);
}

collage_status unroll_open(struct importer *importer, const Onnx__NodeProto *node,
                           struct loop *loop, struct error *error)
{
    *loop = (struct loop){ .node = node,
                           .name = control_flow_name(node),
                           .inputs = memory_alloc(node->n_input * sizeof(value_id)),
                           .input_count = node->n_input };
    if (!loop->inputs)
        return error_memory(error);
    collage_status status = control_flow_inputs(importer, node, loop->inputs, error);
    return status == COLLAGE_OK ? control_flow_body(importer, node, "body", &loop->body, error)
                                : status;
}

collage_status unroll_set_carried(struct loop *loop, const value_id *first, size_t count,
                                  struct error *error)
{
    memory_free(loop->carried);
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

static collage_status check_limits(struct loop *loop, struct error *error)
{
    if (loop->iterations >= UNROLL_ITERATIONS)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "more than %d iterations",
                         UNROLL_ITERATIONS);
    loop->values_seen += loop->body->n_input + loop->body->n_output;
    if (loop->values_seen > UNROLL_VALUES)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "more than %d values go into and out of its iterations", UNROLL_VALUES);
    return COLLAGE_OK;
}

collage_status unroll_iterate(struct importer *importer, struct loop *loop, const value_id *inputs,
                              size_t skip, value_id *first, struct error *error)
{
    const size_t count = loop->body->n_output;
    collage_status status = check_limits(loop, error);
    if (status != COLLAGE_OK)
        return status;
    value_id *outputs = memory_alloc(count * sizeof *outputs);
    const char *prefix =
        arena_format(importer->graph->arena, "%.180s.%zu", loop->name, loop->iterations);
    status = outputs && prefix ? COLLAGE_OK : error_memory(error);
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

collage_status unroll_emit(struct importer *importer, const struct loop *loop, const char *op,
                           const value_id *inputs, size_t count, const char *attribute,
                           int64_t value, value_id *out, struct error *error)
{
    const struct draft owner = { .name = loop->name };
    const collage_attribute a = { .name = attribute, .kind = COLLAGE_ATTRIBUTE_INT, .i = value };
    return draft_emit_step(
        importer, &owner,
        &(struct draft_step){ op, inputs, (uint32_t)count, &a, attribute ? 1 : 0 }, out, error);
}

collage_status unroll_join(struct importer *importer, const struct loop *loop, value_id *parts,
                           size_t count, int64_t axis, value_id *out, struct error *error)
{
    const struct draft owner = { .name = loop->name };
    value_id axes;
    collage_status status = draft_ints(importer, &owner, "axis", &axis, 1, &axes, error);
    for (size_t i = 0; i < count && status == COLLAGE_OK; i++) {
        const value_id part[2] = { parts[i], axes };
        status = unroll_emit(importer, loop, "Unsqueeze", part, 2, NULL, 0, &parts[i], error);
    }
    return status == COLLAGE_OK
               ? unroll_emit(importer, loop, "Concat", parts, count, "axis", axis, out, error)
               : status;
}

collage_status unroll_stack(struct importer *importer, const struct loop *loop, size_t output,
                            int64_t axis, bool backwards, value_id *out, struct error *error)
{
    if (loop->iterations == 0)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "it collects outputs of no iteration, whose shape is unknown");
    value_id *parts = memory_alloc(loop->iterations * sizeof *parts);
    if (!parts)
        return error_memory(error);
    for (size_t i = 0; i < loop->iterations; i++) {
        size_t from = backwards ? loop->iterations - 1 - i : i;
        parts[i] = loop->collected[from * loop->collected_count + output];
    }
    collage_status status = unroll_join(importer, loop, parts, loop->iterations, axis, out, error);
    memory_free(parts);
    return status;
}
