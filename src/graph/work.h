/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.h: what a set of nodes has to do, whoever does it: arithmetic operations, and bytes that
 * must be read and written. With the machine's peaks (measure/peaks.h) the least time follows.
 */
#ifndef COLLAGE_GRAPH_WORK_H
#define COLLAGE_GRAPH_WORK_H

#include "graph/region.h"

/* Operations are those of the direct way (op_work): Winograd's kernels do fewer. Each byte counts
 * once: what is between two nodes of the set need not be written. */
struct workload {
    double flop;
    uint64_t weight_bytes;      /* constants: read once, from where the rest of the network leaves
                                   them; as integers, if they were made of integers */
    uint64_t activation_bytes;  /* inputs and outputs: from the nearest level that holds them */
    uint64_t working_set_bytes; /* what is touched between two runs */
};

/* Operations of a node, and of all whose work is that of matrix products. */
double graph_node_work(const struct graph *graph, node_id node);
double graph_work(const struct graph *graph);
/* Bytes that one run of the whole graph touches: weights and activations, once each. */
uint64_t graph_touched_bytes(const struct graph *graph);

/* Of a region, working_set_bytes apart, which is left 0. scratch: a zero for each value of the
 * graph; is left so. */
struct workload region_workload(const struct graph *graph, const struct region *region,
                                uint64_t *scratch);

#endif
