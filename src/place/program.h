/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h: internal to place/ and solver/: a linear program with 0-1 columns as data, and how it
 * and its answer travel between the two processes. Both ends are of one build on one machine, so
 * numbers go as they lie in memory; but neither end trusts the other's counts and indices.
 */
#ifndef COLLAGE_PLACE_PROGRAM_H
#define COLLAGE_PLACE_PROGRAM_H

#include "base/error.h"
#include "base/memory.h"

/* Every column is at least 0 and, in any solution that is looked for, at most 1. Minimised. */
struct program {
    uint32_t column_count, row_count, entry_count;
    double *cost;     /* column by column */
    uint8_t *integer; /* column by column: 1: 0 or 1; 0: anything between */
    uint32_t *first;  /* entries of column c: first[c] .. first[c + 1] */
    uint32_t *row;    /* entry by entry */
    double *factor;
    double *lower, *upper; /* row by row; -HUGE_VAL, HUGE_VAL: none */
    uint8_t *start;        /* integer columns of a known solution; used if has_start */
    bool has_start;
    /* For building only: */
    uint32_t column_capacity, row_capacity, entry_capacity, late_count, late_capacity;
    struct program_entry {
        uint32_t column, row;
        double factor;
    } * late;
    bool failed; /* out of memory */
};

/* Rows and columns are added one by one; entries go to the latest column. Out of memory sets
 * `failed`, to be checked once at the end. */
uint32_t program_add_row(struct program *program, double lower, double upper);
uint32_t program_add_column(struct program *program, double cost, bool integer);
void program_add_entry(struct program *program, uint32_t row, double factor);
/* Entries of any column, in any order: they count once program_settle has put them in their places.
 */
void program_add_late_entry(struct program *program, uint32_t column, uint32_t row, double factor);
void program_settle(struct program *program);
void program_free(struct program *program);

/*
 * The best bound that these row prices prove: no solution costs less. `reduced` (column by column)
 * receives what the columns cost beyond it, at least 0. Prices of the wrong sign count as 0, so
 * that any prices at all give a bound that holds.
 */
double program_price(const struct program *program, const double *prices, double *reduced);

/* What to do with a program. */
enum program_task {
    PROGRAM_RELAX, /* without the 0-1 condition: for row prices */
    PROGRAM_SOLVE
};

enum { PROGRAM_MAGIC = 0x43504731, PROGRAM_MOST = 1 << 26 };

struct program_request {
    uint32_t magic, task;
    uint32_t column_count, row_count, entry_count, has_start;
    uint32_t memory_mebibytes, reserved;
    double seconds;
};

struct program_reply {
    uint32_t magic, column_count, row_count;
    uint32_t has_solution; /* columns[] is a solution */
    uint32_t proven;       /* the solution is the best one */
    uint32_t reserved;
    double bound; /* no solution costs less; -HUGE_VAL: not known */
};

struct program_answer {
    struct program_reply reply;
    double *columns, *prices; /* prices: row by row, only of PROGRAM_RELAX */
};

void program_answer_free(struct program_answer *answer);

#endif
