/* SPDX-License-Identifier: Apache-2.0 */
/* product_read.c: MatMul, Gemm and the Transposes around them as walks over memory. */
#include "product.h"

#include <string.h>

/* A tensor as it lies: dimension d goes in steps of strides[d] floats. */
struct view {
    uint32_t value; /* outside of the sub-graph; the result: not used */
    int32_t rank;
    int64_t dims[PRODUCT_RANK_MAX], strides[PRODUCT_RANK_MAX];
};

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

static bool is(const collage_node *node, const char *op)
{
    return strcmp(node->op_type, op) == 0;
}

static bool plain_view(const collage_subgraph *subgraph, uint32_t value, struct view *view)
{
    const collage_value *tensor = subgraph->values[value];
    if (tensor->rank < 2 || tensor->rank > PRODUCT_RANK_MAX)
        return false;
    view->value = value;
    view->rank = tensor->rank;
    int64_t stride = 1;
    for (int32_t d = tensor->rank - 1; d >= 0; d--) {
        view->dims[d] = tensor->dims[d];
        view->strides[d] = stride;
        stride *= tensor->dims[d];
    }
    return true;
}

/* Where dimension d of the result of a Transpose comes from. False: that is no permutation. */
static bool read_permutation(const collage_node *node, int32_t rank, int32_t *from)
{
    const collage_attribute *perm = collage_node_attribute(node, "perm", COLLAGE_ATTRIBUTE_INTS);
    uint32_t seen = 0;
    for (int32_t d = 0; d < rank; d++) {
        if (perm && perm->count != (uint32_t)rank)
            return false;
        int64_t axis = perm ? perm->ints[d] : rank - 1 - d;
        if (axis < 0 || axis >= rank)
            return false;
        seen |= 1u << axis;
        from[d] = (int32_t)axis;
    }
    return seen == (1u << rank) - 1;
}

/* The node before `end` that makes a value; NULL: none. */
static const collage_node *find_maker(const collage_subgraph *subgraph, uint32_t end,
                                      uint32_t value)
{
    for (uint32_t n = 0; n < end; n++) {
        if (subgraph->nodes[n]->outputs[0] == value)
            return subgraph->nodes[n];
    }
    return NULL;
}

/* An operand of the node, looked at through the Transpose that makes it, if there is one. */
static bool operand_view(const collage_subgraph *subgraph, uint32_t node, uint32_t value,
                         struct view *view)
{
    const collage_node *maker = find_maker(subgraph, node, value);
    if (!maker)
        return value_is_outside(subgraph, value) && plain_view(subgraph, value, view);
    struct view plain;
    int32_t from[PRODUCT_RANK_MAX];
    if (!value_is_outside(subgraph, maker->inputs[0]) ||
        !plain_view(subgraph, maker->inputs[0], &plain) ||
        !read_permutation(maker, plain.rank, from))
        return false;
    view->value = plain.value;
    view->rank = plain.rank;
    for (int32_t d = 0; d < plain.rank; d++) {
        view->dims[d] = plain.dims[from[d]];
        view->strides[d] = plain.strides[from[d]];
    }
    return true;
}

/* The result as it lies: behind it there may be a Transpose. */
static bool result_view(const collage_subgraph *subgraph, uint32_t node, bool transposed,
                        struct view *view)
{
    if (!plain_view(subgraph, subgraph->nodes[node]->outputs[0], view))
        return false;
    if (!transposed)
        return true;
    const collage_node *last = subgraph->nodes[node + 1];
    struct view behind;
    int32_t from[PRODUCT_RANK_MAX];
    if (last->inputs[0] != view->value || last->output_count != 1 ||
        !plain_view(subgraph, last->outputs[0], &behind) || behind.rank != view->rank ||
        !read_permutation(last, view->rank, from))
        return false;
    for (int32_t d = 0; d < view->rank; d++)
        view->strides[from[d]] = behind.strides[d];
    return true;
}

/* The last two dimensions as rows and columns; false: neither goes in steps of 1. */
static bool set_matrix(struct matrix *matrix, const struct view *view, bool may_transpose)
{
    int64_t rows = view->dims[view->rank - 2], columns = view->dims[view->rank - 1];
    int64_t row_step = view->strides[view->rank - 2], column_step = view->strides[view->rank - 1];
    if (columns == 1 || column_step == 1) {
        matrix->step = rows == 1 ? columns : row_step;
        return blas_fits(matrix->step) && matrix->step >= columns;
    }
    matrix->transposed = true;
    matrix->step = column_step;
    return may_transpose && (rows == 1 || row_step == 1) && blas_fits(matrix->step) &&
           matrix->step >= rows;
}

/* The dimension of an operand that belongs to dimension d of the result's batch; -1: it has none.
 */
static int32_t batch_axis(const struct view *operand, const struct view *result, int32_t d)
{
    return d - (result->rank - operand->rank);
}

static bool set_batch(struct product *product, const struct view *a, const struct view *b,
                      const struct view *result)
{
    product->batch = 1;
    for (int32_t d = 0; d < result->rank - 2; d++) {
        int64_t count = result->dims[d];
        if (count == 1)
            continue;
        const struct view *views[] = { a, b };
        struct matrix *matrices[] = { &product->a, &product->b };
        int32_t at = product->batch_rank++;
        for (int k = 0; k < 2; k++) {
            int32_t axis = batch_axis(views[k], result, d);
            bool broadcast = axis < 0 || views[k]->dims[axis] == 1;
            if (!broadcast && views[k]->dims[axis] != count)
                return false;
            matrices[k]->strides[at] = broadcast ? 0 : views[k]->strides[axis];
        }
        product->result.strides[at] = result->strides[d];
        product->batch_dims[at] = count;
        product->batch *= count;
    }
    return true;
}

/* Do the items follow each other as rows do? Their distance from row to row, or 0. */
static int64_t rows_through(const struct product *product, const struct matrix *matrix)
{
    if (matrix->transposed)
        return 0;
    int32_t last = product->batch_rank - 1;
    int64_t step = product->m == 1 ? matrix->strides[last] : matrix->step;
    int64_t stride = step * product->m;
    for (int32_t d = last; d >= 0; d--) {
        if (matrix->strides[d] != stride)
            return 0;
        stride *= product->batch_dims[d];
    }
    return step;
}

/* One B for all items, which lie one behind the other: that is one product of more rows. */
static void merge_batch(struct product *product)
{
    for (int32_t d = 0; d < product->batch_rank; d++) {
        if (product->b.strides[d] != 0)
            return;
    }
    if (product->batch_rank == 0)
        return;
    int64_t a = rows_through(product, &product->a);
    int64_t result = rows_through(product, &product->result);
    if (a < product->k || result < product->n || !blas_fits(product->m * product->batch) ||
        !blas_fits(a) || !blas_fits(result))
        return;
    product->a.step = a;
    product->result.step = result;
    product->m *= product->batch;
    product->batch = 1;
    product->batch_rank = 0;
}

static void swap_last(struct view *view)
{
    int32_t r = view->rank - 2, c = view->rank - 1;
    int64_t dim = view->dims[r], stride = view->strides[r];
    view->dims[r] = view->dims[c];
    view->strides[r] = view->strides[c];
    view->dims[c] = dim;
    view->strides[c] = stride;
}

/* The sizes, of which the operands must agree. */
static bool set_sizes(struct product *product, const struct view *a, const struct view *b,
                      const struct view *result)
{
    product->m = a->dims[a->rank - 2];
    product->k = a->dims[a->rank - 1];
    product->n = b->dims[b->rank - 1];
    return b->dims[b->rank - 2] == product->k && result->dims[result->rank - 2] == product->m &&
           result->dims[result->rank - 1] == product->n && blas_fits(product->m) &&
           blas_fits(product->n) && blas_fits(product->k) && a->rank <= result->rank &&
           b->rank <= result->rank;
}

/* Gemm's third input: a bias of the epilogue, or what the result is before. */
static bool read_initial(struct product *product, const collage_subgraph *subgraph,
                         const collage_node *node, float beta)
{
    if (node->input_count < 3 || node->inputs[2] == COLLAGE_NO_VALUE || beta == 0.0f)
        return true;
    const collage_value *c = subgraph->values[node->inputs[2]];
    if (!value_is_outside(subgraph, node->inputs[2]) || c->rank > 2)
        return false;
    if (c->data && c->rank == 1 && c->dims[0] == product->n && beta == 1.0f) {
        product->bias = node->inputs[2];
        return true;
    }
    int64_t rows = c->rank == 2 ? c->dims[0] : 1;
    int64_t columns = c->rank > 0 ? c->dims[c->rank - 1] : 1;
    if ((rows != 1 && rows != product->m) || (columns != 1 && columns != product->n))
        return false;
    product->beta = beta;
    product->initial = operand_of(subgraph, node->inputs[2]);
    product->row_step = rows == 1 ? 0 : columns;
    product->column_step = columns == 1 ? 0 : 1;
    return true;
}

/* Finds the MatMul or Gemm behind nothing but Transposes. */
static bool find_node(struct product *product, const collage_subgraph *subgraph,
                      collage_message *why)
{
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        if (is(node, "MatMul") || is(node, "Gemm")) {
            product->node = n;
            if (node->input_count < 2 || node->output_count != 1 ||
                node->inputs[0] == COLLAGE_NO_VALUE || node->inputs[1] == COLLAGE_NO_VALUE)
                return refuse(why, "the product has no operands");
            product->made = node->outputs[0];
            return true;
        }
        if (!is(node, "Transpose") || node->input_count != 1 || node->output_count != 1 || n > 1)
            break;
    }
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s is no product",
         subgraph->node_count ? subgraph->nodes[0]->op_type : "an empty sub-graph");
    return false;
}

/* Is each of the Transposes used by the product? */
static bool uses_all(const struct product *product, const collage_subgraph *subgraph)
{
    const collage_node *node = subgraph->nodes[product->node];
    for (uint32_t n = 0; n < product->node; n++) {
        uint32_t value = subgraph->nodes[n]->outputs[0];
        if (node->inputs[0] != value && node->inputs[1] != value)
            return false;
    }
    return true;
}

static bool read_views(struct product *product, const collage_subgraph *subgraph, bool transposed)
{
    const collage_node *node = subgraph->nodes[product->node];
    struct view a, b, result;
    if (!operand_view(subgraph, product->node, node->inputs[0], &a) ||
        !operand_view(subgraph, product->node, node->inputs[1], &b) ||
        !result_view(subgraph, product->node, transposed, &result))
        return false;
    float beta = 1.0f;
    if (is(node, "Gemm")) {
        if (collage_node_int(node, "transA", 0))
            swap_last(&a);
        if (collage_node_int(node, "transB", 0))
            swap_last(&b);
        product->alpha = collage_node_float(node, "alpha", 1.0f);
        beta = collage_node_float(node, "beta", 1.0f);
    }
    product->a.from = operand_of(subgraph, a.value);
    product->b.from = operand_of(subgraph, b.value);
    return set_sizes(product, &a, &b, &result) && set_matrix(&product->a, &a, true) &&
           set_matrix(&product->b, &b, true) && set_matrix(&product->result, &result, false) &&
           set_batch(product, &a, &b, &result) &&
           (!is(node, "Gemm") || read_initial(product, subgraph, node, beta));
}

bool product_read(struct product *product, struct epilogue *epilogue,
                  const collage_subgraph *subgraph, collage_message *why)
{
    *product = (struct product){ .alpha = 1.0f, .bias = COLLAGE_NO_VALUE };
    *epilogue = (struct epilogue){ 0 };
    if (!find_node(product, subgraph, why) || !all_float32(subgraph, NULL, why))
        return false;
    uint32_t behind = product->node + 1;
    bool transposed = behind < subgraph->node_count && is(subgraph->nodes[behind], "Transpose");
    if (transposed && (behind + 1 != subgraph->node_count || subgraph->output_count != 1 ||
                       subgraph->outputs[0] != subgraph->nodes[behind]->outputs[0]))
        return refuse(why, "something follows the Transpose");
    if (!uses_all(product, subgraph) || !read_views(product, subgraph, transposed))
        return refuse(why, "these shapes or strides are not known to a product of matrices");
    merge_batch(product);
    if (transposed)
        return product->bias == COLLAGE_NO_VALUE || refuse(why, "a bias before a Transpose");
    int32_t axis = subgraph->values[product->made]->rank - 1;
    product->has_epilogue = true;
    return epilogue_takes(epilogue, subgraph, behind, product->made, axis, product->bias, why);
}

int64_t product_offset(const struct product *product, const struct matrix *matrix, int64_t item)
{
    int64_t offset = 0;
    for (int32_t d = product->batch_rank - 1; d >= 0; d--) {
        offset += item % product->batch_dims[d] * matrix->strides[d];
        item /= product->batch_dims[d];
    }
    return offset;
}
