/* SPDX-License-Identifier: Apache-2.0 */
#include "convolution.h"

#include <string.h>

enum { ATTRIBUTE_MAX = 1 << 20 };

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

/* `count` integers from 0 up, or the fallback. False: something else. */
static bool read_ints(const collage_node *node, const char *name, int32_t count, int64_t fallback,
                      int64_t *out)
{
    const collage_attribute *a = collage_node_attribute(node, name, COLLAGE_ATTRIBUTE_INTS);
    if (a && a->count != (uint32_t)count)
        return false;
    for (int32_t k = 0; k < count; k++) {
        out[k] = a ? a->ints[k] : fallback;
        if (out[k] < 0 || out[k] > ATTRIBUTE_MAX)
            return false;
    }
    return true;
}

static bool read_values(struct convolution *c, const collage_subgraph *subgraph,
                        collage_message *why)
{
    const collage_node *node = subgraph->node_count ? subgraph->nodes[0] : NULL;
    if (!node || strcmp(node->op_type, "Conv") != 0 || node->input_count < 2 ||
        node->output_count != 1 || node->inputs[0] == COLLAGE_NO_VALUE ||
        node->inputs[1] == COLLAGE_NO_VALUE) {
        fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s is no convolution",
             node ? node->op_type : "an empty sub-graph");
        return false;
    }
    if (!all_float32(subgraph, NULL, why))
        return false;
    if (subgraph->input_count > 32)
        return refuse(why, "too many inputs");
    c->input = node->inputs[0];
    c->weights = node->inputs[1];
    if (node->input_count > 2)
        c->bias = node->inputs[2];
    c->made = node->outputs[0];
    const collage_value *x = subgraph->values[c->input], *w = subgraph->values[c->weights];
    c->rank = x->rank;
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank ||
        subgraph->values[c->made]->rank != x->rank)
        return refuse(why, "only convolutions with 1 to 3 dimensions");
    if (x->data || !value_is_outside(subgraph, c->input) || !value_is_outside(subgraph, c->weights))
        return refuse(why, "its operands are made inside of the sub-graph, or constant");
    return true;
}

/* The pads at the beginnings; the output's size decides what the ends are. */
static bool read_pads(struct convolution *c, const collage_node *node, int32_t first)
{
    const char *mode = collage_node_string(node, "auto_pad", "NOTSET");
    bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
    int64_t given[6];
    int32_t count = 3 - first;
    if (!read_ints(node, "pads", 2 * count, 0, given))
        return false;
    for (int32_t d = first; d < 3; d++) {
        int64_t reach = (c->kernel[d] - 1) * c->dilations[d] + 1;
        int64_t total = (c->out[d] - 1) * c->strides[d] + reach - c->in[d];
        total = total < 0 ? 0 : total;
        int64_t padded = c->in[d];
        if (upper || lower) {
            c->pads[d] = upper ? total / 2 : (total + 1) / 2;
            padded += total;
        } else if (strcmp(mode, "VALID") != 0) {
            c->pads[d] = given[d - first];
            padded += given[d - first] + given[d - first + count];
        }
        if (padded < reach || c->out[d] != (padded - reach) / c->strides[d] + 1)
            return false;
    }
    return true;
}

static bool read_sizes(struct convolution *c, const collage_subgraph *subgraph,
                       const collage_node *node)
{
    const collage_value *x = subgraph->values[c->input], *w = subgraph->values[c->weights];
    const collage_value *y = subgraph->values[c->made];
    int32_t first = 5 - c->rank;
    if (!read_ints(node, "strides", 3 - first, 1, c->strides + first) ||
        !read_ints(node, "dilations", 3 - first, 1, c->dilations + first))
        return false;
    for (int32_t d = 0; d < 3; d++) {
        bool given = d >= first;
        c->in[d] = given ? x->dims[d + c->rank - 3] : 1;
        c->out[d] = given ? y->dims[d + c->rank - 3] : 1;
        c->kernel[d] = given ? w->dims[d + c->rank - 3] : 1;
        c->strides[d] = given ? c->strides[d] : 1;
        c->dilations[d] = given ? c->dilations[d] : 1;
        if (c->strides[d] < 1 || c->dilations[d] < 1 || c->in[d] > INT32_MAX ||
            c->out[d] > INT32_MAX || c->kernel[d] > ATTRIBUTE_MAX)
            return false;
    }
    return read_pads(c, node, first);
}

static bool read_channels(struct convolution *c, const collage_subgraph *subgraph,
                          const collage_node *node)
{
    const collage_value *x = subgraph->values[c->input], *w = subgraph->values[c->weights];
    const collage_value *y = subgraph->values[c->made];
    c->batch = x->dims[0];
    c->groups = collage_node_int(node, "group", 1);
    if (c->groups < 1 || x->dims[1] % c->groups || w->dims[0] % c->groups)
        return false;
    c->channels_in = x->dims[1] / c->groups;
    c->channels_out = w->dims[0] / c->groups;
    return w->dims[1] == c->channels_in && y->dims[0] == c->batch && y->dims[1] == w->dims[0];
}

bool convolution_read(struct convolution *c, struct epilogue *epilogue,
                      const collage_subgraph *subgraph, collage_message *why)
{
    *c = (struct convolution){ .bias = COLLAGE_NO_VALUE };
    if (!read_values(c, subgraph, why))
        return false;
    const collage_node *node = subgraph->nodes[0];
    if (!read_channels(c, subgraph, node) || !read_sizes(c, subgraph, node))
        return refuse(why, "these shapes, strides or pads are not known");
    if (c->channels_in == 1 && c->groups > 1)
        return refuse(why, "a depthwise convolution is no product of matrices");
    c->pixels = c->out[0] * c->out[1] * c->out[2];
    c->depth = c->channels_in * c->kernel[0] * c->kernel[1] * c->kernel[2];
    c->pointwise = c->depth == c->channels_in;
    for (int32_t d = 0; d < 3; d++)
        c->pointwise =
            c->pointwise && c->strides[d] == 1 && c->pads[d] == 0 && c->in[d] == c->out[d];
    if (!blas_fits(c->depth) || !blas_fits(c->pixels * c->batch) ||
        !blas_fits(c->channels_in * c->groups) || !blas_fits(c->channels_out * c->groups))
        return refuse(why, "it is too large for 32 bits");
    return epilogue_takes(epilogue, subgraph, 1, c->made, 1, c->bias, why);
}
