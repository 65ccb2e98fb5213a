/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page's script shows of a step: its operators, how it would run on the other backends,
 * and the measured candidates that share operators with it. Short names, one step a line:
 *   w, b, v, l, c: what, backend, variant, implementation, cost
 *   i: nodes [number, operator, name, shape]; n: how many more there are
 *   u: the least time by the machine's peaks, if they are known; o, y: operations, bytes
 *   r: rivals [backend, what the whole costs more, proven, kernels]
 *   a: candidates [backend, variant, operators, node numbers, layouts, cost, the plan's price for
 *      the same nodes, why it failed]; m: how many more there are
 *   f: refusals [backend, node number, why]
 * Times are whole nanoseconds: a fraction would depend on the locale of the program.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/candidates.h"
#include "report/escape.h"
#include "report/page.h"

enum { MOST_CANDIDATES = 12, MOST_NODES = 40, MOST_REFUSALS = 8 };

/* A candidate that shares nodes with a step: the same ones, some, all and more, or just some. */
struct option {
    uint32_t step, rank;
    candidate_id id;
    const struct candidate *candidate;
};

struct options {
    struct option *items;
    size_t count, capacity;
};

static int compare_options(const void *left, const void *right)
{
    const struct option *a = left;
    const struct option *b = right;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->candidate->cost.state != b->candidate->cost.state)
        return a->candidate->cost.state == COST_MEASURED ? -1 : 1;
    if (a->candidate->cost.cost_ns < b->candidate->cost.cost_ns ||
        a->candidate->cost.cost_ns > b->candidate->cost.cost_ns)
        return a->candidate->cost.cost_ns < b->candidate->cost.cost_ns ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static bool add_option(struct options *options, uint32_t step, uint32_t rank, candidate_id id,
                       const struct candidate *candidate)
{
    if (!memory_grow((void **)&options->items, &options->capacity, options->count,
                     sizeof *options->items))
        return false;
    options->items[options->count++] = (struct option){ step, rank, id, candidate };
    return true;
}

/* How a candidate of so many nodes lies to a step of so many, if they share `shared`. */
static uint32_t rank_of(uint32_t shared, uint32_t nodes, uint32_t step_nodes)
{
    if (shared == nodes && shared == step_nodes)
        return 0;
    return shared == nodes ? 1 : shared == step_nodes ? 2 : 3;
}

/* One candidate: with each step that it shares nodes with. `shared` is all zeros, and is left so.
 */
static bool add_candidate(const struct page *page, candidate_id id, const uint32_t *step_of,
                          uint32_t *shared, struct options *options)
{
    const struct candidate *candidate = &page->explanation->set->items[id];
    const struct region *region = &candidate->region;
    bool fine = true;
    if (candidate->view || candidate->cost.state == COST_UNKNOWN)
        return true;
    for (uint32_t k = 0; k < region->node_count; k++)
        if (step_of[region->nodes[k]] != GRAPH_NONE)
            shared[step_of[region->nodes[k]]]++;
    for (uint32_t k = 0; k < region->node_count; k++) {
        uint32_t step = step_of[region->nodes[k]];
        if (step == GRAPH_NONE || shared[step] == 0)
            continue;
        uint32_t rank =
            rank_of(shared[step], region->node_count, page->plan->steps[step].node_count);
        shared[step] = 0;
        if (fine && page->explanation->steps[step] != id)
            fine = add_option(options, step, rank, id, candidate);
    }
    return fine;
}

static collage_status collect(const struct page *page, struct options *options, struct error *error)
{
    size_t nodes = page->graph->node_count;
    uint32_t *step_of = arena_array(page->arena, nodes + 1, sizeof *step_of);
    uint32_t *shared = arena_array(page->arena, (size_t)page->plan->step_count + 1, sizeof *shared);
    if (!step_of || !shared)
        return error_memory(error);
    memset(step_of, 0xff, nodes * sizeof *step_of); /* GRAPH_NONE */
    for (uint32_t s = 0; s < page->plan->step_count; s++)
        for (uint32_t k = 0; k < page->plan->steps[s].node_count; k++)
            step_of[page->plan->steps[s].nodes[k]] = s;
    for (candidate_id id = 0; id < page->explanation->set->count; id++)
        if (!add_candidate(page, id, step_of, shared, options))
            return error_memory(error);
    if (options->count > 0)
        qsort(options->items, options->count, sizeof *options->items, compare_options);
    return COLLAGE_OK;
}

/* ---- writing ---- */

static void put_number(struct text *out, double number)
{
    text_format(out, "%.0f", isfinite(number) ? number : 0.0);
}

static void put_nodes(const struct page *page, const struct plan_step *step)
{
    struct text *out = page->out;
    text_string(out, "\"i\":[");
    for (uint32_t k = 0; k < step->node_count && k < MOST_NODES; k++) {
        const collage_node *node = &page->graph->nodes[step->nodes[k]].base;
        char dims[96] = "";
        if (node->output_count > 0 && node->outputs[0] != GRAPH_NONE) {
            const struct tensor *tensor = &page->graph->values[node->outputs[0]].tensor;
            dims_print(tensor->dims, tensor->rank, dims, sizeof dims);
        }
        text_format(out, "%s[%u,", k ? "," : "", step->nodes[k]);
        report_put_json(out, node->op_type);
        text_string(out, ",");
        report_put_json(out, node->name);
        text_format(out, ",\"%s\"]", dims);
    }
    text_format(out, "],\"n\":%u",
                step->node_count > MOST_NODES ? step->node_count - MOST_NODES : 0u);
}

static void put_roofline(const struct page *page, uint32_t step)
{
    const double bound = report_step_bound(page->explanation, step);
    if (bound <= 0)
        return;
    const struct workload *work = &page->explanation->roofline->work[step];
    text_string(page->out, ",\"u\":");
    put_number(page->out, bound);
    text_string(page->out, ",\"o\":");
    put_number(page->out, work->flop);
    text_string(page->out, ",\"y\":");
    put_number(page->out, (double)(work->weight_bytes + work->activation_bytes));
}

static void put_rivals(const struct page *page, uint32_t step)
{
    struct text *out = page->out;
    const struct explanation *e = page->explanation;
    const struct registry *registry = e->set->registry;
    bool any = false;
    text_string(out, ",\"r\":[");
    for (uint32_t b = 0; b < registry->count; b++) {
        const struct rival *rival = &e->rivals[(size_t)step * registry->count + b];
        if (!rival->found)
            continue;
        text_string(out, any ? ",[" : "[");
        any = true;
        report_put_json(out, registry->entries[b].name);
        text_string(out, ",");
        put_number(out, rival->extra_ns);
        text_format(out, ",%d,[", rival->proven);
        for (size_t k = 0; k < rival->count && k < 4; k++) {
            const struct region *region = &e->set->items[rival->chosen[k]].region;
            char ops[160];
            report_operators(page->graph, region->nodes, region->node_count, ops, sizeof ops);
            text_string(out, k ? "," : "");
            report_put_json(out, ops);
        }
        text_string(out, rival->count > 4 ? ",\"...\"]]" : "]]");
    }
    text_string(out, "]");
}

/* What the plan pays for a region: the costs of its steps, spread evenly over their nodes. */
static double price_of(const double *prices, const struct region *region)
{
    double price = 0;
    for (uint32_t k = 0; k < region->node_count; k++)
        price += prices[region->nodes[k]];
    return price;
}

static void put_option(const struct page *page, const struct option *option, const double *prices)
{
    struct text *out = page->out;
    const struct candidate *candidate = option->candidate;
    const struct region *region = &candidate->region;
    char text[320];
    text_string(out, "[");
    report_put_json(out, page->explanation->set->registry->entries[candidate->backend].name);
    text_string(out, ",");
    report_put_json(out, candidate->variant);
    text_string(out, ",");
    report_operators(page->graph, region->nodes, region->node_count, text, sizeof text);
    report_put_json(out, text);
    text_string(out, ",");
    report_node_ids(region->nodes, region->node_count, text, sizeof text);
    report_put_json(out, text);
    text_string(out, ",");
    report_layouts(candidate, text, sizeof text);
    report_put_json(out, text);
    text_string(out, ",");
    put_number(out, candidate->cost.cost_ns);
    text_string(out, ",");
    put_number(out, price_of(prices, region));
    text_string(out, ",");
    report_put_json(out, candidate->cost.state == COST_FAILED ? candidate->cost.reason : "");
    text_string(out, "]");
}

/* The step's options, which follow each other; *at moves behind them. */
static void put_options(const struct page *page, uint32_t step, const struct options *options,
                        size_t *at, const double *prices)
{
    size_t shown = 0, more = 0;
    text_string(page->out, ",\"a\":[");
    for (; *at < options->count && options->items[*at].step == step; ++*at) {
        if (shown == MOST_CANDIDATES) {
            more++;
            continue;
        }
        text_string(page->out, shown++ ? "," : "");
        put_option(page, &options->items[*at], prices);
    }
    text_format(page->out, "],\"m\":%zu", more);
}

static void put_refusals(const struct page *page, const struct plan_step *step)
{
    struct text *out = page->out;
    const struct candidate_set *set = page->explanation->set;
    size_t shown = 0;
    text_string(out, ",\"f\":[");
    for (uint32_t b = 0; set->refusals && b < set->registry->count; b++)
        for (uint32_t k = 0; k < step->node_count && shown < MOST_REFUSALS; k++) {
            const char *why = set->refusals[(size_t)step->nodes[k] * set->registry->count + b];
            if (!why || !set->registry->entries[b].api)
                continue;
            text_string(out, shown++ ? ",[" : "[");
            report_put_json(out, set->registry->entries[b].name);
            text_format(out, ",%u,", step->nodes[k]);
            report_put_json(out, why);
            text_string(out, "]");
        }
    text_string(out, "]");
}

static double *make_prices(const struct page *page)
{
    double *prices = arena_array(page->arena, page->graph->node_count + 1, sizeof *prices);
    for (uint32_t s = 0; prices && s < page->plan->step_count; s++) {
        const struct plan_step *step = &page->plan->steps[s];
        for (uint32_t k = 0; k < step->node_count; k++)
            prices[step->nodes[k]] = page_cost(page, s) / step->node_count;
    }
    return prices;
}

static void put_step(const struct page *page, uint32_t index, const struct options *options,
                     size_t *at, const double *prices)
{
    struct text *out = page->out;
    const struct plan_step *step = &page->plan->steps[index];
    char what[160];
    text_format(out, "%s\n{\"w\":", index ? "," : "");
    page_describe(page, index, what, sizeof what);
    report_put_json(out, what);
    text_string(out, ",\"b\":");
    report_put_json(out, page_backend(page, index));
    text_string(out, ",\"v\":");
    report_put_json(out, step->variant);
    text_string(out, ",\"l\":");
    report_put_json(out, step->implementation);
    text_string(out, ",\"c\":");
    put_number(out, page_cost(page, index));
    text_string(out, ",");
    put_nodes(page, step);
    if (page->explanation) {
        put_roofline(page, index);
        put_rivals(page, index);
        put_options(page, index, options, at, prices);
        put_refusals(page, step);
    }
    text_string(out, "}");
}

collage_status page_put_data(const struct page *page, struct error *error)
{
    struct options options = { 0 };
    size_t at = 0;
    double *prices = make_prices(page);
    collage_status status = prices ? COLLAGE_OK : error_memory(error);
    if (status == COLLAGE_OK && page->explanation)
        status = collect(page, &options, error);
    text_format(page->out, "{\"known\":%d,\"first\":%u,\"total\":",
                page->explanation && page->explanation->measured > 0, page->graph->input_count);
    put_number(page->out, page->total_ns);
    text_string(page->out, ",\"steps\":[");
    for (uint32_t s = 0; s < page->plan->step_count && status == COLLAGE_OK; s++)
        put_step(page, s, &options, &at, prices);
    text_string(page->out, "]}");
    memory_free(options.items);
    return status;
}
