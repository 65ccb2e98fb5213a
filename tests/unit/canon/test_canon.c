/* SPDX-License-Identifier: Apache-2.0 */
/* Each pass on small graphs: what it does, what it must leave alone, and that results are equal. */
#include "unit/canon/check.h"

#define IN "graph \"g\" { input %x: float32[2x3x3] "

static void dead_nodes_go(void **state)
{
    (void)state;
    check_pass(canon_remove_dead,
               IN "%a: float32[2x3x3] = Relu(%x) %b: float32[2x3x3] = Neg(%x) "
                  "%c: float32[2x3x3] = Neg(%b) output %a }",
               NULL, 1, true, 0);
    check_pass(canon_remove_dead, IN "%a: float32[2x3x3] = Relu(%x) output %a }", NULL, 1, false,
               0);
    /* An output that nobody reads is left out, but not one that has its place. */
    check_pass(canon_remove_dead,
               IN "%y: float32[2x3x3], %m: bool[2x3x3] = Dropout(%x) output %y }", NULL, 1, true,
               0);
    check_pass(canon_remove_dead, IN "%y: float32[2x3x3], _ = Dropout(%x) output %y }", NULL, 1,
               true, 0);
    check_pass(canon_remove_dead,
               IN "%a: float32[2x3x2], %b: float32[2x3x1] = Split(%x) {axis = 2, num_outputs = 2} "
                  "output %a }",
               NULL, 1, false, 0);
}

static void constants_fold(void **state)
{
    (void)state;
    check_pass(canon_fold_constants,
               IN "const %c: float32[3] = {1.0, 2.0, 3.0} const %d: float32[3] = {4.0, 5.0, 6.0} "
                  "%e: float32[3] = Add(%c, %d) %f: float32[3] = Neg(%e) "
                  "%y: float32[2x3x3] = Mul(%x, %f) output %y output %f }",
               NULL, 1, true, 0);
    check_pass(canon_fold_constants,
               IN "%s: int64[3] = Shape(%x) %f: float32[3] = Cast(%s) {to = 1} %y: float32[2x3x3] "
                  "= Mul(%x, %f) output %y }",
               NULL, 1, true, 0);
    /* 4 MB of repeated elements stay */
    check_pass(canon_fold_constants,
               IN "const %c: float32[1] = {1.0} const %n: int64[1] = {1000000} "
                  "%e: float32[1000000] = Expand(%c, %n) %y: float32[2x3x3] = Relu(%x) "
                  "output %y output %e }",
               "Expand", 1, false, 0);
}

static void identities_go(void **state)
{
    (void)state;
    static const char *const nodes[] = {
        "%y: float32[2x3x3] = Identity(%a)",
        "%y: float32[2x3x3] = Dropout(%a)",
        "%y: float32[2x3x3] = Cast(%a) {to = 1}",
        "%y: float32[2x3x3] = Transpose(%a) {perm = [0, 1, 2]}",
        "%y: float32[2x3x3] = Sum(%a)",
        "%y: float32[2x3x3] = Concat(%a) {axis = 0}",
        "const %s: int64[3] = {2, 3, -1} %y: float32[2x3x3] = Reshape(%a, %s)",
        "const %p: int64[6] = {0, 0, 0, 0, 0, 0} %y: float32[2x3x3] = Pad(%a, %p)",
        "const %s: int64[1] = {0} const %e: int64[1] = {9} %y: float32[2x3x3] = Slice(%a, %s, %e)",
        "const %s: int64[2] = {1, 3} %y: float32[2x3x3] = Expand(%a, %s)",
    };
    for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++) {
        char text[600];
        /* its result is read by a node; and it is an output itself */
        snprintf(text, sizeof text, "%s%%a: float32[2x3x3] = Relu(%%x) %s %s", IN, nodes[k],
                 "%z: float32[2x3x3] = Neg(%y) output %z }");
        check_pass(canon_remove_identities, text, NULL, 2, true, 0);
        snprintf(text, sizeof text, "%s%%a: float32[2x3x3] = Relu(%%x) %s %s", IN, nodes[k],
                 "%z: float32[2x3x3] = Neg(%a) output %y output %z }");
        check_pass(canon_remove_identities, text, NULL, 2, true, 0);
    }
}

static void what_only_looks_like_an_identity_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {
        /* square, but turned */
        IN "%y: float32[2x3x3] = Transpose(%x) {perm = [0, 2, 1]} output %y }",
        /* shifted by one */
        IN "const %p: int64[6] = {0, 0, 1, 0, 0, -1} %y: float32[2x3x3] = Pad(%x, %p) output %y }",
        /* reversed */
        IN "const %s: int64[1] = {-1} const %e: int64[1] = {-9} const %a: int64[1] = {1} "
           "%y: float32[2x3x3] = Slice(%x, %s, %e, %a, %s) output %y }",
        /* another type of the same shape */
        IN "%y: int64[2x3x3] = Cast(%x) {to = 7} output %y }",
        /* an input that is an output needs its copy */
        IN "%y: float32[2x3x3] = Identity(%x) output %y }",
        /* two outputs */
        IN "%a: float32[2x3x3] = Relu(%x) %y: float32[2x3x3] = Identity(%a) output %a output %y }",
        /* the mask is used */
        IN "%y: float32[2x3x3], %m: bool[2x3x3] = Dropout(%x) %z: float32[2x3x3] = Neg(%y) "
           "output %z output %m }",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct graph *graph = parse(texts[k]);
        size_t count = graph->node_count;
        graph_destroy(graph);
        check_pass(canon_remove_identities, texts[k], NULL, count, false, 0);
    }
}

static void a_transposition_of_ones_is_an_identity(void **state)
{
    (void)state;
    check_pass(canon_remove_identities,
               "graph \"g\" { input %x: float32[1x1x5] %a: float32[1x1x5] = Transpose(%x) "
               "{perm = [1, 0, 2]} %y: float32[1x1x5] = Neg(%a) output %y }",
               "Transpose", 0, true, 0);
}

static void equal_nodes_merge(void **state)
{
    (void)state;
    check_pass(canon_merge_equal_nodes,
               IN "const %c: float32[1] = {2.0} const %d: float32[1] = {2.0} "
                  "%a: float32[2x3x3] = Mul(%x, %c) %b: float32[2x3x3] = Mul(%x, %d) "
                  "%e: float32[2x3x3] = LeakyRelu(%a) {alpha = 0.5} "
                  "%f: float32[2x3x3] = LeakyRelu(%b) {alpha = 0.5} "
                  "%y: float32[2x3x3] = Add(%e, %f) output %y }",
               NULL, 3, true, 0);
    /* other attributes, other operators, other constants, order of operands, an output */
    check_pass(canon_merge_equal_nodes,
               IN "const %c: float32[1] = {2.0} const %d: float32[1] = {3.0} "
                  "%e: float32[2x3x3] = LeakyRelu(%x) {alpha = 0.5} "
                  "%f: float32[2x3x3] = LeakyRelu(%x) {alpha = 0.25} "
                  "%g: float32[2x3x3] = Mul(%x, %c) %h: float32[2x3x3] = Mul(%x, %d) "
                  "%i: float32[2x3x3] = Sub(%x, %c) %j: float32[2x3x3] = Sub(%c, %x) "
                  "%y: float32[2x3x3] = Sum(%e, %f, %g, %h, %i, %j) "
                  "%z: float32[2x3x3] = Sum(%e, %f, %g, %h, %i, %j) output %y output %z }",
               NULL, 8, false, 0);
    /* a Pad for each user */
    check_pass(canon_merge_equal_nodes,
               IN "const %p: int64[6] = {0, 1, 0, 0, 0, 1} %a: float32[2x4x4] = Pad(%x, %p) "
                  "%b: float32[2x4x4] = Pad(%x, %p) %y: float32[2x4x4] = Add(%a, %b) output %y }",
               "Pad", 2, false, 0);
}

#define NORM                                                                                       \
    "const %s: float32[2] = {1.5, -0.5} const %b: float32[2] = {0.25, 1.0} "                       \
    "const %m: float32[2] = {0.125, -1.0} const %v: float32[2] = {0.5, 2.0} "
#define CONV                                                                                       \
    "graph \"g\" { input %x: float32[1x2x3x3] " NORM                                               \
    "const %w: float32[2x2x1x1] = {1.0, 2.0, 3.0, 4.0} const %c: float32[2] = {0.5, -0.5} "

static void batch_norm_goes_into_conv(void **state)
{
    (void)state;
    static const char *const texts[] = {
        CONV "%a: float32[1x2x3x3] = Conv(%x, %w, %c) "
             "%y: float32[1x2x3x3] = BatchNormalization(%a, %s, %b, %m, %v) output %y }",
        CONV "%a: float32[1x2x3x3] = Conv(%x, %w) "
             "%y: float32[1x2x3x3] = BatchNormalization(%a, %s, %b, %m, %v) {epsilon = 0.1} "
             "output %y }",
        CONV "%a: float32[1x2x3x3] = ConvTranspose(%x, %w, %c) "
             "%y: float32[1x2x3x3] = BatchNormalization(%a, %s, %b, %m, %v) output %y }",
        /* grouped, both ways */
        "graph \"g\" { input %x: float32[1x2x3x3] " NORM "const %w: float32[2x1x1x1] = {3.0, 4.0} "
        "%a: float32[1x2x3x3] = Conv(%x, %w) {group = 2} "
        "%y: float32[1x2x3x3] = BatchNormalization(%a, %s, %b, %m, %v) output %y }",
        "graph \"g\" { input %x: float32[1x2x3x3] " NORM "const %w: float32[2x1x1x1] = {3.0, 4.0} "
        "%a: float32[1x2x3x3] = ConvTranspose(%x, %w) {group = 2} "
        "%y: float32[1x2x3x3] = BatchNormalization(%a, %s, %b, %m, %v) output %y }",
        /* twice */
        CONV "%a: float32[1x2x3x3] = Conv(%x, %w, %c) "
             "%d: float32[1x2x3x3] = BatchNormalization(%a, %s, %b, %m, %v) "
             "%y: float32[1x2x3x3] = BatchNormalization(%d, %s, %b, %m, %v) output %y }",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        check_pass(canon_fold_batch_norm, texts[k], NULL, 1, true, 1e-6);
}

static void batch_norm_elsewhere_is_mul_and_add(void **state)
{
    (void)state;
    static const char *const texts[] = {
        /* the convolution's result is used twice, or is an output */
        CONV "%a: float32[1x2x3x3] = Conv(%x, %w, %c) "
             "%d: float32[1x2x3x3] = BatchNormalization(%a, %s, %b, %m, %v) "
             "%y: float32[1x2x3x3] = Sub(%a, %d) output %y }",
        CONV "%a: float32[1x2x3x3] = Conv(%x, %w, %c) "
             "%y: float32[1x2x3x3] = BatchNormalization(%a, %s, %b, %m, %v) output %a output %y }",
        "graph \"g\" { input %x: float32[4x2] " NORM
        "%y: float32[4x2] = BatchNormalization(%x, %s, %b, %m, %v) output %y }",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        check_pass(canon_fold_batch_norm, texts[k], "Mul", 1, true, 1e-6);
    /* statistics that are no constants stay */
    check_pass(canon_fold_batch_norm,
               "graph \"g\" { input %x: float32[4x2] input %s: float32[2] "
               "const %v: float32[2] = {0.5, 2.0} "
               "%y: float32[4x2] = BatchNormalization(%x, %s, %s, %s, %v) output %y }",
               "BatchNormalization", 1, false, 0);
}

static collage_status run_all(struct graph *graph, bool *changed, struct error *error)
{
    *changed = true;
    return canon_run(graph, error);
}

static void all_passes_together(void **state)
{
    (void)state;
    /* the two Reshapes cancel, the Relus are equal then, the arithmetic on shapes folds */
    check_pass(run_all,
               IN "const %u: int64[2] = {2, -1} const %v: int64[2] = {2, 9} "
                  "%s: int64[3] = Shape(%x) %t: float32[3] = Cast(%s) {to = 1} "
                  "%a: float32[2x9] = Reshape(%x, %u) %b: float32[2x9] = Reshape(%a, %v) "
                  "%c: float32[2x9] = Identity(%b) %d: float32[2x9] = Relu(%c) "
                  "%e: float32[2x9] = Relu(%a) %dead: float32[2x9] = Neg(%e) "
                  "%y: float32[2x9] = Add(%d, %e) output %y output %t }",
               NULL, 3, true, 0);
}

#define GELU_CONSTANTS                                                                             \
    "const %r: float32[] = {1.4142135} const %i: float32[1] = {0.70710677} "                       \
    "const %one: float32[] = {1.0} const %h: float32[] = {0.5} "                                   \
    "const %two: float32[] = {2.0} const %t: float32[] = {0.3} "
#define V "float32[2x3x3]"

static void spelt_out_gelu_is_one_operator(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "%a: " V " = Div(%x, %r) %e: " V " = Erf(%a) %s: " V " = Add(%e, %one) "
        "%m: " V " = Mul(%x, %s) %y: " V " = Mul(%m, %h) output %y }",
        "%a: " V " = Mul(%i, %x) %e: " V " = Erf(%a) %s: " V " = Add(%one, %e) "
        "%m: " V " = Mul(%s, %x) %y: " V " = Div(%m, %two) output %y }",
        "%a: " V " = Mul(%x, %i) %e: " V " = Erf(%a) %s: " V " = Add(%e, %one) "
        "%k: " V " = Mul(%x, %h) %y: " V " = Mul(%k, %s) output %y }",
        "%a: " V " = Div(%x, %r) %e: " V " = Erf(%a) %s: " V " = Add(%e, %one) "
        "%k: " V " = Div(%x, %two) %y: " V " = Mul(%s, %k) output %y }",
        "%a: " V " = Div(%x, %r) %e: " V " = Erf(%a) %s: " V " = Add(%e, %one) "
        "%m: " V " = Mul(%s, %h) %y: " V " = Mul(%x, %m) output %y }",
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        char text[1200];
        snprintf(text, sizeof text, "%s%s%s", IN, GELU_CONSTANTS, bodies[k]);
        check_pass(canon_fuse_gelu, text, "Gelu", 1, true, 1e-6);
    }
}

static void what_only_looks_like_gelu_stays(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        /* another scale */
        "%a: " V " = Div(%x, %two) %e: " V " = Erf(%a) %s: " V " = Add(%e, %one) "
        "%m: " V " = Mul(%x, %s) %y: " V " = Mul(%m, %h) output %y }",
        /* times something else */
        "%n: " V " = Neg(%x) %a: " V " = Div(%x, %r) %e: " V " = Erf(%a) "
        "%s: " V " = Add(%e, %one) %m: " V " = Mul(%n, %s) %y: " V " = Mul(%m, %h) output %y }",
        /* not plus one */
        "%a: " V " = Div(%x, %r) %e: " V " = Erf(%a) %s: " V " = Add(%e, %two) "
        "%m: " V " = Mul(%x, %s) %y: " V " = Mul(%m, %h) output %y }",
        /* not a half */
        "%a: " V " = Div(%x, %r) %e: " V " = Erf(%a) %s: " V " = Add(%e, %one) "
        "%m: " V " = Mul(%x, %s) %y: " V " = Mul(%m, %t) output %y }",
        /* divided by what should be the dividend */
        "%a: " V " = Div(%r, %x) %e: " V " = Erf(%a) %s: " V " = Add(%e, %one) "
        "%m: " V " = Mul(%x, %s) %y: " V " = Mul(%m, %h) output %y }",
        /* a value inside is an output, or is used elsewhere */
        "%a: " V " = Div(%x, %r) %e: " V " = Erf(%a) %s: " V " = Add(%e, %one) "
        "%m: " V " = Mul(%x, %s) %y: " V " = Mul(%m, %h) output %y output %s }",
        "%a: " V " = Div(%x, %r) %e: " V " = Erf(%a) %s: " V " = Add(%e, %one) "
        "%m: " V " = Mul(%x, %s) %y: " V " = Mul(%m, %h) %z: " V " = Neg(%e) "
        "output %y output %z }",
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        char text[1200];
        snprintf(text, sizeof text, "%s%s%s", IN, GELU_CONSTANTS, bodies[k]);
        check_pass(canon_fuse_gelu, text, "Gelu", 0, false, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_nodes_go),
        cmocka_unit_test(constants_fold),
        cmocka_unit_test(identities_go),
        cmocka_unit_test(what_only_looks_like_an_identity_stays),
        cmocka_unit_test(a_transposition_of_ones_is_an_identity),
        cmocka_unit_test(spelt_out_gelu_is_one_operator),
        cmocka_unit_test(what_only_looks_like_gelu_stays),
        cmocka_unit_test(equal_nodes_merge),
        cmocka_unit_test(batch_norm_goes_into_conv),
        cmocka_unit_test(batch_norm_elsewhere_is_mul_and_add),
        cmocka_unit_test(all_passes_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
