/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fusions.h: where the library must be kept from fusing. Behind an element-wise operation it takes
 * a second operand of any shape, but has fast kernels for few: the others are plain loops, up to a
 * hundred times slower than two operations one after the other.
 */
#ifndef ONEDNN_GRAPH_FUSIONS_H
#define ONEDNN_GRAPH_FUSIONS_H

#include "recipe.h"

/* Must that tensor of the recipe be written, so that nothing is fused across it? */
bool fusions_end_at(const struct recipe *recipe, size_t tensor);

#endif
