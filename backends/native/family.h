/* SPDX-License-Identifier: Apache-2.0 */
/*
 * family.h: a family of kernels, such as Winograd convolutions, and the kernels that it makes. A
 * family says which sub-graphs it takes and in which variants (describing: no library, no state),
 * and compiles one into a kernel. Several families may take the same sub-graph: each variant is a
 * candidate of its own, and measuring decides. families.c lists them all.
 */
#ifndef NATIVE_FAMILY_H
#define NATIVE_FAMILY_H

#include "../message.h"
#include "isa.h"
#include "pool.h"
#include "schedule.h"
#include "weights.h"

struct family;

/* An open backend: the threads and the weights that its kernels share. */
struct collage_backend {
    const collage_host *host;
    struct pool pool;
    struct weight_table weights;
};

/* A compiled sub-graph. `state` is the family's. */
struct collage_kernel {
    const struct family *family;
    collage_backend *backend;
    int32_t threads; /* of the variant: 1 for "/1t" */
    enum isa isa;
    int64_t schedule[SCHEDULE_AXES]; /* along the family's axes; -1: as it likes */
    void *state;
    uint64_t scratch_bytes, weight_bytes; /* as in collage_kernel_info */
    uint32_t inplace_count;
    uint32_t inplace[8];
    char implementation[96];
};

struct family {
    const char *name; /* of the variants, too: "winograd" has winograd, winograd_f2, ... */

    bool indirect; /* its variants are COLLAGE_VARIANT_INDIRECT */

    /* Can it run this sub-graph? If not, `why` (may be NULL) says so in words. Sees hostile
     * sub-graphs: any convex one. */
    bool (*takes)(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why);
    /* The index-th variant of a sub-graph that it takes: a name of at most 24 characters that no
     * other family uses, and the layouts that are not row-major. False: there are no more. NULL:
     * one, row-major, of the family's name. */
    bool (*variant)(const collage_subgraph *subgraph, const collage_target *target, size_t index,
                    collage_variant *out);
    /* The axes along which the work of a variant of its own (without "/1t") can be cut when it runs
     * on so many threads. NULL: there is one way. */
    void (*space)(const collage_subgraph *subgraph, const collage_target *target,
                  const char *variant, int32_t threads, struct schedule_space *out);
    /* Makes the state of a kernel for a variant of its own (request->variant->name without "/1t";
     * kernel->threads, isa, backend and schedule are set). On failure, destroy is called, too. */
    collage_status (*compile)(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant, collage_message *message);
    /* Are the inputs such that it can run? If not, `message` says why: numbers that say where to
     * read may be anything. NULL: any are. */
    bool (*check)(const collage_kernel *kernel, const void *const *inputs,
                  collage_message *message);
    /* Cannot fail: all that can go wrong has gone wrong before. Allocates nothing. */
    void (*run)(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch);
    void (*destroy)(collage_kernel *kernel); /* frees state, which may be NULL or half made */
};

extern const struct family *const families[];
extern const size_t family_count;

/* Where a kernel finds a value: a constant, or the index of one of the sub-graph's inputs. */
struct operand {
    const float *constant;
    uint32_t input; /* if constant is NULL */
};

/* The operand of a value that is constant or an input of the sub-graph. */
struct operand operand_of(const collage_subgraph *subgraph, uint32_t value);

static inline const float *operand_address(const struct operand *operand, const void *const *inputs)
{
    return operand->constant ? operand->constant : inputs[operand->input];
}

/* Is `value` an input or a constant of the sub-graph, i.e. not made by one of its nodes? */
bool value_is_outside(const collage_subgraph *subgraph, uint32_t value);

/* Are all values float32 and of a known, non-empty shape? Constants of other types may be operands
 * of shapes (`axes`); those that `ignore` marks (by value, may be NULL) are passed over. */
bool all_float32(const collage_subgraph *subgraph, const bool *ignore, collage_message *why);

#endif
