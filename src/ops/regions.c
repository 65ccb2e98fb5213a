/* SPDX-License-Identifier: Apache-2.0 */
/* regions.c: parts of images that a detector proposes: RoiAlign, MaxRoiPool, NonMaxSuppression. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"

/* ---- RoiAlign ---- */

struct align {
    bool maximum, half_pixel;
    int64_t height, width; /* of the input */
    int64_t out_height, out_width;
    int64_t sampling; /* samples a bin and dimension; 0: as many as it has elements */
    double scale;
};

static collage_status read_align(const struct op_call *call, struct align *out, struct error *error)
{
    const char *mode = collage_node_string(call->node, "mode", "avg");
    const char *coordinates =
        collage_node_string(call->node, "coordinate_transformation_mode", "half_pixel");
    out->maximum = strcmp(mode, "max") == 0;
    out->half_pixel = strcmp(coordinates, "half_pixel") == 0;
    if (!out->maximum && strcmp(mode, "avg") != 0)
        return shape_error(error, "mode '%.20s' is not supported", mode);
    if (!out->half_pixel && strcmp(coordinates, "output_half_pixel") != 0)
        return shape_error(error, "coordinate_transformation_mode '%.30s' is not supported",
                           coordinates);
    out->height = call->inputs[0]->dims[2];
    out->width = call->inputs[0]->dims[3];
    out->out_height = collage_node_int(call->node, "output_height", 1);
    out->out_width = collage_node_int(call->node, "output_width", 1);
    out->sampling = collage_node_int(call->node, "sampling_ratio", 0);
    out->scale = (double)collage_node_float(call->node, "spatial_scale", 1);
    if (out->out_height < 1 || out->out_width < 1 || out->sampling < 0)
        return shape_error(error, "output_height, output_width or sampling_ratio is too small");
    return COLLAGE_OK;
}

/* Images with rows and columns, and one region a row in input 1, of `columns` numbers. */
static collage_status check_regions(const struct op_call *call, int64_t columns,
                                    struct error *error)
{
    const struct tensor *x = call->inputs[0], *regions = call->inputs[1];
    if (x->rank != 4 || x->dims[2] == 0 || x->dims[3] == 0)
        return shape_error(error, "the input must have rank 4, and rows and columns");
    if (regions->rank != 2 || regions->dims[1] != columns || regions->dtype != x->dtype)
        return shape_error(error, "the regions must be rows of %" PRId64 " numbers of the type %s",
                           columns, dtype_name(x->dtype));
    return call_check_type(call, 0, TYPES_FLOAT, error);
}

collage_status infer_roi_align(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *images = call->inputs[2];
    struct align align = { 0 };
    collage_status status = check_regions(call, 4, error);
    if (status == COLLAGE_OK)
        status = read_align(call, &align, error);
    if (status != COLLAGE_OK)
        return status;
    int64_t regions = call->inputs[1]->dims[0];
    if (images->dtype != COLLAGE_INT64 || images->rank != 1 || images->dims[0] != regions)
        return shape_error(error, "the batch indices must be %" PRId64 " elements of type int64",
                           regions);
    struct tensor y = { .rank = 4,
                        .dims = { regions, x->dims[1], align.out_height, align.out_width } };
    call_set_output(call, 0, x->dtype, &y);
    return COLLAGE_OK;
}

/* Along one dimension: the two elements that a sample lies between, and the weight of the second;
 * false outside the image. */
struct between {
    int64_t low, high;
    double weight;
};

static bool find_between(double at, int64_t dim, struct between *out)
{
    if (!(at >= -1 && at <= (double)dim))
        return false;
    at = at > 0 ? at : 0;
    out->low = (int64_t)at;
    if (out->low >= dim - 1) {
        *out = (struct between){ dim - 1, dim - 1, 0 };
        return true;
    }
    out->high = out->low + 1;
    out->weight = at - (double)out->low;
    return true;
}

/* The sum of the four weighted neighbours, or the greatest of them. */
static double sample(const struct align *a, const struct tensor *x, int64_t plane, double row,
                     double column)
{
    struct between r, c;
    if (!find_between(row, a->height, &r) || !find_between(column, a->width, &c))
        return 0;
    int64_t low = plane + r.low * a->width, high = plane + r.high * a->width;
    double values[4] = { (1 - r.weight) * (1 - c.weight) * tensor_get(x, low + c.low),
                         (1 - r.weight) * c.weight * tensor_get(x, low + c.high),
                         r.weight * (1 - c.weight) * tensor_get(x, high + c.low),
                         r.weight * c.weight * tensor_get(x, high + c.high) };
    if (a->maximum)
        return fmax(fmax(values[0], values[1]), fmax(values[2], values[3]));
    return values[0] + values[1] + values[2] + values[3];
}

/* Along one dimension: where the bins of a region begin, and how they are sampled. */
struct bins {
    double start, size;
    int64_t samples;
};

static collage_status cut_bins(const struct align *a, double from, double to, int64_t count,
                               struct bins *out, struct error *error)
{
    double offset = a->half_pixel ? 0.5 : 0;
    out->samples = 0;
    out->start = from * a->scale - offset;
    double length = to * a->scale - offset - out->start;
    if (!a->half_pixel && length < 1) /* what is too small becomes one element */
        length = 1;
    out->size = length / (double)count;
    double samples = a->sampling > 0 ? (double)a->sampling : ceil(out->size);
    if (!(samples < 0x1p20))
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "a region is too large");
    out->samples = samples > 0 ? (int64_t)samples : 0;
    return COLLAGE_OK;
}

static double sample_at(const struct bins *bins, int64_t bin, int64_t number)
{
    return bins->start + (double)bin * bins->size +
           ((double)number + 0.5) * bins->size / (double)bins->samples;
}

static double align_bin(const struct align *a, const struct tensor *x, int64_t plane,
                        const struct bins *rows, const struct bins *columns, int64_t row,
                        int64_t column)
{
    double sum = 0, greatest = (double)-INFINITY;
    int64_t count = rows->samples * columns->samples;
    for (int64_t i = 0; i < rows->samples; i++)
        for (int64_t j = 0; j < columns->samples; j++) {
            double value =
                sample(a, x, plane, sample_at(rows, row, i), sample_at(columns, column, j));
            sum += value;
            greatest = fmax(greatest, value);
        }
    if (count == 0)
        return 0;
    return a->maximum ? greatest : sum / (double)count;
}

static collage_status check_image(int64_t image, int64_t images, struct error *error)
{
    if (image < 0 || image >= images)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "a region is of image %" PRId64 ", but there are %" PRId64, image, images);
    return COLLAGE_OK;
}

static collage_status align_region(const struct op_call *call, const struct align *a,
                                   int64_t region, struct error *error)
{
    const struct tensor *x = call->inputs[0], *regions = call->inputs[1];
    int64_t image = tensor_get_int(call->inputs[2], region), channels = x->dims[1];
    int64_t bins = a->out_height * a->out_width;
    struct bins rows, columns;
    collage_status status = check_image(image, x->dims[0], error);
    if (status == COLLAGE_OK)
        status = cut_bins(a, tensor_get(regions, region * 4 + 1),
                          tensor_get(regions, region * 4 + 3), a->out_height, &rows, error);
    if (status == COLLAGE_OK)
        status = cut_bins(a, tensor_get(regions, region * 4), tensor_get(regions, region * 4 + 2),
                          a->out_width, &columns, error);
    if (status != COLLAGE_OK)
        return status;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t b = 0; b < bins; b++)
            tensor_set(&call->outputs[0], (region * channels + c) * bins + b,
                       align_bin(a, x, (image * channels + c) * a->height * a->width, &rows,
                                 &columns, b / a->out_width, b % a->out_width));
    return COLLAGE_OK;
}

collage_status compute_roi_align(const struct op_call *call, struct error *error)
{
    struct align align = { 0 };
    collage_status status = read_align(call, &align, error);
    for (int64_t r = 0; r < call->inputs[1]->dims[0] && status == COLLAGE_OK; r++)
        status = align_region(call, &align, r, error);
    return status;
}

/* ---- MaxRoiPool ---- */

static collage_status read_pooled_shape(const struct op_call *call, struct ints *out,
                                        struct error *error)
{
    collage_status status = call_ints_attribute(call, "pooled_shape", out, error);
    if (status == COLLAGE_OK && (out->count != 2 || out->values[0] < 1 || out->values[1] < 1))
        return shape_error(error, "pooled_shape must be two integers above 0");
    return status;
}

collage_status infer_max_roi_pool(const struct op_call *call, struct error *error)
{
    struct ints shape;
    collage_status status = check_regions(call, 5, error);
    if (status == COLLAGE_OK)
        status = read_pooled_shape(call, &shape, error);
    if (status != COLLAGE_OK)
        return status;
    struct tensor y = { .rank = 4,
                        .dims = { call->inputs[1]->dims[0], call->inputs[0]->dims[1],
                                  shape.values[0], shape.values[1] } };
    call_set_output(call, 0, call->inputs[0]->dtype, &y);
    return COLLAGE_OK;
}

/* The elements [*begin, *end) of bin number `bin`, of `count`, along a dimension of the image. */
static void cut_bin(double from, double to, double scale, int64_t bin, int64_t count, int64_t dim,
                    int64_t *begin, int64_t *end)
{
    double start = round(from * scale), length = round(to * scale) - start + 1;
    double size = (length > 1 ? length : 1) / (double)count, last = (double)dim;
    double low = start + floor((double)bin * size), high = start + ceil((double)(bin + 1) * size);
    *begin = (int64_t)(low > 0 ? fmin(low, last) : 0);
    *end = (int64_t)(high > 0 ? fmin(high, last) : 0);
}

/* The maximum of rows[0] .. rows[1] and columns alike; of nothing: 0. */
static double greatest_of(const struct tensor *x, int64_t plane, const int64_t *rows,
                          const int64_t *columns)
{
    if (rows[0] >= rows[1] || columns[0] >= columns[1])
        return 0;
    double greatest = (double)-INFINITY;
    for (int64_t i = rows[0]; i < rows[1]; i++)
        for (int64_t j = columns[0]; j < columns[1]; j++) {
            double value = tensor_get(x, plane + i * x->dims[3] + j);
            if (value > greatest || isnan(value))
                greatest = value;
        }
    return greatest;
}

collage_status compute_max_roi_pool(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0], *regions = call->inputs[1];
    struct tensor *y = &call->outputs[0];
    double scale = (double)collage_node_float(call->node, "spatial_scale", 1);
    int64_t count = tensor_elements(y), channels = y->dims[1], height = y->dims[2];
    int64_t width = y->dims[3], plane = x->dims[2] * x->dims[3];
    for (int64_t k = 0; k < count; k++) {
        int64_t r = k / (channels * height * width) * 5, c = k / (height * width) % channels;
        double number = tensor_get(regions, r);
        int64_t image = number >= 0 && number < 0x1p40 ? (int64_t)number : -1;
        int64_t rows[2], columns[2];
        collage_status status = check_image(image, x->dims[0], error);
        if (status != COLLAGE_OK)
            return status;
        cut_bin(tensor_get(regions, r + 2), tensor_get(regions, r + 4), scale, k / width % height,
                height, x->dims[2], &rows[0], &rows[1]);
        cut_bin(tensor_get(regions, r + 1), tensor_get(regions, r + 3), scale, k % width, width,
                x->dims[3], &columns[0], &columns[1]);
        tensor_set(y, k, greatest_of(x, (image * channels + c) * plane, rows, columns));
    }
    return COLLAGE_OK;
}

/* ---- NonMaxSuppression ---- */

enum { BOXES, SCORES, MOST, OVERLAP, LEAST_SCORE, SUPPRESSION_INPUTS };

struct candidate {
    double score;
    int64_t box;
};

struct suppression {
    bool centered;                /* boxes are centre and size, else two corners */
    int64_t most;                 /* boxes of a class */
    double overlap, least;        /* the limits */
    struct candidate *candidates; /* of one class, best first; the chosen ones move to the front */
};

static collage_status check_suppression(const struct op_call *call, struct error *error)
{
    const struct tensor *boxes = call->inputs[BOXES], *scores = call->inputs[SCORES];
    if (boxes->dtype != COLLAGE_FLOAT32 || scores->dtype != COLLAGE_FLOAT32)
        return shape_error(error, "boxes and scores must be of type float32");
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 ||
        boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2])
        return shape_error(error, "boxes and scores do not fit each other");
    int64_t center = collage_node_int(call->node, "center_point_box", 0);
    if (center != 0 && center != 1)
        return shape_error(error, "center_point_box is %" PRId64 "; 0 or 1 is needed", center);
    for (uint32_t k = BOXES; k < SUPPRESSION_INPUTS; k++) {
        const struct tensor *input = call_input(call, k);
        if (!input)
            continue;
        if (k >= MOST && (input->rank > 1 || tensor_elements(input) != 1 ||
                          input->dtype != (k == MOST ? COLLAGE_INT64 : COLLAGE_FLOAT32)))
            return shape_error(error, "input %" PRIu32 " must be a single number of type %s", k,
                               k == MOST ? "int64" : "float32");
        if (!input->data && tensor_elements(input) > 0)
            return shape_error(error,
                               "the shape of the output depends on the data of input %" PRIu32
                               ", which is not constant",
                               k);
    }
    return COLLAGE_OK;
}

static struct suppression read_suppression(const struct op_call *call)
{
    const struct tensor *most = call_input(call, MOST), *overlap = call_input(call, OVERLAP);
    const struct tensor *least = call_input(call, LEAST_SCORE);
    return (struct suppression){ .centered =
                                     collage_node_int(call->node, "center_point_box", 0) != 0,
                                 .most = most ? tensor_get_int(most, 0) : 0,
                                 .overlap = overlap ? tensor_get(overlap, 0) : 0,
                                 .least = least ? tensor_get(least, 0) : (double)-INFINITY };
}

/* Better scores first, then lower numbers. */
static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *p = a, *q = b;
    if (p->score != q->score)
        return p->score > q->score ? -1 : 1;
    return (p->box > q->box) - (p->box < q->box);
}

/* The lower and the upper end of a box in dimension d, 0 or 1. */
static void box_range(const struct suppression *s, const struct tensor *boxes, int64_t box, int d,
                      double *low, double *high)
{
    double a = tensor_get(boxes, box * 4 + d), b = tensor_get(boxes, box * 4 + d + 2);
    *low = s->centered ? a - b / 2 : fmin(a, b);
    *high = s->centered ? a + b / 2 : fmax(a, b);
}

/* The shared part of two boxes over what they cover together. */
static double overlap_of(const struct suppression *s, const struct tensor *boxes, int64_t a,
                         int64_t b)
{
    double shared = 1, area_a = 1, area_b = 1;
    for (int d = 0; d < 2; d++) {
        double low_a, high_a, low_b, high_b;
        box_range(s, boxes, a, d, &low_a, &high_a);
        box_range(s, boxes, b, d, &low_b, &high_b);
        double length = fmin(high_a, high_b) - fmax(low_a, low_b);
        shared *= length > 0 ? length : 0;
        area_a *= high_a - low_a;
        area_b *= high_b - low_b;
    }
    double together = area_a + area_b - shared;
    return shared > 0 && area_a > 0 && area_b > 0 && together > 0 ? shared / together : 0;
}

/* Chooses from class `c` of image `n`; returns how many, which are then the first candidates. */
static int64_t choose(const struct op_call *call, const struct suppression *s, int64_t n, int64_t c)
{
    const struct tensor *boxes = call->inputs[BOXES], *scores = call->inputs[SCORES];
    int64_t count = 0, chosen = 0, total = boxes->dims[1];
    for (int64_t k = 0; k < total; k++) {
        double score = tensor_get(scores, (n * scores->dims[1] + c) * total + k);
        if (score > s->least)
            s->candidates[count++] = (struct candidate){ score, k };
    }
    qsort(s->candidates, (size_t)count, sizeof *s->candidates, compare_candidates);
    for (int64_t k = 0; k < count && chosen < s->most; k++) {
        struct candidate candidate = s->candidates[k];
        bool keeps = true;
        for (int64_t j = 0; j < chosen && keeps; j++)
            keeps = !(overlap_of(s, boxes, n * total + candidate.box,
                                 n * total + s->candidates[j].box) > s->overlap);
        if (keeps)
            s->candidates[chosen++] = candidate;
    }
    return chosen;
}

/* Counts the chosen boxes; writes image, class and box of each to y unless it is NULL. */
static collage_status suppress(const struct op_call *call, struct tensor *y, int64_t *count,
                               struct error *error)
{
    const struct tensor *scores = call->inputs[SCORES];
    struct suppression s = read_suppression(call);
    *count = 0;
    if (s.most <= 0 || tensor_elements(scores) == 0)
        return COLLAGE_OK;
    s.candidates = memory_alloc((size_t)scores->dims[2] * sizeof *s.candidates);
    if (!s.candidates)
        return error_memory(error);
    for (int64_t n = 0; n < scores->dims[0]; n++)
        for (int64_t c = 0; c < scores->dims[1]; c++) {
            int64_t chosen = choose(call, &s, n, c);
            for (int64_t k = 0; k < chosen && y; k++) {
                tensor_set_int(y, (*count + k) * 3, n);
                tensor_set_int(y, (*count + k) * 3 + 1, c);
                tensor_set_int(y, (*count + k) * 3 + 2, s.candidates[k].box);
            }
            *count += chosen;
        }
    memory_free(s.candidates);
    return COLLAGE_OK;
}

collage_status infer_non_max_suppression(const struct op_call *call, struct error *error)
{
    struct tensor y = { .rank = 2, .dims = { 0, 3 } };
    collage_status status = check_suppression(call, error);
    if (status == COLLAGE_OK)
        status = suppress(call, NULL, &y.dims[0], error);
    if (status == COLLAGE_OK)
        call_set_output(call, 0, COLLAGE_INT64, &y);
    return status;
}

collage_status compute_non_max_suppression(const struct op_call *call, struct error *error)
{
    int64_t count;
    return suppress(call, &call->outputs[0], &count, error);
}
