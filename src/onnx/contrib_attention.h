/* SPDX-License-Identifier: Apache-2.0 */
/* contrib_attention.h: the attention operators of contrib.h. */
#ifndef COLLAGE_ONNX_CONTRIB_ATTENTION_H
#define COLLAGE_ONNX_CONTRIB_ATTENTION_H

#include "onnx/importer.h"

collage_status contrib_attention(struct importer *importer, struct draft *draft,
                                 struct error *error);
collage_status contrib_multi_head_attention(struct importer *importer, struct draft *draft,
                                            struct error *error);
collage_status contrib_rotary_embedding(struct importer *importer, struct draft *draft,
                                        struct error *error);

#endif
