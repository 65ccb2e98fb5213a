/* SPDX-License-Identifier: Apache-2.0 */
#include "report/html.h"

#include <math.h>
#include <stdio.h>

#include "report/escape.h"
#include "report/page.h"
#include "report/parts.h"
#include "tensor/layout.h"

/* ---- what the parts ask for ---- */

double page_cost(const struct page *page, uint32_t step)
{
    double cost = page->plan->steps[step].cost_ns;
    return isfinite(cost) && cost > 0 ? cost : 0;
}

double page_share(const struct page *page, uint32_t step)
{
    return page->total_ns > 0 ? 100 * page_cost(page, step) / page->total_ns : 0;
}

const char *page_backend(const struct page *page, uint32_t step)
{
    uint32_t backend = page->plan->steps[step].backend;
    return backend == GRAPH_NONE ? "" : page->plan->backends[backend].name;
}

static const char *tag_of(const struct plan *plan, uint32_t tensor)
{
    const collage_layout *layout = &plan->tensors[tensor].layout;
    return layout_is_plain(layout) ? "plain" : layout->tag;
}

void page_describe(const struct page *page, uint32_t step, char *text, size_t size)
{
    const struct plan_step *s = &page->plan->steps[step];
    if (s->kind == PLAN_REORDER && s->input_count == 1 && s->output_count == 1)
        snprintf(text, size, "%s > %s", tag_of(page->plan, s->inputs[0]),
                 tag_of(page->plan, s->outputs[0]));
    else
        plan_step_describe(s, page->graph, text, size);
}

const char *page_name(const struct page *page, uint32_t step)
{
    const struct plan_step *s = &page->plan->steps[step];
    if (s->output_count == 0)
        return "";
    return page->graph->values[page->plan->tensors[s->outputs[0]].value].name;
}

/* ---- tables ---- */

static void put_lines(struct text *out, const char *const *lines)
{
    for (; *lines; lines++)
        text_format(out, "%s\n", *lines);
}

/* A cell that is sorted by its number. Without a fraction: programs may have set a locale in which
 * that would be no number to the script. */
static void put_number(struct text *out, const char *shown, double value)
{
    text_format(out, "<td class=\"n\" data-v=\"%.0f\">%s</td>", value, shown);
}

static void put_cell(struct text *out, const char *string)
{
    text_string(out, "<td>");
    report_put_html(out, string, 160);
    text_string(out, "</td>");
}

/* Headings are buttons: they sort. */
static void put_head(struct text *out, const char *id, const char *caption,
                     const char *const *titles)
{
    text_format(out, "<table id=\"%s\"><caption>%s</caption>\n<thead><tr>", id, caption);
    for (; *titles; titles++)
        text_format(out, "<th scope=\"col\"><button type=\"button\">%s</button></th>", *titles);
    text_string(out, "</tr></thead>\n<tbody>\n");
}

static collage_status put_legend(const struct page *page, struct error *error)
{
    static const char *const titles[] = { "backend",   "version",   "steps", "reorders",
                                          "operators", "time [us]", "share", NULL };
    struct text *out = page->out;
    const struct plan *plan = page->plan;
    struct backend_share *shares =
        arena_array(page->arena, (size_t)plan->backend_count + 1, sizeof *shares);
    if (!shares)
        return error_memory(error);
    report_count_shares(plan, shares);
    struct backend_share sum = { 0 };
    put_head(out, "backends", "Backends", titles);
    for (uint32_t b = 0; b <= plan->backend_count; b++) {
        bool last = b == plan->backend_count;
        const struct backend_share *share = last ? &sum : &shares[b];
        char text[32];
        if (last) {
            text_string(out, "</tbody>\n<tfoot>\n<tr><td>all</td><td></td>");
        } else {
            text_format(out,
                        "<tr><td><svg class=\"key\" width=\"14\" height=\"14\" "
                        "aria-hidden=\"true\"><rect width=\"14\" height=\"14\" rx=\"3\" "
                        "fill=\"%s\"/></svg> ",
                        report_colour(b));
            report_put_html(out, plan->backends[b].name, 160);
            text_string(out, "</td>");
            put_cell(out, plan->backends[b].version);
        }
        text_format(out, "<td class=\"n\">%u</td><td class=\"n\">%u</td><td class=\"n\">%u</td>",
                    share->steps, share->reorders, share->nodes);
        snprintf(text, sizeof text, "%.1f", share->predicted_ns / 1e3);
        put_number(out, text, share->predicted_ns);
        snprintf(text, sizeof text, "%.1f %%",
                 page->total_ns > 0 ? 100 * share->predicted_ns / page->total_ns : 0.0);
        put_number(out, text, share->predicted_ns);
        text_string(out, "</tr>\n");
        sum.steps += share->steps;
        sum.nodes += share->nodes;
        sum.reorders += share->reorders;
        sum.predicted_ns += share->predicted_ns;
    }
    text_string(out, "</tfoot>\n</table>\n");
    return COLLAGE_OK;
}

static void put_layouts(const struct page *page, const struct plan_step *step)
{
    struct text *out = page->out;
    text_string(out, "<td>");
    for (uint32_t k = 0; k < step->input_count && k < 4; k++) {
        text_string(out, k ? " " : "");
        report_put_html(out, tag_of(page->plan, step->inputs[k]), 0);
    }
    text_string(out, step->input_count > 4 ? " ... &gt;" : " &gt;");
    for (uint32_t k = 0; k < step->output_count && k < 4; k++) {
        text_string(out, " ");
        report_put_html(out, tag_of(page->plan, step->outputs[k]), 0);
    }
    text_string(out, step->output_count > 4 ? " ...</td>" : "</td>");
}

static void put_rival(const struct page *page, uint32_t index)
{
    const struct explanation *e = page->explanation;
    uint32_t backend = 0;
    char text[32];
    const struct rival *rival = e ? report_best_rival(e, index, &backend) : NULL;
    if (!rival) {
        text_string(page->out, "<td></td><td class=\"n\" data-v=\"Infinity\"></td>");
        return;
    }
    put_cell(page->out, e->set->registry->entries[backend].name);
    snprintf(text, sizeof text, "%+.1f", rival->extra_ns / 1e3);
    put_number(page->out, text, rival->extra_ns);
}

static void put_step_row(const struct page *page, uint32_t index)
{
    struct text *out = page->out;
    const struct plan_step *step = &page->plan->steps[index];
    char text[160];
    text_format(out,
                "<tr><td class=\"n\" data-v=\"%u\"><button type=\"button\" class=\"go\" "
                "data-i=\"%u\">%u</button></td>",
                index, index, index);
    put_cell(out, page_backend(page, index));
    page_describe(page, index, text, sizeof text);
    put_cell(out, text);
    put_cell(out, page_name(page, index));
    report_shape(page->graph, page->plan, step, text, sizeof text);
    put_cell(out, text);
    put_cell(out, step->variant);
    put_layouts(page, step);
    snprintf(text, sizeof text, "%.1f", page_cost(page, index) / 1e3);
    put_number(out, text, page_cost(page, index));
    snprintf(text, sizeof text, "%.1f %%", page_share(page, index));
    put_number(out, text, page_share(page, index));
    put_rival(page, index);
    text_string(out, "</tr>\n");
}

static void put_steps(const struct page *page)
{
    static const char *const titles[] = { "step",  "backend",   "operators", "output",
                                          "shape", "variant",   "layouts",   "time [us]",
                                          "share", "runner-up", "by [us]",   NULL };
    put_head(page->out, "steps", "Steps, in the order of running", titles);
    for (uint32_t s = 0; s < page->plan->step_count; s++)
        put_step_row(page, s);
    text_string(page->out, "</tbody>\n</table>\n");
}

static void put_race(const struct page *page)
{
    static const char *const titles[] = { "contestant", "min [ms]", "median [ms]", "time / plan",
                                          "95 % from",  "to",       "note",        NULL };
    struct text *out = page->out;
    if (page->plan->result_count == 0)
        return;
    put_head(out, "race", "The final race", titles);
    for (uint32_t k = 0; k < page->plan->result_count; k++) {
        const struct plan_result *result = &page->plan->results[k];
        const double numbers[] = { result->minimum_ns / 1e6, result->median_ns / 1e6, result->ratio,
                                   result->ratio_low, result->ratio_high };
        text_string(out, result->chosen ? "<tr class=\"chosen\">" : "<tr>");
        put_cell(out, result->name);
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
            char text[32];
            snprintf(text, sizeof text, "%.3f", numbers[n]);
            put_number(out, result->median_ns > 0 ? text : "-", 1e6 * numbers[n]);
        }
        put_cell(out, result->note);
        text_string(out, "</tr>\n");
    }
    text_string(out, "</tbody>\n</table>\n");
}

/* ---- the page ---- */

/* What is in the page may run and style it; nothing is fetched, whatever a name says. */
static void put_top(const struct page *page)
{
    struct text *out = page->out;
    text_string(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "script-src 'nonce-collage'; style-src 'nonce-collage'; base-uri 'none'; "
                     "form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    report_put_html(out, page->graph->name, 160);
    text_string(out, " - Collage</title>\n<style nonce=\"collage\">\n");
    put_lines(out, page_style);
    text_string(out, "</style>\n</head>\n<body>\n<header>\n<h1>");
    report_put_html(out, page->graph->name, 160);
    text_string(out, "</h1>\n");
}

static void put_summary(const struct page *page)
{
    struct text *out = page->out;
    const struct plan *plan = page->plan;
    struct text bound = { 0 };
    text_format(out, "<p>%u steps, %zu operators, %d thread%s, predicted %.3f ms. ",
                plan->step_count, page->graph->node_count, plan->threads,
                plan->threads == 1 ? "" : "s", plan->predicted_ns / 1e6);
    report_put_html(out, plan->device_name, 160);
    text_string(out, plan->device_name[0] ? ". " : "");
    report_bound_text(plan, &bound);
    text_string(out, "The placement: ");
    report_put_html(out, bound.bytes ? bound.bytes : "", 0);
    out->failed = out->failed || bound.failed;
    text_free(&bound);
    text_string(out, ".</p>\n");
    if (plan->lanes) {
        text_string(out, "<p>");
        report_lanes_text(plan, out);
        text_string(out, ".</p>\n");
    }
    if (report_ended_early(plan))
        text_string(out, "<p>The search was ended early: the plan is made of what was measured by "
                         "then, and the race was short.</p>\n");
    if (!page->explanation || page->explanation->measured == 0)
        text_string(out, "<p>The cost store has no costs of alternatives for this plan's model, "
                         "machine, threads and library versions.</p>\n");
}

static void put_controls(const struct page *page)
{
    struct text *out = page->out;
    const char *fold =
        page_count_runs(page) < page->plan->step_count
            ? "<button type=\"button\" id=\"fold\" aria-pressed=\"false\">fold</button> "
            : "";
    text_format(
        out,
        "<p id=\"controls\"><button type=\"button\" id=\"in\">+</button> "
        "<button type=\"button\" id=\"out\">-</button> "
        "<button type=\"button\" id=\"fit\">whole</button> %s"
        "<label>find <input id=\"find\" type=\"search\" placeholder=\"operator or name\"></label> "
        "<span id=\"found\" role=\"status\"></span></p>\n"
        "<p class=\"hint\">Drag or arrow keys to move, wheel or + and - to zoom, 0 for the whole; "
        "on a step, arrow keys go to the next one.</p>\n"
        "<noscript><p>Without scripts the picture cannot be moved, and the alternatives are not "
        "shown.</p></noscript>\n",
        fold);
}

static void put_swatch(struct text *out, const char *colour, bool dashed)
{
    text_format(out,
                "<li><svg class=\"key\" width=\"14\" height=\"14\" aria-hidden=\"true\"><rect "
                "class=\"%s\" x=\"1\" y=\"1\" width=\"12\" height=\"12\" rx=\"3\" fill=\"%s\"/>"
                "</svg> ",
                dashed ? "small" : "kernel", colour);
}

/* What the colours and lines of the picture mean; sums are in the table below. */
static void put_key(const struct page *page)
{
    struct text *out = page->out;
    text_string(out, "<ul id=\"key\">\n");
    for (uint32_t b = 0; b < page->plan->backend_count; b++) {
        put_swatch(out, report_colour(b), false);
        report_put_html(out, page->plan->backends[b].name, 40);
        text_string(out, "</li>\n");
    }
    put_swatch(out, "#ffffff", true);
    text_string(out,
                "dashed: a reorder (from &gt; to) or a copy</li>\n<li>on a line: the layout, where "
                "it is not row-major</li>\n<li>the strip: time of each step, in the order of "
                "running</li>\n</ul>\n");
}

static collage_status put_page(const struct page *page, struct error *error)
{
    struct text *out = page->out;
    put_top(page);
    put_summary(page);
    put_controls(page);
    put_key(page);
    page_put_strip(page);
    text_string(out, "</header>\n<main>\n");
    collage_status status = page_put_graph(page, error);
    text_string(out, "<aside id=\"detail\" aria-live=\"polite\">"
                     "<p>Point at a step, or go to it with the keyboard, to see what else could "
                     "run it.</p></aside>\n</main>\n");
    if (status == COLLAGE_OK)
        status = put_legend(page, error);
    put_race(page);
    if (status == COLLAGE_OK)
        status = page_put_convergence(page, error);
    put_steps(page);
    text_string(out, "<script type=\"application/json\" id=\"data\">");
    if (status == COLLAGE_OK)
        status = page_put_data(page, error);
    text_string(out, "</script>\n<script nonce=\"collage\">\n");
    put_lines(out, page_script);
    text_string(out, "</script>\n</body>\n</html>\n");
    return status;
}

collage_status report_html(const struct graph *graph, const struct plan *plan,
                           const struct explanation *explanation, struct text *out,
                           struct error *error)
{
    struct page page = { .graph = graph,
                         .plan = plan,
                         .explanation = explanation,
                         .arena = arena_create(),
                         .out = out };
    if (!page.arena)
        return error_memory(error);
    for (uint32_t s = 0; s < plan->step_count; s++)
        page.total_ns += page_cost(&page, s);
    collage_status status = put_page(&page, error);
    arena_destroy(page.arena);
    return status == COLLAGE_OK && out->failed ? error_memory(error) : status;
}
