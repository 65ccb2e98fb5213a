/* SPDX-License-Identifier: Apache-2.0 */
/* window.c: convolutions and pooling: what slides a window over the spatial dimensions. */
#include "operators.h"

#include <string.h>

/* A window as the library has it. */
struct window {
    int spatial;
    int64_t kernel[MAX_SPATIAL], strides[MAX_SPATIAL], dilations[MAX_SPATIAL];
    int64_t begin[MAX_SPATIAL], end[MAX_SPATIAL]; /* pads */
    bool extended;                                /* the end was padded for ceil_mode */
};

static bool read_integers(struct recipe *recipe, const collage_node *node, const char *name,
                          uint32_t count, int64_t fallback, int64_t *values)
{
    const collage_attribute *a = collage_node_attribute(node, name, COLLAGE_ATTRIBUTE_INTS);
    if (a && a->count != count) {
        recipe_refuse(recipe, "attribute %s has %u numbers, not %u", name, a->count, count);
        return false;
    }
    for (uint32_t k = 0; k < count; k++)
        values[k] = a ? a->ints[k] : fallback;
    return true;
}

static int64_t window_reach(const struct window *window, int d)
{
    return (window->kernel[d] - 1) * window->dilations[d] + 1;
}

/* Strides and dilations of the node; false, and refused, if they make no sense. */
static bool read_steps(struct recipe *recipe, const collage_node *node, struct window *window)
{
    uint32_t spatial = (uint32_t)window->spatial;
    if (!read_integers(recipe, node, "strides", spatial, 1, window->strides) ||
        !read_integers(recipe, node, "dilations", spatial, 1, window->dilations))
        return false;
    for (int d = 0; d < window->spatial; d++) {
        if (window->kernel[d] < 1 || window->strides[d] < 1 || window->dilations[d] < 1) {
            recipe_refuse(recipe, "a kernel, stride or dilation is not positive");
            return false;
        }
    }
    return true;
}

/* SAME_UPPER and SAME_LOWER: as much padding as makes the output's size. */
static void same_pads(struct window *window, int d, int64_t in, int64_t out, bool upper)
{
    int64_t total = (out - 1) * window->strides[d] + window_reach(window, d) - in;
    total = total < 0 ? 0 : total;
    window->begin[d] = upper ? total / 2 : total - total / 2;
    window->end[d] = total - window->begin[d];
}

static bool read_pads(struct recipe *recipe, const collage_node *node, const collage_value *in,
                      const collage_value *out, struct window *window)
{
    const char *mode = collage_node_string(node, "auto_pad", "NOTSET");
    bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
    bool valid = strcmp(mode, "VALID") == 0;
    int64_t pads[2 * MAX_SPATIAL];
    if (!read_integers(recipe, node, "pads", 2 * (uint32_t)window->spatial, 0, pads))
        return false;
    for (int d = 0; d < window->spatial; d++) {
        window->begin[d] = valid ? 0 : pads[d];
        window->end[d] = valid ? 0 : pads[window->spatial + d];
        if (upper || lower)
            same_pads(window, d, in->dims[2 + d], out->dims[2 + d], upper);
        if (window->begin[d] < 0 || window->end[d] < 0) {
            recipe_refuse(recipe, "negative pads are not mapped");
            return false;
        }
    }
    return true;
}

/* Fits the pads at the end to the output's size: ceil_mode makes it larger. */
static bool fit_output(struct recipe *recipe, const collage_value *in, const collage_value *out,
                       struct window *window)
{
    for (int d = 0; d < window->spatial; d++) {
        int64_t needed = (out->dims[2 + d] - 1) * window->strides[d] + window_reach(window, d) -
                         in->dims[2 + d] - window->begin[d];
        if (needed > window->end[d]) {
            window->extended = true;
            window->end[d] = needed;
        } else if (window->end[d] - needed >= window->strides[d]) {
            recipe_refuse(recipe, "the output's size does not follow from window and pads");
            return false;
        }
    }
    return true;
}

static bool read_window(struct recipe *recipe, const collage_node *node, const int64_t *kernel,
                        struct window *window)
{
    const collage_value *in = recipe_input(recipe, node, 0);
    const collage_value *out = recipe->graph->values[node->outputs[0]];
    if (!in || in->rank < 3 || in->rank > 5 || out->rank != in->rank) {
        recipe_refuse(recipe, "only of 1, 2 or 3 spatial dimensions");
        return false;
    }
    *window = (struct window){ .spatial = in->rank - 2 };
    memcpy(window->kernel, kernel, (size_t)window->spatial * sizeof *kernel);
    return read_steps(recipe, node, window) && read_pads(recipe, node, in, out, window);
}

static void set_window(struct recipe *recipe, const struct window *window)
{
    size_t spatial = (size_t)window->spatial;
    recipe_set_integers(recipe, dnnl_graph_op_attr_strides, window->strides, spatial);
    recipe_set_integers(recipe, dnnl_graph_op_attr_pads_begin, window->begin, spatial);
    recipe_set_integers(recipe, dnnl_graph_op_attr_pads_end, window->end, spatial);
    recipe_set_text(recipe, dnnl_graph_op_attr_data_format, "NCX");
}

/* ---- convolutions ---- */

/* Data, weights and the bias, if there is one. */
static void add_convolution(struct recipe *recipe, const collage_node *node,
                            dnnl_graph_op_kind_t kind, const struct window *window,
                            const char *weights_format)
{
    size_t operands[3], count = 0;
    operands[count++] = recipe_operand(recipe, node, 0);
    operands[count++] = recipe_operand(recipe, node, 1);
    if (recipe_input(recipe, node, 2))
        operands[count++] = recipe_operand(recipe, node, 2);
    recipe_add(recipe, kind, operands, count, recipe_result(recipe, node));
    set_window(recipe, window);
    recipe_set_integers(recipe, dnnl_graph_op_attr_dilations, window->dilations,
                        (size_t)window->spatial);
    recipe_set_integer(recipe, dnnl_graph_op_attr_groups, collage_node_int(node, "group", 1));
    recipe_set_text(recipe, dnnl_graph_op_attr_weights_format, weights_format);
}

/* The weights, which must be constant and have as many dimensions as the data; NULL if refused. */
static const collage_value *constant_weights(struct recipe *recipe, const collage_node *node)
{
    const collage_value *in = recipe_input(recipe, node, 0);
    const collage_value *weights = recipe_input(recipe, node, 1);
    const collage_value *bias = recipe_input(recipe, node, 2);
    if (!in || !weights || !weights->data || (bias && !bias->data))
        recipe_refuse(recipe, "the weights are not constant");
    else if (weights->rank != in->rank || weights->rank < 3)
        recipe_refuse(recipe, "the weights do not fit the data");
    return recipe->failed ? NULL : weights;
}

void translate_convolution(struct recipe *recipe, const collage_node *node)
{
    struct window window;
    const collage_value *weights = constant_weights(recipe, node);
    if (!weights || !read_window(recipe, node, weights->dims + 2, &window) ||
        !fit_output(recipe, recipe_input(recipe, node, 0), recipe->graph->values[node->outputs[0]],
                    &window))
        return;
    if (window.extended)
        recipe_refuse(recipe, "the output's size does not follow from window and pads");
    add_convolution(recipe, node, dnnl_graph_op_convolution, &window, "OIX");
}

/* oneDNN 3.2 on AVX-512 gets a strided one with 512 input channels wrong in channels-last layout,
 * which the library chooses here; up to 384 channels no fault was found. */
enum { SOUND_CHANNELS = 384 };

/* The pads at the end follow from the output's size, which includes output_padding. */
void translate_deconvolution(struct recipe *recipe, const collage_node *node)
{
    struct window window;
    const collage_value *weights = constant_weights(recipe, node);
    if (strcmp(collage_node_string(node, "auto_pad", "NOTSET"), "NOTSET") != 0 ||
        collage_node_attribute(node, "output_shape", COLLAGE_ATTRIBUTE_INTS))
        recipe_refuse(recipe, "not with auto_pad or output_shape");
    if (!weights || recipe->failed || !read_window(recipe, node, weights->dims + 2, &window))
        return;
    const collage_value *in = recipe_input(recipe, node, 0);
    const collage_value *out = recipe->graph->values[node->outputs[0]];
    for (int d = 0; d < window.spatial; d++) {
        if (window.strides[d] > 1 && in->dims[1] > SOUND_CHANNELS)
            recipe_refuse(recipe, "oneDNN computes it wrongly with so many channels");
        window.end[d] = (in->dims[2 + d] - 1) * window.strides[d] + window_reach(&window, d) -
                        window.begin[d] - out->dims[2 + d];
        if (window.end[d] < 0)
            recipe_refuse(recipe, "the output reaches beyond the last window");
    }
    add_convolution(recipe, node, dnnl_graph_op_conv_transpose, &window, "IOX");
}

/* ---- pooling ---- */

static void add_pool(struct recipe *recipe, const collage_node *node, bool maximum,
                     const struct window *window, bool exclude_pads)
{
    size_t x = recipe_operand(recipe, node, 0), spatial = (size_t)window->spatial;
    recipe_add(recipe, maximum ? dnnl_graph_op_max_pool : dnnl_graph_op_avg_pool, &x, 1,
               recipe_result(recipe, node));
    set_window(recipe, window);
    recipe_set_integers(recipe, dnnl_graph_op_attr_kernel, window->kernel, spatial);
    if (maximum)
        recipe_set_integers(recipe, dnnl_graph_op_attr_dilations, window->dilations, spatial);
    else
        recipe_set_bool(recipe, dnnl_graph_op_attr_exclude_pad, exclude_pads);
}

void translate_pool(struct recipe *recipe, const collage_node *node)
{
    struct window window;
    const collage_attribute *kernel =
        collage_node_attribute(node, "kernel_shape", COLLAGE_ATTRIBUTE_INTS);
    const collage_value *in = recipe_input(recipe, node, 0);
    bool maximum = strcmp(node->op_type, "MaxPool") == 0;
    bool include = collage_node_int(node, "count_include_pad", 0) != 0;
    if (!in || !kernel || in->rank < 3 || kernel->count != (uint32_t)in->rank - 2) {
        recipe_refuse(recipe, "kernel_shape does not fit the input");
        return;
    }
    if (!read_window(recipe, node, kernel->ints, &window) ||
        !fit_output(recipe, in, recipe->graph->values[node->outputs[0]], &window))
        return;
    for (int d = 0; d < window.spatial; d++) {
        int64_t reach = window_reach(&window, d);
        if (window.begin[d] >= reach || window.end[d] >= reach)
            recipe_refuse(recipe, "a window may lie in the padding alone");
        if (!maximum && window.dilations[d] != 1)
            recipe_refuse(recipe, "not with dilations");
    }
    if (!maximum && include && window.extended)
        recipe_refuse(recipe, "count_include_pad with ceil_mode divides by another number");
    add_pool(recipe, node, maximum, &window, !include);
}

void translate_global_pool(struct recipe *recipe, const collage_node *node)
{
    const collage_value *in = recipe_input(recipe, node, 0);
    if (!in || in->rank < 3 || in->rank > 5) {
        recipe_refuse(recipe, "only of 1, 2 or 3 spatial dimensions");
        return;
    }
    struct window window = { .spatial = in->rank - 2 };
    for (int d = 0; d < window.spatial; d++) {
        window.kernel[d] = in->dims[2 + d];
        window.strides[d] = window.dilations[d] = 1;
    }
    add_pool(recipe, node, strcmp(node->op_type, "GlobalMaxPool") == 0, &window, false);
}
