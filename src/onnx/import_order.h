/* SPDX-License-Identifier: Apache-2.0 */
/* import_order.h: the topological order of a body's nodes (files need not be sorted). */
#ifndef COLLAGE_ONNX_IMPORT_ORDER_H
#define COLLAGE_ONNX_IMPORT_ORDER_H

#include "graph/name_map.h"
#include "onnx/message.h"

/* Fills `producers` (output name -> node) and *order, which is memory_alloc'ed; a sorted file keeps
 * its order. Errors: a cycle, a value made twice. */
collage_status import_order(Onnx__NodeProto *const *nodes, size_t n, struct name_map *producers,
                            uint32_t **order, struct error *error);

#endif
