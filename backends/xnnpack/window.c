/* SPDX-License-Identifier: Apache-2.0 */
/* window.c: convolutions and pools of images. One dimension is an image of one line. */
#include "recipe.h"

#include <string.h>

enum { SIDE_MAX = 1 << 20 };

/* Of a dimension of the node, from the attributes; 1-D nodes have only the second. */
struct sides {
    int64_t kernel[2], strides[2], dilations[2], begin[2], end[2];
};

/* `count` integers from `least` up into the last places of out[2]. */
static bool read_ints(const collage_node *node, const char *name, int32_t count, int64_t least,
                      int64_t *out)
{
    const collage_attribute *a = collage_node_attribute(node, name, COLLAGE_ATTRIBUTE_INTS);
    if (a && a->count != (uint32_t)count)
        return false;
    for (int32_t k = 0; a && k < count; k++) {
        if (a->ints[k] < least || a->ints[k] > SIDE_MAX)
            return false;
        out[2 - count + k] = a->ints[k];
    }
    return true;
}

static bool read_sides(struct sides *sides, const collage_node *node, int32_t count)
{
    int64_t pads[4] = { 0 };
    const collage_attribute *a = collage_node_attribute(node, "pads", COLLAGE_ATTRIBUTE_INTS);
    for (int d = 0; d < 2; d++) {
        sides->strides[d] = sides->dilations[d] = 1;
        sides->begin[d] = sides->end[d] = 0;
    }
    if (!read_ints(node, "strides", count, 1, sides->strides) ||
        !read_ints(node, "dilations", count, 1, sides->dilations) ||
        (a && a->count != 2 * (uint32_t)count))
        return false;
    for (int32_t k = 0; a && k < 2 * count; k++) {
        if (a->ints[k] < 0 || a->ints[k] > SIDE_MAX)
            return false;
        pads[k] = a->ints[k];
    }
    for (int32_t k = 0; k < count; k++) {
        sides->begin[2 - count + k] = pads[k];
        sides->end[2 - count + k] = pads[count + k];
    }
    return true;
}

/* The pads under which windows give an output of that size: what auto_pad says, and at the end what
 * the size asks for. False: no pads do. */
static bool fit_pads(struct sides *sides, const collage_node *node, const struct window *window)
{
    const char *mode = collage_node_string(node, "auto_pad", "NOTSET");
    bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
    for (int d = 0; d < 2; d++) {
        int64_t in = (int64_t)window->in[d], out = (int64_t)window->out[d];
        int64_t reach = (sides->kernel[d] - 1) * sides->dilations[d] + 1;
        int64_t total = (out - 1) * sides->strides[d] + reach - in;
        if (upper || lower)
            sides->begin[d] = total <= 0 ? 0 : upper ? total / 2 : (total + 1) / 2;
        else if (strcmp(mode, "VALID") == 0)
            sides->begin[d] = 0;
        int64_t end = total - sides->begin[d];
        sides->end[d] = end < 0 ? 0 : end;
        if ((in + sides->begin[d] + sides->end[d] - reach) / sides->strides[d] + 1 != out)
            return false;
    }
    return true;
}

static void set_window(struct window *window, const struct sides *sides)
{
    for (int d = 0; d < 2; d++) {
        window->kernel[d] = (uint32_t)sides->kernel[d];
        window->strides[d] = (uint32_t)sides->strides[d];
        window->dilations[d] = (uint32_t)sides->dilations[d];
        window->begin[d] = (uint32_t)sides->begin[d];
        window->end[d] = (uint32_t)sides->end[d];
    }
}

/* What all have in common: channels last, 1 or 2 dimensions, sizes. */
static bool read_image(struct recipe *recipe, const collage_subgraph *subgraph,
                       collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    if (!recipe->channels_last)
        return recipe_refuse(why, "%s is there with channels last only", node->op_type);
    if (!recipe_operand(recipe, 0, subgraph, node->inputs[0], why))
        return false;
    const collage_value *x = subgraph->values[node->inputs[0]];
    const collage_value *y = subgraph->values[recipe->made];
    if (x->rank < 3 || x->rank > 4 || y->rank != x->rank || x->data)
        return recipe_refuse(why, "only %s of 1 or 2 dimensions", node->op_type);
    bool line = x->rank == 3;
    recipe->batch = recipe_size(x->dims[0]);
    recipe->window.in[0] = line ? 1 : recipe_size(x->dims[2]);
    recipe->window.in[1] = recipe_size(x->dims[x->rank - 1]);
    recipe->window.out[0] = line ? 1 : recipe_size(y->dims[2]);
    recipe->window.out[1] = recipe_size(y->dims[x->rank - 1]);
    recipe->channels_in = recipe_size(x->dims[1]);
    recipe->channels_out = recipe_size(y->dims[1]);
    return true;
}

/* ---- convolutions ---- */

static enum xnn_status create_convolution(const struct library *library,
                                          const struct recipe *recipe, uint32_t flags,
                                          xnn_operator_t *out)
{
    const struct window *w = &recipe->window;
    return library->create_convolution2d(
        w->begin[0], w->end[1], w->end[0], w->begin[1], w->kernel[0], w->kernel[1], w->strides[0],
        w->strides[1], w->dilations[0], w->dilations[1], (uint32_t)recipe->groups,
        recipe->channels_in, recipe->channels_out, recipe->channels_in * recipe->groups,
        recipe->channels_out * recipe->groups, recipe->weights, recipe->bias, recipe->low,
        recipe->high, flags, out);
}

static enum xnn_status setup_convolution(const struct library *library, const struct recipe *recipe,
                                         xnn_operator_t made,
                                         const float *const inputs[RECIPE_INPUTS], float *output,
                                         pthreadpool_t pool)
{
    return library->setup_convolution2d(made, recipe->batch, recipe->window.in[0],
                                        recipe->window.in[1], inputs[0], output, pool);
}

static const struct operation convolution = { create_convolution, setup_convolution };

/* Constant weights of the image's rank, and perhaps a constant bias. */
static bool read_weights(struct recipe *recipe, struct sides *sides,
                         const collage_subgraph *subgraph, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    const collage_value *w = recipe_input(subgraph, node, 1), *b = recipe_input(subgraph, node, 2);
    int32_t rank = subgraph->values[recipe->made]->rank;
    if (!w || !w->data || w->dtype != COLLAGE_FLOAT32 || w->rank != rank || w->bytes == 0)
        return recipe_refuse(why, "the weights are not constant");
    if (b && (!b->data || b->dtype != COLLAGE_FLOAT32 || b->rank != 1 ||
              recipe_size(b->dims[0]) != recipe->channels_out))
        return recipe_refuse(why, "the bias is not constant");
    sides->kernel[0] = rank == 3 ? 1 : w->dims[2];
    sides->kernel[1] = w->dims[rank - 1];
    int64_t groups = collage_node_int(node, "group", 1);
    if (groups < 1 || recipe->channels_in % (size_t)groups ||
        recipe->channels_out % (size_t)groups || sides->kernel[0] > SIDE_MAX ||
        sides->kernel[1] > SIDE_MAX || !read_sides(sides, node, rank - 2))
        return recipe_refuse(why, "these strides, pads or groups are not known");
    recipe->groups = (size_t)groups;
    recipe->channels_in /= recipe->groups;
    recipe->channels_out /= recipe->groups;
    recipe->weights = w->data;
    recipe->bias = b ? b->data : NULL;
    return true;
}

bool read_convolution(struct recipe *recipe, const collage_subgraph *subgraph, collage_message *why)
{
    struct sides sides;
    if (!read_image(recipe, subgraph, why) || !read_weights(recipe, &sides, subgraph, why))
        return false;
    const collage_value *w = recipe_input(subgraph, subgraph->nodes[0], 1);
    if (recipe_size(w->dims[1]) != recipe->channels_in ||
        recipe_size(w->dims[0]) != recipe->channels_out * recipe->groups ||
        !fit_pads(&sides, subgraph->nodes[0], &recipe->window))
        return recipe_refuse(why, "these shapes are not known");
    set_window(&recipe->window, &sides);
    recipe->operation = &convolution;
    recipe->order = WEIGHTS_OUT_FIRST;
    return recipe_clamp(recipe, subgraph, 1, why);
}

/* ---- transposed convolutions ---- */

static enum xnn_status create_deconvolution(const struct library *library,
                                            const struct recipe *recipe, uint32_t flags,
                                            xnn_operator_t *out)
{
    const struct window *w = &recipe->window;
    return library->create_deconvolution2d(
        w->begin[0], w->end[1], w->end[0], w->begin[1], w->kernel[0], w->kernel[1], w->strides[0],
        w->strides[1], w->dilations[0], w->dilations[1], (uint32_t)recipe->groups,
        recipe->channels_in, recipe->channels_out, recipe->channels_in * recipe->groups,
        recipe->channels_out * recipe->groups, recipe->weights, recipe->bias, recipe->low,
        recipe->high, flags, out);
}

static enum xnn_status setup_deconvolution(const struct library *library,
                                           const struct recipe *recipe, xnn_operator_t made,
                                           const float *const inputs[RECIPE_INPUTS], float *output,
                                           pthreadpool_t pool)
{
    return library->setup_deconvolution2d(made, recipe->batch, recipe->window.in[0],
                                          recipe->window.in[1], 0, 0, inputs[0], output, pool);
}

static const struct operation deconvolution = { create_deconvolution, setup_deconvolution };

bool read_deconvolution(struct recipe *recipe, const collage_subgraph *subgraph,
                        collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    struct sides sides;
    if (!read_image(recipe, subgraph, why) || !read_weights(recipe, &sides, subgraph, why))
        return false;
    const collage_value *w = recipe_input(subgraph, node, 1);
    if (strcmp(collage_node_string(node, "auto_pad", "NOTSET"), "NOTSET") != 0 ||
        collage_node_attribute(node, "output_shape", COLLAGE_ATTRIBUTE_INTS) ||
        recipe_size(w->dims[0]) != recipe->channels_in * recipe->groups ||
        recipe_size(w->dims[1]) != recipe->channels_out)
        return recipe_refuse(why, "these shapes are not known");
    for (int d = 0; d < 2; d++) { /* the pad at the end is what the output's size leaves */
        int64_t reach = ((int64_t)recipe->window.in[d] - 1) * sides.strides[d] +
                        (sides.kernel[d] - 1) * sides.dilations[d] + 1;
        sides.end[d] = reach - sides.begin[d] - (int64_t)recipe->window.out[d];
        if (sides.end[d] < 0)
            return recipe_refuse(why, "the output is larger than the windows reach");
    }
    set_window(&recipe->window, &sides);
    recipe->operation = &deconvolution;
    recipe->order = WEIGHTS_IN_FIRST;
    return recipe_clamp(recipe, subgraph, 1, why);
}

/* ---- pools ---- */

static enum xnn_status create_max_pool(const struct library *library, const struct recipe *recipe,
                                       uint32_t flags, xnn_operator_t *out)
{
    const struct window *w = &recipe->window;
    return library->create_max_pooling2d(
        w->begin[0], w->end[1], w->end[0], w->begin[1], w->kernel[0], w->kernel[1], w->strides[0],
        w->strides[1], w->dilations[0], w->dilations[1], recipe->channels_in, recipe->channels_in,
        recipe->channels_in, recipe->low, recipe->high, flags, out);
}

static enum xnn_status setup_max_pool(const struct library *library, const struct recipe *recipe,
                                      xnn_operator_t made, const float *const inputs[RECIPE_INPUTS],
                                      float *output, pthreadpool_t pool)
{
    return library->setup_max_pooling2d(made, recipe->batch, recipe->window.in[0],
                                        recipe->window.in[1], inputs[0], output, pool);
}

static enum xnn_status create_average_pool(const struct library *library,
                                           const struct recipe *recipe, uint32_t flags,
                                           xnn_operator_t *out)
{
    const struct window *w = &recipe->window;
    return library->create_average_pooling2d(
        w->begin[0], w->end[1], w->end[0], w->begin[1], w->kernel[0], w->kernel[1], w->strides[0],
        w->strides[1], recipe->channels_in, recipe->channels_in, recipe->channels_in, recipe->low,
        recipe->high, flags, out);
}

static enum xnn_status setup_average_pool(const struct library *library,
                                          const struct recipe *recipe, xnn_operator_t made,
                                          const float *const inputs[RECIPE_INPUTS], float *output,
                                          pthreadpool_t pool)
{
    return library->setup_average_pooling2d(made, recipe->batch, recipe->window.in[0],
                                            recipe->window.in[1], inputs[0], output, pool);
}

static const struct operation max_pool = { create_max_pool, setup_max_pool };
static const struct operation average_pool = { create_average_pool, setup_average_pool };

/* The library puts something into each window: none may lie in the pads alone. */
static bool check_pads(const struct sides *sides)
{
    for (int d = 0; d < 2; d++) {
        bool padded = sides->begin[d] > 0 || sides->end[d] > 0;
        int64_t reach = (sides->kernel[d] - 1) * sides->dilations[d] + 1;
        if (sides->begin[d] >= reach || sides->end[d] >= reach ||
            (padded && sides->dilations[d] > 1))
            return false;
    }
    return true;
}

bool read_pool(struct recipe *recipe, const collage_subgraph *subgraph, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    bool average = strcmp(node->op_type, "AveragePool") == 0;
    struct sides sides = { .kernel = { 1, 1 } };
    if (!read_image(recipe, subgraph, why))
        return false;
    int32_t count = subgraph->values[recipe->made]->rank - 2;
    if (!read_sides(&sides, node, count) ||
        !collage_node_attribute(node, "kernel_shape", COLLAGE_ATTRIBUTE_INTS) ||
        !read_ints(node, "kernel_shape", count, 1, sides.kernel) ||
        !fit_pads(&sides, node, &recipe->window) || !check_pads(&sides) ||
        recipe->channels_in != recipe->channels_out)
        return recipe_refuse(why, "these windows, strides or pads are not known");
    set_window(&recipe->window, &sides);
    const struct window *w = &recipe->window;
    bool padded = w->begin[0] || w->begin[1] || w->end[0] || w->end[1];
    if (average && (w->dilations[0] > 1 || w->dilations[1] > 1))
        return recipe_refuse(why, "dilations of an average");
    if (average && padded && collage_node_int(node, "count_include_pad", 0) != 0)
        return recipe_refuse(why, "an average over pads");
    if (w->kernel[0] * (uint64_t)w->kernel[1] == 1)
        return recipe_refuse(why, "a window of one element");
    recipe->operation = average ? &average_pool : &max_pool;
    return recipe_clamp(recipe, subgraph, 1, why);
}

static enum xnn_status create_global_average(const struct library *library,
                                             const struct recipe *recipe, uint32_t flags,
                                             xnn_operator_t *out)
{
    return library->xnn_create_global_average_pooling_nwc_f32(
        recipe->channels_in, recipe->channels_in, recipe->channels_in, recipe->low, recipe->high,
        flags, out);
}

static enum xnn_status setup_global_average(const struct library *library,
                                            const struct recipe *recipe, xnn_operator_t made,
                                            const float *const inputs[RECIPE_INPUTS], float *output,
                                            pthreadpool_t pool)
{
    return library->xnn_setup_global_average_pooling_nwc_f32(
        made, recipe->batch, recipe->window.in[0] * recipe->window.in[1], inputs[0], output, pool);
}

static const struct operation global_average = { create_global_average, setup_global_average };

/* A maximum over everything is a pool with a window as large as the image. */
bool read_global_pool(struct recipe *recipe, const collage_subgraph *subgraph, collage_message *why)
{
    bool average = strcmp(subgraph->nodes[0]->op_type, "GlobalAveragePool") == 0;
    if (!read_image(recipe, subgraph, why))
        return false;
    struct window *w = &recipe->window;
    if (w->in[0] * w->in[1] == 1 || w->in[0] > SIDE_MAX || w->in[1] > SIDE_MAX)
        return recipe_refuse(why, "an image of one element, or a huge one");
    for (int d = 0; d < 2; d++) {
        w->kernel[d] = (uint32_t)w->in[d];
        w->strides[d] = w->dilations[d] = 1;
    }
    recipe->operation = average ? &global_average : &max_pool;
    return recipe_clamp(recipe, subgraph, 1, why);
}
