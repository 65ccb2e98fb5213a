/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/functions.h"

#include <string.h>

static const char *domain_of(const char *domain)
{
    return domain && strcmp(domain, "ai.onnx") != 0 ? domain : "";
}

const Onnx__FunctionProto *function_find(const struct importer *importer,
                                         const Onnx__NodeProto *node)
{
    const Onnx__ModelProto *model = importer->model;
    for (size_t k = 0; k < model->n_functions; k++) {
        const Onnx__FunctionProto *function = model->functions[k];
        if (strcmp(message_string(function->name), message_string(node->op_type)) == 0 &&
            strcmp(domain_of(function->domain), domain_of(node->domain)) == 0 &&
            strcmp(message_string(function->overload), message_string(node->overload)) == 0)
            return function;
    }
    return NULL;
}

static collage_status bind_inputs(struct importer *importer, struct scope *scope,
                                  const Onnx__FunctionProto *function, const Onnx__NodeProto *call,
                                  struct error *error)
{
    if (call->n_input > function->n_input || call->n_output > function->n_output)
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "the call has %zu inputs and %zu outputs, the function %zu and %zu",
                         call->n_input, call->n_output, function->n_input, function->n_output);
    for (size_t k = 0; k < function->n_input; k++) {
        value_id id = GRAPH_NONE;
        const char *name = k < call->n_input ? message_string(call->input[k]) : "";
        importer->scope = scope->caller; /* inputs are named where the call stands */
        collage_status status = !name[0] || scope_find(importer, name, &id)
                                    ? COLLAGE_OK
                                    : scope_missing(importer, "input", name, error);
        importer->scope = scope;
        if (status == COLLAGE_OK)
            status = scope_bind(importer, message_string(function->input[k]), id, error);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

/* The opset that its nodes are of may be another than the model's. */
static collage_status read_opset(struct importer *importer, const Onnx__FunctionProto *function,
                                 struct error *error)
{
    for (size_t k = 0; k < function->n_opset_import; k++) {
        const char *domain = message_string(function->opset_import[k]->domain);
        if (domain[0] && strcmp(domain, "ai.onnx") != 0)
            continue;
        collage_status status =
            importer_check_opset(importer, function->opset_import[k]->version, error);
        if (status != COLLAGE_OK)
            return status;
        importer->opset = function->opset_import[k]->version;
    }
    return COLLAGE_OK;
}

static collage_status find_outputs(struct importer *importer, const Onnx__FunctionProto *function,
                                   const Onnx__NodeProto *call, value_id *ids, struct error *error)
{
    for (size_t k = 0; k < call->n_output; k++) {
        const char *name = message_string(function->output[k]);
        if (!scope_find(importer, name, &ids[k]) || ids[k] == GRAPH_NONE) {
            if (message_string(call->output[k])[0])
                return scope_missing(importer, "the function's output", name, error);
            ids[k] = GRAPH_NONE;
        }
    }
    return COLLAGE_OK;
}

static collage_status bind_outputs(struct importer *importer, const Onnx__NodeProto *call,
                                   const value_id *ids, struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < call->n_output && status == COLLAGE_OK; k++)
        if (message_string(call->output[k])[0])
            status = scope_bind(importer, call->output[k], ids[k], error);
    return status;
}

collage_status function_inline(struct importer *importer, const Onnx__FunctionProto *function,
                               const Onnx__NodeProto *call, struct error *error)
{
    struct scope scope = { .call = call, .function = function };
    const struct body body = { function->node, function->n_node, NULL, 0 };
    const char *name = message_string(call->name);
    if (!name[0] && call->n_output > 0)
        name = message_string(call->output[0]);
    value_id *ids = memory_alloc(call->n_output * sizeof *ids);
    if (!ids)
        return error_memory(error);
    collage_status status = scope_enter(importer, &scope, name, error);
    if (status == COLLAGE_OK)
        status = bind_inputs(importer, &scope, function, call, error);
    if (status == COLLAGE_OK)
        status = read_opset(importer, function, error);
    if (status == COLLAGE_OK)
        status = scope_import_nodes(importer, &body, error);
    if (status == COLLAGE_OK)
        status = find_outputs(importer, function, call, ids, error);
    scope_leave(importer, &scope);
    if (status == COLLAGE_OK)
        status = bind_outputs(importer, call, ids, error);
    memory_free(ids);
    return status;
}
