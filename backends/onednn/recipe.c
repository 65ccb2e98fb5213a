/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool refuse(struct recipe *recipe, const char *format, ...)
{
    if (recipe->why) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(recipe->why->text, sizeof recipe->why->text, format, arguments);
        va_end(arguments);
    }
    return false;
}

const collage_node *recipe_head(const struct recipe *recipe)
{
    return recipe->graph->nodes[recipe->head];
}

uint32_t head_input_id(const struct recipe *recipe, uint32_t index)
{
    const collage_node *head = recipe_head(recipe);
    return index < head->input_count ? head->inputs[index] : COLLAGE_NO_VALUE;
}

const collage_value *head_input(const struct recipe *recipe, uint32_t index)
{
    uint32_t id = head_input_id(recipe, index);
    return id == COLLAGE_NO_VALUE ? NULL : recipe->graph->values[id];
}

const collage_value *head_output(const struct recipe *recipe)
{
    uint32_t id = recipe_head(recipe)->outputs[0];
    return recipe->graph->values[id == COLLAGE_NO_VALUE ? recipe->graph->outputs[0] : id];
}

uint32_t recipe_output_id(const struct recipe *recipe)
{
    return recipe->graph->outputs[0];
}

bool value_is_constant(const collage_value *value)
{
    return value->data != NULL;
}

int64_t dims_product(const int64_t *dims, int from, int to)
{
    int64_t product = 1;
    for (int d = from; d < to; d++)
        product *= dims[d];
    return product;
}

/* ---- operands ---- */

static void row_major(int rank, const int64_t *dims, dnnl_dims_t strides)
{
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= dims[d];
    }
}

struct operand *operand_add(struct recipe *recipe, int arg, uint32_t value, int rank,
                            const int64_t *dims)
{
    const collage_value *v = recipe->graph->values[value];
    if (v->dtype != COLLAGE_FLOAT32) {
        refuse(recipe, "'%s' is not float32", v->name);
        return NULL;
    }
    if (dims_product(dims, 0, rank) < 1) {
        refuse(recipe, "'%s' is empty", v->name);
        return NULL;
    }
    if (recipe->operand_count == MAX_OPERANDS) {
        refuse(recipe, "it has more than %d operands", MAX_OPERANDS);
        return NULL;
    }
    struct operand *operand = &recipe->operands[recipe->operand_count++];
    operand->arg = arg;
    operand->value = value;
    operand->rank = rank;
    memcpy(operand->dims, dims, (size_t)rank * sizeof dims[0]);
    row_major(rank, dims, operand->strides);
    operand->constant = value_is_constant(v);
    operand->scale = 1.0f;
    return operand;
}

/* Tags by class, rank (from 3) and width of the vectors. */
static const char *class_tag(enum layout_class layout, int rank, bool avx512)
{
    static const char *const last[] = { "acb", "acdb", "acdeb" };
    static const char *const blocked16[] = { "aBc16b", "aBcd16b", "aBcde16b" };
    static const char *const blocked8[] = { "aBc8b", "aBcd8b", "aBcde8b" };
    if (layout == LAYOUT_PLAIN)
        return "";
    if (rank < 3 || rank > 5)
        return NULL;
    if (layout == LAYOUT_LAST)
        return last[rank - 3];
    return avx512 ? blocked16[rank - 3] : blocked8[rank - 3];
}

bool operand_set_layout(struct recipe *recipe, struct operand *operand, enum layout_class layout)
{
    const char *tag = class_tag(layout, operand->rank, recipe->target->avx512);
    const collage_value *value = recipe->graph->values[operand->value];
    if (!tag)
        return refuse(recipe, "a tensor of rank %d has no such layout", operand->rank);
    if (layout == LAYOUT_PLAIN)
        return true;
    if (!operand->constant && value->rank != operand->rank)
        return refuse(recipe, "'%s' is seen with another rank and must be row-major", value->name);
    snprintf(operand->tag, sizeof operand->tag, "%s", tag);
    return true;
}

struct operand *operand_add_output(struct recipe *recipe, enum layout_class layout)
{
    int64_t dims[MAX_RANK];
    groups_fold(recipe, recipe->out_dims, dims);
    struct operand *operand =
        operand_add(recipe, DNNL_ARG_DST, recipe_output_id(recipe), recipe->group_count, dims);
    if (!operand || !operand_set_layout(recipe, operand, layout))
        return NULL;
    return operand;
}

struct operand *operand_add_aligned(struct recipe *recipe, int arg, uint32_t value,
                                    const int64_t *aligned, enum layout_class layout)
{
    int64_t dims[MAX_RANK];
    const collage_value *v = recipe->graph->values[value];
    if (!groups_fold(recipe, aligned, dims)) {
        refuse(recipe, "'%s' broadcasts along a part of the folded dimensions", v->name);
        return NULL;
    }
    struct operand *operand = operand_add(recipe, arg, value, recipe->group_count, dims);
    if (!operand)
        return NULL;
    /* One channel would be padded to a block, and a shorter shape has no channels: row-major. */
    bool shorter = !operand->constant && v->rank != operand->rank;
    bool single = operand->rank < 2 || (dims[1] == 1 && recipe->out_dims[1] != 1);
    if (layout != LAYOUT_PLAIN && !shorter && !single &&
        !operand_set_layout(recipe, operand, layout))
        return NULL;
    return operand;
}

const char *recipe_tag(const struct recipe *recipe, uint32_t value)
{
    for (size_t k = 0; k < recipe->operand_count; k++) {
        const struct operand *operand = &recipe->operands[k];
        if (operand->value == value)
            return operand->plain_outside ? "" : operand->tag;
    }
    for (size_t k = 0; k < recipe->post_count; k++) { /* a sum lies where the output lies */
        if (recipe->posts[k].kind == POST_SUM && recipe->posts[k].value == value)
            return recipe_tag(recipe, recipe_output_id(recipe));
    }
    return "";
}

/* ---- broadcasting and folding ---- */

bool value_align(const struct recipe *recipe, const collage_value *value, int64_t *aligned)
{
    int lead = recipe->out_rank - value->rank;
    if (lead < 0)
        return false;
    for (int d = 0; d < recipe->out_rank; d++) {
        aligned[d] = d < lead ? 1 : value->dims[d - lead];
        if (aligned[d] != 1 && aligned[d] != recipe->out_dims[d])
            return false;
    }
    return true;
}

void groups_identity(struct recipe *recipe)
{
    for (int d = 0; d < recipe->out_rank; d++)
        recipe->group[d] = d;
    recipe->group_count = recipe->out_rank;
}

void groups_rows(struct recipe *recipe)
{
    for (int d = 0; d < recipe->out_rank; d++)
        recipe->group[d] = d == recipe->out_rank - 1;
    recipe->group_count = 2;
}

/* Whether dimensions d and e of the operand may be seen as one. */
static bool alike(const struct recipe *recipe, const int64_t *aligned, int d, int e)
{
    bool wide_d = aligned[d] == recipe->out_dims[d], wide_e = aligned[e] == recipe->out_dims[e];
    return wide_d == wide_e;
}

/* Whether an operand, seen as a matrix, is one column. */
static bool is_column(const struct recipe *recipe, const int64_t *aligned)
{
    int64_t folded[MAX_RANK];
    return groups_fold(recipe, aligned, folded) && folded[0] != 1 && folded[1] == 1;
}

static bool any_column(const struct recipe *recipe, int64_t (*aligned)[MAX_RANK], size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (is_column(recipe, aligned[k]))
            return true;
    }
    for (size_t k = 0; k < recipe->post_count; k++) {
        if (recipe->posts[k].kind != POST_ELTWISE && is_column(recipe, recipe->posts[k].dims))
            return true;
    }
    return false;
}

void groups_coalesce(struct recipe *recipe, int64_t (*aligned)[MAX_RANK], size_t count)
{
    int previous = -1, group = 0;
    for (int d = 0; d < recipe->out_rank; d++) {
        if (recipe->out_dims[d] == 1) { /* belongs anywhere */
            recipe->group[d] = group;
            continue;
        }
        bool merge = previous >= 0;
        for (size_t k = 0; merge && k < count; k++)
            merge = alike(recipe, aligned[k], previous, d);
        for (size_t k = 0; merge && k < recipe->post_count; k++)
            merge = recipe->posts[k].kind == POST_ELTWISE ||
                    alike(recipe, recipe->posts[k].dims, previous, d);
        if (previous >= 0 && !merge)
            group++;
        recipe->group[d] = group;
        previous = d;
    }
    recipe->group_count = group + 1;
    /* Rows that broadcast along the last dimension are channels to the library, which have a batch
     * before them. */
    if (recipe->group_count == 2 && any_column(recipe, aligned, count)) {
        for (int d = 0; d < recipe->out_rank; d++)
            recipe->group[d]++;
        recipe->group_count++;
    }
}

bool groups_fold(const struct recipe *recipe, const int64_t *aligned, int64_t *folded)
{
    int64_t out[MAX_RANK];
    for (int g = 0; g < recipe->group_count; g++)
        folded[g] = out[g] = 1;
    for (int d = 0; d < recipe->out_rank; d++) {
        folded[recipe->group[d]] *= aligned[d];
        out[recipe->group[d]] *= recipe->out_dims[d];
    }
    for (int g = 0; g < recipe->group_count; g++) {
        if (folded[g] != 1 && folded[g] != out[g])
            return false;
    }
    return true;
}

bool groups_fit_posts(const struct recipe *recipe)
{
    int64_t folded[MAX_RANK];
    for (size_t k = 0; k < recipe->post_count; k++) {
        if (recipe->posts[k].kind != POST_ELTWISE &&
            !groups_fold(recipe, recipe->posts[k].dims, folded))
            return false;
    }
    return true;
}
