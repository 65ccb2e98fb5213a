/* SPDX-License-Identifier: Apache-2.0 */
/* functions.h: model-local functions, inlined where they are called. */
#ifndef COLLAGE_ONNX_FUNCTIONS_H
#define COLLAGE_ONNX_FUNCTIONS_H

#include "onnx/scope.h"

/* The function that the node calls; NULL if it calls none: then it is an operator. */
const Onnx__FunctionProto *function_find(const struct importer *importer,
                                         const Onnx__NodeProto *node);

/* Puts its nodes into the graph, the call's inputs in the place of its own, and gives the results
 * the names of the call's outputs. */
collage_status function_inline(struct importer *importer, const Onnx__FunctionProto *function,
                               const Onnx__NodeProto *call, struct error *error);

#endif
