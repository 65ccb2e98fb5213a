/* SPDX-License-Identifier: Apache-2.0 */
/* importer.h: the state of one import, shared by the files of this folder. */
#ifndef COLLAGE_ONNX_IMPORTER_H
#define COLLAGE_ONNX_IMPORTER_H

#include "graph/name_map.h"
#include "onnx/external.h"
#include "onnx/message.h"
#include "onnx/onnx.h"

struct importer {
    struct graph *graph;
    const Onnx__ModelProto *model;
    const char *path;          /* for messages */
    int64_t opset;             /* of the default domain, as the file says */
    struct name_map values;    /* name -> value id, of the model's own graph, so far */
    struct name_map producers; /* output name -> index of the model's node */
    /* Of the body that is being inlined; NULL: the model's own graph. And the names that values
     * made in bodies have in the graph. */
    struct scope *scope;
    struct name_map inner_names;
    uint32_t nodes_seen;    /* bodies may be inlined many times */
    unsigned numbers_given; /* behind names that were taken */
    const char **loops;     /* names: see scope_bind_uncollected */
    size_t loop_count, loop_capacity;
    struct external_files external;
    uint64_t folded_bytes; /* made by evaluating constant arithmetic */
};

/* A node on its way from the file into the graph. Upgrades edit it. Arrays are the graph arena's.
 */
struct draft {
    const char *op_type, *name;
    value_id *inputs, *outputs; /* outputs: GRAPH_NONE until emitted; see output_names */
    const char **output_names;  /* "" for a left-out one */
    collage_attribute *attributes;
    uint32_t input_count, output_count, attribute_count;
};

/* import.c: is it one of those that we know? */
collage_status importer_check_opset(const struct importer *importer, int64_t opset,
                                    struct error *error);

/* import_tensor.c: an initializer or a tensor attribute; the data lie in the graph's arena or in a
 * mapping. `what` names it in messages. */
collage_status importer_tensor(struct importer *importer, const Onnx__TensorProto *proto,
                               const char *what, struct tensor *tensor, struct error *error);

/* import_inputs.c: declares the inputs with their shapes bound. */
collage_status importer_inputs(struct importer *importer, const collage_shape *shapes,
                               size_t shape_count, struct error *error);

/* import_node.c: converts a node, upgrades it and puts it into the graph. */
collage_status importer_node(struct importer *importer, const Onnx__NodeProto *proto,
                             struct error *error);
/* Puts a finished draft into the graph: declares its outputs, infers their shapes, and replaces it
 * by constants if it is small integer arithmetic or the like. */
collage_status importer_emit(struct importer *importer, struct draft *draft, struct error *error);
/* A new named value. The name must be new in this scope. */
collage_status importer_value(struct importer *importer, const char *name, enum value_kind kind,
                              const struct tensor *tensor, value_id *out, struct error *error);
/* "base.what", or with a number behind if that name is taken anywhere in this scope. */
const char *importer_fresh_name(struct importer *importer, const char *base, const char *what);

/* upgrade.c: turns a node of the file's opset into OPS_OPSET's semantics; may emit others before.
 */
collage_status importer_upgrade(struct importer *importer, struct draft *draft,
                                struct error *error);
/* An operator that has another name now. */
bool importer_renames(const char *op_type);

#endif
