/* SPDX-License-Identifier: Apache-2.0 */
/* The plan as a Graphviz graph: a box a step, one colour a backend, small boxes for reorders and
 * copies, ellipses for what goes in and out of the model. */
#include "report/parts.h"

#include "tensor/layout.h"

/* Okabe and Ito's colours for all kinds of colour vision, light ones first: text on them is black.
 */
static const char *const palette[] = { "#56B4E9", "#E69F00", "#009E73", "#F0E442",
                                       "#CC79A7", "#D55E00", "#7FA8C9", "#BBBBBB" };
enum { PALETTE_COLOURS = sizeof palette / sizeof *palette };

const char *report_colour(uint32_t backend)
{
    return palette[backend % PALETTE_COLOURS];
}

void report_put_quoted(struct text *out, const char *string, size_t most)
{
    for (size_t k = 0; string[k]; k++) {
        unsigned char c = (unsigned char)string[k];
        if (most > 0 && k == most) {
            text_string(out, "...");
            return;
        }
        if (c == '"' || c == '\\')
            text_format(out, "\\%c", c);
        else
            text_format(out, "%c", c < 0x20 || c >= 0x7f ? '?' : c);
    }
}

/* What a browser shows of a step that is pointed at: "step 3 on onednn: /conv1, /relu1". */
static void put_tooltip(const struct graph *graph, const struct plan *plan, uint32_t index,
                        struct text *out)
{
    enum { SHOWN = 8 };
    const struct plan_step *step = &plan->steps[index];
    text_format(out, ", tooltip=\"step %u", index);
    if (step->backend != GRAPH_NONE) {
        text_string(out, " on ");
        report_put_quoted(out, plan->backends[step->backend].name, 40);
    }
    if (report_lane(plan, index) != PLAN_WIDE)
        text_format(out, " in lane %u", step->lane);
    for (uint32_t k = 0; k < step->node_count && k < SHOWN; k++) {
        text_string(out, k ? ", " : ": ");
        report_put_quoted(out, graph->nodes[step->nodes[k]].base.name, 60);
    }
    text_string(out, step->node_count > SHOWN ? ", ...\"" : "\"");
}

static double sum_costs(const struct plan *plan)
{
    double total = 0;
    for (uint32_t s = 0; s < plan->step_count; s++)
        total += plan->steps[s].cost_ns > 0 ? plan->steps[s].cost_ns : 0;
    return total;
}

static void put_step(const struct graph *graph, const struct plan *plan, uint32_t index,
                     double total_ns, struct text *out)
{
    const struct plan_step *step = &plan->steps[index];
    char what[96], shape[96];
    plan_step_describe(step, graph, what, sizeof what);
    report_shape(graph, plan, step, shape, sizeof shape);
    text_format(out, "  s%u [label=\"", index);
    report_put_quoted(out, what, 0);
    if (step->kind == PLAN_KERNEL) {
        text_string(out, "\\n");
        report_put_quoted(out, shape, 0);
    }
    if (step->cost_ns > 0)
        text_format(out, "\\n%.1f us, %.1f %%", step->cost_ns / 1e3,
                    100 * step->cost_ns / total_ns);
    text_format(out, "\", fillcolor=\"%s\"",
                step->backend == GRAPH_NONE ? "#FFFFFF" : palette[step->backend % PALETTE_COLOURS]);
    put_tooltip(graph, plan, index, out);
    if (step->kind != PLAN_KERNEL)
        text_string(out, ", fontsize=8, height=0.2, margin=\"0.05,0.02\"");
    text_string(out, "];\n");
}

static void put_port(const struct graph *graph, value_id value, char prefix, uint32_t port,
                     struct text *out)
{
    const struct value *v = &graph->values[value];
    char shape[96];
    dims_print(v->tensor.dims, v->tensor.rank, shape, sizeof shape);
    text_format(out, "  %c%u [label=\"", prefix, port);
    report_put_quoted(out, v->name, 0);
    text_format(out, "\\n%s\", shape=ellipse, fillcolor=\"#FFFFFF\"];\n", shape);
}

static void put_edge_end(struct text *out, const struct plan_tensor *tensor)
{
    if (!layout_is_plain(&tensor->layout)) {
        text_string(out, " [label=\"");
        report_put_quoted(out, tensor->layout.tag, 0);
        text_string(out, "\"]");
    }
    text_string(out, ";\n");
}

static void put_edges(const struct plan *plan, const uint32_t *writers, struct text *out)
{
    for (uint32_t s = 0; s < plan->step_count; s++)
        for (uint32_t k = 0; k < plan->steps[s].input_count; k++) {
            uint32_t owner = plan_tensor_owner(plan, writers, plan->steps[s].inputs[k]);
            const struct plan_tensor *tensor = &plan->tensors[owner];
            if (writers[owner] != GRAPH_NONE)
                text_format(out, "  s%u -> s%u", writers[owner], s);
            else if (tensor->place == PLAN_INPUT)
                text_format(out, "  i%u -> s%u", tensor->port, s);
            else
                continue; /* a constant */
            put_edge_end(out, tensor);
        }
    for (uint32_t t = 0; t < plan->tensor_count; t++) {
        const struct plan_tensor *tensor = &plan->tensors[t];
        if (tensor->place == PLAN_OUTPUT && writers[t] != GRAPH_NONE)
            text_format(out, "  s%u -> o%u;\n", writers[t], tensor->port);
    }
}

/* A row of boxes of its own (no cluster: laying those out leaks in Graphviz 2.43). */
static collage_status put_legend(const struct plan *plan, struct text *out, struct error *error)
{
    struct backend_share *shares = memory_alloc((plan->backend_count + 1) * sizeof *shares);
    if (!shares)
        return error_memory(error);
    report_count_shares(plan, shares);
    for (uint32_t k = 0; k < plan->backend_count; k++) {
        text_format(out, "  b%u [label=\"", k);
        report_put_quoted(out, plan->backends[k].name, 0);
        text_string(out, " ");
        report_put_quoted(out, plan->backends[k].version, 0);
        text_format(out, "\\n%u operators, %.3f ms\", fillcolor=\"%s\", penwidth=3];\n",
                    shares[k].nodes, shares[k].predicted_ns / 1e6, palette[k % PALETTE_COLOURS]);
    }
    memory_free(shares);
    return COLLAGE_OK;
}

collage_status report_dot(const struct graph *graph, const struct plan *plan, struct text *out,
                          struct error *error)
{
    uint32_t *writers = memory_alloc((plan->tensor_count + 1) * sizeof *writers);
    if (!writers)
        return error_memory(error);
    plan_tensor_writers(plan, writers);
    text_string(out, "digraph plan {\n  graph [label=\"");
    report_put_quoted(out, graph->name, 0);
    text_format(out, "\\n%d thread%s, predicted %.3f ms", plan->threads,
                plan->threads == 1 ? "" : "s", plan->predicted_ns / 1e6);
    text_string(out, "\", labelloc=t, fontname=\"Helvetica\", fontsize=14];\n"
                     "  node [shape=box, style=filled, fontname=\"Helvetica\", fontsize=11];\n"
                     "  edge [fontname=\"Helvetica\", fontsize=8];\n");
    collage_status status = put_legend(plan, out, error);
    for (uint32_t k = 0; k < graph->input_count; k++)
        put_port(graph, graph->inputs[k], 'i', k, out);
    const double total_ns = sum_costs(plan);
    for (uint32_t s = 0; s < plan->step_count; s++)
        put_step(graph, plan, s, total_ns, out);
    for (uint32_t k = 0; k < graph->output_count; k++)
        put_port(graph, graph->outputs[k], 'o', k, out);
    put_edges(plan, writers, out);
    text_string(out, "}\n");
    memory_free(writers);
    return status;
}
