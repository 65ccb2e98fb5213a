/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "ops/call.h"

static const struct op table[] = {
#define OP(name, min_in, max_in, min_out, max_out, flags, infer_fn, compute_fn)                    \
    { #name, min_in, max_in, min_out, max_out, flags, infer_fn, compute_fn },
#include "ops/ops.def"
#undef OP
};

/* Attributes have one kind each, whatever the operator: one of another kind would be overlooked
 * silently. */
static const struct {
    const char *name;
    collage_attribute_kind kind;
} attribute_kinds[] = {
#define INT    COLLAGE_ATTRIBUTE_INT
#define INTS   COLLAGE_ATTRIBUTE_INTS
#define FLOAT  COLLAGE_ATTRIBUTE_FLOAT
#define STRING COLLAGE_ATTRIBUTE_STRING
    { "allowzero", INT },
    { "alpha", FLOAT },
    { "antialias", INT },
    { "approximate", STRING },
    { "auto_pad", STRING },
    { "axes", INTS },
    { "axis", INT },
    { "beta", FLOAT },
    { "blocksize", INT },
    { "ceil_mode", INT },
    { "coordinate_transformation_mode", STRING },
    { "count_include_pad", INT },
    { "cubic_coeff_a", FLOAT },
    { "dilations", INTS },
    { "direction", STRING },
    { "dtype", INT },
    { "end", INT },
    { "epsilon", FLOAT },
    { "exclude_outside", INT },
    { "exclusive", INT },
    { "fmod", INT },
    { "gamma", FLOAT },
    { "group", INT },
    { "hidden_size", INT },
    { "keepdims", INT },
    { "kernel_shape", INTS },
    { "layout", INT },
    { "mode", STRING },
    { "nearest_mode", STRING },
    { "noop_with_empty_axes", INT },
    { "num_groups", INT },
    { "num_outputs", INT },
    { "output_padding", INTS },
    { "output_shape", INTS },
    { "pads", INTS },
    { "perm", INTS },
    { "reverse", INT },
    { "select_last_index", INT },
    { "start", INT },
    { "stash_type", INT },
    { "storage_order", INT },
    { "strides", INTS },
    { "to", INT },
    { "training_mode", INT },
    { "transA", INT },
    { "transB", INT },
    { "upper", INT },
#undef INT
#undef INTS
#undef FLOAT
#undef STRING
};

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

static collage_status check_attributes(const collage_node *node, struct error *error)
{
    for (uint32_t k = 0; k < node->attribute_count; k++)
        for (size_t i = 0; i < sizeof attribute_kinds / sizeof attribute_kinds[0]; i++)
            if (strcmp(node->attributes[k].name, attribute_kinds[i].name) == 0 &&
                node->attributes[k].kind != attribute_kinds[i].kind)
                return shape_error(error, "attribute '%s' has the wrong type",
                                   node->attributes[k].name);
    return COLLAGE_OK;
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

static collage_status infer_checked(const struct op *op, const struct op_call *call,
                                    struct error *error)
{
    collage_status status = check_arity(op, call, error);
    if (status == COLLAGE_OK)
        status = check_attributes(call->node, error);
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

collage_status op_infer(const struct op *op, const struct op_call *call, struct error *error)
{
    collage_status status = infer_checked(op, call, error);
    if (status != COLLAGE_OK)
        error_prefix(error, "%s", op->name);
    return status;
}
