/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.h: a typed, shaped piece of memory, and what can be done with it without knowing any
 * operator: sizes, element types, comparison with a reference, the example inputs. Row-major unless
 * a layout is given (layout.h).
 */
#ifndef COLLAGE_TENSOR_TENSOR_H
#define COLLAGE_TENSOR_TENSOR_H

#include "base/error.h"

struct tensor {
    collage_dtype dtype;
    int32_t rank;
    int64_t dims[COLLAGE_MAX_RANK];
    void *
        data; /* NULL while only the shape is known; never written through where it is a constant */
};

size_t dtype_size(collage_dtype dtype);      /* bytes of an element; 0 if not one of ours */
const char *dtype_name(collage_dtype dtype); /* "float32", "int64", "bool"... ("?" if unknown) */
collage_dtype dtype_parse(const char *name); /* COLLAGE_UNDEFINED if unknown */
bool dtype_is_float(collage_dtype dtype);    /* float16, bfloat16, float32, float64 */

int64_t tensor_elements(const struct tensor *tensor); /* product of dims; 1 for rank 0 */
uint64_t tensor_bytes(const struct tensor *tensor);   /* elements times element size */
bool tensor_same_shape(const struct tensor *a, const struct tensor *b);
/* Product of dims times element size, refusing negative dims and overflow beyond 2^40 bytes. */
bool tensor_check_size(const struct tensor *tensor, uint64_t *bytes);
/* "1x3x224x224"; "scalar" for rank 0. */
void dims_print(const int64_t *dims, int32_t rank, char *text, size_t size);

/* Element as a number, whatever its type (float16 and bfloat16 are widened). */
double tensor_get(const struct tensor *tensor, int64_t index);
/* Rounds to nearest even; to integers: towards zero, at most the type's limits, 0 for NaN. */
void tensor_set(struct tensor *tensor, int64_t index, double value);
/* Integer tensors (and int-valued bool) as int64, exactly. */
int64_t tensor_get_int(const struct tensor *tensor, int64_t index);
/* Integer and bool tensors: modulo 2^bits of the element type; bool: not 0. */
void tensor_set_int(struct tensor *tensor, int64_t index, int64_t value);

/*
 * How far `actual` is from `expected`. Float: error = max |a - e| / max |e| (max |e| at least
 * 1e-30; the scale is the tensor's own), infinite where one is NaN or infinite and the other not
 * so. Integers and bool: 0 if equal, else infinite.
 */
struct tensor_difference {
    double error;
    int64_t index; /* of the worst element */
    double actual, expected;
};
struct tensor_difference tensor_compare(const struct tensor *actual, const struct tensor *expected);
/* The same, but elements that are no further apart than `slack` (reference/slack.h) are equal, and
 * of others only what is beyond it counts. */
struct tensor_difference tensor_compare_within(const struct tensor *actual,
                                               const struct tensor *expected, double slack);
/* The largest finite magnitude (an infinite one would hide every other); 0 if there is none. */
double tensor_largest(const struct tensor *tensor);

/* What is allowed for one float32 kernel checked on the reference's inputs, and for a whole plan.
 */
#define TENSOR_KERNEL_TOLERANCE 2e-5
#define TENSOR_PLAN_TOLERANCE   1e-4

/* The stream of the networks' weight rule (docs/networks.md). */
uint64_t splitmix64(uint64_t *state);
/* Float: (float)(1.7320507764816284 * u); integers: (splitmix64 >> 40) % limit (limit <= 0: 2). */
void tensor_fill_example(struct tensor *tensor, uint64_t state, int64_t limit);

#endif
