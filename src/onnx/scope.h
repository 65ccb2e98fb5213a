/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope.h: the names of a body that is being inlined: a function's, or a sub-graph's of If, Loop or
 * Scan. Names of a body mean values of the graph under other names, since a body may be inlined
 * many times. A sub-graph sees the names around it, a function does not.
 */
#ifndef COLLAGE_ONNX_SCOPE_H
#define COLLAGE_ONNX_SCOPE_H

#include "onnx/importer.h"

struct scope {
    struct scope *caller;      /* where it is used; NULL: in the model's own graph */
    bool sees_caller;          /* a sub-graph */
    const char *prefix;        /* "name/", before the graph's names of its values */
    struct name_map values;    /* the body's name -> value id */
    struct name_map producers; /* the body's output name -> index of its node */
    /* Of a function: the node that calls it has the values of its attributes. */
    const Onnx__NodeProto *call;
    const Onnx__FunctionProto *function;
    int64_t outer_opset; /* importer->opset before it was entered */
    uint32_t depth;
};

/* Fills the rest of `scope` and makes it the importer's; refuses too deep a nesting. `base` is the
 * name of the node that the body belongs to. Always followed by scope_leave. */
collage_status scope_enter(struct importer *importer, struct scope *scope, const char *base,
                           struct error *error);
void scope_leave(struct importer *importer, struct scope *scope);

/* Gives a value, or none (GRAPH_NONE: a left-out input), a name in this scope. */
collage_status scope_bind(struct importer *importer, const char *name, value_id id,
                          struct error *error);
/* False if nothing has that name here. *id is GRAPH_NONE for a left-out input. */
bool scope_find(const struct importer *importer, const char *name, value_id *id);

/* What a loop would collect, though nobody knows how often it runs: the name is there, and whoever
 * uses it is refused. `loop`: what the loop is called. */
collage_status scope_bind_uncollected(struct importer *importer, const char *name, const char *loop,
                                      struct error *error);
/* The error after scope_find found nothing of use: says why. `what`: "input" or the like. */
collage_status scope_missing(const struct importer *importer, const char *what, const char *name,
                             struct error *error);

/* The attribute itself where `proto` only refers to one of the function's; NULL if the call has
 * none. */
const Onnx__AttributeProto *scope_attribute(const struct importer *importer,
                                            const Onnx__AttributeProto *proto);
/* The node's attribute of that name, resolved; NULL if there is none. */
const Onnx__AttributeProto *scope_node_attribute(const struct importer *importer,
                                                 const Onnx__NodeProto *node, const char *name);

/* Puts the constants, then the nodes of a body (or of the model) into the graph, in this scope. */
struct body {
    Onnx__NodeProto *const *nodes;
    size_t node_count;
    Onnx__TensorProto *const *initializers;
    size_t initializer_count;
};
collage_status scope_import_constants(struct importer *importer, const struct body *body,
                                      struct error *error);
collage_status scope_import_nodes(struct importer *importer, const struct body *body,
                                  struct error *error);

#endif
