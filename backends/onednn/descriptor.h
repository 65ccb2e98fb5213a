/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor.h: operands as oneDNN's memory descriptors. */
#ifndef ONEDNN_DESCRIPTOR_H
#define ONEDNN_DESCRIPTOR_H

#include "library.h"
#include "recipe.h"

/* The descriptor of the operand in the layout that its tag or strides say, or `any`. Tags: "", any
 * permutation, or one that blocks the second dimension by 4, 8 or 16. */
collage_status descriptor_create(const struct library *library, const struct operand *operand,
                                 dnnl_memory_desc_t *out, collage_message *message);

/* The descriptor of the operand's row-major contents, whatever its tag. */
dnnl_status_t descriptor_create_plain(const struct library *library, const struct operand *operand,
                                      dnnl_memory_desc_t *out);

#endif
