/* SPDX-License-Identifier: Apache-2.0 */
/* attribute_default.h: the values that ONNX gives to attributes that a node leaves out. */
#ifndef COLLAGE_PATTERN_ATTRIBUTE_DEFAULT_H
#define COLLAGE_PATTERN_ATTRIBUTE_DEFAULT_H

#include "ops/ops.h"

struct attribute_default {
    const char *op, *name;
    double number;    /* of a list: each of its elements */
    const char *text; /* of a string; NULL: all others */
};

/* NULL if the attribute has no default, or one that depends on the tensors. */
const struct attribute_default *attribute_default_find(const struct op *op, const char *name);

#endif
