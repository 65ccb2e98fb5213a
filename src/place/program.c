/* SPDX-License-Identifier: Apache-2.0 */
#include "place/program.h"

#include <math.h>
#include <string.h>

static bool grow(void **items, uint32_t *capacity, uint32_t count, size_t size)
{
    size_t wide = *capacity;
    if (count >= PROGRAM_MOST || !memory_grow(items, &wide, count, size))
        return false;
    *capacity = (uint32_t)wide;
    return true;
}

uint32_t program_add_row(struct program *program, double lower, double upper)
{
    uint32_t lower_capacity = program->row_capacity, upper_capacity = program->row_capacity;
    if (program->failed ||
        !grow((void **)&program->lower, &lower_capacity, program->row_count, sizeof(double)) ||
        !grow((void **)&program->upper, &upper_capacity, program->row_count, sizeof(double))) {
        program->failed = true;
        return 0;
    }
    program->row_capacity = lower_capacity;
    program->lower[program->row_count] = lower;
    program->upper[program->row_count] = upper;
    return program->row_count++;
}

/* The arrays by column have one capacity; `first` has one element more. */
static bool grow_columns(struct program *program)
{
    uint32_t count = program->column_count;
    uint32_t costs = program->column_capacity, flags = costs, firsts = costs, starts = costs;
    if (!grow((void **)&program->cost, &costs, count + 1, sizeof *program->cost) ||
        !grow((void **)&program->integer, &flags, count + 1, sizeof *program->integer) ||
        !grow((void **)&program->first, &firsts, count + 1, sizeof *program->first) ||
        !grow((void **)&program->start, &starts, count + 1, sizeof *program->start))
        return false;
    program->column_capacity = costs;
    return true;
}

uint32_t program_add_column(struct program *program, double cost, bool integer)
{
    if (program->failed || !grow_columns(program)) {
        program->failed = true;
        return 0;
    }
    uint32_t column = program->column_count++;
    program->cost[column] = cost;
    program->integer[column] = integer;
    program->start[column] = 0;
    program->first[column] = program->first[column + 1] = program->entry_count;
    return column;
}

void program_add_entry(struct program *program, uint32_t row, double factor)
{
    uint32_t rows = program->entry_capacity, factors = rows;
    if (program->failed ||
        !grow((void **)&program->row, &rows, program->entry_count, sizeof *program->row) ||
        !grow((void **)&program->factor, &factors, program->entry_count, sizeof(double))) {
        program->failed = true;
        return;
    }
    program->entry_capacity = rows;
    program->row[program->entry_count] = row;
    program->factor[program->entry_count] = factor;
    program->first[program->column_count] = ++program->entry_count;
}

void program_add_late_entry(struct program *program, uint32_t column, uint32_t row, double factor)
{
    if (program->failed || !grow((void **)&program->late, &program->late_capacity,
                                 program->late_count, sizeof *program->late)) {
        program->failed = true;
        return;
    }
    program->late[program->late_count++] = (struct program_entry){ column, row, factor };
}

/* Makes room at the end, then moves each column's entries up, the last first. */
void program_settle(struct program *program)
{
    uint32_t columns = program->column_count, end = program->entry_count;
    uint32_t left = program->late_count; /* late entries of this column and all before it */
    uint32_t *more = memory_alloc(((size_t)columns + 1) * sizeof *more);
    for (uint32_t k = 0; k < left; k++)
        program_add_entry(program, 0, 0);
    if (!more || program->failed) {
        program->failed = true;
        memory_free(more);
        return;
    }
    for (uint32_t k = 0; k < left; k++)
        more[program->late[k].column]++;
    for (uint32_t c = columns; c-- > 0;) {
        uint32_t first = program->first[c], size = end - first;
        end = first;
        program->first[c + 1] = first + size + left;
        left -= more[c];
        memmove(program->row + first + left, program->row + first, size * sizeof *program->row);
        memmove(program->factor + first + left, program->factor + first, size * sizeof(double));
        more[c] = first + left + size; /* where its late entries go */
    }
    for (uint32_t k = 0; k < program->late_count; k++) {
        const struct program_entry *late = &program->late[k];
        program->row[more[late->column]] = late->row;
        program->factor[more[late->column]++] = late->factor;
    }
    program->late_count = 0;
    memory_free(more);
}

void program_free(struct program *program)
{
    memory_free(program->cost);
    memory_free(program->integer);
    memory_free(program->first);
    memory_free(program->row);
    memory_free(program->factor);
    memory_free(program->lower);
    memory_free(program->upper);
    memory_free(program->start);
    memory_free(program->late);
    *program = (struct program){ 0 };
}

double program_price(const struct program *program, const double *prices, double *reduced)
{
    double bound = 0;
    for (uint32_t c = 0; c < program->column_count; c++)
        reduced[c] = program->cost[c];
    for (uint32_t r = 0; r < program->row_count; r++) {
        double side = prices[r] > 0 ? program->lower[r] : program->upper[r];
        if (isfinite(prices[r]) && isfinite(side))
            bound += prices[r] * side;
    }
    for (uint32_t c = 0; c < program->column_count; c++) {
        for (uint32_t e = program->first[c]; e < program->first[c + 1]; e++) {
            uint32_t r = program->row[e];
            double side = prices[r] > 0 ? program->lower[r] : program->upper[r];
            if (isfinite(prices[r]) && isfinite(side))
                reduced[c] -= prices[r] * program->factor[e];
        }
        if (reduced[c] < 0) {
            bound += reduced[c]; /* at most once */
            reduced[c] = 0;
        }
    }
    return bound;
}

void program_answer_free(struct program_answer *answer)
{
    memory_free(answer->columns);
    memory_free(answer->prices);
    *answer = (struct program_answer){ 0 };
}
