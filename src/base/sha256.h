/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h: SHA-256 (FIPS 180-4), where a hash must withstand somebody who wants it to collide; for
 * all else there is hash.h. Written here since no library that Collage is linked with has it, and
 * one that is linked for this alone would be far larger than this. */
#ifndef COLLAGE_BASE_SHA256_H
#define COLLAGE_BASE_SHA256_H

#include <stddef.h>

enum { SHA256_TEXT = 65 }; /* 64 lower-case hex digits and a terminator */

void sha256_print(const void *data, size_t count, char text[SHA256_TEXT]);

#endif
