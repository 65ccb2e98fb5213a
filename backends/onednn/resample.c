/* SPDX-License-Identifier: Apache-2.0 */
/* resample.c: Resize of the space, nearest or linear, where oneDNN's rule of coordinates gives the
 * same places as ONNX's: output i stands for input (i + 0.5) * in / out - 0.5. */
#include "recipe.h"

#include <math.h>
#include <string.h>

struct axis {
    int64_t in, out;
    double scale; /* as given; else out / in */
};

/* Of dimension d, from the scales (input 2) or the output's size. */
static bool read_axis(struct recipe *recipe, int d, struct axis *axis)
{
    const collage_node *head = recipe_head(recipe);
    const collage_value *scales = head_input(recipe, 2);
    const collage_attribute *axes = collage_node_attribute(head, "axes", COLLAGE_ATTRIBUTE_INTS);
    axis->in = head_input(recipe, 0)->dims[d];
    axis->out = recipe->out_dims[d];
    axis->scale = (double)axis->out / (double)axis->in;
    if (!scales || dims_product(scales->dims, 0, scales->rank) == 0)
        return true;
    if (!value_is_constant(scales) || scales->dtype != COLLAGE_FLOAT32 || scales->rank != 1)
        return refuse(recipe, "the scales are not constant");
    int64_t place = axes ? -1 : d;
    for (uint32_t k = 0; axes && k < axes->count; k++) {
        int named = 0;
        if (!resolve_axis(recipe, axes->ints[k], recipe->out_rank, &named))
            return false;
        place = named == d ? k : place;
    }
    if (place >= scales->dims[0])
        return refuse(recipe, "the scales do not fit the axes");
    float scale = 1.0f;
    if (place >= 0)
        memcpy(&scale, (const float *)scales->data + place, sizeof scale);
    axis->scale = (double)scale;
    return true;
}

/* The place in the input that ONNX gives output i; NAN for a mode that is not mapped. */
static double onnx_place(const char *mode, const struct axis *axis, int64_t i)
{
    double x = (double)i, half_pixel = (x + 0.5) / axis->scale - 0.5;
    if (strcmp(mode, "half_pixel") == 0)
        return half_pixel;
    if (strcmp(mode, "pytorch_half_pixel") == 0)
        return axis->out > 1 ? half_pixel : 0.0;
    if (strcmp(mode, "asymmetric") == 0)
        return x / axis->scale;
    if (strcmp(mode, "align_corners") == 0)
        return axis->out > 1 ? x * (double)(axis->in - 1) / (double)(axis->out - 1) : 0.0;
    return (double)NAN;
}

static double round_place(const char *rounding, double x)
{
    if (strcmp(rounding, "floor") == 0)
        return floor(x);
    if (strcmp(rounding, "ceil") == 0)
        return ceil(x);
    return strcmp(rounding, "round_prefer_ceil") == 0 ? floor(x + 0.5) : ceil(x - 0.5);
}

static double clamp(double x, double last)
{
    return x < 0.0 ? 0.0 : x > last ? last : x;
}

/* Does the library read the same elements, with the same weights? */
static bool places_agree(const struct recipe *recipe, const struct axis *axis, bool nearest)
{
    const double close = 1e-4; /* of an element */
    const collage_node *head = recipe_head(recipe);
    const char *mode = collage_node_string(head, "coordinate_transformation_mode", "half_pixel");
    const char *rounding = collage_node_string(head, "nearest_mode", "round_prefer_floor");
    double last = (double)(axis->in - 1);
    if (axis->in == axis->out && axis->scale == 1.0)
        return true;
    for (int64_t i = 0; i < axis->out; i++) {
        double theirs = ((double)i + 0.5) * (double)axis->in / (double)axis->out - 0.5;
        double ours = onnx_place(mode, axis, i);
        if (nearest) {
            ours = round_place(rounding, ours);
            /* Near the middle between two elements float32 may round either way. */
            if (fabs(theirs - floor(theirs) - 0.5) < close)
                return false;
            theirs = floor(theirs + 0.5);
        }
        if (!(fabs(clamp(ours, last) - clamp(theirs, last)) < close))
            return false;
    }
    return true;
}

static bool check_axes(struct recipe *recipe, bool nearest)
{
    for (int d = 0; d < recipe->out_rank; d++) {
        struct axis axis;
        if (!read_axis(recipe, d, &axis))
            return false;
        if (d < 2 && (axis.in != axis.out || axis.scale != 1.0))
            return refuse(recipe, "only the space is resized");
        if (!places_agree(recipe, &axis, nearest))
            return refuse(recipe, "oneDNN resizes to other coordinates than this Resize");
    }
    return true;
}

/* oneDNN 3.2 reads a second operand from wrong places in nhwc and blocked layouts. */
static bool check_posts(struct recipe *recipe)
{
    for (size_t k = 0; k < recipe->post_count; k++) {
        if (recipe->posts[k].kind != POST_ELTWISE)
            return refuse(recipe, "an operator with a second operand is not fused with Resize");
    }
    return true;
}

static bool check_layout(struct recipe *recipe)
{
    if (recipe->choice->out == LAYOUT_BLOCKED &&
        recipe->out_dims[1] < (recipe->target->avx512 ? 16 : 8))
        return refuse(recipe, "there are fewer channels than a block");
    return true;
}

bool translate_resize(struct recipe *recipe)
{
    const collage_node *head = recipe_head(recipe);
    const collage_value *in = head_input(recipe, 0);
    const char *mode = collage_node_string(head, "mode", "nearest");
    bool nearest = strcmp(mode, "nearest") == 0;
    if (in->rank < 3 || in->rank > 5 || head_output(recipe)->rank != in->rank ||
        value_is_constant(in))
        return refuse(recipe, "only Resize of 1, 2 or 3 dimensions is mapped");
    if ((!nearest && strcmp(mode, "linear") != 0) || collage_node_int(head, "antialias", 0) != 0)
        return refuse(recipe, "mode '%.20s' of Resize is not mapped", mode);
    if (!check_layout(recipe) || !check_posts(recipe) || !check_axes(recipe, nearest))
        return false;
    enum layout_class layout = recipe->choice->out;
    recipe->family = FAMILY_RESAMPLING;
    recipe->alg = nearest ? dnnl_resampling_nearest : dnnl_resampling_linear;
    groups_identity(recipe);
    struct operand *source =
        operand_add(recipe, DNNL_ARG_SRC, head_input_id(recipe, 0), in->rank, in->dims);
    return source && operand_set_layout(recipe, source, layout) &&
           operand_add_output(recipe, layout) && chain_place(recipe, layout);
}
