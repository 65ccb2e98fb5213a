/* SPDX-License-Identifier: Apache-2.0 */
/* request.c: a sub-graph for the helper. No names of tensors, so that equal sub-graphs are equal
 * requests; no contents of constants but for single numbers. */
#include "tvm.h"

#include <math.h>
#include <string.h>

static const char *const kind_names[KIND_COUNT] = { "none",    "elementwise", "rows",
                                                    "product", "convolution", "depthwise" };

static void add_string(struct source *out, const char *text)
{
    source_add_text(out, "\"");
    for (; *text; text++) {
        if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
            source_add(out, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            source_add(out, "%c", *text);
    }
    source_add_text(out, "\"");
}

/* Python's json reads these words for what is no number of JSON. */
static void add_float(struct source *out, float value)
{
    if (isnan(value))
        source_add_text(out, "NaN");
    else if (isinf(value))
        source_add_text(out, value < 0 ? "-Infinity" : "Infinity");
    else
        source_add(out, "%.9g", (double)value);
}

static void add_integers(struct source *out, const int64_t *numbers, size_t count)
{
    source_add_text(out, "[");
    for (size_t k = 0; k < count; k++)
        source_add(out, "%s%lld", k ? "," : "", (long long)numbers[k]);
    source_add_text(out, "]");
}

static void add_indices(struct source *out, const uint32_t *indices, uint32_t count)
{
    source_add_text(out, "[");
    for (uint32_t k = 0; k < count; k++)
        source_add(out, "%s%lld", k ? "," : "",
                   indices[k] == COLLAGE_NO_VALUE ? -1LL : (long long)indices[k]);
    source_add_text(out, "]");
}

static void add_value(struct source *out, const collage_value *value)
{
    float number;
    source_add_text(out, "{\"d\":");
    add_integers(out, value->dims, (size_t)value->rank);
    if (value->data && value->dtype == COLLAGE_FLOAT32 && value->bytes == sizeof number) {
        memcpy(&number, value->data, sizeof number);
        source_add_text(out, ",\"x\":");
        add_float(out, number);
    }
    source_add(out, ",\"c\":%s}", value->data ? "true" : "false");
}

static void add_attribute(struct source *out, const collage_attribute *attribute)
{
    add_string(out, attribute->name);
    source_add_text(out, ":");
    switch (attribute->kind) {
    case COLLAGE_ATTRIBUTE_INT:
        source_add(out, "%lld", (long long)attribute->i);
        break;
    case COLLAGE_ATTRIBUTE_FLOAT:
        add_float(out, attribute->f);
        break;
    case COLLAGE_ATTRIBUTE_STRING:
        add_string(out, attribute->s);
        break;
    case COLLAGE_ATTRIBUTE_INTS:
        add_integers(out, attribute->ints, attribute->count);
        break;
    default: /* none that these operators have */
        source_add_text(out, "null");
        break;
    }
}

static void add_node(struct source *out, const collage_node *node)
{
    source_add_text(out, "{\"o\":");
    add_string(out, node->op_type);
    source_add_text(out, ",\"i\":");
    add_indices(out, node->inputs, node->input_count);
    source_add_text(out, ",\"r\":");
    add_indices(out, node->outputs, node->output_count);
    source_add_text(out, ",\"a\":{");
    for (uint32_t k = 0; k < node->attribute_count; k++) {
        if (k)
            source_add_text(out, ",");
        add_attribute(out, &node->attributes[k]);
    }
    source_add_text(out, "}}");
}

void request_write(struct source *out, const collage_compile_request *request, enum kind kind,
                   int rounds)
{
    const collage_subgraph *subgraph = request->subgraph;
    source_add(out, "{\"kind\":\"%s\",\"variant\":", kind_names[kind]);
    add_string(out, request->variant->name);
    source_add(out, ",\"cpu\":\"%s\",\"threads\":%d",
               request->target->avx512 ? "x86-64-v4" : "x86-64-v3", (int)request->target->threads);
    if (rounds > 0)
        source_add(out, ",\"rounds\":%d", rounds);
    source_add_text(out, ",\"values\":[");
    for (uint32_t v = 0; v < subgraph->value_count; v++) {
        if (v)
            source_add_text(out, ",");
        add_value(out, subgraph->values[v]);
    }
    source_add_text(out, "],\"nodes\":[");
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        if (n)
            source_add_text(out, ",");
        add_node(out, subgraph->nodes[n]);
    }
    source_add_text(out, "],\"inputs\":");
    add_indices(out, subgraph->inputs, subgraph->input_count);
    source_add_text(out, ",\"outputs\":");
    add_indices(out, subgraph->outputs, subgraph->output_count);
    source_add_text(out, "}");
}
