/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model's inputs and their symbolic dimensions. A dimension is known from the file, from a
 * given shape, or because its symbol is bound by another input's given shape.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "onnx/importer.h"

struct symbol {
    const char *name;
    int64_t value;
};

struct binder {
    struct importer *importer;
    const collage_shape *shapes;
    size_t shape_count;
    struct symbol *symbols;
    size_t symbol_count, symbol_capacity;
};

/* An input that the caller must feed: not one whose initializer is a constant (import.c). */
static bool is_fed(const struct importer *importer, const Onnx__ValueInfoProto *info)
{
    uint32_t id = name_map_find(&importer->values, message_string(info->name));
    return id == NAME_MAP_NONE || importer->graph->values[id].kind != VALUE_CONSTANT;
}

static const collage_shape *given_shape(const struct binder *binder, const char *name)
{
    for (size_t k = 0; k < binder->shape_count; k++)
        if (strcmp(binder->shapes[k].name, name) == 0)
            return &binder->shapes[k];
    return NULL;
}

static const Onnx__TensorShapeProto *shape_of(const Onnx__ValueInfoProto *info)
{
    return info->type->tensor_type->shape;
}

/* The dimension in the file, -1 if it is symbolic. Exporters write negative numbers for unknown. */
static int64_t static_dim(const Onnx__TensorShapeProto__Dimension *dim)
{
    return dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                   dim->dim_value >= 0
               ? dim->dim_value
               : -1;
}

/* NULL if the dimension has no symbol. */
static const char *symbol_name(const Onnx__TensorShapeProto__Dimension *dim)
{
    return dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                   dim->dim_param && dim->dim_param[0]
               ? dim->dim_param
               : NULL;
}

static const struct symbol *find_symbol(const struct binder *binder, const char *name)
{
    for (size_t k = 0; name && k < binder->symbol_count; k++)
        if (strcmp(binder->symbols[k].name, name) == 0)
            return &binder->symbols[k];
    return NULL;
}

static collage_status bind_symbol(struct binder *binder, const char *name, int64_t value,
                                  const char *input, struct error *error)
{
    const struct symbol *known = find_symbol(binder, name);
    if (known && known->value != value)
        return error_set(error, COLLAGE_ERROR_SHAPE,
                         "input '%s': the dimension '%s' is given as %lld and as %lld", input, name,
                         (long long)known->value, (long long)value);
    if (known)
        return COLLAGE_OK;
    if (!memory_grow((void **)&binder->symbols, &binder->symbol_capacity, binder->symbol_count,
                     sizeof *binder->symbols))
        return error_memory(error);
    binder->symbols[binder->symbol_count++] = (struct symbol){ name, value };
    return COLLAGE_OK;
}

/* "Nx3x224x224" (with_values: what is known instead of symbols, 1 for the rest). */
static void print_shape(const struct binder *binder, const Onnx__TensorShapeProto *shape,
                        bool with_values, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < shape->n_dim && used < size; k++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[k];
        const struct symbol *symbol = find_symbol(binder, symbol_name(dim));
        int64_t value = symbol ? symbol->value : static_dim(dim);
        int length;
        if (value >= 0 || with_values)
            length = snprintf(text + used, size - used, "%s%lld", k ? "x" : "",
                              value >= 0 ? (long long)value : 1LL);
        else
            length = snprintf(text + used, size - used, "%s%.32s", k ? "x" : "",
                              symbol_name(dim) ? symbol_name(dim) : "?");
        used += length > 0 ? (size_t)length : 0;
    }
}

static collage_status check_type(const Onnx__ValueInfoProto *info, struct error *error)
{
    const char *name = message_string(info->name);
    if (!name[0])
        return error_set(error, COLLAGE_ERROR_FORMAT, "the model has an input without a name");
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !info->type->tensor_type)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "input '%s' is not a tensor, which is not supported", name);
    const Onnx__TypeProto__Tensor *type = info->type->tensor_type;
    if (!dtype_size((collage_dtype)type->elem_type))
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "input '%s' has the element type %d, which is not supported", name,
                         type->elem_type);
    if (type->shape && type->shape->n_dim > COLLAGE_MAX_RANK)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "input '%s' has %zu dimensions; at most %d are supported", name,
                         type->shape->n_dim, COLLAGE_MAX_RANK);
    return COLLAGE_OK;
}

/* A given shape must agree with what the file says; it binds the symbols. */
static collage_status bind_input(struct binder *binder, const Onnx__ValueInfoProto *info,
                                 struct error *error)
{
    const collage_shape *given = given_shape(binder, info->name);
    if (!given)
        return COLLAGE_OK;
    const Onnx__TensorShapeProto *shape = shape_of(info);
    if (given->rank < 0 || given->rank > COLLAGE_MAX_RANK)
        return error_set(error, COLLAGE_ERROR_SHAPE,
                         "input '%s': the given shape has %d dimensions; at most %d are supported",
                         info->name, given->rank, COLLAGE_MAX_RANK);
    if (shape && given->rank != (int32_t)shape->n_dim)
        return error_set(error, COLLAGE_ERROR_SHAPE,
                         "input '%s' has %zu dimensions in the model, but %d in the given shape",
                         info->name, shape->n_dim, given->rank);
    for (int32_t k = 0; k < given->rank; k++) {
        int64_t fixed = shape ? static_dim(shape->dim[k]) : -1;
        if (given->dims[k] < (fixed == 0 ? 0 : 1)) /* plans name the shapes of the file, too */
            return error_set(error, COLLAGE_ERROR_SHAPE,
                             "input '%s': dimension %d of the given shape must be positive",
                             info->name, k);
        if (fixed >= 0 && fixed != given->dims[k])
            return error_set(error, COLLAGE_ERROR_SHAPE,
                             "input '%s': dimension %d is %lld in the model, but %lld in the given "
                             "shape",
                             info->name, k, (long long)fixed, (long long)given->dims[k]);
        const char *symbol = shape ? symbol_name(shape->dim[k]) : NULL;
        if (symbol && bind_symbol(binder, symbol, given->dims[k], info->name, error) != COLLAGE_OK)
            return error->status;
    }
    return COLLAGE_OK;
}

static collage_status unknown_shape(const struct binder *binder, const Onnx__ValueInfoProto *info,
                                    struct error *error)
{
    char symbolic[128], example[128];
    const Onnx__TensorShapeProto *shape = shape_of(info);
    if (!shape)
        return error_set(error, COLLAGE_ERROR_SHAPE,
                         "input '%s' has no shape in the model: give --shape %s=...", info->name,
                         info->name);
    print_shape(binder, shape, false, symbolic, sizeof symbolic);
    print_shape(binder, shape, true, example, sizeof example);
    return error_set(error, COLLAGE_ERROR_SHAPE,
                     "input '%s' has the symbolic shape %s: give --shape %s=%s", info->name,
                     symbolic, info->name, example);
}

static collage_status resolve_shape(const struct binder *binder, const Onnx__ValueInfoProto *info,
                                    struct tensor *tensor, struct error *error)
{
    const collage_shape *given = given_shape(binder, info->name);
    const Onnx__TensorShapeProto *shape = shape_of(info);
    *tensor = (struct tensor){ .dtype = (collage_dtype)info->type->tensor_type->elem_type };
    if (!given && !shape)
        return unknown_shape(binder, info, error);
    tensor->rank = given ? given->rank : (int32_t)shape->n_dim;
    for (int32_t k = 0; k < tensor->rank; k++) {
        const struct symbol *symbol =
            given ? NULL : find_symbol(binder, symbol_name(shape->dim[k]));
        tensor->dims[k] = given    ? given->dims[k]
                          : symbol ? symbol->value
                                   : static_dim(shape->dim[k]);
        if (tensor->dims[k] < 0)
            return unknown_shape(binder, info, error);
    }
    uint64_t bytes;
    if (!tensor_check_size(tensor, &bytes))
        return error_set(error, COLLAGE_ERROR_SHAPE, "input '%s' has an impossible shape",
                         info->name);
    return COLLAGE_OK;
}

/* Every given shape must name an input. */
static collage_status check_given(const struct binder *binder, const Onnx__GraphProto *graph,
                                  struct error *error)
{
    for (size_t s = 0; s < binder->shape_count; s++) {
        struct text names = { 0 };
        bool found = false;
        for (size_t k = 0; k < graph->n_input; k++) {
            const char *name = message_string(graph->input[k]->name);
            if (!is_fed(binder->importer, graph->input[k]))
                continue;
            found = found || strcmp(binder->shapes[s].name, name) == 0;
            text_format(&names, "%s%.64s", names.count ? ", " : "", name);
        }
        if (!found)
            error_set(error, COLLAGE_ERROR_SHAPE,
                      "a shape is given for '%s', but the model's inputs are: %.300s",
                      binder->shapes[s].name, names.bytes ? names.bytes : "none");
        text_free(&names);
        if (!found)
            return error->status;
    }
    return COLLAGE_OK;
}

static collage_status declare_inputs(struct binder *binder, const Onnx__GraphProto *graph,
                                     struct error *error)
{
    value_id *ids = memory_alloc(graph->n_input * sizeof *ids);
    uint32_t count = 0;
    collage_status status = ids ? COLLAGE_OK : error_memory(error);
    for (size_t k = 0; status == COLLAGE_OK && k < graph->n_input; k++) {
        struct tensor tensor;
        if (!is_fed(binder->importer, graph->input[k]))
            continue;
        status = resolve_shape(binder, graph->input[k], &tensor, error);
        if (status == COLLAGE_OK)
            status = importer_value(binder->importer, graph->input[k]->name, VALUE_INPUT, &tensor,
                                    &ids[count++], error);
    }
    if (status == COLLAGE_OK)
        status = graph_set_inputs(binder->importer->graph, ids, count, error);
    memory_free(ids);
    return status;
}

collage_status importer_inputs(struct importer *importer, const collage_shape *shapes,
                               size_t shape_count, struct error *error)
{
    const Onnx__GraphProto *graph = importer->model->graph;
    struct binder binder = { .importer = importer, .shapes = shapes, .shape_count = shape_count };
    collage_status status = check_given(&binder, graph, error);
    for (size_t k = 0; status == COLLAGE_OK && k < graph->n_input; k++) {
        if (!is_fed(importer, graph->input[k]))
            continue;
        status = check_type(graph->input[k], error);
        if (status == COLLAGE_OK)
            status = bind_input(&binder, graph->input[k], error);
    }
    if (status == COLLAGE_OK)
        status = declare_inputs(&binder, graph, error);
    memory_free(binder.symbols);
    return status;
}
