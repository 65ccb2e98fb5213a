/* SPDX-License-Identifier: Apache-2.0 */
#include "place/cycles.h"

#include <math.h>
#include <string.h>

/* How an option was reached: from `option`, by the edge from node `out` (of that) to `in`, along
 * which goes the value. */
struct arrival {
    uint32_t option;
    node_id out, in;
    value_id value;
};

struct cycles {
    struct model *model;
    struct arena *arena;
    uint32_t *option_of;      /* node by node: the chosen option */
    struct arrival *arrivals; /* option by option */
    uint32_t *tick_of;        /* option by option: reached in the search of that number */
    uint32_t tick;
    bool *cut;  /* option by option: on a cycle that is cut already */
    bool *held; /* option by option: part of the row being made */
    uint32_t *queue;
    uint32_t found;
};

/* Does the option hold both ends of a way? With a copy of what makes the value it would not wait.
 */
static bool goes_through(const struct place_option *option, const struct arrival *in, node_id out)
{
    return place_option_has(option, out) &&
           (place_option_takes(option, in->value) || place_option_has(option, in->out));
}

/* Follows the arrivals back around the cycle. An option that holds both ends of a cycle's way
 * through one of its members can take the member's place; as many different ones as the cycle has
 * members would be a cycle again. */
static void cut_cycle(struct cycles *cycles, uint32_t start, const struct arrival *closing)
{
    const struct place_table *table = cycles->model->table;
    bool *held = cycles->held;
    memset(held, 0, table->option_count * sizeof *held);
    uint32_t members = 0;
    const struct arrival *next = closing; /* the edge by which the cycle leaves the member */
    for (bool whole = false; !whole; members++) {
        uint32_t member = next->option;
        whole = member == start;
        const struct arrival *last = whole ? closing : &cycles->arrivals[member];
        for (uint32_t k = table->first_option[last->in]; k < table->first_option[last->in + 1]; k++)
            if (goes_through(&table->options[table->node_options[k]], last, next->out))
                held[table->node_options[k]] = true;
        cycles->cut[member] = true;
        next = &cycles->arrivals[member];
    }
    uint32_t row = program_add_row(&cycles->model->program, -HUGE_VAL, members - 1);
    for (uint32_t o = 0; o < table->option_count; o++)
        if (held[o])
            program_add_late_entry(&cycles->model->program, o, row, 1);
    cycles->found++;
}

/* Looks at what takes the option's values. True: the start was reached again. */
static bool visit(struct cycles *cycles, uint32_t option, uint32_t start, uint32_t *end)
{
    const struct place_table *table = cycles->model->table;
    const struct place_option *o = &table->options[option];
    for (uint32_t k = 0; k < o->output_count; k++) {
        value_id value = o->outputs[k].value;
        for (uint32_t u = table->uses->first[value]; u < table->uses->first[value + 1]; u++) {
            node_id in = table->uses->users[u];
            uint32_t next = cycles->option_of[in];
            const struct arrival arrival = { option, table->graph->values[value].producer, in,
                                             value };
            if (next == option || next == MODEL_NONE || cycles->cut[next] ||
                !place_option_takes(&table->options[next], value))
                continue;
            if (next == start) {
                cut_cycle(cycles, start, &arrival);
                return true;
            }
            if (cycles->tick_of[next] == cycles->tick)
                continue;
            cycles->tick_of[next] = cycles->tick;
            cycles->arrivals[next] = arrival;
            cycles->queue[(*end)++] = next;
        }
    }
    return false;
}

/* The shortest cycle through an option, if there is one. */
static void search(struct cycles *cycles, uint32_t start)
{
    uint32_t end = 1;
    cycles->tick++;
    cycles->queue[0] = start;
    cycles->tick_of[start] = cycles->tick;
    for (uint32_t k = 0; k < end; k++)
        if (visit(cycles, cycles->queue[k], start, &end))
            return;
}

static bool make(struct cycles *cycles, const double *columns)
{
    const struct place_table *table = cycles->model->table;
    size_t options = table->option_count, nodes = table->graph->node_count;
    struct arena *arena = cycles->arena;
    cycles->option_of = arena_array(arena, nodes, sizeof *cycles->option_of);
    cycles->arrivals = arena_array(arena, options, sizeof *cycles->arrivals);
    cycles->tick_of = arena_array(arena, options, sizeof *cycles->tick_of);
    cycles->cut = arena_array(arena, options, sizeof *cycles->cut);
    cycles->held = arena_array(arena, options, sizeof *cycles->held);
    cycles->queue = arena_array(arena, options, sizeof *cycles->queue);
    if (!cycles->option_of || !cycles->arrivals || !cycles->tick_of || !cycles->cut ||
        !cycles->held || !cycles->queue)
        return false;
    memset(cycles->option_of, 0xff, nodes * sizeof *cycles->option_of); /* MODEL_NONE */
    for (uint32_t o = 0; o < options; o++)
        for (uint32_t k = 0; columns[o] > 0.5 && k < table->options[o].node_count; k++)
            cycles->option_of[table->options[o].nodes[k]] = o;
    return true;
}

collage_status cycles_cut(struct model *model, const double *columns, uint32_t *found,
                          struct error *error)
{
    struct cycles cycles = { .model = model, .arena = arena_create() };
    if (!cycles.arena || !make(&cycles, columns)) {
        arena_destroy(cycles.arena);
        return error_memory(error);
    }
    for (uint32_t o = 0; o < model->table->option_count; o++)
        if (columns[o] > 0.5 && !cycles.cut[o])
            search(&cycles, o);
    program_settle(&model->program);
    *found = cycles.found;
    arena_destroy(cycles.arena);
    return model->program.failed ? error_memory(error) : COLLAGE_OK;
}
