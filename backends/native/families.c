/* SPDX-License-Identifier: Apache-2.0 */
/* families.c: the list of families, and what they share. */
#include "family.h"

/* A file each; a row here, and a pattern in native.c. */
extern const struct family attention_family;
extern const struct family depthwise_family;
extern const struct family elementwise_family;
extern const struct family first_family;
extern const struct family grouped_family;
extern const struct family moves_family;
extern const struct family pooling_family;
extern const struct family rows_family;
extern const struct family softmax_family;
extern const struct family transposed_family;
extern const struct family winograd_family;

const struct family *const families[] = {
    &attention_family, &depthwise_family,  &elementwise_family, &first_family,
    &grouped_family,   &moves_family,      &pooling_family,     &rows_family,
    &softmax_family,   &transposed_family, &winograd_family
};
const size_t family_count = sizeof families / sizeof families[0];

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
