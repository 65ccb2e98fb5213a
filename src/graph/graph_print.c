/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/body.h"
#include "graph/graph_text.h"

enum { SHOWN_ELEMENTS = 16, INDENT = 2 };

static void print_string(struct text *out, const char *string)
{
    text_string(out, "\"");
    for (const char *at = string; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\')
            text_format(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            text_format(out, "\\x%02x", c);
        else
            text_append(out, at, 1);
    }
    text_string(out, "\"");
}

/* A colon at the end would be taken for the one before the type. */
static bool is_plain_name(const char *name)
{
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("_./:-", *at))
            return false;
    return name[0] && name[strlen(name) - 1] != ':';
}

static void print_value(struct text *out, const struct graph *graph, value_id id)
{
    if (id == GRAPH_NONE) {
        text_string(out, "_");
        return;
    }
    const char *name = graph->values[id].name;
    text_string(out, "%");
    if (is_plain_name(name))
        text_string(out, name);
    else
        print_string(out, name);
}

static void print_type(struct text *out, const struct tensor *tensor)
{
    text_format(out, ": %s[", dtype_name(tensor->dtype));
    for (int32_t k = 0; k < tensor->rank; k++)
        text_format(out, "%s%lld", k ? "x" : "", (long long)tensor->dims[k]);
    text_string(out, "]");
}

/* A number that reads back exactly and is no integer to look at. */
static void print_real(struct text *out, double value, int digits)
{
    char number[40];
    if (isnan(value)) {
        text_string(out, "nan");
        return;
    }
    if (isinf(value)) {
        text_string(out, value < 0 ? "-inf" : "inf");
        return;
    }
    snprintf(number, sizeof number, "%.*g", digits, value);
    text_format(out, "%s%s", number, strpbrk(number, ".e") ? "" : ".0");
}

static bool is_real(collage_dtype dtype)
{
    return dtype == COLLAGE_FLOAT32 || dtype == COLLAGE_FLOAT64 || dtype == COLLAGE_FLOAT16 ||
           dtype == COLLAGE_BFLOAT16;
}

static void print_contents(struct text *out, const struct value *value)
{
    const struct tensor *tensor = &value->tensor;
    int64_t count = tensor_elements(tensor);
    if (count > SHOWN_ELEMENTS) {
        char hash[33];
        hash_print(value->stands_for ? *value->stands_for
                                     : hash_of(tensor->data, (size_t)tensor_bytes(tensor)),
                   hash);
        text_format(out, "#%s", hash);
        return;
    }
    text_string(out, "{");
    for (int64_t i = 0; i < count; i++) {
        text_string(out, i ? ", " : "");
        if (is_real(tensor->dtype))
            print_real(out, tensor_get(tensor, i), tensor->dtype == COLLAGE_FLOAT64 ? 17 : 9);
        else
            text_format(out, "%lld", (long long)tensor_get_int(tensor, i));
    }
    text_string(out, "}");
}

static void print_statements(struct text *out, const struct graph *graph, int indent);

static void print_body(struct text *out, const collage_subgraph *body, int indent)
{
    struct graph *graph = body ? body_graph(body) : NULL;
    out->failed = out->failed || !graph;
    text_string(out, "{\n");
    if (graph)
        print_statements(out, graph, indent + INDENT);
    text_format(out, "%*s}", indent, "");
    graph_destroy(graph);
}

static void print_attribute(struct text *out, const collage_attribute *a, int indent)
{
    text_format(out, "%s = ", a->name);
    switch (a->kind) {
    case COLLAGE_ATTRIBUTE_INT:
        text_format(out, "%lld", (long long)a->i);
        break;
    case COLLAGE_ATTRIBUTE_FLOAT:
        print_real(out, (double)a->f, 9);
        break;
    case COLLAGE_ATTRIBUTE_STRING:
        print_string(out, a->s);
        break;
    case COLLAGE_ATTRIBUTE_INTS:
        text_string(out, "[");
        for (uint32_t k = 0; k < a->count; k++)
            text_format(out, "%s%lld", k ? ", " : "", (long long)a->ints[k]);
        text_string(out, "]");
        break;
    case COLLAGE_ATTRIBUTE_FLOATS:
        text_string(out, a->count ? "[" : "[.");
        for (uint32_t k = 0; k < a->count; k++) {
            text_string(out, k ? ", " : "");
            print_real(out, (double)a->floats[k], 9);
        }
        text_string(out, "]");
        break;
    case COLLAGE_ATTRIBUTE_GRAPH:
        print_body(out, a->graph, indent);
        break;
    }
}

static void print_node(struct text *out, const struct graph *graph, const collage_node *node,
                       int indent)
{
    text_format(out, "%*s", indent, "");
    for (uint32_t k = 0; k < node->output_count; k++) {
        text_string(out, k ? ", " : "");
        print_value(out, graph, node->outputs[k]);
        if (node->outputs[k] != GRAPH_NONE)
            print_type(out, &graph->values[node->outputs[k]].tensor);
    }
    text_format(out, " = %s(", node->op_type);
    for (uint32_t k = 0; k < node->input_count; k++) {
        text_string(out, k ? ", " : "");
        print_value(out, graph, node->inputs[k]);
    }
    text_string(out, ")");
    for (uint32_t k = 0; k < node->attribute_count; k++) {
        text_string(out, k ? ", " : " {");
        print_attribute(out, &node->attributes[k], indent);
    }
    text_string(out, node->attribute_count ? "}" : "");
    if (node->name[0]) {
        text_string(out, " ");
        print_string(out, node->name);
    }
    text_string(out, "\n");
}

static void print_statements(struct text *out, const struct graph *graph, int indent)
{
    for (uint32_t k = 0; k < graph->input_count; k++) {
        text_format(out, "%*sinput ", indent, "");
        print_value(out, graph, graph->inputs[k]);
        print_type(out, &graph->values[graph->inputs[k]].tensor);
        text_string(out, "\n");
    }
    for (size_t v = 0; v < graph->value_count; v++) {
        if (graph->values[v].kind != VALUE_CONSTANT)
            continue;
        text_format(out, "%*sconst ", indent, "");
        print_value(out, graph, (value_id)v);
        print_type(out, &graph->values[v].tensor);
        text_string(out, " = ");
        print_contents(out, &graph->values[v]);
        text_string(out, "\n");
    }
    for (size_t n = 0; n < graph->node_count; n++)
        print_node(out, graph, &graph->nodes[n].base, indent);
    for (uint32_t k = 0; k < graph->output_count; k++) {
        text_format(out, "%*soutput ", indent, "");
        print_value(out, graph, graph->outputs[k]);
        text_string(out, "\n");
    }
}

void graph_print(const struct graph *graph, struct text *out)
{
    text_string(out, "graph ");
    print_string(out, graph->name);
    text_string(out, " {\n");
    print_statements(out, graph, INDENT);
    text_string(out, "}\n");
}
