/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"

/* ---- what several rules ask ---- */

static bool is_power_of_two(int64_t number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

/* The element of a constant scalar; `fallback` if there is no such input; -1 if it is another. */
static int64_t scalar(const collage_value *value, int64_t fallback)
{
    if (!value)
        return fallback;
    return value->data && value->rank == 0 ? operator_integer(value, 0) : -1;
}

static bool is_left_out(const collage_node *node, uint32_t output)
{
    return output >= node->output_count || node->outputs[output] == COLLAGE_NO_VALUE;
}

/* ---- recurrence and attention ---- */

/* Of LSTM it is known that it clips in other places. */
bool takes_recurrent(const collage_subgraph *subgraph, const collage_node *node,
                     collage_message *why)
{
    (void)subgraph;
    if (operator_has_attribute(node, "clip"))
        return operator_refuse(why, node, "only without clip");
    return collage_node_int(node, "layout", 0) == 0 ||
           operator_refuse(why, node, "there is a kernel for layout 0 only");
}

/* Rows that a mask hides wholly become means of all values, where ONNX has zeros. */
bool takes_attention(const collage_subgraph *subgraph, const collage_node *node,
                     collage_message *why)
{
    const collage_value *q = operator_input(subgraph, node, 0);
    const collage_value *k = operator_input(subgraph, node, 1);
    for (uint32_t input = 3; input < node->input_count; input++)
        if (operator_input(subgraph, node, input))
            return operator_refuse(why, node, "only without mask, past and lengths");
    if (!is_left_out(node, 1) || !is_left_out(node, 2) || !is_left_out(node, 3))
        return operator_refuse(why, node, "only its first output");
    if (operator_has_attribute(node, "left_window_size") ||
        operator_has_attribute(node, "right_window_size"))
        return operator_refuse(why, node, "windows are unknown to it");
    if (operator_has_attribute(node, "softmax_precision"))
        return operator_refuse(why, node, "only in the usual precision");
    if (!(collage_node_float(node, "scale", 1) > 0))
        return operator_refuse(why, node, "only with a scale above 0");
    int32_t rows = q->rank == 3 ? 1 : 2; /* the dimension; heads come before it, or behind */
    bool causal = collage_node_int(node, "is_causal", 0) != 0;
    return !causal || q->dims[rows] == k->dims[rows] ||
           operator_refuse(why, node, "is_causal only of as many queries as keys");
}

/* ---- looking up, scattering, sorting ---- */

/* Labels of an output that is not named are counted from 'a' on: it loses capitals. */
bool takes_einsum(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    const char *equation = collage_node_string(node, "equation", "");
    for (uint32_t k = 0; k < node->input_count; k++)
        if (subgraph->values[node->inputs[k]]->rank == 0)
            return operator_refuse(why, node, "not of scalars");
    return strstr(equation, "->") || !strpbrk(equation, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") ||
           operator_refuse(why, node, "capital letters only if the output is named");
}

bool takes_top_k(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    (void)subgraph;
    return collage_node_int(node, "sorted", 1) != 0 ||
           operator_refuse(why, node, "unsorted, the order is its own");
}

/* There are kernels for few combinations of types. */
bool takes_one_hot(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    const collage_value *indices = operator_input(subgraph, node, 0);
    const collage_value *depth = operator_input(subgraph, node, 1);
    return (indices->dtype == COLLAGE_INT64 && depth->dtype == COLLAGE_INT64) ||
           operator_refuse(why, node, "only with indices and depth of int64");
}

/* Elements of any type are moved; sums and products there are of some. */
bool takes_scatter(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    collage_dtype dtype = operator_input(subgraph, node, 0)->dtype;
    bool number = dtype == COLLAGE_FLOAT32 || dtype == COLLAGE_FLOAT64 || dtype == COLLAGE_INT32 ||
                  dtype == COLLAGE_INT64;
    return number || strcmp(collage_node_string(node, "reduction", "none"), "none") == 0 ||
           operator_refuse(why, node, "no reduction of this type");
}

/* Threads share the updates: two of the same place would race. */
bool takes_scatter_nd(const collage_subgraph *subgraph, const collage_node *node,
                      collage_message *why)
{
    (void)subgraph;
    return strcmp(collage_node_string(node, "reduction", "none"), "none") == 0 ||
           operator_refuse(why, node, "only without a reduction");
}

bool takes_tensor_scatter(const collage_subgraph *subgraph, const collage_node *node,
                          collage_message *why)
{
    return operator_input(subgraph, node, 2) ||
           operator_refuse(why, node, "only with the places to write to");
}

bool takes_eye_like(const collage_subgraph *subgraph, const collage_node *node,
                    collage_message *why)
{
    switch (subgraph->values[node->outputs[0]]->dtype) {
    case COLLAGE_FLOAT32:
    case COLLAGE_FLOAT64:
    case COLLAGE_INT32:
    case COLLAGE_INT64:
    case COLLAGE_UINT64:
        return true;
    default:
        return operator_refuse(why, node, "there is no kernel for this type of output");
    }
}

/* ---- element by element ---- */

/* bfloat16 is rounded in another way by older versions, float64 becomes float16 in two steps. */
bool takes_cast(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    collage_dtype from = operator_input(subgraph, node, 0)->dtype;
    collage_dtype to = subgraph->values[node->outputs[0]]->dtype;
    if (from == COLLAGE_BFLOAT16 || to == COLLAGE_BFLOAT16)
        return operator_refuse(why, node, "not from or to bfloat16");
    return from != COLLAGE_FLOAT64 || to != COLLAGE_FLOAT16 ||
           operator_refuse(why, node, "from float64 to float16 it rounds twice");
}

/* Of real numbers, with the sign of the divisor, it is of a newer operator set. */
bool takes_mod(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    collage_dtype dtype = subgraph->values[node->inputs[0]]->dtype;
    bool real = dtype == COLLAGE_FLOAT32 || dtype == COLLAGE_FLOAT64;
    return !real || collage_node_int(node, "fmod", 0) != 0 ||
           operator_refuse(why, node, "of real numbers only with fmod");
}

/* By the width of the type or more, the processor shifts by the remainder. */
bool takes_bit_shift(const collage_subgraph *subgraph, const collage_node *node,
                     collage_message *why)
{
    const collage_value *by = operator_input(subgraph, node, 1);
    int64_t count = by->data ? operator_elements(by) : 0;
    int64_t bits = by->dtype == COLLAGE_UINT8 ? 8 : by->dtype == COLLAGE_UINT32 ? 32 : 64;
    if (!by->data)
        return operator_refuse(why, node, "only by a constant");
    for (int64_t k = 0; k < count; k++) {
        int64_t number = operator_integer(by, k); /* an uint64 beyond int64 is negative */
        if (number < 0 || number >= bits)
            return operator_refuse(why, node, "only by less than the width of the type");
    }
    return true;
}

/* ---- images ---- */

bool takes_resize(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    (void)subgraph;
    const collage_attribute *axes = collage_node_attribute(node, "axes", COLLAGE_ATTRIBUTE_INTS);
    for (uint32_t k = 0; axes && k < axes->count; k++)
        if (axes->ints[k] < 0)
            return operator_refuse(why, node, "it writes outside its memory for negative axes");
    return strcmp(collage_node_string(node, "coordinate_transformation_mode", "half_pixel"),
                  "tf_crop_and_resize") != 0 ||
           operator_refuse(why, node, "it fills in where the crop still has elements");
}

bool takes_space_to_depth(const collage_subgraph *subgraph, const collage_node *node,
                          collage_message *why)
{
    (void)subgraph;
    return strcmp(collage_node_string(node, "mode", "DCR"), "DCR") == 0 ||
           operator_refuse(why, node, "the mode 'CRD' is unknown to it");
}

bool takes_grid_sample(const collage_subgraph *subgraph, const collage_node *node,
                       collage_message *why)
{
    const collage_value *x = operator_input(subgraph, node, 0);
    if (operator_input(subgraph, node, 1)->dtype != x->dtype)
        return operator_refuse(why, node, "only with a grid of the type of the image");
    return x->rank == 4 || strcmp(collage_node_string(node, "mode", "linear"), "cubic") != 0 ||
           operator_refuse(why, node, "'cubic' of images only");
}

bool takes_roi_align(const collage_subgraph *subgraph, const collage_node *node,
                     collage_message *why)
{
    (void)subgraph;
    return strcmp(collage_node_string(node, "mode", "avg"), "avg") == 0 ||
           operator_refuse(why, node, "only means");
}

bool takes_lrn(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    if (operator_input(subgraph, node, 0)->rank != 4)
        return operator_refuse(why, node, "only of rank 4");
    return collage_node_int(node, "size", 1) % 2 == 1 ||
           operator_refuse(why, node, "only over an odd number of channels");
}

bool takes_lp_pool(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    (void)subgraph;
    if (collage_node_int(node, "ceil_mode", 0) != 0)
        return operator_refuse(why, node, "only with sizes rounded down");
    bool same = strncmp(collage_node_string(node, "auto_pad", "NOTSET"), "SAME", 4) == 0;
    return !same || !operator_has_attribute(node, "dilations") ||
           operator_refuse(why, node, "auto_pad SAME leaves dilations out");
}

bool takes_max_unpool(const collage_subgraph *subgraph, const collage_node *node,
                      collage_message *why)
{
    return !operator_input(subgraph, node, 2) ||
           operator_refuse(why, node, "output_shape changes what indices mean");
}

/* ---- signals ---- */

bool takes_window(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    (void)subgraph;
    return collage_node_int(node, "output_datatype", COLLAGE_FLOAT32) == COLLAGE_FLOAT32 ||
           operator_refuse(why, node, "only as float32");
}

/* Other lengths than powers of two are summed up with angles of float32: too coarse. */
static bool takes_length(const collage_node *node, int64_t length, collage_message *why)
{
    return is_power_of_two(length) ||
           operator_refuse(why, node, "only of a length that is a power of 2");
}

bool takes_dft(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    const collage_value *x = operator_input(subgraph, node, 0);
    const collage_value *axis_input = operator_input(subgraph, node, 2);
    int64_t axis = axis_input ? 0 : x->rank - 2;
    if (axis_input && (!axis_input->data || axis_input->rank != 0))
        return operator_refuse(why, node, "only along a constant axis");
    if (axis_input)
        axis = operator_integer(axis_input, 0);
    axis += axis < 0 ? x->rank : 0;
    if (x->rank < 3 || axis < 0 || axis >= x->rank - 1)
        return operator_refuse(why, node, "of tensors of rank 3 or more only");
    if (collage_node_int(node, "inverse", 0) != 0 && collage_node_int(node, "onesided", 0) != 0)
        return operator_refuse(why, node, "the inverse needs both sides");
    return takes_length(node, scalar(operator_input(subgraph, node, 1), x->dims[axis]), why);
}

bool takes_stft(const collage_subgraph *subgraph, const collage_node *node, collage_message *why)
{
    const collage_value *x = operator_input(subgraph, node, 0);
    const collage_value *window = operator_input(subgraph, node, 2);
    if (x->rank != 3 || x->dims[2] != 1)
        return operator_refuse(why, node, "of real signals only");
    if (scalar(operator_input(subgraph, node, 1), -1) < 1)
        return operator_refuse(why, node, "only with a constant step");
    int64_t length =
        scalar(operator_input(subgraph, node, 3), window ? window->dims[0] : x->dims[1]);
    if (length >= x->dims[1])
        return operator_refuse(why, node, "only of frames shorter than the signal");
    return takes_length(node, length, why);
}
