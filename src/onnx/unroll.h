/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unroll.h: what Loop and Scan share while they are unrolled: the body is inlined once for each
 * iteration, some values go from one iteration to the next, others are collected. All of it is
 * bounded: a small file may ask for very many iterations.
 */
#ifndef COLLAGE_ONNX_UNROLL_H
#define COLLAGE_ONNX_UNROLL_H

#include "onnx/importer.h"

enum {
    UNROLL_ITERATIONS = 10000, /* at most */
    UNROLL_VALUES = 1 << 22    /* that go into and out of all iterations, at most */
};

/* A node with a body that is run some times. */
struct loop {
    const Onnx__NodeProto *node;
    const Onnx__GraphProto *body;
    const char *name; /* of the node, or of its first output */
    value_id *inputs;
    size_t input_count; /* the node's */
    /* Values that go from one iteration to the next; and what is collected of each iteration:
     * [iteration * collected_count + output]. */
    value_id *carried;
    size_t carried_count, collected_count;
    value_id *collected;
    size_t collected_capacity, iterations;
    size_t values_seen;   /* by all iterations, of the whole batch of a Scan of opset 8 too */
    bool depends_on_data; /* how often it runs: it cannot be unrolled */
};

/* Finds the node's inputs and its body. Always followed by unroll_close. */
collage_status unroll_open(struct importer *importer, const Onnx__NodeProto *node,
                           struct loop *loop, struct error *error);
void unroll_close(struct loop *loop);

/* What is carried into the first iteration, in place of what was carried before. */
collage_status unroll_set_carried(struct loop *loop, const value_id *first, size_t count,
                                  struct error *error);
/* One iteration more: inlines the body. `inputs` are all of the body's; of its outputs, `skip` come
 * before the carried ones: *first is the first of them. */
collage_status unroll_iterate(struct importer *importer, struct loop *loop, const value_id *inputs,
                              size_t skip, value_id *first, struct error *error);

/* A node with one output, and one integer attribute (NULL: none). */
collage_status unroll_emit(struct importer *importer, const struct loop *loop, const char *op,
                           const value_id *inputs, size_t count, const char *attribute,
                           int64_t value, value_id *out, struct error *error);
/* Values of one shape, joined along a new axis. `parts` is used up. */
collage_status unroll_join(struct importer *importer, const struct loop *loop, value_id *parts,
                           size_t count, int64_t axis, value_id *out, struct error *error);
/* The values of one collected output, joined. */
collage_status unroll_stack(struct importer *importer, const struct loop *loop, size_t output,
                            int64_t axis, bool backwards, value_id *out, struct error *error);

#endif
