/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_data.h: an If or a Loop whose course depends on data stays a node. Its sub-graphs are
 * inlined like any other, and what that put into the graph is taken out again as a body
 * (graph/body.h): so functions, older operators and constants in it are treated as everywhere.
 */
#ifndef COLLAGE_ONNX_CONTROL_DATA_H
#define COLLAGE_ONNX_CONTROL_DATA_H

#include "onnx/importer.h"

collage_status control_data_if(struct importer *importer, const Onnx__NodeProto *node,
                               value_id condition, struct error *error);
/* `inputs`: the node's; `body`: checked to fit them. */
collage_status control_data_loop(struct importer *importer, const Onnx__NodeProto *node,
                                 const Onnx__GraphProto *body, const value_id *inputs,
                                 struct error *error);

#endif
