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

INLINE vec vec_exp(vec x)
{
    /* x = n log 2 + r, |r| <= log 2 / 2; 2^n in two factors, so that denormals and 2^128 come out.
     */
    const vec low = vec_set(-104.0f), high = vec_set(89.0f);
    ivec is_nan = x != x;
    vec clamped = vec_at_most(vec_at_least(x, low), high);
    clamped = vec_select(is_nan, vec_set(0.0f), clamped);
    vec scaled = clamped * 1.44269504088896341f;
    vec magic = vec_set(12582912.0f); /* 1.5 * 2^23: adding it rounds to whole numbers */
    vec whole = (scaled + magic) - magic;
    ivec n = __builtin_convertvector(whole, ivec);
    vec r = clamped - whole * 0.693145751953125f;
    r = r - whole * 1.42860682030941723212e-6f;
    vec p = vec_set(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    ivec half = n >> 1;
    vec y = p * vec_power_of_two(half) * vec_power_of_two(n - half);
    return vec_select(is_nan, x, y);
}

INLINE vec vec_log(vec x)
{
    /* x = 2^n m, m between sqrt(1/2) and sqrt(2); denormals are made larger first. */
    ivec tiny = x < 1.17549435e-38f;
    vec y = vec_select(tiny, x * 8388608.0f, x);
    ivec bits = (ivec)y - 0x3F3504F3; /* sqrt(1/2) */
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

INLINE vec vec_sigmoid(vec x)
{
    return 1.0f / (1.0f + vec_exp(-x));
}

INLINE vec vec_tanh(vec x)
{
    /* Small x: a rational function in x (accurate near 0); else 1 - 2 / (exp(2|x|) + 1). */
    vec a = vec_select(x < 0.0f, -x, x);
    vec s = x * x;
    vec p = vec_set(-5.70498872745e-3f);
    p = p * s + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    vec small = p * s * x + x;
    vec large = 1.0f - 2.0f / (vec_exp(a + a) + 1.0f);
    large = vec_select(x < 0.0f, -large, large);
    return vec_select(a < 0.625f, small, large);
}

/* Absolute error below 2e-7 (Abramowitz and Stegun 7.1.26 is too coarse; near 0 a series is used).
 */
INLINE vec vec_erf(vec x)
{
    vec a = vec_select(x < 0.0f, -x, x);
    vec s = x * x;
    /* |x| < 1: odd series of degree 13, fitted. */
    vec p = vec_set(7.853861353153693e-5f);
    p = p * s - 8.010193625184903e-4f;
    p = p * s + 5.188327685732524e-3f;
    p = p * s - 2.685381193529856e-2f;
    p = p * s + 1.128358514861418e-1f;
    p = p * s - 3.761262582423300e-1f;
    p = p * s + 1.128379165726710e+0f;
    vec small = x * p;
    /* |x| >= 1: 1 - exp(-x^2) * (1 / x) * P(1 / x^2), as in Cephes. */
    vec q = 1.0f / vec_select(a < 1.0f, vec_set(1.0f), a);
    vec z = q * q;
    vec b = vec_set(2.326819970068386e-2f); /* for |x| < 2 */
    b = b * z - 1.387039388740657e-1f;
    b = b * z + 3.687424674597105e-1f;
    b = b * z - 5.824733027278666e-1f;
    b = b * z + 6.210004621745983e-1f;
    b = b * z - 4.944515323274145e-1f;
    b = b * z + 3.404879937665872e-1f;
    b = b * z - 2.741127028184656e-1f;
    b = b * z + 5.638259427386472e-1f;
    vec c = vec_set(-1.047766399936249e+1f); /* for |x| >= 2 */
    c = c * z + 1.297719955372516e+1f;
    c = c * z - 7.495518717768503e+0f;
    c = c * z + 2.921019019210786e+0f;
    c = c * z - 1.015265279202700e+0f;
    c = c * z + 4.218463358204948e-1f;
    c = c * z - 2.820767439740514e-1f;
    c = c * z + 5.641895067754075e-1f;
    vec tail = vec_exp(-s) * q * vec_select(a < 2.0f, b, c);
    vec large = 1.0f - tail;
    large = vec_select(x < 0.0f, -large, large);
    return vec_select(a < 1.0f, small, vec_select(x != x, x, large));
}

INLINE vec vec_gelu(vec x)
{
    return 0.5f * x * (1.0f + vec_erf(x * 0.70710678118654752f));
}

INLINE vec vec_gelu_tanh(vec x)
{
    vec inner = 0.79788456080286536f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + vec_tanh(inner));
}

#endif
