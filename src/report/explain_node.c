/* SPDX-License-Identifier: Apache-2.0 */
/* Why a node runs where it does. */
#include <math.h>

#include "plan/lanes.h"
#include "report/candidates.h"
#include "report/explain.h"
#include "report/parts.h"

/* The step that runs the node; GRAPH_NONE: it is a view. */
static uint32_t find_step(const struct plan *plan, node_id node)
{
    for (uint32_t s = 0; s < plan->step_count; s++)
        for (uint32_t k = 0; k < plan->steps[s].node_count; k++)
            if (plan->steps[s].nodes[k] == node)
                return s;
    return GRAPH_NONE;
}

static void put_key(struct text *out, const char *key)
{
    report_put(out, key, 11);
    text_string(out, " ");
}

/* "12 '/layer1/conv', Conv, 1x64x56x56" */
static void put_node(const struct graph *graph, node_id node, struct text *out)
{
    const collage_node *base = &graph->nodes[node].base;
    put_key(out, "node");
    text_format(out, "%u ", node);
    if (base->name[0]) {
        text_string(out, "'");
        report_put(out, base->name, 0);
        text_string(out, "', ");
    }
    report_put(out, base->op_type, 0);
    for (uint32_t k = 0; k < base->output_count; k++) {
        char dims[96];
        if (base->outputs[k] == GRAPH_NONE)
            continue;
        const struct tensor *tensor = &graph->values[base->outputs[k]].tensor;
        dims_print(tensor->dims, tensor->rank, dims, sizeof dims);
        text_format(out, ", %s %s", dtype_name(tensor->dtype), dims);
    }
    text_string(out, "\n");
}

static const char *origin_of(const struct cost *cost)
{
    return cost->giver ? " (given, not measured)" : cost->alone_ns > 0 ? " in the network" : "";
}

static void put_cost(const struct explanation *e, uint32_t index, struct text *out)
{
    const struct plan_step *step = &e->plan->steps[index];
    const struct candidate *candidate =
        e->steps[index] == GRAPH_NONE ? NULL : &e->set->items[e->steps[index]];
    put_key(out, "cost");
    if (!candidate)
        text_format(out, "%.2f us when the plan was made; its backend does not offer it here\n",
                    step->cost_ns / 1e3);
    else if (report_lane(e->plan, index) != PLAN_WIDE)
        text_format(out, "%.2f us in its lane when the plan was made\n", step->cost_ns / 1e3);
    else if (candidate->cost.state != COST_MEASURED)
        text_string(out, "not known\n");
    else
        text_format(out, "%.2f us%s; %.2f us%s when the plan was made\n",
                    candidate->cost.cost_ns / 1e3, origin_of(&candidate->cost), step->cost_ns / 1e3,
                    step->given ? " (given)" : "");
}

/* What it has to do, and how near its cost is to the least time for that. */
static void put_roofline(const struct explanation *e, uint32_t index, struct text *out)
{
    const double bound = report_step_bound(e, index), cost = report_step_cost(e, index);
    if (!e->roofline)
        return;
    const struct workload *work = &e->roofline->work[index];
    put_key(out, "work");
    text_format(out, "%.3f MFLOP; %.3f MB of weights, %.3f MB of inputs and outputs\n",
                work->flop / 1e6, (double)work->weight_bytes / 1e6,
                (double)work->activation_bytes / 1e6);
    put_key(out, "roofline");
    if (!e->roofline->known) {
        text_string(out, "not known before `collage explain PLAN --roofline` has measured the "
                         "machine's peaks\n");
        return;
    }
    text_format(out, "%.2f us at least", bound / 1e3);
    if (cost > 0)
        text_format(out, ", %.1f %% of the cost; room: %.2f us", 100 * bound / cost,
                    fmax(0, cost - bound) / 1e3);
    text_string(out, "\n");
}

static void put_step(const struct explanation *e, uint32_t index, struct text *out)
{
    const struct plan_step *step = &e->plan->steps[index];
    const struct plan_backend *backend = &e->plan->backends[step->backend];
    char text[320];
    put_key(out, "step");
    plan_step_describe(step, e->graph, text, sizeof text);
    text_format(out, "%u of %u: %s", index, e->plan->step_count, text);
    report_node_ids(step->nodes, step->node_count, text, sizeof text);
    text_format(out, " (node%s %s)\n", step->node_count == 1 ? "" : "s", text);
    put_key(out, "backend");
    report_put(out, backend->name, 0);
    text_string(out, " ");
    report_put(out, backend->version, 0);
    if (step->variant[0]) {
        text_string(out, ", variant ");
        report_put(out, step->variant, 0);
    }
    if (step->implementation[0]) {
        text_string(out, ", ");
        report_put(out, step->implementation, 0);
    }
    text_string(out, "\n");
    if (report_lane(e->plan, index) != PLAN_WIDE) {
        const int32_t threads = plan_lane_threads(e->plan);
        put_key(out, "lane");
        text_format(out, "%u of %u, on %d of %d threads, beside steps of other lanes\n", step->lane,
                    e->plan->lanes, threads, e->plan->threads);
    }
    if (step->schedule) {
        put_key(out, "schedule");
        report_put(out, step->schedule, 0);
        text_string(out, "\n");
    }
    put_cost(e, index, out);
    put_roofline(e, index, out);
    if (e->steps[index] != GRAPH_NONE) {
        put_key(out, "layouts");
        report_layouts(&e->set->items[e->steps[index]], text, sizeof text);
        report_put(out, text, 0);
        text_string(out, "\n");
    }
    if (step->pattern[0]) {
        put_key(out, "rule");
        report_put(out, step->pattern, 0);
        text_string(out, "\n");
    }
}

/* ---- on the other backends ---- */

/* "Conv (blocked), Add+Relu": the kernels that would run instead. */
static void put_instead(const struct explanation *e, const struct rival *rival, struct text *out)
{
    enum { SHOWN = 4 };
    for (size_t k = 0; k < rival->count && k <= SHOWN; k++) {
        const struct candidate *candidate = &e->set->items[rival->chosen[k]];
        char ops[160];
        text_string(out, k ? ", " : "  ");
        if (k == SHOWN) {
            text_format(out, "and %zu more", rival->count - SHOWN);
            return;
        }
        report_operators(e->graph, candidate->region.nodes, candidate->region.node_count, ops,
                         sizeof ops);
        text_string(out, ops);
        if (candidate->variant[0]) {
            text_string(out, " (");
            report_put(out, candidate->variant, 0);
            text_string(out, ")");
        }
    }
}

static void put_rival(const struct explanation *e, uint32_t step, uint32_t backend,
                      struct text *out)
{
    const struct registry *registry = e->set->registry;
    const struct rival *rival = &e->rivals[(size_t)step * registry->count + backend];
    const struct candidate *own = &e->set->items[e->steps[step]];
    bool same = own->backend == backend;
    uint32_t runner_up = GRAPH_NONE;
    bool best = report_best_rival(e, step, &runner_up) && runner_up == backend;
    if (!rival->found && same)
        return;
    text_string(out, "  ");
    report_put(out, registry->entries[backend].name, 14);
    if (!rival->found) {
        text_string(out, " no measured kernels that fit\n");
        return;
    }
    text_format(out, " %+10.2f us", rival->extra_ns / 1e3);
    if (own->cost.cost_ns > 0)
        text_format(out, " %+7.1f %%", 100 * rival->extra_ns / own->cost.cost_ns);
    if (!rival->proven)
        text_string(out, " at most");
    put_instead(e, rival, out);
    text_string(out, same ? ": another way\n" : best ? ": the runner-up\n" : "\n");
}

static void put_rivals(const struct explanation *e, uint32_t step, struct text *out)
{
    const struct registry *registry = e->set->registry;
    if (e->measured + e->failed == 0) {
        text_string(out, "\nThe cost store has no costs for this plan's model, machine, threads "
                         "and library versions.\n");
        return;
    }
    if (!e->comparable || e->steps[step] == GRAPH_NONE) {
        text_string(out, "\nThe costs of the plan's kernels or conversions are not all known: "
                         "nothing can be compared.\n");
        return;
    }
    text_string(out, "\nThese operators elsewhere, all else as it is: what the whole would cost "
                     "more.\n");
    for (uint32_t b = 0; b < registry->count; b++)
        if (registry->entries[b].api)
            put_rival(e, step, b, out);
}

/* What the plan pays for each node: the cost of its step, spread evenly. */
static double *spread_costs(const struct explanation *e)
{
    double *prices = memory_alloc((e->graph->node_count + 1) * sizeof *prices);
    for (uint32_t s = 0; prices && s < e->plan->step_count; s++) {
        const struct plan_step *step = &e->plan->steps[s];
        bool known =
            e->steps[s] != GRAPH_NONE && e->set->items[e->steps[s]].cost.state == COST_MEASURED;
        double cost = known ? e->set->items[e->steps[s]].cost.cost_ns : step->cost_ns;
        for (uint32_t k = 0; k < step->node_count && isfinite(cost); k++)
            prices[step->nodes[k]] = cost / step->node_count;
    }
    return prices;
}

collage_status report_explain_node(const struct explanation *e, node_id node, struct text *out,
                                   struct error *error)
{
    uint32_t step = find_step(e->plan, node);
    double *prices = spread_costs(e);
    if (!prices)
        return error_memory(error);
    put_node(e->graph, node, out);
    if (step == GRAPH_NONE) {
        put_key(out, "step");
        text_string(out, "none: it is a view, which shows the bytes of its input and takes no "
                         "time\n");
    } else {
        put_step(e, step, out);
        put_rivals(e, step, out);
    }
    const struct candidate_table table = { .set = e->set,
                                           .node = node,
                                           .chosen =
                                               step == GRAPH_NONE ? GRAPH_NONE : e->steps[step],
                                           .prices = prices };
    collage_status status = report_candidates_text(&table, out, error);
    memory_free(prices);
    return status == COLLAGE_OK && out->failed ? error_memory(error) : status;
}

collage_status report_measured_node(const struct measured_node *measured, struct text *out,
                                    struct error *error)
{
    const struct candidate_set *set = measured->set;
    put_node(set->graph, measured->node, out);
    put_key(out, "machine");
    report_put(out, measured->device_name, 0);
    text_format(out, ", %d thread%s\n", set->target.threads, set->target.threads == 1 ? "" : "s");
    put_key(out, "libraries");
    for (uint32_t b = 0, shown = 0; b < set->registry->count; b++) {
        const struct backend_entry *entry = &set->registry->entries[b];
        if (!entry->api || entry->problem[0])
            continue;
        text_string(out, shown++ ? ", " : "");
        report_put(out, entry->name, 0);
        text_string(out, " ");
        report_put(out, entry->version, 0);
    }
    text_string(out, "\n");
    const struct candidate_table table = {
        .set = set, .node = measured->node, .chosen = GRAPH_NONE, .origins = measured->origins
    };
    collage_status status = report_candidates_text(&table, out, error);
    return status == COLLAGE_OK && out->failed ? error_memory(error) : status;
}
