/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tvm.h: what the plugin's parts share. TVM is a compiler in Python: a helper process (helper.h)
 * makes one C source of a sub-graph, which the host's compiler makes a shared object of, and which
 * is kept and travels with plans (make_named_code). The object (object.h) needs no part of TVM to
 * run. Backends and kernels are the structs of our own kernels, whose threads, packed weights and
 * loader are used here, too.
 */
#ifndef TVM_TVM_H
#define TVM_TVM_H

#include "../native/family.h"
#include "../native/source.h"
#include "helper.h"
#include "place.h"

/* An open backend. `base` comes first: kernels point to it. */
struct tvm {
    struct collage_backend base;
    struct place place;
    struct helper helper;
};

/* What a sub-graph is to the helper, which has a way to make a kernel for each. */
enum kind {
    KIND_NONE,
    KIND_ELEMENTWISE,
    KIND_ROWS,
    KIND_PRODUCT,     /* rows times constant weights */
    KIND_CONVOLUTION, /* channels come last in this one and the next */
    KIND_DEPTHWISE,
    KIND_COUNT
};

/* KIND_NONE: there is no kernel for it; `why` (may be NULL) says why not. */
enum kind kind_of(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why);

/* Parts of kind_of, for a frame that was looked at. */
bool tiles_take_product(const collage_subgraph *subgraph, collage_message *why);
bool tiles_take_convolution(const collage_subgraph *subgraph, bool *depthwise,
                            collage_message *why);

/* The rounds that a schedule names; NULL: 0. -1: it is none of ours. */
int rounds_of(const char *schedule);

/* The element-wise operators, as the words of a pattern: "(Add|Sub|...)". */
#define TVM_ELEMENTWISE                                                                            \
    "(Add|Sub|Mul|Div|Min|Max|Relu|LeakyRelu|Clip|Sigmoid|Tanh|Swish|HardSwish|HardSigmoid|Gelu|"  \
    "Erf|Exp|Sqrt|Abs|Neg|Reciprocal|Pow)"

/* The request for the helper, one line of JSON: all that its answer depends on. */
void request_write(struct source *out, const collage_compile_request *request, enum kind kind,
                   int rounds);

#endif
