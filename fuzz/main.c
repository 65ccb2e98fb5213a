/* SPDX-License-Identifier: Apache-2.0 */
/* The entry that libFuzzer calls. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return COLLAGE_FUZZ_TARGET(data, size);
}
