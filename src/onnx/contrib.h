/* SPDX-License-Identifier: Apache-2.0 */
/* contrib.h: the operators of the domain com.microsoft that exporters and optimisers emit for
 * transformers, written as operators of the default domain. */
#ifndef COLLAGE_ONNX_CONTRIB_H
#define COLLAGE_ONNX_CONTRIB_H

#include <string.h>

#include "onnx/importer.h"

static inline bool contrib_is_domain(const char *domain)
{
    return strcmp(domain, "com.microsoft") == 0;
}

/* Emits what is needed before it and turns the draft into an operator of the newest opset. One that
 * is not known keeps its type, with "com.microsoft." before it: it is found nowhere. */
collage_status contrib_convert(struct importer *importer, struct draft *draft, struct error *error);

#endif
