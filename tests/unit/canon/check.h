/* SPDX-License-Identifier: Apache-2.0 */
/* check.h: runs a pass on a graph given as text, and the graph before and after on equal inputs. */
#ifndef COLLAGE_TESTS_CANON_CHECK_H
#define COLLAGE_TESTS_CANON_CHECK_H

#include "unit/graph/parse.h"
#include "unit/onnx/run_graph.h"

#include "canon/canon.h"
#include "graph/verify.h"

/* Outputs of both graphs, in order: names, types and values must agree. */
static inline void check_equal_results(struct graph *a, struct graph *b, double tolerance)
{
    struct error error = { 0 };
    assert_true(run_fill_inputs(a) && run_fill_inputs(b));
    if (run_graph(a, &error) != COLLAGE_OK || run_graph(b, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(a->output_count, b->output_count);
    for (uint32_t k = 0; k < a->output_count; k++) {
        const struct value *x = &a->values[a->outputs[k]], *y = &b->values[b->outputs[k]];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->tensor.dtype, y->tensor.dtype);
        assert_true(tensor_same_shape(&x->tensor, &y->tensor));
        struct tensor_difference difference = tensor_compare(&x->tensor, &y->tensor);
        if (difference.error > tolerance)
            fail_msg("output %s differs by %g", x->name, difference.error);
    }
}

/* After the pass, the graph has so many nodes of that operator (NULL: in all) and the same results;
 * the pass says "changed" if and only if `changes`. */
static inline void check_pass(canon_pass_fn pass, const char *text, const char *op, size_t count,
                              bool changes, double tolerance)
{
    struct graph *before = parse(text), *after = parse(text);
    struct error error = { 0 };
    bool changed = false;
    if (pass(after, &changed, &error) != COLLAGE_OK || graph_verify(after, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(changed, changes);
    size_t found = 0;
    for (size_t n = 0; n < after->node_count; n++)
        found += !op || strcmp(after->nodes[n].base.op_type, op) == 0;
    assert_int_equal(found, count);
    check_equal_results(before, after, tolerance);
    graph_destroy(before);
    graph_destroy(after);
}

#endif
