/* SPDX-License-Identifier: Apache-2.0 */
#include "place/model.h"

#include <math.h>
#include <string.h>

static uint32_t bit(uint32_t layout)
{
    return UINT32_C(1) << layout;
}

static uint32_t bits_below(uint32_t set, uint32_t layout)
{
    return (uint32_t)__builtin_popcount(set & (bit(layout) - 1));
}

/* ---- uses ---- */

static uint32_t output_use(const struct model *model, value_id value)
{
    return model->use_count + value;
}

static void find_layouts(struct model *model)
{
    const struct place_table *table = model->table;
    const struct graph *graph = table->graph;
    const struct graph_uses *uses = table->uses;
    for (uint32_t o = 0; o < table->option_count; o++)
        for (uint32_t k = 0; k < table->options[o].output_count; k++)
            model->made[table->options[o].outputs[k].value] |=
                bit(table->options[o].outputs[k].layout);
    for (uint32_t k = 0; k < graph->input_count; k++)
        model->made[graph->inputs[k]] = bit(0);
    for (value_id v = 0; v < graph->value_count; v++) {
        for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++)
            model->taken[u] = place_is_first_use(uses, v, u) ? table->needs[u] : 0;
        if (table->values[v].output && graph->values[v].kind == VALUE_COMPUTED)
            model->taken[output_use(model, v)] = bit(0);
    }
}

static uint32_t add_rows(struct model *model, uint32_t set, double side, bool at_most)
{
    uint32_t first = model->program.row_count;
    for (; set; set &= set - 1)
        program_add_row(&model->program, at_most ? -HUGE_VAL : side, side);
    return first;
}

/* Routes sum up to what the options take (0 = routes - takers), and to what the maker made it in
 * unless the user lies in the same option (0 = routes - makers) or may do without it (0 >= ...). */
static void add_use_rows(struct model *model, value_id value, uint32_t use, bool is_output)
{
    bool given = model->table->graph->values[value].kind == VALUE_INPUT;
    bool idle = !is_output && model->table->idle && model->table->idle[use];
    model->take_row[use] = add_rows(model, model->taken[use], is_output ? 1 : 0, false);
    model->make_row[use] = add_rows(model, model->made[value], given ? 1 : 0, idle);
}

static void add_all_rows(struct model *model)
{
    const struct graph *graph = model->table->graph;
    const struct graph_uses *uses = model->table->uses;
    for (size_t n = 0; n < graph->node_count; n++)
        program_add_row(&model->program, 1, 1);
    for (value_id v = 0; v < graph->value_count; v++) {
        for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++)
            if (graph->values[v].kind != VALUE_CONSTANT && place_is_first_use(uses, v, u))
                add_use_rows(model, v, u, false);
        if (model->taken[output_use(model, v)])
            add_use_rows(model, v, output_use(model, v), true);
    }
}

/* ---- columns of options ---- */

static void add_input(struct model *model, const struct place_option *option,
                      const struct place_port *port)
{
    const struct graph_uses *uses = model->table->uses;
    for (uint32_t u = uses->first[port->value]; u < uses->first[port->value + 1]; u++)
        if (model->take_row[u] != MODEL_NONE && place_option_has(option, uses->users[u]))
            program_add_entry(&model->program,
                              model->take_row[u] + bits_below(model->taken[u], port->layout), -1);
}

static void add_output(struct model *model, const struct place_option *option,
                       const struct place_port *port)
{
    const struct graph_uses *uses = model->table->uses;
    uint32_t offset = bits_below(model->made[port->value], port->layout);
    for (uint32_t u = uses->first[port->value]; u < uses->first[port->value + 1]; u++)
        if (model->make_row[u] != MODEL_NONE && !place_option_has(option, uses->users[u]))
            program_add_entry(&model->program, model->make_row[u] + offset, -1);
    uint32_t output = output_use(model, port->value);
    if (model->make_row[output] != MODEL_NONE)
        program_add_entry(&model->program, model->make_row[output] + offset, -1);
}

static void add_options(struct model *model)
{
    for (uint32_t o = 0; o < model->table->option_count; o++) {
        const struct place_option *option = &model->table->options[o];
        program_add_column(&model->program, option->cost, true);
        for (uint32_t k = 0; k < option->node_count; k++)
            program_add_entry(&model->program, option->nodes[k], 1);
        for (uint32_t k = 0; k < option->input_count; k++)
            add_input(model, option, &option->inputs[k]);
        for (uint32_t k = 0; k < option->output_count; k++)
            add_output(model, option, &option->outputs[k]);
    }
}

/* ---- columns of routes and conversions ---- */

/* A conversion that several uses may share has a column of its own, and a row for each of them. */
static uint32_t share_conversion(struct model *model, value_id value, uint32_t from, uint32_t to,
                                 uint32_t sharers)
{
    if (from == to || sharers < 2)
        return MODEL_NONE;
    for (size_t k = model->conversion_count; k-- > 0;) {
        const struct model_conversion *known = &model->conversions[k];
        if (known->value != value)
            break;
        if (known->from == from && known->to == to)
            return (uint32_t)k;
    }
    if (!memory_grow((void **)&model->conversions, &model->conversion_capacity,
                     model->conversion_count, sizeof *model->conversions)) {
        model->program.failed = true;
        return MODEL_NONE;
    }
    model->conversions[model->conversion_count] = (struct model_conversion){ value, from, to };
    return (uint32_t)model->conversion_count++;
}

static void add_route(struct model *model, value_id value, uint32_t use, uint32_t from, uint32_t to,
                      uint32_t sharers)
{
    const struct place_value *v = &model->table->values[value];
    double cost = from == to ? 0 : v->convert[from * v->layout_count + to];
    if (cost == HUGE_VAL)
        return;
    if (!memory_grow((void **)&model->routes, &model->route_capacity, model->route_count,
                     sizeof *model->routes)) {
        model->program.failed = true;
        return;
    }
    uint32_t conversion = share_conversion(model, value, from, to, sharers);
    model->routes[model->route_count++] = (struct model_route){ use, from, to, conversion, value };
    program_add_column(&model->program, conversion == MODEL_NONE ? cost : 0, false);
    program_add_entry(&model->program, model->take_row[use] + bits_below(model->taken[use], to), 1);
    program_add_entry(&model->program, model->make_row[use] + bits_below(model->made[value], from),
                      1);
    if (conversion != MODEL_NONE)
        program_add_entry(&model->program, program_add_row(&model->program, -HUGE_VAL, 0), 1);
}

static void add_use_routes(struct model *model, value_id value, uint32_t use,
                           const uint32_t *sharers)
{
    if (model->take_row[use] == MODEL_NONE)
        return;
    for (uint32_t made = model->made[value]; made; made &= made - 1)
        for (uint32_t taken = model->taken[use]; taken; taken &= taken - 1) {
            uint32_t to = (uint32_t)__builtin_ctz(taken);
            add_route(model, value, use, (uint32_t)__builtin_ctz(made), to, sharers[to]);
        }
}

static void add_routes(struct model *model)
{
    const struct graph_uses *uses = model->table->uses;
    for (value_id v = 0; v < model->table->graph->value_count; v++) {
        uint32_t sharers[32] = { 0 }, output = output_use(model, v);
        for (uint32_t u = uses->first[v]; u <= uses->first[v + 1]; u++) {
            uint32_t taken = model->taken[u < uses->first[v + 1] ? u : output];
            for (; taken; taken &= taken - 1)
                sharers[__builtin_ctz(taken)]++;
        }
        for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++)
            add_use_routes(model, v, u, sharers);
        add_use_routes(model, v, output, sharers);
    }
}

/* Each route's own row says: not without the conversion. */
static void add_conversions(struct model *model)
{
    struct program *program = &model->program;
    model->first_conversion = program->column_count;
    for (size_t k = 0; k < model->conversion_count; k++) {
        const struct model_conversion *c = &model->conversions[k];
        const struct place_value *v = &model->table->values[c->value];
        program_add_column(program, v->convert[c->from * v->layout_count + c->to], false);
    }
    for (size_t r = 0; r < model->route_count && !program->failed; r++) {
        uint32_t conversion = model->routes[r].conversion;
        uint32_t first = program->first[model->table->option_count + r];
        if (conversion != MODEL_NONE) /* its third entry: the row */
            program_add_late_entry(program, model->first_conversion + conversion,
                                   program->row[first + 2], -1);
    }
    program_settle(program);
}

collage_status model_make(const struct place_table *table, struct model *out, struct error *error)
{
    const struct graph *graph = table->graph;
    uint32_t uses = table->uses->first[graph->value_count];
    size_t all = (size_t)uses + graph->value_count;
    *out = (struct model){ .table = table,
                           .use_count = uses,
                           .made = memory_alloc(graph->value_count * sizeof(uint32_t)),
                           .taken = memory_alloc(all * sizeof(uint32_t)),
                           .take_row = memory_alloc(all * sizeof(uint32_t)),
                           .make_row = memory_alloc(all * sizeof(uint32_t)) };
    if (!out->made || !out->taken || !out->take_row || !out->make_row)
        return error_memory(error);
    memset(out->take_row, 0xff, all * sizeof(uint32_t)); /* MODEL_NONE */
    memset(out->make_row, 0xff, all * sizeof(uint32_t));
    find_layouts(out);
    add_all_rows(out);
    add_options(out);
    add_routes(out);
    add_conversions(out);
    return out->program.failed ? error_memory(error) : COLLAGE_OK;
}

static void set_rows(node_id *nodes, uint32_t first, uint32_t set, node_id node)
{
    for (; first != MODEL_NONE && set; set &= set - 1)
        nodes[first++] = node;
}

void model_row_nodes(const struct model *model, node_id *nodes)
{
    const struct graph *graph = model->table->graph;
    const struct graph_uses *uses = model->table->uses;
    for (node_id n = 0; n < graph->node_count; n++)
        nodes[n] = n;
    for (value_id v = 0; v < graph->value_count; v++) {
        for (uint32_t u = uses->first[v]; u <= uses->first[v + 1]; u++) {
            bool last = u == uses->first[v + 1];
            uint32_t use = last ? output_use(model, v) : u;
            node_id node = last ? graph->values[v].producer : uses->users[u];
            set_rows(nodes, model->take_row[use], model->taken[use], node);
            set_rows(nodes, model->make_row[use], model->made[v], node);
        }
    }
    for (size_t r = 0; r < model->route_count; r++) {
        const struct model_route *route = &model->routes[r];
        uint32_t first = model->program.first[model->table->option_count + r];
        if (route->conversion != MODEL_NONE) /* its third row; the others are of the use */
            nodes[model->program.row[first + 2]] = nodes[model->program.row[first]];
    }
}

void model_free(struct model *model)
{
    program_free(&model->program);
    memory_free(model->made);
    memory_free(model->taken);
    memory_free(model->take_row);
    memory_free(model->make_row);
    memory_free(model->routes);
    memory_free(model->conversions);
    *model = (struct model){ 0 };
}
