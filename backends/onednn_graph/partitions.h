/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partitions.h: a recipe as the library's graph, cut by the library into partitions, each compiled
 * for the layouts at its border. Between partitions the library chooses layouts.
 */
#ifndef ONEDNN_GRAPH_PARTITIONS_H
#define ONEDNN_GRAPH_PARTITIONS_H

#include "library.h"
#include "recipe.h"

struct partition {
    dnnl_graph_partition_t handle;
    dnnl_graph_compiled_partition_t compiled;
    size_t operations;   /* how many are in it */
    size_t operation;    /* one of them, by its index in the recipe */
    const char *op_type; /* of that one's node; NULL: it only marks outputs */
    bool product;        /* there is a product of matrices in it */
    bool move;           /* a reshape or transposition that the library does not take (moves.h) */
    size_t input_count, output_count;
    dnnl_graph_logical_tensor_t *ports; /* inputs, then outputs */
};

struct partitions {
    struct partition *items; /* in an order in which they can run */
    size_t count;
    size_t tensor_count; /* those of the recipe, then the other views that moves need */
    dnnl_graph_logical_tensor_t *tensors; /* by id; after compiling, with the layouts chosen */
    size_t *same;                         /* by id: the tensor whose memory it is seen in */
};

/* The tensor that a tensor's memory belongs to: one of the recipe's. */
size_t partitions_root(const struct partitions *partitions, size_t id);

/* Cuts the recipe's graph and compiles the parts. Row-major or permuted layouts at the border: the
 * tags of `variant`. views: what is transposed need not be copied where products of matrices read
 * or write it (moves.h). Release it in any case. */
collage_status partitions_make(struct partitions *partitions, const collage_backend *backend,
                               const struct recipe *recipe, const collage_compile_request *request,
                               bool views, collage_message *message);
void partitions_release(struct partitions *partitions, const struct library *library);

#endif
