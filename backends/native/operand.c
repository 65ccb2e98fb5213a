/* SPDX-License-Identifier: Apache-2.0 */
/* operand.c: what families ask of the values of a sub-graph. Other plugins use it, too. */
#include "family.h"

struct operand operand_of(const collage_subgraph *subgraph, uint32_t value)
{
    struct operand operand = { subgraph->values[value]->data, 0 };
    for (uint32_t k = 0; k < subgraph->input_count; k++) {
        if (subgraph->inputs[k] == value)
            operand.input = k;
    }
    return operand;
}

bool value_is_outside(const collage_subgraph *subgraph, uint32_t value)
{
    if (subgraph->values[value]->data)
        return true;
    for (uint32_t k = 0; k < subgraph->input_count; k++) {
        if (subgraph->inputs[k] == value)
            return true;
    }
    return false;
}

bool all_float32(const collage_subgraph *subgraph, const bool *ignore, collage_message *why)
{
    for (uint32_t v = 0; v < subgraph->value_count; v++) {
        const collage_value *value = subgraph->values[v];
        if (ignore && ignore[v])
            continue;
        if (value->dtype != COLLAGE_FLOAT32) {
            fail(why, COLLAGE_ERROR_UNSUPPORTED, "'%s' is not float32", value->name);
            return false;
        }
        if (value->bytes < sizeof(float)) {
            fail(why, COLLAGE_ERROR_UNSUPPORTED, "'%s' is empty or its shape is unknown",
                 value->name);
            return false;
        }
    }
    return true;
}
