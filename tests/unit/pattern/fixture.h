/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h: a registry of three made-up backends, and candidate sets over graphs given as text. */
#ifndef COLLAGE_TESTS_PATTERN_FIXTURE_H
#define COLLAGE_TESTS_PATTERN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph_text.h"
#include "pattern/candidate.h"

/* "plain": each operator alone. "chains": Conv and what follows, in two layouts. "graphs":
 * graph-level, all but Tanh. */
enum { PLAIN, CHAINS, GRAPHS, BACKENDS };

static inline bool plain_supports(const collage_subgraph *subgraph, const collage_target *target,
                                  collage_message *why)
{
    (void)target;
    (void)why; /* gives no reason */
    return subgraph->node_count == 1 && strcmp(subgraph->nodes[0]->op_type, "Sigmoid") != 0;
}

static inline bool chains_supports(const collage_subgraph *subgraph, const collage_target *target,
                                   collage_message *why)
{
    (void)target;
    for (uint32_t k = 0; k < subgraph->node_count; k++)
        if (strcmp(subgraph->nodes[k]->op_type, "Sub") == 0) {
            snprintf(why->text, sizeof why->text, "no subtraction");
            return false;
        }
    return true;
}

/* Row-major, blocked (by another algorithm than direct summation), and two malformed ones, which
 * must not come through. */
static inline bool chains_variant(const collage_subgraph *subgraph, const collage_target *target,
                                  size_t index, collage_variant *out)
{
    static const char *const names[] = { "rows", "blocks", "wrong", "endless" };
    static const char *const tags[] = { "abcd", "aBcd8b", "abca", "" };
    (void)target;
    if (index >= 4)
        return false;
    snprintf(out->name, sizeof out->name, "%s", names[index]);
    out->flags = index == 1 ? COLLAGE_VARIANT_INDIRECT : 0;
    for (uint32_t k = 0; k < subgraph->input_count; k++)
        if (subgraph->values[subgraph->inputs[k]]->rank == 4)
            snprintf(out->inputs[k].tag, sizeof out->inputs[k].tag, "%s", tags[index]);
    if (index == 3)
        memset(out->name, 'x', sizeof out->name);
    return true;
}

static inline bool graphs_supports(const collage_subgraph *subgraph, const collage_target *target,
                                   collage_message *why)
{
    (void)target;
    assert_int_equal(subgraph->node_count, 1); /* node by node */
    if (strcmp(subgraph->nodes[0]->op_type, "Tanh") != 0)
        return true;
    snprintf(why->text, sizeof why->text, "no hyperbolics");
    return false;
}

static const collage_pattern plain_patterns[] = {
    { "conv", "Conv" }, { "rest", "(Relu|Add|Sub|Mul|Sigmoid|Tanh|MaxPool|Reshape)" }
};
static const collage_pattern chains_patterns[] = { { "conv", "Conv (Relu|Add|Sub|Mul)*4" },
                                                   { "conv again", "Conv Relu" } };

static const collage_backend_api plain_api = { .struct_size = sizeof plain_api,
                                               .name = "plain",
                                               .kind = COLLAGE_OP_LEVEL,
                                               .patterns = plain_patterns,
                                               .pattern_count = 2,
                                               .supports = plain_supports };
static const collage_backend_api chains_api = { .struct_size = sizeof chains_api,
                                                .name = "chains",
                                                .kind = COLLAGE_OP_LEVEL,
                                                .patterns = chains_patterns,
                                                .pattern_count = 2,
                                                .supports = chains_supports,
                                                .variant = chains_variant };
static const collage_backend_api graphs_api = { .struct_size = sizeof graphs_api,
                                                .name = "graphs",
                                                .kind = COLLAGE_GRAPH_LEVEL,
                                                .supports = graphs_supports };

struct fixture {
    struct graph *graph;
    struct backend_entry entries[BACKENDS];
    struct registry registry;
    struct candidate_set *set;
};

/* Takes the graph over. */
static inline void fixture_open_graph(struct fixture *f, struct graph *graph)
{
    *f = (struct fixture){ .graph = graph,
                           .entries = { { .api = &plain_api, .name = "plain", .problem = "" },
                                        { .api = &chains_api, .name = "chains", .problem = "" },
                                        { .api = &graphs_api, .name = "graphs", .problem = "" } } };
    f->registry = (struct registry){ .entries = f->entries, .count = BACKENDS };
    collage_target target = { .struct_size = sizeof target, .threads = 1 };
    struct error error = { 0 };
    if (candidate_set_create(graph, &f->registry, &target, &f->set, &error))
        fail_msg("%s", error.text);
}

static inline struct graph *parse_graph(const char *text)
{
    struct graph *graph;
    struct error error = { 0 };
    if (graph_parse(text, &graph, &error))
        fail_msg("%s", error.text);
    return graph;
}

static inline void fixture_open(struct fixture *f, const char *text)
{
    fixture_open_graph(f, parse_graph(text));
}

static inline void fixture_close(struct fixture *f)
{
    candidate_set_destroy(f->set);
    graph_destroy(f->graph);
}

/* The number of candidates of that backend over exactly these nodes (a list ended by -1). */
static inline size_t count_over(const struct fixture *f, uint32_t backend, const int *nodes)
{
    size_t found = 0;
    for (size_t c = 0; c < f->set->count; c++) {
        const struct candidate *candidate = &f->set->items[c];
        uint32_t k = 0;
        while (k < candidate->region.node_count && nodes[k] == (int)candidate->region.nodes[k])
            k++;
        found += candidate->backend == backend && !candidate->view &&
                 k == candidate->region.node_count && nodes[k] == -1;
    }
    return found;
}

#define COUNT(f, backend, ...) count_over(f, backend, (const int[]){ __VA_ARGS__, -1 })

static inline const char *refusal(const struct fixture *f, uint32_t backend, node_id node)
{
    return f->set->refusals[node * BACKENDS + backend];
}

#endif
