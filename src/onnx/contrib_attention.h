/* SPDX-License-Identifier: Apache-2.0 */
/* contrib_attention.h: what the files of contrib.h share, and its attention operators. */
#ifndef COLLAGE_ONNX_CONTRIB_ATTENTION_H
#define COLLAGE_ONNX_CONTRIB_ATTENTION_H

#include "onnx/importer.h"

/* contrib.c: emits an operator without attributes before the draft. */
collage_status contrib_step(struct importer *importer, const struct draft *draft, const char *op,
                            const value_id *inputs, uint32_t count, value_id *out,
                            struct error *error);
/* Turns the draft into that operator, without attributes; left-out inputs at the end go. */
collage_status contrib_become(struct importer *importer, struct draft *draft, const char *op,
                              const value_id *inputs, uint32_t count, struct error *error);
/* COLLAGE_ERROR_FORMAT if one of the first `count` inputs is left out. */
collage_status contrib_need(const struct draft *draft, uint32_t count, struct error *error);

collage_status contrib_attention(struct importer *importer, struct draft *draft,
                                 struct error *error);
collage_status contrib_multi_head_attention(struct importer *importer, struct draft *draft,
                                            struct error *error);
collage_status contrib_rotary_embedding(struct importer *importer, struct draft *draft,
                                        struct error *error);

#endif
