/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rounds.h: internal to place/: the placement as a 0-1 program, solved by CBC round after round:
 * what a round's answer breaks that the program does not know of (the order of execution, and what
 * switching costs in it) becomes a row of the next one.
 */
#ifndef COLLAGE_PLACE_ROUNDS_H
#define COLLAGE_PLACE_ROUNDS_H

#include "place/options.h"
#include "place/place.h"

/* Improves `best` by the table's options, which include its own and all of any placement that costs
 * less than limit_ns, and its bound up to limit_ns. Ends when there is nothing more to be found
 * below it
 * (*done), nothing more to be learned, or at the deadline (clock_ns). Fails only for want of
 * memory. */
collage_status rounds_run(const struct place_table *table, const char *solver, uint64_t deadline,
                          double limit_ns, struct placement *best, bool *done, struct error *error);

#endif
