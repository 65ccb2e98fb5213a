/* SPDX-License-Identifier: Apache-2.0 */
/* program_io.h: internal to place/ and solver/: whole buffers over a descriptor, with a deadline.
 */
#ifndef COLLAGE_PLACE_PROGRAM_IO_H
#define COLLAGE_PLACE_PROGRAM_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False if the other end is gone or the clock (clock_ns) passes the deadline first. Descriptors
 * that do not block obey the deadline; those that do wait for the other end. */
bool io_write(int descriptor, const void *bytes, size_t count, uint64_t deadline);
bool io_read(int descriptor, void *bytes, size_t count, uint64_t deadline);

#endif
