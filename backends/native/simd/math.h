/* SPDX-License-Identifier: Apache-2.0 */
/*
 * math.h: element-wise functions on vectors. Errors are of the order of one or two units in the
 * last place unless said otherwise; NaN and infinities as in C.
 */
#ifndef NATIVE_SIMD_MATH_H
#define NATIVE_SIMD_MATH_H

#include "simd.h"

/* 2^n for whole n from -126 to 127. */
INLINE vec vec_power_of_two(ivec n)
{
    return (vec)((n + 127) << 23);
}

/* p * 2^n for whole n from -150 to 129. */
INLINE vec vec_scale(vec p, vec n)
{
#ifdef __AVX512F__
    return (vec)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
    /* In two factors, so that denormals and 2^128 come out. */
    ivec whole = __builtin_convertvector(n, ivec), half = whole >> 1;
    return p * vec_power_of_two(half) * vec_power_of_two(whole - half);
#endif
}

/* NaN needs no care: it is in r and stays in the polynomial. */
INLINE vec vec_exp(vec x)
{
    /* x = n log 2 + r, |r| <= log 2 / 2 */
    vec clamped = vec_at_most(vec_at_least(x, vec_set(-104.0f)), vec_set(89.0f));
    vec magic = vec_set(12582912.0f); /* 1.5 * 2^23: adding it rounds to whole numbers */
    vec whole = (clamped * 1.44269504088896341f + magic) - magic;
    vec r = clamped - whole * 0.693145751953125f;
    r = r - whole * 1.42860682030941723212e-6f;
    vec p = vec_set(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return vec_scale(p, whole);
}

INLINE vec vec_log(vec x)
{
    /* x = 2^n m, m between sqrt(1/2) and sqrt(2); denormals are made larger first. */
    ivec tiny = x < 1.17549435e-38f;
    vec y = vec_select(tiny, x * 8388608.0f, x);
    y = vec_select(x > 0.0f, y, vec_set(1.0f)); /* the results of others are known */
    ivec bits = (ivec)y - 0x3F3504F3;           /* sqrt(1/2) */
    ivec n = bits >> 23;
    vec m = (vec)((ivec)y - (n << 23));
    vec e = __builtin_convertvector(n, vec) - vec_select(tiny, vec_set(23.0f), vec_set(0.0f));
    vec f = m - 1.0f, s = f * f;
    vec p = vec_set(7.0376836292e-2f);
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    vec result = p * f * s + e * -2.12194440e-4f - 0.5f * s + f + e * 0.693359375f;
    result = vec_select(x == 0.0f, vec_set(-INFINITY), result);
    result = vec_select(x < 0.0f, vec_set(NAN), result);
    return vec_select((x == INFINITY) | (x != x), x, result);
}

/* 1 / (1 + exp(x)). */
INLINE vec vec_logistic(vec x)
{
#ifdef __AVX512F__
    /* An estimate and a step of Newton's: a division takes 16 cycles. What is beyond 87 is 0. */
    __mmask16 high = _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(87.0f), _CMP_GT_OQ);
    vec d = 1.0f + vec_exp(vec_at_most(x, vec_set(87.0f)));
    vec y = (vec)_mm512_rcp14_ps((__m512)d);
    y = y + y * (1.0f - d * y);
    return (vec)_mm512_mask_blend_ps(high, (__m512)y, _mm512_setzero_ps());
#else
    return 1.0f / (1.0f + vec_exp(x));
#endif
}

INLINE vec vec_sigmoid(vec x)
{
    return vec_logistic(-x);
}

/* The magnitude of `a`, the sign of `b`. */
INLINE vec vec_copy_sign(vec a, vec b)
{
    const ivec sign = ivec_set(INT32_MIN);
    return (vec)(((ivec)a & ~sign) | ((ivec)b & sign));
}

INLINE vec vec_tanh(vec x)
{
    /* Small x: an odd polynomial (accurate near 0); else 1 - 2 / (exp(2|x|) + 1). */
    vec a = vec_abs(x), s = x * x;
    vec p = vec_set(-5.70498872745e-3f);
    p = p * s + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    vec small = p * s * x + x;
    vec large = vec_copy_sign(1.0f - 2.0f * vec_logistic(a + a), x);
    return vec_if_less(a, vec_set(0.625f), small, large);
}

/* After N. Juffa: |x| small, an odd polynomial; else 1 - exp of a polynomial, without a division.
 */
INLINE vec vec_erf(vec x)
{
    vec a = vec_abs(x), s = x * x;
    vec p = vec_set(-5.96761703e-4f);
    p = p * s + 4.99119423e-3f;
    p = p * s - 2.67681349e-2f;
    p = p * s + 1.12819925e-1f;
    p = p * s - 3.76125336e-1f;
    p = p * s + 1.28379166e-1f;
    vec small = p * x + x;
    vec t = vec_at_most(a, vec_set(4.0f)), u = t * t; /* erf(4) is 1 */
    vec q = t * -1.72853470e-5f + 3.83197126e-4f;
    vec h = t * -3.88396438e-3f + 2.42546219e-2f;
    q = q * u + h;
    q = q * t - 1.06777877e-1f;
    q = q * t - 6.34846687e-1f;
    q = q * t - 1.28717512e-1f;
    q = q * t - t;
    vec large = vec_copy_sign(1.0f - vec_exp(q), x);
    return vec_if_less(a, vec_set(0.927734375f), small, large);
}

INLINE vec vec_gelu(vec x)
{
    vec half = 0.5f * x;
    return half * vec_erf(x * 0.70710678118654752f) + half;
}

/* (1 + tanh(u)) / 2 is 1 / (1 + exp(-2u)). */
INLINE vec vec_gelu_tanh(vec x)
{
    return x * vec_logistic(x * (-1.5957691216057308f - 0.071354816272600f * x * x));
}

#endif
