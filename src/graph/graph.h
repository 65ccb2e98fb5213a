/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h: a network as arrays of nodes and values that refer to each other by 32-bit ids, all in
 * one arena. Shapes are static. Nodes are kept in topological order (graph_compact restores it).
 * Constants point into mapped files or the arena and are never written. The importer makes a graph,
 * canon/ edits it, all later stages only read it.
 */
#ifndef COLLAGE_GRAPH_GRAPH_H
#define COLLAGE_GRAPH_GRAPH_H

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "ops/ops.h"

typedef uint32_t node_id;
typedef uint32_t value_id;
#define GRAPH_NONE UINT32_MAX /* also COLLAGE_NO_VALUE: an input that is left out */

enum value_kind { VALUE_INPUT, VALUE_CONSTANT, VALUE_COMPUTED };

/* What a constant was made from by DequantizeLinear (fold.c): constants that no node need read.
 * Libraries with kernels for integers are given these (subgraph.c). */
struct dequantized {
    value_id integers, scale, zero; /* zero: GRAPH_NONE if there is none */
    int64_t axis, block_size;       /* as the node had them */
};

struct value {
    const char *name; /* unique, not empty */
    enum value_kind kind;
    node_id producer;     /* COMPUTED only, else GRAPH_NONE */
    struct tensor tensor; /* data: CONSTANT only */
    /* A constant that was parsed from text (graph_text.h) and whose zeros stand in for contents of
     * this hash; else NULL. */
    const struct hash *stands_for;
    struct dequantized *dequantized; /* a constant of float32, in the graph's arena; else NULL */
};

struct node {
    /* Name, attributes; inputs and outputs are value ids of this graph. GRAPH_NONE: an optional
     * input or output that is left out. */
    collage_node base;
    const struct op *op;
};

struct graph_property { /* ONNX metadata_props */
    const char *key, *value;
};

struct graph {
    struct arena *arena;
    const char *name;
    const char *path; /* of the ONNX file; "" if none */
    struct value *values;
    struct node *nodes;
    size_t value_count, value_capacity, node_count, node_capacity;
    value_id *inputs; /* the model's inputs that are not constants, in order */
    value_id *outputs;
    uint32_t input_count, output_count;
    struct graph_property *properties;
    size_t property_count;
    struct mapping *mappings; /* the files that constants point into */
    size_t mapping_count;
    struct hash source; /* of the .onnx file's bytes and of the names, sizes and dates of its
                           external files */
};

struct graph *graph_create(void); /* NULL if out of memory */
void graph_destroy(struct graph *graph);

/* Appends; names are copied, tensor.data is not. GRAPH_NONE if out of memory. Names must be unique:
 * see graph_fresh_name. */
value_id graph_add_value(struct graph *graph, const char *name, enum value_kind kind,
                         const struct tensor *tensor);
/* All arrays, and attributes with what they point to, are copied. Sets the producer of the outputs.
 */
node_id graph_add_node(struct graph *graph, const struct op *op, const char *name,
                       const value_id *inputs, uint32_t input_count, const value_id *outputs,
                       uint32_t output_count, const collage_attribute *attributes,
                       uint32_t attribute_count);
collage_status graph_set_inputs(struct graph *graph, const value_id *inputs, uint32_t count,
                                struct error *error);
collage_status graph_set_outputs(struct graph *graph, const value_id *outputs, uint32_t count,
                                 struct error *error);

value_id graph_find_value(const struct graph *graph,
                          const char *name); /* linear; GRAPH_NONE if none */
/* The node that a user means by its name, by a result of it ("y" or "%y"), or by its number ("7" or
 * "#7"), in this order. COLLAGE_ERROR_ARGUMENT says why there is none. */
collage_status graph_find_node(const struct graph *graph, const char *text, node_id *out,
                               struct error *error);
/* `base` if no value has that name, else base with a number behind; NULL if out of memory. */
const char *graph_fresh_name(struct graph *graph, const char *base);
const char *graph_property(const struct graph *graph, const char *key); /* NULL if none */
bool graph_is_constant(const struct graph *graph, value_id value);
bool graph_is_output(const struct graph *graph, value_id value);

/* Replaces every use of `from`, as a node input, by `to`. Graph outputs keep their name and
 * identity (not replaced). */
void graph_replace_uses(struct graph *graph, value_id from, value_id to);
/* Marks a node as removed; it goes at the next graph_compact. Its op becomes NULL. */
void graph_remove_node(struct graph *graph, node_id node);
/* Drops removed nodes and values without use, sorts topologically (stable), renumbers. Model inputs
 * stay. */
collage_status graph_compact(struct graph *graph, struct error *error);

/* Runs shape inference of one node and stores dtype and shape of its outputs. */
collage_status graph_infer_node(struct graph *graph, node_id node, struct error *error);

/* A node's outputs as inference (and, if all inputs are constants, computing) gives them: one
 * tensor for each output, left-out ones included. infer: data stay NULL. evaluate: data come from
 * the graph's arena. */
collage_status graph_infer_outputs(const struct graph *graph, node_id node, struct tensor *outputs,
                                   struct error *error);
collage_status graph_evaluate_outputs(struct graph *graph, node_id node, struct tensor *outputs,
                                      struct error *error);
/* Turns the outputs of a node into constants, if its inputs are constants or only their shapes
 * matter; the caller then removes it. *folded: false, and nothing is changed, if the reference
 * cannot compute it. What DequantizeLinear makes remembers from what. COLLAGE_ERROR_MEMORY only. */
collage_status graph_fold_node(struct graph *graph, node_id node, bool *folded,
                               struct error *error);

/* The node's inputs, to be edited in place (the graph owns them). */
value_id *graph_node_inputs(struct graph *graph, node_id node);

/* Who uses a value: for value v, users[first[v] .. first[v+1]) are node ids, ascending, once for
 * each use. */
struct graph_uses {
    uint32_t *first;
    node_id *users;
};
collage_status graph_uses_build(const struct graph *graph, struct graph_uses *out,
                                struct error *error);
void graph_uses_free(struct graph_uses *uses);

/* Identity of the canonical graph: operators, attributes, shapes, names, constants' shapes and
 * small contents. Two processes that import the same file with the same shapes get the same hash
 * and the same ids. */
struct hash graph_hash(const struct graph *graph);

#endif
