/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.h: the operators. Each is one row of ops.def and two pure functions of its attributes and
 * input tensors: one infers the types and shapes of the outputs, the other computes them: plain,
 * slow, obviously right. Together the compute functions are the reference, the oracle of everything
 * else. Names, attributes and semantics are ONNX's, newest opset (older models are upgraded at
 * import).
 */
#ifndef COLLAGE_OPS_OPS_H
#define COLLAGE_OPS_OPS_H

#include "tensor/tensor.h"

/* A call of an operator. Left-out optional inputs are NULL. */
struct op_call {
    const collage_node
        *node; /* for its attributes and name; inputs and outputs are not looked at */
    uint32_t input_count, output_count;
    const struct tensor *const
        *inputs; /* infer: data is set where the input is a constant, else NULL */
    struct tensor
        *outputs; /* infer: to be filled but for data; compute: filled, data to be written */
};

/* Infer: COLLAGE_ERROR_SHAPE if inputs do not fit, or if the shape depends on data that is not
 * constant. */
typedef collage_status (*op_function)(const struct op_call *call, struct error *error);

enum {
    OP_ELEMENTWISE = 1 << 0, /* output[i] depends on (broadcast) input[i] only */
    OP_COMMUTES = 1 << 1,    /* its two operands may be swapped */
    OP_VIEW =
        1
        << 2, /* output has the bytes of input 0 (Reshape, Flatten, Squeeze, Unsqueeze, Identity) */
    OP_SHAPE = 1 << 3,    /* output depends on the shapes of the inputs only (Shape, Size) */
    OP_SUMS = 1 << 5,     /* output is sums of products of inputs 0 and 1, and a bias */
    OP_CONTROL = 1 << 4,  /* runs sub-graphs, for as long as they say: not to be computed ahead */
    OP_PRODUCTS = 1 << 6, /* its work is that of matrix products: convolutions, recurrences, too */
    OP_PICKS = 1 << 7     /* reads of input 0 no more than it writes (Gather, Slice) */
};

/* What an exponential, logarithm, sine, error function counts as: ten multiply-adds, about what a
 * polynomial takes that is right to float32. Divisions and square roots count as one. */
enum { OP_TRANSCENDENTAL = 20 };

struct op {
    const char *name;
    int32_t min_inputs, max_inputs; /* max -1: any number */
    int32_t min_outputs, max_outputs;
    uint32_t flags;
    op_function infer, compute;
    double (*count)(const struct op_call *call); /* see op_work */
    double times;
};

/* The newest opset of the default domain that we know. */
enum { OPS_OPSET = 28 };

const struct op *op_find(const char *name); /* NULL if unknown */
size_t op_count(void);
const struct op *op_at(size_t index);
/* Which kind the operator's attribute of that name is of; false if it has none of that name. */
bool op_find_attribute(const struct op *op, const char *name, collage_attribute_kind *kind);

/* Arithmetic operations of one call that inference has passed: those of the direct way, two for
 * each multiply-add (Winograd's do fewer). 0: nothing but moving, or the bodies of If and Loop,
 * which nobody can count ahead. Only the first 16 inputs and output 0 are looked at: their shapes,
 * and data where a constant is known; an output that is left out has no elements. */
enum { OP_WORK_INPUTS = 16 };
double op_work(const struct op *op, const struct op_call *call);
/* Bytes of input k that must be read. */
uint64_t op_reads(const struct op *op, const struct op_call *call, uint32_t k);

/* Checks the arity, then infers. Output dims are checked against overflow (tensor_check_size). */
collage_status op_infer(const struct op *op, const struct op_call *call, struct error *error);

#endif
