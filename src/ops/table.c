/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "ops/call.h"

static const struct op table[] = {
#define OP(name, min_in, max_in, min_out, max_out, flags, infer_fn, compute_fn, count_fn, times)   \
    { #name, min_in, max_in, min_out, max_out, flags, infer_fn, compute_fn, count_fn, times },
#include "ops/ops.def"
#undef OP
};

static const struct {
    const char *op, *name;
    collage_attribute_kind kind;
} attributes[] = {
#define ATTRIBUTE(op, name, kind) { #op, #name, COLLAGE_ATTRIBUTE_##kind },
#include "ops/attributes.def"
#undef ATTRIBUTE
};
enum { ATTRIBUTE_COUNT = sizeof attributes / sizeof attributes[0] };

size_t op_count(void)
{
    return sizeof table / sizeof table[0];
}

const struct op *op_at(size_t index)
{
    return &table[index];
}

const struct op *op_find(const char *name)
{
    for (size_t k = 0; k < op_count(); k++)
        if (strcmp(table[k].name, name) == 0)
            return &table[k];
    return NULL;
}

bool op_find_attribute(const struct op *op, const char *name, collage_attribute_kind *kind)
{
    for (size_t k = 0; k < ATTRIBUTE_COUNT; k++) {
        if (strcmp(attributes[k].op, op->name) != 0 || strcmp(attributes[k].name, name) != 0)
            continue;
        *kind = attributes[k].kind;
        return true;
    }
    return false;
}

static collage_status check_attribute(const struct op *op, const collage_attribute *attribute,
                                      struct error *error)
{
    collage_attribute_kind kind;
    if (!op_find_attribute(op, attribute->name, &kind))
        return shape_error(error, "attribute '%.60s' is not supported", attribute->name);
    return kind == attribute->kind
               ? COLLAGE_OK
               : shape_error(error, "attribute '%.60s' has the wrong type", attribute->name);
}

static collage_status check_arity(const struct op *op, const struct op_call *call,
                                  struct error *error)
{
    if (call->input_count < (uint32_t)op->min_inputs ||
        (op->max_inputs >= 0 && call->input_count > (uint32_t)op->max_inputs))
        return shape_error(error, "%" PRIu32 " inputs are not possible", call->input_count);
    if (call->output_count < (uint32_t)op->min_outputs ||
        (op->max_outputs >= 0 && call->output_count > (uint32_t)op->max_outputs))
        return shape_error(error, "%" PRIu32 " outputs are not supported", call->output_count);
    for (uint32_t k = 0; k < call->input_count; k++) {
        const struct tensor *input = call->inputs[k];
        uint64_t bytes;
        if (!input && (k < (uint32_t)op->min_inputs || op->max_inputs < 0))
            return shape_error(error, "input %" PRIu32 " is missing", k);
        if (input && !tensor_check_size(input, &bytes))
            return shape_error(error, "input %" PRIu32 " has an unknown type or a bad shape", k);
    }
    return COLLAGE_OK;
}

collage_status op_infer(const struct op *op, const struct op_call *call, struct error *error)
{
    collage_status status = check_arity(op, call, error);
    for (uint32_t k = 0; k < call->node->attribute_count && status == COLLAGE_OK; k++)
        status = check_attribute(op, &call->node->attributes[k], error);
    for (uint32_t k = 0; k < call->output_count && status == COLLAGE_OK; k++)
        call->outputs[k] = (struct tensor){ .data = call->outputs[k].data };
    if (status == COLLAGE_OK)
        status = op->infer(call, error);
    for (uint32_t k = 0; k < call->output_count && status == COLLAGE_OK; k++) {
        uint64_t bytes;
        if (!tensor_check_size(&call->outputs[k], &bytes)) {
            char dims[160];
            dims_print(call->outputs[k].dims, call->outputs[k].rank, dims, sizeof dims);
            status = shape_error(error, "output %" PRIu32 " would be of the shape %s", k, dims);
        }
    }
    return status;
}
