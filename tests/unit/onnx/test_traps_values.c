/* SPDX-License-Identifier: Apache-2.0 */
/* test_traps_values.c: one node of an opset, and what it computes: attributes that became inputs,
 * inputs that are left out, defaults that changed. Expected values from the specification, by hand.
 */
#include <math.h>

#include "unit/onnx/model_builder.h"
#include "unit/onnx/run_graph.h"

enum { ATTRIBUTES = 4, CONSTANTS = 3 };

struct constant {
    const char *name;
    collage_dtype dtype;
    int64_t count;
    const void *data;
};

/* The model is y = op(inputs) with x = 1, 2, 3, ... of the shape, and the constants. */
struct row {
    const char *name;
    int64_t opset;
    const char *op, *shape, *inputs, *outputs;
    collage_attribute attributes[ATTRIBUTES]; /* up to the first without a name */
    struct constant constants[CONSTANTS];
    const int64_t *dims;
    int32_t rank;
    const double *values;
    const char *refused; /* instead of values */
};

/* clang-format off */
#define INT(key, value) { .name = key, .kind = COLLAGE_ATTRIBUTE_INT, .i = value }
#define FLOAT(key, value) { .name = key, .kind = COLLAGE_ATTRIBUTE_FLOAT, .f = value }
#define TEXT(key, value) { .name = key, .kind = COLLAGE_ATTRIBUTE_STRING, .s = value }
#define INTS(key, ...) \
    { .name = key, .kind = COLLAGE_ATTRIBUTE_INTS, .ints = (const int64_t[]){ __VA_ARGS__ }, \
      .count = sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t) }
#define REALS(key, ...) \
    { .name = key, .kind = COLLAGE_ATTRIBUTE_FLOATS, .floats = (const float[]){ __VA_ARGS__ }, \
      .count = sizeof((const float[]){ __VA_ARGS__ }) / sizeof(float) }
#define LONGS(key, ...) \
    { key, COLLAGE_INT64, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), \
      (const int64_t[]){ __VA_ARGS__ } }
#define SHORTS(key, ...) \
    { key, COLLAGE_INT32, sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t), \
      (const int32_t[]){ __VA_ARGS__ } }
#define FLOATS(key, ...) \
    { key, COLLAGE_FLOAT32, sizeof((const float[]){ __VA_ARGS__ }) / sizeof(float), \
      (const float[]){ __VA_ARGS__ } }
#define EMPTY(key) { key, COLLAGE_FLOAT32, 0, "" }
#define LIE(key) { key, COLLAGE_BOOL, 1, "" } /* the byte that ends the text: false */
#define NO_ATTRIBUTE { { 0 } }
#define NO_CONSTANT { { 0 } }
#define DIMS(...) (const int64_t[]){ __VA_ARGS__ }, \
    (int32_t)(sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
#define VALUES(...) (const double[]){ __VA_ARGS__ }, NULL
#define REFUSED(text) NULL, 0, NULL, text

/* Each move as an attribute, as an input, and on the wrong side. */
static const struct row moves[] = {
    { "Squeeze, attribute", 11, "Squeeze", "1x2x1", "x", "y", { INTS("axes", 0, -1) }, NO_CONSTANT,
      DIMS(2), VALUES(1, 2) },
    { "Squeeze, input", 13, "Squeeze", "1x2x1", "x,a", "y", NO_ATTRIBUTE, { LONGS("a", 0, -1) },
      DIMS(2), VALUES(1, 2) },
    { "Squeeze, one only", 11, "Squeeze", "1x2x1", "x", "y", { INTS("axes", -3) }, NO_CONSTANT,
      DIMS(2, 1), VALUES(1, 2) },
    { "Squeeze, neither", 7, "Squeeze", "1x2x1", "x", "y", NO_ATTRIBUTE, NO_CONSTANT,
      DIMS(2), VALUES(1, 2) },
    { "Squeeze, attribute too late", 13, "Squeeze", "1x2x1", "x", "y", { INTS("axes", 0) },
      NO_CONSTANT, REFUSED("'axes' is not supported") },
    { "Unsqueeze, attribute", 11, "Unsqueeze", "2", "x", "y", { INTS("axes", -1, 0) }, NO_CONSTANT,
      DIMS(1, 2, 1), VALUES(1, 2) },
    { "Unsqueeze, input", 13, "Unsqueeze", "2", "x,a", "y", NO_ATTRIBUTE, { LONGS("a", -1, 0) },
      DIMS(1, 2, 1), VALUES(1, 2) },
    { "ReduceSum, attribute", 12, "ReduceSum", "2x2", "x", "y",
      { INTS("axes", -1), INT("keepdims", 0) }, NO_CONSTANT, DIMS(2), VALUES(3, 7) },
    { "ReduceSum, input", 13, "ReduceSum", "2x2", "x,a", "y", { INT("keepdims", 0) },
      { LONGS("a", -1) }, DIMS(2), VALUES(3, 7) },
    { "ReduceSum, no axes", 7, "ReduceSum", "2x2", "x", "y", NO_ATTRIBUTE, NO_CONSTANT,
      DIMS(1, 1), VALUES(10) },
    { "ReduceSum, none of them", 13, "ReduceSum", "2x2", "x", "y",
      { INT("noop_with_empty_axes", 1) }, NO_CONSTANT, DIMS(2, 2), VALUES(1, 2, 3, 4) },
    { "ReduceMean, attribute", 17, "ReduceMean", "2x2", "x", "y", { INTS("axes", 0) }, NO_CONSTANT,
      DIMS(1, 2), VALUES(2, 3) },
    { "ReduceMean, input", 18, "ReduceMean", "2x2", "x,a", "y", NO_ATTRIBUTE, { LONGS("a", 0) },
      DIMS(1, 2), VALUES(2, 3) },
    { "Split, attribute", 11, "Split", "4", "x", "z,y", { INTS("split", 1, 3), INT("axis", -1) },
      NO_CONSTANT, DIMS(3), VALUES(2, 3, 4) },
    { "Split, input", 13, "Split", "4", "x,a", "z,y", { INT("axis", -1) }, { LONGS("a", 1, 3) },
      DIMS(3), VALUES(2, 3, 4) },
    { "Split, equal", 7, "Split", "4", "x", "z,y", NO_ATTRIBUTE, NO_CONSTANT,
      DIMS(2), VALUES(3, 4) },
    { "Split, the last one smaller", 18, "Split", "5", "x", "z,y", { INT("num_outputs", 2) },
      NO_CONSTANT, DIMS(2), VALUES(4, 5) },
    { "Pad, attributes", 10, "Pad", "3", "x", "y", { INTS("pads", 1, 2), FLOAT("value", 9) },
      NO_CONSTANT, DIMS(6), VALUES(9, 1, 2, 3, 9, 9) },
    { "Pad, inputs", 11, "Pad", "3", "x,p,v", "y", NO_ATTRIBUTE,
      { LONGS("p", 1, 2), FLOATS("v", 9) }, DIMS(6), VALUES(9, 1, 2, 3, 9, 9) },
    { "Pad, a cut", 10, "Pad", "3", "x", "y", { INTS("pads", -1, 1) }, NO_CONSTANT,
      DIMS(3), VALUES(2, 3, 0) },
    { "Pad, another mode", 10, "Pad", "3", "x", "y",
      { INTS("pads", 1, 1), TEXT("mode", "reflect") }, NO_CONSTANT,
      DIMS(5), VALUES(2, 1, 2, 3, 2) },
    { "Pad, the value left out", 18, "Pad", "2x1", "x,p,,a", "y", NO_ATTRIBUTE,
      { LONGS("p", 0, 1), LONGS("a", -1) }, DIMS(2, 2), VALUES(1, 0, 2, 0) },
    { "Slice, attributes", 9, "Slice", "2x3", "x", "y",
      { INTS("starts", -2), INTS("ends", INT64_MAX), INTS("axes", 1) }, NO_CONSTANT,
      DIMS(2, 2), VALUES(2, 3, 5, 6) },
    { "Slice, no axes", 7, "Slice", "2x3", "x", "y", { INTS("starts", 1, 0), INTS("ends", 2, -1) },
      NO_CONSTANT, DIMS(1, 2), VALUES(4, 5) },
    { "Slice, inputs", 10, "Slice", "2x3", "x,s,e,a", "y", NO_ATTRIBUTE,
      { LONGS("s", -2), LONGS("e", INT64_MAX), LONGS("a", -1) }, DIMS(2, 2), VALUES(2, 3, 5, 6) },
    { "Slice backwards, the axes left out", 13, "Slice", "3", "x,s,e,,t", "y", NO_ATTRIBUTE,
      { LONGS("s", INT64_MAX), LONGS("e", INT64_MIN), LONGS("t", -1) }, DIMS(3), VALUES(3, 2, 1) },
    { "Slice by int32", 13, "Slice", "3", "x,s,e", "y", NO_ATTRIBUTE,
      { SHORTS("s", 1), SHORTS("e", INT32_MAX) }, DIMS(2), VALUES(2, 3) },
    { "Clip, attributes", 10, "Clip", "3", "x", "y", { FLOAT("min", 2), FLOAT("max", 2.5f) },
      NO_CONSTANT, DIMS(3), VALUES(2, 2, 2.5) },
    { "Clip, one attribute", 10, "Clip", "3", "x", "y", { FLOAT("max", 2) }, NO_CONSTANT,
      DIMS(3), VALUES(1, 2, 2) },
    { "Clip, the first limit left out", 11, "Clip", "3", "x,,h", "y", NO_ATTRIBUTE,
      { FLOATS("h", 2) }, DIMS(3), VALUES(1, 2, 2) },
    { "Clip, both left out", 13, "Clip", "3", "x,,", "y", NO_ATTRIBUTE, NO_CONSTANT,
      DIMS(3), VALUES(1, 2, 3) },
    { "Clip, its tensor left out", 13, "Clip", "3", ",x", "y", NO_ATTRIBUTE, NO_CONSTANT,
      REFUSED("input 0 is missing") },
    { "Clip, attributes too late", 11, "Clip", "3", "x", "y", { FLOAT("min", 2) }, NO_CONSTANT,
      REFUSED("'min' is not supported") },
    { "Dropout, attribute", 11, "Dropout", "2", "x", "y", { FLOAT("ratio", 0.9f) }, NO_CONSTANT,
      DIMS(2), VALUES(1, 2) },
    { "Dropout, inputs", 13, "Dropout", "2", "x,r,t", "y", NO_ATTRIBUTE,
      { FLOATS("r", 0.9f), LIE("t") }, DIMS(2), VALUES(1, 2) },
    { "Dropout, the ratio left out", 13, "Dropout", "2", "x,,t", "y", NO_ATTRIBUTE, { LIE("t") },
      DIMS(2), VALUES(1, 2) },
    { "TopK, attribute", 9, "TopK", "3", "x", "y,i", { INT("k", 2), INT("axis", -1) }, NO_CONSTANT,
      DIMS(2), VALUES(3, 2) },
    { "TopK, input", 10, "TopK", "3", "x,k", "y,i", NO_ATTRIBUTE, { LONGS("k", 2) },
      DIMS(2), VALUES(3, 2) },
    { "TopK, the least", 11, "TopK", "3", "x,k", "y,i", { INT("largest", 0) }, { LONGS("k", 2) },
      DIMS(2), VALUES(1, 2) },
    { "TopK without its number", 9, "TopK", "3", "x", "y,i", NO_ATTRIBUTE, NO_CONSTANT,
      REFUSED("k is -1") },
};

/* Upsample and the old forms of Resize. */
static const struct row resizes[] = {
    { "Upsample, attribute", 8, "Upsample", "1x2", "x", "y", { REALS("scales", 1, 2) }, NO_CONSTANT,
      DIMS(1, 4), VALUES(1, 1, 2, 2) },
    { "Upsample, input", 9, "Upsample", "1x2", "x,s", "y", NO_ATTRIBUTE, { FLOATS("s", 1, 2) },
      DIMS(1, 4), VALUES(1, 1, 2, 2) },
    { "Upsample, linear: asymmetric", 9, "Upsample", "1x2", "x,s", "y", { TEXT("mode", "linear") },
      { FLOATS("s", 1, 2) }, DIMS(1, 4), VALUES(1, 1.5, 2, 2) },
    { "Resize, two inputs", 10, "Resize", "1x2", "x,s", "y", NO_ATTRIBUTE, { FLOATS("s", 1, 2) },
      DIMS(1, 4), VALUES(1, 1, 2, 2) },
    /* ONNX's example of that opset */
    { "Resize, smaller: the element behind", 10, "Resize", "1x1x2x4", "x,s", "y", NO_ATTRIBUTE,
      { FLOATS("s", 1, 1, 0.6f, 0.6f) }, DIMS(1, 1, 1, 2), VALUES(1, 3) },
    { "Resize, larger and smaller", 10, "Resize", "2x4", "x,s", "y", NO_ATTRIBUTE,
      { FLOATS("s", 2, 0.5f) }, REFUSED("before opset 11") },
    { "Resize, larger and smaller, linear", 10, "Resize", "1x4", "x,s", "y",
      { TEXT("mode", "linear") }, { FLOATS("s", 2, 0.5f) }, DIMS(2, 2), VALUES(1, 3, 1, 3) },
    { "Resize, smaller, since opset 11", 11, "Resize", "1x4", "x,r,s", "y",
      { TEXT("coordinate_transformation_mode", "asymmetric") },
      { EMPTY("r"), FLOATS("s", 1, 0.6f) }, DIMS(1, 2), VALUES(1, 3) },
    { "Resize, sizes", 11, "Resize", "1x2", "x,r,r,n", "y", NO_ATTRIBUTE,
      { EMPTY("r"), LONGS("n", 1, 4) }, DIMS(1, 4), VALUES(1, 1, 2, 2) },
    { "Resize, two left out", 13, "Resize", "1x2", "x,,,n", "y", { TEXT("mode", "linear") },
      { LONGS("n", 1, 4) }, DIMS(1, 4), VALUES(1, 1.25, 1.75, 2) },
    { "Resize, both sizes and scales", 13, "Resize", "1x2", "x,,s,n", "y", NO_ATTRIBUTE,
      { FLOATS("s", 1, 2), LONGS("n", 1, 4) }, REFUSED("either scales or sizes") },
    { "Resize, axes from the end", 18, "Resize", "1x2", "x,,s", "y", { INTS("axes", -1) },
      { FLOATS("s", 2) }, DIMS(1, 4), VALUES(1, 1, 2, 2) },
    { "Resize, an axis out of range", 18, "Resize", "1x2", "x,,s", "y", { INTS("axes", -3) },
      { FLOATS("s", 2) }, REFUSED("axis -3 is out of range") },
    /* Places 0.25 0.75 1.25 1.75. */
    { "tf_half_pixel_for_nn, floor", 11, "Resize", "1x2", "x,r,s", "y",
      { TEXT("coordinate_transformation_mode", "tf_half_pixel_for_nn"),
        TEXT("nearest_mode", "floor") },
      { EMPTY("r"), FLOATS("s", 1, 2) }, DIMS(1, 4), VALUES(1, 1, 2, 2) },
    { "tf_half_pixel_for_nn, to the nearest", 12, "Resize", "1x3", "x,r,s", "y",
      { TEXT("coordinate_transformation_mode", "tf_half_pixel_for_nn") },
      { EMPTY("r"), FLOATS("s", 1, 2) }, DIMS(1, 6), VALUES(1, 2, 2, 3, 3, 3) },
    { "tf_half_pixel_for_nn, linear", 11, "Resize", "1x2", "x,r,s", "y",
      { TEXT("coordinate_transformation_mode", "tf_half_pixel_for_nn"), TEXT("mode", "linear") },
      { EMPTY("r"), FLOATS("s", 1, 2) }, REFUSED("tf_half_pixel_for_nn is supported with") },
    { "tf_half_pixel_for_nn, dropped", 13, "Resize", "1x2", "x,,s", "y",
      { TEXT("coordinate_transformation_mode", "tf_half_pixel_for_nn") },
      { FLOATS("s", 1, 2) }, REFUSED("'tf_half_pixel_for_nn' is not supported") },
};

/* Without elements, without axes. */
static const struct row sizes[] = {
    { "no rows", 21, "Relu", "0x3", "x", "y", NO_ATTRIBUTE, NO_CONSTANT, DIMS(0, 3), NULL, NULL },
    { "no rows, joined", 21, "Concat", "0", "x,w", "y", { INT("axis", 0) }, { FLOATS("w", 5, 6) },
      DIMS(2), VALUES(5, 6) },
    { "an empty constant, joined", 21, "Concat", "2", "w,x", "y", { INT("axis", -1) },
      { EMPTY("w") }, DIMS(2), VALUES(1, 2) },
    { "all of nothing", 21, "ReduceSum", "0x2", "x", "y", { INT("keepdims", 0) }, NO_CONSTANT,
      NULL, 0, VALUES(0) },
    { "a scalar", 21, "Neg", "", "x", "y", NO_ATTRIBUTE, NO_CONSTANT, NULL, 0, VALUES(-1) },
    { "a scalar and a vector", 21, "Add", "", "x,w", "y", NO_ATTRIBUTE, { FLOATS("w", 5, 6) },
      DIMS(2), VALUES(6, 7) },
    { "a scalar becomes a vector", 21, "Unsqueeze", "", "x,a", "y", NO_ATTRIBUTE, { LONGS("a", 0) },
      DIMS(1), VALUES(1) },
    { "a scalar has no axis", 21, "Softmax", "", "x", "y", NO_ATTRIBUTE, NO_CONSTANT,
      REFUSED("axis -1 is out of range") },
    { "no elements for -1", 21, "Reshape", "0x3", "x,a", "y", NO_ATTRIBUTE, { LONGS("a", 3, -1) },
      DIMS(3, 0), NULL, NULL },
};

static const struct {
    const char *op;
    int64_t since; /* when the axes became an input */
} reductions[] = {
    { "ReduceL1", 18 }, { "ReduceL2", 18 }, { "ReduceLogSum", 18 }, { "ReduceLogSumExp", 18 },
    { "ReduceMax", 18 }, { "ReduceMean", 18 }, { "ReduceMin", 18 }, { "ReduceProd", 18 },
    { "ReduceSum", 13 }, { "ReduceSumSquare", 18 },
};
/* clang-format on */

static void add_attribute(struct model_builder *b, const collage_attribute *a)
{
    switch (a->kind) {
    case COLLAGE_ATTRIBUTE_INT:
        builder_int(b, a->name, a->i);
        break;
    case COLLAGE_ATTRIBUTE_FLOAT:
        builder_float(b, a->name, a->f);
        break;
    case COLLAGE_ATTRIBUTE_STRING:
        builder_string(b, a->name, a->s);
        break;
    case COLLAGE_ATTRIBUTE_INTS:
        builder_ints(b, a->name, a->count, a->ints);
        break;
    case COLLAGE_ATTRIBUTE_FLOATS:
        builder_floats(b, a->name, a->count, a->floats);
        break;
    case COLLAGE_ATTRIBUTE_GRAPH:
        fail_msg("no body here");
    }
}

static void build(struct model_builder *b, const struct row *row)
{
    builder_begin(b, row->opset);
    builder_input(b, "x", COLLAGE_FLOAT32, row->shape);
    builder_output(b, "y");
    for (size_t k = 0; k < CONSTANTS && row->constants[k].name; k++)
        builder_initializer(b, row->constants[k].name, row->constants[k].dtype,
                            row->constants[k].count, row->constants[k].data);
    builder_node(b, row->op, row->inputs, row->outputs);
    for (size_t k = 0; k < ATTRIBUTES && row->attributes[k].name; k++)
        add_attribute(b, &row->attributes[k]);
}

static void compare(const struct row *row, const struct tensor *y)
{
    bool fits = y->rank == row->rank;
    for (int32_t d = 0; d < row->rank && fits; d++)
        fits = y->dims[d] == row->dims[d];
    if (!fits)
        fail_msg("%s: another shape", row->name);
    for (int64_t i = 0; i < tensor_elements(y); i++)
        if (fabs(tensor_get(y, i) - row->values[i]) > 1e-6)
            fail_msg("%s: element %lld is %.9g, expected %.9g", row->name, (long long)i,
                     tensor_get(y, i), row->values[i]);
}

static void check_row(const struct row *row)
{
    struct model_builder b;
    struct graph *graph;
    struct error error;
    build(&b, row);
    collage_status status = builder_import(&b, NULL, NULL, 0, &graph, &error);
    builder_end(&b);
    if (row->refused) {
        if (status == COLLAGE_OK || !strstr(error.text, row->refused))
            fail_msg("%s: '%s' instead of '%s'", row->name, error.text, row->refused);
        return;
    }
    if (status != COLLAGE_OK)
        fail_msg("%s: %s", row->name, error.text);
    struct tensor *x = &graph->values[graph->inputs[0]].tensor;
    float *data = arena_alloc(graph->arena, (size_t)tensor_bytes(x));
    for (int64_t i = 0; i < tensor_elements(x); i++)
        data[i] = (float)(i + 1);
    x->data = data;
    if (run_graph(graph, &error) != COLLAGE_OK)
        fail_msg("%s: %s", row->name, error.text);
    compare(row, &graph->values[graph->outputs[0]].tensor);
    graph_destroy(graph);
}

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t k = 0; k < count; k++)
        check_row(&rows[k]);
}

static void attributes_became_inputs(void **state)
{
    (void)state;
    check_rows(moves, sizeof moves / sizeof *moves);
}

static void resizes_changed(void **state)
{
    (void)state;
    check_rows(resizes, sizeof resizes / sizeof *resizes);
}

static void nothing_and_scalars_flow_through(void **state)
{
    (void)state;
    check_rows(sizes, sizeof sizes / sizeof *sizes);
}

/* All of them, since one row of the upgrades is soon forgotten. */
static void axes_of_every_reduction(void **state)
{
    (void)state;
    const int64_t last = -1;
    for (size_t k = 0; k < sizeof reductions / sizeof *reductions; k++)
        for (int64_t opset = reductions[k].since - 1; opset <= reductions[k].since; opset++) {
            struct model_builder b;
            builder_begin(&b, opset);
            builder_input(&b, "x", COLLAGE_FLOAT32, "2x3");
            builder_output(&b, "y");
            builder_node(&b, reductions[k].op, "x", "y");
            builder_ints(&b, "axes", 1, &last);
            if (opset == reductions[k].since) {
                builder_refused(&b, COLLAGE_ERROR_SHAPE, "'axes' is not supported");
                continue;
            }
            struct graph *graph = builder_graph(&b);
            const struct tensor *y = &graph->values[graph->outputs[0]].tensor;
            assert_int_equal(y->rank, 2);
            assert_int_equal(y->dims[0], 2);
            assert_int_equal(y->dims[1], 1);
            graph_destroy(graph);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_became_inputs),
        cmocka_unit_test(resizes_changed),
        cmocka_unit_test(nothing_and_scalars_flow_through),
        cmocka_unit_test(axes_of_every_reduction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
