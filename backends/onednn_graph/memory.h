/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h: where tensors between partitions lie in the scratch memory. Those that are never alive
 * at the same time share it, and a partition that can write over one of its operands does.
 */
#ifndef ONEDNN_GRAPH_MEMORY_H
#define ONEDNN_GRAPH_MEMORY_H

#include "partitions.h"

/* A tensor between partitions with memory of its own (partitions_root); all others have no bytes.
 */
struct memory_span {
    uint64_t bytes, offset;
    size_t first, last; /* the partitions that make it and read it last */
    size_t root;        /* the tensor that it is written over; itself if none */
};

/* Does that tensor of the recipe lie in scratch memory? */
bool memory_is_scratch(const struct recipe *recipe, size_t id);

/* One span for each tensor, by id: allocated by the caller. *total: bytes of scratch memory. */
collage_status memory_place(const struct library *library, const struct partitions *partitions,
                            const struct recipe *recipe, struct memory_span *spans, uint64_t *total,
                            collage_message *message);

#endif
