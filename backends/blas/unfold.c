/* SPDX-License-Identifier: Apache-2.0 */
/* unfold.c: windows as matrices (im2col), a block of pixels at a time. */
#include "convolution.h"

#include <string.h>

static void clear(float *to, int64_t count)
{
    memset(to, 0, (size_t)count * sizeof *to);
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a > 0 ? (a + b - 1) / b : -(-a / b);
}

static int64_t bounded(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* A pixel of the result, from its number. */
static void locate(const struct convolution *c, int64_t pixel, int64_t at[3])
{
    at[2] = pixel % c->out[2];
    at[1] = pixel / c->out[2] % c->out[1];
    at[0] = pixel / c->out[2] / c->out[1];
}

/* Where element k of the window of a pixel reads along a dimension. */
static int64_t source(const struct convolution *c, int dimension, int64_t pixel, int64_t k)
{
    return pixel * c->strides[dimension] - c->pads[dimension] + k * c->dilations[dimension];
}

/* `count` pixels of one line of the result from x on, for element k of the window. */
static void unfold_line(const struct convolution *c, const float *line, float *to, int64_t x,
                        int64_t count, int64_t k)
{
    int64_t step = c->strides[2], shift = k * c->dilations[2] - c->pads[2];
    int64_t low = bounded(divide_up(-shift, step), x, x + count);
    int64_t high = bounded(divide_up(c->in[2] - shift, step), low, x + count);
    clear(to, low - x);
    if (step == 1) {
        if (high > low)
            memcpy(to + (low - x), line + low + shift, (size_t)(high - low) * sizeof *to);
    } else {
        for (int64_t p = low; p < high; p++)
            to[p - x] = line[p * step + shift];
    }
    clear(to + (high - x), x + count - high);
}

static bool is_inside(int64_t at, int64_t size)
{
    return at >= 0 && at < size;
}

static void unfold_row(const struct unfolding *unfolding, int64_t row, float *to)
{
    const struct convolution *c = unfolding->convolution;
    int64_t kx = row % c->kernel[2], ky = row / c->kernel[2] % c->kernel[1];
    int64_t kz = row / c->kernel[2] / c->kernel[1] % c->kernel[0];
    int64_t channel = row / c->kernel[2] / c->kernel[1] / c->kernel[0];
    const float *plane = unfolding->from + channel * c->in[0] * c->in[1] * c->in[2];
    for (int64_t pixel = unfolding->begin; pixel < unfolding->end;) {
        int64_t at[3];
        locate(c, pixel, at);
        int64_t count = bounded(c->out[2] - at[2], 1, unfolding->end - pixel);
        int64_t z = source(c, 0, at[0], kz), y = source(c, 1, at[1], ky);
        if (is_inside(z, c->in[0]) && is_inside(y, c->in[1]))
            unfold_line(c, plane + (z * c->in[1] + y) * c->in[2], to, at[2], count, kx);
        else
            clear(to, count);
        to += count;
        pixel += count;
    }
}

void unfold_rows(const struct unfolding *unfolding)
{
    int64_t width = unfolding->end - unfolding->begin;
    for (int64_t row = unfolding->first; row < unfolding->last; row++)
        unfold_row(unfolding, row, unfolding->to + row * width);
}

/* A line of the window of one pixel: each of its elements is all channels of the group. */
static void unfold_window_line(const struct convolution *c, const float *line, float *to, int64_t x)
{
    int64_t all = c->channels_in * c->groups;
    for (int64_t k = 0; k < c->kernel[2]; k++, to += c->channels_in) {
        int64_t at = source(c, 2, x, k);
        if (is_inside(at, c->in[2]))
            memcpy(to, line + at * all, (size_t)c->channels_in * sizeof *to);
        else
            clear(to, c->channels_in);
    }
}

void unfold_pixels(const struct unfolding *unfolding)
{
    const struct convolution *c = unfolding->convolution;
    int64_t all = c->channels_in * c->groups, line = c->kernel[2] * c->channels_in;
    for (int64_t row = unfolding->first; row < unfolding->last; row++) {
        int64_t at[3];
        float *to = unfolding->to + row * c->depth;
        locate(c, unfolding->begin + row, at);
        for (int64_t kz = 0; kz < c->kernel[0]; kz++) {
            for (int64_t ky = 0; ky < c->kernel[1]; ky++, to += line) {
                int64_t z = source(c, 0, at[0], kz), y = source(c, 1, at[1], ky);
                if (is_inside(z, c->in[0]) && is_inside(y, c->in[1]))
                    unfold_window_line(c, unfolding->from + (z * c->in[1] + y) * c->in[2] * all, to,
                                       at[2]);
                else
                    clear(to, line);
            }
        }
    }
}
