/* SPDX-License-Identifier: Apache-2.0 */
/* chain.c: the operators behind the head of a sub-graph, as post-ops of its primitive. */
#include "recipe.h"

#include <string.h>

/* Which of the node's inputs is `value`; refuses if none or several are. */
static bool find_operand(struct recipe *recipe, const collage_node *node, uint32_t value,
                         uint32_t *position)
{
    uint32_t uses = 0;
    for (uint32_t k = 0; k < node->input_count; k++) {
        if (node->inputs[k] == value) {
            *position = k;
            uses++;
        }
    }
    if (uses != 1)
        return refuse(recipe, "%s is no chain behind the first operator", node->op_type);
    return true;
}

static bool same_dims(const collage_value *a, const collage_value *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

static bool append(struct recipe *recipe, const struct post *post)
{
    if (recipe->post_count == MAX_POSTS)
        return refuse(recipe, "more than %d operators follow the first", MAX_POSTS);
    recipe->posts[recipe->post_count++] = *post;
    return true;
}

/* The operator as a binary post-op whose other operand is input 1 - position. */
static bool collect_binary(struct recipe *recipe, const collage_node *node, uint32_t position)
{
    bool commutes = false;
    dnnl_alg_kind_t alg = binary_algorithm(node->op_type, &commutes);
    if (alg == dnnl_alg_kind_undef || node->input_count != 2)
        return refuse(recipe, "%s with these operands is not mapped", node->op_type);
    struct post post = { .kind = POST_BINARY, .alg = alg, .value = node->inputs[1 - position] };
    if (!value_align(recipe, recipe->graph->values[post.value], post.dims))
        return refuse(recipe, "an operand of %s does not broadcast to the output", node->op_type);
    post.full =
        memcmp(post.dims, recipe->out_dims, (size_t)recipe->out_rank * sizeof post.dims[0]) == 0;
    if (position == 1 && !commutes) {
        if (alg != dnnl_binary_sub)
            return refuse(recipe, "%s with the chain on the right is not mapped", node->op_type);
        /* b - x = -x + b */
        struct post negate = { .kind = POST_ELTWISE, .alg = dnnl_eltwise_linear, .alpha = -1.0f };
        if (!append(recipe, &negate))
            return false;
        post.alg = dnnl_binary_add;
    }
    return append(recipe, &post);
}

/* PRelu with the chain on the left: its slopes are one number, or one a channel. */
static bool collect_prelu(struct recipe *recipe, const collage_node *node, uint32_t position)
{
    struct post post = { .kind = POST_PRELU, .value = node->inputs[1] };
    if (position != 0)
        return refuse(recipe, "PRelu with the chain as its slopes is not mapped");
    if (!value_align(recipe, recipe->graph->values[post.value], post.dims))
        return refuse(recipe, "the slopes of PRelu do not broadcast to the output");
    for (int d = 0; d < recipe->out_rank; d++) {
        if (post.dims[d] != 1 && d != 1)
            return refuse(recipe, "the slopes of PRelu differ within a channel");
    }
    return append(recipe, &post);
}

static bool collect_operands(struct recipe *recipe, const collage_node *node, uint32_t position)
{
    return strcmp(node->op_type, "PRelu") == 0 ? collect_prelu(recipe, node, position)
                                               : collect_binary(recipe, node, position);
}

bool chain_collect(struct recipe *recipe)
{
    const collage_subgraph *graph = recipe->graph;
    for (uint32_t k = recipe->head + 1; k < recipe->tail; k++) {
        const collage_node *node = graph->nodes[k];
        uint32_t before = graph->nodes[k - 1]->outputs[0], position = 0;
        if (!find_operand(recipe, node, before, &position))
            return false;
        if (!same_dims(graph->values[node->outputs[0]], head_output(recipe)))
            return refuse(recipe, "%s changes the shape", node->op_type);
        struct post post = { .kind = POST_ELTWISE };
        switch (eltwise_match_node(recipe, node, before, &post)) {
        case ELTWISE_REFUSED:
            return false;
        case ELTWISE_YES:
            if (!append(recipe, &post))
                return false;
            break;
        case ELTWISE_NO:
            if (!collect_operands(recipe, node, position))
                return false;
        }
    }
    return true;
}

uint32_t recipe_take_bias(struct recipe *recipe, int axis)
{
    if (recipe->post_count == 0)
        return COLLAGE_NO_VALUE;
    struct post *post = &recipe->posts[0];
    if (post->kind != POST_BINARY || post->alg != dnnl_binary_add ||
        !value_is_constant(recipe->graph->values[post->value]))
        return COLLAGE_NO_VALUE;
    for (int d = 0; d < recipe->out_rank; d++) {
        if (post->dims[d] != (d == axis ? recipe->out_dims[d] : 1))
            return COLLAGE_NO_VALUE;
    }
    uint32_t value = post->value;
    recipe->post_count--;
    memmove(post, post + 1, recipe->post_count * sizeof *post);
    return value;
}

static bool used_by_operand(const struct recipe *recipe, uint32_t value)
{
    for (size_t k = 0; k < recipe->operand_count; k++) {
        if (recipe->operands[k].value == value)
            return true;
    }
    for (size_t k = 0, uses = 0; k < recipe->post_count; k++) {
        enum post_kind kind = recipe->posts[k].kind;
        if ((kind == POST_BINARY || kind == POST_PRELU) && recipe->posts[k].value == value &&
            ++uses > 1)
            return true;
    }
    return false;
}

/* Turns the first addition of a whole tensor into a sum with what the output's memory holds. */
static bool choose_sum(struct recipe *recipe)
{
    for (size_t k = 0; k < recipe->post_count; k++) {
        struct post *post = &recipe->posts[k];
        const collage_value *value = recipe->graph->values[post->value];
        if (recipe->after || post->kind != POST_BINARY || post->alg != dnnl_binary_add ||
            !post->full || value->rank != head_output(recipe)->rank || value_is_constant(value) ||
            used_by_operand(recipe, post->value))
            continue;
        post->kind = POST_SUM;
        recipe->inplace_value = post->value;
        return true;
    }
    return refuse(recipe, "there is no residual to add in place");
}

static bool place_prelu(struct recipe *recipe, struct post *post, int place)
{
    const struct operand *slopes =
        operand_add_aligned(recipe, DNNL_ARG_ATTR_MULTIPLE_POST_OP(place) | DNNL_ARG_WEIGHTS,
                            post->value, post->dims, LAYOUT_PLAIN);
    for (int d = 0; slopes && d < slopes->rank; d++)
        post->mask |= slopes->dims[d] != 1 ? 1 << d : 0;
    return slopes != NULL;
}

bool chain_place(struct recipe *recipe, enum layout_class layout)
{
    if (recipe->choice->sum && !choose_sum(recipe))
        return false;
    for (size_t k = 0; k < recipe->post_count; k++) {
        struct post *post = &recipe->posts[k];
        int arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP((int)k) | DNNL_ARG_SRC_1;
        if (post->kind == POST_PRELU && !place_prelu(recipe, post, (int)k))
            return false;
        if (post->kind == POST_BINARY &&
            !operand_add_aligned(recipe, arg, post->value, post->dims, layout))
            return false;
    }
    return true;
}
