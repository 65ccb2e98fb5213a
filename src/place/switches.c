/* SPDX-License-Identifier: Apache-2.0 */
#include "place/switches.h"

#include <math.h>
#include <string.h>

/* ---- a path ---- */

/* An edge of the path: `from` makes the value, `to` takes it. */
struct edge {
    node_id from, to;
};

/* The longest path to each node, by its last edge; then the longest of all, the last edge first.
 * What has copies need not run before those that use it. */
static uint32_t find_path(const struct place_table *table, struct arena *arena, struct edge **out)
{
    const struct graph *graph = table->graph;
    size_t nodes = graph->node_count;
    uint32_t *length = arena_array(arena, nodes, sizeof *length);
    node_id *before = arena_array(arena, nodes, sizeof *before);
    struct edge *path = arena_array(arena, nodes, sizeof *path);
    *out = path;
    if (!length || !before || !path)
        return 0;
    node_id end = 0;
    for (node_id n = 0; n < nodes; n++) {
        const collage_node *base = &graph->nodes[n].base;
        before[n] = GRAPH_NONE;
        for (uint32_t k = 0; k < base->input_count; k++) {
            value_id value = base->inputs[k];
            if (value == GRAPH_NONE || graph->values[value].kind != VALUE_COMPUTED)
                continue;
            node_id producer = graph->values[value].producer;
            if (place_is_copied(table, producer) || place_is_copied(table, n))
                continue;
            if (length[producer] + 1 > length[n]) {
                length[n] = length[producer] + 1;
                before[n] = producer;
            }
        }
        end = length[n] > length[end] ? n : end;
    }
    uint32_t count = 0;
    for (node_id n = end; nodes && before[n] != GRAPH_NONE; n = before[n])
        path[count++] = (struct edge){ before[n], n };
    return count;
}

/* The cheapest way from a backend to another, other steps between them or not. */
static double *find_ways(const struct place_table *table, struct arena *arena)
{
    uint32_t n = table->backend_count;
    double *ways = arena_array(arena, (size_t)n * n, sizeof *ways);
    for (uint32_t a = 0; ways && a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            ways[a * n + b] = table->switch_ns[a * (n + 1) + b];
    for (uint32_t via = 0; ways && via < n; via++)
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = 0; b < n; b++)
                ways[a * n + b] = fmin(ways[a * n + b], ways[a * n + via] + ways[via * n + b]);
    return ways;
}

/* Options of one backend that hold one end of an edge and not the other: a row that says how many
 * of these are chosen. MODEL_NONE: there are none. */
static uint32_t add_end(struct model *model, node_id in, node_id out, uint32_t backend)
{
    const struct place_table *table = model->table;
    uint32_t row = MODEL_NONE;
    for (uint32_t k = table->first_option[in]; k < table->first_option[in + 1]; k++) {
        const struct place_option *option = &table->options[table->node_options[k]];
        if (option->view || option->backend != backend || place_option_has(option, out))
            continue;
        if (row == MODEL_NONE)
            row = program_add_row(&model->program, 0, 0);
        program_add_late_entry(&model->program, table->node_options[k], row, -1);
    }
    return row;
}

static bool has_view(const struct place_table *table, node_id node)
{
    for (uint32_t k = table->first_option[node]; k < table->first_option[node + 1]; k++)
        if (table->options[table->node_options[k]].view)
            return true;
    return false;
}

static void add_way(struct program *program, double cost, uint32_t from_row, uint32_t to_row)
{
    program_add_column(program, cost, false);
    if (from_row != MODEL_NONE)
        program_add_entry(program, from_row, 1);
    if (to_row != MODEL_NONE)
        program_add_entry(program, to_row, 1);
}

/* rows: by backend, that of `from`, then that of `to`. Views run on no backend: what lies before or
 * after one on the path is not charged. */
static void add_ways(struct model *model, const struct edge *edge, const uint32_t *rows,
                     const double *ways)
{
    uint32_t n = model->table->backend_count;
    const uint32_t *from = rows, *to = rows + n;
    bool view_from = has_view(model->table, edge->from), view_to = has_view(model->table, edge->to);
    for (uint32_t a = 0; a < n; a++) {
        for (uint32_t b = 0; b < n && from[a] != MODEL_NONE; b++)
            if (to[b] != MODEL_NONE)
                add_way(&model->program, ways[a * n + b], from[a], to[b]);
        if (view_to && from[a] != MODEL_NONE)
            add_way(&model->program, 0, from[a], MODEL_NONE);
        if (view_from && to[a] != MODEL_NONE)
            add_way(&model->program, 0, MODEL_NONE, to[a]);
    }
}

static bool add_path(struct model *model, struct arena *arena)
{
    const struct place_table *table = model->table;
    uint32_t n = table->backend_count;
    struct edge *path;
    uint32_t edges = find_path(table, arena, &path);
    const double *ways = find_ways(table, arena);
    uint32_t *rows = arena_array(arena, (size_t)edges * 2 * n, sizeof *rows);
    if (!path || !ways || !rows)
        return false;
    for (uint32_t e = 0; e < edges; e++)
        for (uint32_t b = 0; b < n; b++) {
            uint32_t *ends = rows + (size_t)e * 2 * n;
            ends[b] = add_end(model, path[e].from, path[e].to, b);
            ends[n + b] = add_end(model, path[e].to, path[e].from, b);
        }
    program_settle(&model->program);
    for (uint32_t e = 0; e < edges; e++)
        add_ways(model, &path[e], rows + (size_t)e * 2 * n, ways);
    return true;
}

collage_status switches_add(struct model *model, double scale, struct switches *out,
                            struct error *error)
{
    struct arena *arena = arena_create();
    out->first = model->program.column_count;
    out->scale = scale;
    bool good = arena && add_path(model, arena);
    out->end = model->program.column_count;
    out->rest = program_add_column(&model->program, scale, false);
    arena_destroy(arena);
    return good && !model->program.failed ? COLLAGE_OK : error_memory(error);
}

/* ---- what was found out ---- */

/* Then they wait for the same: what copies take is not told by the nodes alone. */
static bool same_nodes(const struct place_option *a, const struct place_option *b)
{
    if (a->backend != b->backend || a->view != b->view || a->node_count != b->node_count ||
        a->input_count != b->input_count ||
        memcmp(a->nodes, b->nodes, a->node_count * sizeof *a->nodes) != 0)
        return false;
    for (uint32_t k = 0; k < a->input_count; k++)
        if (a->inputs[k].value != b->inputs[k].value)
            return false;
    return true;
}

/* Marks the options that are like a chosen one. Returns how many are chosen. */
static uint32_t mark_like(const struct place_table *table, const double *chosen, bool *like)
{
    uint32_t count = 0;
    for (uint32_t o = 0; o < table->option_count; o++) {
        const struct place_option *option = &table->options[o];
        if (chosen[o] <= 0.5)
            continue;
        count++;
        for (uint32_t k = table->first_option[option->nodes[0]];
             k < table->first_option[option->nodes[0] + 1]; k++)
            if (same_nodes(option, &table->options[table->node_options[k]]))
                like[table->node_options[k]] = true;
    }
    return count;
}

collage_status switches_cut(struct model *model, const struct switches *switches,
                            const double *columns, double cost_ns, struct error *error)
{
    struct program *program = &model->program;
    bool *like = memory_alloc(model->table->option_count * sizeof *like);
    if (!like)
        return error_memory(error);
    double paid = cost_ns; /* for switching: what the other columns do not pay */
    for (uint32_t c = 0; c < switches->first; c++)
        paid -= program->cost[c] * columns[c];
    double share = paid / switches->scale;
    uint32_t chosen = mark_like(model->table, columns, like);
    uint32_t row = program_add_row(program, share * (1 - (double)chosen), HUGE_VAL);
    for (uint32_t o = 0; o < model->table->option_count; o++)
        if (like[o])
            program_add_late_entry(program, o, row, -share);
    for (uint32_t c = switches->first; c < switches->end; c++)
        program_add_late_entry(program, c, row, program->cost[c] / switches->scale);
    program_add_late_entry(program, switches->rest, row, 1);
    program_settle(program);
    memory_free(like);
    return program->failed ? error_memory(error) : COLLAGE_OK;
}
