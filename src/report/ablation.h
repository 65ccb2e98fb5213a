/* SPDX-License-Identifier: Apache-2.0 */
/* ablation.h: prints how fast a model is with one library more at a time. */
#ifndef COLLAGE_REPORT_ABLATION_H
#define COLLAGE_REPORT_ABLATION_H

#include "base/error.h"
#include "base/text.h"
#include "plan/ablation.h"

/* Text or JSON (one object); COLLAGE_ERROR_ARGUMENT for another format. */
collage_status report_ablation(const struct ablation *ablation, collage_format format,
                               struct text *out, struct error *error);

#endif
