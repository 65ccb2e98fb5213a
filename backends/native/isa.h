/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa.h: which of the three builds of simd/ runs on this machine. A file simd/F.c is compiled once
 * for each and defines `const struct F_kernels ISA(F_kernels)`; ISA_PICK chooses at run time.
 */
#ifndef NATIVE_ISA_H
#define NATIVE_ISA_H

#include <collage/backend.h>

enum isa { ISA_GENERIC, ISA_AVX2, ISA_AVX512 };

static inline enum isa isa_of(const collage_target *target)
{
#ifdef NATIVE_GENERIC_ONLY
    (void)target;
    return ISA_GENERIC;
#else
    return target->avx512 ? ISA_AVX512 : target->avx2 ? ISA_AVX2 : ISA_GENERIC;
#endif
}

/* Floats in a vector, which is also the block of channels in blocked layouts. */
static inline int64_t isa_lanes(enum isa isa)
{
    return isa == ISA_AVX512 ? 16 : 8;
}

/* Declares the three builds of a table of kernels. */
#define ISA_DECLARE(type, name)                                                                    \
    extern const struct type name##_generic;                                                       \
    extern const struct type name##_avx2;                                                          \
    extern const struct type name##_avx512

#ifdef NATIVE_GENERIC_ONLY
#define ISA_PICK(isa, name) ((void)(isa), &name##_generic)
#else
#define ISA_PICK(isa, name)                                                                        \
    ((isa) == ISA_AVX512 ? &name##_avx512 : (isa) == ISA_AVX2 ? &name##_avx2 : &name##_generic)
#endif

#endif
