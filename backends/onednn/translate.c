/* SPDX-License-Identifier: Apache-2.0 */
/* translate.c: which operators are known, the choices for each, and the checks common to all. */
#include "recipe.h"

#include <string.h>

static const struct choice choices_plain[] = {
    { "plain", LAYOUT_PLAIN, LAYOUT_PLAIN, ALGORITHM_DEFAULT, false },
};

static const struct choice choices_layouts[] = {
    { "plain", LAYOUT_PLAIN, LAYOUT_PLAIN, ALGORITHM_DEFAULT, false },
    { "nhwc", LAYOUT_LAST, LAYOUT_LAST, ALGORITHM_DEFAULT, false },
    { "blocked", LAYOUT_BLOCKED, LAYOUT_BLOCKED, ALGORITHM_DEFAULT, false },
};

static const struct choice choices_convolution[] = {
    { "plain", LAYOUT_PLAIN, LAYOUT_PLAIN, ALGORITHM_DEFAULT, false },
    { "nhwc", LAYOUT_LAST, LAYOUT_LAST, ALGORITHM_DEFAULT, false },
    { "blocked", LAYOUT_BLOCKED, LAYOUT_BLOCKED, ALGORITHM_DEFAULT, false },
    { "plain-blocked", LAYOUT_PLAIN, LAYOUT_BLOCKED, ALGORITHM_DEFAULT, false },
    { "plain/sum", LAYOUT_PLAIN, LAYOUT_PLAIN, ALGORITHM_DEFAULT, true },
    { "nhwc/sum", LAYOUT_LAST, LAYOUT_LAST, ALGORITHM_DEFAULT, true },
    { "blocked/sum", LAYOUT_BLOCKED, LAYOUT_BLOCKED, ALGORITHM_DEFAULT, true },
};

static const struct choice choices_matmul[] = {
    { "matmul", LAYOUT_PLAIN, LAYOUT_PLAIN, ALGORITHM_DEFAULT, false },
    { "inner_product", LAYOUT_PLAIN, LAYOUT_PLAIN, ALGORITHM_INNER_PRODUCT, false },
    { "matmul/sum", LAYOUT_PLAIN, LAYOUT_PLAIN, ALGORITHM_DEFAULT, true },
    { "inner_product/sum", LAYOUT_PLAIN, LAYOUT_PLAIN, ALGORITHM_INNER_PRODUCT, true },
};

static const struct choice choices_global[] = {
    { "plain", LAYOUT_PLAIN, LAYOUT_PLAIN, ALGORITHM_DEFAULT, false },
    { "nhwc", LAYOUT_LAST, LAYOUT_LAST, ALGORITHM_DEFAULT, false },
    { "blocked", LAYOUT_BLOCKED, LAYOUT_BLOCKED, ALGORITHM_DEFAULT, false },
    { "nhwc-plain", LAYOUT_LAST, LAYOUT_PLAIN, ALGORITHM_DEFAULT, false },
    { "blocked-plain", LAYOUT_BLOCKED, LAYOUT_PLAIN, ALGORITHM_DEFAULT, false },
};

static const struct choice choices_reduction[] = {
    { "plain", LAYOUT_PLAIN, LAYOUT_PLAIN, ALGORITHM_DEFAULT, false },
    { "pool", LAYOUT_PLAIN, LAYOUT_PLAIN, ALGORITHM_POOLING, false },
    { "pool/nhwc", LAYOUT_LAST, LAYOUT_LAST, ALGORITHM_POOLING, false },
    { "pool/blocked", LAYOUT_BLOCKED, LAYOUT_BLOCKED, ALGORITHM_POOLING, false },
    { "pool/nhwc-plain", LAYOUT_LAST, LAYOUT_PLAIN, ALGORITHM_POOLING, false },
    { "pool/blocked-plain", LAYOUT_BLOCKED, LAYOUT_PLAIN, ALGORITHM_POOLING, false },
};

#define CHOICES(table) table, sizeof table / sizeof table[0]

/* The operators that a sub-graph may start with. */
static const struct rule {
    const char *op_type;
    bool (*translate)(struct recipe *recipe);
    const struct choice *choices;
    size_t choice_count;
    bool chain;   /* others may follow */
    bool outputs; /* it may have several */
} rules[] = {
    { "Conv", translate_convolution, CHOICES(choices_convolution), true, false },
    { "ConvTranspose", translate_deconvolution, CHOICES(choices_convolution), true, false },
    { "MatMul", translate_matmul, CHOICES(choices_matmul), true, false },
    { "Gemm", translate_gemm, CHOICES(choices_matmul), true, false },
    { "MaxPool", translate_pooling, CHOICES(choices_layouts), false, false },
    { "AveragePool", translate_pooling, CHOICES(choices_layouts), false, false },
    { "GlobalAveragePool", translate_global_pooling, CHOICES(choices_global), false, false },
    { "GlobalMaxPool", translate_global_pooling, CHOICES(choices_global), false, false },
    { "Softmax", translate_softmax, CHOICES(choices_plain), false, false },
    { "LogSoftmax", translate_softmax, CHOICES(choices_plain), false, false },
    { "LayerNormalization", translate_layer_norm, CHOICES(choices_plain), false, false },
    { "BatchNormalization", translate_batch_norm, CHOICES(choices_layouts), false, false },
    { "Concat", translate_concat, CHOICES(choices_layouts), false, false },
    { "ReduceMean", translate_reduction, CHOICES(choices_reduction), false, false },
    { "ReduceSum", translate_reduction, CHOICES(choices_plain), false, false },
    { "ReduceMax", translate_reduction, CHOICES(choices_reduction), false, false },
    { "ReduceMin", translate_reduction, CHOICES(choices_plain), false, false },
    { "ReduceProd", translate_reduction, CHOICES(choices_plain), false, false },
    { "ReduceL1", translate_reduction, CHOICES(choices_plain), false, false },
    { "ReduceL2", translate_reduction, CHOICES(choices_plain), false, false },
    { "Transpose", translate_transpose, CHOICES(choices_plain), false, false },
    { "Identity", translate_identity, CHOICES(choices_plain), false, false },
    { "Slice", translate_slice, CHOICES(choices_plain), false, false },
    { "Gather", translate_gather, CHOICES(choices_plain), false, false },
    { "Expand", translate_expand, CHOICES(choices_plain), false, false },
    { "Split", translate_split, CHOICES(choices_plain), false, true },
    { "Pad", translate_pad, CHOICES(choices_layouts), false, false },
    { "Resize", translate_resize, CHOICES(choices_layouts), true, false },
    { "LSTM", translate_lstm, CHOICES(choices_plain), false, true },
    { "PRelu", translate_prelu, CHOICES(choices_layouts), false, false },
    { "ReduceSumSquare", translate_reduction, CHOICES(choices_plain), false, false },
};

/* All others that eltwise.c knows. */
static const struct rule elementwise_rule = { "", translate_elementwise, CHOICES(choices_layouts),
                                              true, false };

static const char *const elementwise[] = {
    "Relu", "LeakyRelu", "Elu",         "Sigmoid",   "Tanh",  "Abs",   "Sqrt", "Exp",        "Log",
    "Mish", "Softplus",  "HardSigmoid", "HardSwish", "Swish", "Round", "Neg",  "Reciprocal", "Clip",
    "Gelu", "Pow",       "Add",         "Sub",       "Mul",   "Div",   "Min",  "Max",        "Sum",
};

static const struct rule *find_rule(const char *op_type)
{
    for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++) {
        if (strcmp(rules[k].op_type, op_type) == 0)
            return &rules[k];
    }
    for (size_t k = 0; k < sizeof elementwise / sizeof elementwise[0]; k++) {
        if (strcmp(elementwise[k], op_type) == 0)
            return &elementwise_rule;
    }
    return NULL;
}

static bool is_op(const collage_node *node, const char *op_type)
{
    return strcmp(node->op_type, op_type) == 0;
}

/* What may stand before which operator. */
static const struct prefix {
    const char *before, *head;
} prefixes[] = {
    { "Transpose", "MatMul" },
    { "Pad", "Conv" },
    { "Pad", "MaxPool" },
    { "Pad", "AveragePool" },
};

static uint32_t find_head(const collage_subgraph *graph)
{
    for (size_t k = 0; graph->node_count > 1 && k < sizeof prefixes / sizeof prefixes[0]; k++) {
        if (is_op(graph->nodes[0], prefixes[k].before) && is_op(graph->nodes[1], prefixes[k].head))
            return 1;
    }
    return 0;
}

const struct choice *recipe_choices(const collage_subgraph *graph, size_t *count)
{
    const struct rule *rule =
        graph->node_count ? find_rule(graph->nodes[find_head(graph)]->op_type) : NULL;
    *count = rule ? rule->choice_count : 0;
    return rule ? rule->choices : NULL;
}

static bool check_value(struct recipe *recipe, const collage_value *value)
{
    enum { MAX_ELEMENTS = INT32_MAX };
    int64_t elements = 1;
    bool constant = value_is_constant(value);
    if (!constant && value->dtype != COLLAGE_FLOAT32)
        return refuse(recipe, "'%s' is not float32", value->name);
    if (value->rank < 0 || value->rank > MAX_RANK)
        return refuse(recipe, "'%s' has a rank above %d", value->name, MAX_RANK);
    for (int d = 0; d < value->rank; d++) {
        if (value->dims[d] < 1 && !constant)
            return refuse(recipe, "'%s' is empty or its shape is unknown", value->name);
        if (value->dims[d] > MAX_ELEMENTS / (elements ? elements : 1))
            return refuse(recipe, "'%s' has more than 2^31 elements", value->name);
        elements *= value->dims[d];
    }
    return true;
}

static bool check_graph(struct recipe *recipe)
{
    const collage_subgraph *graph = recipe->graph;
    const struct rule *rule =
        graph->node_count ? find_rule(graph->nodes[find_head(graph)]->op_type) : NULL;
    if (!rule)
        return refuse(recipe, "its first operator is not mapped");
    if (graph->output_count == 0 ||
        (!rule->outputs && (graph->output_count != 1 ||
                            graph->outputs[0] != graph->nodes[graph->node_count - 1]->outputs[0])))
        return refuse(recipe, "it is no chain with one output");
    for (uint32_t k = 0; k < graph->value_count; k++) {
        if (!check_value(recipe, graph->values[k]))
            return false;
    }
    for (uint32_t k = 0; k < graph->node_count; k++) {
        const collage_node *node = graph->nodes[k];
        if (node->input_count == 0 || node->inputs[0] == COLLAGE_NO_VALUE)
            return refuse(recipe, "%s lacks its operand", node->op_type);
    }
    return true;
}

/* Does a node from number `from` on read a result of `node`? */
static bool is_read_from(const collage_subgraph *graph, const collage_node *node, uint32_t from)
{
    for (uint32_t j = from; j < graph->node_count; j++) {
        for (uint32_t i = 0; i < graph->nodes[j]->input_count; i++) {
            for (uint32_t o = 0; o < node->output_count; o++) {
                if (node->outputs[o] != COLLAGE_NO_VALUE &&
                    graph->nodes[j]->inputs[i] == node->outputs[o])
                    return true;
            }
        }
    }
    return false;
}

/* Our own patterns are chains; a file of patterns may name any convex set of nodes. */
static bool check_chain(struct recipe *recipe)
{
    const collage_subgraph *graph = recipe->graph;
    const collage_node *last = graph->nodes[graph->node_count - 1];
    if (graph->node_count == 1)
        return true;
    if (graph->output_count != 1 || last->output_count == 0 ||
        graph->outputs[0] != last->outputs[0])
        return refuse(recipe, "it is no chain with one result at its end");
    for (uint32_t k = 0; k + 1 < graph->node_count; k++) {
        const collage_node *node = graph->nodes[k];
        if (node->output_count == 0 || node->outputs[0] == COLLAGE_NO_VALUE ||
            is_read_from(graph, node, k + 2))
            return refuse(recipe, "it is no chain: %s is not used by the next operator alone",
                          node->op_type);
    }
    return true;
}

/* The Transpose or Pad before the head makes one of its operands. */
static bool take_prefix(struct recipe *recipe)
{
    const collage_node *head = recipe_head(recipe);
    recipe->before = recipe->graph->nodes[0];
    uint32_t value = recipe->before->outputs[0];
    bool first = head->input_count > 0 && head->inputs[0] == value;
    bool second = head->input_count > 1 && head->inputs[1] == value;
    if (is_op(head, "MatMul") ? head->input_count != 2 || first == second : !first || second)
        return refuse(recipe, "%s is not for one operand of %s", recipe->before->op_type,
                      head->op_type);
    return true;
}

/* Finds the parts of the chain: [Transpose or Pad] head [post-ops] [Transpose]. */
static bool split_chain(struct recipe *recipe)
{
    const collage_subgraph *graph = recipe->graph;
    recipe->head = find_head(graph);
    recipe->tail = graph->node_count;
    const collage_node *head = recipe_head(recipe), *last = graph->nodes[graph->node_count - 1];
    if (recipe->head > 0 && !take_prefix(recipe))
        return false;
    if (!is_op(head, "MatMul"))
        return true;
    if (graph->node_count > recipe->head + 1 && is_op(last, "Transpose")) {
        recipe->after = last;
        recipe->tail--;
        if (last->inputs[0] != graph->nodes[recipe->tail - 1]->outputs[0])
            return refuse(recipe, "it is no chain");
    }
    return true;
}

static void note_output(struct recipe *recipe)
{
    const collage_value *out = head_output(recipe);
    recipe->out_rank = out->rank ? out->rank : 1;
    recipe->out_dims[0] = 1;
    for (int d = 0; d < out->rank; d++)
        recipe->out_dims[d] = out->dims[d];
}

/* A tensor that is read twice lies in one layout only. */
static bool check_tags(struct recipe *recipe)
{
    for (size_t k = 0; k < recipe->operand_count; k++) {
        const struct operand *operand = &recipe->operands[k];
        const char *tag = operand->plain_outside ? "" : operand->tag;
        if (!operand->constant && operand->value != COLLAGE_NO_VALUE &&
            strcmp(tag, recipe_tag(recipe, operand->value)) != 0)
            return refuse(recipe, "a tensor would be needed in two layouts");
    }
    return true;
}

static bool translate_pass(struct recipe *recipe)
{
    const collage_subgraph *graph = recipe->graph;
    if (!check_graph(recipe) || !check_chain(recipe) || !split_chain(recipe))
        return false;
    const struct rule *rule = find_rule(recipe_head(recipe)->op_type);
    if (!rule->chain && graph->node_count > recipe->head + 1)
        return refuse(recipe, "%s is run alone", recipe_head(recipe)->op_type);
    note_output(recipe);
    return chain_collect(recipe) && rule->translate(recipe) && check_tags(recipe);
}

bool recipe_translate(struct recipe *recipe, const collage_subgraph *graph,
                      const collage_target *target, const struct choice *choice,
                      const collage_variant *variant, collage_message *why)
{
    memset(recipe, 0, sizeof *recipe);
    recipe->graph = graph;
    recipe->target = target;
    recipe->choice = choice;
    recipe->variant = variant;
    recipe->why = why;
    recipe->inplace_value = COLLAGE_NO_VALUE;
    recipe->pass_count = 1;
    return translate_pass(recipe);
}

bool recipe_next_pass(struct recipe *recipe)
{
    struct recipe next = { .graph = recipe->graph,
                           .target = recipe->target,
                           .choice = recipe->choice,
                           .variant = recipe->variant,
                           .why = recipe->why,
                           .inplace_value = COLLAGE_NO_VALUE,
                           .pass = recipe->pass + 1,
                           .pass_count = 1 };
    *recipe = next;
    return translate_pass(recipe);
}
