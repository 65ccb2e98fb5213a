/* SPDX-License-Identifier: Apache-2.0 */
/* families.c: the list of families. */
#include "family.h"

/* A file each; a row here, and a pattern in native.c. */
extern const struct family attention_family;
extern const struct family depthwise_family;
extern const struct family elementwise_family;
extern const struct family first_family;
extern const struct family grouped_family;
extern const struct family lookup_family;
extern const struct family rotary_family;
extern const struct family moves_family;
extern const struct family pooling_family;
extern const struct family rows_family;
extern const struct family separable_family;
extern const struct family softmax_family;
extern const struct family transposed_family;
extern const struct family winograd_family;

const struct family *const families[] = {
    &attention_family, &depthwise_family, &elementwise_family, &first_family,   &grouped_family,
    &lookup_family,    &moves_family,     &pooling_family,     &rotary_family,  &rows_family,
    &separable_family, &softmax_family,   &transposed_family,  &winograd_family
};
const size_t family_count = sizeof families / sizeof families[0];
