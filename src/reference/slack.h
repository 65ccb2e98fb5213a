/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slack.h: how far from the reference a right result may lie where something before it is rounded
 * to steps (QuantizeLinear and its like). A library that sums in another order, or in integers, may
 * come to the other side of a tie: it is one step away, and so is what is made of it. Without such
 * an operator there is no slack: float32 is compared as ever (docs/measuring.md).
 */
#ifndef COLLAGE_REFERENCE_SLACK_H
#define COLLAGE_REFERENCE_SLACK_H

#include "graph/region.h"
#include "reference/oracle.h"

/* The reference's values: value(from, id) is that of a value of the graph. */
struct slack_values {
    struct tensor (*value)(const void *from, value_id id);
    const void *from;
};

struct slack_values slack_values_of(const struct oracle *oracle);

/* Slack of each output of the region, in the output's own unit (tensor_compare_within); of the
 * graph's outputs if `region` is NULL. What comes into the region is exact. COLLAGE_ERROR_MEMORY
 * only. */
collage_status slack_find(const struct graph *graph, const struct region *region,
                          const struct slack_values *values, double *slack, struct error *error);

#endif
