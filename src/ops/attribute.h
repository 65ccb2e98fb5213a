/* SPDX-License-Identifier: Apache-2.0 */
/* attribute.h: attributes as values: copying them with all that they point to. */
#ifndef COLLAGE_OPS_ATTRIBUTE_H
#define COLLAGE_OPS_ATTRIBUTE_H

#include "base/memory.h"
#include "ops/ops.h"

/* The copy and all that it points to are the arena's. False if out of memory. */
bool attribute_copy(struct arena *arena, const collage_attribute *from, collage_attribute *to);
/* NULL if out of memory. */
const collage_attribute *attribute_copy_all(struct arena *arena,
                                            const collage_attribute *attributes, uint32_t count);
/* A sub-graph as an attribute holds it: of constants only the shapes. NULL if out of memory. */
const collage_subgraph *body_copy(struct arena *arena, const collage_subgraph *from);

#endif
