/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes and regions have to do, against numbers counted by hand. */
#include "unit/graph/parse.h"

#include "graph/work.h"

/* All nodes of the graph as one region. */
static struct workload work_of(const struct graph *graph)
{
    node_id nodes[16];
    struct region region;
    struct graph_uses uses;
    struct error error = { 0 };
    uint64_t scratch[64] = { 0 };
    assert_true(graph->node_count <= 16 && graph->value_count <= 64);
    for (node_id n = 0; n < graph->node_count; n++)
        nodes[n] = n;
    assert_int_equal(graph_uses_build(graph, &uses, &error), COLLAGE_OK);
    assert_int_equal(region_make(graph->arena, graph, &uses, nodes, (uint32_t)graph->node_count,
                                 &region, &error),
                     COLLAGE_OK);
    struct workload work = region_workload(graph, &region, scratch);
    for (size_t k = 0; k < 64; k++)
        assert_int_equal(scratch[k], 0);
    graph_uses_free(&uses);
    return work;
}

struct sum {
    const char *text;
    double flop;
    int weight_bytes, activation_bytes;
};

#define ZEROS "#00000000000000000000000000000000"

static const struct sum sums[] = {
    /* 4x8x8 outputs of 3x3x3 products */
    { "input %x: float32[1x3x8x8] const %w: float32[4x3x3x3] = " ZEROS
      " %y: float32[1x4x8x8] = Conv(%x, %w) {pads = [1, 1, 1, 1]} output %y",
      2.0 * 256 * 27, 4 * 108, 4 * (192 + 256) },
    /* two groups of one channel */
    { "input %x: float32[1x2x4x4] const %w: float32[2x1x3x3] = " ZEROS
      " %y: float32[1x2x2x2] = Conv(%x, %w) {group = 2} output %y",
      2.0 * 8 * 9, 4 * 18, 4 * (32 + 8) },
    /* 2x3x3 inputs are each spread over 5 channels of 2x2 */
    { "input %x: float32[1x2x3x3] const %w: float32[2x5x2x2] = " ZEROS
      " %y: float32[1x5x6x6] = ConvTranspose(%x, %w) {strides = [2, 2]} output %y",
      2.0 * 18 * 20, 4 * 40, 4 * (18 + 180) },
    { "input %x: float32[2x3x10] const %w: float32[10x7] = " ZEROS
      " %y: float32[2x3x7] = MatMul(%x, %w) output %y",
      2.0 * 42 * 10, 4 * 70, 4 * (60 + 42) },
    { "input %x: float32[10x3] const %w: float32[10x7] = " ZEROS
      " %y: float32[3x7] = Gemm(%x, %w) {transA = 1} output %y",
      2.0 * 21 * 10, 4 * 70, 4 * (30 + 21) },
    { "input %x: float32[5x2x3] const %w: float32[1x16x3] = " ZEROS
      " const %r: float32[1x16x4] = " ZEROS
      " %y: float32[5x1x2x4] = LSTM(%x, %w, %r) {hidden_size = 4} output %y",
      2.0 * 10 * (48 + 64), 4 * (48 + 64), 4 * (30 + 40) },
    /* 2 heads, 3 queries and keys of 4: products with keys and with values */
    { "input %q: float32[1x2x3x4] input %k: float32[1x2x3x4] input %v: float32[1x2x3x4] "
      "%y: float32[1x2x3x4] = Attention(%q, %k, %v) output %y",
      2.0 * 2 * 9 * 8, 0, 4 * 4 * 24 },
    { "input %a: float32[2x3] input %b: float32[3x5] "
      "%y: float32[2x5] = Einsum(%a, %b) {equation = \"ij,jk->ik\"} output %y",
      2.0 * 30, 0, 4 * (6 + 15 + 10) },
    { "input %x: float32[2x10] %y: float32[2x10] = Softmax(%x) output %y", 20 * 24.0, 0, 160 },
    { "input %x: float32[2x10] const %s: float32[10] = " ZEROS
      " %y: float32[2x10] = LayerNormalization(%x, %s) output %y",
      20 * 8.0, 40, 160 },
    { "input %x: float32[10] %y: float32[10] = Gelu(%x) output %y", 10 * 25.0, 0, 80 },
    { "input %x: float32[10] const %p: float32[] = {2} %y: float32[10] = Pow(%x, %p) output %y", 10,
      4, 80 },
    { "input %x: float32[10] input %p: float32[1] %y: float32[10] = Pow(%x, %p) output %y", 400, 0,
      84 },
    { "input %a: float32[10] input %b: float32[10] input %c: float32[1] "
      "%y: float32[10] = Sum(%a, %b, %c) output %y",
      20, 0, 124 },
    { "input %x: float32[1x1x4x4] "
      "%y: float32[1x1x2x2] = AveragePool(%x) {kernel_shape = [3, 3]} output %y",
      36, 0, 80 },
    { "input %x: float32[4x8] const %a: int64[1] = {1} "
      "%y: float32[4x1] = ReduceMean(%x, %a) output %y",
      32, 8, 144 },
    /* moves: what is picked from a table must be read, not all of it */
    { "input %i: int64[3] const %t: float32[1000x8] = " ZEROS
      " %y: float32[3x8] = Gather(%t, %i) output %y",
      0, 96, 24 + 96 },
    { "input %x: float32[2x3] %y: float32[3x2] = Transpose(%x) {perm = [1, 0]} output %y", 0, 0,
      48 },
    { "input %x: float32[2x3] %y: int64[2] = Shape(%x) output %y", 0, 0, 16 },
};

static void operators_are_counted(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof sums / sizeof *sums; k++) {
        struct text text = { 0 };
        text_format(&text, "graph \"g\" { %s }", sums[k].text);
        struct graph *graph = parse(text.bytes);
        struct workload work = work_of(graph);
        if (work.flop < sums[k].flop || work.flop > sums[k].flop ||
            (int)work.weight_bytes != sums[k].weight_bytes ||
            (int)work.activation_bytes != sums[k].activation_bytes || work.working_set_bytes != 0)
            fail_msg("%s: %g operations, %llu and %llu bytes", sums[k].text, work.flop,
                     (unsigned long long)work.weight_bytes,
                     (unsigned long long)work.activation_bytes);
        text_free(&text);
        graph_destroy(graph);
    }
}

/* What is between two nodes moves nowhere; what two nodes read moves once. */
static void a_region_moves_its_border(void **state)
{
    (void)state;
    struct graph *graph = parse(
        "graph \"g\" { input %x: float32[10] const %c: float32[10] = " ZEROS
        " %a: float32[10] = Add(%x, %c) %b: float32[10] = Mul(%a, %c) %y: float32[10] = Sub(%b, %x)"
        " output %y }");
    struct workload work = work_of(graph);
    assert_true(work.flop > 29.5 && work.flop < 30.5);
    assert_int_equal(work.weight_bytes, 40);
    assert_int_equal(work.activation_bytes, 80);
    assert_int_equal(graph_touched_bytes(graph), 200);
    assert_true(graph_work(graph) == 0); /* none is a product of matrices */
    graph_destroy(graph);
}

/* Lookups of one table add up, but not beyond the table. */
static void lookups_add_up(void **state)
{
    (void)state;
    static const char form[] =
        "graph \"g\" { input %%i: int64[3] input %%j: int64[2] const %%t: float32[%dx8] = " ZEROS
        " %%a: float32[3x8] = Gather(%%t, %%i) %%b: float32[2x8] = Gather(%%t, %%j)"
        " output %%a output %%b }";
    for (int rows = 4; rows <= 40; rows += 36) {
        struct text text = { 0 };
        text_format(&text, form, rows);
        struct graph *graph = parse(text.bytes);
        assert_int_equal(work_of(graph).weight_bytes, 32 * (rows < 5 ? 4 : 5));
        text_free(&text);
        graph_destroy(graph);
    }
}

static bool is_listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Whoever adds an operator decides: only these do no arithmetic. */
static void all_else_has_a_count(void **state)
{
    (void)state;
    static const char *const moves[] = { "BitCast",
                                         "CenterCropPad",
                                         "Compress",
                                         "Concat",
                                         "DepthToSpace",
                                         "Dropout",
                                         "Expand",
                                         "EyeLike",
                                         "Flatten",
                                         "Gather",
                                         "GatherND",
                                         "Identity",
                                         "If",
                                         "Loop",
                                         "GatherElements",
                                         "MaxUnpool",
                                         "OneHot",
                                         "Pad",
                                         "Reshape",
                                         "ReverseSequence",
                                         "ScatterND",
                                         "Shape",
                                         "Size",
                                         "ScatterElements",
                                         "Slice",
                                         "Split",
                                         "Squeeze",
                                         "TensorScatter",
                                         "SpaceToDepth",
                                         "Tile",
                                         "Transpose",
                                         "Trilu",
                                         "Unsqueeze",
                                         NULL };
    for (size_t k = 0; k < op_count(); k++) {
        const struct op *op = op_at(k);
        assert_non_null(op->count);
        if ((op->times > 0) == is_listed(moves, op->name))
            fail_msg("%s: %g operations", op->name, op->times);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_counted),
        cmocka_unit_test(a_region_moves_its_border),
        cmocka_unit_test(lookups_add_up),
        cmocka_unit_test(all_else_has_a_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
