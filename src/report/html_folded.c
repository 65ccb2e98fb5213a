/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture in the page, folded: steps that follow each other on one backend are one box. It is
 * what can be read of a network of a thousand operators. A run is an interval of the order of
 * running, so folded boxes never wait for each other in a circle.
 */
#include <math.h>
#include <string.h>

#include "report/escape.h"
#include "report/page.h"
#include "report/parts.h"

enum { WIDTH = 260, HEIGHT = 84, PORT_WIDTH = 200, PORT_HEIGHT = 40, SHOWN = 26 };

struct run {
    uint32_t first, end; /* steps */
    uint32_t backend;    /* of its kernels; GRAPH_NONE: it has none */
    uint32_t nodes;
    double cost_ns;
};

/* Boxes: the model's inputs, the runs, the model's outputs. */
struct folded {
    const struct page *page;
    struct run *runs;
    uint32_t *run_of; /* step by step */
    uint32_t run_count, first_output;
    uint32_t *writers;
    uint32_t *reached; /* box by box: the last run that an edge from it goes to, and 1 */
    struct layers layers;
    const collage_layout **labels;
};

/* What is no kernel belongs to the run before it. */
static bool begins_run(const struct plan *plan, uint32_t step, uint32_t backend)
{
    const struct plan_step *s = &plan->steps[step];
    return step == 0 || (s->kind == PLAN_KERNEL && backend != GRAPH_NONE && s->backend != backend);
}

/* The backend that a run has once it has that step. */
static uint32_t backend_after(const struct plan *plan, uint32_t step, uint32_t backend)
{
    return plan->steps[step].kind == PLAN_KERNEL ? plan->steps[step].backend : backend;
}

uint32_t page_count_runs(const struct page *page)
{
    uint32_t count = 0, backend = GRAPH_NONE;
    for (uint32_t s = 0; s < page->plan->step_count; s++) {
        if (begins_run(page->plan, s, backend))
            count++;
        backend = backend_after(page->plan, s, backend);
    }
    return count;
}

static void find_runs(struct folded *f)
{
    const struct plan *plan = f->page->plan;
    uint32_t count = 0, backend = GRAPH_NONE;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        if (begins_run(plan, s, backend))
            f->runs[count++] = (struct run){ .first = s };
        struct run *run = &f->runs[count - 1];
        backend = backend_after(plan, s, backend);
        run->end = s + 1;
        run->backend = backend;
        run->nodes += plan->steps[s].node_count;
        run->cost_ns += page_cost(f->page, s);
        f->run_of[s] = count - 1;
    }
}

/* ---- boxes and edges ---- */

/* The box that a tensor comes from; GRAPH_NONE for a constant. */
static uint32_t source_of(const struct folded *f, uint32_t tensor)
{
    const struct plan *plan = f->page->plan;
    uint32_t owner = plan_tensor_owner(plan, f->writers, tensor);
    if (f->writers[owner] != GRAPH_NONE)
        return f->page->graph->input_count + f->run_of[f->writers[owner]];
    bool input = plan->tensors[owner].place == PLAN_INPUT &&
                 plan->tensors[owner].port < f->page->graph->input_count;
    return input ? plan->tensors[owner].port : GRAPH_NONE;
}

/* One edge between two boxes, however many values go that way. */
static void add_edge(struct folded *f, uint32_t from, uint32_t to, const collage_layout *label)
{
    if (from >= to || f->reached[from] == to + 1)
        return;
    f->reached[from] = to + 1;
    f->labels[f->layers.edge_count] = label;
    f->layers.edges[f->layers.edge_count++] = (struct layer_edge){ .from = from, .to = to };
}

static void add_edges(struct folded *f)
{
    const struct plan *plan = f->page->plan;
    const uint32_t inputs = f->page->graph->input_count;
    for (uint32_t s = 0; s < plan->step_count; s++)
        for (uint32_t k = 0; k < plan->steps[s].input_count; k++) {
            uint32_t tensor = plan->steps[s].inputs[k];
            uint32_t owner = plan_tensor_owner(plan, f->writers, tensor);
            add_edge(f, source_of(f, tensor), inputs + f->run_of[s], &plan->tensors[owner].layout);
        }
    for (uint32_t t = 0; t < plan->tensor_count; t++) {
        const struct plan_tensor *tensor = &plan->tensors[t];
        if (tensor->place == PLAN_OUTPUT && f->writers[t] != GRAPH_NONE &&
            tensor->port < f->page->graph->output_count)
            add_edge(f, inputs + f->run_of[f->writers[t]], f->first_output + tensor->port,
                     &tensor->layout);
    }
}

static collage_status make(struct folded *f, struct error *error)
{
    const struct plan *plan = f->page->plan;
    const struct graph *graph = f->page->graph;
    struct arena *arena = f->page->arena;
    f->run_count = page_count_runs(f->page);
    f->first_output = graph->input_count + f->run_count;
    size_t boxes = (size_t)f->first_output + graph->output_count;
    size_t edges = plan->tensor_count;
    for (uint32_t s = 0; s < plan->step_count; s++)
        edges += plan->steps[s].input_count;
    f->runs = arena_array(arena, (size_t)f->run_count + 1, sizeof *f->runs);
    f->run_of = arena_array(arena, (size_t)plan->step_count + 1, sizeof *f->run_of);
    f->writers = arena_array(arena, (size_t)plan->tensor_count + 1, sizeof *f->writers);
    f->reached = arena_array(arena, boxes + 1, sizeof *f->reached);
    f->labels = arena_array(arena, edges + 1, sizeof *f->labels);
    f->layers.boxes = arena_array(arena, boxes + 1, sizeof *f->layers.boxes);
    f->layers.edges = arena_array(arena, edges + 1, sizeof *f->layers.edges);
    f->layers.box_count = boxes;
    if (!f->runs || !f->run_of || !f->writers || !f->reached || !f->labels || !f->layers.boxes ||
        !f->layers.edges)
        return error_memory(error);
    plan_tensor_writers(plan, f->writers);
    find_runs(f);
    for (size_t b = 0; b < boxes; b++) {
        bool run = b >= graph->input_count && b < f->first_output;
        f->layers.boxes[b].width = run ? WIDTH : PORT_WIDTH;
        f->layers.boxes[b].height = run ? HEIGHT : PORT_HEIGHT;
    }
    add_edges(f);
    return layers_arrange(&f->layers, arena, error);
}

/* ---- drawing ---- */

static void put_facts(const struct folded *f, const struct run *run)
{
    const struct page *page = f->page;
    text_format(page->out, "%.1f us, %.1f %%", run->cost_ns / 1e3,
                page->total_ns > 0 ? 100 * run->cost_ns / page->total_ns : 0.0);
}

/* "Steps 3 to 14 on onednn" */
static void put_title(const struct folded *f, const struct run *run)
{
    const struct page *page = f->page;
    text_format(page->out, "Steps %u to %u on ", run->first, run->end - 1);
    report_put_html(page->out,
                    run->backend == GRAPH_NONE ? "none" : page->plan->backends[run->backend].name,
                    160);
    text_string(page->out, ", ");
    put_facts(f, run);
}

static void put_run(const struct folded *f, uint32_t index)
{
    struct text *out = f->page->out;
    const struct run *run = &f->runs[index];
    const struct layer_box *box = &f->layers.boxes[f->page->graph->input_count + index];
    const bool known = run->backend != GRAPH_NONE;
    text_format(out,
                "<g class=\"f\" data-from=\"%u\" data-to=\"%u\" tabindex=\"0\" role=\"button\" "
                "transform=\"translate(%.0f %.0f)\" aria-label=\"",
                run->first, run->end - 1, box->x - box->width / 2, box->y - box->height / 2);
    put_title(f, run);
    text_format(out,
                "\">\n<rect class=\"kernel\" width=\"%d\" height=\"%d\" rx=\"5\" fill=\"%s\"/>\n",
                WIDTH, HEIGHT, known ? report_colour(run->backend) : "#ffffff");
    text_string(out, "<title>");
    put_title(f, run);
    text_string(out, "</title>\n<text class=\"t\" x=\"10\" y=\"26\">");
    report_put_html(out, known ? f->page->plan->backends[run->backend].name : "copies", SHOWN);
    text_format(out, "</text>\n<text x=\"10\" y=\"50\">%u step%s, %u operator%s</text>\n",
                run->end - run->first, run->end - run->first == 1 ? "" : "s", run->nodes,
                run->nodes == 1 ? "" : "s");
    text_string(out, "<text x=\"10\" y=\"73\">");
    put_facts(f, run);
    text_string(out, "</text>\n</g>\n");
}

static void put_port(const struct folded *f, uint32_t b, value_id value, const char *kind)
{
    struct text *out = f->page->out;
    const struct layer_box *box = &f->layers.boxes[b];
    text_format(out,
                "<g class=\"io\" transform=\"translate(%.0f %.0f)\">\n<rect class=\"port\" "
                "width=\"%d\" height=\"%d\" rx=\"18\" fill=\"#ffffff\"/>\n"
                "<text class=\"u\" x=\"12\" y=\"25\">%s ",
                box->x - box->width / 2, box->y - box->height / 2, PORT_WIDTH, PORT_HEIGHT, kind);
    report_put_html(out, f->page->graph->values[value].name, 20);
    text_string(out, "</text>\n</g>\n");
}

collage_status page_put_folded(const struct page *page, struct error *error)
{
    struct folded f = { .page = page };
    const struct graph *graph = page->graph;
    collage_status status = make(&f, error);
    if (status != COLLAGE_OK)
        return status;
    text_format(page->out, "<g id=\"folded\" data-w=\"%.0f\" data-h=\"%.0f\">\n",
                ceil(f.layers.width), ceil(f.layers.height));
    for (size_t e = 0; e < f.layers.edge_count; e++)
        page_put_edge(page->out, &f.layers, e, "fe", f.labels[e]);
    for (uint32_t k = 0; k < graph->input_count; k++)
        put_port(&f, k, graph->inputs[k], "input");
    for (uint32_t r = 0; r < f.run_count; r++)
        put_run(&f, r);
    for (uint32_t k = 0; k < graph->output_count; k++)
        put_port(&f, f.first_output + k, graph->outputs[k], "output");
    text_string(page->out, "</g>\n");
    return COLLAGE_OK;
}
