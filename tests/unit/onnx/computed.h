/* SPDX-License-Identifier: Apache-2.0 */
/* computed.h: feeds the graph of a model that a test built, runs it, and holds its outputs against
 * numbers. Comes after model_builder.h. */
#ifndef COLLAGE_TESTS_COMPUTED_H
#define COLLAGE_TESTS_COMPUTED_H

#include "unit/onnx/run_graph.h"

static inline struct tensor *tensor_of(struct graph *graph, value_id v)
{
    return &graph->values[v].tensor;
}

/* The k-th input becomes these numbers. */
static inline void feed(struct graph *graph, uint32_t k, const float *numbers)
{
    struct tensor *tensor = tensor_of(graph, graph->inputs[k]);
    tensor->data = arena_copy(graph->arena, numbers, (size_t)tensor_bytes(tensor));
}

static inline void run(struct graph *graph)
{
    struct error error = { 0 };
    if (run_graph(graph, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
}

/* The k-th output has that name and these numbers. */
static inline void expect(struct graph *graph, uint32_t k, const char *name, size_t count,
                          const double *numbers)
{
    const struct tensor *tensor = tensor_of(graph, graph->outputs[k]);
    assert_string_equal(graph->values[graph->outputs[k]].name, name);
    assert_int_equal(tensor_elements(tensor), count);
    for (size_t i = 0; i < count; i++)
        if (tensor_get(tensor, (int64_t)i) != numbers[i])
            fail_msg("%s: element %zu is %.9g, expected %.9g", name, i,
                     tensor_get(tensor, (int64_t)i), numbers[i]);
}

#endif
