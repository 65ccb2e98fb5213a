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

/* ---- what the two share ---- */

/* The sub-graph that is this attribute of the node. */
collage_status control_flow_body(struct importer *importer, const Onnx__NodeProto *node,
                                 const char *attribute, const Onnx__GraphProto **body,
                                 struct error *error);
/* Inlines a sub-graph once: its inputs get these values; outputs: what all its outputs are. */
collage_status control_flow_inline(struct importer *importer, const Onnx__GraphProto *graph,
                                   const char *prefix, const value_id *inputs, value_id *outputs,
                                   struct error *error);
/* The node's name, or its first output's. */
const char *control_flow_name(const Onnx__NodeProto *node);

#endif
