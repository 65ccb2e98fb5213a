/* SPDX-License-Identifier: Apache-2.0 */
/* How far direct summation may be off, element by element. */
#include "unit/graph/parse.h"
#include "unit/onnx/run_graph.h"

#include <float.h>
#include <math.h>

#include "reference/bound.h"

static struct tensor value_of(const void *graph, value_id id)
{
    return ((const struct graph *)graph)->values[id].tensor;
}

struct made {
    struct graph *graph;
    struct graph_uses uses;
    struct arena *arena;
    struct bounds *bounds;
    struct region region;
};

/* A text, computed, and its nodes first ... last as a region. */
static void make(struct made *m, const char *text, node_id first, node_id last)
{
    struct error error = { 0 };
    node_id nodes[8];
    m->graph = parse(text);
    m->arena = arena_create();
    const struct slack_values values = { value_of, m->graph };
    for (node_id n = first; n <= last; n++)
        nodes[n - first] = n;
    if (run_graph(m->graph, &error) != COLLAGE_OK ||
        graph_uses_build(m->graph, &m->uses, &error) != COLLAGE_OK ||
        region_make(m->arena, m->graph, &m->uses, nodes, last - first + 1, &m->region, &error) !=
            COLLAGE_OK ||
        bounds_create(m->graph, &values, &m->bounds, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(m->region.output_count, 1);
}

static void drop(struct made *m)
{
    bounds_destroy(m->bounds);
    graph_uses_free(&m->uses);
    arena_destroy(m->arena);
    graph_destroy(m->graph);
}

static const float *find(struct made *m)
{
    const float *out = NULL;
    struct error error = { 0 };
    if (bounds_find(m->bounds, &m->region, m->arena, &out, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    return out;
}

/* gamma_n times the sum; n: the products and four more. */
static void check(struct made *m, size_t index, double sum, double roundings)
{
    const float *bound = find(m);
    double share = roundings * 0x1p-24, wanted = share / (1 - share) * sum;
    assert_non_null(bound);
    assert_true(fabs((double)bound[index] - wanted) <= 1e-6 * wanted + 100 * (double)FLT_MIN);
}

/* x = [1 -2; 0 0], as a computed value; w adds with signs. */
#define IN                                                                                         \
    "graph \"g\" { const %c: float32[2x2] = {1.0, -2.0, 0.0, 0.0} "                                \
    "const %w: float32[2x2] = {3.0, 1.0, 1.0, -1.0} const %s: float32[] = {-2.0} "                 \
    "const %b: float32[2] = {-1.0, 1.0} "                                                          \
    "%x: float32[2x2] = Neg(%c) "
#define PRODUCT IN "%m: float32[2x2] = MatMul(%x, %w) "

static void sums_have_bounds(void **state)
{
    (void)state;
    struct made m;
    make(&m, PRODUCT "output %m }", 1, 1);
    check(&m, 0, 5, 6); /* |-1 * 3| + |2 * 1| */
    check(&m, 1, 3, 6);
    check(&m, 2, 0, 6); /* what is zero must be zero */
    check(&m, 0, 5, 6); /* again, as it was kept */
    drop(&m);
    make(&m, IN "%m: float32[2x2] = Gemm(%x, %w, %b) {transB = 1} output %m }", 1, 1);
    check(&m, 0, 6, 6);
    check(&m, 3, 1, 6);
    drop(&m);
}

static void chains_add_and_scale_terms(void **state)
{
    (void)state;
    struct made m;
    make(&m,
         PRODUCT "%a: float32[2x2] = Add(%m, %x) %k: float32[2x2] = Mul(%a, %s) "
                 "%r: float32[2x2] = Relu(%k) %t: float32[2x2] = Transpose(%r) {perm = [1, 0]} "
                 "output %t }",
         1, 5);
    check(&m, 0, 12, 8);
    check(&m, 2, 10, 8); /* [0][1] before it was transposed */
    drop(&m);
}

static void others_have_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        node_id last;
    } rows[] = {
        { IN "%y: float32[2x2] = Tanh(%x) output %y }", 1 },
        { IN "%y: float32[2x2] = Relu(%x) output %y }", 1 }, /* exact */
        { PRODUCT "%y: float32[2x2] = Sigmoid(%m) output %y }", 2 },
        { PRODUCT "%y: float32[2x2] = MatMul(%m, %w) output %y }", 2 },
        { PRODUCT "%y: float32[2x2] = LeakyRelu(%m) {alpha = 2.0} output %y }", 2 },
        { IN "%y: float32[2x2] = Gemm(%x, %w) {alpha = -1.0} output %y }", 1 },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct made m;
        make(&m, rows[k].text, 1, rows[k].last);
        if (find(&m))
            fail_msg("row %zu has a bound", k);
        drop(&m);
    }
}

static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    struct made m;
    make(&m, PRODUCT "%a: float32[2x2] = Add(%m, %x) output %a }", 1, 2);
    collage_status status = COLLAGE_ERROR_MEMORY;
    size_t n = 1;
    for (; status != COLLAGE_OK && n < 1000; n++) {
        struct error error = { 0 };
        const float *out;
        memory_fail_after(n);
        status = bounds_find(m.bounds, &m.region, m.arena, &out, &error);
        memory_fail_after(0);
        assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MEMORY);
    }
    assert_true(status == COLLAGE_OK && n > 2);
    drop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_bounds),
        cmocka_unit_test(chains_add_and_scale_terms),
        cmocka_unit_test(others_have_none),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
