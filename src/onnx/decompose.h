/* SPDX-License-Identifier: Apache-2.0 */
/* decompose.h: operators of the default domain that are others in one or two steps: no backend
 * needs to know them. */
#ifndef COLLAGE_ONNX_DECOMPOSE_H
#define COLLAGE_ONNX_DECOMPOSE_H

#include "onnx/importer.h"

bool decompose_knows(const char *op_type);

/* Emits what is needed before it and turns the draft into the last step. Others stay as they are.
 */
collage_status decompose(struct importer *importer, struct draft *draft, struct error *error);

#endif
