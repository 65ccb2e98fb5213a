/* SPDX-License-Identifier: Apache-2.0 */
/* test_traps_windows.c: pools and convolutions at their borders, and the places of Resize; expected
 * values from the specification, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trap.h"

/* clang-format off */
#define ROW(count, ...)                                                                            \
    {                                                                                              \
        F32, 3, { 1, 1, count }, FLOATS(__VA_ARGS__)                                               \
    }
#define KERNEL(size) INTS_ATTRIBUTE("kernel_shape", size)
#define STRIDE(size) INTS_ATTRIBUTE("strides", size)
#define AUTO(how)    STRING_ATTRIBUTE("auto_pad", how)
#define CEIL         INT_ATTRIBUTE("ceil_mode", 1)
#define INCLUDE      INT_ATTRIBUTE("count_include_pad", 1)

/* Five elements, windows of two at a distance of two: SAME makes three, with one of padding. */
static const struct trap pools[] = {
    { "upper", "MaxPool", { ROW(5, 1, 2, 3, 4, 5) }, 1,
      { KERNEL(2), STRIDE(2), AUTO("SAME_UPPER") },
      DIMS(1, 1, 3), VALUES(2, 4, 5), NULL, 1 },
    { "lower", "MaxPool", { ROW(5, 1, 2, 3, 4, 5) }, 1,
      { KERNEL(2), STRIDE(2), AUTO("SAME_LOWER") },
      DIMS(1, 1, 3), VALUES(1, 3, 5), NULL, 1 },
    { "valid", "MaxPool", { ROW(5, 1, 2, 3, 4, 5) }, 1,
      { KERNEL(2), STRIDE(2), AUTO("VALID") },
      DIMS(1, 1, 2), VALUES(2, 4), NULL, 1 },
    { "average, upper", "AveragePool", { ROW(5, 1, 2, 3, 4, 5) }, 1,
      { KERNEL(2), STRIDE(2), AUTO("SAME_UPPER") },
      DIMS(1, 1, 3), VALUES(1.5, 3.5, 5), NULL, 1 },
    { "average, lower, padding counts", "AveragePool", { ROW(5, 1, 2, 3, 4, 5) }, 1,
      { KERNEL(2), STRIDE(2), AUTO("SAME_LOWER"), INCLUDE },
      DIMS(1, 1, 3), VALUES(0.5, 2.5, 4.5), NULL, 1 },
    { "average, valid, nothing to count", "AveragePool", { ROW(5, 1, 2, 3, 4, 5) }, 1,
      { KERNEL(2), STRIDE(2), AUTO("VALID"), INCLUDE },
      DIMS(1, 1, 2), VALUES(1.5, 3.5), NULL, 1 },
    /* rounded up: a window that hangs over the end */
    { "ceil", "MaxPool", { ROW(6, 1, 2, 3, 4, 5, 6) }, 1,
      { KERNEL(3), STRIDE(2), CEIL },
      DIMS(1, 1, 3), VALUES(3, 5, 6), NULL, 1 },
    { "ceil, average: what lies beyond does not count", "AveragePool",
      { ROW(6, 1, 2, 3, 4, 5, 6) }, 1,
      { KERNEL(3), STRIDE(2), CEIL, INCLUDE },
      DIMS(1, 1, 3), VALUES(2, 4, 5.5), NULL, 1 },
    { "ceil, average: the padding counts, not what lies beyond it", "AveragePool",
      { ROW(6, 1, 2, 3, 4, 5, 6) }, 1,
      { KERNEL(3), STRIDE(2), INTS_ATTRIBUTE("pads", 1, 1), CEIL, INCLUDE },
      DIMS(1, 1, 4), VALUES(1, 3, 5, 3), NULL, 1 },
    { "ceil, average without padding", "AveragePool", { ROW(6, 1, 2, 3, 4, 5, 6) }, 1,
      { KERNEL(3), STRIDE(2), INTS_ATTRIBUTE("pads", 1, 1), CEIL },
      DIMS(1, 1, 4), VALUES(1.5, 3, 5, 6), NULL, 1 },
    { "ceil: no window begins in the padding", "MaxPool", { ROW(6, 1, 2, 3, 4, 5, 6) }, 1,
      { KERNEL(2), STRIDE(3), INTS_ATTRIBUTE("pads", 0, 1), CEIL },
      DIMS(1, 1, 2), VALUES(2, 5), NULL, 1 },
    { "sums of powers at the border", "LpPool", { ROW(3, 3, 4, 5) }, 1,
      { KERNEL(2), STRIDE(2), AUTO("SAME_UPPER") },
      DIMS(1, 1, 2), VALUES(5, 5), NULL, 1 },
    { "an unknown auto_pad", "MaxPool", { ROW(5, 1, 2, 3, 4, 5) }, 1,
      { KERNEL(2), AUTO("SAME") }, NULL, 0, NULL, "auto_pad 'SAME'", 1 },
};
/* clang-format on */

static void test_pools(void **state)
{
    (void)state;
    TRAP_CHECK(pools);
}

/* clang-format off */
static const struct trap convolutions[] = {
    { "dilated, upper", "Conv", { ROW(4, 1, 2, 3, 4), ROW(2, 1, 10) }, 2,
      { INTS_ATTRIBUTE("dilations", 2), AUTO("SAME_UPPER") },
      DIMS(1, 1, 4), VALUES(20, 31, 42, 3), NULL, 1 },
    { "strided, upper", "Conv", { ROW(4, 1, 2, 3, 4), ROW(3, 1, 10, 100) }, 2,
      { STRIDE(2), AUTO("SAME_UPPER") },
      DIMS(1, 1, 2), VALUES(321, 43), NULL, 1 },
    { "strided, lower", "Conv", { ROW(4, 1, 2, 3, 4), ROW(3, 1, 10, 100) }, 2,
      { STRIDE(2), AUTO("SAME_LOWER") },
      DIMS(1, 1, 2), VALUES(210, 432), NULL, 1 },
    { "valid", "Conv", { ROW(4, 1, 2, 3, 4), ROW(3, 1, 10, 100) }, 2,
      { STRIDE(2), AUTO("VALID") },
      DIMS(1, 1, 1), VALUES(321), NULL, 1 },
};

/* Without padding they give 1 10 102 20 200. */
#define BACK { ROW(2, 1, 2), ROW(3, 1, 10, 100) }
static const struct trap deconvolutions[] = {
    { "all", "ConvTranspose", BACK, 2, { STRIDE(2) },
      DIMS(1, 1, 5), VALUES(1, 10, 102, 20, 200), NULL, 1 },
    { "valid", "ConvTranspose", BACK, 2, { STRIDE(2), AUTO("VALID") },
      DIMS(1, 1, 5), VALUES(1, 10, 102, 20, 200), NULL, 1 },
    { "upper: cut at the end", "ConvTranspose", BACK, 2, { STRIDE(2), AUTO("SAME_UPPER") },
      DIMS(1, 1, 4), VALUES(1, 10, 102, 20), NULL, 1 },
    { "lower: cut at the beginning", "ConvTranspose", BACK, 2, { STRIDE(2), AUTO("SAME_LOWER") },
      DIMS(1, 1, 4), VALUES(10, 102, 20, 200), NULL, 1 },
    { "output_shape, odd: cut at the beginning", "ConvTranspose", BACK, 2,
      { STRIDE(2), INTS_ATTRIBUTE("output_shape", 4) },
      DIMS(1, 1, 4), VALUES(10, 102, 20, 200), NULL, 1 },
    { "output_shape, even", "ConvTranspose", BACK, 2,
      { STRIDE(2), INTS_ATTRIBUTE("output_shape", 3) },
      DIMS(1, 1, 3), VALUES(10, 102, 20), NULL, 1 },
    { "output_shape and upper", "ConvTranspose", BACK, 2,
      { STRIDE(2), INTS_ATTRIBUTE("output_shape", 4), AUTO("SAME_UPPER") },
      DIMS(1, 1, 4), VALUES(1, 10, 102, 20), NULL, 1 },
    { "output_shape beyond the last window", "ConvTranspose", BACK, 2,
      { STRIDE(2), INTS_ATTRIBUTE("output_shape", 7) },
      DIMS(1, 1, 7), VALUES(1, 10, 102, 20, 200, 0, 0), NULL, 1 },
    { "output_shape with batch and channels", "ConvTranspose", BACK, 2,
      { STRIDE(2), INTS_ATTRIBUTE("output_shape", 1, 1, 3) },
      DIMS(1, 1, 3), VALUES(10, 102, 20), NULL, 1 },
    { "output_padding", "ConvTranspose", BACK, 2,
      { STRIDE(2), INTS_ATTRIBUTE("pads", 1, 1), INTS_ATTRIBUTE("output_padding", 1) },
      DIMS(1, 1, 4), VALUES(10, 102, 20, 200), NULL, 1 },
    { "output_padding beyond the last window", "ConvTranspose", BACK, 2,
      { STRIDE(2), INTS_ATTRIBUTE("output_padding", 1) },
      DIMS(1, 1, 6), VALUES(1, 10, 102, 20, 200, 0), NULL, 1 },
    { "an unknown auto_pad", "ConvTranspose", BACK, 2, { AUTO("SAME") },
      NULL, 0, NULL, "auto_pad 'SAME'", 1 },
};
/* clang-format on */

static void test_convolutions(void **state)
{
    (void)state;
    TRAP_CHECK(convolutions);
    TRAP_CHECK(deconvolutions);
}

/* ---- Resize ---- */

/* clang-format off */
#define MODE(how)     STRING_ATTRIBUTE("mode", how)
#define PLACES(how)   STRING_ATTRIBUTE("coordinate_transformation_mode", how)
#define ROUND(how)    STRING_ATTRIBUTE("nearest_mode", how)
#define POLICY(how)   STRING_ATTRIBUTE("keep_aspect_ratio_policy", how)
#define FOUR          { F32, 1, { 4 }, FLOATS(1, 2, 3, 4) }
#define FIVE          { F32, 1, { 5 }, FLOATS(1, 2, 3, 4, 5) }
#define SEVEN         { F32, 1, { 1 }, FLOATS(7) }
#define NO_TENSOR     { COLLAGE_UNDEFINED, 0, { 0 }, NULL }
#define BY(scale)     NO_TENSOR, { F32, 1, { 1 }, FLOATS(scale) }
#define TO(size)      NO_TENSOR, NO_TENSOR, { I64, 1, { 1 }, LONGS(size) }
#define TO_TWO(a, b)  NO_TENSOR, NO_TENSOR, { I64, 1, { 2 }, LONGS(a, b) }
#define OF(begin, end, size) \
    { F32, 1, { 2 }, FLOATS(begin, end) }, NO_TENSOR, { I64, 1, { 1 }, LONGS(size) }

static const struct trap linear[] = {
    { "half_pixel", "Resize", { FOUR, BY(2) }, 3, { MODE("linear") },
      DIMS(8), VALUES(1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4), NULL, 1 },
    { "pytorch_half_pixel", "Resize", { FOUR, BY(2) }, 3,
      { MODE("linear"), PLACES("pytorch_half_pixel") },
      DIMS(8), VALUES(1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4), NULL, 1 },
    { "half_pixel_symmetric: 6.4 elements wanted, 6 made", "Resize", { FOUR, BY(1.6f) }, 3,
      { MODE("linear"), PLACES("half_pixel_symmetric") },
      DIMS(6), VALUES(1, 1.5625, 2.1875, 2.8125, 3.4375, 4), NULL, 1 },
    { "asymmetric", "Resize", { FOUR, BY(2) }, 3, { MODE("linear"), PLACES("asymmetric") },
      DIMS(8), VALUES(1, 1.5, 2, 2.5, 3, 3.5, 4, 4), NULL, 1 },
    { "align_corners", "Resize", { FOUR, TO(7) }, 4, { MODE("linear"), PLACES("align_corners") },
      DIMS(7), VALUES(1, 1.5, 2, 2.5, 3, 3.5, 4), NULL, 1 },
    { "crop", "Resize", { FIVE, OF(0.5f, 1, 3) }, 4,
      { MODE("linear"), PLACES("tf_crop_and_resize") },
      DIMS(3), VALUES(3, 4, 5), NULL, 1 },
    { "crop, outside", "Resize", { FIVE, OF(0.5f, 1.5f, 3) }, 4,
      { MODE("linear"), PLACES("tf_crop_and_resize"), FLOAT_ATTRIBUTE("extrapolation_value", 9) },
      DIMS(3), VALUES(3, 5, 9), NULL, 1 },
    { "crop to one", "Resize", { FIVE, OF(0.5f, 1, 1) }, 4,
      { MODE("linear"), PLACES("tf_crop_and_resize") },
      DIMS(1), VALUES(4), NULL, 1 },
    /* to one element */
    { "half_pixel to one", "Resize", { FOUR, TO(1) }, 4, { MODE("linear") },
      DIMS(1), VALUES(2.5), NULL, 1 },
    { "half_pixel_symmetric to one", "Resize", { FOUR, TO(1) }, 4,
      { MODE("linear"), PLACES("half_pixel_symmetric") },
      DIMS(1), VALUES(2.5), NULL, 1 },
    { "pytorch_half_pixel to one", "Resize", { FOUR, TO(1) }, 4,
      { MODE("linear"), PLACES("pytorch_half_pixel") },
      DIMS(1), VALUES(1), NULL, 1 },
    { "asymmetric to one", "Resize", { FOUR, TO(1) }, 4, { MODE("linear"), PLACES("asymmetric") },
      DIMS(1), VALUES(1), NULL, 1 },
    { "align_corners to one", "Resize", { FOUR, TO(1) }, 4,
      { MODE("linear"), PLACES("align_corners") },
      DIMS(1), VALUES(1), NULL, 1 },
    /* of one element */
    { "half_pixel of one", "Resize", { SEVEN, TO(3) }, 4, { MODE("linear") },
      DIMS(3), VALUES(7, 7, 7), NULL, 1 },
    { "asymmetric of one", "Resize", { SEVEN, TO(3) }, 4, { MODE("linear"), PLACES("asymmetric") },
      DIMS(3), VALUES(7, 7, 7), NULL, 1 },
    { "align_corners of one", "Resize", { SEVEN, TO(3) }, 4,
      { MODE("linear"), PLACES("align_corners") },
      DIMS(3), VALUES(7, 7, 7), NULL, 1 },
    { "cubic of one", "Resize", { SEVEN, TO(3) }, 4, { MODE("cubic") },
      DIMS(3), VALUES(7, 7, 7), NULL, 1 },
    /* A triangle of twice the width: weights 1 3 3 1 of 8, the edge repeated. */
    { "antialias", "Resize", { FOUR, TO(2) }, 4, { MODE("linear"), INT_ATTRIBUTE("antialias", 1) },
      DIMS(2), VALUES(1.625, 3.375), NULL, 1 },
    { "antialias leaves enlarging alone", "Resize", { FOUR, BY(2) }, 3,
      { MODE("linear"), INT_ATTRIBUTE("antialias", 1) },
      DIMS(8), VALUES(1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4), NULL, 1 },
    { "an unknown place", "Resize", { FOUR, BY(2) }, 3, { PLACES("tf_half_pixel_for_nn") },
      NULL, 0, NULL, "tf_half_pixel_for_nn", 1 },
};

/* Places -0.25 0.25 0.75 ... by half_pixel, 0 0.5 1 ... by asymmetric. */
static const struct trap nearest[] = {
    { "floor", "Resize", { FOUR, BY(2) }, 3, { ROUND("floor") },
      DIMS(8), VALUES(1, 1, 1, 2, 2, 3, 3, 4), NULL, 1 },
    { "ceil", "Resize", { FOUR, BY(2) }, 3, { ROUND("ceil") },
      DIMS(8), VALUES(1, 2, 2, 3, 3, 4, 4, 4), NULL, 1 },
    { "halves down is the default", "Resize", { FOUR, BY(2) }, 3, { PLACES("asymmetric") },
      DIMS(8), VALUES(1, 1, 2, 2, 3, 3, 4, 4), NULL, 1 },
    { "halves down", "Resize", { FOUR, BY(2) }, 3,
      { PLACES("asymmetric"), ROUND("round_prefer_floor") },
      DIMS(8), VALUES(1, 1, 2, 2, 3, 3, 4, 4), NULL, 1 },
    { "halves up", "Resize", { FOUR, BY(2) }, 3,
      { PLACES("asymmetric"), ROUND("round_prefer_ceil") },
      DIMS(8), VALUES(1, 2, 2, 3, 3, 4, 4, 4), NULL, 1 },
    { "10 times 0.7 are 7 in float32", "Resize",
      { { F32, 1, { 10 }, FLOATS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9) }, BY(0.7f) }, 3,
      { PLACES("asymmetric"), ROUND("floor") },
      DIMS(7), VALUES(0, 1, 2, 4, 5, 7, 8), NULL, 1 },
    { "not_larger", "Resize", { { F32, 2, { 1, 2 }, FLOATS(1, 2) }, TO_TWO(2, 6) }, 4,
      { POLICY("not_larger") },
      DIMS(2, 4), VALUES(1, 1, 2, 2, 1, 1, 2, 2), NULL, 1 },
    { "not_smaller", "Resize", { { F32, 2, { 1, 2 }, FLOATS(1, 2) }, TO_TWO(2, 6) }, 4,
      { POLICY("not_smaller") },
      DIMS(3, 6), VALUES(1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2), NULL, 1 },
    { "not_larger: 4.5 elements are 5", "Resize",
      { { F32, 2, { 2, 3 }, FLOATS(1, 2, 3, 4, 5, 6) }, TO_TWO(3, 9) }, 4,
      { POLICY("not_larger") },
      DIMS(3, 5), VALUES(1, 1, 2, 3, 3, 1, 1, 2, 3, 3, 4, 4, 5, 6, 6), NULL, 1 },
    { "axes from the end", "Resize", { { F32, 2, { 1, 2 }, FLOATS(1, 2) }, BY(2) }, 3,
      { INTS_ATTRIBUTE("axes", -1) },
      DIMS(1, 4), VALUES(1, 1, 2, 2), NULL, 1 },
};
/* clang-format on */

static void test_resize(void **state)
{
    (void)state;
    TRAP_CHECK(linear);
    TRAP_CHECK(nearest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_resize),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
