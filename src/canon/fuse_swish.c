/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises x * Sigmoid(alpha * x) as Swish (alpha 1: SiLU). The same formula, so that only
 * rounding may change. */
#include <string.h>

#include "canon/canon.h"
#include "canon/match.h"

/* The x and alpha of the Swish that ends in this Mul. */
static bool find_swish(struct matcher *matcher, node_id last, value_id *x, double *alpha)
{
    for (uint32_t k = 0; k < 2; k++) {
        const collage_node *node = match_start(matcher, last, "Mul");
        const collage_node *sigmoid =
            node ? match_producer(matcher, node->inputs[k], "Sigmoid") : NULL;
        struct product inner;
        if (!sigmoid || !match_product(matcher, sigmoid->inputs[0], &inner))
            continue;
        *x = node->inputs[1 - k];
        *alpha = inner.number;
        if (inner.count == 1 && inner.values[0] == *x && match_is_closed(matcher, last) &&
            match_same_float32(matcher->graph, *x, node->outputs[0]))
            return true;
    }
    return false;
}

collage_status canon_fuse_swish(struct graph *graph, bool *changed, struct error *error)
{
    struct matcher matcher;
    *changed = false;
    collage_status status = match_begin(&matcher, graph, error);
    for (size_t n = 0; n < matcher.node_count && status == COLLAGE_OK; n++) {
        value_id x;
        double alpha;
        if (!find_swish(&matcher, (node_id)n, &x, &alpha))
            continue;
        const collage_attribute attribute = { .name = "alpha",
                                              .kind = COLLAGE_ATTRIBUTE_FLOAT,
                                              .f = (float)alpha };
        const uint32_t attribute_count = attribute.f != 1;
        status =
            match_replace(&matcher, (node_id)n, "Swish", &x, 1, &attribute, attribute_count, error);
        *changed = true;
    }
    return match_end(&matcher, status, *changed, error);
}
