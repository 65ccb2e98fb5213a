/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises HardSwish, x * min(max(x / 6 + 1 / 2, 0), 1), where it is spelt out as
 * x * Clip(x + 3, 0, 6) / 6 (Howard et al., "Searching for MobileNetV3", arXiv 1905.02244) or as
 * x * HardSigmoid(x). The same function; only rounding may change.
 */
#include "canon/canon.h"
#include "canon/match.h"

static bool is_zero(const struct graph *graph, value_id value)
{
    double number;
    return match_number(graph, value, &number) && number == 0;
}

/* `value` is Clip(x + 3, 0, 6). */
static bool is_clipped(struct matcher *matcher, value_id value, value_id x)
{
    const struct graph *graph = matcher->graph;
    const collage_node *clip = match_producer(matcher, value, "Clip");
    if (!clip || clip->input_count != 3 || !is_zero(graph, clip->inputs[1]) ||
        !match_is_number(graph, clip->inputs[2], 6))
        return false;
    const collage_node *sum = match_producer(matcher, clip->inputs[0], "Add");
    return sum && (sum->inputs[0] == x || sum->inputs[1] == x) &&
           match_is_number(graph, match_other_operand(sum, x), 3);
}

/* `value` is HardSigmoid(x) with the slope and offset of HardSwish. */
static bool is_hard_sigmoid(struct matcher *matcher, value_id value, value_id x)
{
    const collage_node *node = match_producer(matcher, value, "HardSigmoid");
    return node && node->inputs[0] == x &&
           match_is_close((double)collage_node_float(node, "alpha", 0.2f), 1.0 / 6) &&
           match_is_close((double)collage_node_float(node, "beta", 0.5f), 0.5);
}

static const struct {
    bool (*is_part)(struct matcher *matcher, value_id value, value_id x);
    double number;
} forms[] = { { is_clipped, 1.0 / 6 }, { is_hard_sigmoid, 1 } };

/* The x of the HardSwish that ends in this Mul or Div, or GRAPH_NONE. */
static value_id find_hard_swish(struct matcher *matcher, node_id last)
{
    for (uint32_t k = 0; k < 2 * sizeof forms / sizeof *forms; k++) { /* which factor is x */
        const collage_node *node = match_start(matcher, last, "Mul");
        node = node ? node : match_start(matcher, last, "Div");
        struct product outer;
        if (!node || !match_product(matcher, node->outputs[0], &outer) || outer.count != 2)
            return GRAPH_NONE;
        value_id x = outer.values[k % 2];
        if (match_is_close(outer.number, forms[k / 2].number) &&
            forms[k / 2].is_part(matcher, outer.values[1 - k % 2], x) &&
            match_is_closed(matcher, last) &&
            match_same_float32(matcher->graph, x, node->outputs[0]))
            return x;
    }
    return GRAPH_NONE;
}

collage_status canon_fuse_hard_swish(struct graph *graph, bool *changed, struct error *error)
{
    struct matcher matcher;
    *changed = false;
    collage_status status = match_begin(&matcher, graph, error);
    for (size_t n = 0; n < matcher.node_count && status == COLLAGE_OK; n++) {
        value_id x = find_hard_swish(&matcher, (node_id)n);
        if (x == GRAPH_NONE)
            continue;
        status = match_replace(&matcher, (node_id)n, "HardSwish", &x, 1, NULL, 0, error);
        *changed = true;
    }
    return match_end(&matcher, status, *changed, error);
}
