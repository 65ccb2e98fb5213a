/* SPDX-License-Identifier: Apache-2.0 */
/* primitive.h: a recipe as oneDNN's primitive descriptor. */
#ifndef ONEDNN_PRIMITIVE_H
#define ONEDNN_PRIMITIVE_H

#include "library.h"
#include "recipe.h"

/* Descriptors of the recipe's operands (its order), and the primitive made of them. Strict float32;
 * the scratchpad is the user's. Free with primitive_release. */
struct primitive {
    dnnl_memory_desc_t descriptors[MAX_OPERANDS];
    dnnl_primitive_desc_t descriptor;
    dnnl_primitive_t primitive;
};

collage_status primitive_make(const struct library *library, dnnl_engine_t engine,
                              const struct recipe *recipe, struct primitive *out,
                              collage_message *message);
/* The descriptors; the primitive itself is the caller's (NULL it to keep it). */
void primitive_release(const struct library *library, struct primitive *primitive);

#endif
