/* SPDX-License-Identifier: Apache-2.0 */
/* signal.c: what works on signals: DFT, STFT, the windows for them and MelWeightMatrix. Transforms
 * are sums, as they are defined. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"

/* ---- the transform of one line ---- */

struct fourier {
    int64_t length;
    bool inverse;
    double *real, *imaginary; /* the line, to be filled */
    double *cosine, *sine;    /* of each part of the circle */
};

static collage_status begin_fourier(struct fourier *f, int64_t length, bool inverse,
                                    struct error *error)
{
    double *memory = memory_alloc((size_t)length * 4 * sizeof *memory);
    if (!memory)
        return error_memory(error);
    *f = (struct fourier){ .length = length,
                           .inverse = inverse,
                           .real = memory,
                           .imaginary = memory + length,
                           .cosine = memory + 2 * length,
                           .sine = memory + 3 * length };
    for (int64_t t = 0; t < length; t++) {
        double angle = 2 * M_PI * (double)t / (double)length;
        f->cosine[t] = cos(angle);
        f->sine[t] = inverse ? -sin(angle) : sin(angle);
    }
    return COLLAGE_OK;
}

static void end_fourier(struct fourier *f)
{
    memory_free(f->real);
}

/* Element k of the transform of the line. */
static void transform(const struct fourier *f, int64_t k, double *real, double *imaginary)
{
    double divisor = f->inverse ? (double)f->length : 1, re = 0, im = 0;
    int64_t turn = 0; /* k * t modulo the length */
    for (int64_t t = 0; t < f->length; t++) {
        re += f->real[t] * f->cosine[turn] + f->imaginary[t] * f->sine[turn];
        im += f->imaginary[t] * f->cosine[turn] - f->real[t] * f->sine[turn];
        turn += k;
        if (turn >= f->length)
            turn -= f->length;
    }
    *real = re / divisor;
    *imaginary = im / divisor;
}

/* A constant input of one integer between least and most; `fallback` if it is left out. */
static collage_status read_integer(const struct op_call *call, uint32_t k, int64_t fallback,
                                   int64_t least, int64_t most, int64_t *out, struct error *error)
{
    struct ints list;
    *out = fallback;
    collage_status status = call_ints(call, k, &list, error);
    if (status != COLLAGE_OK)
        return status;
    if (list.count >= 0 && list.count != 1)
        return shape_error(error, "input %" PRIu32 " must be a single integer", k);
    if (list.count == 1)
        *out = list.values[0];
    if (*out < least || *out > most)
        return shape_error(error,
                           "input %" PRIu32 " is %" PRId64 ", which is not between %" PRId64
                           " and %" PRId64,
                           k, *out, least, most);
    return COLLAGE_OK;
}

/* ---- DFT ---- */

struct dft {
    int32_t axis;
    bool inverse, onesided;
    int64_t in, length, out;     /* elements along the axis */
    int64_t in_parts, out_parts; /* 2: complex numbers */
};

static collage_status read_dft(const struct op_call *call, struct dft *out, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    int64_t axis;
    if (x->rank < 2)
        return shape_error(error, "rank %d is below 2", (int)x->rank);
    collage_status status = read_integer(call, 2, -2, -x->rank, x->rank - 2, &axis, error);
    if (status != COLLAGE_OK)
        return status;
    if (axis == -1)
        return shape_error(error, "the last axis holds the parts of complex numbers");
    out->axis = (int32_t)(axis < 0 ? axis + x->rank : axis);
    out->inverse = collage_node_int(call->node, "inverse", 0) != 0;
    out->onesided = collage_node_int(call->node, "onesided", 0) != 0;
    out->in = x->dims[out->axis];
    out->in_parts = x->dims[x->rank - 1];
    out->out_parts = out->onesided && out->inverse ? 1 : 2;
    if (out->in_parts != 2 && (out->in_parts != 1 || out->out_parts == 1))
        return shape_error(error, "the last dimension cannot be %" PRId64, out->in_parts);
    if (out->in_parts == 2 && out->onesided && !out->inverse)
        return shape_error(error, "one side is not enough for complex numbers");
    int64_t natural = out->out_parts == 1 ? 2 * (out->in - 1) : out->in;
    status = read_integer(call, 1, natural, 1, INT32_MAX, &out->length, error);
    out->out = out->onesided && !out->inverse ? out->length / 2 + 1 : out->length;
    return status;
}

collage_status infer_dft(const struct op_call *call, struct error *error)
{
    struct dft dft = { 0 };
    collage_status status = call_check_type(call, 0, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = read_dft(call, &dft, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = *call->inputs[0];
    y.dims[dft.axis] = dft.out;
    y.dims[y.rank - 1] = dft.out_parts;
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

/* Elements are `stride` numbers apart; what the input lacks is zero. */
static void load_line(const struct dft *d, const struct tensor *x, int64_t start, int64_t stride,
                      struct fourier *f)
{
    for (int64_t t = 0; t < f->length; t++) {
        bool there = t < d->in;
        f->real[t] = there ? tensor_get(x, start + t * stride) : 0;
        f->imaginary[t] = there && d->in_parts == 2 ? tensor_get(x, start + t * stride + 1) : 0;
    }
}

/* The second half of a real signal's spectrum mirrors the first. */
static void mirror_line(struct fourier *f)
{
    f->imaginary[0] = 0;
    for (int64_t k = 1; k <= f->length / 2; k++) {
        if (k == f->length - k)
            f->imaginary[k] = 0;
        f->real[f->length - k] = f->real[k];
        f->imaginary[f->length - k] = -f->imaginary[k];
    }
}

collage_status compute_dft(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    struct dft dft = { 0 };
    struct fourier f;
    collage_status status = read_dft(call, &dft, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    status = begin_fourier(&f, dft.length, dft.inverse, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t outer = dims_product(x, 0, dft.axis);
    int64_t inner = dims_product(x, dft.axis + 1, x->rank - 1);
    for (int64_t line = 0; line < outer * inner; line++) {
        int64_t o = line / inner, i = line % inner;
        load_line(&dft, x, (o * dft.in * inner + i) * dft.in_parts, inner * dft.in_parts, &f);
        if (dft.out_parts == 1)
            mirror_line(&f);
        for (int64_t k = 0; k < dft.out; k++) {
            double parts[2];
            transform(&f, k, &parts[0], &parts[1]);
            int64_t at = ((o * dft.out + k) * inner + i) * dft.out_parts;
            for (int64_t p = 0; p < dft.out_parts; p++)
                tensor_set(y, at + p, parts[p]);
        }
    }
    end_fourier(&f);
    return COLLAGE_OK;
}

/* ---- STFT ---- */

enum { SIGNAL, FRAME_STEP, WINDOW, FRAME_LENGTH };

struct stft {
    int64_t step, length, frames, bins, parts;
};

static collage_status read_stft(const struct op_call *call, struct stft *out, struct error *error)
{
    const struct tensor *x = call->inputs[SIGNAL], *window = call_input(call, WINDOW);
    if (x->rank != 3 || (x->dims[2] != 1 && x->dims[2] != 2))
        return shape_error(error, "the signal must have rank 3 and 1 or 2 numbers an element");
    if (window && (window->rank != 1 || window->dtype != x->dtype))
        return shape_error(error, "the window must have rank 1 and the type of the signal");
    bool onesided = collage_node_int(call->node, "onesided", 1) != 0;
    out->parts = x->dims[2];
    if (onesided && out->parts == 2)
        return shape_error(error, "one side is not enough for complex numbers");
    int64_t natural = window ? window->dims[0] : x->dims[1];
    collage_status status = read_integer(call, FRAME_STEP, 0, 1, INT32_MAX, &out->step, error);
    if (status == COLLAGE_OK)
        status = read_integer(call, FRAME_LENGTH, natural, 1, INT32_MAX, &out->length, error);
    if (status != COLLAGE_OK)
        return status;
    if ((window && window->dims[0] != out->length) || out->length > x->dims[1])
        return shape_error(error,
                           "frames of %" PRId64 " elements do not fit the window or the signal",
                           out->length);
    out->frames = out->step > 0 ? (x->dims[1] - out->length) / out->step + 1 : 0;
    out->bins = onesided ? out->length / 2 + 1 : out->length;
    return COLLAGE_OK;
}

collage_status infer_stft(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[SIGNAL];
    struct stft stft = { 0 };
    collage_status status = call_check_type(call, SIGNAL, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = read_stft(call, &stft, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = { .rank = 4, .dims = { x->dims[0], stft.frames, stft.bins, 2 } };
    call_set_output(call, 0, x->dtype, &y);
    return COLLAGE_OK;
}

/* The frame that begins at element `first` of the signal, in the window. */
static void load_frame(const struct op_call *call, const struct stft *s, int64_t first,
                       struct fourier *f)
{
    const struct tensor *x = call->inputs[SIGNAL], *window = call_input(call, WINDOW);
    for (int64_t t = 0; t < f->length; t++) {
        double weight = window ? tensor_get(window, t) : 1;
        int64_t at = (first + t) * s->parts;
        f->real[t] = weight * tensor_get(x, at);
        f->imaginary[t] = s->parts == 2 ? weight * tensor_get(x, at + 1) : 0;
    }
}

collage_status compute_stft(const struct op_call *call, struct error *error)
{
    struct tensor *y = &call->outputs[0];
    struct stft s = { 0 };
    struct fourier f;
    collage_status status = read_stft(call, &s, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    status = begin_fourier(&f, s.length, false, error);
    if (status != COLLAGE_OK)
        return status;
    for (int64_t line = 0; line < y->dims[0] * s.frames; line++) {
        int64_t signal_start = line / s.frames * call->inputs[SIGNAL]->dims[1];
        load_frame(call, &s, signal_start + line % s.frames * s.step, &f);
        for (int64_t k = 0; k < s.bins; k++) {
            double real, imaginary;
            transform(&f, k, &real, &imaginary);
            tensor_set(y, (line * s.bins + k) * 2, real);
            tensor_set(y, (line * s.bins + k) * 2 + 1, imaginary);
        }
    }
    end_fourier(&f);
    return COLLAGE_OK;
}

/* ---- windows ---- */

/* The attribute output_datatype. */
static collage_status read_type(const struct op_call *call, collage_dtype *out, struct error *error)
{
    int64_t type = collage_node_int(call->node, "output_datatype", COLLAGE_FLOAT32);
    *out = COLLAGE_FLOAT32;
    if (type < 0 || type > COLLAGE_BFLOAT16 || dtype_size((collage_dtype)type) == 0 ||
        type == COLLAGE_BOOL)
        return shape_error(error, "the output_datatype %" PRId64 " is not supported", type);
    *out = (collage_dtype)type;
    return COLLAGE_OK;
}

collage_status infer_window(const struct op_call *call, struct error *error)
{
    struct tensor y = { .rank = 1 };
    collage_dtype type = COLLAGE_FLOAT32;
    collage_status status = read_type(call, &type, error);
    if (status == COLLAGE_OK)
        status = read_integer(call, 0, 0, 0, INT32_MAX, &y.dims[0], error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, type, &y);
    return status;
}

/* a - b cos(angle) + c cos(2 angle). A symmetric window ends as it begins, a periodic one an
 * element before that. */
static collage_status fill_window(const struct op_call *call, double a, double b, double c)
{
    struct tensor *y = &call->outputs[0];
    bool periodic = collage_node_int(call->node, "periodic", 1) != 0;
    int64_t size = y->dims[0], period = periodic ? size : size - 1;
    for (int64_t n = 0; n < size; n++) {
        double angle = period > 0 ? 2 * M_PI * (double)n / (double)period : M_PI;
        tensor_set(y, n, a - b * cos(angle) + c * cos(2 * angle));
    }
    return COLLAGE_OK;
}

collage_status compute_hann_window(const struct op_call *call, struct error *error)
{
    (void)error;
    return fill_window(call, 0.5, 0.5, 0);
}

collage_status compute_hamming_window(const struct op_call *call, struct error *error)
{
    (void)error;
    return fill_window(call, 25.0 / 46.0, 21.0 / 46.0, 0);
}

collage_status compute_blackman_window(const struct op_call *call, struct error *error)
{
    (void)error;
    return fill_window(call, 0.42, 0.5, 0.08);
}

/* ---- MelWeightMatrix ---- */

enum { MEL_BINS, DFT_LENGTH, SAMPLE_RATE, LOWER_EDGE, UPPER_EDGE };

collage_status infer_mel_weight_matrix(const struct op_call *call, struct error *error)
{
    const struct tensor *rate = call->inputs[SAMPLE_RATE];
    int64_t bins = 0, length = 0;
    collage_dtype type = COLLAGE_FLOAT32;
    collage_status status = read_type(call, &type, error);
    if (status == COLLAGE_OK)
        status = read_integer(call, MEL_BINS, 0, 0, INT32_MAX, &bins, error);
    if (status == COLLAGE_OK)
        status = read_integer(call, DFT_LENGTH, 0, 0, INT32_MAX, &length, error);
    if (status == COLLAGE_OK)
        status = call_check_type(call, LOWER_EDGE, TYPES_FLOAT, error);
    if (status == COLLAGE_OK)
        status = call_check_type(call, UPPER_EDGE, TYPES_FLOAT, error);
    if (status != COLLAGE_OK)
        return status;
    if (rate->dtype != COLLAGE_INT32 && rate->dtype != COLLAGE_INT64)
        return shape_error(error, "the sample rate must be of type int32 or int64");
    for (uint32_t k = SAMPLE_RATE; k <= UPPER_EDGE; k++)
        if (tensor_elements(call->inputs[k]) != 1)
            return shape_error(error, "input %" PRIu32 " must be a single number", k);
    struct tensor y = { .rank = 2, .dims = { length / 2 + 1, bins } };
    call_set_output(call, 0, type, &y);
    return COLLAGE_OK;
}

static double to_mel(double hertz)
{
    return 2595 * log1p(hertz / 700) / M_LN10;
}

/* The row of the spectrum at which band edge number k of `count` lies. */
static collage_status edge_row(const struct op_call *call, int64_t k, int64_t count, int64_t *out,
                               struct error *error)
{
    double lower = to_mel(tensor_get(call->inputs[LOWER_EDGE], 0));
    double upper = to_mel(tensor_get(call->inputs[UPPER_EDGE], 0));
    double mel = (double)k * ((upper - lower) / (double)count) + lower;
    double hertz = 700 * expm1(mel / 2595 * M_LN10);
    double length = tensor_get(call->inputs[DFT_LENGTH], 0);
    double row = floor((length + 1) * hertz / tensor_get(call->inputs[SAMPLE_RATE], 0));
    *out = 0;
    if (!(row >= 0 && row < (double)call->outputs[0].dims[0]))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "edge %" PRId64 " of the mel bands lies outside the spectrum", k);
    *out = (int64_t)row;
    return COLLAGE_OK;
}

/* A band is a triangle over the rows low, centre and high. */
static void fill_band(struct tensor *y, int64_t band, int64_t low, int64_t centre, int64_t high)
{
    for (int64_t row = 0; row < y->dims[0]; row++) {
        double value = 0;
        if (row >= centre && row < high)
            value = (double)(high - row) / (double)(high - centre);
        else if (row >= low && row <= centre)
            value = low == centre ? 1 : (double)(row - low) / (double)(centre - low);
        tensor_set(y, row * y->dims[1] + band, value);
    }
}

collage_status compute_mel_weight_matrix(const struct op_call *call, struct error *error)
{
    struct tensor *y = &call->outputs[0];
    int64_t bands = y->dims[1];
    collage_status status = COLLAGE_OK;
    for (int64_t band = 0; band < bands && status == COLLAGE_OK; band++) {
        int64_t rows[3] = { 0 };
        for (int64_t k = 0; k < 3 && status == COLLAGE_OK; k++)
            status = edge_row(call, band + k, bands + 2, &rows[k], error);
        if (status == COLLAGE_OK)
            fill_band(y, band, rows[0], rows[1], rows[2]);
    }
    return status;
}

/* ---- work ---- */

/* So many lines of that length: n log2 n points each, of a fast transform. */
static double count_points(double lines, int64_t length)
{
    return length > 1 ? lines * (double)length * log2((double)length) : 0;
}

double count_dft(const struct op_call *call)
{
    const struct tensor *x = call->inputs[0];
    struct dft dft = { 0 };
    struct error error = { 0 };
    if (read_dft(call, &dft, &error) != COLLAGE_OK)
        return 0;
    return count_points((double)dims_product(x, 0, dft.axis) *
                            (double)dims_product(x, dft.axis + 1, x->rank - 1),
                        dft.length);
}

double count_stft(const struct op_call *call)
{
    struct stft stft = { 0 };
    struct error error = { 0 };
    if (read_stft(call, &stft, &error) != COLLAGE_OK)
        return 0;
    return count_points((double)call->inputs[SIGNAL]->dims[0] * (double)stft.frames, stft.length);
}
