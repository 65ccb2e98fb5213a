/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx.h: ONNX files to graphs and sub-graphs to ONNX bytes. The import treats the file as hostile:
 * everything is bounded and checked, external data must lie in the model's folder (no absolute
 * paths, no "..", no links out of it).
 */
#ifndef COLLAGE_ONNX_ONNX_H
#define COLLAGE_ONNX_ONNX_H

#include "graph/graph.h"

/*
 * Reads, upgrades every node to opset OPS_OPSET, binds symbolic dimensions (by input shapes; an
 * equal symbol binds everywhere), infers all shapes, evaluating constant integer arithmetic (Shape
 * -> Gather -> Concat -> Reshape) on the way. An initializer that is the default of an input (IR
 * version 4) is a constant, or that input if its shape is given. The graph is verified but not
 * canonical. External data are mapped, not copied.
 */
collage_status onnx_import(const char *path, const collage_shape *shapes, size_t shape_count,
                           struct graph **out, struct error *error);

/* Does the import take operators of this type (of the default domain), in some form? */
bool onnx_knows_operator(const char *op_type);

/* The same from memory. path: what the bytes are called in messages and whose folder holds the
 * external data; NULL: a model that names external data is refused. */
collage_status onnx_import_bytes(const void *bytes, size_t count, const char *path,
                                 const collage_shape *shapes, size_t shape_count,
                                 struct graph **out, struct error *error);

/* collage_host.export_onnx: see there. *bytes is memory_alloc'ed. */
collage_status onnx_export(const collage_subgraph *subgraph, uint64_t inline_limit, void **bytes,
                           size_t *count, collage_message *message);

/* collage_weights_fill: see there. */
collage_status onnx_weights_fill(const char *model_path, const char *directory,
                                 uint64_t *bytes_written, struct error *error);

#endif
