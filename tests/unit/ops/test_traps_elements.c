/* SPDX-License-Identifier: Apache-2.0 */
/* test_traps_elements.c: NaN and infinities, sums of nothing, pads, shapes, axes from the end, sums
 * of products; expected values from the specification, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trap.h"

/* clang-format off */
#define NO_TENSOR { COLLAGE_UNDEFINED, 0, { 0 }, NULL }
#define ONE(value) { F32, 0, { 0 }, FLOATS(value) }
#define WILD { F32, 1, { 4 }, FLOATS(NAN, -INFINITY, INFINITY, -1) }

static const struct trap wild_numbers[] = {
    { "Max", "Max", { WILD, { F32, 1, { 4 }, FLOATS(1, -INFINITY, 5, NAN) } }, 2, { { 0 } },
      DIMS(4), VALUES(TRAP_NAN, -TRAP_INF, TRAP_INF, TRAP_NAN), NULL, 1 },
    { "Min", "Min", { WILD, { F32, 1, { 4 }, FLOATS(1, -INFINITY, 5, NAN) } }, 2, { { 0 } },
      DIMS(4), VALUES(TRAP_NAN, -TRAP_INF, 5, TRAP_NAN), NULL, 1 },
    { "Max, NaN in the middle", "Max", { ONE(2), ONE(NAN), ONE(3) }, 3, { { 0 } },
      NULL, 0, VALUES(TRAP_NAN), NULL, 1 },
    { "Min, NaN in the middle", "Min", { ONE(2), ONE(NAN), ONE(3) }, 3, { { 0 } },
      NULL, 0, VALUES(TRAP_NAN), NULL, 1 },
    { "Clip", "Clip", { WILD, ONE(-0.5f), ONE(2) }, 3, { { 0 } },
      DIMS(4), VALUES(TRAP_NAN, -0.5, 2, -0.5), NULL, 1 },
    { "Clip above, the lower limit left out", "Clip", { WILD, NO_TENSOR, ONE(2) }, 3, { { 0 } },
      DIMS(4), VALUES(TRAP_NAN, -TRAP_INF, 2, -1), NULL, 1 },
    { "Clip to infinities", "Clip", { WILD, ONE(-INFINITY), ONE(INFINITY) }, 3, { { 0 } },
      DIMS(4), VALUES(TRAP_NAN, -TRAP_INF, TRAP_INF, -1), NULL, 1 },
    { "Clip, the limits crossed: the upper one", "Clip", { WILD, ONE(3), ONE(2) }, 3, { { 0 } },
      DIMS(4), VALUES(TRAP_NAN, 2, 2, 2), NULL, 1 },
    { "Relu", "Relu", { WILD }, 1, { { 0 } },
      DIMS(4), VALUES(TRAP_NAN, 0, TRAP_INF, 0), NULL, 1 },
    { "Sign", "Sign", { WILD }, 1, { { 0 } },
      DIMS(4), VALUES(TRAP_NAN, -1, 1, -1), NULL, 1 },
    { "ReduceMax", "ReduceMax", { { F32, 1, { 3 }, FLOATS(1, NAN, 2) } }, 1, { { 0 } },
      DIMS(1), VALUES(TRAP_NAN), NULL, 1 },
    { "ReduceMin", "ReduceMin", { { F32, 1, { 3 }, FLOATS(1, NAN, 2) } }, 1, { { 0 } },
      DIMS(1), VALUES(TRAP_NAN), NULL, 1 },
    { "ReduceMax of the least", "ReduceMax", { { F32, 1, { 2 }, FLOATS(-INFINITY, -INFINITY) } },
      1, { { 0 } }, DIMS(1), VALUES(-TRAP_INF), NULL, 1 },
    { "ReduceLogSumExp", "ReduceLogSumExp",
      { { F32, 1, { 2 }, FLOATS(-INFINITY, -INFINITY) } }, 1, { { 0 } },
      DIMS(1), VALUES(-TRAP_INF), NULL, 1 },
    { "MaxPool", "MaxPool", { { F32, 3, { 1, 1, 4 }, FLOATS(1, NAN, 2, 3) } }, 1,
      { INTS_ATTRIBUTE("kernel_shape", 2) },
      DIMS(1, 1, 3), VALUES(TRAP_NAN, TRAP_NAN, 3), NULL, 1 },
    { "Softmax, one masked", "Softmax", { { F32, 1, { 2 }, FLOATS(-INFINITY, 4) } }, 1, { { 0 } },
      DIMS(2), VALUES(0, 1), NULL, 1 },
    { "Sigmoid", "Sigmoid", { { F32, 1, { 3 }, FLOATS(-INFINITY, INFINITY, NAN) } }, 1, { { 0 } },
      DIMS(3), VALUES(0, 1, TRAP_NAN), NULL, 1 },
};

/* ---- reductions of nothing, and that reduce nothing ---- */

#define NO_AXES { I64, 1, { 0 }, NULL }
#define LAST_AXIS { I64, 1, { 1 }, LONGS(-1) }
#define NOOP INT_ATTRIBUTE("noop_with_empty_axes", 1)
#define PAIR { F32, 1, { 2 }, FLOATS(-2, 3) }
#define EMPTY(dtype) { dtype, 2, { 2, 0 }, NULL }

static const struct trap reductions[] = {
    { "empty axes: all", "ReduceSum", { PAIR, NO_AXES }, 2, { { 0 } },
      DIMS(1), VALUES(1), NULL, 1 },
    { "empty axes: none", "ReduceSum", { PAIR, NO_AXES }, 2, { NOOP },
      DIMS(2), VALUES(-2, 3), NULL, 1 },
    { "no axes: none", "ReduceMean", { PAIR }, 1, { NOOP, INT_ATTRIBUTE("keepdims", 0) },
      DIMS(2), VALUES(-2, 3), NULL, 1 },
    { "none, squared", "ReduceSumSquare", { PAIR, NO_AXES }, 2, { NOOP },
      DIMS(2), VALUES(4, 9), NULL, 1 },
    { "none, L1", "ReduceL1", { PAIR, NO_AXES }, 2, { NOOP },
      DIMS(2), VALUES(2, 3), NULL, 1 },
    { "none, L2", "ReduceL2", { PAIR, NO_AXES }, 2, { NOOP },
      DIMS(2), VALUES(2, 3), NULL, 1 },
    { "none, log of sums of powers", "ReduceLogSumExp", { PAIR, NO_AXES }, 2, { NOOP },
      DIMS(2), VALUES(-2, 3), NULL, 1 },
    { "axes and noop", "ReduceSum", { PAIR, LAST_AXIS }, 2, { NOOP },
      DIMS(1), VALUES(1), NULL, 1 },
    { "a scalar", "ReduceSumSquare", { ONE(3) }, 1, { { 0 } },
      NULL, 0, VALUES(9), NULL, 1 },
    { "an axis of a scalar", "ReduceSum", { ONE(3), LAST_AXIS }, 2, { { 0 } },
      NULL, 0, NULL, "axis -1", 1 },
    { "sum of nothing", "ReduceSum", { EMPTY(F32), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(0, 0), NULL, 1 },
    { "product of nothing", "ReduceProd", { EMPTY(F32), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(1, 1), NULL, 1 },
    { "mean of nothing", "ReduceMean", { EMPTY(F32), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(TRAP_NAN, TRAP_NAN), NULL, 1 },
    { "greatest of nothing", "ReduceMax", { EMPTY(F32), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(-TRAP_INF, -TRAP_INF), NULL, 1 },
    { "least of nothing", "ReduceMin", { EMPTY(F32), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(TRAP_INF, TRAP_INF), NULL, 1 },
    { "greatest of no int64", "ReduceMax", { EMPTY(I64), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(-0x1p63, -0x1p63), NULL, 1 },
    { "least of no int32", "ReduceMin", { EMPTY(COLLAGE_INT32), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(2147483647, 2147483647), NULL, 1 },
    { "greatest of no uint8", "ReduceMax", { EMPTY(COLLAGE_UINT8), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(0, 0), NULL, 1 },
    { "least of no uint64", "ReduceMin", { EMPTY(COLLAGE_UINT64), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(0x1p64, 0x1p64), NULL, 1 },
    { "greatest of no bool", "ReduceMax", { EMPTY(COLLAGE_BOOL), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(0, 0), NULL, 1 },
    { "least of no bool", "ReduceMin", { EMPTY(COLLAGE_BOOL), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(1, 1), NULL, 1 },
    { "log of no sum", "ReduceLogSum", { EMPTY(F32), LAST_AXIS }, 2, { { 0 } },
      DIMS(2, 1), VALUES(-TRAP_INF, -TRAP_INF), NULL, 1 },
};

/* ---- Pad ---- */

#define FOUR { F32, 1, { 4 }, FLOATS(1, 2, 3, 4) }
#define SEVEN { F32, 1, { 1 }, FLOATS(7) }
#define PADS(begin, end) { I64, 1, { 2 }, LONGS(begin, end) }
#define MODE(how) STRING_ATTRIBUTE("mode", how)

static const struct trap pads[] = {
    { "edge", "Pad", { FOUR, PADS(2, 1) }, 2, { MODE("edge") },
      DIMS(7), VALUES(1, 1, 1, 2, 3, 4, 4), NULL, 1 },
    { "reflect", "Pad", { FOUR, PADS(2, 1) }, 2, { MODE("reflect") },
      DIMS(7), VALUES(3, 2, 1, 2, 3, 4, 3), NULL, 1 },
    { "wrap", "Pad", { FOUR, PADS(2, 3) }, 2, { MODE("wrap") },
      DIMS(9), VALUES(3, 4, 1, 2, 3, 4, 1, 2, 3), NULL, 1 },
    { "wrap more than there is", "Pad", { FOUR, PADS(5, 0) }, 2, { MODE("wrap") },
      DIMS(9), VALUES(4, 1, 2, 3, 4, 1, 2, 3, 4), NULL, 1 },
    { "reflect of one", "Pad", { SEVEN, PADS(1, 2) }, 2, { MODE("reflect") },
      DIMS(4), VALUES(7, 7, 7, 7), NULL, 1 },
    { "cut and constant", "Pad", { FOUR, PADS(-1, 2), ONE(NAN) }, 3, { { 0 } },
      DIMS(5), VALUES(2, 3, 4, TRAP_NAN, TRAP_NAN), NULL, 1 },
    { "cut at both ends", "Pad", { FOUR, PADS(-1, -2) }, 2, { MODE("reflect") },
      DIMS(1), VALUES(2), NULL, 1 },
    { "cut and edge", "Pad", { FOUR, PADS(2, -3) }, 2, { MODE("edge") },
      DIMS(3), VALUES(1, 1, 1), NULL, 1 },
    { "cut, then reflect what is left", "Pad", { FOUR, PADS(-2, 3) }, 2, { MODE("reflect") },
      DIMS(5), VALUES(3, 4, 3, 4, 3), NULL, 1 },
    { "cut, then wrap what is left", "Pad", { FOUR, PADS(-1, 2) }, 2, { MODE("wrap") },
      DIMS(5), VALUES(2, 3, 4, 2, 3), NULL, 1 },
    { "cut at the end, then wrap", "Pad", { FOUR, PADS(2, -1) }, 2, { MODE("wrap") },
      DIMS(5), VALUES(2, 3, 1, 2, 3), NULL, 1 },
    { "nothing left to repeat", "Pad", { FOUR, PADS(-4, 1) }, 2, { MODE("edge") },
      NULL, 0, NULL, "is empty", 1 },
    { "nothing left, a constant", "Pad", { FOUR, PADS(-4, 1), ONE(5) }, 3, { { 0 } },
      DIMS(1), VALUES(5), NULL, 1 },
    { "of nothing", "Pad", { { F32, 1, { 0 }, NULL }, PADS(1, 2) }, 2, { { 0 } },
      DIMS(3), VALUES(0, 0, 0), NULL, 1 },
    { "of a scalar", "Pad", { ONE(5), NO_AXES }, 2, { { 0 } },
      NULL, 0, VALUES(5), NULL, 1 },
};

/* ---- shapes ---- */

#define SIX { F32, 2, { 2, 3 }, FLOATS(1, 2, 3, 4, 5, 6) }
#define NONE { F32, 2, { 0, 3 }, NULL }
#define SHAPE2(a, b) { I64, 1, { 2 }, LONGS(a, b) }
#define ALLOW_ZERO INT_ATTRIBUTE("allowzero", 1)

static const struct trap shapes[] = {
    { "0 copies by place", "Reshape",
      { { F32, 3, { 2, 1, 3 }, FLOATS(1, 2, 3, 4, 5, 6) }, SHAPE2(-1, 0) }, 2, { { 0 } },
      DIMS(6, 1), VALUES(1, 2, 3, 4, 5, 6), NULL, 1 },
    { "0 copies a 0", "Reshape", { NONE, SHAPE2(0, 5) }, 2, { { 0 } },
      DIMS(0, 5), NULL, NULL, 1 },
    { "0 is no size of its own", "Reshape", { NONE, SHAPE2(3, 0) }, 2, { { 0 } },
      NULL, 0, NULL, "has 0 elements, the new shape 9", 1 },
    { "0 is a size where it is allowed", "Reshape", { NONE, SHAPE2(3, 0) }, 2, { ALLOW_ZERO },
      DIMS(3, 0), NULL, NULL, 1 },
    { "-1 beside a copied 0", "Reshape", { NONE, SHAPE2(0, -1) }, 2, { { 0 } },
      NULL, 0, NULL, "no value fits", 1 },
    { "-1 beside an allowed 0", "Reshape", { SIX, SHAPE2(0, -1) }, 2, { ALLOW_ZERO },
      NULL, 0, NULL, "no value fits", 1 },
    { "-1 of nothing", "Reshape", { NONE, SHAPE2(-1, 3) }, 2, { { 0 } },
      DIMS(0, 3), NULL, NULL, 1 },
    { "to a scalar", "Reshape", { SEVEN, NO_AXES }, 2, { { 0 } },
      NULL, 0, VALUES(7), NULL, 1 },
    { "of a scalar", "Reshape", { ONE(7), SHAPE2(-1, 1) }, 2, { { 0 } },
      DIMS(1, 1), VALUES(7), NULL, 1 },
    { "all sizes of 1 go", "Squeeze", { { F32, 3, { 1, 2, 1 }, FLOATS(1, 2) } }, 1, { { 0 } },
      DIMS(2), VALUES(1, 2), NULL, 1 },
    { "none goes", "Squeeze", { { F32, 3, { 1, 2, 1 }, FLOATS(1, 2) }, NO_AXES }, 2, { { 0 } },
      DIMS(1, 2, 1), VALUES(1, 2), NULL, 1 },
    { "to a matrix of one row", "Flatten", { SIX }, 1, { INT_ATTRIBUTE("axis", 0) },
      DIMS(1, 6), VALUES(1, 2, 3, 4, 5, 6), NULL, 1 },
    { "a scalar as a matrix", "Flatten", { ONE(7) }, 1, { INT_ATTRIBUTE("axis", 0) },
      DIMS(1, 1), VALUES(7), NULL, 1 },
    { "a scalar to a shape", "Expand", { ONE(7), SHAPE2(1, 2) }, 2, { { 0 } },
      DIMS(1, 2), VALUES(7, 7), NULL, 1 },
    { "to nothing", "Expand", { ONE(7), SHAPE2(2, 0) }, 2, { { 0 } },
      DIMS(2, 0), NULL, NULL, 1 },
    { "no times", "Tile", { SIX, SHAPE2(0, 2) }, 2, { { 0 } },
      DIMS(0, 6), NULL, NULL, 1 },
    { "a scalar, no axis", "Transpose", { ONE(7) }, 1, { { 0 } },
      NULL, 0, VALUES(7), NULL, 1 },
    { "of nothing, joined", "Concat", { NONE, SIX }, 2, { INT_ATTRIBUTE("axis", 0) },
      DIMS(2, 3), VALUES(1, 2, 3, 4, 5, 6), NULL, 1 },
    { "the last size", "Shape", { SIX }, 1, { INT_ATTRIBUTE("start", -1) },
      DIMS(1), VALUES(3), NULL, 1 },
    { "all but the last size", "Shape", { SIX }, 1, { INT_ATTRIBUTE("end", -1) },
      DIMS(1), VALUES(2), NULL, 1 },
    { "sizes of a scalar", "Shape", { ONE(7) }, 1, { { 0 } },
      DIMS(0), NULL, NULL, 1 },
};

/* ---- axes from the end ---- */

#define AXIS(number) INT_ATTRIBUTE("axis", number)
static bool middle_and_last[] = { false, true, true };

static const struct trap axes[] = {
    { "Concat", "Concat", { SIX, SIX }, 2, { AXIS(-2) },
      DIMS(4, 3), VALUES(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6), NULL, 1 },
    { "Split", "Split", { SIX, { I64, 1, { 2 }, LONGS(1, 2) } }, 2, { AXIS(-1) },
      DIMS(2, 1), VALUES(1, 4), NULL, 2 },
    { "Hardmax", "Hardmax", { { F32, 2, { 2, 3 }, FLOATS(1, 5, 3, 4, 2, 6) } }, 1, { AXIS(-2) },
      DIMS(2, 3), VALUES(0, 1, 0, 1, 0, 1), NULL, 1 },
    { "ArgMax", "ArgMax", { { F32, 2, { 2, 3 }, FLOATS(1, 5, 3, 4, 2, 6) } }, 1, { AXIS(-2) },
      DIMS(1, 3), VALUES(1, 0, 1), NULL, 1 },
    { "TopK", "TopK", { SIX, { I64, 1, { 1 }, LONGS(1) } }, 2, { AXIS(-2) },
      DIMS(1, 3), VALUES(4, 5, 6), NULL, 2 },
    { "CumSum", "CumSum", { SIX, { I64, 0, { 0 }, LONGS(-2) } }, 2, { { 0 } },
      DIMS(2, 3), VALUES(1, 2, 3, 5, 7, 9), NULL, 1 },
    { "Flatten", "Flatten", { { F32, 3, { 1, 2, 2 }, FLOATS(1, 2, 3, 4) } }, 1, { AXIS(-1) },
      DIMS(2, 2), VALUES(1, 2, 3, 4), NULL, 1 },
    { "Squeeze", "Squeeze", { { F32, 3, { 2, 1, 1 }, FLOATS(1, 2) }, SHAPE2(-1, -2) }, 2,
      { { 0 } }, DIMS(2), VALUES(1, 2), NULL, 1 },
    { "Unsqueeze counts in the new rank", "Unsqueeze", { PAIR, SHAPE2(-1, -3) }, 2, { { 0 } },
      DIMS(1, 2, 1), VALUES(-2, 3), NULL, 1 },
    { "Gather", "Gather", { SIX, { I64, 1, { 1 }, LONGS(-1) } }, 2, { AXIS(-2) },
      DIMS(1, 3), VALUES(4, 5, 6), NULL, 1 },
    { "GatherElements", "GatherElements", { SIX, { I64, 2, { 1, 3 }, LONGS(1, 0, -1) } }, 2,
      { AXIS(-2) }, DIMS(1, 3), VALUES(4, 2, 6), NULL, 1 },
    { "ScatterElements", "ScatterElements",
      { SIX, { I64, 2, { 2, 1 }, LONGS(-1, 0) }, { F32, 2, { 2, 1 }, FLOATS(8, 9) } }, 3,
      { AXIS(-1) }, DIMS(2, 3), VALUES(1, 2, 8, 9, 5, 6), NULL, 1 },
    { "Compress", "Compress", { SIX, { COLLAGE_BOOL, 1, { 3 }, middle_and_last } }, 2,
      { AXIS(-1) }, DIMS(2, 2), VALUES(2, 3, 5, 6), NULL, 1 },
    { "OneHot counts in the new rank", "OneHot",
      { { I64, 1, { 2 }, LONGS(0, -1) }, { I64, 0, { 0 }, LONGS(3) },
        { F32, 1, { 2 }, FLOATS(0, 1) } }, 3,
      { AXIS(-2) }, DIMS(3, 2), VALUES(1, 0, 0, 0, 0, 1), NULL, 1 },
    { "Unique", "Unique", { { F32, 2, { 2, 3 }, FLOATS(1, 1, 2, 3, 3, 4) } }, 1, { AXIS(-1) },
      DIMS(2, 2), VALUES(1, 2, 3, 4), NULL, 1 },
    { "ReduceMax", "ReduceMax", { SIX, { I64, 1, { 1 }, LONGS(-2) } }, 2,
      { INT_ATTRIBUTE("keepdims", 0) }, DIMS(3), VALUES(4, 5, 6), NULL, 1 },
    { "LogSoftmax of equals", "LogSoftmax", { { F32, 2, { 1, 3 }, FLOATS(1, 5, 9) } }, 1,
      { AXIS(-2) }, DIMS(1, 3), VALUES(0, 0, 0), NULL, 1 },
    { "LpNormalization", "LpNormalization", { { F32, 2, { 2, 1 }, FLOATS(3, 4) } }, 1,
      { AXIS(-2) }, DIMS(2, 1), VALUES(0.6, 0.8), NULL, 1 },
    { "DequantizeLinear", "DequantizeLinear",
      { { COLLAGE_UINT8, 2, { 1, 2 }, (uint8_t[]){ 3, 5 } }, { F32, 1, { 2 }, FLOATS(2, 10) } }, 2,
      { AXIS(-1) }, DIMS(1, 2), VALUES(6, 50), NULL, 1 },
    { "Trilu counts diagonals below", "Trilu",
      { { F32, 2, { 2, 2 }, FLOATS(1, 2, 3, 4) }, { I64, 0, { 0 }, LONGS(-1) } }, 2, { { 0 } },
      DIMS(2, 2), VALUES(1, 2, 3, 4), NULL, 1 },
    { "one beyond the first", "Concat", { SIX, SIX }, 2, { AXIS(-3) },
      NULL, 0, NULL, "axis -3 is out of range", 1 },
};

/* ---- Einsum ---- */

#define LEFT { F32, 2, { 2, 2 }, FLOATS(1, 2, 3, 4) }
#define RIGHT { F32, 2, { 2, 2 }, FLOATS(5, 6, 7, 8) }
#define VECTOR { F32, 1, { 2 }, FLOATS(10, 100) }
#define EQUATION(text) STRING_ATTRIBUTE("equation", text)

static const struct trap sums[] = {
    { "a product, the output implied", "Einsum", { LEFT, RIGHT }, 2, { EQUATION("ij,jk") },
      DIMS(2, 2), VALUES(19, 22, 43, 50), NULL, 1 },
    { "implied outputs are in alphabetic order", "Einsum", { SIX }, 1, { EQUATION("ba") },
      DIMS(3, 2), VALUES(1, 4, 2, 5, 3, 6), NULL, 1 },
    { "capitals come first", "Einsum", { SIX }, 1, { EQUATION("bA") },
      DIMS(3, 2), VALUES(1, 4, 2, 5, 3, 6), NULL, 1 },
    { "a label twice, implied: summed", "Einsum", { LEFT }, 1, { EQUATION("ii") },
      NULL, 0, VALUES(5), NULL, 1 },
    { "a label twice, kept: the diagonal", "Einsum", { LEFT }, 1, { EQUATION("ii->i") },
      DIMS(2), VALUES(1, 4), NULL, 1 },
    { "a label twice in one, once in another", "Einsum", { LEFT, VECTOR }, 2,
      { EQUATION("ii,i->") }, NULL, 0, VALUES(410), NULL, 1 },
    { "all summed", "Einsum", { LEFT, RIGHT }, 2, { EQUATION("ij,ij->") },
      NULL, 0, VALUES(70), NULL, 1 },
    { "spaces", "Einsum", { LEFT, RIGHT }, 2, { EQUATION(" i j , j k -> i k ") },
      DIMS(2, 2), VALUES(19, 22, 43, 50), NULL, 1 },
    { "an ellipsis that stays", "Einsum", { LEFT }, 1, { EQUATION("...j->...") },
      DIMS(2), VALUES(3, 7), NULL, 1 },
    { "an ellipsis implied comes first", "Einsum", { SIX }, 1, { EQUATION("a...") },
      DIMS(3, 2), VALUES(1, 4, 2, 5, 3, 6), NULL, 1 },
    { "an ellipsis of other lengths", "Einsum", { LEFT, VECTOR }, 2, { EQUATION("...i,...i->...") },
      DIMS(2), VALUES(210, 430), NULL, 1 },
    { "an ellipsis of nothing", "Einsum", { VECTOR }, 1, { EQUATION("...i->i...") },
      DIMS(2), VALUES(10, 100), NULL, 1 },
    { "an ellipsis that broadcasts", "Einsum",
      { { F32, 2, { 1, 2 }, FLOATS(1, 2) }, LEFT }, 2, { EQUATION("...i,...i->...i") },
      DIMS(2, 2), VALUES(1, 4, 3, 8), NULL, 1 },
    { "three operands", "Einsum",
      { PAIR, SEVEN, VECTOR }, 3, { EQUATION("i,j,k->ijk") },
      DIMS(2, 1, 2), VALUES(-140, -1400, 210, 2100), NULL, 1 },
    { "a chain of three", "Einsum", { LEFT, RIGHT, VECTOR }, 3, { EQUATION("ij,jk,k->i") },
      DIMS(2), VALUES(2390, 5430), NULL, 1 },
    { "a scalar among them", "Einsum", { VECTOR, ONE(2) }, 2, { EQUATION("i,->i") },
      DIMS(2), VALUES(20, 200), NULL, 1 },
    { "a sum of nothing", "Einsum",
      { { F32, 2, { 1, 0 }, NULL }, { F32, 2, { 0, 2 }, NULL } }, 2, { EQUATION("ij,jk->ik") },
      DIMS(1, 2), VALUES(0, 0), NULL, 1 },
    { "sizes that differ", "Einsum", { SIX, LEFT }, 2, { EQUATION("ij,jk->ik") },
      NULL, 0, NULL, "does not fit", 1 },
    { "a label of the output from nowhere", "Einsum", { LEFT }, 1, { EQUATION("ij->ik") },
      NULL, 0, NULL, "in no operand", 1 },
};
/* clang-format on */

static void test_wild_numbers(void **state)
{
    (void)state;
    TRAP_CHECK(wild_numbers);
}

static void test_reductions(void **state)
{
    (void)state;
    TRAP_CHECK(reductions);
}

static void test_pads(void **state)
{
    (void)state;
    TRAP_CHECK(pads);
}

static void test_shapes(void **state)
{
    (void)state;
    TRAP_CHECK(shapes);
}

static void test_axes(void **state)
{
    (void)state;
    TRAP_CHECK(axes);
}

static void test_sums(void **state)
{
    (void)state;
    TRAP_CHECK(sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wild_numbers), cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_pads),         cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_axes),         cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
