/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roofline.h: where the time of a plan goes and how far it is from what the machine could do. In:
 * an explanation with a roofline that is known. Out: kernels by kind, those first that a better
 * kernel could gain most from.
 */
#ifndef COLLAGE_REPORT_ROOFLINE_H
#define COLLAGE_REPORT_ROOFLINE_H

#include "report/explain.h"

/* Text: a row a kind, and which kernel to write next. JSON: kinds and steps, in nanoseconds, with
 * their operations and bytes. Other formats: COLLAGE_ERROR_ARGUMENT. */
collage_status report_roofline(const struct explanation *explanation, collage_format format,
                               struct text *out, struct error *error);

/* "Conv 3x3/2 g32+Relu": what a step does, with what tells kernels of convolutions apart. */
void report_kind(const struct graph *graph, const struct plan_step *step, char *text, size_t size);

#endif
