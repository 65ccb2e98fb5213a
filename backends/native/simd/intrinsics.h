/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intrinsics.h: what simd.h and math.h use of <immintrin.h>. Reading that header takes longer than
 * compiling a generated kernel: in those (NATIVE_EMBEDDED), with a GCC whose builtins are known to
 * be these, the few functions stand here.
 */
#ifndef NATIVE_SIMD_INTRINSICS_H
#define NATIVE_SIMD_INTRINSICS_H

#ifndef __AVX2__
/* nothing: plain C */
#elif !defined NATIVE_EMBEDDED || defined __clang__ || __GNUC__ < 9 || __GNUC__ > 14

#include <immintrin.h>

#else

#define INTRINSIC static inline __attribute__((always_inline))

typedef float __m128 __attribute__((vector_size(16), may_alias));
typedef float __m256 __attribute__((vector_size(32), may_alias));
typedef float v4sf_ __attribute__((vector_size(16)));
typedef float v8sf_ __attribute__((vector_size(32)));
typedef int v8si_ __attribute__((vector_size(32)));
typedef long long __m256i __attribute__((vector_size(32), may_alias));

#define _CMP_LT_OQ              17
#define _CMP_GT_OQ              30
#define _mm256_cmp_ps(a, b, op) ((__m256)__builtin_ia32_cmpps256((v8sf_)(a), (v8sf_)(b), op))

INTRINSIC __m256 _mm256_blendv_ps(__m256 a, __m256 b, __m256 mask)
{
    return (__m256)__builtin_ia32_blendvps256((v8sf_)a, (v8sf_)b, (v8sf_)mask);
}

INTRINSIC __m256 _mm256_max_ps(__m256 a, __m256 b)
{
    return (__m256)__builtin_ia32_maxps256((v8sf_)a, (v8sf_)b);
}

INTRINSIC __m256 _mm256_min_ps(__m256 a, __m256 b)
{
    return (__m256)__builtin_ia32_minps256((v8sf_)a, (v8sf_)b);
}

INTRINSIC __m256 _mm256_sqrt_ps(__m256 a)
{
    return (__m256)__builtin_ia32_sqrtps256((v8sf_)a);
}

INTRINSIC __m256 _mm256_maskload_ps(const float *from, __m256i mask)
{
    return (__m256)__builtin_ia32_maskloadps256((const v8sf_ *)from, (v8si_)mask);
}

INTRINSIC void _mm256_maskstore_ps(float *to, __m256i mask, __m256 v)
{
    __builtin_ia32_maskstoreps256((v8sf_ *)to, (v8si_)mask, (v8sf_)v);
}

INTRINSIC __m128 _mm256_castps256_ps128(__m256 v)
{
    return (__m128){ v[0], v[1], v[2], v[3] };
}

#define _mm256_extractf128_ps(v, n) ((void)(n), (__m128){ (v)[4], (v)[5], (v)[6], (v)[7] })

INTRINSIC __m128 _mm_add_ps(__m128 a, __m128 b)
{
    return a + b;
}

INTRINSIC __m128 _mm_max_ps(__m128 a, __m128 b)
{
    return (__m128)__builtin_ia32_maxps((v4sf_)a, (v4sf_)b);
}

INTRINSIC __m128 _mm_max_ss(__m128 a, __m128 b)
{
    return (__m128)__builtin_ia32_maxss((v4sf_)a, (v4sf_)b);
}

INTRINSIC __m128 _mm_add_ss(__m128 a, __m128 b)
{
    a[0] += b[0];
    return a;
}

INTRINSIC __m128 _mm_movehl_ps(__m128 a, __m128 b)
{
    return (__m128){ b[2], b[3], a[2], a[3] };
}

INTRINSIC __m128 _mm_movehdup_ps(__m128 a)
{
    return (__m128){ a[1], a[1], a[3], a[3] };
}

INTRINSIC float _mm_cvtss_f32(__m128 a)
{
    return a[0];
}

#ifdef __AVX512F__

typedef float __m512 __attribute__((vector_size(64), may_alias));
typedef float v16sf_ __attribute__((vector_size(64)));
typedef unsigned short __mmask16;

enum { CURRENT_ROUNDING_ = 4 };

#define _mm512_cmp_ps_mask(a, b, op)                                                               \
    ((__mmask16)__builtin_ia32_cmpps512_mask((v16sf_)(a), (v16sf_)(b), op, (__mmask16)-1,          \
                                             CURRENT_ROUNDING_))

INTRINSIC __m512 _mm512_setzero_ps(void)
{
    return (__m512){ 0 };
}

INTRINSIC __m512 _mm512_set1_ps(float x)
{
    return x - (__m512){ 0 };
}

INTRINSIC __m512 _mm512_mask_blend_ps(__mmask16 mask, __m512 a, __m512 b)
{
    return (__m512)__builtin_ia32_blendmps_512_mask((v16sf_)a, (v16sf_)b, mask);
}

INTRINSIC __m512 _mm512_max_ps(__m512 a, __m512 b)
{
    return (__m512)__builtin_ia32_maxps512_mask((v16sf_)a, (v16sf_)b, (v16sf_){ 0 }, (__mmask16)-1,
                                                CURRENT_ROUNDING_);
}

INTRINSIC __m512 _mm512_min_ps(__m512 a, __m512 b)
{
    return (__m512)__builtin_ia32_minps512_mask((v16sf_)a, (v16sf_)b, (v16sf_){ 0 }, (__mmask16)-1,
                                                CURRENT_ROUNDING_);
}

INTRINSIC __m512 _mm512_sqrt_ps(__m512 a)
{
    return (__m512)__builtin_ia32_sqrtps512_mask((v16sf_)a, (v16sf_){ 0 }, (__mmask16)-1,
                                                 CURRENT_ROUNDING_);
}

INTRINSIC __m512 _mm512_scalef_ps(__m512 a, __m512 b)
{
    return (__m512)__builtin_ia32_scalefps512_mask((v16sf_)a, (v16sf_)b, (v16sf_){ 0 },
                                                   (__mmask16)-1, CURRENT_ROUNDING_);
}

INTRINSIC __m512 _mm512_rcp14_ps(__m512 a)
{
    return (__m512)__builtin_ia32_rcp14ps512_mask((v16sf_)a, (v16sf_){ 0 }, (__mmask16)-1);
}

INTRINSIC __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const float *from)
{
    return (__m512)__builtin_ia32_loadups512_mask(from, (v16sf_){ 0 }, mask);
}

INTRINSIC void _mm512_mask_storeu_ps(float *to, __mmask16 mask, __m512 v)
{
    __builtin_ia32_storeups512_mask(to, (v16sf_)v, mask);
}

INTRINSIC __m256 halves_(__m512 v, int which)
{
    __m256 half;
    __builtin_memcpy(&half, (const char *)&v + 32 * which, sizeof half);
    return half;
}

INTRINSIC float _mm512_reduce_add_ps(__m512 v)
{
    __m256 half = halves_(v, 0) + halves_(v, 1);
    __m128 quarter = _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
    quarter = quarter + _mm_movehl_ps(quarter, quarter);
    return quarter[0] + quarter[1];
}

INTRINSIC float _mm512_reduce_max_ps(__m512 v)
{
    __m256 half = _mm256_max_ps(halves_(v, 0), halves_(v, 1));
    __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    quarter = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_max_ss(quarter, _mm_movehdup_ps(quarter)));
}

#endif
#endif
#endif
