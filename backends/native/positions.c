/* SPDX-License-Identifier: Apache-2.0 */
#include "positions.h"

#include <inttypes.h>

bool positions_read(const collage_subgraph *subgraph, uint32_t value, int64_t rows,
                    struct positions *out)
{
    const collage_value *numbers = subgraph->values[value];
    *out = (struct positions){ .operand = operand_of(subgraph, value), .rows = rows };
    out->wide = numbers->dtype == COLLAGE_INT64;
    out->count = (int64_t)(numbers->bytes / (out->wide ? sizeof(int64_t) : sizeof(int32_t)));
    return (out->wide || numbers->dtype == COLLAGE_INT32) && out->count > 0 && rows > 0;
}

const void *positions_address(const struct positions *positions, const void *const *inputs)
{
    return positions->count > 0 ? operand_address(&positions->operand, inputs) : NULL;
}

bool positions_check(const struct positions *positions, const void *const *inputs,
                     collage_message *message)
{
    const void *numbers = positions_address(positions, inputs);
    const int64_t least = positions->from_end ? -positions->rows : 0;
    for (int64_t k = 0; k < positions->count; k++) {
        const int64_t row =
            positions->wide ? ((const int64_t *)numbers)[k] : ((const int32_t *)numbers)[k];
        if (row >= least && row < positions->rows)
            continue;
        fail(message, COLLAGE_ERROR_ARGUMENT,
             "index %" PRId64 " is out of range for %" PRId64 " rows", row, positions->rows);
        return false;
    }
    return true;
}
