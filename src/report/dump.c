/* SPDX-License-Identifier: Apache-2.0 */
#include "report/dump.h"

#include <string.h>

#include "graph/graph_text.h"
#include "report/parts.h"

enum { MOST_BOXES = 2000, SHOWN = 40 }; /* SHOWN: characters of a name */

static void put_shape(const struct graph *graph, value_id value, struct text *out)
{
    char dims[96];
    const struct tensor *tensor = &graph->values[value].tensor;
    dims_print(tensor->dims, tensor->rank, dims, sizeof dims);
    text_format(out, "%s %s", dtype_name(tensor->dtype), dims);
}

static void put_node(const struct graph *graph, node_id node, struct text *out)
{
    const collage_node *base = &graph->nodes[node].base;
    text_format(out, "  n%u [label=\"%u ", node, node);
    report_put_quoted(out, base->op_type, SHOWN);
    if (base->name[0]) {
        text_string(out, "\\n");
        report_put_quoted(out, base->name, SHOWN);
    }
    if (base->output_count > 0 && base->outputs[0] != GRAPH_NONE) {
        text_string(out, "\\n");
        put_shape(graph, base->outputs[0], out);
    }
    text_string(out, "\"];\n");
}

static void put_port(const struct graph *graph, value_id value, char prefix, uint32_t port,
                     struct text *out)
{
    text_format(out, "  %c%u [label=\"", prefix, port);
    report_put_quoted(out, graph->values[value].name, SHOWN);
    text_string(out, "\\n");
    put_shape(graph, value, out);
    text_string(out, "\", shape=ellipse];\n");
}

/* Which of the model's inputs it is. */
static uint32_t input_port(const struct graph *graph, value_id value)
{
    uint32_t port = 0;
    while (port < graph->input_count && graph->inputs[port] != value)
        port++;
    return port;
}

/* Where the value comes from; false for a constant. */
static bool put_source(const struct graph *graph, value_id value, struct text *out)
{
    const struct value *v = &graph->values[value];
    if (v->kind == VALUE_CONSTANT)
        return false;
    if (v->kind == VALUE_COMPUTED)
        text_format(out, "  n%u", v->producer);
    else
        text_format(out, "  i%u", input_port(graph, value));
    return true;
}

void report_graph_dot(const struct graph *graph, struct text *out)
{
    text_string(out, "digraph model {\n  graph [label=\"");
    report_put_quoted(out, graph->name, SHOWN);
    text_format(out, "\\n%zu operators", graph->node_count);
    text_string(out, "\", labelloc=t, fontname=\"Helvetica\", fontsize=14];\n"
                     "  node [shape=box, style=filled, fillcolor=\"#F2F2F2\", "
                     "fontname=\"Helvetica\", fontsize=11];\n");
    for (uint32_t k = 0; k < graph->input_count; k++)
        put_port(graph, graph->inputs[k], 'i', k, out);
    for (node_id n = 0; n < graph->node_count; n++)
        put_node(graph, n, out);
    for (uint32_t k = 0; k < graph->output_count; k++)
        put_port(graph, graph->outputs[k], 'o', k, out);
    for (node_id n = 0; n < graph->node_count; n++)
        for (uint32_t k = 0; k < graph->nodes[n].base.input_count; k++) {
            value_id value = graph->nodes[n].base.inputs[k];
            if (value != GRAPH_NONE && put_source(graph, value, out))
                text_format(out, " -> n%u;\n", n);
        }
    for (uint32_t k = 0; k < graph->output_count; k++)
        if (put_source(graph, graph->outputs[k], out))
            text_format(out, " -> o%u;\n", k);
    text_string(out, "}\n");
}

/* ---- placed ---- */

static void put_comment(const struct plan *plan, uint32_t step, struct text *out)
{
    if (step == GRAPH_NONE) {
        text_string(out, "  // a view");
        return;
    }
    const struct plan_step *s = &plan->steps[step];
    text_format(out, "  // step %u, ", step);
    report_put(out, plan->backends[s->backend].name, 0);
    if (s->variant[0]) {
        text_string(out, ", ");
        report_put(out, s->variant, 0);
    }
    if (report_lane(plan, step) != PLAN_WIDE)
        text_format(out, ", lane %u", s->lane);
}

/* The lines that begin with a result are the nodes, in their order. */
static void put_commented(const char *printed, const struct plan *plan, const uint32_t *step_of,
                          size_t node_count, struct text *out)
{
    size_t node = 0;
    for (const char *line = printed; *line;) {
        const char *end = strchr(line, '\n');
        size_t length = end ? (size_t)(end - line) : strlen(line);
        bool is_node = strncmp(line, "  %", 3) == 0 || strncmp(line, "  _", 3) == 0;
        text_append(out, line, length);
        if (is_node && node < node_count)
            put_comment(plan, step_of[node++], out);
        text_string(out, "\n");
        line += length + (end != NULL);
    }
}

collage_status report_placed_text(const struct graph *graph, const struct plan *plan,
                                  struct text *out, struct error *error)
{
    struct text printed = { 0 };
    uint32_t *step_of = memory_alloc((graph->node_count + 1) * sizeof *step_of);
    graph_print(graph, &printed);
    if (!step_of || printed.failed) {
        memory_free(step_of);
        text_free(&printed);
        return error_memory(error);
    }
    for (size_t n = 0; n < graph->node_count; n++)
        step_of[n] = GRAPH_NONE;
    for (uint32_t s = 0; s < plan->step_count; s++)
        for (uint32_t k = 0; k < plan->steps[s].node_count; k++)
            step_of[plan->steps[s].nodes[k]] = s;
    put_commented(printed.bytes, plan, step_of, graph->node_count, out);
    memory_free(step_of);
    text_free(&printed);
    return out->failed ? error_memory(error) : COLLAGE_OK;
}

collage_status report_placed_dot(const struct graph *graph, const struct plan *plan,
                                 struct text *out, struct error *error)
{
    return report_dot(graph, plan, out, error);
}

collage_status report_draw(const struct text *dot, size_t boxes, bool *drawn, struct text *out,
                           struct error *error)
{
    struct error own = { 0 };
    *drawn = false;
    if (dot->failed)
        return error_memory(error);
    if (boxes > MOST_BOXES)
        return COLLAGE_OK;
    collage_status status = report_svg(dot, out, &own);
    *drawn = status == COLLAGE_OK;
    if (status == COLLAGE_OK || status == COLLAGE_ERROR_UNSUPPORTED)
        return COLLAGE_OK;
    return error_set(error, status, "%s", own.text);
}
