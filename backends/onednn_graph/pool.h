/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h: the memory that oneDNN Graph takes by itself: scratchpads of each run, packed constants.
 * What it gives back is kept and taken again, so that a run in the steady state allocates nothing.
 * The library's callbacks carry no context: there is one pool in the process. Safe from any thread.
 */
#ifndef ONEDNN_GRAPH_POOL_H
#define ONEDNN_GRAPH_POOL_H

#include <stddef.h>

/* Memory of at least that many bytes, aligned to 64 and to `alignment`, a power of two; NULL if
 * there is none. */
void *pool_take(size_t bytes, size_t alignment);

/* Gives it back; NULL is fine. */
void pool_give(void *memory);

/* Frees what nobody has taken. */
void pool_trim(void);

#endif
