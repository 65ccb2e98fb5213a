/* SPDX-License-Identifier: Apache-2.0 */
#include "report/parts.h"

#include <stdio.h>
#include <string.h>

#include "plan/lanes.h"
#include "tensor/layout.h"

void report_count_shares(const struct plan *plan, struct backend_share *shares)
{
    memset(shares, 0, plan->backend_count * sizeof *shares);
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (step->backend == GRAPH_NONE)
            continue;
        struct backend_share *share = &shares[step->backend];
        share->steps++;
        share->nodes += step->node_count;
        share->reorders += step->kind == PLAN_REORDER;
        share->predicted_ns += step->cost_ns;
    }
}

void report_shape(const struct graph *graph, const struct plan *plan, const struct plan_step *step,
                  char *text, size_t size)
{
    text[0] = '\0';
    if (step->output_count == 0)
        return;
    const struct tensor *tensor = &graph->values[plan->tensors[step->outputs[0]].value].tensor;
    dims_print(tensor->dims, tensor->rank, text, size);
}

void report_put_roof(double bound_ns, double time_ns, struct text *out)
{
    if (bound_ns > 0 && time_ns > 0)
        text_format(out, " %5.1f%%", 100 * bound_ns / time_ns);
    else
        text_format(out, " %6s", "-");
}

/* ---- by backend ---- */

static void put_shares(const struct graph *graph, const struct plan *plan,
                       const struct backend_share *shares, struct text *out)
{
    double total = 0;
    uint32_t nodes = 0, copies = 0;
    for (uint32_t k = 0; k < plan->backend_count; k++) {
        total += shares[k].predicted_ns;
        nodes += shares[k].nodes;
    }
    for (uint32_t s = 0; s < plan->step_count; s++)
        copies += plan->steps[s].kind == PLAN_COPY;
    text_string(out, "\n  backend          version       steps  reorders  operators  "
                     "predicted [ms]   share\n");
    for (uint32_t k = 0; k < plan->backend_count; k++) {
        text_string(out, "  ");
        report_put(out, plan->backends[k].name, 16);
        text_string(out, " ");
        report_put(out, plan->backends[k].version, 12);
        text_format(out, " %6u %9u %10u %15.3f %6.1f%%\n", shares[k].steps, shares[k].reorders,
                    shares[k].nodes, shares[k].predicted_ns / 1e6,
                    total > 0 ? 100 * shares[k].predicted_ns / total : 0.0);
    }
    size_t views = graph->node_count - nodes;
    if (views > 0 || copies > 0)
        text_format(out, "  without a kernel: %zu view%s; %u cop%s\n", views, views == 1 ? "" : "s",
                    copies, copies == 1 ? "y" : "ies");
}

/* Operators by how often they are run on a backend, most often first, then by name. */
struct op_total {
    const char *op;
    uint32_t count;
};

static void add_op(struct op_total *totals, size_t *count, const char *op)
{
    for (size_t k = 0; k < *count; k++)
        if (strcmp(totals[k].op, op) == 0) {
            totals[k].count++;
            return;
        }
    totals[(*count)++] = (struct op_total){ op, 1 };
}

static bool goes_before(const struct op_total *a, const struct op_total *b)
{
    return a->count != b->count ? a->count > b->count : strcmp(a->op, b->op) < 0;
}

static void sort_ops(struct op_total *totals, size_t count)
{
    for (size_t k = 1; k < count; k++) {
        struct op_total moved = totals[k];
        size_t at = k;
        for (; at > 0 && goes_before(&moved, &totals[at - 1]); at--)
            totals[at] = totals[at - 1];
        totals[at] = moved;
    }
}

static void put_ops(struct text *out, const char *backend, const struct op_total *totals,
                    size_t count)
{
    enum { COLUMNS = 98 };
    size_t column = 19;
    text_string(out, "  ");
    report_put(out, backend, 16);
    for (size_t k = 0; k < count; k++) {
        char item[96];
        int length = snprintf(item, sizeof item, " %.64s %u%s", totals[k].op, totals[k].count,
                              k + 1 < count ? "," : "");
        if (length < 0)
            continue;
        if (column + (size_t)length > COLUMNS) {
            text_format(out, "\n%18s", "");
            column = 18;
        }
        text_string(out, item);
        column += (size_t)length;
    }
    text_string(out, "\n");
}

static collage_status put_placement(const struct graph *graph, const struct plan *plan,
                                    struct text *out, struct error *error)
{
    struct op_total *totals = memory_alloc((graph->node_count + 1) * sizeof *totals);
    if (!totals)
        return error_memory(error);
    text_string(out, "\n");
    for (uint32_t b = 0; b < plan->backend_count; b++) {
        size_t count = 0;
        for (uint32_t s = 0; s < plan->step_count; s++)
            for (uint32_t k = 0; plan->steps[s].backend == b && k < plan->steps[s].node_count; k++)
                add_op(totals, &count, graph->nodes[plan->steps[s].nodes[k]].base.op_type);
        sort_ops(totals, count);
        if (count > 0)
            put_ops(out, plan->backends[b].name, totals, count);
    }
    memory_free(totals);
    return COLLAGE_OK;
}

uint32_t report_lane(const struct plan *plan, uint32_t step)
{
    return plan->lanes ? plan->steps[step].lane : PLAN_WIDE;
}

void report_lanes_text(const struct plan *plan, struct text *out)
{
    uint32_t in_lanes = 0;
    for (uint32_t s = 0; s < plan->step_count; s++)
        in_lanes += report_lane(plan, s) != PLAN_WIDE;
    if (in_lanes == 0)
        return;
    const int32_t threads = plan_lane_threads(plan);
    text_format(out, "%u of %u steps run side by side, in %u lanes of %d thread%s each", in_lanes,
                plan->step_count, plan->lanes, threads, threads == 1 ? "" : "s");
}

/* ---- step by step ---- */

static const char *layout_text(const struct plan *plan, const uint32_t *tensors, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) /* the first that is not row-major tells most */
        if (!layout_is_plain(&plan->tensors[tensors[k]].layout))
            return plan->tensors[tensors[k]].layout.tag;
    return "";
}

static void put_layouts(const struct plan *plan, const struct plan_step *step, struct text *out)
{
    const char *from = layout_text(plan, step->inputs, step->input_count);
    const char *to = layout_text(plan, step->outputs, step->output_count);
    if (!from[0] && !to[0])
        return;
    report_put(out, from[0] ? from : "plain", 0);
    if (strcmp(from, to) != 0) {
        text_string(out, ">");
        report_put(out, to[0] ? to : "plain", 0);
    }
}

static void put_step(const struct graph *graph, const struct plan *plan, uint32_t index,
                     struct text *out)
{
    const struct plan_step *step = &plan->steps[index];
    char what[96], shape[96];
    plan_step_describe(step, graph, what, sizeof what);
    report_shape(graph, plan, step, shape, sizeof shape);
    text_format(out, "  %4u ", index);
    report_put(out, step->backend == GRAPH_NONE ? "" : plan->backends[step->backend].name, 12);
    text_format(out, " %9.1f  ", step->cost_ns / 1e3);
    report_put(out, what, 26);
    text_string(out, " ");
    report_put(out, shape, 15);
    text_string(out, " ");
    report_put(out, step->variant, 8);
    text_string(out, " ");
    put_layouts(plan, step, out);
    if (report_lane(plan, index) != PLAN_WIDE)
        text_format(out, " lane %u", step->lane);
    while (out->count > 0 && out->bytes[out->count - 1] == ' ')
        out->bytes[--out->count] = '\0';
    text_string(out, "\n");
}

void report_steps_text(const struct graph *graph, const struct plan *plan, struct text *out)
{
    text_string(out, "step   backend      cost [us]  operators                  output          "
                     "variant  layouts\n");
    for (uint32_t s = 0; s < plan->step_count; s++)
        put_step(graph, plan, s, out);
}

void report_bound_text(const struct plan *plan, struct text *out)
{
    const char *costs =
        json_object_get(plan->evidence, "given") ? "measured and given costs" : "measured costs";
    if (plan->standalone)
        text_string(out, "one library alone, in its own session");
    else if (plan->optimal)
        text_format(out, "proven optimal for the %s of its libraries", costs);
    else if (plan->bound_ns > 0 && plan->predicted_ns > 0)
        text_format(out, "within %.2f %% of the optimum for the %s (which is at least %.3f ms)",
                    100 * (plan->predicted_ns / plan->bound_ns - 1), costs, plan->bound_ns / 1e6);
    else
        text_format(out, "not proved optimal for the %s", costs);
}

bool report_ended_early(const struct plan *plan)
{
    return json_is_true(json_object_get(plan->evidence, "ended_early"));
}

/* How the placement was found, unless by the exact search and with nothing pinned. */
static void put_search(const struct plan *plan, struct text *out)
{
    const char *search = json_string_value(json_object_get(plan->evidence, "search"));
    const json_t *evolution = json_object_get(plan->evidence, "evolution");
    json_int_t pinned = json_integer_value(json_object_get(plan->evidence, "pinned"));
    if (!search && pinned <= 0)
        return;
    text_string(out, "  placed by the ");
    report_put(out, search ? search : "exact", 0);
    text_string(out, " search");
    if (evolution)
        text_format(out,
                    " (%" JSON_INTEGER_FORMAT " plans run end to end in %" JSON_INTEGER_FORMAT
                    " generations)",
                    json_integer_value(json_object_get(evolution, "measured")),
                    json_integer_value(json_object_get(evolution, "generations")));
    if (pinned > 0)
        text_format(out, "; %" JSON_INTEGER_FORMAT " node%s pinned", pinned,
                    pinned == 1 ? "" : "s");
    text_string(out, "\n");
}

/* A plan that was made of less than there was to measure says so. */
static void put_early_end(const struct plan *plan, struct text *out)
{
    if (report_ended_early(plan))
        text_format(out,
                    "  ended early: %" JSON_INTEGER_FORMAT
                    " candidates were not measured, and the race was short\n",
                    json_integer_value(json_object_get(plan->evidence, "unmeasured")));
}

collage_status report_placement_text(const struct graph *graph, const struct plan *plan,
                                     struct text *out, struct error *error)
{
    struct backend_share *shares = memory_alloc((plan->backend_count + 1) * sizeof *shares);
    if (!shares)
        return error_memory(error);
    report_count_shares(plan, shares);
    put_shares(graph, plan, shares, out);
    memory_free(shares);
    collage_status status = put_placement(graph, plan, out, error);
    if (status != COLLAGE_OK)
        return status;
    put_search(plan, out);
    put_early_end(plan, out);
    if (plan->lanes) {
        text_string(out, "  ");
        report_lanes_text(plan, out);
        text_string(out, "\n");
    }
    if (plan->strict)
        text_string(out, "  precision: strict\n");
    text_format(out, "  activations: %.1f MiB; ", (double)plan->arena_bytes / (1 << 20));
    report_bound_text(plan, out);
    text_string(out, "\n\n");
    return COLLAGE_OK;
}
