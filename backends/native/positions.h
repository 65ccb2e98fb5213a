/* SPDX-License-Identifier: Apache-2.0 */
/* positions.h: whole numbers that say which rows of a table are meant. */
#ifndef NATIVE_POSITIONS_H
#define NATIVE_POSITIONS_H

#include "family.h"

struct positions {
    struct operand operand; /* int32 or int64 */
    int64_t count, rows;    /* of them; of the table */
    bool wide;              /* int64 */
    bool from_end;          /* -1 is the last row */
};

/* False: the value holds no whole numbers. Negative ones are out of range. */
bool positions_read(const collage_subgraph *subgraph, uint32_t value, int64_t rows,
                    struct positions *out);
const void *positions_address(const struct positions *positions, const void *const *inputs);
/* False, with a message: one is out of range. No positions are all right. */
bool positions_check(const struct positions *positions, const void *const *inputs,
                     collage_message *message);

/* The k-th, which was checked. */
static inline int64_t positions_at(const struct positions *positions, const void *numbers,
                                   int64_t k)
{
    int64_t row = positions->wide ? ((const int64_t *)numbers)[k] : ((const int32_t *)numbers)[k];
    return row < 0 ? row + positions->rows : row;
}

#endif
