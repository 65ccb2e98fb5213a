/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c: bilinear Resize of images, for the three rules of coordinates that XNNPACK has. */
#include "recipe.h"

#include <math.h>
#include <string.h>

enum { IMAGE_RANK = 4 };

static enum xnn_status create_resize(const struct library *library, const struct recipe *recipe,
                                     uint32_t flags, xnn_operator_t *out)
{
    return library->create_resize_bilinear2d(recipe->channels_in, recipe->channels_in,
                                             recipe->channels_in, flags | recipe->resize, out);
}

static enum xnn_status setup_resize(const struct library *library, const struct recipe *recipe,
                                    xnn_operator_t made, const float *const inputs[RECIPE_INPUTS],
                                    float *output, pthreadpool_t pool)
{
    const struct window *w = &recipe->window;
    return library->setup_resize_bilinear2d(made, recipe->batch, w->in[0], w->in[1], w->out[0],
                                            w->out[1], inputs[0], output, pool);
}

static const struct operation resize = { create_resize, setup_resize };

/* Is the scale that is given for a dimension that of the sizes? The library knows the sizes only.
 */
static bool check_scales(const collage_subgraph *subgraph, const collage_node *node,
                         const collage_value *x, const collage_value *y)
{
    const collage_value *scales = recipe_input(subgraph, node, 2);
    const collage_attribute *axes = collage_node_attribute(node, "axes", COLLAGE_ATTRIBUTE_INTS);
    if (!scales || scales->bytes == 0)
        return true;
    if (!scales->data || scales->dtype != COLLAGE_FLOAT32 || scales->rank != 1)
        return false;
    for (int64_t k = 0; k < scales->dims[0]; k++) {
        int64_t d = axes && k < axes->count ? axes->ints[k] : k;
        d = d < 0 ? d + x->rank : d;
        float scale;
        memcpy(&scale, (const float *)scales->data + k, sizeof scale);
        if (d < 0 || d >= x->rank ||
            fabs((double)scale * (double)x->dims[d] - (double)y->dims[d]) > 1e-4)
            return false;
    }
    return true;
}

/* The flags for a rule; false: the library has no such rule. */
static bool read_rule(struct recipe *recipe, const collage_node *node)
{
    const char *rule = collage_node_string(node, "coordinate_transformation_mode", "half_pixel");
    bool one = recipe->window.out[0] == 1 || recipe->window.out[1] == 1;
    if (strcmp(rule, "align_corners") == 0)
        recipe->resize = XNN_FLAG_ALIGN_CORNERS;
    else if (strcmp(rule, "asymmetric") == 0)
        recipe->resize = XNN_FLAG_TENSORFLOW_LEGACY_MODE;
    else
        return strcmp(rule, "half_pixel") == 0 || (strcmp(rule, "pytorch_half_pixel") == 0 && !one);
    return !one;
}

bool read_resize(struct recipe *recipe, const collage_subgraph *subgraph, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    if (!recipe->channels_last)
        return recipe_refuse(why, "Resize is there with channels last only");
    if (!recipe_operand(recipe, 0, subgraph, node->inputs[0], why))
        return false;
    const collage_value *x = subgraph->values[node->inputs[0]];
    const collage_value *y = subgraph->values[recipe->made];
    if (x->rank != IMAGE_RANK || y->rank != IMAGE_RANK || x->data || x->dims[0] != y->dims[0] ||
        x->dims[1] != y->dims[1])
        return recipe_refuse(why, "only images are resized");
    if (strcmp(collage_node_string(node, "mode", "nearest"), "linear") != 0 ||
        collage_node_int(node, "antialias", 0) != 0)
        return recipe_refuse(why, "only mode 'linear', without antialias");
    recipe->batch = recipe_size(x->dims[0]);
    recipe->channels_in = recipe_size(x->dims[1]);
    for (int d = 0; d < 2; d++) {
        recipe->window.in[d] = recipe_size(x->dims[2 + d]);
        recipe->window.out[d] = recipe_size(y->dims[2 + d]);
    }
    if (!read_rule(recipe, node) || !check_scales(subgraph, node, x, y))
        return recipe_refuse(why, "XNNPACK resizes to other coordinates than this Resize");
    if (subgraph->node_count != 1)
        return recipe_refuse(why, "nothing is fused behind Resize");
    recipe->operation = &resize;
    return recipe_clamp(recipe, subgraph, 1, why);
}
