/* SPDX-License-Identifier: Apache-2.0 */
/* operators.h: which operators, with which element types and attributes, OpenVINO
 * computes right. */
#ifndef COLLAGE_OPENVINO_OPERATORS_H
#define COLLAGE_OPENVINO_OPERATORS_H

#include <collage/backend.h>

/* Answers for each node of the sub-graph; no library is needed. */
bool operators_supported(const collage_subgraph *subgraph, const collage_target *target,
                         collage_message *why);

#endif
