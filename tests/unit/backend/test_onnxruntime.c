/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX Runtime plugin. */
#define LIBRARY          "onnxruntime"
#define LIBRARY_VARIABLE "COLLAGE_ONNXRUNTIME_LIBRARY"
#define LIBRARY_MISMATCH "'input'"
#include "unit/backend/library_suite.h"

static const char *const texts[] = {
    /* weights large enough to stay in our memory */
    "graph \"conv_relu\" {\n"
    "  input %x: float32[1x16x10x10]\n"
    "  const %w: float32[32x16x3x3] = #00000000000000000000000000000000\n"
    "  const %b: float32[32] = #00000000000000000000000000000000\n"
    "  %y: float32[1x32x10x10] = Conv(%x, %w, %b) {pads = [1, 1, 1, 1]}\n"
    "  %z: float32[1x32x10x10] = Relu(%y)\n"
    "  output %z\n}\n",
    /* two inputs, two outputs, one of them on the way to the other */
    "graph \"ports\" {\n"
    "  input %x: float32[4x8]\n"
    "  input %y: float32[4x8]\n"
    "  %s: float32[4x8] = Sub(%x, %y)\n"
    "  %t: float32[8x4] = Transpose(%s) {perm = [1, 0]}\n"
    "  %u: float32[8x8] = MatMul(%t, %x)\n"
    "  output %u\n"
    "  output %s\n}\n",
    /* operators that the library makes disappear: the outputs are still ours */
    "graph \"views\" {\n"
    "  input %x: float32[2x3x4]\n"
    "  const %shape: int64[2] = {6, 4}\n"
    "  %i: float32[2x3x4] = Identity(%x)\n"
    "  %r: float32[6x4] = Reshape(%x, %shape)\n"
    "  output %i\n"
    "  output %r\n}\n",
    /* the same value computed twice: the library merges them */
    "graph \"twins\" {\n"
    "  input %x: float32[16]\n"
    "  %a: float32[16] = Exp(%x)\n"
    "  %b: float32[16] = Exp(%x)\n"
    "  output %a\n"
    "  output %b\n}\n",
    /* integers, and an output that is constant for the library */
    "graph \"shapes\" {\n"
    "  input %x: float32[2x3]\n"
    "  input %i: int64[2]\n"
    "  %s: int64[2] = Shape(%x)\n"
    "  %j: int64[2] = Add(%i, %s)\n"
    "  output %s\n"
    "  output %j\n}\n",
    "graph \"optional\" {\n"
    "  input %x: float32[3x4]\n"
    "  const %high: float32[] = {0.25}\n"
    "  %y: float32[3x4] = Clip(%x, _, %high)\n"
    "  %z: float32[3x4] = Softmax(%y)\n"
    "  output %z\n}\n",
};

#define NONE                                                                                       \
    {                                                                                              \
        .name = "none", .kind = COLLAGE_ATTRIBUTE_INT                                              \
    }
#define NUMBER(key, value)                                                                         \
    {                                                                                              \
        .name = key, .kind = COLLAGE_ATTRIBUTE_INT, .i = value                                     \
    }
#define STRING(key, value)                                                                         \
    {                                                                                              \
        .name = key, .kind = COLLAGE_ATTRIBUTE_STRING, .s = value                                  \
    }

static const struct refusal_case refusals[] = {
    { "LRN", 1, { .name = "size", .kind = COLLAGE_ATTRIBUTE_INT, .i = 3 }, "rank 4", 0 },
    { "Attention", 4, NONE, "mask", 0 },
    { "BitShift", 2, STRING("direction", "LEFT"), "constant", COLLAGE_UINT32 },
    { "BitwiseNot", 1, NONE, NULL, COLLAGE_UINT8 },
    { "ConvInteger", 2, NONE, "element type", COLLAGE_INT8 },
    { "Einsum", 1, STRING("equation", "Ba"), "capital", 0 },
    { "Einsum", 1, STRING("equation", "ba"), NULL, 0 },
    { "GRU", 3, NUMBER("layout", 1), "layout 0", 0 },
    { "GRU", 3, NUMBER("layout", 0), NULL, 0 },
    { "GridSample", 2, STRING("mode", "cubic"), "images", 0 },
    { "LpPool", 1, NUMBER("ceil_mode", 1), "rounded down", 0 },
    { "LSTM", 3, { .name = "clip", .kind = COLLAGE_ATTRIBUTE_FLOAT, .f = 3 }, "clip", 0 },
    { "MaxRoiPool", 2, NONE, "MaxRoiPool is not among", 0 },
    { "MaxUnpool", 3, NONE, "output_shape", 0 },
    { "QLinearConv", 2, NONE, "all scales", COLLAGE_UINT8 },
    { "QuantizeLinear", 2, NUMBER("axis", 1), "another rank", 0 },
    { "QuantizeLinear", 2, NUMBER("precision", COLLAGE_FLOAT16), "float32", 0 },
    { "DequantizeLinear", 3, NONE, "zero point", COLLAGE_INT32 },
    { "RoiAlign", 3, STRING("mode", "max"), "means", 0 },
    { "ScatterElements", 3, STRING("reduction", "add"), "reduction", COLLAGE_BOOL },
    { "ScatterElements", 3, STRING("reduction", "none"), NULL, COLLAGE_BOOL },
    { "ScatterND", 3, STRING("reduction", "add"), "reduction", 0 },
    { "TopK", 2, NUMBER("sorted", 0), "unsorted", 0 },
    { "TopK", 2, NUMBER("sorted", 1), NULL, 0 },
    { "Transpose", 1, NONE, NULL, COLLAGE_FLOAT16 },
    { "LSTM", 3, { .name = "layout", .kind = COLLAGE_ATTRIBUTE_INT, .i = 1 }, "layout 0", 0 },
    { "LSTM", 3, { .name = "layout", .kind = COLLAGE_ATTRIBUTE_INT, .i = 0 }, NULL, 0 },
};

static const struct library_suite suite = { texts, sizeof texts / sizeof texts[0], refusals,
                                            sizeof refusals / sizeof refusals[0] };

int main(void)
{
    return run_library_suite();
}
