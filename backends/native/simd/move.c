/* SPDX-License-Identifier: Apache-2.0 */
/* move.c: copies boxes. Small rows are vectors, columns are turned in tiles of 8 by 8. */
#include "move.h"

#include "simd.h"

#define UNROLL _Pragma("GCC unroll 16")

enum { TILE = 8, LONG_ROW = 256 };

typedef float octet __attribute__((vector_size(32), may_alias, aligned(4)));

/* The rows and columns of a unit. */
struct patch {
    const float *from;
    float *to;
    int64_t from_row, from_column, to_row, to_column, rows, columns;
};

static void copy_run(const struct patch *p)
{
    if (p->columns >= LONG_ROW) {
        for (int64_t r = 0; r < p->rows; r++)
            memcpy(p->to + r * p->to_row, p->from + r * p->from_row,
                   (size_t)p->columns * sizeof(float));
        return;
    }
    int64_t whole = p->columns / LANES * LANES, rest = p->columns - whole;
    for (int64_t r = 0; r < p->rows; r++) {
        const float *from = p->from + r * p->from_row;
        float *to = p->to + r * p->to_row;
        for (int64_t c = 0; c < whole; c += LANES)
            vec_store(to + c, vec_load(from + c));
        if (rest)
            vec_store_part(to + whole, vec_load_part(from + whole, rest), rest);
    }
}

INLINE octet low_pairs(octet a, octet b)
{
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
}

INLINE octet high_pairs(octet a, octet b)
{
    return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}

INLINE octet low_quads(octet a, octet b)
{
    return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
}

INLINE octet high_quads(octet a, octet b)
{
    return __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
}

/* to[r][c] = from[c][r]; both have 8 neighbours in a row. */
INLINE void turn_tile(float *to, int64_t to_row, const float *from, int64_t from_column)
{
    octet in[TILE], pairs[TILE], quads[TILE];
    UNROLL
    for (int k = 0; k < TILE; k++)
        in[k] = *(const octet *)(from + k * from_column);
    UNROLL
    for (int k = 0; k < TILE; k += 2) {
        pairs[k] = low_pairs(in[k], in[k + 1]);
        pairs[k + 1] = high_pairs(in[k], in[k + 1]);
    }
    UNROLL
    for (int k = 0; k < TILE; k += 4) {
        quads[k] = low_quads(pairs[k], pairs[k + 2]);
        quads[k + 1] = high_quads(pairs[k], pairs[k + 2]);
        quads[k + 2] = low_quads(pairs[k + 1], pairs[k + 3]);
        quads[k + 3] = high_quads(pairs[k + 1], pairs[k + 3]);
    }
    UNROLL
    for (int k = 0; k < TILE / 2; k++) {
        *(octet *)(to + k * to_row) =
            __builtin_shufflevector(quads[k], quads[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(octet *)(to + (k + 4) * to_row) =
            __builtin_shufflevector(quads[k], quads[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

static void copy_any(const struct patch *p)
{
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t c = 0; c < p->columns; c++)
            p->to[r * p->to_row + c * p->to_column] = p->from[r * p->from_row + c * p->from_column];
}

static void copy_corner(const struct patch *p, int64_t row, int64_t rows, int64_t column,
                        int64_t columns)
{
    struct patch corner = *p;
    corner.from += row * p->from_row + column * p->from_column;
    corner.to += row * p->to_row + column * p->to_column;
    corner.rows = rows;
    corner.columns = columns;
    copy_any(&corner);
}

/* Two tiles at a time, one below the other: a line of the cache is read at once. */
static void copy_turn(const struct patch *p)
{
    int64_t rows = p->rows / TILE * TILE, columns = p->columns / TILE * TILE;
    for (int64_t r = 0; r < rows; r += 2 * TILE) {
        bool both = r + TILE < rows;
        for (int64_t c = 0; c < columns; c += TILE) {
            const float *from = p->from + r + c * p->from_column;
            float *to = p->to + r * p->to_row + c;
            turn_tile(to, p->to_row, from, p->from_column);
            if (both)
                turn_tile(to + TILE * p->to_row, p->to_row, from + TILE, p->from_column);
        }
    }
    if (columns < p->columns)
        copy_corner(p, 0, rows, columns, p->columns - columns);
    if (rows < p->rows)
        copy_corner(p, rows, p->rows - rows, 0, p->columns);
}

static void copy_repeat(const struct patch *p)
{
    int64_t r = 0;
    if (p->columns == 2) {
        for (; r + TILE <= p->rows; r += TILE) {
            octet v = *(const octet *)(p->from + r);
            *(octet *)(p->to + 2 * r) = __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3);
            *(octet *)(p->to + 2 * r + TILE) =
                __builtin_shufflevector(v, v, 4, 4, 5, 5, 6, 6, 7, 7);
        }
    }
    copy_corner(p, r, p->rows - r, 0, p->columns);
}

static void fill(const struct patch *p, float value)
{
    for (int64_t r = 0; r < p->rows; r++) {
        float *to = p->to + r * p->to_row;
        if (p->to_column == 1) {
            for (int64_t c = 0; c < p->columns; c++)
                to[c] = value;
        } else {
            for (int64_t c = 0; c < p->columns; c++)
                to[c * p->to_column] = value;
        }
    }
}

static void move_patch(const struct move_box *box, const struct patch *p)
{
    switch (box->form) {
    case MOVE_RUN:
        copy_run(p);
        break;
    case MOVE_TURN:
        copy_turn(p);
        break;
    case MOVE_REPEAT:
        copy_repeat(p);
        break;
    case MOVE_ANY:
        copy_any(p);
        break;
    case MOVE_FILL:
        fill(p, box->value);
        break;
    }
}

/* A place of the outer dimensions, and where its first element lies. */
struct place {
    int64_t index[MOVE_RANK], from, to;
};

static void go_to(const struct move_box *box, int64_t number, struct place *place)
{
    place->from = box->from_at;
    place->to = box->to_at;
    for (int32_t d = box->rank - 3; d >= 0; d--) {
        place->index[d] = number % box->count[d];
        number /= box->count[d];
        place->from += place->index[d] * box->from[d];
        place->to += place->index[d] * box->to[d];
    }
}

static void go_on(const struct move_box *box, struct place *place)
{
    for (int32_t d = box->rank - 3; d >= 0; d--) {
        place->from += box->from[d];
        place->to += box->to[d];
        if (++place->index[d] < box->count[d])
            return;
        place->from -= box->count[d] * box->from[d];
        place->to -= box->count[d] * box->to[d];
        place->index[d] = 0;
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A part of the rows and columns of one place. */
static void move_part(const struct move_box *box, struct patch *p, const float *from, float *to,
                      int64_t unit)
{
    struct place place;
    int64_t columns = unit % box->column_chunks * box->chunk_columns;
    int64_t rows = unit / box->column_chunks % box->row_chunks * box->chunk_rows;
    go_to(box, unit / (box->column_chunks * box->row_chunks), &place);
    p->rows = least(box->chunk_rows, box->count[box->rank - 2] - rows);
    p->columns = least(box->chunk_columns, box->count[box->rank - 1] - columns);
    p->from = from + (place.from + rows * p->from_row + columns * p->from_column);
    p->to = to + (place.to + rows * p->to_row + columns * p->to_column);
    move_patch(box, p);
}

static void move_units(const struct move_box *box, const float *from, float *to, int64_t begin,
                       int64_t end)
{
    int32_t row = box->rank - 2, column = box->rank - 1;
    struct patch p = { .from_row = box->from[row],
                       .from_column = box->from[column],
                       .to_row = box->to[row],
                       .to_column = box->to[column],
                       .rows = box->count[row],
                       .columns = box->count[column] };
    if (box->places == 1) {
        for (int64_t unit = begin; unit < end; unit++)
            move_part(box, &p, from, to, unit);
        return;
    }
    int64_t first = begin * box->places, last = least(end * box->places, box->outer);
    struct place place;
    go_to(box, first, &place);
    for (int64_t k = first; k < last; k++, go_on(box, &place)) {
        p.from = from + place.from;
        p.to = to + place.to;
        move_patch(box, &p);
    }
}

const struct move_kernels ISA(move_kernels) = { move_units };
