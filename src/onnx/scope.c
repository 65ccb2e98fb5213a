/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/scope.h"

#include <string.h>

#include "onnx/import_order.h"

enum { DEPTH_LIMIT = 32 };
/* What a map holds in the place of a value: no value has these ids. Of UNCOLLECTED + k, the loop is
 * importer->loops[k]. */
#define LEFT_OUT    (NAME_MAP_NONE - 1)
#define UNCOLLECTED ((uint32_t)1 << 31)

collage_status scope_enter(struct importer *importer, struct scope *scope, const char *base,
                           struct error *error)
{
    scope->caller = importer->scope;
    scope->depth = scope->caller ? scope->caller->depth + 1 : 1;
    scope->outer_opset = importer->opset;
    importer->scope = scope;
    /* Cut where it gets long; the graph's names are made unique anyway. */
    scope->prefix = arena_format(importer->graph->arena, "%.150s%.100s/",
                                 scope->caller ? scope->caller->prefix : "", base);
    if (!scope->prefix)
        return error_memory(error);
    if (scope->depth > DEPTH_LIMIT)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "functions and sub-graphs are nested more than %d deep", DEPTH_LIMIT);
    return COLLAGE_OK;
}

void scope_leave(struct importer *importer, struct scope *scope)
{
    importer->scope = scope->caller;
    importer->opset = scope->outer_opset;
    name_map_free(&scope->values);
    name_map_free(&scope->producers);
}

static struct name_map *names_here(struct importer *importer)
{
    return importer->scope ? &importer->scope->values : &importer->values;
}

static collage_status bind_number(struct importer *importer, const char *name, uint32_t number,
                                  struct error *error)
{
    struct name_map *names = names_here(importer);
    if (!name[0])
        return error_set(error, COLLAGE_ERROR_FORMAT, "a value has an empty name");
    if (name_map_find(names, name) != NAME_MAP_NONE)
        return error_set(error, COLLAGE_ERROR_FORMAT, "value '%s' is defined twice", name);
    return name_map_add(names, name, number) ? COLLAGE_OK : error_memory(error);
}

collage_status scope_bind(struct importer *importer, const char *name, value_id id,
                          struct error *error)
{
    return bind_number(importer, name, id == GRAPH_NONE ? LEFT_OUT : id, error);
}

collage_status scope_bind_uncollected(struct importer *importer, const char *name, const char *loop,
                                      struct error *error)
{
    const size_t count = importer->loop_count;
    if (!memory_grow((void **)&importer->loops, &importer->loop_capacity, count,
                     sizeof *importer->loops))
        return error_memory(error);
    importer->loops[importer->loop_count++] = loop;
    return bind_number(importer, name, UNCOLLECTED + (uint32_t)count, error);
}

/* NAME_MAP_NONE, LEFT_OUT, UNCOLLECTED and more, or a value. */
static uint32_t find_number(const struct importer *importer, const char *name)
{
    const struct scope *scope = importer->scope;
    uint32_t found = NAME_MAP_NONE;
    while (scope && scope->sees_caller && found == NAME_MAP_NONE) {
        found = name_map_find(&scope->values, name);
        scope = scope->caller;
    }
    return found == NAME_MAP_NONE ? name_map_find(scope ? &scope->values : &importer->values, name)
                                  : found;
}

static bool is_uncollected(uint32_t number)
{
    return number >= UNCOLLECTED && number < LEFT_OUT;
}

bool scope_find(const struct importer *importer, const char *name, value_id *id)
{
    const uint32_t found = find_number(importer, name);
    const bool usable = found != NAME_MAP_NONE && !is_uncollected(found);
    *id = usable && found != LEFT_OUT ? found : GRAPH_NONE;
    return usable;
}

collage_status scope_missing(const struct importer *importer, const char *what, const char *name,
                             struct error *error)
{
    const uint32_t found = find_number(importer, name);
    if (is_uncollected(found))
        return error_set(
            error, COLLAGE_ERROR_UNSUPPORTED,
            "%s '%.100s' is collected by the Loop '%.100s': how often that runs depends "
            "on data, so the shape is unknown, which is not supported",
            what, name, importer->loops[found - UNCOLLECTED]);
    return error_set(error, COLLAGE_ERROR_FORMAT, "%s '%s' is made by no node%s", what, name,
                     strcmp(what, "input") == 0 ? " and is no input of the model" : "");
}

/* ---- attributes ---- */

static const Onnx__AttributeProto *find_by_name(Onnx__AttributeProto *const *list, size_t count,
                                                const char *name)
{
    for (size_t k = 0; k < count; k++)
        if (strcmp(message_string(list[k]->name), name) == 0)
            return list[k];
    return NULL;
}

const Onnx__AttributeProto *scope_attribute(const struct importer *importer,
                                            const Onnx__AttributeProto *proto)
{
    const struct scope *scope = importer->scope;
    while (proto && proto->ref_attr_name && proto->ref_attr_name[0]) {
        while (scope && !scope->function)
            scope = scope->caller;
        if (!scope)
            return NULL;
        const char *name = proto->ref_attr_name;
        proto = find_by_name(scope->call->attribute, scope->call->n_attribute, name);
        if (!proto)
            return find_by_name(scope->function->attribute_proto,
                                scope->function->n_attribute_proto, name);
        scope = scope->caller; /* where the call stands, and what it may refer to */
    }
    return proto;
}

const Onnx__AttributeProto *scope_node_attribute(const struct importer *importer,
                                                 const Onnx__NodeProto *node, const char *name)
{
    const Onnx__AttributeProto *proto = find_by_name(node->attribute, node->n_attribute, name);
    return proto ? scope_attribute(importer, proto) : NULL;
}

/* ---- bodies ---- */

collage_status scope_import_constants(struct importer *importer, const struct body *body,
                                      struct error *error)
{
    for (size_t k = 0; k < body->initializer_count; k++) {
        struct tensor tensor;
        value_id id;
        const char *name = message_string(body->initializers[k]->name);
        collage_status status =
            importer_tensor(importer, body->initializers[k], name, &tensor, error);
        if (status == COLLAGE_OK)
            status = importer_value(importer, name, VALUE_CONSTANT, &tensor, &id, error);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

collage_status scope_import_nodes(struct importer *importer, const struct body *body,
                                  struct error *error)
{
    struct name_map *producers =
        importer->scope ? &importer->scope->producers : &importer->producers;
    uint32_t *order = NULL;
    collage_status status = import_order(body->nodes, body->node_count, producers, &order, error);
    for (size_t i = 0; status == COLLAGE_OK && i < body->node_count; i++)
        status = importer_node(importer, body->nodes[order[i]], error);
    memory_free(order);
    return status;
}
