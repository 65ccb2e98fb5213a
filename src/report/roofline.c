/* SPDX-License-Identifier: Apache-2.0 */
#include "report/roofline.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "plan/peaks_write.h"
#include "report/parts.h"

/* ---- kinds ---- */

static void append(char *text, size_t size, const char *string)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", string);
}

static void append_dims(char *text, size_t size, const char *before, const int64_t *dims,
                        size_t count)
{
    for (size_t k = 0; k < count; k++) {
        char number[32];
        snprintf(number, sizeof number, "%s%" PRId64, k ? "x" : before, dims[k]);
        append(text, size, number);
    }
}

/* "/2", or "/2x1" where the axes differ; nothing where no step is longer than 1. */
static void append_strides(const collage_node *node, char *text, size_t size)
{
    const collage_attribute *strides =
        collage_node_attribute(node, "strides", COLLAGE_ATTRIBUTE_INTS);
    bool same = true, one = true;
    for (size_t k = 0; strides && k < strides->count; k++) {
        same = same && strides->ints[k] == strides->ints[0];
        one = one && strides->ints[k] == 1;
    }
    if (strides && !one)
        append_dims(text, size, "/", strides->ints, same ? 1 : strides->count);
}

/* " 3x3/2 g32"; "dw": a group has one channel. */
static void append_window(const struct graph *graph, const collage_node *node, char *text,
                          size_t size)
{
    const struct tensor *weight = &graph->values[node->inputs[1]].tensor;
    const int64_t groups = collage_node_int(node, "group", 1);
    if (weight->rank < 3)
        return;
    append_dims(text, size, " ", weight->dims + 2, (size_t)weight->rank - 2);
    append_strides(node, text, size);
    if (groups > 1 && weight->dims[1] == 1)
        append(text, size, " dw");
    else if (groups > 1)
        append_dims(text, size, " g", &groups, 1);
}

void report_kind(const struct graph *graph, const struct plan_step *step, char *text, size_t size)
{
    enum { SHOWN = 6 };
    if (step->kind != PLAN_KERNEL) {
        plan_step_describe(step, graph, text, size);
        return;
    }
    text[0] = '\0';
    for (uint32_t k = 0; k < step->node_count && k <= SHOWN; k++) {
        const collage_node *node = &graph->nodes[step->nodes[k]].base;
        append(text, size, k ? "+" : "");
        append(text, size, k == SHOWN ? "..." : node->op_type);
        if (k < SHOWN && (graph->nodes[step->nodes[k]].op == op_find("Conv") ||
                          graph->nodes[step->nodes[k]].op == op_find("ConvTranspose")))
            append_window(graph, node, text, size);
    }
}

/* Kernels of one kind: the same operators, on one backend in one variant. */
struct group {
    char kind[160];
    const char *backend, *variant;
    uint32_t count, first; /* steps */
    double cost_ns, bound_ns, room_ns;
    struct workload work;
};

struct groups {
    struct group *items;
    size_t count;
    struct group sum;
};

static struct group of_step(const struct explanation *e, uint32_t index)
{
    const struct plan_step *step = &e->plan->steps[index];
    struct group group = { .backend = step->backend == GRAPH_NONE
                                          ? "collage"
                                          : e->plan->backends[step->backend].name,
                           .variant = step->variant ? step->variant : "",
                           .count = 1,
                           .first = index,
                           .cost_ns = report_step_cost(e, index),
                           .bound_ns = e->roofline->bound_ns[index],
                           .work = e->roofline->work[index] };
    report_kind(e->graph, step, group.kind, sizeof group.kind);
    if (group.cost_ns <= 0)
        group.bound_ns = 0; /* there is nothing to compare it with */
    group.room_ns = fmax(0, group.cost_ns - group.bound_ns);
    return group;
}

static void add(struct group *to, const struct group *more)
{
    to->count += more->count;
    to->cost_ns += more->cost_ns;
    to->bound_ns += more->bound_ns;
    to->room_ns += more->room_ns;
    to->work.flop += more->work.flop;
    to->work.weight_bytes += more->work.weight_bytes;
    to->work.activation_bytes += more->work.activation_bytes;
}

/* What could be won first. */
static int compare(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    if (a->room_ns < b->room_ns || a->room_ns > b->room_ns)
        return a->room_ns > b->room_ns ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static bool gather(const struct explanation *e, struct groups *groups)
{
    groups->items = memory_alloc(((size_t)e->plan->step_count + 1) * sizeof *groups->items);
    for (uint32_t s = 0; groups->items && s < e->plan->step_count; s++) {
        const struct group step = of_step(e, s);
        size_t at = 0;
        while (at < groups->count && (strcmp(groups->items[at].kind, step.kind) != 0 ||
                                      strcmp(groups->items[at].backend, step.backend) != 0 ||
                                      strcmp(groups->items[at].variant, step.variant) != 0))
            at++;
        if (at < groups->count)
            add(&groups->items[at], &step);
        else
            groups->items[groups->count++] = step;
        add(&groups->sum, &step);
    }
    if (groups->items && groups->count > 0)
        qsort(groups->items, groups->count, sizeof *groups->items, compare);
    return groups->items != NULL;
}

/* ---- as text ---- */

static uint64_t bytes_of(const struct group *group)
{
    return group->work.weight_bytes + group->work.activation_bytes;
}

static void put_figures(const struct group *group, double total_ns, struct text *out)
{
    text_format(out, " %9.1f %9.1f %5.1f%%", group->room_ns / 1e3, group->cost_ns / 1e3,
                total_ns > 0 ? 100 * group->cost_ns / total_ns : 0.0);
    report_put_roof(group->bound_ns, group->cost_ns, out);
    text_format(out, " %7.3f %7.1f %4u  ", group->work.flop / 1e9, (double)bytes_of(group) / 1e6,
                group->count);
}

static void put_name(const struct group *group, struct text *out)
{
    report_put(out, group->backend, 0);
    text_string(out, group->variant[0] ? " " : "");
    report_put(out, group->variant, 0);
}

static void put_group(const struct group *group, double total_ns, struct text *out)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", group->backend, group->variant[0] ? " " : "",
             group->variant);
    put_figures(group, total_ns, out);
    report_put(out, name, 21);
    text_string(out, " ");
    report_put(out, group->kind, 20);
    while (out->count > 0 && out->bytes[out->count - 1] == ' ')
        out->bytes[--out->count] = '\0';
    text_string(out, "\n");
}

static void put_next(const struct groups *groups, struct text *out)
{
    const struct group *first = &groups->items[0], *sum = &groups->sum;
    if (groups->count == 0 || first->room_ns <= 0 || sum->cost_ns <= 0)
        return;
    text_string(out, "\nThe next kernel to write: ");
    report_put(out, first->kind, 0);
    text_string(out, ",\nnow ");
    put_name(first, out);
    text_format(out,
                ": at most %.1f of %.1f us (%.1f %%) could be won there, %.1f (%.1f %%) "
                "everywhere.\n",
                first->room_ns / 1e3, sum->cost_ns / 1e3, 100 * first->room_ns / sum->cost_ns,
                sum->room_ns / 1e3, 100 * sum->room_ns / sum->cost_ns);
}

static void put_text(const struct explanation *e, const struct groups *groups, struct text *out)
{
    text_format(out, "%d thread%s of ", e->plan->threads, e->plan->threads == 1 ? "" : "s");
    report_put(out, e->plan->device_name ? e->plan->device_name : "", 0);
    text_string(out, ": ");
    peaks_put(&e->roofline->peaks, out);
    text_string(out, "Room: what would be won if each kernel took the least time by these peaks.\n"
                     "Roof: that time, as a part of the cost.\n\n"
                     " room [us] time [us]  share   roof   GFLOP      MB    n  backend, variant  "
                     "    operators\n");
    for (size_t k = 0; k < groups->count; k++)
        put_group(&groups->items[k], groups->sum.cost_ns, out);
    put_figures(&groups->sum, groups->sum.cost_ns, out);
    text_string(out, "all\n");
    put_next(groups, out);
}

/* ---- as JSON ---- */

static json_t *to_json(const struct group *group)
{
    return json_pack("{s:o, s:o, s:o, s:i, s:f, s:f, s:f, s:f, s:I, s:I}", "operators",
                     json_text(group->kind), "backend", json_text(group->backend), "variant",
                     json_text(group->variant), "count", (int)group->count, "cost_ns",
                     group->cost_ns, "bound_ns", group->bound_ns, "room_ns", group->room_ns, "flop",
                     group->work.flop, "weight_bytes", (json_int_t)group->work.weight_bytes,
                     "activation_bytes", (json_int_t)group->work.activation_bytes);
}

static json_t *steps_to_json(const struct explanation *e)
{
    json_t *list = json_array();
    for (uint32_t s = 0; list && s < e->plan->step_count; s++) {
        const struct group step = of_step(e, s);
        char shape[96];
        json_t *row = to_json(&step);
        report_shape(e->graph, e->plan, &e->plan->steps[s], shape, sizeof shape);
        if (!row || json_object_del(row, "count") != 0 ||
            json_object_set_new(row, "output", json_text(shape)) != 0 ||
            json_array_append(list, row) != 0) {
            json_decref(list);
            list = NULL;
        }
        json_decref(row);
    }
    return list;
}

static collage_status put_json(const struct explanation *e, const struct groups *groups,
                               struct text *out, struct error *error)
{
    json_t *kinds = json_array();
    for (size_t k = 0; kinds && k < groups->count; k++)
        if (json_array_append_new(kinds, to_json(&groups->items[k])) != 0) {
            json_decref(kinds);
            kinds = NULL;
        }
    json_t *json = json_pack("{s:o, s:i, s:o, s:o, s:f, s:f, s:f, s:o, s:o}", "device",
                             json_text(e->plan->device_name ? e->plan->device_name : ""), "threads",
                             (int)e->plan->threads, "graph", json_text(e->graph->name), "peaks",
                             peaks_to_json(&e->roofline->peaks), "cost_ns", groups->sum.cost_ns,
                             "bound_ns", groups->sum.bound_ns, "room_ns", groups->sum.room_ns,
                             "kinds", kinds, "steps", steps_to_json(e));
    const bool fine = json_put(json, JSON_INDENT(1), out);
    json_decref(json);
    return fine ? COLLAGE_OK : error_memory(error);
}

collage_status report_roofline(const struct explanation *e, collage_format format, struct text *out,
                               struct error *error)
{
    struct groups groups = { .sum = { .kind = "all" } };
    collage_status status = COLLAGE_OK;
    if (format != COLLAGE_FORMAT_TEXT && format != COLLAGE_FORMAT_JSON)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "a roofline is not reported in format %d",
                         (int)format);
    if (!e->roofline || !e->roofline->known)
        return error_set(error, COLLAGE_ERROR_MISMATCH,
                         "the plan is of another machine, whose peaks the cost store does not "
                         "know; optimise the model on this one");
    if (!gather(e, &groups))
        return error_memory(error);
    if (format == COLLAGE_FORMAT_TEXT)
        put_text(e, &groups, out);
    else
        status = put_json(e, &groups, out, error);
    memory_free(groups.items);
    return status == COLLAGE_OK && out->failed ? error_memory(error) : status;
}
