/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd.h: vectors of LANES floats in GCC's vector extensions. Files in simd/ are compiled once for
 * each instruction set (NATIVE_ISA: generic, avx2, avx512); ISA(name) is the name with its suffix.
 * Everything but the table at a file's end is static, so that no build's code is called by another.
 */
#ifndef NATIVE_SIMD_H
#define NATIVE_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "intrinsics.h"

#ifdef __AVX512F__
#define LANES     16
#define ISA(name) name##_avx512
#elif defined __AVX2__
#define LANES     8
#define ISA(name) name##_avx2
#else
#define LANES     8
#define ISA(name) name##_generic
#endif

typedef float vec __attribute__((vector_size(LANES * 4), may_alias));
typedef int32_t ivec __attribute__((vector_size(LANES * 4), may_alias));
typedef float vec_unaligned __attribute__((vector_size(LANES * 4), may_alias, aligned(4)));
typedef int32_t ivec_unaligned __attribute__((vector_size(LANES * 4), may_alias, aligned(4)));

#define INLINE static inline __attribute__((always_inline))

INLINE vec vec_load(const float *from)
{
    return *(const vec_unaligned *)from;
}

INLINE void vec_store(float *to, vec v)
{
    *(vec_unaligned *)to = v;
}

INLINE vec vec_set(float x)
{
    return x - (vec){ 0 };
}

INLINE ivec ivec_set(int32_t x)
{
    return x - (ivec){ 0 };
}

/* 0, 1, 2, ... */
INLINE ivec vec_lane_numbers(void)
{
    int32_t lanes[LANES];
    for (int32_t k = 0; k < LANES; k++)
        lanes[k] = k;
    return *(const ivec_unaligned *)lanes;
}

/* mask ? a : b; the mask is all ones or all zeros in each lane, as comparisons make it. */
INLINE vec vec_select(ivec mask, vec a, vec b)
{
    return (vec)((mask & (ivec)a) | (~mask & (ivec)b));
}

/* a < b ? x : y in each lane. */
INLINE vec vec_if_less(vec a, vec b, vec x, vec y)
{
#ifdef __AVX512F__
    __mmask16 less = _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
    return (vec)_mm512_mask_blend_ps(less, (__m512)y, (__m512)x);
#elif defined __AVX2__
    __m256 less = _mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LT_OQ);
    return (vec)_mm256_blendv_ps((__m256)y, (__m256)x, less);
#else
    return vec_select(a < b, x, y);
#endif
}

/* The larger and the smaller; if one is NaN, the second. */
INLINE vec vec_max(vec a, vec b)
{
#ifdef __AVX512F__
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined __AVX2__
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return vec_select(a > b, a, b);
#endif
}

INLINE vec vec_min(vec a, vec b)
{
#ifdef __AVX512F__
    return (vec)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined __AVX2__
    return (vec)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return vec_select(a < b, a, b);
#endif
}

/* NaN in `v` stays NaN. */
INLINE vec vec_at_least(vec v, vec low)
{
    return vec_max(low, v);
}

INLINE vec vec_at_most(vec v, vec high)
{
    return vec_min(high, v);
}

/* The first `count` lanes (0 to LANES), zeros behind them. */
INLINE vec vec_load_part(const float *from, int64_t count)
{
#ifdef __AVX512F__
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
#elif defined __AVX2__
    return (vec)_mm256_maskload_ps(from, (__m256i)(vec_lane_numbers() < (int32_t)count));
#else
    float lanes[LANES] = { 0 };
    memcpy(lanes, from, (size_t)count * sizeof(float));
    return vec_load(lanes);
#endif
}

INLINE void vec_store_part(float *to, vec v, int64_t count)
{
#ifdef __AVX512F__
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)v);
#elif defined __AVX2__
    _mm256_maskstore_ps(to, (__m256i)(vec_lane_numbers() < (int32_t)count), (__m256)v);
#else
    float lanes[LANES];
    vec_store(lanes, v);
    memcpy(to, lanes, (size_t)count * sizeof(float));
#endif
}

INLINE vec vec_abs(vec v)
{
    return (vec)((ivec)v & ivec_set(0x7FFFFFFF));
}

/* Between 0 and 1; NaN stays NaN. */
INLINE vec vec_unit(vec v)
{
    return vec_at_most(vec_at_least(v, vec_set(0.0f)), vec_set(1.0f));
}

INLINE vec vec_sqrt(vec v)
{
#ifdef __AVX512F__
    return (vec)_mm512_sqrt_ps((__m512)v);
#elif defined __AVX2__
    return (vec)_mm256_sqrt_ps((__m256)v);
#else
    float lanes[LANES];
    vec_store(lanes, v);
    for (int k = 0; k < LANES; k++)
        lanes[k] = sqrtf(lanes[k]);
    return vec_load(lanes);
#endif
}

INLINE float vec_sum(vec v)
{
#ifdef __AVX512F__
    return _mm512_reduce_add_ps((__m512)v);
#elif defined __AVX2__
    __m128 half =
        _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
#else
    float lanes[LANES];
    vec_store(lanes, v);
    for (int step = LANES / 2; step; step /= 2) {
        for (int k = 0; k < step; k++)
            lanes[k] += lanes[k + step];
    }
    return lanes[0];
#endif
}

/* The largest element; any of them if one is NaN. */
INLINE float vec_largest(vec v)
{
#ifdef __AVX512F__
    return _mm512_reduce_max_ps((__m512)v);
#elif defined __AVX2__
    __m128 half =
        _mm_max_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
#else
    float lanes[LANES], found;
    vec_store(lanes, v);
    found = lanes[0];
    for (int k = 1; k < LANES; k++)
        found = lanes[k] > found ? lanes[k] : found;
    return found;
#endif
}

#endif
