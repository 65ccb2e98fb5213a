/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator_table.h: which nodes a graph-level library takes, as a table: an operator, the element
 * types of the input that decides, and what else must hold. Shared by the plugins that answer
 * `supports` node by node.
 */
#ifndef COLLAGE_BACKENDS_OPERATOR_TABLE_H
#define COLLAGE_BACKENDS_OPERATOR_TABLE_H

#include <collage/backend.h>
#include <stdio.h>
#include <string.h>

/* Of a node's attributes and inputs; says why not. */
typedef bool (*operator_takes)(const collage_subgraph *subgraph, const collage_node *node,
                               collage_message *why);

/* `typed` is the input whose element type decides; the others follow from it. */
struct operator_row {
    const char *name;
    uint32_t types; /* bits 1 << collage_dtype */
    uint32_t typed;
    operator_takes takes; /* NULL: whatever its attributes */
};

struct operator_table {
    const struct operator_row *rows; /* sorted by name */
    size_t count;
    uint32_t any;        /* types that a tensor may have at all */
    const char *library; /* for messages */
};

static inline bool operator_refuse(collage_message *why, const collage_node *node,
                                   const char *reason)
{
    snprintf(why->text, sizeof why->text, "%s: %s", node->op_type, reason);
    return false;
}

static inline bool operator_has_attribute(const collage_node *node, const char *name)
{
    for (uint32_t k = 0; k < node->attribute_count; k++)
        if (strcmp(node->attributes[k].name, name) == 0)
            return true;
    return false;
}

/* An input of a node; NULL if it is left out. */
static inline const collage_value *operator_input(const collage_subgraph *subgraph,
                                                  const collage_node *node, uint32_t index)
{
    return index < node->input_count && node->inputs[index] != COLLAGE_NO_VALUE
               ? subgraph->values[node->inputs[index]]
               : NULL;
}

static inline int64_t operator_elements(const collage_value *value)
{
    int64_t count = 1;
    for (int32_t d = 0; d < value->rank; d++)
        count *= value->dims[d];
    return count;
}

/* One number for a whole tensor: a scalar, or a vector of one element. */
static inline bool operator_is_single(const collage_value *value)
{
    return value->rank == 0 || (value->rank == 1 && value->dims[0] == 1);
}

/* An element of a constant of integers. */
static inline int64_t operator_integer(const collage_value *constant, int64_t index)
{
    const unsigned char *bytes = constant->data;
    switch (constant->dtype) {
#define INTEGER(type_code, type)                                                                   \
    case type_code: {                                                                              \
        type number;                                                                               \
        memcpy(&number, bytes + (size_t)index * sizeof number, sizeof number);                     \
        return (int64_t)number;                                                                    \
    }
        INTEGER(COLLAGE_INT8, int8_t)
        INTEGER(COLLAGE_UINT8, uint8_t)
        INTEGER(COLLAGE_INT16, int16_t)
        INTEGER(COLLAGE_UINT16, uint16_t)
        INTEGER(COLLAGE_INT32, int32_t)
        INTEGER(COLLAGE_UINT32, uint32_t)
        INTEGER(COLLAGE_INT64, int64_t)
        INTEGER(COLLAGE_UINT64, uint64_t)
#undef INTEGER
    default:
        return 0;
    }
}

static inline bool operator_has_type(uint32_t types, collage_dtype dtype)
{
    return (uint32_t)dtype < 32 && types >> (uint32_t)dtype & 1u;
}

static inline const struct operator_row *operator_find(const struct operator_table *table,
                                                       const char *name)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, table->rows[middle].name);
        if (order == 0)
            return &table->rows[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static inline bool operator_is_input(const collage_subgraph *subgraph, uint32_t value)
{
    for (uint32_t k = 0; k < subgraph->input_count; k++)
        if (subgraph->inputs[k] == value)
            return true;
    return false;
}

/* Every tensor has a type that the library knows, and at least one element unless it is a constant
 * (an empty `roi` of Resize). */
static inline bool operator_values_taken(const struct operator_table *table,
                                         const collage_subgraph *subgraph, const collage_node *node,
                                         bool outputs, collage_message *why)
{
    const uint32_t *values = outputs ? node->outputs : node->inputs;
    uint32_t count = outputs ? node->output_count : node->input_count;
    for (uint32_t k = 0; k < count; k++) {
        if (values[k] == COLLAGE_NO_VALUE)
            continue;
        const collage_value *value = subgraph->values[values[k]];
        if (!operator_has_type(table->any, value->dtype)) {
            snprintf(why->text, sizeof why->text, "%s: tensors of element type %d are not taken",
                     node->op_type, (int)value->dtype);
            return false;
        }
        if (value->bytes == 0 && (outputs || operator_is_input(subgraph, values[k])))
            return operator_refuse(why, node, "tensors without elements are not taken");
    }
    return true;
}

static inline bool operator_table_takes(const struct operator_table *table,
                                        const collage_subgraph *subgraph, collage_message *why);

/* All operators of an If's or a Loop's bodies. What is constant around them is not in them. */
static inline bool operator_bodies_taken(const struct operator_table *table,
                                         const collage_node *node, collage_message *why)
{
    for (uint32_t k = 0; k < node->attribute_count; k++)
        if (node->attributes[k].kind == COLLAGE_ATTRIBUTE_GRAPH &&
            !operator_table_takes(table, node->attributes[k].graph, why))
            return false;
    return true;
}

static inline bool operator_taken(const struct operator_table *table,
                                  const collage_subgraph *subgraph, const collage_node *node,
                                  collage_message *why)
{
    const struct operator_row *row = operator_find(table, node->op_type);
    if (!row) {
        snprintf(why->text, sizeof why->text, "%s is not among the operators given to %s",
                 node->op_type, table->library);
        return false;
    }
    if (row->typed < node->input_count && node->inputs[row->typed] != COLLAGE_NO_VALUE) {
        const collage_value *value = subgraph->values[node->inputs[row->typed]];
        if (!operator_has_type(row->types, value->dtype)) {
            snprintf(why->text, sizeof why->text, "%s: element type %d is not given to %s",
                     node->op_type, (int)value->dtype, table->library);
            return false;
        }
    }
    return (!row->takes || row->takes(subgraph, node, why)) &&
           operator_values_taken(table, subgraph, node, false, why) &&
           operator_values_taken(table, subgraph, node, true, why) &&
           operator_bodies_taken(table, node, why);
}

static inline bool operator_table_takes(const struct operator_table *table,
                                        const collage_subgraph *subgraph, collage_message *why)
{
    for (uint32_t k = 0; k < subgraph->node_count; k++)
        if (!operator_taken(table, subgraph, subgraph->nodes[k], why))
            return false;
    return true;
}

#endif
