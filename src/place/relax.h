/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relax.h: internal to place/: prices for the rows of the relaxed program. Programs of small graphs
 * are solved as a whole, those of large ones window by window (docs/placement.md).
 */
#ifndef COLLAGE_PLACE_RELAX_H
#define COLLAGE_PLACE_RELAX_H

#include "place/model.h"

/* prices: row by row, comes as zeros. *answers: how many times the solver answered; if it never
 * did, the prices stay as they are. Fails only for want of memory. */
collage_status relax_model(const struct model *model, const char *solver, uint64_t deadline,
                           double *prices, uint32_t *answers, struct error *error);

#endif
