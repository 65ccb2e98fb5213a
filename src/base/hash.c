/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

struct hash_state *hash_begin(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state)
        XXH3_128bits_reset(state);
    return (struct hash_state *)state;
}

void hash_bytes(struct hash_state *state, const void *data, size_t count)
{
    if (count)
        XXH3_128bits_update((XXH3_state_t *)state, data, count);
}

void hash_u64(struct hash_state *state, uint64_t value)
{
    hash_bytes(state, &value, sizeof value);
}

void hash_string(struct hash_state *state, const char *text)
{
    size_t length = strlen(text);
    hash_u64(state, length);
    hash_bytes(state, text, length);
}

struct hash hash_end(struct hash_state *state)
{
    XXH128_hash_t h = XXH3_128bits_digest((XXH3_state_t *)state);
    XXH3_freeState((XXH3_state_t *)state);
    return (struct hash){ h.low64, h.high64 };
}

struct hash hash_of(const void *data, size_t count)
{
    XXH128_hash_t h = XXH3_128bits(data, count);
    return (struct hash){ h.low64, h.high64 };
}

bool hash_equal(struct hash a, struct hash b)
{
    return a.low == b.low && a.high == b.high;
}

void hash_print(struct hash hash, char text[33])
{
    snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

bool hash_parse(const char *text, struct hash *hash)
{
    if (strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32)
        return false;
    return sscanf(text, "%16" SCNx64 "%16" SCNx64, &hash->high, &hash->low) == 2;
}
