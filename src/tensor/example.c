/* SPDX-License-Identifier: Apache-2.0 */
/* example.c: the pseudo-random inputs that checks and measurements use. */
#include "tensor/tensor.h"

uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void tensor_fill_example(struct tensor *tensor, uint64_t state, int64_t limit)
{
    int64_t count = tensor_elements(tensor);
    bool real = dtype_is_float(tensor->dtype);
    if (limit <= 0)
        limit = 2;
    for (int64_t k = 0; k < count; k++) {
        uint64_t bits = splitmix64(&state) >> 40;
        if (real)
            tensor_set(tensor, k, 1.7320507764816284 * ((double)bits * 0x1p-23 - 1.0));
        else
            tensor_set_int(tensor, k, (int64_t)(bits % (uint64_t)limit));
    }
}
