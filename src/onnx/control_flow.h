/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_flow.h: If, Loop and Scan, unrolled. Shapes are static here, so what decides how often a
 * body runs is usually constant: the condition of an If that asks for a shape, the trip count of a
 * Loop, the length of a Scan. Where it depends on data, the model is refused with that reason.
 */
#ifndef COLLAGE_ONNX_CONTROL_FLOW_H
#define COLLAGE_ONNX_CONTROL_FLOW_H

#include "onnx/importer.h"

typedef collage_status (*control_flow_fn)(struct importer *importer, const Onnx__NodeProto *proto,
                                          struct error *error);

/* The function that puts a node of this type into the graph; NULL if it is no control flow. */
control_flow_fn control_flow_find(const char *op_type);

#endif
