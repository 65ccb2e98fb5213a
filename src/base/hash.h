/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h: 128-bit hashes (XXH3), fed piece by piece; used as keys of sub-graphs, files and devices.
 */
#ifndef COLLAGE_BASE_HASH_H
#define COLLAGE_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash {
    uint64_t low, high;
};

struct hash_state;
struct hash_state *hash_begin(void); /* NULL if out of memory */
void hash_bytes(struct hash_state *state, const void *data, size_t count);
void hash_u64(struct hash_state *state, uint64_t value);
void hash_string(struct hash_state *state,
                 const char *text);             /* with its length: no two lists collide */
struct hash hash_end(struct hash_state *state); /* frees the state */

struct hash hash_of(const void *data, size_t count);
bool hash_equal(struct hash a, struct hash b);
/* 32 lower-case hex digits and a terminator. */
void hash_print(struct hash hash, char text[33]);
bool hash_parse(const char *text, struct hash *hash);

#endif
