/* SPDX-License-Identifier: Apache-2.0 */
/* order.h: internal to place/: an order of execution with few switches, found greedily. */
#ifndef COLLAGE_PLACE_ORDER_H
#define COLLAGE_PLACE_ORDER_H

#include "place/options.h"

/* What switching costs in the order of the candidates. */
double order_cost(const struct place_table *table, const candidate_id *chosen, size_t count);

/* Reorders candidates, which have some order: goes on with a backend as long as it has something to
 * do. */
collage_status order_by_backend(const struct place_table *table, candidate_id *chosen, size_t count,
                                struct error *error);

#endif
