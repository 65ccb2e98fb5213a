/* SPDX-License-Identifier: Apache-2.0 */
#include "place/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "place/uses.h"
#include "tensor/layout.h"

/* ---- ports ---- */

/* The number of the layout among the value's; PLACE_LAYOUTS if there is no room for it. */
static bool intern(struct place_table *table, value_id v, const collage_layout *layout,
                   uint32_t *out)
{
    static const collage_layout plain = { "" };
    struct place_value *value = &table->values[v];
    if (!value->layouts) {
        value->layouts = arena_array(table->arena, PLACE_LAYOUTS, sizeof *value->layouts);
        if (!value->layouts)
            return false;
        value->layouts[value->layout_count++] = &plain;
    }
    uint32_t k = 0;
    bool is_plain = layout_is_plain(layout);
    while (!is_plain && k < value->layout_count && !layout_equal(value->layouts[k], layout))
        k++;
    if (k == value->layout_count && k < PLACE_LAYOUTS)
        value->layouts[value->layout_count++] = layout;
    *out = k;
    return true;
}

/* `fits` becomes false if some layout had no room. */
static const struct place_port *make_ports(struct place_table *table, const value_id *values,
                                           const collage_layout *layouts, uint32_t count,
                                           bool *fits)
{
    struct place_port *ports = arena_array(table->arena, count, sizeof *ports);
    for (uint32_t k = 0; ports && k < count; k++) {
        ports[k].value = values[k];
        if (!intern(table, values[k], &layouts[k], &ports[k].layout))
            return NULL;
        *fits = *fits && ports[k].layout < PLACE_LAYOUTS;
    }
    return ports;
}

static collage_status make_option(struct place_table *table, candidate_id id, struct error *error)
{
    const struct place_problem *problem = table->problem;
    const struct candidate *candidate = &problem->set->items[id];
    const struct region *region = &candidate->region;
    bool fits = true;
    struct place_option option = {
        .id = id,
        .backend = candidate->backend,
        .merge = table->switch_ns && !candidate->view ? candidate->backend + 1 : 0,
        .view = candidate->view,
        .cost = candidate->cost.cost_ns + (candidate->view ? 0 : problem->step_ns),
        .nodes = region->own,
        .node_count = region->own_count,
        .input_count = region->input_count,
        .output_count = region->output_count,
        .inputs =
            make_ports(table, region->inputs, candidate->input_layouts, region->input_count, &fits),
        .outputs = make_ports(table, region->outputs, candidate->output_layouts,
                              region->output_count, &fits),
    };
    if (!option.inputs || !option.outputs)
        return error_memory(error);
    if (fits)
        table->options[table->option_count++] = option;
    else
        table->complete = false;
    return COLLAGE_OK;
}

static int compare_ports(const struct place_port *a, uint32_t a_count, const struct place_port *b,
                         uint32_t b_count)
{
    if (a_count != b_count)
        return a_count < b_count ? -1 : 1;
    for (uint32_t k = 0; k < a_count; k++) {
        if (a[k].value != b[k].value)
            return a[k].value < b[k].value ? -1 : 1;
        if (a[k].layout != b[k].layout)
            return a[k].layout < b[k].layout ? -1 : 1;
    }
    return 0;
}

/* Equal nodes have equal border values, in equal order, but for what copies take. */
static int compare_form(const struct place_option *a, const struct place_option *b)
{
    if (a->node_count != b->node_count)
        return a->node_count < b->node_count ? -1 : 1;
    int order = memcmp(a->nodes, b->nodes, a->node_count * sizeof *a->nodes);
    if (order)
        return order;
    if (a->merge != b->merge)
        return a->merge < b->merge ? -1 : 1;
    order = compare_ports(a->inputs, a->input_count, b->inputs, b->input_count);
    return order ? order : compare_ports(a->outputs, a->output_count, b->outputs, b->output_count);
}

static int compare_options(const void *left, const void *right)
{
    const struct place_option *a = left, *b = right;
    int order = compare_form(a, b);
    if (order)
        return order;
    if (a->cost < b->cost || a->cost > b->cost)
        return a->cost < b->cost ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static collage_status make_options(struct place_table *table, struct error *error)
{
    const struct candidate_set *set = table->problem->set;
    size_t most = set->count + (table->copied ? table->graph->node_count : 0);
    table->options = arena_array(table->arena, most, sizeof *table->options);
    if (!table->options)
        return error_memory(error);
    for (size_t id = 0; id < set->count; id++) {
        if (!place_is_usable(table->problem, &set->items[id]))
            continue;
        collage_status status = make_option(table, (candidate_id)id, error);
        if (status)
            return status;
    }
    collage_status left = uses_add_leaving(table, error);
    if (left)
        return left;
    uint32_t kept = 0;
    qsort(table->options, table->option_count, sizeof *table->options, compare_options);
    for (uint32_t k = 0; k < table->option_count; k++)
        if (kept == 0 || compare_form(&table->options[kept - 1], &table->options[k]) != 0)
            table->options[kept++] = table->options[k];
    table->option_count = kept;
    return COLLAGE_OK;
}

/* ---- by node, by use ---- */

static collage_status index_nodes(struct place_table *table, struct error *error)
{
    size_t nodes = table->graph->node_count, total = 0;
    table->first_option = arena_array(table->arena, nodes + 2, sizeof(uint32_t));
    if (!table->first_option)
        return error_memory(error);
    for (uint32_t o = 0; o < table->option_count; o++) {
        const struct place_option *option = &table->options[o];
        total += option->node_count;
        for (uint32_t k = 0; k < option->node_count; k++)
            table->first_option[option->nodes[k] + 2]++;
    }
    table->node_options = arena_array(table->arena, total, sizeof(uint32_t));
    if (!table->node_options)
        return error_memory(error);
    for (size_t n = 2; n < nodes + 2; n++)
        table->first_option[n] += table->first_option[n - 1];
    for (uint32_t o = 0; o < table->option_count; o++) {
        const struct place_option *option = &table->options[o];
        for (uint32_t k = 0; k < option->node_count; k++)
            table->node_options[table->first_option[option->nodes[k] + 1]++] = o;
    }
    for (node_id n = 0; n < nodes; n++)
        if (table->first_option[n] == table->first_option[n + 1])
            return place_fail(table->problem, n, error);
    return COLLAGE_OK;
}

bool place_option_has(const struct place_option *option, node_id node)
{
    return node_list_has(option->nodes, option->node_count, node);
}

bool place_option_takes(const struct place_option *option, value_id value)
{
    for (uint32_t k = 0; k < option->input_count; k++)
        if (option->inputs[k].value == value)
            return true;
    return false;
}

static collage_status index_uses(struct place_table *table, struct error *error)
{
    const struct graph_uses *uses = table->uses;
    table->needs =
        arena_array(table->arena, uses->first[table->graph->value_count], sizeof(uint32_t));
    if (!table->needs)
        return error_memory(error);
    for (uint32_t o = 0; o < table->option_count; o++) {
        const struct place_option *option = &table->options[o];
        for (uint32_t k = 0; k < option->input_count; k++) {
            value_id v = option->inputs[k].value;
            for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++)
                if (place_option_has(option, uses->users[u]))
                    table->needs[u] |= UINT32_C(1) << option->inputs[k].layout;
        }
    }
    return uses_find_idle(table, error);
}

/* ---- costs ---- */

static uint32_t find_layout(const struct place_value *value, const collage_layout *layout)
{
    uint32_t k = 0;
    while (k < value->layout_count && !layout_equal(value->layouts[k], layout))
        k++;
    return k;
}

static collage_status make_conversions(struct place_table *table, struct error *error)
{
    const struct place_problem *problem = table->problem;
    double **matrices = arena_array(table->arena, table->graph->value_count, sizeof(double *));
    if (!matrices)
        return error_memory(error);
    for (size_t v = 0; v < table->graph->value_count; v++) {
        size_t cells = (size_t)table->values[v].layout_count * table->values[v].layout_count;
        matrices[v] = cells ? arena_array(table->arena, cells, sizeof(double)) : NULL;
        if (cells && !matrices[v])
            return error_memory(error);
        for (size_t k = 0; k < cells; k++)
            matrices[v][k] = HUGE_VAL;
        table->values[v].convert = matrices[v];
        for (uint32_t k = 0; k < table->values[v].layout_count; k++)
            table->values[v].reach[k] = UINT32_C(1) << k;
    }
    for (size_t k = 0; k < problem->transition_count; k++) {
        const struct transition *transition = &problem->transitions[k];
        struct place_value *value = &table->values[transition->value];
        uint32_t from = find_layout(value, &transition->from);
        uint32_t to = find_layout(value, &transition->to);
        if (!place_is_usable_transition(problem, transition) || from >= value->layout_count ||
            to >= value->layout_count)
            continue;
        double *cell = &matrices[transition->value][from * value->layout_count + to];
        *cell = fmin(*cell, transition->cost_ns + problem->step_ns);
        value->reach[from] |= UINT32_C(1) << to;
    }
    return COLLAGE_OK;
}

/* Row and column `backend_count` stand for "nothing ran yet". */
static collage_status make_switches(struct place_table *table, struct error *error)
{
    const struct place_problem *problem = table->problem;
    uint32_t n = problem->set->registry->count;
    table->backend_count = n;
    double *cost = arena_array(table->arena, (size_t)(n + 1) * (n + 1), sizeof *cost);
    double *gap = arena_array(table->arena, (size_t)(n + 1) * (n + 1), sizeof *gap);
    if (!cost || !gap)
        return error_memory(error);
    bool any = false;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            if (problem->enabled[a] && problem->enabled[b]) {
                cost[a * (n + 1) + b] = place_switch_cost(problem, a, b);
                any = any || cost[a * (n + 1) + b] > 0;
            }
    for (uint32_t a = 0; a <= n; a++)
        for (uint32_t b = 0; b <= n; b++)
            for (uint32_t to = 0; to < n; to++)
                gap[a * (n + 1) + b] =
                    fmax(gap[a * (n + 1) + b], cost[a * (n + 1) + to] - cost[b * (n + 1) + to]);
    table->switch_ns = any ? cost : NULL;
    table->switch_gap = gap;
    return COLLAGE_OK;
}

/*
 * Shares every option's cost among its nodes, in proportion to `weight`; a node's bound is the
 * smallest share it gets. The bounds of any cover add up to at most its cost.
 */
static void find_bounds(const struct place_table *table, const double *weight, double *bound)
{
    for (size_t n = 0; n < table->graph->node_count; n++)
        bound[n] = HUGE_VAL;
    for (uint32_t o = 0; o < table->option_count; o++) {
        const struct place_option *option = &table->options[o];
        double sum = 0;
        for (uint32_t k = 0; k < option->node_count; k++)
            sum += weight[option->nodes[k]];
        for (uint32_t k = 0; k < option->node_count; k++) {
            node_id n = option->nodes[k];
            bound[n] = fmin(bound[n], sum > 0 ? option->cost * weight[n] / sum : 0);
        }
    }
}

static collage_status make_bounds(struct place_table *table, struct error *error)
{
    size_t count = table->graph->node_count;
    double *weight = arena_array(table->arena, count, sizeof *weight);
    double *bound = arena_array(table->arena, count, sizeof *bound);
    if (!weight || !bound)
        return error_memory(error);
    for (size_t n = 0; n < count; n++)
        bound[n] = 1;
    for (int round = 0; round < 4; round++) {
        memcpy(weight, bound, count * sizeof *weight);
        find_bounds(table, weight, bound);
    }
    for (size_t n = 0; n < count; n++)
        table->bound_total += bound[n];
    for (uint32_t o = 0; o < table->option_count; o++)
        for (uint32_t k = 0; k < table->options[o].node_count; k++)
            table->options[o].bound += bound[table->options[o].nodes[k]];
    return COLLAGE_OK;
}

collage_status place_table_make(const struct place_problem *problem, struct place_table *out,
                                struct error *error)
{
    *out = (struct place_table){ .arena = arena_create(),
                                 .problem = problem,
                                 .graph = problem->set->graph,
                                 .uses = &problem->set->uses,
                                 .complete = true };
    if (!out->arena)
        return error_memory(error);
    out->values = arena_array(out->arena, out->graph->value_count, sizeof *out->values);
    if (!out->values)
        return error_memory(error);
    for (uint32_t k = 0; k < out->graph->output_count; k++)
        out->values[out->graph->outputs[k]].output = true;
    static collage_status (*const steps[])(struct place_table *, struct error *) = {
        uses_make,  make_switches,    make_options, index_nodes,
        index_uses, make_conversions, make_bounds,
    };
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        collage_status status = steps[k](out, error);
        if (status)
            return status;
    }
    return COLLAGE_OK;
}

collage_status place_table_restrict(struct place_table *table, const bool *keep,
                                    struct error *error)
{
    uint32_t kept = 0;
    for (uint32_t o = 0; o < table->option_count; o++)
        if (keep[o])
            table->options[kept++] = table->options[o];
    table->option_count = kept;
    collage_status status = index_nodes(table, error);
    return status ? status : index_uses(table, error);
}

void place_table_free(struct place_table *table)
{
    arena_destroy(table->arena);
    *table = (struct place_table){ 0 };
}
