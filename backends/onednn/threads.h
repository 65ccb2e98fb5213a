/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.h: small kernels are offered a second time, on one thread of the budget: waking the
 * others costs more than they save. Which is faster is measured like any other variant.
 */
#ifndef ONEDNN_THREADS_H
#define ONEDNN_THREADS_H

#include <collage/backend.h>

/* How often each choice is offered: twice if the sub-graph is small and the budget has more than
 * one thread, else once. */
size_t threads_offers(const collage_subgraph *subgraph, const collage_target *target);

/* The name of a variant: that of the choice, with a suffix for one thread. */
void threads_name(const char *choice, bool single, char *name, size_t size);

/* Does a variant's name stand for that choice? *single: on one thread. */
bool threads_match(const char *name, const char *choice, bool *single);

#endif
