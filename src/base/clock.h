/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLAGE_BASE_CLOCK_H
#define COLLAGE_BASE_CLOCK_H

#include <stdint.h>

/* Monotonic nanoseconds; only differences mean something. */
uint64_t clock_ns(void);

#endif
