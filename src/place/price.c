/* SPDX-License-Identifier: Apache-2.0 */
/* price.c: row prices of the relaxed program become bounds for the dynamic program. */
#include <math.h>

#include "place/model.h"

static double *make_matrix(struct place_table *table, value_id value)
{
    size_t layouts = table->values[value].layout_count;
    return arena_array(table->arena, layouts * layouts, sizeof(double));
}

static void price_options(const struct model *model, const double *reduced,
                          struct place_table *table)
{
    for (uint32_t o = 0; o < table->option_count; o++)
        table->options[o].bound = model->program.cost[o] - reduced[o];
}

static collage_status price_routes(const struct model *model, const double *reduced,
                                   struct place_table *table, struct error *error)
{
    size_t uses = (size_t)model->use_count + table->graph->value_count;
    double **costs = arena_array(table->arena, uses, sizeof *costs);
    if (!costs)
        return error_memory(error);
    for (size_t r = 0; r < model->route_count; r++) {
        const struct model_route *route = &model->routes[r];
        if (!costs[route->use])
            costs[route->use] = make_matrix(table, route->value);
        if (!costs[route->use])
            return error_memory(error);
        costs[route->use][route->from * table->values[route->value].layout_count + route->to] =
            reduced[table->option_count + r];
    }
    table->route_cost = arena_copy(table->arena, costs, uses * sizeof *costs);
    return table->route_cost ? COLLAGE_OK : error_memory(error);
}

/* A route that pays its conversion itself has it in its own price. */
static collage_status price_conversions(const struct model *model, const double *reduced,
                                        struct place_table *table, struct error *error)
{
    double **bounds = arena_array(table->arena, table->graph->value_count, sizeof *bounds);
    if (!bounds)
        return error_memory(error);
    for (size_t r = 0; r < model->route_count + model->conversion_count; r++) {
        bool is_route = r < model->route_count;
        const struct model_route *route = is_route ? &model->routes[r] : NULL;
        if (route && (route->conversion != MODEL_NONE || route->from == route->to))
            continue;
        const struct model_conversion own =
            route ? (struct model_conversion){ route->value, route->from, route->to }
                  : model->conversions[r - model->route_count];
        struct place_value *value = &table->values[own.value];
        uint32_t cell = own.from * value->layout_count + own.to;
        if (!bounds[own.value])
            bounds[own.value] = make_matrix(table, own.value);
        if (!bounds[own.value])
            return error_memory(error);
        bounds[own.value][cell] =
            value->convert[cell] -
            (is_route ? 0 : reduced[model->first_conversion + r - model->route_count]);
        value->convert_bound = bounds[own.value];
    }
    return COLLAGE_OK;
}

/* A bound is exact enough only if its terms are of its own size. */
static bool are_sane(const struct model *model, const double *prices, const double *reduced,
                     double bound)
{
    const double most = 1e4 * bound;
    bool sane = isfinite(bound);
    for (uint32_t r = 0; sane && r < model->program.row_count; r++)
        sane = fabs(prices[r]) <= most;
    for (uint32_t c = 0; sane && c < model->program.column_count; c++)
        sane = isfinite(reduced[c]);
    return sane;
}

collage_status model_price(const struct model *model, const double *prices,
                           struct place_table *table, bool *better, struct error *error)
{
    double *reduced = memory_alloc(model->program.column_count * sizeof *reduced);
    if (!reduced)
        return error_memory(error);
    double bound = program_price(&model->program, prices, reduced);
    collage_status status = COLLAGE_OK;
    *better = bound >= table->bound_total && are_sane(model, prices, reduced, bound);
    if (*better) {
        table->bound_total = bound;
        price_options(model, reduced, table);
        status = price_routes(model, reduced, table, error);
        if (!status)
            status = price_conversions(model, reduced, table, error);
    }
    memory_free(reduced);
    return status;
}
