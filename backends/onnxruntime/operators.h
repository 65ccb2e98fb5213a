/* SPDX-License-Identifier: Apache-2.0 */
/* operators.h: which operators, and for which element types, ONNX Runtime's CPU provider has
 * kernels. */
#ifndef COLLAGE_ONNXRUNTIME_OPERATORS_H
#define COLLAGE_ONNXRUNTIME_OPERATORS_H

#include <collage/backend.h>

/* Answers for each node of the sub-graph; no library is needed. */
bool operators_supported(const collage_subgraph *subgraph, const collage_target *target,
                         collage_message *why);

#endif
