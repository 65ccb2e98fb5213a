/* SPDX-License-Identifier: Apache-2.0 */
#include "place/relax.h"

#include <math.h>
#include <string.h>

#include "place/solve.h"

/* Nodes of a window; graphs that are smaller than two of them are solved as a whole. */
enum { WINDOW_NODES = 1000 };

struct relaxation {
    const struct model *model;
    const char *solver;
    uint64_t deadline;
    double *prices;
    node_id *row_nodes;
    uint32_t *local; /* row by row: its number in the window; MODEL_NONE: outside */
    uint32_t *rows;  /* of the window */
    uint32_t row_count, answers;
    struct error *error;
};

static void find_rows(struct relaxation *relaxation, node_id begin, node_id end)
{
    relaxation->row_count = 0;
    for (uint32_t r = 0; r < relaxation->model->program.row_count; r++) {
        bool inside = relaxation->row_nodes[r] >= begin && relaxation->row_nodes[r] < end;
        relaxation->local[r] = inside ? relaxation->row_count : MODEL_NONE;
        if (inside)
            relaxation->rows[relaxation->row_count++] = r;
    }
}

/* A column at what the prices of the rows outside leave of its cost. */
static void add_column(const struct relaxation *relaxation, uint32_t column, struct program *window)
{
    const struct program *whole = &relaxation->model->program;
    double cost = whole->cost[column];
    bool inside = false;
    for (uint32_t e = whole->first[column]; e < whole->first[column + 1]; e++) {
        if (relaxation->local[whole->row[e]] == MODEL_NONE)
            cost -= relaxation->prices[whole->row[e]] * whole->factor[e];
        else
            inside = true;
    }
    if (!inside)
        return;
    program_add_column(window, fmax(cost, 0), false);
    for (uint32_t e = whole->first[column]; e < whole->first[column + 1]; e++)
        if (relaxation->local[whole->row[e]] != MODEL_NONE)
            program_add_entry(window, relaxation->local[whole->row[e]], whole->factor[e]);
}

/* Prices of the window's rows, those of all others being what they are. *good: there was an answer.
 */
static collage_status solve_window(struct relaxation *relaxation, node_id begin, node_id end,
                                   bool *good)
{
    const struct program *whole = &relaxation->model->program;
    struct program window = { 0 };
    struct program_answer answer;
    struct error ignored = { 0 };
    find_rows(relaxation, begin, end);
    for (uint32_t k = 0; k < relaxation->row_count; k++)
        program_add_row(&window, whole->lower[relaxation->rows[k]],
                        whole->upper[relaxation->rows[k]]);
    for (uint32_t c = 0; c < whole->column_count; c++)
        add_column(relaxation, c, &window);
    collage_status status = window.failed
                                ? COLLAGE_ERROR_MEMORY
                                : program_solve(relaxation->solver, &window, PROGRAM_RELAX,
                                                relaxation->deadline, &answer, &ignored);
    *good = status == COLLAGE_OK;
    if (*good) {
        relaxation->answers++;
        for (uint32_t k = 0; answer.reply.row_count && k < relaxation->row_count; k++)
            relaxation->prices[relaxation->rows[k]] = answer.prices[k];
        program_answer_free(&answer);
    }
    program_free(&window);
    return status == COLLAGE_ERROR_MEMORY ? error_memory(relaxation->error) : COLLAGE_OK;
}

/* The second time, what were borders lies inside. */
static collage_status solve_windows(struct relaxation *relaxation)
{
    node_id nodes = (node_id)relaxation->model->table->graph->node_count;
    if (nodes < 2 * WINDOW_NODES) {
        bool good;
        return solve_window(relaxation, 0, nodes, &good);
    }
    for (node_id shift = 0; shift <= WINDOW_NODES / 2; shift += WINDOW_NODES / 2)
        for (node_id begin = 0; begin < nodes;) {
            node_id end = begin + (begin == 0 && shift ? shift : WINDOW_NODES);
            bool good = false;
            collage_status status = solve_window(relaxation, begin, end, &good);
            if (status || !good)
                return status;
            begin = end;
        }
    return COLLAGE_OK;
}

collage_status relax_model(const struct model *model, const char *solver, uint64_t deadline,
                           double *prices, uint32_t *answers, struct error *error)
{
    size_t rows = model->program.row_count;
    struct relaxation relaxation = { .model = model,
                                     .solver = solver,
                                     .deadline = deadline,
                                     .prices = prices,
                                     .row_nodes = memory_alloc(rows * sizeof(node_id)),
                                     .local = memory_alloc(rows * sizeof(uint32_t)),
                                     .rows = memory_alloc(rows * sizeof(uint32_t)),
                                     .error = error };
    collage_status status = COLLAGE_OK;
    if (relaxation.row_nodes && relaxation.local && relaxation.rows) {
        model_row_nodes(model, relaxation.row_nodes);
        status = solve_windows(&relaxation);
    } else {
        status = error_memory(error);
    }
    *answers = relaxation.answers;
    memory_free(relaxation.row_nodes);
    memory_free(relaxation.local);
    memory_free(relaxation.rows);
    return status;
}
