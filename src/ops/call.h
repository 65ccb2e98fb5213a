/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h: what the operators share: reading attributes and small integer inputs, checking types and
 * axes, and the prototypes of all functions that ops.def names.
 *
 * Infer functions see hostile input and check everything. Compute functions rely on infer having
 * passed with the same inputs; they check only what depends on data, such as the indices of Gather.
 */
#ifndef COLLAGE_OPS_CALL_H
#define COLLAGE_OPS_CALL_H

#include "ops/ops.h"

#define OP(name, min_in, max_in, min_out, max_out, flags, infer_fn, compute_fn, count_fn, times)   \
    collage_status infer_fn(const struct op_call *call, struct error *error);                      \
    collage_status compute_fn(const struct op_call *call, struct error *error);                    \
    double count_fn(const struct op_call *call);
#include "ops/ops.def"
#undef OP

enum {
    TYPES_FLOAT = 1 << 0,
    TYPES_INT = 1 << 1,
    TYPES_BOOL = 1 << 2,
    TYPES_NUMBER = TYPES_FLOAT | TYPES_INT,
    TYPES_ANY = TYPES_NUMBER | TYPES_BOOL
};

/* COLLAGE_ERROR_SHAPE with a message. */
collage_status shape_error(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The k-th input, NULL if left out. */
const struct tensor *call_input(const struct op_call *call, uint32_t k);
/* Input k is of one of the types; fine if it is left out. */
collage_status call_check_type(const struct op_call *call, uint32_t k, uint32_t types,
                               struct error *error);
/* All inputs that are there have the type of input 0, which is one of `types`. */
collage_status call_check_same_type(const struct op_call *call, uint32_t types,
                                    struct error *error);
/* Output k becomes of that type and of the shape of `shape`. */
void call_set_output(const struct op_call *call, uint32_t k, collage_dtype dtype,
                     const struct tensor *shape);

/* Makes an axis in [-rank, rank) one in [0, rank). */
collage_status axis_resolve(int64_t axis, int32_t rank, int32_t *out, struct error *error);
/* The attribute `axis`, resolved. */
collage_status call_axis(const struct op_call *call, int64_t fallback, int32_t rank, int32_t *out,
                         struct error *error);

/* A short list of integers: an attribute's or a constant input's. */
enum { INTS_MAX = 64 };
struct ints {
    int32_t count;
    int64_t values[INTS_MAX];
};
/* Input k (int32 or int64, rank 0 or 1), which must be constant while inferring. count is -1 if it
 * is left out. */
collage_status call_ints(const struct op_call *call, uint32_t k, struct ints *out,
                         struct error *error);
/* The attribute; count is -1 if there is none. */
collage_status call_ints_attribute(const struct op_call *call, const char *name, struct ints *out,
                                   struct error *error);
/* Resolves each, refuses one named twice; the bits of *set are the axes. */
collage_status axes_resolve(struct ints *axes, int32_t rank, uint32_t *set, struct error *error);

/* Copies the data of `from` to `to`, which has as many bytes. */
void tensor_copy_data(struct tensor *to, const struct tensor *from);

bool dtype_is_int(collage_dtype dtype); /* not bool */
bool dtype_is_unsigned(collage_dtype dtype);

/* Products of dims[from..to). */
int64_t dims_product(const struct tensor *tensor, int32_t from, int32_t to);

#endif
