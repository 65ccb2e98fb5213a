/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.h: what the operators on quantized numbers share. */
#ifndef COLLAGE_OPS_QUANTIZE_H
#define COLLAGE_OPS_QUANTIZE_H

#include "tensor/tensor.h"

/* One scale, or one zero point, for all: a vector of one element is as good as a scalar. */
bool quantize_is_single(const struct tensor *tensor);

#endif
