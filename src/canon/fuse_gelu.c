/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises GELU where exporters have spelt it out (Hendrycks and Gimpel, "Gaussian Error Linear
 * Units", arXiv 1606.08415): x * 0.5 * (1 + Erf(x / sqrt 2)), and its approximation
 * x * 0.5 * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), in any order of the factors. The same
 * function, so only the rounding of its elementary steps changes. As one operator it can be fused
 * by libraries that know GELU but not Erf.
 */
#include <math.h>
#include <string.h>

#include "canon/canon.h"
#include "canon/match.h"

static const double CUBIC = 0.044715;

/* `value` is 1 + Erf(x / sqrt 2). */
static bool is_erf_part(struct matcher *matcher, value_id value, value_id x)
{
    const collage_node *erf = match_producer(matcher, match_one_plus(matcher, value), "Erf");
    struct product inner;
    return erf && match_product(matcher, erf->inputs[0], &inner) &&
           match_is_product(&inner, sqrt(0.5), &x, 1);
}

/* `value` is x + 0.044715 x^3. */
static bool is_cubic_sum(struct matcher *matcher, value_id value, value_id x)
{
    const collage_node *sum = match_producer(matcher, value, "Add");
    struct product cube;
    return sum && (sum->inputs[0] == x || sum->inputs[1] == x) &&
           match_product(matcher, match_other_operand(sum, x), &cube) &&
           match_is_product(&cube, CUBIC, (const value_id[]){ x, x, x }, 3);
}

/* `value` is 1 + 0.044715 x^2. */
static bool is_square_sum(struct matcher *matcher, value_id value, value_id x)
{
    value_id term = match_one_plus(matcher, value);
    struct product square;
    return term != GRAPH_NONE && match_product(matcher, term, &square) &&
           match_is_product(&square, CUBIC, (const value_id[]){ x, x }, 2);
}

/* `value` is 1 + Tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), or with x before the sum. */
static bool is_tanh_part(struct matcher *matcher, value_id value, value_id x)
{
    const collage_node *tanh_node = match_producer(matcher, match_one_plus(matcher, value), "Tanh");
    struct product inner;
    if (!tanh_node || !match_product(matcher, tanh_node->inputs[0], &inner) ||
        !match_is_close(inner.number, sqrt(2 / acos(-1))))
        return false;
    if (inner.count == 1)
        return is_cubic_sum(matcher, inner.values[0], x);
    if (inner.count != 2 || (inner.values[0] != x && inner.values[1] != x))
        return false;
    return is_square_sum(matcher, inner.values[inner.values[0] == x], x);
}

struct form {
    bool (*is_part)(struct matcher *matcher, value_id value, value_id x);
    const char *approximate;
};

static const struct form forms[] = { { is_erf_part, "none" }, { is_tanh_part, "tanh" } };

/* The form of the GELU that ends in this Mul or Div, and its x; NULL if it ends in none. */
static const struct form *find_gelu(struct matcher *matcher, node_id last, value_id *x)
{
    struct graph *graph = matcher->graph;
    for (uint32_t k = 0; k < 2 * sizeof forms / sizeof *forms; k++) { /* which factor is x */
        const collage_node *node = match_start(matcher, last, "Mul");
        node = node ? node : match_start(matcher, last, "Div");
        struct product outer;
        if (!node || !match_product(matcher, node->outputs[0], &outer) || outer.count != 2 ||
            !match_is_close(outer.number, 0.5))
            return NULL;
        const struct form *form = &forms[k / 2];
        *x = outer.values[k % 2];
        if (form->is_part(matcher, outer.values[1 - k % 2], *x) && match_is_closed(matcher, last) &&
            match_same_float32(graph, *x, node->outputs[0]))
            return form;
    }
    return NULL;
}

collage_status canon_fuse_gelu(struct graph *graph, bool *changed, struct error *error)
{
    struct matcher matcher;
    *changed = false;
    collage_status status = match_begin(&matcher, graph, error);
    for (size_t n = 0; n < matcher.node_count && status == COLLAGE_OK; n++) {
        value_id x;
        const struct form *form = find_gelu(&matcher, (node_id)n, &x);
        if (!form)
            continue;
        const collage_attribute approximate = { .name = "approximate",
                                                .kind = COLLAGE_ATTRIBUTE_STRING,
                                                .count = (uint32_t)strlen(form->approximate),
                                                .s = form->approximate };
        bool is_default = form == &forms[0];
        status =
            match_replace(&matcher, (node_id)n, "Gelu", &x, 1, &approximate, !is_default, error);
        *changed = true;
    }
    return match_end(&matcher, status, *changed, error);
}
