/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise.c: element by element: functions of one tensor, of two, and PRelu. */
#include "recipe.h"

#include <math.h>
#include <string.h>

/* ---- one tensor: all of it is one row of channels ---- */

/* Functions without a parameter. */
#define SIMPLE(function)                                                                           \
    static enum xnn_status create_##function(const struct library *library,                        \
                                             const struct recipe *recipe, uint32_t flags,          \
                                             xnn_operator_t *out)                                  \
    {                                                                                              \
        return library->create_##function(recipe->channels_in, recipe->channels_in,                \
                                          recipe->channels_in, flags, out);                        \
    }
#define PARAMETER(function)                                                                        \
    static enum xnn_status create_##function(const struct library *library,                        \
                                             const struct recipe *recipe, uint32_t flags,          \
                                             xnn_operator_t *out)                                  \
    {                                                                                              \
        return library->create_##function(recipe->channels_in, recipe->channels_in,                \
                                          recipe->channels_in, recipe->number, flags, out);        \
    }
#define SETUP(function)                                                                            \
    static enum xnn_status setup_##function(                                                       \
        const struct library *library, const struct recipe *recipe, xnn_operator_t made,           \
        const float *const inputs[RECIPE_INPUTS], float *output, pthreadpool_t pool)               \
    {                                                                                              \
        return library->setup_##function(made, recipe->batch, inputs[0], output, pool);            \
    }

SIMPLE(abs)
SIMPLE(bankers_rounding)
SIMPLE(ceiling)
SIMPLE(floor)
SIMPLE(hardswish)
SIMPLE(negate)
SIMPLE(sigmoid)
SIMPLE(square_root)
PARAMETER(elu)
PARAMETER(leaky_relu)
SETUP(abs)
SETUP(bankers_rounding)
SETUP(ceiling)
SETUP(floor)
SETUP(hardswish)
SETUP(negate)
SETUP(sigmoid)
SETUP(square_root)
SETUP(elu)
SETUP(leaky_relu)
SETUP(clamp)
SETUP(prelu)

static enum xnn_status create_clamp(const struct library *library, const struct recipe *recipe,
                                    uint32_t flags, xnn_operator_t *out)
{
    return library->create_clamp(recipe->channels_in, recipe->channels_in, recipe->channels_in,
                                 recipe->low, recipe->high, flags, out);
}

static const struct unary {
    const char *op_type;
    struct operation operation;
    const char *attribute; /* of its number; NULL: none */
    float fallback;
} unaries[] = {
    { "Abs", { create_abs, setup_abs }, NULL, 0.0f },
    { "Round", { create_bankers_rounding, setup_bankers_rounding }, NULL, 0.0f },
    { "Ceil", { create_ceiling, setup_ceiling }, NULL, 0.0f },
    { "Floor", { create_floor, setup_floor }, NULL, 0.0f },
    { "HardSwish", { create_hardswish, setup_hardswish }, NULL, 0.0f },
    { "Neg", { create_negate, setup_negate }, NULL, 0.0f },
    { "Sigmoid", { create_sigmoid, setup_sigmoid }, NULL, 0.0f },
    { "Sqrt", { create_square_root, setup_square_root }, NULL, 0.0f },
    { "Elu", { create_elu, setup_elu }, "alpha", 1.0f },
    { "LeakyRelu", { create_leaky_relu, setup_leaky_relu }, "alpha", 0.01f },
};

static const struct operation clamp = { create_clamp, setup_clamp };

static bool read_elements(struct recipe *recipe, const collage_subgraph *subgraph, uint32_t value,
                          collage_message *why)
{
    if (!recipe_operand(recipe, 0, subgraph, value, why))
        return false;
    const collage_value *x = subgraph->values[value];
    if (x->data)
        return recipe_refuse(why, "'%s' is constant", x->name);
    recipe->batch = 1;
    recipe->channels_in = (size_t)(x->bytes / sizeof(float));
    recipe->elementwise = true;
    return true;
}

bool read_unary(struct recipe *recipe, const collage_subgraph *subgraph, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    bool clamps = strcmp(node->op_type, "Relu") == 0 || strcmp(node->op_type, "Clip") == 0;
    const struct unary *unary = NULL;
    for (size_t k = 0; k < sizeof unaries / sizeof unaries[0]; k++) {
        if (strcmp(unaries[k].op_type, node->op_type) == 0)
            unary = &unaries[k];
    }
    if (!clamps && !unary)
        return recipe_refuse(why, "%s is not mapped to XNNPACK", node->op_type);
    if (!read_elements(recipe, subgraph, node->inputs[0], why))
        return false;
    if (clamps) {
        recipe->operation = &clamp;
        recipe->made = node->inputs[0]; /* all nodes are the clamp */
        return recipe_clamp(recipe, subgraph, 0, why);
    }
    if (subgraph->node_count != 1)
        return recipe_refuse(why, "nothing is fused behind %s", node->op_type);
    if (unary->attribute) {
        recipe->number = collage_node_float(node, unary->attribute, unary->fallback);
        if (!isnormal(recipe->number) || recipe->number < 0.0f)
            return recipe_refuse(why, "this alpha of %s", node->op_type);
    }
    recipe->operation = &unary->operation;
    return recipe_clamp(recipe, subgraph, 1, why);
}

/* ---- PRelu ---- */

static enum xnn_status create_prelu(const struct library *library, const struct recipe *recipe,
                                    uint32_t flags, xnn_operator_t *out)
{
    return library->create_prelu(recipe->channels_in, recipe->channels_in, recipe->channels_in,
                                 recipe->weights, flags, out);
}

static const struct operation prelu = { create_prelu, setup_prelu };

/* A slope for each channel, or for each element of the last dimension if channels do not come
 * last. One slope for all is LeakyRelu. */
bool read_prelu(struct recipe *recipe, const collage_subgraph *subgraph, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    const collage_value *slope = recipe_input(subgraph, node, 1);
    if (!slope || !slope->data || slope->dtype != COLLAGE_FLOAT32)
        return recipe_refuse(why, "the slope is not constant");
    if (!read_elements(recipe, subgraph, node->inputs[0], why))
        return false;
    const collage_value *x = subgraph->values[node->inputs[0]];
    if (recipe_scalar(slope, &recipe->number) && isnormal(recipe->number)) {
        recipe->operation = &unaries[sizeof unaries / sizeof unaries[0] - 1].operation;
        return recipe_clamp(recipe, subgraph, 1, why);
    }
    int32_t axis = recipe->channels_last ? 1 : x->rank - 1;
    if (x->rank < 2 || slope->rank > x->rank ||
        slope->bytes != recipe_size(x->dims[axis]) * sizeof(float) ||
        slope->rank < x->rank - axis ||
        recipe_size(slope->dims[slope->rank - (x->rank - axis)]) != recipe_size(x->dims[axis]))
        return recipe_refuse(why, "the slope is not one for each channel");
    size_t elements = recipe->channels_in;
    recipe->channels_in = recipe_size(x->dims[axis]);
    recipe->batch = elements / recipe->channels_in;
    recipe->weights = slope->data;
    recipe->operation = &prelu;
    return recipe_clamp(recipe, subgraph, 1, why);
}

/* ---- two tensors ---- */

#define BINARY_SETUP(function)                                                                     \
    static enum xnn_status setup_##function(                                                       \
        const struct library *library, const struct recipe *recipe, xnn_operator_t made,           \
        const float *const inputs[RECIPE_INPUTS], float *output, pthreadpool_t pool)               \
    {                                                                                              \
        const struct operand *a = &recipe->operands[0], *b = &recipe->operands[1];                 \
        return library->setup_##function(made, a->rank, a->dims, b->rank, b->dims, inputs[0],      \
                                         inputs[1], output, pool);                                 \
    }
#define CLAMPED(function)                                                                          \
    static enum xnn_status create_##function(const struct library *library,                        \
                                             const struct recipe *recipe, uint32_t flags,          \
                                             xnn_operator_t *out)                                  \
    {                                                                                              \
        return library->create_##function(recipe->low, recipe->high, flags, out);                  \
    }                                                                                              \
    BINARY_SETUP(function)
#define UNCLAMPED(function)                                                                        \
    static enum xnn_status create_##function(const struct library *library,                        \
                                             const struct recipe *recipe, uint32_t flags,          \
                                             xnn_operator_t *out)                                  \
    {                                                                                              \
        (void)recipe;                                                                              \
        return library->create_##function(flags, out);                                             \
    }                                                                                              \
    BINARY_SETUP(function)

CLAMPED(add)
CLAMPED(subtract)
CLAMPED(multiply)
CLAMPED(divide)
UNCLAMPED(maximum)
UNCLAMPED(minimum)

static const struct binary {
    const char *op_type;
    struct operation operation;
    bool clamped;
} binaries[] = {
    { "Add", { create_add, setup_add }, true },
    { "Sub", { create_subtract, setup_subtract }, true },
    { "Mul", { create_multiply, setup_multiply }, true },
    { "Div", { create_divide, setup_divide }, true },
    { "Max", { create_maximum, setup_maximum }, false },
    { "Min", { create_minimum, setup_minimum }, false },
};

/* The operand's dimensions in the order in which they lie, filled up with ones to the result's
 * rank. One that has no channels, or nothing but channels, lies the same way in both layouts. */
static bool read_dims(struct recipe *recipe, struct operand *operand,
                      const collage_subgraph *subgraph, collage_message *why)
{
    const collage_value *value = subgraph->values[operand->value];
    int32_t rank = subgraph->values[recipe->made]->rank, fill = rank - value->rank;
    if (rank > RECIPE_DIMS || fill < 0)
        return recipe_refuse(why, "more than %d dimensions", RECIPE_DIMS);
    size_t dims[RECIPE_DIMS] = { 0 };
    for (int32_t d = 0; d < rank; d++)
        dims[d] = d < fill ? 1 : recipe_size(value->dims[d - fill]);
    operand->rank = (size_t)rank;
    if (!recipe->channels_last) {
        memcpy(operand->dims, dims, sizeof dims);
        return true;
    }
    size_t space = 1;
    for (int32_t d = 2; d < rank; d++) {
        space *= dims[d];
        operand->dims[d - 1] = dims[d];
    }
    operand->dims[0] = dims[0];
    operand->dims[rank - 1] = dims[1];
    operand->channels_last = !value->data && value->rank == rank;
    if (!operand->channels_last && dims[1] != 1 && space != 1)
        return recipe_refuse(why, "an operand does not lie with channels last");
    return true;
}

/* The library takes denormal numbers for 0. Does a factor of the node, or a divisor, make them so
 * large that they count? */
static bool raises_denormals(const struct recipe *recipe, const collage_subgraph *subgraph,
                             const collage_node *node)
{
    const float large = 65536.0f;
    bool divides = strcmp(node->op_type, "Div") == 0;
    if (!divides && strcmp(node->op_type, "Mul") != 0)
        return false;
    for (uint32_t k = divides ? 1 : 0; k < 2; k++) {
        const float *factors = recipe->operands[k].constant;
        uint64_t count = subgraph->values[node->inputs[k]]->bytes / sizeof(float);
        for (uint64_t i = 0; factors && i < count; i++) {
            float size = fabsf(factors[i]);
            if (divides ? size * large < 1.0f : size > large)
                return true;
        }
    }
    return false;
}

bool read_binary(struct recipe *recipe, const collage_subgraph *subgraph, collage_message *why)
{
    const collage_node *node = subgraph->nodes[0];
    const struct binary *binary = NULL;
    for (size_t k = 0; k < sizeof binaries / sizeof binaries[0]; k++) {
        if (strcmp(binaries[k].op_type, node->op_type) == 0)
            binary = &binaries[k];
    }
    if (!binary || node->input_count != 2)
        return recipe_refuse(why, "only two tensors");
    for (uint32_t k = 0; k < 2; k++) {
        if (!recipe_operand(recipe, k, subgraph, node->inputs[k], why) ||
            !read_dims(recipe, &recipe->operands[k], subgraph, why))
            return false;
    }
    if (recipe->operands[0].constant && recipe->operands[1].constant)
        return recipe_refuse(why, "both operands are constant");
    if (raises_denormals(recipe, subgraph, node))
        return recipe_refuse(why, "XNNPACK takes denormal numbers for 0, which count here");
    if (!binary->clamped && subgraph->node_count != 1)
        return recipe_refuse(why, "nothing is fused behind %s", node->op_type);
    recipe->operation = &binary->operation;
    recipe->elementwise = true;
    return recipe_clamp(recipe, subgraph, 1, why);
}
