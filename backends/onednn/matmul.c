/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.c: MatMul and Gemm, as the matmul primitive or as an inner product. */
#include "recipe.h"

#include <string.h>

/* Both as rows x columns, with the strides in which the value holds them. */
struct factors {
    int64_t m, k, n;
    bool transposed_a, transposed_b;
    float alpha; /* of the weights */
};

static bool add_source(struct recipe *recipe, const struct factors *f)
{
    int64_t dims[] = { f->m, f->k };
    struct operand *source = operand_add(recipe, DNNL_ARG_SRC, head_input_id(recipe, 0), 2, dims);
    if (source && f->transposed_a) {
        source->strides[0] = 1;
        source->strides[1] = f->m;
    }
    return source != NULL;
}

static bool add_weights(struct recipe *recipe, const struct factors *f)
{
    bool inner = recipe->family == FAMILY_INNER_PRODUCT;
    int64_t dims[] = { inner ? f->n : f->k, inner ? f->k : f->n };
    struct operand *weights =
        operand_add(recipe, DNNL_ARG_WEIGHTS, head_input_id(recipe, 1), 2, dims);
    if (!weights)
        return false;
    weights->any = weights->constant;
    weights->scale = f->alpha;
    if (inner != f->transposed_b) { /* the value is held the other way round */
        weights->strides[0] = 1;
        weights->strides[1] = dims[0];
    }
    return true;
}

static bool add_bias(struct recipe *recipe, uint32_t value, float scale)
{
    int64_t dims[MAX_RANK];
    int rank = recipe->family == FAMILY_INNER_PRODUCT ? 1 : recipe->group_count;
    for (int d = 0; d < rank; d++)
        dims[d] = d == rank - 1 ? recipe->out_dims[recipe->out_rank - 1] : 1;
    struct operand *bias = operand_add(recipe, DNNL_ARG_BIAS, value, rank, dims);
    if (bias)
        bias->scale = scale;
    return bias != NULL;
}

static bool choose_family(struct recipe *recipe, bool constant_b)
{
    bool inner = recipe->choice->algorithm == ALGORITHM_INNER_PRODUCT;
    if (inner && (!constant_b || value_is_constant(head_input(recipe, 0))))
        return refuse(recipe, "an inner product needs constant weights on the right");
    recipe->family = inner ? FAMILY_INNER_PRODUCT : FAMILY_MATMUL;
    return true;
}

static bool add_bias_and_output(struct recipe *recipe)
{
    uint32_t bias = recipe_take_bias(recipe, recipe->out_rank - 1);
    if (bias != COLLAGE_NO_VALUE && !add_bias(recipe, bias, 1.0f))
        return false;
    struct operand *output = operand_add_output(recipe, LAYOUT_PLAIN);
    if (!output ||
        (recipe->after && !transpose_strides(recipe, recipe->after, true, output->strides)))
        return false;
    return chain_place(recipe, LAYOUT_PLAIN);
}

/* Input k of the batched product, aligned with the output; read through the Transpose before it. */
static bool add_batched_operand(struct recipe *recipe, uint32_t k)
{
    const collage_value *value = head_input(recipe, k);
    uint32_t id = head_input_id(recipe, k);
    bool transposed = recipe->before && recipe->before->outputs[0] == id;
    int rank = recipe->out_rank, lead = rank - value->rank;
    int64_t dims[MAX_RANK];
    for (int d = 0; d < rank; d++)
        dims[d] = d < lead ? 1 : value->dims[d - lead];
    for (int d = 0; d < rank - 2; d++) {
        if (dims[d] != 1 && dims[d] != recipe->out_dims[d])
            return refuse(recipe, "the batches do not fit the output");
    }
    if (transposed && lead != 0)
        return refuse(recipe, "a transposed operand is broadcast");
    struct operand *operand = operand_add(recipe, k == 0 ? DNNL_ARG_SRC : DNNL_ARG_WEIGHTS,
                                          transposed ? recipe->before->inputs[0] : id, rank, dims);
    if (!operand)
        return false;
    operand->any = k == 1 && operand->constant;
    return !transposed || transpose_strides(recipe, recipe->before, false, operand->strides);
}

/* The batch dimensions of both stay as they are. */
static bool translate_batched(struct recipe *recipe)
{
    groups_identity(recipe);
    return add_batched_operand(recipe, 0) && add_batched_operand(recipe, 1) &&
           add_bias_and_output(recipe);
}

bool translate_matmul(struct recipe *recipe)
{
    const collage_value *a = head_input(recipe, 0), *b = head_input(recipe, 1);
    if (!a || !b || a->rank < 2 || b->rank < 2)
        return refuse(recipe, "MatMul of vectors is not mapped");
    int rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t k = a->dims[a->rank - 1];
    if (k != b->dims[b->rank - 2] || head_output(recipe)->rank != rank ||
        recipe->out_dims[rank - 2] != a->dims[a->rank - 2] ||
        recipe->out_dims[rank - 1] != b->dims[b->rank - 1])
        return refuse(recipe, "the matrices do not fit");
    bool constant_b = value_is_constant(b);
    if (!choose_family(recipe, constant_b))
        return false;
    groups_rows(recipe);
    bool one_matrix = dims_product(b->dims, 0, b->rank - 2) == 1 && a->rank == rank;
    if (!one_matrix || recipe->before || recipe->after || !groups_fit_posts(recipe)) {
        if (recipe->family == FAMILY_INNER_PRODUCT)
            return refuse(recipe, "an inner product needs one matrix on the right");
        return translate_batched(recipe);
    }
    struct factors f = {
        .m = dims_product(a->dims, 0, a->rank - 1), .k = k, .n = b->dims[b->rank - 1], .alpha = 1.0f
    };
    return add_source(recipe, &f) && add_weights(recipe, &f) && add_bias_and_output(recipe);
}

/* C as bias if it is a constant row, else as a binary post-op before the chain's. */
static bool add_gemm_addend(struct recipe *recipe, uint32_t id, float beta)
{
    const collage_value *c = recipe->graph->values[id];
    struct post post = { .kind = POST_BINARY, .alg = dnnl_binary_add, .value = id };
    if (!value_align(recipe, c, post.dims))
        return refuse(recipe, "C does not broadcast to the output");
    bool row = post.dims[0] == 1 && post.dims[1] == recipe->out_dims[1];
    if (value_is_constant(c) && row)
        return add_bias(recipe, id, beta);
    if (beta != 1.0f)
        return refuse(recipe, "beta is not 1 and C is no constant row");
    if (recipe->post_count == MAX_POSTS)
        return refuse(recipe, "too many operators follow Gemm");
    post.full = post.dims[0] == recipe->out_dims[0] && post.dims[1] == recipe->out_dims[1];
    memmove(recipe->posts + 1, recipe->posts, recipe->post_count * sizeof post);
    recipe->posts[0] = post;
    recipe->post_count++;
    return true;
}

bool translate_gemm(struct recipe *recipe)
{
    const collage_node *head = recipe_head(recipe);
    const collage_value *a = head_input(recipe, 0), *b = head_input(recipe, 1);
    if (!a || !b || a->rank != 2 || b->rank != 2)
        return refuse(recipe, "Gemm needs two matrices");
    struct factors f = { .transposed_a = collage_node_int(head, "transA", 0) != 0,
                         .transposed_b = collage_node_int(head, "transB", 0) != 0,
                         .alpha = collage_node_float(head, "alpha", 1.0f) };
    f.m = a->dims[f.transposed_a];
    f.k = a->dims[!f.transposed_a];
    f.n = b->dims[!f.transposed_b];
    if (f.k != b->dims[f.transposed_b] || recipe->out_rank != 2 || recipe->out_dims[0] != f.m ||
        recipe->out_dims[1] != f.n)
        return refuse(recipe, "the matrices do not fit");
    bool constant_b = value_is_constant(b);
    if (!choose_family(recipe, constant_b))
        return false;
    if (recipe->family == FAMILY_INNER_PRODUCT && f.transposed_a)
        return refuse(recipe, "an inner product does not transpose its input");
    if (f.alpha != 1.0f && !constant_b)
        return refuse(recipe, "alpha is not 1 and B is not constant");
    groups_identity(recipe);
    uint32_t c = head_input_id(recipe, 2);
    if (!add_source(recipe, &f) || !add_weights(recipe, &f))
        return false;
    if (c == COLLAGE_NO_VALUE)
        return add_bias_and_output(recipe);
    return add_gemm_addend(recipe, c, collage_node_float(head, "beta", 1.0f)) &&
           operand_add_output(recipe, LAYOUT_PLAIN) && chain_place(recipe, LAYOUT_PLAIN);
}
