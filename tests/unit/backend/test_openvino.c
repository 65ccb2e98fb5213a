/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenVINO plugin. */
#define LIBRARY          "openvino"
#define LIBRARY_VARIABLE "COLLAGE_OPENVINO_LIBRARY"
#define LIBRARY_MISMATCH "input 'x'"
#include "unit/backend/library_suite.h"

static const char *const texts[] = {
    /* weights inside of the model */
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
    /* operators that the library makes disappear: the outputs are still written */
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
    /* integers and booleans; an input that is int64 */
    "graph \"integers\" {\n"
    "  input %i: int32[6]\n"
    "  input %j: int32[6]\n"
    "  input %at: int64[3]\n"
    "  input %b: bool[6]\n"
    "  %n: bool[6] = Not(%b)\n"
    "  %s: int32[6] = Where(%n, %i, %j)\n"
    "  %g: int32[3] = Gather(%s, %at)\n"
    "  output %n\n"
    "  output %g\n}\n",
    /* scalars */
    "graph \"scalars\" {\n"
    "  input %x: float32[]\n"
    "  %y: float32[] = Exp(%x)\n"
    "  output %y\n}\n",
    /* more than 1 MB of weights: they go through a file */
    "graph \"large\" {\n"
    "  input %x: float32[1x600]\n"
    "  const %w: float32[600x513] = #00000000000000000000000000000000\n"
    "  const %b: float32[513] = #00000000000000000000000000000000\n"
    "  const %v: float32[513x7] = #00000000000000000000000000000000\n"
    "  %y: float32[1x513] = Gemm(%x, %w, %b)\n"
    "  %z: float32[1x7] = MatMul(%y, %v)\n"
    "  output %z\n}\n",
    "graph \"optional\" {\n"
    "  input %x: float32[3x4]\n"
    "  const %high: float32[] = {0.25}\n"
    "  %y: float32[3x4] = Clip(%x, _, %high)\n"
    "  %z: float32[3x4] = Softmax(%y)\n"
    "  output %z\n}\n",
};

static const struct refusal_case refusals[] = {
    { "Add", 2, { .name = "none", .kind = COLLAGE_ATTRIBUTE_INT }, "element type", COLLAGE_INT8 },
    { "Transpose", 1, { .name = "none", .kind = COLLAGE_ATTRIBUTE_INT }, NULL, COLLAGE_UINT8 },
    { "Cast", 1, { .name = "to", .kind = COLLAGE_ATTRIBUTE_INT, .i = COLLAGE_UINT8 }, "8 bits", 0 },
    { "GRU", 3, { .name = "layout", .kind = COLLAGE_ATTRIBUTE_INT, .i = 1 }, "layout 0", 0 },
    { "RNN", 5, { .name = "layout", .kind = COLLAGE_ATTRIBUTE_INT, .i = 0 }, "whole", 0 },
    { "GatherND", 2, { .name = "none", .kind = COLLAGE_ATTRIBUTE_INT }, "constant indices", 0 },
    { "ScatterND",
      3,
      { .name = "reduction", .kind = COLLAGE_ATTRIBUTE_STRING, .s = "add" },
      "reduction",
      0 },
    { "RoiAlign", 3, { .name = "mode", .kind = COLLAGE_ATTRIBUTE_STRING, .s = "avg" }, "ratio", 0 },
    { "RoiAlign", 3, { .name = "sampling_ratio", .kind = COLLAGE_ATTRIBUTE_INT, .i = 2 }, NULL, 0 },
    { "TopK", 2, { .name = "none", .kind = COLLAGE_ATTRIBUTE_INT }, "TopK is not among", 0 },
    { "DequantizeLinear",
      2,
      { .name = "block_size", .kind = COLLAGE_ATTRIBUTE_INT, .i = 2 },
      "blocks",
      COLLAGE_INT8 },
    { "DequantizeLinear",
      2,
      { .name = "none", .kind = COLLAGE_ATTRIBUTE_INT },
      "constant scales",
      COLLAGE_INT8 },
    { "DequantizeLinear",
      3,
      { .name = "none", .kind = COLLAGE_ATTRIBUTE_INT },
      "zero point",
      COLLAGE_INT32 },
    { "Add",
      2,
      { .name = "none", .kind = COLLAGE_ATTRIBUTE_INT },
      "element type 7",
      COLLAGE_INT64 },
    { "LRN", 1, { .name = "size", .kind = COLLAGE_ATTRIBUTE_INT, .i = 3 }, "rank 4", 0 },
    { "LSTM", 3, { .name = "layout", .kind = COLLAGE_ATTRIBUTE_INT, .i = 1 }, "layout 0", 0 },
    { "LSTM", 3, { .name = "layout", .kind = COLLAGE_ATTRIBUTE_INT, .i = 0 }, NULL, 0 },
    { "LSTM", 8, { .name = "layout", .kind = COLLAGE_ATTRIBUTE_INT, .i = 0 }, "peepholes", 0 },
    { "Max", 1, { .name = "none", .kind = COLLAGE_ATTRIBUTE_INT }, "several", 0 },
    { "Max", 2, { .name = "none", .kind = COLLAGE_ATTRIBUTE_INT }, NULL, 0 },
    { "Cast", 1, { .name = "to", .kind = COLLAGE_ATTRIBUTE_INT, .i = COLLAGE_INT64 }, "int64", 0 },
    { "Cast", 1, { .name = "to", .kind = COLLAGE_ATTRIBUTE_INT, .i = COLLAGE_BOOL }, "NaN", 0 },
    { "Cast", 1, { .name = "to", .kind = COLLAGE_ATTRIBUTE_INT, .i = COLLAGE_FLOAT32 }, NULL, 0 },
    { "Pad", 3, { .name = "mode", .kind = COLLAGE_ATTRIBUTE_STRING, .s = "edge" }, "constant", 0 },
    { "Pad", 2, { .name = "mode", .kind = COLLAGE_ATTRIBUTE_STRING, .s = "wrap" }, "wrap", 0 },
    { "Pad", 2, { .name = "mode", .kind = COLLAGE_ATTRIBUTE_STRING, .s = "edge" }, NULL, 0 },
    { "Resize", 1, { .name = "mode", .kind = COLLAGE_ATTRIBUTE_STRING, .s = "cubic" }, "cubic", 0 },
    { "Resize", 1, { .name = "mode", .kind = COLLAGE_ATTRIBUTE_STRING, .s = "linear" }, NULL, 0 },
    { "MaxPool", 1, { .name = "ceil_mode", .kind = COLLAGE_ATTRIBUTE_INT, .i = 1 }, "rounds", 0 },
    { "LayerNormalization",
      2,
      { .name = "axis", .kind = COLLAGE_ATTRIBUTE_INT, .i = -1 },
      "shape of what is normalised",
      0 },
    { "LayerNormalization", 2, { .name = "axis", .kind = COLLAGE_ATTRIBUTE_INT, .i = 0 }, NULL, 0 },
};

static const struct library_suite suite = { texts, sizeof texts / sizeof texts[0], refusals,
                                            sizeof refusals / sizeof refusals[0] };

int main(void)
{
    return run_library_suite();
}
