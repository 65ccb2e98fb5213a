/* SPDX-License-Identifier: Apache-2.0 */
/* unpool.c: what puts elements back where windows took them from: MaxUnpool, Col2Im. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"
#include "ops/window.h"

/* ---- MaxUnpool ---- */

/* The shape that the attributes give, which the indices count in. */
static collage_status read_unpooled(const struct op_call *call, struct tensor *out,
                                    struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct window w;
    collage_status status = window_read_attributes(call, x, NULL, &w, error);
    if (status != COLLAGE_OK)
        return status;
    *out = *x;
    out->data = NULL;
    for (int32_t d = 0; d < w.dims; d++) {
        int64_t size;
        if (w.in[d] < 1 || __builtin_mul_overflow(w.in[d] - 1, w.stride[d], &size) ||
            __builtin_add_overflow(size, w.kernel[d] - w.begin[d] - w.end[d], &size) || size < 1)
            return shape_error(error, "dimension %d of the unpooled tensor is not possible",
                               (int)d);
        out->dims[2 + d] = size;
    }
    uint64_t bytes;
    if (!tensor_check_size(out, &bytes))
        return shape_error(error, "the unpooled tensor is too large");
    return COLLAGE_OK;
}

/* An output shape that is given may be larger at the end of each spatial dimension. */
static collage_status read_output_shape(const struct op_call *call, const struct tensor *unpooled,
                                        struct tensor *out, struct error *error)
{
    struct ints shape;
    collage_status status = call_ints(call, 2, &shape, error);
    *out = *unpooled;
    if (status != COLLAGE_OK || shape.count < 0)
        return status;
    if (shape.count != out->rank)
        return shape_error(error, "output_shape has %d elements, %d are needed", (int)shape.count,
                           (int)out->rank);
    for (int32_t d = 0; d < out->rank; d++) {
        int64_t dim = shape.values[d];
        if (dim < out->dims[d] || (d < 2 && dim > out->dims[d]))
            return shape_error(error,
                               "element %d of output_shape is %" PRId64 ", which does not fit "
                               "%" PRId64 " unpooled elements",
                               (int)d, dim, out->dims[d]);
        out->dims[d] = dim;
    }
    return COLLAGE_OK;
}

collage_status infer_max_unpool(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    struct tensor unpooled = { 0 }, y = { 0 };
    if (indices->dtype != COLLAGE_INT64 || !tensor_same_shape(x, indices))
        return shape_error(error, "the indices must be of type int64 and of the shape of input 0");
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = read_unpooled(call, &unpooled, error);
    if (status == COLLAGE_OK)
        status = read_output_shape(call, &unpooled, &y, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, x->dtype, &y);
    return status;
}

/* The place in the output of element `index` of the unpooled tensor. */
static int64_t output_place(const struct tensor *unpooled, const struct tensor *y, int64_t index)
{
    int64_t place = 0, stride = 1;
    for (int32_t d = y->rank - 1; d >= 0; d--) {
        place += index % unpooled->dims[d] * stride;
        index /= unpooled->dims[d];
        stride *= y->dims[d];
    }
    return place;
}

collage_status compute_max_unpool(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0], unpooled = { 0 };
    collage_status status = read_unpooled(call, &unpooled, error);
    int64_t count = tensor_elements(x), limit = 0;
    if (status == COLLAGE_OK && count > 0) {
        limit = tensor_elements(&unpooled);
        memset(y->data, 0, (size_t)tensor_bytes(y));
    }
    for (int64_t i = 0; i < count && status == COLLAGE_OK; i++) {
        int64_t index = tensor_get_int(call->inputs[1], i);
        if (index < 0 || index >= limit)
            return error_set(error, COLLAGE_ERROR_ARGUMENT,
                             "index %" PRId64 " is out of range for %" PRId64 " elements", index,
                             limit);
        tensor_set(y, output_place(&unpooled, y, index), tensor_get(x, i));
    }
    return status;
}

/* ---- Col2Im ---- */

/* The windows that were cut from an image of the given shape, whose number the columns must have;
 * *y becomes the output. */
static collage_status read_blocks(const struct op_call *call, struct window *w, struct tensor *y,
                                  struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct ints image, block;
    collage_status status = call_ints(call, 1, &image, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 2, &block, error);
    if (status != COLLAGE_OK)
        return status;
    if (image.count < 1 || image.count > WINDOW_MAX || block.count != image.count)
        return shape_error(error,
                           "image_shape and block_shape must have the same number of elements, "
                           "1 to %d",
                           WINDOW_MAX);
    *y = (struct tensor){ .dtype = x->dtype, .rank = 2 + image.count };
    for (int32_t d = 0; d < image.count; d++) {
        y->dims[2 + d] = image.values[d];
        if (image.values[d] < 1 || image.values[d] > INT32_MAX)
            return shape_error(error, "element %d of image_shape is %" PRId64, (int)d,
                               image.values[d]);
    }
    return window_read(call, y, block.values, w, error);
}

static collage_status read_col2im(const struct op_call *call, struct window *w, struct tensor *y,
                                  struct error *error)
{
    const struct tensor *x = call->inputs[0];
    if (x->rank != 3)
        return shape_error(error, "the input has rank %d; 3 is needed", (int)x->rank);
    collage_status status = read_blocks(call, w, y, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t blocks = 1, taps = window_taps(w);
    bool fits = x->dims[1] % taps == 0;
    for (int32_t d = 0; d < w->dims && fits; d++)
        fits = !__builtin_mul_overflow(blocks, w->out[d], &blocks);
    if (!fits || blocks != x->dims[2])
        return shape_error(error,
                           "columns of %" PRId64 " x %" PRId64 " do not fit the image and the "
                           "blocks, which have %" PRId64 " elements",
                           x->dims[1], x->dims[2], taps);
    y->dims[0] = x->dims[0];
    y->dims[1] = x->dims[1] / taps;
    return COLLAGE_OK;
}

collage_status infer_col2im(const struct op_call *call, struct error *error)
{
    struct window w;
    struct tensor y;
    collage_status status = call_check_type(call, 0, TYPES_NUMBER, error);
    if (status == COLLAGE_OK)
        status = read_col2im(call, &w, &y, error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, y.dtype, &y);
    return status;
}

/* Adds the columns of one channel, which begin at `start`, to its image. */
static void add_columns(const struct window *w, const struct tensor *x, int64_t start,
                        double *image)
{
    int64_t tap[WINDOW_MAX] = { 0 };
    do {
        int64_t at[WINDOW_MAX] = { 0 };
        do {
            int64_t to = window_source(w, at, tap);
            double value = tensor_get(x, start++);
            if (to >= 0)
                image[to] += value;
        } while (coordinate_next(at, w->out, w->dims));
    } while (coordinate_next(tap, w->kernel, w->dims));
}

collage_status compute_col2im(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0], shape;
    struct window w;
    collage_status status = read_col2im(call, &w, &shape, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    int64_t size = window_inputs(&w), column = window_taps(&w) * x->dims[2];
    double *image = memory_alloc((size_t)size * sizeof *image);
    if (!image)
        return error_memory(error);
    for (int64_t plane = 0; plane < y->dims[0] * y->dims[1]; plane++) {
        memset(image, 0, (size_t)size * sizeof *image);
        add_columns(&w, x, plane * column, image);
        for (int64_t i = 0; i < size; i++)
            tensor_set(y, plane * size + i, image[i]);
    }
    memory_free(image);
    return status;
}
