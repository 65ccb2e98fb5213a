/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_flow.h: If, Loop and Scan. Shapes are static here, so what decides how often a body runs
 * is usually constant: the condition of an If that asks for a shape, the trip count of a Loop, the
 * length of a Scan. Then they are unrolled; where it depends on data, control_data.h keeps them.
 */
#ifndef COLLAGE_ONNX_CONTROL_FLOW_H
#define COLLAGE_ONNX_CONTROL_FLOW_H

#include "onnx/importer.h"

typedef collage_status (*control_flow_fn)(struct importer *importer, const Onnx__NodeProto *proto,
                                          struct error *error);

/* The function that puts a node of this type into the graph; NULL if it is no control flow. */
control_flow_fn control_flow_find(const char *op_type);

/* ---- one of them that has a file of its own ---- */

collage_status control_flow_scan(struct importer *importer, const Onnx__NodeProto *node,
                                 struct error *error);

/* ---- what they share ---- */

/* The sub-graph that is this attribute of the node. */
collage_status control_flow_body(struct importer *importer, const Onnx__NodeProto *node,
                                 const char *attribute, const Onnx__GraphProto **body,
                                 struct error *error);
/* Inlines a sub-graph once: its inputs get these values; outputs: what all its outputs are. */
collage_status control_flow_inline(struct importer *importer, const Onnx__GraphProto *graph,
                                   const char *prefix, const value_id *inputs, value_id *outputs,
                                   struct error *error);
/* The values that the node takes, GRAPH_NONE for one that is left out. */
collage_status control_flow_inputs(struct importer *importer, const Onnx__NodeProto *node,
                                   value_id *inputs, struct error *error);
/* Gives the value the name of output k, if that has one. */
collage_status control_flow_bind(struct importer *importer, const Onnx__NodeProto *node, size_t k,
                                 value_id id, struct error *error);
/* The node's name, or its first output's. */
const char *control_flow_name(const Onnx__NodeProto *node);

#endif
