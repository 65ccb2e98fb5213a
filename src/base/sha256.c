/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 64, WORDS = 8, ROUNDS = 64, LENGTH_AT = 56 };

/* The first bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

static void expand(const uint8_t *block, uint32_t *schedule)
{
    for (unsigned t = 0; t < 16; t++, block += 4)
        schedule[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
                      (uint32_t)block[2] << 8 | block[3];
    for (unsigned t = 16; t < ROUNDS; t++) {
        const uint32_t a = schedule[t - 15], b = schedule[t - 2];
        schedule[t] = schedule[t - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + schedule[t - 7] +
                      (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void add_block(uint32_t *state, const uint8_t *block)
{
    uint32_t schedule[ROUNDS], v[WORDS]; /* v: a to h */
    expand(block, schedule);
    memcpy(v, state, sizeof v);
    for (unsigned t = 0; t < ROUNDS; t++) {
        const uint32_t a = v[0], e = v[4];
        const uint32_t choice = (e & v[5]) ^ (~e & v[6]);
        const uint32_t majority = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
        const uint32_t first = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice +
                               constants[t] + schedule[t];
        const uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
        memmove(v + 1, v, (WORDS - 1) * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (unsigned k = 0; k < WORDS; k++)
        state[k] += v[k];
}

void sha256_print(const void *data, size_t count, char text[SHA256_TEXT])
{
    /* The first bits of the fractions of the square roots of the first 8 primes. */
    uint32_t state[WORDS] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    const uint8_t *bytes = data;
    size_t left = count;
    for (; left >= BLOCK; left -= BLOCK, bytes += BLOCK)
        add_block(state, bytes);
    uint8_t last[2 * BLOCK] = { 0 }; /* the rest, a one bit, zeros, the length in bits */
    const size_t end = left < LENGTH_AT ? BLOCK : 2 * BLOCK;
    const uint64_t bits = (uint64_t)count * 8;
    if (left > 0)
        memcpy(last, bytes, left);
    last[left] = 0x80;
    for (unsigned k = 0; k < 8; k++)
        last[end - 1 - k] = (uint8_t)(bits >> (8 * k));
    for (size_t at = 0; at < end; at += BLOCK)
        add_block(state, last + at);
    for (unsigned k = 0; k < WORDS; k++)
        snprintf(text + 8 * (size_t)k, 9, "%08x", state[k]);
}
