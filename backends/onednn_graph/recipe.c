/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe.h"

#include "operators.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void recipe_refuse(struct recipe *recipe, const char *format, ...)
{
    if (recipe->failed)
        return;
    recipe->failed = true;
    if (!recipe->why)
        return;
    char reason[384];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    snprintf(recipe->why->text, sizeof recipe->why->text, "%.96s: %s",
             recipe->graph->nodes[recipe->node]->op_type, reason);
}

static void out_of_memory(struct recipe *recipe)
{
    if (!recipe->failed && recipe->why)
        snprintf(recipe->why->text, sizeof recipe->why->text, "out of memory");
    recipe->failed = recipe->memory = true;
}

/* Makes room for `more` items of that size; returns the array, NULL if there is no room. */
static void *grown(struct recipe *recipe, void *items, size_t count, size_t more, size_t *capacity,
                   size_t size)
{
    if (count + more <= *capacity)
        return items;
    size_t wanted = 2 * (count + more) + 8;
    void *larger = realloc(items, wanted * size);
    if (!larger) {
        out_of_memory(recipe);
        return NULL;
    }
    *capacity = wanted;
    return larger;
}

/* ---- tensors ---- */

static size_t add_tensor(struct recipe *recipe, const struct tensor *tensor)
{
    if (recipe->failed)
        return NO_TENSOR;
    struct tensor *tensors = grown(recipe, recipe->tensors, recipe->tensor_count, 1,
                                   &recipe->tensor_capacity, sizeof *tensors);
    if (!tensors)
        return NO_TENSOR;
    recipe->tensors = tensors;
    tensors[recipe->tensor_count] = *tensor;
    return recipe->tensor_count++;
}

static bool is_outside(const struct recipe *recipe, uint32_t value)
{
    for (uint32_t k = 0; k < recipe->graph->input_count; k++)
        if (recipe->graph->inputs[k] == value)
            return true;
    return false;
}

static size_t of_value(struct recipe *recipe, uint32_t id)
{
    if (recipe->failed)
        return NO_TENSOR;
    const collage_value *value = recipe->graph->values[id];
    if (recipe->of_value[id] != NO_TENSOR)
        return recipe->of_value[id];
    if (value->dtype != COLLAGE_FLOAT32)
        recipe_refuse(recipe, "only float32 is given to oneDNN Graph");
    else if (value->rank > MAX_RANK)
        recipe_refuse(recipe, "more than %d dimensions", MAX_RANK);
    else if (value->bytes == 0)
        recipe_refuse(recipe, "tensors without elements are not taken");
    struct tensor tensor = { .value = id, .rank = value->rank > 0 ? value->rank : 1 };
    tensor.outside = is_outside(recipe, id);
    tensor.data = value->data;
    tensor.dims[0] = 1;
    for (int d = 0; d < value->rank && d < MAX_RANK; d++)
        tensor.dims[d] = value->dims[d];
    return recipe->of_value[id] = add_tensor(recipe, &tensor);
}

const collage_value *recipe_input(const struct recipe *recipe, const collage_node *node,
                                  uint32_t index)
{
    return index < node->input_count && node->inputs[index] != COLLAGE_NO_VALUE
               ? recipe->graph->values[node->inputs[index]]
               : NULL;
}

size_t recipe_operand(struct recipe *recipe, const collage_node *node, uint32_t index)
{
    if (!recipe_input(recipe, node, index)) {
        recipe_refuse(recipe, "operand %u is left out", index);
        return NO_TENSOR;
    }
    return of_value(recipe, node->inputs[index]);
}

bool recipe_can_view(const struct recipe *recipe, const collage_node *node, uint32_t index)
{
    const collage_value *value = recipe_input(recipe, node, index);
    return value && value->data;
}

size_t recipe_view(struct recipe *recipe, const collage_node *node, uint32_t index, int rank,
                   const int64_t *dims)
{
    size_t whole = recipe_operand(recipe, node, index);
    if (whole == NO_TENSOR)
        return NO_TENSOR;
    struct tensor tensor = recipe->tensors[whole];
    if (tensor.rank == rank && memcmp(tensor.dims, dims, (size_t)rank * sizeof *dims) == 0)
        return whole;
    tensor.rank = rank;
    memcpy(tensor.dims, dims, (size_t)rank * sizeof *dims);
    return add_tensor(recipe, &tensor);
}

size_t recipe_result(struct recipe *recipe, const collage_node *node)
{
    for (uint32_t k = 1; k < node->output_count; k++) {
        if (node->outputs[k] != COLLAGE_NO_VALUE)
            recipe_refuse(recipe, "only its first output is computed");
    }
    return of_value(recipe, node->outputs[0]);
}

size_t recipe_between(struct recipe *recipe, int rank, const int64_t *dims)
{
    struct tensor tensor = { .value = COLLAGE_NO_VALUE, .rank = rank };
    memcpy(tensor.dims, dims, (size_t)rank * sizeof *dims);
    return add_tensor(recipe, &tensor);
}

size_t recipe_constant(struct recipe *recipe, int64_t count, float number)
{
    if (recipe->failed)
        return NO_TENSOR;
    struct numbers *numbers = malloc(sizeof *numbers + (size_t)count * sizeof(float));
    if (!numbers) {
        out_of_memory(recipe);
        return NO_TENSOR;
    }
    numbers->next = recipe->numbers;
    recipe->numbers = numbers;
    for (int64_t k = 0; k < count; k++)
        numbers->data[k] = number;
    struct tensor tensor = { .value = COLLAGE_NO_VALUE, .data = numbers->data, .rank = 1 };
    tensor.dims[0] = count;
    return add_tensor(recipe, &tensor);
}

/* ---- operations ---- */

void recipe_add(struct recipe *recipe, dnnl_graph_op_kind_t kind, const size_t *operands,
                size_t count, size_t result)
{
    if (recipe->failed)
        return;
    struct operation *operations = grown(recipe, recipe->operations, recipe->operation_count, 1,
                                         &recipe->operation_capacity, sizeof *operations);
    if (operations)
        recipe->operations = operations;
    size_t *all = grown(recipe, recipe->operands, recipe->operand_count, count,
                        &recipe->operand_capacity, sizeof *all);
    if (all)
        recipe->operands = all;
    if (!operations || !all)
        return;
    memcpy(all + recipe->operand_count, operands, count * sizeof *all);
    operations[recipe->operation_count++] = (struct operation){ .kind = kind,
                                                                .node = recipe->node,
                                                                .first = recipe->operand_count,
                                                                .count = count,
                                                                .result = result };
    recipe->operand_count += count;
}

/* A new attribute of the last operation; NULL after a failure. */
static struct attribute *add_attribute(struct recipe *recipe, dnnl_graph_op_attr_t name,
                                       enum attribute_type type)
{
    if (recipe->failed || recipe->operation_count == 0)
        return NULL;
    struct operation *operation = &recipe->operations[recipe->operation_count - 1];
    if (operation->attribute_count == MAX_ATTRIBUTES) {
        recipe_refuse(recipe, "more than %d attributes", MAX_ATTRIBUTES);
        return NULL;
    }
    struct attribute *attribute = &operation->attributes[operation->attribute_count++];
    *attribute = (struct attribute){ .name = name, .type = type };
    return attribute;
}

void recipe_set_integers(struct recipe *recipe, dnnl_graph_op_attr_t name, const int64_t *values,
                         size_t count)
{
    struct attribute *attribute = add_attribute(recipe, name, ATTRIBUTE_INTEGERS);
    if (attribute) {
        attribute->count = count;
        memcpy(attribute->integers, values, count * sizeof *values);
    }
}

void recipe_set_integer(struct recipe *recipe, dnnl_graph_op_attr_t name, int64_t value)
{
    recipe_set_integers(recipe, name, &value, 1);
}

void recipe_set_number(struct recipe *recipe, dnnl_graph_op_attr_t name, float value)
{
    struct attribute *attribute = add_attribute(recipe, name, ATTRIBUTE_NUMBER);
    if (attribute)
        attribute->number = value;
}

void recipe_set_bool(struct recipe *recipe, dnnl_graph_op_attr_t name, bool value)
{
    struct attribute *attribute = add_attribute(recipe, name, ATTRIBUTE_BOOL);
    if (attribute)
        attribute->integers[0] = value;
}

void recipe_set_text(struct recipe *recipe, dnnl_graph_op_attr_t name, const char *text)
{
    struct attribute *attribute = add_attribute(recipe, name, ATTRIBUTE_TEXT);
    if (attribute)
        attribute->text = text;
}

bool recipe_number(const struct recipe *recipe, const collage_node *node, uint32_t index,
                   float *number)
{
    const collage_value *value = recipe_input(recipe, node, index);
    if (!value || !value->data || value->dtype != COLLAGE_FLOAT32 || value->bytes != sizeof *number)
        return false;
    memcpy(number, value->data, sizeof *number);
    return true;
}

bool recipe_axis(struct recipe *recipe, int64_t axis, int32_t rank, int64_t *out)
{
    *out = axis < 0 ? axis + rank : axis;
    if (*out >= 0 && *out < rank)
        return true;
    recipe_refuse(recipe, "there is no axis %lld", (long long)axis);
    return false;
}

/* ---- the whole ---- */

static void translate_node(struct recipe *recipe, const collage_node *node)
{
    translator translate = operators_find(node->op_type);
    if (!translate)
        recipe_refuse(recipe, "it is not mapped to oneDNN Graph");
    else
        translate(recipe, node);
}

bool recipe_translate(struct recipe *recipe, const collage_subgraph *graph, collage_message *why)
{
    *recipe = (struct recipe){ .graph = graph, .why = why };
    recipe->of_value = malloc((graph->value_count + 1u) * sizeof *recipe->of_value);
    if (!recipe->of_value)
        out_of_memory(recipe);
    for (uint32_t k = 0; k < graph->value_count && !recipe->failed; k++)
        recipe->of_value[k] = NO_TENSOR;
    for (uint32_t k = 0; k < graph->node_count && !recipe->failed; k++) {
        recipe->node = k;
        translate_node(recipe, graph->nodes[k]);
    }
    return !recipe->failed;
}

void recipe_release(struct recipe *recipe)
{
    while (recipe->numbers) {
        struct numbers *next = recipe->numbers->next;
        free(recipe->numbers);
        recipe->numbers = next;
    }
    free(recipe->of_value);
    free(recipe->tensors);
    free(recipe->operations);
    free(recipe->operands);
}
