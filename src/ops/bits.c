/* SPDX-License-Identifier: Apache-2.0 */
/* bits.c: operators on the bits of integers: BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot,
 * BitShift; and BitCast. tensor_get_int extends the sign, tensor_set_int keeps the low bits; so
 * what is done to 64 bits is done to fewer. */
#include <string.h>

#include "ops/call.h"
#include "ops/walk.h"

/* bits: of the element type */
typedef int64_t (*bits_function)(int64_t a, int64_t b, int64_t bits, bool is_unsigned);

static int64_t both(int64_t a, int64_t b, int64_t bits, bool is_unsigned)
{
    (void)bits, (void)is_unsigned;
    return (int64_t)((uint64_t)a & (uint64_t)b);
}

static int64_t either(int64_t a, int64_t b, int64_t bits, bool is_unsigned)
{
    (void)bits, (void)is_unsigned;
    return (int64_t)((uint64_t)a | (uint64_t)b);
}

static int64_t one_of(int64_t a, int64_t b, int64_t bits, bool is_unsigned)
{
    (void)bits, (void)is_unsigned;
    return (int64_t)((uint64_t)a ^ (uint64_t)b);
}

static bool is_out_of_range(int64_t distance, int64_t bits)
{
    return distance < 0 || distance >= bits; /* a large uint64 is negative here */
}

static int64_t shift_left(int64_t a, int64_t b, int64_t bits, bool is_unsigned)
{
    (void)is_unsigned;
    return is_out_of_range(b, bits) ? 0 : (int64_t)((uint64_t)a << b);
}

/* Fills with the sign. */
static int64_t shift_right(int64_t a, int64_t b, int64_t bits, bool is_unsigned)
{
    bool negative = !is_unsigned && a < 0;
    if (is_out_of_range(b, bits))
        return negative ? -1 : 0;
    uint64_t fill = negative ? UINT64_MAX : 0;
    return (int64_t)((((uint64_t)a ^ fill) >> b) ^ fill);
}

static collage_status map(const struct op_call *call, bits_function function)
{
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    struct tensor *y = &call->outputs[0];
    bool is_unsigned = dtype_is_unsigned(a->dtype);
    int64_t bits = 8 * (int64_t)dtype_size(a->dtype);
    struct walk walk;
    walk_begin(&walk, y->dims, y->rank);
    walk_add_broadcast(&walk, a);
    walk_add_broadcast(&walk, b);
    walk_add_dense(&walk);
    while (walk_row(&walk))
        for (int64_t i = 0; i < walk.length; i++)
            tensor_set_int(y, walk.at[2] + i,
                           function(tensor_get_int(a, walk.at[0] + i * walk.step[0]),
                                    tensor_get_int(b, walk.at[1] + i * walk.step[1]), bits,
                                    is_unsigned));
    return COLLAGE_OK;
}

collage_status infer_bitwise(const struct op_call *call, struct error *error)
{
    struct tensor shape = { 0 };
    collage_status status = call_check_same_type(call, TYPES_INT, error);
    if (status == COLLAGE_OK)
        status = broadcast_shape(call->inputs, call->input_count, &shape, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, call->inputs[0]->dtype, &shape);
    return status;
}

collage_status compute_bitwise_and(const struct op_call *call, struct error *error)
{
    (void)error;
    return map(call, both);
}

collage_status compute_bitwise_or(const struct op_call *call, struct error *error)
{
    (void)error;
    return map(call, either);
}

collage_status compute_bitwise_xor(const struct op_call *call, struct error *error)
{
    (void)error;
    return map(call, one_of);
}

collage_status compute_bitwise_not(const struct op_call *call, struct error *error)
{
    (void)error;
    int64_t count = tensor_elements(&call->outputs[0]);
    for (int64_t i = 0; i < count; i++)
        tensor_set_int(&call->outputs[0], i, ~tensor_get_int(call->inputs[0], i));
    return COLLAGE_OK;
}

/* ---- BitShift ---- */

collage_status infer_bit_shift(const struct op_call *call, struct error *error)
{
    const char *direction = collage_node_string(call->node, "direction", "");
    if (strcmp(direction, "LEFT") != 0 && strcmp(direction, "RIGHT") != 0)
        return shape_error(error, "direction '%.20s' is neither 'LEFT' nor 'RIGHT'", direction);
    return infer_bitwise(call, error);
}

collage_status compute_bit_shift(const struct op_call *call, struct error *error)
{
    (void)error;
    bool left = strcmp(collage_node_string(call->node, "direction", ""), "LEFT") == 0;
    return map(call, left ? shift_left : shift_right);
}

/* BitCast: the same bits as another type of the same size. */
collage_status infer_bit_cast(const struct op_call *call, struct error *error)
{
    int64_t to = collage_node_int(call->node, "to", 0);
    collage_dtype from = call->inputs[0]->dtype;
    if (to <= 0 || to > COLLAGE_BFLOAT16 || dtype_size((collage_dtype)to) != dtype_size(from))
        return shape_error(error, "attribute 'to' is no type of the size of %s", dtype_name(from));
    call_set_output(call, 0, (collage_dtype)to, call->inputs[0]);
    return COLLAGE_OK;
}

collage_status compute_bit_cast(const struct op_call *call, struct error *error)
{
    (void)error;
    tensor_copy_data(&call->outputs[0], call->inputs[0]);
    return COLLAGE_OK;
}
