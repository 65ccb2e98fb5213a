/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/attribute.h"

#include <string.h>

/* Text may hold any byte, and ends with 0 all the same. */
static const char *copy_text(struct arena *arena, const char *from, size_t count)
{
    char *text = arena_alloc(arena, count + 1);
    if (text && count)
        memcpy(text, from, count);
    return text;
}

bool attribute_copy(struct arena *arena, const collage_attribute *from, collage_attribute *to)
{
    *to = *from;
    to->name = arena_string(arena, from->name);
    if (!to->name)
        return false;
    switch (from->kind) {
    case COLLAGE_ATTRIBUTE_STRING:
        to->s = copy_text(arena, from->s, from->count);
        return to->s;
    case COLLAGE_ATTRIBUTE_INTS:
        to->ints = arena_copy(arena, from->ints, from->count * sizeof *from->ints);
        return to->ints;
    case COLLAGE_ATTRIBUTE_FLOATS:
        to->floats = arena_copy(arena, from->floats, from->count * sizeof *from->floats);
        return to->floats;
    case COLLAGE_ATTRIBUTE_GRAPH:
        to->graph = from->graph ? body_copy(arena, from->graph) : NULL;
        return to->graph || !from->graph;
    case COLLAGE_ATTRIBUTE_INT:
    case COLLAGE_ATTRIBUTE_FLOAT:
        return true;
    }
    return false;
}

const collage_attribute *attribute_copy_all(struct arena *arena,
                                            const collage_attribute *attributes, uint32_t count)
{
    collage_attribute *copy = arena_array(arena, count, sizeof *copy);
    for (uint32_t k = 0; copy && k < count; k++)
        if (!attribute_copy(arena, &attributes[k], &copy[k]))
            return NULL;
    return copy;
}

/* ---- bodies ---- */

static bool copy_value(struct arena *arena, const collage_value *from, collage_value *to)
{
    *to = (collage_value){ .dtype = from->dtype, .rank = from->rank, .bytes = from->bytes };
    to->name = arena_string(arena, from->name);
    to->dims = arena_copy(arena, from->dims, (size_t)from->rank * sizeof *from->dims);
    return to->name && to->dims;
}

static const uint32_t *copy_ids(struct arena *arena, const uint32_t *ids, uint32_t count)
{
    return arena_copy(arena, ids, count * sizeof *ids);
}

static bool copy_node(struct arena *arena, const collage_node *from, collage_node *to)
{
    *to = *from;
    to->op_type = arena_string(arena, from->op_type);
    to->name = arena_string(arena, from->name);
    to->inputs = copy_ids(arena, from->inputs, from->input_count);
    to->outputs = copy_ids(arena, from->outputs, from->output_count);
    to->attributes = attribute_copy_all(arena, from->attributes, from->attribute_count);
    return to->op_type && to->name && to->inputs && to->outputs && to->attributes;
}

const collage_subgraph *body_copy(struct arena *arena, const collage_subgraph *from)
{
    collage_subgraph *to = arena_copy(arena, from, sizeof *from);
    collage_value *values = arena_array(arena, from->value_count, sizeof *values);
    collage_node *nodes = arena_array(arena, from->node_count, sizeof *nodes);
    const collage_value **value_list = arena_array(arena, from->value_count, sizeof *value_list);
    const collage_node **node_list = arena_array(arena, from->node_count, sizeof *node_list);
    if (!to || !values || !nodes || !value_list || !node_list)
        return NULL;
    for (uint32_t v = 0; v < from->value_count; v++) {
        if (!copy_value(arena, from->values[v], &values[v]))
            return NULL;
        value_list[v] = &values[v];
    }
    for (uint32_t n = 0; n < from->node_count; n++) {
        if (!copy_node(arena, from->nodes[n], &nodes[n]))
            return NULL;
        node_list[n] = &nodes[n];
    }
    to->values = value_list;
    to->nodes = node_list;
    to->inputs = copy_ids(arena, from->inputs, from->input_count);
    to->outputs = copy_ids(arena, from->outputs, from->output_count);
    return to->inputs && to->outputs ? to : NULL;
}
