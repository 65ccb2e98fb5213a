/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exporter.h: a model while it is written (export.c), and how operators are written that libraries
 * do not know, or run slower, in the form in which the graph has them (lower.c).
 */
#ifndef COLLAGE_ONNX_EXPORTER_H
#define COLLAGE_ONNX_EXPORTER_H

#include "base/memory.h"
#include "graph/name_map.h"
#include "onnx/message.h"

/* What one node becomes at most. */
enum { LOWERED_NODES = 3, LOWERED_CONSTANTS = 4 };

struct exporter {
    struct arena *arena; /* holds messages and strings; constants are not copied before packing */
    const collage_subgraph *subgraph;
    uint64_t inline_limit;
    uint64_t external_bytes; /* so far, each constant from a multiple of 64 */
    Onnx__GraphProto graph;
    struct name_map node_names; /* those given so far */
    uint32_t *uses;             /* of each value: by nodes and as an output */
    uint32_t *producers;        /* of each value: the node, or COLLAGE_NO_VALUE */
    uint32_t fresh;             /* names made so far */
    /* Of a body: what its values are called in the model, and how many of its last inputs are not
     * inputs of the graph there. */
    const char **names;
    uint32_t captured_count;
    bool failed; /* out of memory */
};

/* A node with the names of what it reads and makes. */
struct exporter_node {
    const char *op, *name;
    const char *const *inputs, *const *outputs;
    uint32_t input_count, output_count;
    const collage_attribute *attributes;
    uint32_t attribute_count;
    /* What the last inputs of its bodies are called out here. */
    const char *const *captured;
    uint32_t captured_count;
};

/* Memory of the model's lifetime, zeroed; NULL (and exporter->failed) if there is none. */
void *exporter_allocate(struct exporter *exporter, size_t count, size_t size);
void exporter_add_node(struct exporter *exporter, const struct exporter_node *node);
/* A float32 constant of rank 0 or 1, always inline; data must live as long as the model. Its name.
 */
const char *exporter_add_floats(struct exporter *exporter, const char *base, int32_t rank,
                                int64_t count, const float *data);
/* A name that no other value has. NULL (and exporter->failed) if out of memory. */
const char *exporter_fresh_name(struct exporter *exporter, const char *base);
const char *exporter_value_name(const struct exporter *exporter, uint32_t value);

/* Writes the node, number `n` of the sub-graph, in another form (or leaves it to be written with
 * the one that reads it); false: it is to be written as it is. */
bool lower_node(struct exporter *exporter, uint32_t n);
/* The oldest operator set in which the sub-graph can be written: libraries know old operators best
 * (ONNX Runtime 1.32 takes eight times as long for an AveragePool of opset 19 or later). */
int64_t lower_opset(const collage_subgraph *subgraph);

#endif
