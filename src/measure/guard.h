/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h: buffers with zones around them that show when something was written outside. */
#ifndef COLLAGE_MEASURE_GUARD_H
#define COLLAGE_MEASURE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct guarded {
    unsigned char *data; /* 64-byte aligned; NULL if never allocated */
    uint64_t bytes;
};

bool guarded_alloc(struct guarded *buffer, uint64_t bytes); /* false if out of memory */
void guarded_free(struct guarded *buffer);
/* Fills with 0xFF: NaN for floats, so that what is never written is seen. */
void guarded_poison(struct guarded *buffer);
bool guarded_intact(const struct guarded *buffer);

#endif
