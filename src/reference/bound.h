/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound.h: how far from the reference direct summation may lie, element by element: what strict
 * precision allows (docs/measuring.md). A sum of k products a * b in float32, in any order, is off
 * by at most gamma_k times the sum of all |a| |b|, with gamma_k = k u / (1 - k u) and u = 2^-24
 * (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1). Algorithms
 * that compute something else on the way, such as Winograd's, are not within it everywhere. The
 * sums come from the reference: the node itself, on absolute values.
 */
#ifndef COLLAGE_REFERENCE_BOUND_H
#define COLLAGE_REFERENCE_BOUND_H

#include "graph/region.h"
#include "reference/slack.h"

/* What was found once is kept: the sums of each node. */
struct bounds;

/* graph and what `values` reads are borrowed. */
collage_status bounds_create(const struct graph *graph, const struct slack_values *values,
                             struct bounds **out, struct error *error);
void bounds_destroy(struct bounds *bounds);

/*
 * out[k]: of the region's k-th output, as many floats as it has elements, in the arena; NULL if no
 * bound is known, so that the tolerance alone counts: of what is not made of sums (activations that
 * are approximated, for one), and of sums of what is not exact itself, whose bound would soon be
 * wider than the tolerance. What comes into the region is exact. COLLAGE_ERROR_MEMORY, or what the
 * reference says of a node that it cannot compute.
 */
collage_status bounds_find(struct bounds *bounds, const struct region *region, struct arena *arena,
                           const float **out, struct error *error);

#endif
