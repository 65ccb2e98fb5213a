/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/draft.h"

#include <string.h>

/* ---- attributes ---- */

collage_status draft_take_attribute(struct importer *importer, struct draft *draft,
                                    const char *name, collage_attribute_kind kind,
                                    collage_attribute **out, struct error *error)
{
    *out = NULL;
    for (uint32_t k = 0; k < draft->attribute_count; k++) {
        if (strcmp(draft->attributes[k].name, name) != 0)
            continue;
        if (draft->attributes[k].kind != kind)
            return error_set(error, COLLAGE_ERROR_FORMAT, "attribute '%s' has the wrong type",
                             name);
        *out = arena_copy(importer->graph->arena, &draft->attributes[k], sizeof **out);
        if (!*out)
            return error_memory(error);
        draft->attribute_count--;
        memmove(&draft->attributes[k], &draft->attributes[k + 1],
                (draft->attribute_count - k) * sizeof *draft->attributes);
        return COLLAGE_OK;
    }
    return COLLAGE_OK;
}

collage_status draft_drop_attribute(struct importer *importer, struct draft *draft,
                                    const char *name, collage_attribute_kind kind,
                                    struct error *error)
{
    collage_attribute *a;
    return draft_take_attribute(importer, draft, name, kind, &a, error);
}

collage_status draft_take_int(struct importer *importer, struct draft *draft, const char *name,
                              int64_t fallback, int64_t *out, struct error *error)
{
    collage_attribute *a;
    collage_status status =
        draft_take_attribute(importer, draft, name, COLLAGE_ATTRIBUTE_INT, &a, error);
    *out = status == COLLAGE_OK && a ? a->i : fallback;
    return status;
}

collage_status draft_take_float(struct importer *importer, struct draft *draft, const char *name,
                                float fallback, float *out, struct error *error)
{
    collage_attribute *a;
    collage_status status =
        draft_take_attribute(importer, draft, name, COLLAGE_ATTRIBUTE_FLOAT, &a, error);
    *out = status == COLLAGE_OK && a ? a->f : fallback;
    return status;
}

collage_status draft_add_attribute(struct importer *importer, struct draft *draft,
                                   collage_attribute attribute, struct error *error)
{
    for (uint32_t k = 0; k < draft->attribute_count; k++)
        if (strcmp(draft->attributes[k].name, attribute.name) == 0)
            return error_set(error, COLLAGE_ERROR_FORMAT, "attribute '%s' is of a newer opset",
                             attribute.name);
    collage_attribute *more =
        arena_array(importer->graph->arena, (size_t)draft->attribute_count + 1, sizeof *more);
    if (!more)
        return error_memory(error);
    if (draft->attribute_count)
        memcpy(more, draft->attributes, draft->attribute_count * sizeof *more);
    more[draft->attribute_count++] = attribute;
    draft->attributes = more;
    return COLLAGE_OK;
}

collage_status draft_add_string(struct importer *importer, struct draft *draft, const char *name,
                                const char *text, struct error *error)
{
    return draft_add_attribute(importer, draft,
                               (collage_attribute){ .name = name,
                                                    .kind = COLLAGE_ATTRIBUTE_STRING,
                                                    .s = text,
                                                    .count = (uint32_t)strlen(text) },
                               error);
}

collage_status draft_add_int(struct importer *importer, struct draft *draft, const char *name,
                             int64_t value, struct error *error)
{
    return draft_add_attribute(
        importer, draft,
        (collage_attribute){ .name = name, .kind = COLLAGE_ATTRIBUTE_INT, .i = value }, error);
}

/* ---- inputs ---- */

collage_status draft_set_input(struct importer *importer, struct draft *draft, uint32_t index,
                               value_id id, struct error *error)
{
    if (index >= draft->input_count) {
        value_id *more = arena_array(importer->graph->arena, (size_t)index + 1, sizeof *more);
        if (!more)
            return error_memory(error);
        for (uint32_t k = 0; k <= index; k++)
            more[k] = k < draft->input_count ? draft->inputs[k] : GRAPH_NONE;
        draft->inputs = more;
        draft->input_count = index + 1;
    }
    draft->inputs[index] = id;
    return COLLAGE_OK;
}

value_id draft_input(const struct draft *draft, uint32_t index)
{
    return index < draft->input_count ? draft->inputs[index] : GRAPH_NONE;
}

collage_status draft_need_input(const struct draft *draft, uint32_t index, struct error *error)
{
    if (draft_input(draft, index) == GRAPH_NONE)
        return error_set(error, COLLAGE_ERROR_FORMAT, "input %u is missing", (unsigned)index);
    return COLLAGE_OK;
}

collage_status draft_need_inputs(const struct draft *draft, uint32_t count, struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < count && status == COLLAGE_OK; k++)
        status = draft_need_input(draft, k, error);
    return status;
}

collage_status draft_constant(struct importer *importer, const struct draft *draft,
                              const char *what, struct tensor tensor, value_id *id,
                              struct error *error)
{
    const char *name = importer_fresh_name(importer, draft->name, what);
    tensor.data = arena_copy(importer->graph->arena, tensor.data, (size_t)tensor_bytes(&tensor));
    if (!name || !tensor.data)
        return error_memory(error);
    return importer_value(importer, name, VALUE_CONSTANT, &tensor, id, error);
}

collage_status draft_ints(struct importer *importer, const struct draft *draft, const char *what,
                          const int64_t *ints, uint32_t count, value_id *id, struct error *error)
{
    struct tensor tensor = { COLLAGE_INT64, 1, { count }, (void *)(uintptr_t)ints };
    return draft_constant(importer, draft, what, tensor, id, error);
}

collage_status draft_number(struct importer *importer, const struct draft *draft, const char *what,
                            double number, value_id like, value_id *id, struct error *error)
{
    double room = 0; /* for one element of any type */
    struct tensor tensor = { .dtype = importer->graph->values[like].tensor.dtype, .data = &room };
    tensor_set(&tensor, 0, number);
    return draft_constant(importer, draft, what, tensor, id, error);
}

collage_status draft_ints_to_input(struct importer *importer, struct draft *draft, const char *name,
                                   uint32_t index, struct error *error)
{
    collage_attribute *a;
    value_id id;
    collage_status status =
        draft_take_attribute(importer, draft, name, COLLAGE_ATTRIBUTE_INTS, &a, error);
    if (status != COLLAGE_OK || !a)
        return status;
    status = draft_ints(importer, draft, name, a->ints, a->count, &id, error);
    return status == COLLAGE_OK ? draft_set_input(importer, draft, index, id, error) : status;
}

collage_status draft_float_to_input(struct importer *importer, struct draft *draft,
                                    const char *name, uint32_t index, struct error *error)
{
    collage_attribute *a;
    value_id id;
    collage_status status =
        draft_take_attribute(importer, draft, name, COLLAGE_ATTRIBUTE_FLOAT, &a, error);
    if (status != COLLAGE_OK || !a)
        return status;
    status = draft_need_input(draft, 0, error);
    if (status == COLLAGE_OK)
        status = draft_number(importer, draft, name, (double)a->f, draft->inputs[0], &id, error);
    return status == COLLAGE_OK ? draft_set_input(importer, draft, index, id, error) : status;
}

/* ---- more nodes ---- */

collage_status draft_emit_step(struct importer *importer, const struct draft *draft,
                               const struct draft_step *step, value_id *out, struct error *error)
{
    struct arena *arena = importer->graph->arena;
    const char *output = importer_fresh_name(importer, draft->name, step->op);
    struct draft node = { .op_type = step->op,
                          .name = output,
                          .inputs = arena_array(arena, step->input_count, sizeof(value_id)),
                          .input_count = step->input_count,
                          .outputs = arena_alloc(arena, sizeof(value_id)),
                          .output_names = arena_alloc(arena, sizeof(char *)),
                          .output_count = 1,
                          .attributes =
                              arena_array(arena, step->attribute_count, sizeof(collage_attribute)),
                          .attribute_count = step->attribute_count };
    if (!output || !node.inputs || !node.outputs || !node.output_names || !node.attributes)
        return error_memory(error);
    node.output_names[0] = output;
    if (step->input_count)
        memcpy(node.inputs, step->inputs, step->input_count * sizeof *node.inputs);
    if (step->attribute_count)
        memcpy(node.attributes, step->attributes, step->attribute_count * sizeof *node.attributes);
    while (node.input_count > 0 && node.inputs[node.input_count - 1] == GRAPH_NONE)
        node.input_count--;
    collage_status status = importer_emit(importer, &node, error);
    *out = node.outputs[0];
    return status;
}

collage_status draft_emit(struct importer *importer, const struct draft *draft, const char *op,
                          const value_id *inputs, uint32_t count, value_id *out,
                          struct error *error)
{
    return draft_emit_step(importer, draft, &(struct draft_step){ op, inputs, count, NULL, 0 }, out,
                           error);
}

collage_status draft_become(struct importer *importer, struct draft *draft, const char *op,
                            const value_id *inputs, uint32_t count, struct error *error)
{
    draft->op_type = op;
    draft->inputs = arena_copy(importer->graph->arena, inputs, count * sizeof *inputs);
    draft->input_count = count;
    draft->attribute_count = 0;
    if (!draft->inputs)
        return error_memory(error);
    while (draft->input_count > 0 && draft->inputs[draft->input_count - 1] == GRAPH_NONE)
        draft->input_count--;
    return COLLAGE_OK;
}
