/* SPDX-License-Identifier: Apache-2.0 */
/* The passes that recognise spelt-out operators: every spelling that they know, and what only looks
 * like one and must stay. GELU's error function form is in test_canon.c. */
#include "unit/canon/check.h"

#define V  "float32[2x3x4]"
#define M  "float32[2x3x1]"
#define IN "graph \"g\" { input %x: " V " "

struct sample {
    const char *body;
    const char *tail; /* "output %y }" if NULL */
};

static void check_bodies(canon_pass_fn pass, const char *constants, const struct sample *samples,
                         size_t count, const char *op, bool fuses)
{
    for (size_t k = 0; k < count; k++) {
        char text[2000];
        int length = snprintf(text, sizeof text, "%s%s%s %s", IN, constants, samples[k].body,
                              samples[k].tail ? samples[k].tail : "output %y }");
        assert_true(length > 0 && (size_t)length < sizeof text);
        check_pass(pass, text, op, fuses, fuses, fuses ? 1e-6 : 0);
    }
}
#define CHECK(pass, constants, samples, op, fuses)                                                 \
    check_bodies(pass, constants, samples, sizeof(samples) / sizeof *(samples), op, fuses)

/* ---- GELU, the form with the hyperbolic tangent ---- */

#define GELU                                                                                       \
    "const %three: float32[] = {3.0} const %k: float32[] = {0.044715} "                            \
    "const %s: float32[1] = {0.7978845608} const %one: float32[] = {1.0} "                         \
    "const %h: float32[] = {0.5} const %two: int64[] = {2} const %t: float32[] = {2.0} "
#define CUBE    "%c: " V " = Pow(%x, %three) "
#define SUM     "%d: " V " = Mul(%c, %k) %e: " V " = Add(%x, %d) %f: " V " = Mul(%e, %s) "
#define TANH    "%g: " V " = Tanh(%f) %i: " V " = Add(%g, %one) "
#define PRODUCT "%j: " V " = Mul(%x, %h) %y: " V " = Mul(%j, %i) "

static void tanh_gelu_fuses(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        { CUBE SUM TANH PRODUCT, NULL },
        { "%q: " V " = Mul(%x, %x) %c: " V " = Mul(%x, %q) " SUM TANH PRODUCT, NULL },
        { "%q: " V " = Pow(%x, %two) %c: " V " = Mul(%q, %x) " SUM TANH PRODUCT, NULL },
        { CUBE "%d: " V " = Mul(%k, %c) %e: " V " = Add(%d, %x) %f: " V " = Mul(%s, %e) "
               "%g: " V " = Tanh(%f) %i: " V " = Add(%one, %g) %j: " V " = Mul(%i, %x) "
               "%y: " V " = Div(%j, %t) ",
          NULL },
        /* x times (1 + 0.044715 x^2) */
        { "%q: " V " = Mul(%x, %x) %d: " V " = Mul(%k, %q) %e: " V " = Add(%one, %d) "
          "%l: " V " = Mul(%x, %s) %f: " V " = Mul(%l, %e) " TANH PRODUCT,
          NULL },
    };
    CHECK(canon_fuse_gelu, GELU, samples, "Gelu", true);
}

static void near_misses_of_tanh_gelu_stay(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        { "%c: " V " = Pow(%x, %two) " SUM TANH PRODUCT, NULL },
        { CUBE "%d: " V " = Mul(%c, %s) %e: " V " = Add(%x, %d) %f: " V
               " = Mul(%e, %s) " TANH PRODUCT,
          NULL },
        { CUBE "%d: " V " = Mul(%c, %k) %e: " V " = Sub(%x, %d) %f: " V
               " = Mul(%e, %s) " TANH PRODUCT,
          NULL },
        { CUBE "%d: " V " = Mul(%c, %k) %e: " V " = Add(%x, %d) %f: " V
               " = Mul(%e, %h) " TANH PRODUCT,
          NULL },
        { CUBE SUM "%g: " V " = Tanh(%f) %i: " V " = Add(%g, %t) " PRODUCT, NULL },
        { CUBE SUM TANH "%j: " V " = Mul(%x, %t) %y: " V " = Mul(%j, %i) ", NULL },
        { CUBE SUM TANH PRODUCT, "%z: " V " = Neg(%g) output %y output %z }" },
        { CUBE SUM TANH PRODUCT, "output %y output %e }" },
    };
    CHECK(canon_fuse_gelu, GELU, samples, "Gelu", false);
}

/* ---- Swish ---- */

#define SWISH "const %a: float32[] = {1.702} const %v: float32[4] = {1.0, 2.0, 3.0, 4.0} "

static void swish_fuses(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        { "%s: " V " = Sigmoid(%x) %y: " V " = Mul(%x, %s)", NULL },
        { "%s: " V " = Sigmoid(%x) %y: " V " = Mul(%s, %x)", NULL },
        { "%m: " V " = Mul(%a, %x) %s: " V " = Sigmoid(%m) %y: " V " = Mul(%x, %s)", NULL },
        /* its x is a product itself */
        { "%p: " V " = Mul(%x, %a) %s: " V " = Sigmoid(%p) %y: " V " = Mul(%p, %s)", NULL },
    };
    CHECK(canon_fuse_swish, SWISH, samples, "Swish", true);
}

static void near_misses_of_swish_stay(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        /* of another value, a gate */
        { "%n: " V " = Neg(%x) %s: " V " = Sigmoid(%n) %y: " V " = Mul(%x, %s)", NULL },
        { "%s: " V " = Sigmoid(%x) %y: " V " = Add(%x, %s)", NULL },
        /* a factor for each element */
        { "%m: " V " = Mul(%x, %v) %s: " V " = Sigmoid(%m) %y: " V " = Mul(%x, %s)", NULL },
        { "%s: " V " = Sigmoid(%x) %y: " V " = Mul(%x, %s)", "output %y output %s }" },
        { "%s: " V " = Sigmoid(%x) %y: " V " = Mul(%x, %s)",
          "%z: " V " = Neg(%s) output %y output %z }" },
    };
    CHECK(canon_fuse_swish, SWISH, samples, "Swish", false);
}

/* ---- HardSwish ---- */

#define HARD                                                                                       \
    "const %three: float32[] = {3.0} const %zero: float32[] = {0.0} const %six: float32[] = {6.0}" \
    " const %sixth: float32[] = {0.16666667} const %five: float32[] = {5.0} "
#define CLIP "%a: " V " = Add(%x, %three) %c: " V " = Clip(%a, %zero, %six) "

static void hard_swish_fuses(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        { CLIP "%m: " V " = Mul(%x, %c) %y: " V " = Div(%m, %six)", NULL },
        { CLIP "%m: " V " = Div(%c, %six) %y: " V " = Mul(%x, %m)", NULL },
        { CLIP "%m: " V " = Mul(%c, %sixth) %y: " V " = Mul(%m, %x)", NULL },
        { "%h: " V " = HardSigmoid(%x) {alpha = 0.16666667, beta = 0.5} %y: " V " = Mul(%x, %h)",
          NULL },
    };
    CHECK(canon_fuse_hard_swish, HARD, samples, "HardSwish", true);
}

static void near_misses_of_hard_swish_stay(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        { CLIP "%m: " V " = Mul(%x, %c) %y: " V " = Div(%m, %five)", NULL },
        { "%a: " V " = Add(%x, %five) %c: " V " = Clip(%a, %zero, %six) %m: " V " = Mul(%x, %c) "
          "%y: " V " = Div(%m, %six)",
          NULL },
        { "%a: " V " = Add(%x, %three) %c: " V " = Clip(%a, %zero, %five) %m: " V " = Mul(%x, %c) "
          "%y: " V " = Div(%m, %six)",
          NULL },
        { "%a: " V " = Add(%x, %three) %c: " V " = Clip(%a, _, %six) %m: " V " = Mul(%x, %c) "
          "%y: " V " = Div(%m, %six)",
          NULL },
        { "%h: " V " = HardSigmoid(%x) %y: " V " = Mul(%x, %h)", NULL },
        { CLIP "%m: " V " = Mul(%x, %c) %y: " V " = Div(%m, %six)", "output %y output %c }" },
    };
    CHECK(canon_fuse_hard_swish, HARD, samples, "HardSwish", false);
}

/* ---- RMSNormalization and LayerNormalization ---- */

#define NORM                                                                                       \
    "const %ax: int64[1] = {-1} const %two: float32[] = {2.0} const %e: float32[] = {0.001} "      \
    "const %one: float32[] = {1.0} const %w: float32[4] = {1.0, 2.0, -3.0, 0.5} "                  \
    "const %b: float32[1x1x4] = {0.5, -2.0, 3.0, 1.5} const %h: float32[] = {0.5} "                \
    "const %mh: float32[] = {-0.5} const %first: int64[1] = {1} "                                  \
    "const %both: int64[2] = {2, 1} const %w2: float32[3x4] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0," \
    " 8.0, 9.0, 10.0, 11.0, 12.0} const %row: float32[3x1] = {1.0, 2.0, 3.0} "
#define SQUARES "%q: " V " = Pow(%x, %two) %m: " M " = ReduceMean(%q, %ax) %v: " M " = Add(%m, %e) "
#define ROOT    SQUARES "%r: " M " = Sqrt(%v) "

static void rms_normalization_fuses(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        { ROOT "%i: " M " = Div(%one, %r) %n: " V " = Mul(%x, %i) %y: " V " = Mul(%w, %n)", NULL },
        { ROOT "%i: " M " = Reciprocal(%r) %n: " V " = Mul(%i, %x) %y: " V " = Mul(%n, %w)", NULL },
        { ROOT "%n: " V " = Div(%x, %r) %y: " V " = Mul(%n, %b)", NULL },
        { ROOT "%y: " V " = Div(%x, %r)", NULL },
        { SQUARES "%i: " M " = Pow(%v, %mh) %y: " V " = Mul(%x, %i)", NULL },
        { SQUARES "%r: " M " = Pow(%v, %h) %y: " V " = Div(%x, %r)", NULL },
        { "%q: " V " = Mul(%x, %x) %m: " M " = ReduceMean(%q, %ax) %v: " M " = Add(%e, %m) "
          "%r: " M " = Sqrt(%v) %y: " V " = Div(%x, %r)",
          NULL },
        /* over two dimensions, with a scale of both */
        { "%q: " V " = Pow(%x, %two) %m: float32[2x1x1] = ReduceMean(%q, %both) "
          "%v: float32[2x1x1] = Add(%m, %e) %r: float32[2x1x1] = Sqrt(%v) "
          "%n: " V " = Div(%x, %r) %y: " V " = Mul(%n, %w2)",
          NULL },
        /* a scale of other dimensions, or behind an output, stays behind it */
        { ROOT "%n: " V " = Div(%x, %r) %y: " V " = Mul(%n, %row)", NULL },
        { ROOT "%n: " V " = Div(%x, %r) %y: " V " = Mul(%n, %w)", "output %y output %n }" },
        /* the mean that was taken away before is used elsewhere */
        { "%k: " M " = ReduceMean(%x, %ax) %d: " V " = Sub(%x, %k) %q: " V " = Pow(%d, %two) "
          "%m: " M " = ReduceMean(%q, %ax) %v: " M " = Add(%m, %e) %r: " M " = Sqrt(%v) "
          "%y: " V " = Div(%d, %r)",
          "output %y output %d }" },
    };
    CHECK(canon_fuse_normalization, NORM, samples, "RMSNormalization", true);
}

#define CENTRED                                                                                    \
    "%k: " M " = ReduceMean(%x, %ax) %d: " V " = Sub(%x, %k) %q: " V " = Pow(%d, %two) "           \
    "%m: " M " = ReduceMean(%q, %ax) %v: " M " = Add(%m, %e) %r: " M " = Sqrt(%v) "

static void layer_normalization_fuses(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        { CENTRED "%n: " V " = Div(%d, %r) %s: " V " = Mul(%n, %w) %y: " V " = Add(%s, %b)", NULL },
        { CENTRED "%i: " M " = Reciprocal(%r) %n: " V " = Mul(%d, %i) %s: " V " = Mul(%w, %n) "
                  "%y: " V " = Add(%b, %s)",
          NULL },
        { CENTRED "%n: " V " = Div(%d, %r) %y: " V " = Mul(%n, %w)", NULL },
        { CENTRED "%n: " V " = Div(%d, %r) %y: " V " = Add(%n, %b)", NULL },
        { CENTRED "%y: " V " = Div(%d, %r)", NULL },
        { "%k: " M " = ReduceMean(%x, %ax) %d: " V " = Sub(%x, %k) %q: " V " = Mul(%d, %d) "
          "%m: " M " = ReduceMean(%q, %ax) %v: " M " = Add(%m, %e) %r: " M " = Sqrt(%v) "
          "%n: " V " = Div(%d, %r) %s: " V " = Mul(%n, %w) %y: " V " = Add(%s, %b)",
          NULL },
    };
    CHECK(canon_fuse_normalization, NORM, samples, "LayerNormalization", true);
}

static void near_misses_of_normalization_stay(void **state)
{
    (void)state;
    static const struct sample samples[] = {
        /* over the middle dimension */
        { "%q: " V " = Pow(%x, %two) %m: float32[2x1x4] = ReduceMean(%q, %first) "
          "%v: float32[2x1x4] = Add(%m, %e) %r: float32[2x1x4] = Sqrt(%v) %y: " V " = Div(%x, %r)",
          NULL },
        /* sums, not means; cubes, not squares; another value divided */
        { "%q: " V " = Pow(%x, %two) %m: " M " = ReduceSum(%q, %ax) %v: " M " = Add(%m, %e) "
          "%r: " M " = Sqrt(%v) %y: " V " = Div(%x, %r)",
          NULL },
        { "%q: " V " = Mul(%x, %w) %m: " M " = ReduceMean(%q, %ax) %v: " M " = Add(%m, %e) "
          "%a: " M " = Abs(%v) %r: " M " = Sqrt(%a) %y: " V " = Div(%x, %r)",
          NULL },
        { "%o: " V " = Neg(%x) " ROOT "%y: " V " = Div(%o, %r)", NULL },
        /* upside down; no root; no constant epsilon */
        { ROOT "%y: " V " = Div(%r, %x)", NULL },
        { SQUARES "%y: " V " = Div(%x, %v)", NULL },
        { "%q: " V " = Pow(%x, %two) %m: " M " = ReduceMean(%q, %ax) %a: " M " = Abs(%m) "
          "%v: " M " = Add(%m, %a) %r: " M " = Sqrt(%v) %y: " V " = Div(%x, %r)",
          NULL },
        /* used elsewhere, or an output */
        { ROOT "%y: " V " = Div(%x, %r)", "%z: " M " = Neg(%r) output %y output %z }" },
        { ROOT "%y: " V " = Div(%x, %r)", "output %y output %m }" },
    };
    CHECK(canon_fuse_normalization, NORM, samples, "RMSNormalization", false);
    CHECK(canon_fuse_normalization, NORM, samples, "LayerNormalization", false);
}

static void another_mean_is_not_taken_away(void **state)
{
    (void)state;
    /* x minus the mean over another dimension: only its root mean square is normalised */
    static const struct sample samples[] = {
        { "%k: float32[2x1x4] = ReduceMean(%x, %first) %d: " V " = Sub(%x, %k) "
          "%q: " V " = Pow(%d, %two) %m: " M " = ReduceMean(%q, %ax) %v: " M " = Add(%m, %e) "
          "%r: " M " = Sqrt(%v) %y: " V " = Div(%d, %r)",
          NULL },
    };
    CHECK(canon_fuse_normalization, NORM, samples, "RMSNormalization", true);
}

/* ---- chains ---- */

static void views_merge(void **state)
{
    (void)state;
    check_pass(canon_merge_views,
               IN "const %s: int64[2] = {6, 4} const %t: int64[3] = {4, 3, 2} "
                  "const %u: int64[1] = {0} %a: float32[6x4] = Reshape(%x, %s) "
                  "%b: float32[1x6x4] = Unsqueeze(%a, %u) %c: float32[4x3x2] = Reshape(%b, %t) "
                  "%y: float32[4x3x2] = Relu(%c) output %y }",
               "Reshape", 3, true, 0);
    /* a node between them, and one alone */
    check_pass(canon_merge_views,
               IN "const %s: int64[2] = {6, 4} %a: float32[6x4] = Reshape(%x, %s) "
                  "%b: float32[6x4] = Relu(%a) %y: float32[1x24] = Flatten(%b) {axis = 0} "
                  "output %y }",
               NULL, 3, false, 0);
}

static void transposes_merge(void **state)
{
    (void)state;
    static const char *const texts[] = {
        IN "%a: float32[4x2x3] = Transpose(%x) {perm = [2, 0, 1]} "
           "%y: float32[2x4x3] = Transpose(%a) {perm = [1, 0, 2]} output %y }",
        IN "%a: float32[4x3x2] = Transpose(%x) "
           "%y: float32[3x2x4] = Transpose(%a) {perm = [1, 2, 0]} output %y }",
    };
    struct graph *graph;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        check_pass(canon_merge_transposes, texts[k], "Transpose", 2, true, 0);
        struct error error = { 0 };
        graph = parse(texts[k]);
        assert_int_equal(canon_run(graph, &error), COLLAGE_OK);
        assert_int_equal(graph->node_count, 1);
        graph_destroy(graph);
    }
    check_pass(canon_merge_transposes,
               IN "%a: float32[4x3x2] = Transpose(%x) %b: float32[4x3x2] = Relu(%a) "
                  "%y: float32[2x3x4] = Transpose(%b) output %y }",
               NULL, 3, false, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tanh_gelu_fuses),
        cmocka_unit_test(near_misses_of_tanh_gelu_stay),
        cmocka_unit_test(swish_fuses),
        cmocka_unit_test(near_misses_of_swish_stay),
        cmocka_unit_test(hard_swish_fuses),
        cmocka_unit_test(near_misses_of_hard_swish_stay),
        cmocka_unit_test(rms_normalization_fuses),
        cmocka_unit_test(layer_normalization_fuses),
        cmocka_unit_test(near_misses_of_normalization_stay),
        cmocka_unit_test(another_mean_is_not_taken_away),
        cmocka_unit_test(views_merge),
        cmocka_unit_test(transposes_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
