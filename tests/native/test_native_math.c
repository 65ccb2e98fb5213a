/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the native kernels (simd/math.h) against libm in double, as steps of programs,
 * in each build that this processor can run. */
#include "simd/program.h" /* before cmocka, which defines fail */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 500 }; /* no multiple of a vector */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
static double swish(double x)
{
    return x * sigmoid(x * 1.5);
}
static double gelu(double x)
{
    return 0.5 * x * erfc(-x * M_SQRT1_2);
}
static double gelu_tanh(double x)
{
    return x * sigmoid(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}
static double elu(double x)
{
    return x < 0 ? 0.75 * expm1(x) : x;
}
static double relu(double x)
{
    return x < 0 ? 0 : x;
}
static double unit(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}
static double hard_swish(double x)
{
    return x * unit(x / 6 + 0.5);
}
static double hard_sigmoid(double x)
{
    return unit(0.25 * x + 0.5);
}
static double leaky(double x)
{
    return x < 0 ? 0.25 * x : x;
}
static double clip(double x)
{
    return x < -0.5 ? -0.5 : x > 2 ? 2 : x;
}
static double reciprocal(double x)
{
    return 1 / x;
}
static double root(double x)
{
    return pow(x, 0.5);
}
static double square(double x)
{
    return x * x;
}
static double cube(double x)
{
    return x * x * x;
}
static double negative(double x)
{
    return -x;
}

/* An error is allowed if it is at most `ulp` units in the last place of the result or `absolute`.
 * In the test's range [low, high]; what is beyond is tested with the special values. */
static const struct row {
    const char *name;
    enum program_op op;
    double (*function)(double);
    float p, q;
    float low, high;
    double ulp, absolute;
} table[] = {
    { "exp", PROGRAM_EXP, exp, 0, 0, -104, 89, 1.5, 0 },
    { "log", PROGRAM_LOG, log, 0, 0, 1e-44f, 3e38f, 1.5, 0 },
    { "log near 1", PROGRAM_LOG, log, 0, 0, 0.5f, 2, 1.5, 0 },
    { "sigmoid", PROGRAM_SIGMOID, sigmoid, 0, 0, -87, 30, 3, 0 },
    { "tanh", PROGRAM_TANH, tanh, 0, 0, -10, 10, 2.5, 0 },
    { "tanh near 0", PROGRAM_TANH, tanh, 0, 0, -1, 1, 2.5, 0 },
    { "erf", PROGRAM_ERF, erf, 0, 0, -5, 5, 0, 1.5e-7 },
    { "erf near 0", PROGRAM_ERF, erf, 0, 0, -0.1f, 0.1f, 3, 0 },
    { "gelu", PROGRAM_GELU, gelu, 0, 0, -10, 10, 2, 4e-7 },
    { "gelu by tanh", PROGRAM_GELU_TANH, gelu_tanh, 0, 0, -10, 10, 3, 4e-7 },
    { "swish", PROGRAM_SWISH, swish, 1.5f, 0, -50, 50, 4, 2e-8 },
    { "elu", PROGRAM_ELU, elu, 0.75f, 0, -20, 20, 1, 1.2e-7 },
    { "relu", PROGRAM_RELU, relu, 0, 0, -3, 3, 0, 0 },
    { "leaky relu", PROGRAM_LEAKY_RELU, leaky, 0.25f, 0, -3, 3, 0.5, 0 },
    { "clip", PROGRAM_CLIP, clip, -0.5f, 2, -3, 3, 0, 0 },
    { "hard swish", PROGRAM_HARD_SWISH, hard_swish, 0, 0, -5, 5, 1, 3e-7 },
    { "hard sigmoid", PROGRAM_HARD_SIGMOID, hard_sigmoid, 0.25f, 0.5f, -5, 5, 1, 1e-7 },
    { "abs", PROGRAM_ABS, fabs, 0, 0, -5, 5, 0, 0 },
    { "neg", PROGRAM_NEG, negative, 0, 0, -5, 5, 0, 0 },
    { "sqrt", PROGRAM_SQRT, sqrt, 0, 0, 0, 3e38f, 0.51, 0 },
    { "root", PROGRAM_ROOT, root, 0, 0, 0, 3e38f, 0.51, 0 },
    { "square", PROGRAM_SQUARE, square, 0, 0, -5, 5, 0.51, 0 },
    { "cube", PROGRAM_CUBE, cube, 0, 0, -5, 5, 1.6, 0 },
    { "reciprocal", PROGRAM_RECIPROCAL, reciprocal, 0, 0, 0.01f, 5, 0.51, 0 },
};

static const struct build {
    const char *name;
    const struct program_kernels *kernels;
} builds[] = {
    { "generic", &program_kernels_generic },
    { "avx2", &program_kernels_avx2 },
    { "avx512", &program_kernels_avx512 },
};

static bool runs_here(const struct build *build)
{
    if (build->kernels == &program_kernels_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (build->kernels == &program_kernels_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return true;
}

static void apply(const struct build *build, const struct row *row, const float *from, float *to,
                  int64_t count)
{
    struct program program = { .step_count = 1 };
    struct program_slots slots = { .from[0] = from, .to[1] = to };
    program.steps[0] = (struct program_step){ .op = (uint8_t)row->op,
                                              .to = 1,
                                              .streams = { true, true, true },
                                              .is_stream = true,
                                              .p = row->p,
                                              .q = row->q };
    build->kernels->tile(&program, &slots, count);
}

static double ulp_of(double value)
{
    float size = fabsf((float)value), next = nextafterf(size, INFINITY);
    return isfinite(next) ? (double)next - (double)size : 2e31;
}

static bool is_right(const struct row *row, float x, float y, double *worst, double *most)
{
    double want = row->function((double)x);
    if (isnan(want) || isnan(y))
        return isnan(want) && isnan(y);
    if ((float)want == y)
        return true;
    if (isinf((float)want) || isinf(y)) /* only at the edge of overflow */
        return fabs(want) > 3.4028e38 && !(fabsf(y) < 3.4028e38f);
    double error = fabs((double)y - want), ulps = error / ulp_of(want);
    *worst = fmax(*worst, ulps);
    *most = fmax(*most, error);
    return ulps <= row->ulp || error <= row->absolute;
}

static unsigned check(const struct build *build, const struct row *row, const float *from,
                      int64_t count, double *worst, double *most)
{
    float to[BATCH + 1];
    unsigned wrong = 0;
    to[count] = 42;
    apply(build, row, from, to, count);
    assert_true(to[count] == 42);
    for (int64_t k = 0; k < count; k++) {
        if (is_right(row, from[k], to[k], worst, most))
            continue;
        if (wrong++ == 0)
            print_error("%s, %s: f(%.9g) = %.9g, not %.9g\n", build->name, row->name,
                        (double)from[k], (double)to[k], row->function((double)from[k]));
    }
    return wrong;
}

/* Every so many-th float of the range, of both signs as it has them. */
static unsigned check_range(const struct build *build, const struct row *row, double *worst,
                            double *most)
{
    float batch[BATCH];
    int64_t count = 0;
    unsigned wrong = 0;
    for (int sign = 0; sign < 2; sign++) {
        for (uint32_t bits = 0; bits < 0x7F800000; bits += 4999) {
            float x;
            memcpy(&x, &bits, sizeof x);
            x = sign ? -x : x;
            if (x < row->low || x > row->high)
                continue;
            batch[count++] = x;
            if (count == BATCH) {
                wrong += check(build, row, batch, count, worst, most);
                count = 0;
            }
        }
    }
    /* evenly spread, too: most floats are tiny */
    for (int k = 0; k < 100000; k++) {
        batch[count++] = row->low + (row->high - row->low) * (float)k / 100000;
        if (count == BATCH) {
            wrong += check(build, row, batch, count, worst, most);
            count = 0;
        }
    }
    return wrong + (count ? check(build, row, batch, count, worst, most) : 0);
}

static void test_functions(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (size_t b = 0; b < sizeof builds / sizeof builds[0]; b++) {
        if (!runs_here(&builds[b]))
            continue;
        for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
            double worst = 0, most = 0;
            wrong += check_range(&builds[b], &table[k], &worst, &most);
            print_message("%-8s %-14s %8.2f ulp %9.2e\n", builds[b].name, table[k].name, worst,
                          most);
        }
    }
    assert_int_equal(wrong, 0);
}

/* The absolute error is held against the row's, with a unit in the last place. */
static void test_special_values(void **state)
{
    (void)state;
    static const float special[] = {
        NAN,     -NAN,     INFINITY, -INFINITY,       0.0f,    -0.0f,    1e-45f,
        -1e-45f, 1e-39f,   -1e-39f,  1.17549435e-38f, 3.4e38f, -3.4e38f, 88.7f,
        88.8f,   -87.3f,   -103.9f,  -104.1f,         -150.0f, 150.0f,   1e10f,
        -1e10f,  0.99999f, 1.0f,     1.00001f,        -1.0f,   2.0f,     -2.0f,
        0.625f,  -0.625f,  3.9999f,  -9.0f,           -12.0f,  9.0f,     44.0f
    };
    unsigned wrong = 0;
    for (size_t b = 0; b < sizeof builds / sizeof builds[0]; b++) {
        if (!runs_here(&builds[b]))
            continue;
        for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
            double worst = 0, most = 0;
            struct row row = table[k];
            row.ulp = fmax(row.ulp, 1);
            row.absolute = fmax(row.absolute, 2e-38); /* what underflows */
            wrong +=
                check(&builds[b], &row, special, sizeof special / sizeof special[0], &worst, &most);
        }
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
