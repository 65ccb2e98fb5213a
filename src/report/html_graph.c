/* SPDX-License-Identifier: Apache-2.0 */
/* The picture in the page: a box a step, with the operators that it joins; small boxes for reorders
 * and copies; what goes in and out of the model; layouts on the edges. Coordinates are whole: a
 * fraction would depend on the locale of the program. */
#include "report/escape.h"
#include "report/layers.h"
#include "report/page.h"
#include "report/parts.h"
#include "tensor/layout.h"

enum {
    KERNEL_WIDTH = 236,
    SMALL_WIDTH = 170,
    PORT_WIDTH = 200,
    HEAD_HEIGHT = 56, /* of a kernel, above its operators */
    ROW_HEIGHT = 19,
    SMALL_HEIGHT = 34,
    PORT_HEIGHT = 40,
    MOST_ROWS = 8,
    SHOWN = 32 /* characters of a line */
};

/* Boxes: the model's inputs, the steps, the model's outputs. */
struct picture {
    const struct page *page;
    struct layers layers;
    const collage_layout **labels; /* edge by edge */
    uint32_t *writers;
    uint32_t first_step, first_output;
};

/* ---- boxes and edges ---- */

static uint32_t rows_of(const struct plan_step *step)
{
    if (step->node_count < 2)
        return 0;
    return step->node_count > MOST_ROWS ? MOST_ROWS + 1 : step->node_count;
}

static void size_boxes(struct picture *p)
{
    const struct plan *plan = p->page->plan;
    for (size_t b = 0; b < p->layers.box_count; b++) {
        struct layer_box *box = &p->layers.boxes[b];
        bool port = b < p->first_step || b >= p->first_output;
        box->width = PORT_WIDTH;
        box->height = PORT_HEIGHT;
        if (port)
            continue;
        const struct plan_step *step = &plan->steps[b - p->first_step];
        bool kernel = step->kind == PLAN_KERNEL;
        uint32_t rows = rows_of(step);
        box->width = kernel ? KERNEL_WIDTH : SMALL_WIDTH;
        box->height =
            kernel ? HEAD_HEIGHT + (double)ROW_HEIGHT * rows + (rows ? 6 : 0) : SMALL_HEIGHT;
    }
}

/* What an edge begins at: the step that writes the tensor, or the model's input; GRAPH_NONE for a
 * constant. */
static uint32_t source_of(const struct picture *p, uint32_t tensor)
{
    const struct plan *plan = p->page->plan;
    uint32_t owner = plan_tensor_owner(plan, p->writers, tensor);
    if (p->writers[owner] != GRAPH_NONE)
        return p->first_step + p->writers[owner];
    bool input = plan->tensors[owner].place == PLAN_INPUT &&
                 plan->tensors[owner].port < p->page->graph->input_count;
    return input ? plan->tensors[owner].port : GRAPH_NONE;
}

static void add_edge(struct picture *p, uint32_t from, uint32_t to, const collage_layout *label)
{
    if (from >= to) /* also a constant: GRAPH_NONE */
        return;
    p->labels[p->layers.edge_count] = label;
    p->layers.edges[p->layers.edge_count++] = (struct layer_edge){ .from = from, .to = to };
}

static void add_edges(struct picture *p)
{
    const struct plan *plan = p->page->plan;
    for (uint32_t s = 0; s < plan->step_count; s++)
        for (uint32_t k = 0; k < plan->steps[s].input_count; k++) {
            uint32_t tensor = plan->steps[s].inputs[k];
            uint32_t owner = plan_tensor_owner(plan, p->writers, tensor);
            add_edge(p, source_of(p, tensor), p->first_step + s, &plan->tensors[owner].layout);
        }
    for (uint32_t t = 0; t < plan->tensor_count; t++) {
        const struct plan_tensor *tensor = &plan->tensors[t];
        if (tensor->place == PLAN_OUTPUT && p->writers[t] != GRAPH_NONE &&
            tensor->port < p->page->graph->output_count)
            add_edge(p, p->first_step + p->writers[t], p->first_output + tensor->port,
                     &tensor->layout);
    }
}

static collage_status make_picture(struct picture *p, struct error *error)
{
    const struct plan *plan = p->page->plan;
    const struct graph *graph = p->page->graph;
    struct arena *arena = p->page->arena;
    p->first_step = graph->input_count;
    p->first_output = p->first_step + plan->step_count;
    p->layers.box_count = (size_t)p->first_output + graph->output_count;
    size_t edges = plan->tensor_count;
    for (uint32_t s = 0; s < plan->step_count; s++)
        edges += plan->steps[s].input_count;
    p->layers.boxes = arena_array(arena, p->layers.box_count, sizeof *p->layers.boxes);
    p->layers.edges = arena_array(arena, edges, sizeof *p->layers.edges);
    p->labels = arena_array(arena, edges, sizeof *p->labels);
    p->writers = arena_array(arena, plan->tensor_count, sizeof *p->writers);
    if (!p->layers.boxes || !p->layers.edges || !p->labels || !p->writers)
        return error_memory(error);
    plan_tensor_writers(plan, p->writers);
    size_boxes(p);
    add_edges(p);
    return layers_arrange(&p->layers, arena, error);
}

/* ---- drawing ---- */

/* The way from box to box: at place k, 0 being the border of the first. */
static struct layer_point point_of(const struct layers *layers, const struct layer_edge *edge,
                                   uint32_t k)
{
    const struct layer_box *from = &layers->boxes[edge->from];
    const struct layer_box *to = &layers->boxes[edge->to];
    if (k == 0)
        return (struct layer_point){ from->x, from->y + from->height / 2 };
    if (k > edge->bend_count)
        return (struct layer_point){ to->x, to->y - to->height / 2 };
    return layers->bends[edge->bends + k - 1];
}

void page_put_edge(struct text *out, const struct layers *layers, size_t index, const char *class,
                   const collage_layout *label)
{
    const struct layer_edge *edge = &layers->edges[index];
    struct layer_point last = point_of(layers, edge, 0), first = last;
    text_format(out, "<path class=\"%s\" data-a=\"%u\" data-b=\"%u\" d=\"M%.0f %.0f", class,
                edge->from, edge->to, last.x, last.y);
    for (uint32_t k = 1; k <= edge->bend_count + 1; k++) {
        struct layer_point next = point_of(layers, edge, k);
        double middle = (last.y + next.y) / 2;
        text_format(out, "C%.0f %.0f %.0f %.0f %.0f %.0f", last.x, middle, next.x, middle, next.x,
                    next.y);
        last = next;
    }
    text_string(out, "\"/>\n");
    if (layout_is_plain(label))
        return;
    struct layer_point next = point_of(layers, edge, 1);
    text_format(out, "<text class=\"el\" x=\"%.0f\" y=\"%.0f\">", (first.x + next.x) / 2 + 4,
                (first.y + next.y) / 2);
    report_put_html(out, label->tag, 0);
    text_string(out, "</text>\n");
}

static void put_line(struct text *out, const char *class, double y, const char *string)
{
    text_format(out, "<text class=\"%s\" x=\"8\" y=\"%.0f\">", class, y);
    report_put_html(out, string, SHOWN);
    text_string(out, "</text>\n");
}

/* "12 Conv /layer1/conv", in a box of its own. */
static void put_row(const struct picture *p, uint32_t row, const struct plan_step *step)
{
    struct text *out = p->page->out;
    double y = HEAD_HEIGHT + (double)ROW_HEIGHT * row;
    text_format(out, "<rect class=\"op\" x=\"5\" y=\"%.0f\" width=\"%d\" height=\"%d\" rx=\"3\"/>",
                y, KERNEL_WIDTH - 10, ROW_HEIGHT - 3);
    if (row == MOST_ROWS) {
        text_format(out, "<text class=\"opt\" x=\"9\" y=\"%.0f\">and %u more</text>\n", y + 12,
                    step->node_count - MOST_ROWS);
        return;
    }
    const collage_node *node = &p->page->graph->nodes[step->nodes[row]].base;
    text_format(out, "<text class=\"opt\" x=\"9\" y=\"%.0f\">", y + 12);
    report_put_html(out, node->op_type, SHOWN);
    text_string(out, " ");
    report_put_html(out, node->name, SHOWN / 2);
    text_string(out, "</text>\n");
}

void page_put_label(const struct page *page, uint32_t index)
{
    struct text *out = page->out;
    char what[160];
    page_describe(page, index, what, sizeof what);
    text_format(out, "Step %u: ", index);
    report_put_html(out, what, 0);
    if (page_backend(page, index)[0]) {
        text_string(out, " on ");
        report_put_html(out, page_backend(page, index), 160);
    }
    if (page_cost(page, index) > 0)
        text_format(out, ", %.1f us, %.1f %%", page_cost(page, index) / 1e3,
                    page_share(page, index));
}

const char *page_colour(const struct page *page, uint32_t step)
{
    uint32_t backend = page->plan->steps[step].backend;
    return backend == GRAPH_NONE ? "#ffffff" : report_colour(backend);
}

static void put_box(const struct picture *p, uint32_t b, const char *class, const char *fill)
{
    const struct layer_box *box = &p->layers.boxes[b];
    text_format(p->page->out,
                " data-b=\"%u\" transform=\"translate(%.0f %.0f)\">\n"
                "<rect class=\"%s\" width=\"%.0f\" height=\"%.0f\" rx=\"%d\" fill=\"%s\"/>\n",
                b, box->x - box->width / 2, box->y - box->height / 2, class, box->width,
                box->height, class[0] == 'p' ? 18 : 5, fill);
}

static void put_step(const struct picture *p, uint32_t index)
{
    struct text *out = p->page->out;
    const struct plan_step *step = &p->page->plan->steps[index];
    bool kernel = step->kind == PLAN_KERNEL;
    char text[160];
    text_format(out, "<g class=\"s\" data-i=\"%u\" tabindex=\"%d\" role=\"img\" aria-label=\"",
                index, index ? -1 : 0);
    page_put_label(p->page, index);
    text_string(out, "\"");
    put_box(p, p->first_step + index, kernel ? "kernel" : "small", page_colour(p->page, index));
    text_string(out, "<title>");
    page_put_label(p->page, index);
    text_string(out, "</title>\n");
    page_describe(p->page, index, text, sizeof text);
    put_line(out, "t", kernel ? 17 : 14, text);
    if (kernel) {
        report_shape(p->page->graph, p->page->plan, step, text, sizeof text);
        put_line(out, "u", 33, text);
    }
    text_format(out, "<text class=\"u\" x=\"8\" y=\"%d\">", kernel ? 49 : 28);
    if (page_cost(p->page, index) > 0)
        text_format(out, "%.1f us, %.1f %% ", page_cost(p->page, index) / 1e3,
                    page_share(p->page, index));
    report_put_html(out, page_backend(p->page, index), 12);
    text_string(out, "</text>\n");
    for (uint32_t r = 0; kernel && r < rows_of(step); r++)
        put_row(p, r, step);
    text_string(out, "</g>\n");
}

static void put_port(const struct picture *p, uint32_t b, value_id value, const char *kind)
{
    struct text *out = p->page->out;
    const struct value *v = &p->page->graph->values[value];
    char shape[96];
    dims_print(v->tensor.dims, v->tensor.rank, shape, sizeof shape);
    text_string(out, "<g class=\"io\"");
    put_box(p, b, "port", "#ffffff");
    text_format(out, "<title>%s ", kind);
    report_put_html(out, v->name, 160);
    text_string(out, "</title>\n");
    text_string(out, "<text class=\"t\" x=\"12\" y=\"17\">");
    report_put_html(out, v->name, 26);
    text_format(out, "</text>\n<text class=\"u\" x=\"12\" y=\"33\">%s %s</text>\n</g>\n", kind,
                shape);
}

static void put_groups(const struct picture *p)
{
    const struct graph *graph = p->page->graph;
    for (size_t e = 0; e < p->layers.edge_count; e++)
        page_put_edge(p->page->out, &p->layers, e, "e", p->labels[e]);
    for (uint32_t k = 0; k < graph->input_count; k++)
        put_port(p, k, graph->inputs[k], "input");
    for (uint32_t s = 0; s < p->page->plan->step_count; s++)
        put_step(p, s);
    for (uint32_t k = 0; k < graph->output_count; k++)
        put_port(p, p->first_output + k, graph->outputs[k], "output");
}

collage_status page_put_graph(const struct page *page, struct error *error)
{
    struct picture p = { .page = page };
    collage_status status = make_picture(&p, error);
    if (status != COLLAGE_OK)
        return status;
    text_format(page->out,
                "<svg id=\"graph\" viewBox=\"0 0 %.0f %.0f\" tabindex=\"0\" role=\"group\" "
                "aria-label=\"the steps of the plan, from top to bottom\" "
                "xmlns=\"http://www.w3.org/2000/svg\">\n",
                p.layers.width, p.layers.height);
    text_string(page->out, "<g id=\"unfolded\">\n");
    put_groups(&p);
    text_string(page->out, "</g>\n");
    if (page_count_runs(page) < page->plan->step_count)
        status = page_put_folded(page, error);
    text_string(page->out, "</svg>\n");
    return status;
}
