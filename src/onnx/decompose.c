/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/decompose.h"

#include <string.h>

#include "onnx/draft.h"
#include "onnx/scope.h"

static const struct tensor *type_of(const struct importer *importer, value_id id)
{
    return &importer->graph->values[id].tensor;
}

/* CastLike(x, like) is Cast to the type of `like`. */
static collage_status cast_like(struct importer *importer, struct draft *draft, struct error *error)
{
    collage_status status = draft_need_inputs(draft, 2, error);
    if (status == COLLAGE_OK)
        status = draft_drop_attribute(importer, draft, "saturate", COLLAGE_ATTRIBUTE_INT, error);
    if (status == COLLAGE_OK)
        status =
            draft_drop_attribute(importer, draft, "round_mode", COLLAGE_ATTRIBUTE_STRING, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t to = (int64_t)type_of(importer, draft->inputs[1])->dtype;
    draft->op_type = "Cast";
    draft->input_count = 1;
    return draft_add_int(importer, draft, "to", to, error);
}

/* SwiGLU(a, b) is Swish(a) * b. */
static collage_status swiglu(struct importer *importer, struct draft *draft, struct error *error)
{
    value_id gate;
    collage_status status = draft_need_inputs(draft, 2, error);
    if (status != COLLAGE_OK)
        return status;
    if (!tensor_same_shape(type_of(importer, draft->inputs[0]),
                           type_of(importer, draft->inputs[1])))
        return error_set(error, COLLAGE_ERROR_SHAPE, "its inputs have different shapes");
    status = draft_emit_step(importer, draft,
                             &(struct draft_step){ "Swish", draft->inputs, 1, draft->attributes,
                                                   draft->attribute_count },
                             &gate, error);
    return status == COLLAGE_OK ? draft_become(importer, draft, "Mul",
                                               (value_id[]){ gate, draft->inputs[1] }, 2, error)
                                : status;
}

/* ---- CausalConvWithState: Concat(past, x), Conv, Swish; the state is the end of the former ----
 */

enum { X, WEIGHT, BIAS, PAST };

/* The carried inputs before those of this call: [batch, channels, width - 1 + length]. */
static collage_status carry(struct importer *importer, const struct draft *draft, int64_t kept,
                            value_id *out, struct error *error)
{
    const struct tensor *x = type_of(importer, draft->inputs[X]);
    const collage_attribute axis = { .name = "axis", .kind = COLLAGE_ATTRIBUTE_INT, .i = 2 };
    const int64_t dims[3] = { x->dims[0], x->dims[1], kept };
    value_id parts[2] = { draft_input(draft, PAST), draft->inputs[X] }, zero, shape;
    collage_status status = COLLAGE_OK;
    if (parts[0] == GRAPH_NONE) {
        status = draft_number(importer, draft, "zero", 0, draft->inputs[X], &zero, error);
        if (status == COLLAGE_OK)
            status = draft_ints(importer, draft, "shape", dims, 3, &shape, error);
        if (status == COLLAGE_OK)
            status = draft_emit(importer, draft, "Expand", (value_id[]){ zero, shape }, 2,
                                &parts[0], error);
    }
    return status == COLLAGE_OK
               ? draft_emit_step(importer, draft,
                                 &(struct draft_step){ "Concat", parts, 2, &axis, 1 }, out, error)
               : status;
}

/* The last `kept` columns get the name of the second output. */
static collage_status bind_state(struct importer *importer, const struct draft *draft,
                                 value_id carried, int64_t kept, struct error *error)
{
    const int64_t length = type_of(importer, carried)->dims[2];
    const int64_t numbers[3] = { length - kept, length, 2 };
    value_id inputs[4] = { carried, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE }, state;
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < 3 && status == COLLAGE_OK; k++)
        status = draft_ints(importer, draft, "state", &numbers[k], 1, &inputs[1 + k], error);
    if (status == COLLAGE_OK)
        status = draft_emit(importer, draft, "Slice", inputs, 4, &state, error);
    return status == COLLAGE_OK ? scope_bind(importer, draft->output_names[1], state, error)
                                : status;
}

static collage_status become_conv(struct importer *importer, struct draft *draft, value_id carried,
                                  bool activates, struct error *error)
{
    const collage_attribute group = { .name = "group",
                                      .kind = COLLAGE_ATTRIBUTE_INT,
                                      .i = type_of(importer, draft->inputs[X])->dims[1] };
    const value_id inputs[3] = { carried, draft->inputs[WEIGHT], draft_input(draft, BIAS) };
    value_id y;
    if (!activates) {
        collage_status status = draft_become(importer, draft, "Conv", inputs, 3, error);
        return status == COLLAGE_OK ? draft_add_int(importer, draft, "group", group.i, error)
                                    : status;
    }
    collage_status status = draft_emit_step(
        importer, draft, &(struct draft_step){ "Conv", inputs, 3, &group, 1 }, &y, error);
    return status == COLLAGE_OK ? draft_become(importer, draft, "Swish", &y, 1, error) : status;
}

static collage_status causal_conv(struct importer *importer, struct draft *draft,
                                  struct error *error)
{
    collage_attribute *activation;
    value_id carried;
    collage_status status = draft_need_inputs(draft, 2, error);
    if (status == COLLAGE_OK)
        status = draft_take_attribute(importer, draft, "activation", COLLAGE_ATTRIBUTE_STRING,
                                      &activation, error);
    if (status != COLLAGE_OK)
        return status;
    const char *name = activation ? activation->s : "none";
    bool activates = strcmp(name, "silu") == 0 || strcmp(name, "swish") == 0;
    if (!activates && strcmp(name, "none") != 0)
        return error_set(error, COLLAGE_ERROR_FORMAT, "activation '%.20s' is not known", name);
    const struct tensor *x = type_of(importer, draft->inputs[X]);
    const struct tensor *weight = type_of(importer, draft->inputs[WEIGHT]);
    if (x->rank != 3 || weight->rank != 3 || weight->dims[2] < 1)
        return error_set(error, COLLAGE_ERROR_SHAPE, "its input and weight must be of rank 3");
    const int64_t kept = weight->dims[2] - 1;
    status = carry(importer, draft, kept, &carried, error);
    if (status == COLLAGE_OK && draft->output_count > 1 && draft->output_names[1][0])
        status = bind_state(importer, draft, carried, kept, error);
    draft->output_count = 1;
    return status == COLLAGE_OK ? become_conv(importer, draft, carried, activates, error) : status;
}

/* ---- the table ---- */

static const struct {
    const char *op;
    collage_status (*apply)(struct importer *importer, struct draft *draft, struct error *error);
} table[] = {
    { "CastLike", cast_like },
    { "CausalConvWithState", causal_conv },
    { "SwiGLU", swiglu },
};
enum { ROWS = sizeof table / sizeof *table };

bool decompose_knows(const char *op_type)
{
    for (size_t k = 0; k < ROWS; k++)
        if (strcmp(table[k].op, op_type) == 0)
            return true;
    return false;
}

collage_status decompose(struct importer *importer, struct draft *draft, struct error *error)
{
    for (size_t k = 0; k < ROWS; k++)
        if (strcmp(table[k].op, draft->op_type) == 0)
            return table[k].apply(importer, draft, error);
    return COLLAGE_OK;
}
