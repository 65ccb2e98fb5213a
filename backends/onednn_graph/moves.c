/* SPDX-License-Identifier: Apache-2.0 */
#include "moves.h"

#include <string.h>

struct resolving {
    struct partitions *all;
    const struct library *library;
    const struct recipe *recipe;
    bool views;
};

bool moves_take(const struct operation *operation)
{
    return operation->kind == dnnl_graph_op_static_reshape ||
           operation->kind == dnnl_graph_op_static_transpose;
}

/* ---- layouts ---- */

static void set_row_major(dnnl_graph_logical_tensor_t *tensor)
{
    int64_t stride = 1;
    tensor->layout_type = dnnl_graph_layout_type_strided;
    for (int d = tensor->ndims - 1; d >= 0; d--) {
        tensor->layout.strides[d] = stride;
        stride *= tensor->dims[d];
    }
}

/* A layout that nobody has decided on yet becomes row-major. */
static void settle(dnnl_graph_logical_tensor_t *tensor)
{
    if (tensor->layout_type != dnnl_graph_layout_type_strided)
        set_row_major(tensor);
}

static bool is_row_major(const dnnl_graph_logical_tensor_t *tensor)
{
    int64_t stride = 1;
    for (int d = tensor->ndims - 1; d >= 0; d--) {
        if (tensor->dims[d] != 1 && tensor->layout.strides[d] != stride)
            return false;
        stride *= tensor->dims[d];
    }
    return true;
}

/* ---- whose memory ---- */

static bool is_output(const struct resolving *resolving, size_t id)
{
    const collage_subgraph *graph = resolving->recipe->graph;
    for (uint32_t k = 0; k < graph->output_count; k++)
        if (graph->outputs[k] == resolving->recipe->tensors[id].value)
            return true;
    return false;
}

/* Memory that is neither the caller's nor a constant. */
static bool is_inside(const struct resolving *resolving, size_t id)
{
    const struct tensor *tensor = &resolving->recipe->tensors[id];
    return !tensor->data && !tensor->outside && !is_output(resolving, id);
}

/* Lets `result` be seen in the memory of `source`, or the other way round; false if both have
 * memory of their own. Their layouts must fit. */
static bool share(const struct resolving *resolving, size_t source, size_t result)
{
    struct partitions *all = resolving->all;
    size_t from = partitions_root(all, source), to = partitions_root(all, result);
    if (is_inside(resolving, to))
        all->same[to] = from;
    else if (is_inside(resolving, from))
        all->same[from] = to;
    else
        return false;
    return true;
}

/* The same memory as that of `id`, with other dims or strides: a new tensor. */
static size_t add_view(const struct resolving *resolving, size_t id,
                       const dnnl_graph_logical_tensor_t *like)
{
    struct partitions *all = resolving->all;
    size_t view = all->tensor_count++;
    all->tensors[view] = *like;
    all->tensors[view].id = view;
    all->same[view] = id;
    return view;
}

/* ---- moving ---- */

/* The library's reorder, which needs no graph. */
static collage_status make_reorder(const struct resolving *resolving, struct partition *partition,
                                   size_t from, size_t to, collage_message *message)
{
    const struct library *library = resolving->library;
    dnnl_graph_op_t op = NULL;
    partition->ports[0].id = from;
    partition->ports[1].id = to;
    library->graph_partition_destroy(partition->handle);
    partition->handle = NULL;
    dnnl_status_t status = library->graph_op_create(&op, 0, dnnl_graph_op_reorder, "move");
    if (status == dnnl_success)
        status = library->graph_op_add_input(op, &resolving->all->tensors[from]);
    if (status == dnnl_success)
        status = library->graph_op_add_output(op, &resolving->all->tensors[to]);
    if (status == dnnl_success)
        status = library->graph_partition_create_with_op(&partition->handle, op, dnnl_cpu);
    if (op)
        library->graph_op_destroy(op);
    partition->move = false;
    return status == dnnl_success
               ? COLLAGE_OK
               : fail(message, COLLAGE_ERROR_UNSUPPORTED, "oneDNN Graph does not take %s: %s",
                      partition->op_type, onednn_status_text(status));
}

/* Row-major memory, seen with other dims; else copied with its old dims. */
static collage_status resolve_reshape(const struct resolving *resolving,
                                      struct partition *partition, collage_message *message)
{
    dnnl_graph_logical_tensor_t *tensors = resolving->all->tensors;
    size_t source = partition->ports[0].id, result = partition->ports[1].id;
    settle(&tensors[source]);
    settle(&tensors[result]);
    if (!is_row_major(&tensors[result]))
        return fail(message, COLLAGE_ERROR_UNSUPPORTED,
                    "%s: its result is row-major, not in the layout asked for", partition->op_type);
    if (is_row_major(&tensors[source]) && share(resolving, source, result))
        return COLLAGE_OK;
    dnnl_graph_logical_tensor_t copy = tensors[source];
    set_row_major(&copy);
    return make_reorder(resolving, partition, source, add_view(resolving, result, &copy), message);
}

/* How many partitions read the tensor, and whether all of them hold products of matrices. */
static size_t count_readers(const struct resolving *resolving, size_t id, bool *products)
{
    size_t readers = 0;
    *products = true;
    for (size_t p = 0; p < resolving->all->count; p++) {
        const struct partition *partition = &resolving->all->items[p];
        for (size_t k = 0; k < partition->input_count; k++) {
            if (partition->ports[k].id != id)
                continue;
            readers++;
            *products = *products && partition->product;
        }
    }
    return readers;
}

static bool is_made_by_product(const struct resolving *resolving, size_t id)
{
    for (size_t p = 0; p < resolving->all->count; p++) {
        const struct partition *partition = &resolving->all->items[p];
        for (size_t k = 0; k < partition->output_count; k++)
            if (partition->ports[partition->input_count + k].id == id)
                return partition->product;
    }
    return false;
}

/* The source seen as the result's dims have it. */
static dnnl_graph_logical_tensor_t turned(const dnnl_graph_logical_tensor_t *source,
                                          const dnnl_graph_logical_tensor_t *result,
                                          const int64_t *order)
{
    dnnl_graph_logical_tensor_t view = *result;
    view.property = source->property;
    view.layout_type = dnnl_graph_layout_type_strided;
    for (int d = 0; d < result->ndims; d++)
        view.layout.strides[d] = source->layout.strides[order[d]];
    return view;
}

/* Matrices that a product reads have a dimension without gaps among their last two. */
static bool is_matrix(const dnnl_graph_logical_tensor_t *tensor)
{
    int rank = tensor->ndims;
    return rank >= 2 &&
           (tensor->layout.strides[rank - 1] == 1 || tensor->layout.strides[rank - 2] == 1);
}

static collage_status resolve_transpose(const struct resolving *resolving,
                                        struct partition *partition, collage_message *message)
{
    dnnl_graph_logical_tensor_t *tensors = resolving->all->tensors;
    size_t source = partition->ports[0].id, result = partition->ports[1].id;
    const int64_t *order =
        resolving->recipe->operations[partition->operation].attributes[0].integers;
    bool products;
    /* A product writes its result turned. */
    if (resolving->views && is_inside(resolving, source) &&
        tensors[source].layout_type != dnnl_graph_layout_type_strided &&
        is_made_by_product(resolving, source) && count_readers(resolving, source, &products) == 1) {
        dnnl_graph_logical_tensor_t view = tensors[source];
        settle(&tensors[result]);
        view.layout_type = dnnl_graph_layout_type_strided;
        for (int d = 0; d < view.ndims; d++)
            view.layout.strides[order[d]] = tensors[result].layout.strides[d];
        if (is_matrix(&view)) {
            tensors[source] = view;
            resolving->all->same[source] = result;
            return COLLAGE_OK;
        }
    }
    settle(&tensors[source]);
    dnnl_graph_logical_tensor_t view = turned(&tensors[source], &tensors[result], order);
    /* Products read it as it lies. */
    if (resolving->views && is_inside(resolving, result) && is_matrix(&view) &&
        count_readers(resolving, result, &products) > 0 && products) {
        tensors[result] = view;
        resolving->all->same[result] = partitions_root(resolving->all, source);
        return COLLAGE_OK;
    }
    settle(&tensors[result]);
    return make_reorder(resolving, partition, add_view(resolving, source, &view), result, message);
}

collage_status moves_resolve(struct partitions *partitions, const struct library *library,
                             const struct recipe *recipe, bool views, collage_message *message)
{
    const struct resolving resolving = { partitions, library, recipe, views };
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < partitions->count && status == COLLAGE_OK; k++) {
        struct partition *partition = &partitions->items[k];
        if (!partition->move)
            continue;
        bool reshape =
            recipe->operations[partition->operation].kind == dnnl_graph_op_static_reshape;
        status = (reshape ? resolve_reshape : resolve_transpose)(&resolving, partition, message);
    }
    return status;
}
