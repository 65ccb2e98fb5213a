/* SPDX-License-Identifier: Apache-2.0 */
#include "partitions.h"

#include "fusions.h"
#include "moves.h"

#include <stdlib.h>
#include <string.h>

/* What making a graph needs at hand. */
struct making {
    const struct library *library;
    const struct recipe *recipe;
    struct partitions *out;
    dnnl_graph_graph_t graph;
    size_t ends; /* operations that only mark an output */
    collage_message *message;
};

static collage_status failed(const struct making *making, dnnl_status_t status, const char *what,
                             const char *op_type)
{
    collage_status code = status == dnnl_out_of_memory ? COLLAGE_ERROR_MEMORY
                          : status == dnnl_unimplemented || status == dnnl_invalid_graph_op
                              ? COLLAGE_ERROR_UNSUPPORTED
                              : COLLAGE_ERROR_BACKEND;
    return fail(making->message, code, "oneDNN Graph %s %s: %s", what, op_type,
                onednn_status_text(status));
}

static const char *op_type_of(const struct recipe *recipe, const struct operation *operation)
{
    return recipe->graph->nodes[operation->node]->op_type;
}

/* ---- tensors ---- */

/* Strides of row-major memory, or of a tag that permutes the dimensions ("acdb"). */
static bool set_strides(const struct tensor *tensor, const char *tag, dnnl_dims_t strides)
{
    int64_t stride = 1;
    unsigned seen = 0;
    if (tag[0] && strlen(tag) != (size_t)tensor->rank)
        return false;
    for (int k = tensor->rank - 1; k >= 0; k--) {
        int d = tag[0] ? tag[k] - 'a' : k;
        if (d < 0 || d >= tensor->rank || (seen & 1u << d))
            return false;
        seen |= 1u << d;
        strides[d] = stride;
        stride *= tensor->dims[d];
    }
    return true;
}

/* The layout that the variant has for a value at the border; NULL if it is inside. */
static const char *border_tag(const struct recipe *recipe, const collage_variant *variant,
                              uint32_t value)
{
    const collage_subgraph *graph = recipe->graph;
    for (uint32_t k = 0; k < graph->input_count; k++)
        if (graph->inputs[k] == value)
            return variant && variant->inputs ? variant->inputs[k].tag : "";
    for (uint32_t k = 0; k < graph->output_count; k++)
        if (graph->outputs[k] == value)
            return variant && variant->outputs ? variant->outputs[k].tag : "";
    return NULL;
}

static collage_status describe_tensors(const struct making *making, const collage_variant *variant)
{
    const struct recipe *recipe = making->recipe;
    for (size_t id = 0; id < recipe->tensor_count; id++) {
        const struct tensor *tensor = &recipe->tensors[id];
        dnnl_graph_logical_tensor_t *logical = &making->out->tensors[id];
        const char *tag = tensor->data ? ""
                          : tensor->value == COLLAGE_NO_VALUE
                              ? NULL
                              : border_tag(recipe, variant, tensor->value);
        *logical =
            (dnnl_graph_logical_tensor_t){ .id = id, .ndims = tensor->rank, .data_type = dnnl_f32 };
        memcpy(logical->dims, tensor->dims, (size_t)tensor->rank * sizeof *tensor->dims);
        logical->property = tensor->data ? dnnl_graph_tensor_property_constant
                                         : dnnl_graph_tensor_property_variable;
        logical->layout_type = tag ? dnnl_graph_layout_type_strided : dnnl_graph_layout_type_any;
        if (tag && !set_strides(tensor, tag, logical->layout.strides))
            return fail(making->message, COLLAGE_ERROR_UNSUPPORTED,
                        "the layout '%s' is not one of oneDNN Graph's", tag);
    }
    return COLLAGE_OK;
}

/* ---- the graph ---- */

static dnnl_status_t set_attribute(const struct library *library, dnnl_graph_op_t op,
                                   const struct attribute *attribute)
{
    uint8_t flag = attribute->integers[0] != 0;
    switch (attribute->type) {
    case ATTRIBUTE_INTEGERS:
        return library->graph_op_set_attr_s64(op, attribute->name, attribute->integers,
                                              attribute->count);
    case ATTRIBUTE_NUMBER:
        return library->graph_op_set_attr_f32(op, attribute->name, &attribute->number, 1);
    case ATTRIBUTE_BOOL:
        return library->graph_op_set_attr_bool(op, attribute->name, &flag, 1);
    case ATTRIBUTE_TEXT:
        return library->graph_op_set_attr_str(op, attribute->name, attribute->text,
                                              strlen(attribute->text));
    }
    return dnnl_invalid_arguments;
}

static collage_status add_operation(const struct making *making, size_t id)
{
    const struct library *library = making->library;
    const struct recipe *recipe = making->recipe;
    const struct operation *operation = &recipe->operations[id];
    const char *op_type = op_type_of(recipe, operation);
    dnnl_graph_op_t op = NULL;
    dnnl_status_t status = library->graph_op_create(&op, id, operation->kind, op_type);
    for (size_t k = 0; k < operation->count && status == dnnl_success; k++)
        status = library->graph_op_add_input(
            op, &making->out->tensors[recipe->operands[operation->first + k]]);
    if (status == dnnl_success)
        status = library->graph_op_add_output(op, &making->out->tensors[operation->result]);
    for (size_t k = 0; k < operation->attribute_count && status == dnnl_success; k++)
        status = set_attribute(library, op, &operation->attributes[k]);
    if (status == dnnl_success)
        status = library->graph_add_op(making->graph, op);
    if (op)
        library->graph_op_destroy(op); /* the graph has a copy */
    return status == dnnl_success ? COLLAGE_OK
                                  : failed(making, status, "refuses an operation of", op_type);
}

static bool is_read(const struct recipe *recipe, size_t tensor)
{
    for (size_t k = 0; k < recipe->operand_count; k++)
        if (recipe->operands[k] == tensor)
            return true;
    return false;
}

static bool is_output(const struct recipe *recipe, size_t tensor)
{
    for (uint32_t k = 0; k < recipe->graph->output_count; k++)
        if (recipe->of_value[recipe->graph->outputs[k]] == tensor)
            return true;
    return false;
}

/* What is read inside, but must not vanish in a fusion: an output of the sub-graph, for one. */
static collage_status mark_output(struct making *making, size_t tensor)
{
    const struct library *library = making->library;
    dnnl_graph_op_t op = NULL;
    dnnl_status_t status = library->graph_op_create(
        &op, making->recipe->operation_count + making->ends, dnnl_graph_op_end, "end");
    if (status == dnnl_success)
        status = library->graph_op_add_input(op, &making->out->tensors[tensor]);
    if (status == dnnl_success)
        status = library->graph_add_op(making->graph, op);
    if (op)
        library->graph_op_destroy(op);
    making->ends++;
    return status == dnnl_success ? COLLAGE_OK : failed(making, status, "refuses", "an output");
}

static collage_status build_graph(struct making *making, bool reduced)
{
    const struct library *library = making->library;
    const struct recipe *recipe = making->recipe;
    dnnl_status_t result = library->graph_graph_create_with_fpmath_mode(
        &making->graph, dnnl_cpu, reduced ? dnnl_fpmath_mode_any : dnnl_fpmath_mode_strict);
    if (result != dnnl_success)
        return failed(making, result, "makes no", "graph");
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < recipe->operation_count && status == COLLAGE_OK; k++)
        status = add_operation(making, k);
    for (size_t id = 0; id < recipe->tensor_count && status == COLLAGE_OK; id++)
        if (is_read(recipe, id) && (is_output(recipe, id) || fusions_end_at(recipe, id)))
            status = mark_output(making, id);
    if (status != COLLAGE_OK)
        return status;
    result = library->graph_graph_finalize(making->graph);
    if (result == dnnl_success)
        result = library->graph_graph_filter(making->graph, dnnl_graph_partition_policy_fusion);
    return result == dnnl_success ? COLLAGE_OK : failed(making, result, "cannot cut", "the graph");
}

/* ---- its partitions ---- */

static dnnl_status_t read_ports(const struct library *library, struct partition *partition)
{
    size_t ins = 0, outs = 0;
    dnnl_status_t status = library->graph_partition_get_input_ports_num(partition->handle, &ins);
    if (status == dnnl_success)
        status = library->graph_partition_get_output_ports_num(partition->handle, &outs);
    if (status != dnnl_success)
        return status;
    partition->ports = calloc(ins + outs + 1, sizeof *partition->ports);
    if (!partition->ports)
        return dnnl_out_of_memory;
    partition->input_count = ins;
    partition->output_count = outs;
    if (ins > 0)
        status = library->graph_partition_get_input_ports(partition->handle, ins, partition->ports);
    if (status == dnnl_success && outs > 0)
        status = library->graph_partition_get_output_ports(partition->handle, outs,
                                                           partition->ports + ins);
    return status;
}

static collage_status read_operations(const struct making *making, struct partition *partition)
{
    const struct library *library = making->library;
    dnnl_status_t status =
        library->graph_partition_get_op_num(partition->handle, &partition->operations);
    size_t *ids = calloc(partition->operations + 1, sizeof *ids);
    if (!ids)
        status = dnnl_out_of_memory;
    if (status == dnnl_success)
        status = library->graph_partition_get_ops(partition->handle, partition->operations, ids);
    for (size_t k = 0; k < partition->operations && status == dnnl_success; k++) {
        if (ids[k] >= making->recipe->operation_count)
            continue;
        const struct operation *operation = &making->recipe->operations[ids[k]];
        partition->operation = ids[k];
        partition->op_type = op_type_of(making->recipe, operation);
        partition->product = partition->product || operation->kind == dnnl_graph_op_matmul;
    }
    free(ids);
    return status == dnnl_success ? COLLAGE_OK
                                  : failed(making, status, "does not describe", "a partition");
}

static collage_status check_partition(const struct making *making, struct partition *partition)
{
    uint8_t supported = 0;
    collage_status status = read_operations(making, partition);
    if (status != COLLAGE_OK || !partition->op_type)
        return status;
    dnnl_status_t result =
        making->library->graph_partition_is_supported(partition->handle, &supported);
    partition->move = !supported && partition->operations == 1 &&
                      moves_take(&making->recipe->operations[partition->operation]);
    if (result == dnnl_success && !supported && !partition->move)
        return fail(making->message, COLLAGE_ERROR_UNSUPPORTED,
                    "oneDNN Graph does not take %s here", partition->op_type);
    if (result == dnnl_success)
        result = read_ports(making->library, partition);
    for (size_t k = 0; k < partition->input_count + partition->output_count; k++)
        if (partition->ports[k].id >= making->out->tensor_count)
            result = dnnl_invalid_arguments;
    return result == dnnl_success
               ? COLLAGE_OK
               : failed(making, result, "does not describe the partition of", partition->op_type);
}

static collage_status take_partitions(const struct making *making)
{
    const struct library *library = making->library;
    struct partitions *out = making->out;
    size_t count = 0;
    dnnl_status_t result = library->graph_graph_get_partition_num(making->graph, &count);
    dnnl_graph_partition_t *handles = calloc(count + 1, sizeof *handles);
    out->items = calloc(count + 1, sizeof *out->items);
    if (!handles || !out->items)
        result = dnnl_out_of_memory;
    if (result == dnnl_success)
        result = library->graph_graph_get_partitions(making->graph, count, handles);
    if (result == dnnl_success) {
        out->count = count;
        for (size_t k = 0; k < count; k++)
            out->items[k].handle = handles[k];
    }
    free(handles);
    if (result != dnnl_success)
        return failed(making, result, "gives no", "partitions");
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < out->count && status == COLLAGE_OK; k++)
        status = check_partition(making, &out->items[k]);
    return status;
}

static bool is_mark(const struct partition *partition)
{
    return !partition->op_type;
}

/* A move that has become a view. */
static bool is_still_move(const struct partition *partition)
{
    return partition->move;
}

/* Takes out what is not to be run. */
static void drop(const struct making *making, bool (*is_nothing)(const struct partition *))
{
    struct partitions *out = making->out;
    size_t kept = 0;
    for (size_t k = 0; k < out->count; k++) {
        if (!is_nothing(&out->items[k])) {
            out->items[kept++] = out->items[k];
            continue;
        }
        making->library->graph_partition_destroy(out->items[k].handle);
        free(out->items[k].ports);
    }
    out->count = kept;
}

static bool is_ready(const struct partition *partition, const bool *made)
{
    for (size_t k = 0; k < partition->input_count; k++)
        if (!made[partition->ports[k].id])
            return false;
    return true;
}

/* Sorts the partitions so that each comes after those that make what it reads. */
static collage_status order_partitions(const struct making *making)
{
    struct partitions *out = making->out;
    bool *made = calloc(out->tensor_count + 1, sizeof *made);
    if (!made)
        return fail(making->message, COLLAGE_ERROR_MEMORY, "out of memory");
    for (size_t id = 0; id < out->tensor_count; id++)
        made[id] = making->recipe->tensors[id].data || making->recipe->tensors[id].outside;
    size_t done = 0;
    for (bool again = true; again;) {
        again = false;
        for (size_t k = done; k < out->count; k++) {
            struct partition next = out->items[k];
            if (!is_ready(&next, made))
                continue;
            for (size_t p = 0; p < next.output_count; p++)
                made[next.ports[next.input_count + p].id] = true;
            memmove(&out->items[done + 1], &out->items[done], (k - done) * sizeof next);
            out->items[done++] = next;
            again = true;
        }
    }
    free(made);
    return done == out->count ? COLLAGE_OK
                              : fail(making->message, COLLAGE_ERROR_UNSUPPORTED,
                                     "oneDNN Graph cuts the graph into parts that wait for each "
                                     "other");
}

/* ---- compiling ---- */

/* The tensors of the ports as they lie now. */
static void set_ports(const struct partitions *all, struct partition *partition)
{
    for (size_t k = 0; k < partition->input_count + partition->output_count; k++)
        partition->ports[k] = all->tensors[partition->ports[k].id];
}

static collage_status compile_partition(const struct making *making, struct partition *partition,
                                        dnnl_engine_t engine)
{
    const struct library *library = making->library;
    size_t count = partition->input_count + partition->output_count;
    const dnnl_graph_logical_tensor_t **ports = calloc(count + 1, sizeof *ports);
    set_ports(making->out, partition);
    for (size_t k = 0; ports && k < count; k++)
        ports[k] = &partition->ports[k];
    dnnl_status_t status =
        ports ? library->graph_compiled_partition_create(&partition->compiled, partition->handle)
              : dnnl_out_of_memory;
    if (status == dnnl_success)
        status = library->graph_partition_compile(
            partition->handle, partition->compiled, partition->input_count, ports,
            partition->output_count, ports + partition->input_count, engine);
    free(ports);
    for (size_t k = partition->input_count; k < count && status == dnnl_success; k++) {
        dnnl_graph_logical_tensor_t *tensor = &making->out->tensors[partition->ports[k].id];
        status = library->graph_compiled_partition_query_logical_tensor(partition->compiled,
                                                                        tensor->id, tensor);
    }
    return status == dnnl_success ? COLLAGE_OK
                                  : failed(making, status, "does not compile", partition->op_type);
}

size_t partitions_root(const struct partitions *partitions, size_t id)
{
    while (partitions->same[id] != id)
        id = partitions->same[id];
    return id;
}

/* Room for the recipe's tensors and as many views as there are operations. */
static collage_status make_room(const struct making *making)
{
    struct partitions *out = making->out;
    size_t most = making->recipe->tensor_count + making->recipe->operation_count + 1;
    out->tensor_count = making->recipe->tensor_count;
    out->tensors = calloc(most, sizeof *out->tensors);
    out->same = calloc(most, sizeof *out->same);
    if (!out->tensors || !out->same)
        return fail(making->message, COLLAGE_ERROR_MEMORY, "out of memory");
    for (size_t id = 0; id < most; id++)
        out->same[id] = id;
    return COLLAGE_OK;
}

static collage_status make(struct making *making, const collage_compile_request *request)
{
    collage_status status = make_room(making);
    if (status == COLLAGE_OK)
        status = describe_tensors(making, request->variant);
    if (status == COLLAGE_OK)
        status = build_graph(making, request->flags & COLLAGE_COMPILE_REDUCED);
    if (status == COLLAGE_OK)
        status = take_partitions(making);
    if (status != COLLAGE_OK)
        return status;
    drop(making, is_mark);
    return order_partitions(making);
}

collage_status partitions_make(struct partitions *partitions, const collage_backend *backend,
                               const struct recipe *recipe, const collage_compile_request *request,
                               bool views, collage_message *message)
{
    struct making making = { &backend->library, recipe, partitions, NULL, 0, message };
    *partitions = (struct partitions){ .count = 0 };
    collage_status status = make(&making, request);
    if (making.graph)
        making.library->graph_graph_destroy(making.graph);
    if (status == COLLAGE_OK)
        status = moves_resolve(partitions, &backend->library, recipe, views, message);
    if (status == COLLAGE_OK)
        drop(&making, is_still_move);
    for (size_t k = 0; k < partitions->count && status == COLLAGE_OK; k++)
        status = compile_partition(&making, &partitions->items[k], backend->engine);
    return status;
}

void partitions_release(struct partitions *partitions, const struct library *library)
{
    for (size_t k = 0; k < partitions->count; k++) {
        struct partition *partition = &partitions->items[k];
        if (partition->compiled)
            library->graph_compiled_partition_destroy(partition->compiled);
        if (partition->handle)
            library->graph_partition_destroy(partition->handle);
        free(partition->ports);
    }
    free(partitions->same);
    free(partitions->items);
    free(partitions->tensors);
}
