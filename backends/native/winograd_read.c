/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_read.c: which convolutions the Winograd family takes, and with which tiles. */
#include "winograd.h"

#include <string.h>

#include "window.h"

enum { CHANNELS_MIN = 16, MAP_MIN = 6, INPUTS_MAX = 32, MAP_SIX = 24, SUM_SIX = 128, READ = 12 };

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

/* The k-th of an optional list of integers. */
static int64_t listed(const collage_node *node, const char *name, int32_t k, int64_t otherwise)
{
    const collage_attribute *a = collage_node_attribute(node, name, COLLAGE_ATTRIBUTE_INTS);
    return a && (uint32_t)k < a->count ? a->ints[k] : otherwise;
}

/* Without dilations, and with one stride for both inner axes, 1 or 2; 1 or 2 along the depth, too.
 */
static bool read_strides(const collage_node *node, int32_t axes, int64_t strides[3])
{
    for (int32_t d = 0; d < axes; d++) {
        strides[d] = listed(node, "strides", d, 1);
        if (strides[d] < 1 || strides[d] > 2 || listed(node, "dilations", d, 1) != 1)
            return false;
    }
    return strides[axes - 1] == strides[axes - 2];
}

/* Pads at the beginnings of the spatial axes; the results' shape tells those at the ends. */
static bool read_pads(const collage_node *node, const collage_value *x, const collage_value *y,
                      const int64_t strides[3], int64_t pads[3])
{
    const char *automatic = collage_node_string(node, "auto_pad", "NOTSET");
    const collage_attribute *a = collage_node_attribute(node, "pads", COLLAGE_ATTRIBUTE_INTS);
    const bool upper = strcmp(automatic, "SAME_UPPER") == 0;
    const bool same = upper || strcmp(automatic, "SAME_LOWER") == 0;
    const bool given = strcmp(automatic, "NOTSET") == 0 && a;
    const int32_t axes = x->rank - 2;
    if (given && a->count != 2 * (uint32_t)axes)
        return false;
    for (int32_t d = 0; d < axes; d++) {
        int64_t total = (y->dims[d + 2] - 1) * strides[d] + 3 - x->dims[d + 2];
        total = total > 0 ? total : 0;
        pads[d] = given ? a->ints[d] : same ? (upper ? total : total + 1) / 2 : 0;
        if (pads[d] < 0 || pads[d] > 2)
            return false;
    }
    return true;
}

static bool read_shape(struct winograd_shape *shape, const collage_value *x, const collage_value *w,
                       const collage_value *y, int64_t groups, const int64_t strides[3],
                       const int64_t pads[3])
{
    const int32_t rank = x->rank;
    bool deep = rank == 5;
    *shape = (struct winograd_shape){
        .kind = strides[rank - 3] == 2 ? WINOGRAD_STRIDED : WINOGRAD_PLAIN,
        .batch = x->dims[0],
        .groups = groups,
        .in_channels = w->dims[1],
        .out_channels = w->dims[0] / groups,
        .taps = deep ? WINOGRAD_TAPS : 1,
        .depth_stride = deep ? strides[0] : 1,
        .depth = deep ? x->dims[2] : 1,
        .out_depth = deep ? y->dims[2] : 1,
        .height = x->dims[rank - 2],
        .width = x->dims[rank - 1],
        .out_height = y->dims[rank - 2],
        .out_width = y->dims[rank - 1],
        .pad_front = deep ? pads[0] : 0,
        .pad_top = pads[rank - 4],
        .pad_left = pads[rank - 3],
    };
    for (int32_t d = 2; d < rank; d++) {
        int64_t stride = strides[d - 2];
        int64_t behind = (y->dims[d] - 1) * stride + 3 - x->dims[d] - pads[d - 2];
        if (w->dims[d] != 3 || behind <= -stride || behind > 2)
            return false;
    }
    return x->dims[0] == y->dims[0] && w->dims[0] == y->dims[1] &&
           w->dims[1] * groups == x->dims[1] && w->dims[0] % groups == 0;
}

/* Can tiles of m save time where there are strides? What a pair of channels takes is about its
 * products, and for each weight as much as READ products: it comes from memory. Tiles have more
 * weights than the window has. */
static bool saves(const struct winograd_shape *shape, int64_t m)
{
    const bool transposed = shape->kind == WINOGRAD_TRANSPOSED;
    const int64_t points = transposed ? 2 * (m + 1) : 2 * m + 1, made = transposed ? 2 * m : m;
    const double planes = (double)shape->batch * (double)shape->out_depth;
    const int64_t rows = (shape->out_height + made - 1) / made;
    const int64_t columns = (shape->out_width + made - 1) / made;
    const double tiles = (double)rows * (double)columns;
    /* of a weight of the window, which a transposed convolution uses for one result in four */
    const double uses = (double)shape->out_height * (double)shape->out_width / (transposed ? 4 : 1);
    const double direct = (transposed ? 16 : 9) * (uses * planes + READ);
    return (double)(points * points) * (tiles * planes + READ) <= direct;
}

static bool is_large_enough(const struct winograd_shape *shape)
{
    return shape->in_channels >= CHANNELS_MIN && shape->out_channels >= CHANNELS_MIN &&
           shape->out_height >= MAP_MIN && shape->out_width >= MAP_MIN &&
           (shape->kind == WINOGRAD_PLAIN || saves(shape, 4) || saves(shape, 2));
}

static bool read_convolution(struct winograd_shape *shape, struct epilogue *epilogue,
                             const collage_subgraph *subgraph, const collage_target *target,
                             collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    int64_t strides[3], pads[3];
    if (strcmp(node->op_type, "Conv") != 0 || node->input_count < 2 || node->output_count != 1 ||
        node->inputs[0] == COLLAGE_NO_VALUE || node->inputs[1] == COLLAGE_NO_VALUE)
        return refuse(why, "only convolutions");
    if (!all_float32(subgraph, NULL, why))
        return false;
    const collage_value *x = subgraph->values[node->inputs[0]];
    const collage_value *w = subgraph->values[node->inputs[1]];
    const collage_value *y = subgraph->values[node->outputs[0]];
    if (x->data || !w->data || subgraph->input_count > INPUTS_MAX)
        return refuse(why, "the weights are not constant, or the input is");
    if ((x->rank != 4 && x->rank != 5) || w->rank != x->rank || y->rank != x->rank)
        return refuse(why, "only two or three spatial axes");
    int64_t groups = collage_node_int(node, "group", 1);
    if (groups < 1 || groups > w->dims[0] || !read_strides(node, x->rank - 2, strides))
        return refuse(why, "only with strides of 1 or 2, and without dilations");
    if (!read_pads(node, x, y, strides, pads) || !read_shape(shape, x, w, y, groups, strides, pads))
        return refuse(why, "only 3x3 and pads up to 2");
    if (!is_large_enough(shape))
        return refuse(why, "too few channels or too small a map to gain from Winograd");
    const int64_t lanes = isa_lanes(isa_of(target));
    if (groups > 1 && (shape->in_channels % lanes || shape->out_channels % lanes))
        return refuse(why, "the groups are not whole blocks of channels");
    uint32_t bias = node->input_count > 2 ? node->inputs[2] : COLLAGE_NO_VALUE;
    return epilogue_takes(epilogue, subgraph, 1, node->outputs[0], 1, bias, why);
}

static bool read_transposed(struct winograd_shape *shape, struct epilogue *epilogue,
                            const collage_subgraph *subgraph, collage_message *why)
{
    struct window window;
    if (!window_read_transposed(&window, epilogue, subgraph, why))
        return false;
    if (window.kernel_height != 4 || window.kernel_width != 4 || window.stride_height != 2 ||
        window.stride_width != 2 || window.pad_top != 1 || window.pad_left != 1)
        return refuse(why, "only 4x4 with strides of 2 and pads of 1");
    *shape = (struct winograd_shape){
        .kind = WINOGRAD_TRANSPOSED,
        .batch = window.batch,
        .groups = 1,
        .in_channels = window.channels_in,
        .out_channels = window.channels_out,
        .taps = 1,
        .depth_stride = 1,
        .depth = 1,
        .out_depth = 1,
        .height = window.height_in,
        .width = window.width_in,
        .out_height = window.height_out,
        .out_width = window.width_out,
        .pad_top = window.pad_top,
        .pad_left = window.pad_left,
    };
    if (!is_large_enough(shape))
        return refuse(why, "too few channels or too small a map to gain from Winograd");
    return true;
}

bool winograd_read(struct winograd_shape *shape, struct epilogue *epilogue,
                   const collage_subgraph *subgraph, const collage_target *target,
                   collage_message *why)
{
    if (strcmp(subgraph->nodes[0]->op_type, "ConvTranspose") == 0)
        return read_transposed(shape, epilogue, subgraph, why);
    return read_convolution(shape, epilogue, subgraph, target, why);
}

/* Does something behind the convolution keep results in a small range? Errors are then large parts
 * of them. */
static bool is_bounded(const struct epilogue *epilogue)
{
    for (uint32_t k = 0; k < epilogue->count; k++) {
        enum epilogue_op op = epilogue->steps[k].op;
        if (op == EPILOGUE_CLIP || op == EPILOGUE_SIGMOID || op == EPILOGUE_TANH ||
            op == EPILOGUE_HARD_SIGMOID)
            return true;
    }
    return false;
}

/* F(6x6) saves most where maps are large; its error is several times that of F(4x4), near the
 * tolerance, if sums are long or results are bounded (docs/native-windows.md). */
static bool takes_six(const struct winograd_shape *shape, const struct epilogue *epilogue)
{
    return shape->out_height >= MAP_SIX && shape->out_width >= MAP_SIX &&
           shape->in_channels * shape->taps <= SUM_SIX && !is_bounded(epilogue);
}

int64_t winograd_tile_size(const struct winograd_shape *shape, const struct epilogue *epilogue,
                           size_t index)
{
    static const int64_t sizes[] = { 4, 2, 6 };
    if (shape->kind == WINOGRAD_PLAIN)
        return index < (takes_six(shape, epilogue) ? 3 : 2) ? sizes[index] : 0;
    for (size_t k = 0; k < 2; k++) {
        if (saves(shape, sizes[k]) && index-- == 0)
            return sizes[k];
    }
    return 0;
}
