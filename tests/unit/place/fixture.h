/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h: placement problems made by hand: a graph, a registry of names, candidates with costs.
 */
#ifndef COLLAGE_TESTS_PLACE_FIXTURE_H
#define COLLAGE_TESTS_PLACE_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "place/place.h"
#include "tensor/layout.h"

enum { FIXTURE_BACKENDS = 3, FIXTURE_FAN_IN = 12 };

struct fixture {
    struct graph *graph;
    struct backend_entry entries[FIXTURE_BACKENDS];
    struct registry registry;
    struct candidate_set set;
    struct transition *transitions;
    size_t transition_count, transition_capacity;
    bool enabled[FIXTURE_BACKENDS];
    double switch_ns[FIXTURE_BACKENDS * FIXTURE_BACKENDS];
    struct place_problem problem;
    uint64_t seed;
};

static inline uint32_t fixture_random(struct fixture *f, uint32_t below)
{
    return (uint32_t)(splitmix64(&f->seed) >> 33) % below;
}

static inline void fixture_open(struct fixture *f, uint64_t seed)
{
    static const char *const names[FIXTURE_BACKENDS] = { "reference", "alpha", "beta" };
    *f = (struct fixture){ .seed = seed };
    f->graph = graph_create();
    assert_non_null(f->graph);
    for (uint32_t k = 0; k < FIXTURE_BACKENDS; k++) {
        f->entries[k] = (struct backend_entry){ .name = names[k], .file = "", .problem = "" };
        f->enabled[k] = true;
    }
    f->registry = (struct registry){ .entries = f->entries, .count = FIXTURE_BACKENDS };
}

static inline value_id fixture_value(struct fixture *f, enum value_kind kind)
{
    struct tensor shape = { .dtype = COLLAGE_FLOAT32, .rank = 4, .dims = { 1, 8, 4, 4 } };
    char name[32];
    snprintf(name, sizeof name, "v%zu", f->graph->value_count);
    value_id v = graph_add_value(f->graph, name, kind, &shape);
    assert_int_not_equal(v, GRAPH_NONE);
    return v;
}

static inline node_id fixture_node(struct fixture *f, const char *op, const value_id *inputs,
                                   uint32_t input_count, const value_id *outputs,
                                   uint32_t output_count)
{
    char name[32];
    snprintf(name, sizeof name, "n%zu", f->graph->node_count);
    node_id n = graph_add_node(f->graph, op_find(op), name, inputs, input_count, outputs,
                               output_count, NULL, 0);
    assert_int_not_equal(n, GRAPH_NONE);
    return n;
}

/* A node with one new output. */
static inline value_id fixture_step(struct fixture *f, const char *op, const value_id *inputs,
                                    uint32_t input_count)
{
    value_id out = fixture_value(f, VALUE_COMPUTED);
    fixture_node(f, op, inputs, input_count, &out, 1);
    return out;
}

/* Call once the graph is whole. */
static inline void fixture_seal(struct fixture *f)
{
    f->set = (struct candidate_set){ .arena = arena_create(),
                                     .graph = f->graph,
                                     .registry = &f->registry };
    assert_non_null(f->set.arena);
    assert_int_equal(graph_uses_build(f->graph, &f->set.uses, NULL), COLLAGE_OK);
    f->problem = (struct place_problem){ .set = &f->set, .enabled = f->enabled };
}

/* A measured candidate, all row-major, some of whose nodes are copies; NULL if it is not convex. */
static inline struct candidate *fixture_copying(struct fixture *f, uint32_t backend,
                                                const node_id *nodes, uint32_t count,
                                                const node_id *copies, uint32_t copy_count,
                                                double cost_ns)
{
    struct arena *arena = f->set.arena;
    struct candidate c = { .backend = backend, .variant = "", .pattern = "" };
    assert_int_equal(region_make_copying(arena, f->graph, &f->set.uses, nodes, count, copies,
                                         copy_count, &c.region, NULL),
                     COLLAGE_OK);
    if (!region_is_convex(f->graph, &f->set.uses, &c.region))
        return NULL;
    c.cost = (struct cost){ .state = COST_MEASURED, .cost_ns = cost_ns };
    c.input_layouts = arena_array(arena, c.region.input_count, sizeof(collage_layout));
    c.output_layouts = arena_array(arena, c.region.output_count, sizeof(collage_layout));
    assert_true(
        memory_grow((void **)&f->set.items, &f->set.capacity, f->set.count, sizeof *f->set.items));
    f->set.items[f->set.count] = c;
    return &f->set.items[f->set.count++];
}

static inline struct candidate *fixture_candidate(struct fixture *f, uint32_t backend,
                                                  const node_id *nodes, uint32_t count,
                                                  double cost_ns)
{
    return fixture_copying(f, backend, nodes, count, NULL, 0, cost_ns);
}

static inline void fixture_set_layouts(struct fixture *f, struct candidate *c, const char *inputs,
                                       const char *outputs)
{
    collage_layout *in = arena_array(f->set.arena, c->region.input_count, sizeof *in);
    collage_layout *out = arena_array(f->set.arena, c->region.output_count, sizeof *out);
    for (uint32_t k = 0; k < c->region.input_count; k++)
        in[k] = layout_tag(inputs);
    for (uint32_t k = 0; k < c->region.output_count; k++)
        out[k] = layout_tag(outputs);
    c->input_layouts = in;
    c->output_layouts = out;
}

static inline void fixture_transition(struct fixture *f, value_id value, const char *from,
                                      const char *to, uint32_t backend, double cost_ns)
{
    assert_true(memory_grow((void **)&f->transitions, &f->transition_capacity, f->transition_count,
                            sizeof *f->transitions));
    f->transitions[f->transition_count++] =
        (struct transition){ value, layout_tag(from), layout_tag(to), backend, cost_ns };
    f->problem.transitions = f->transitions;
    f->problem.transition_count = f->transition_count;
}

static inline void fixture_close(struct fixture *f)
{
    memory_free(f->set.items);
    memory_free(f->transitions);
    graph_uses_free(&f->set.uses);
    arena_destroy(f->set.arena);
    graph_destroy(f->graph);
}

/* ---- an independent check: executes the placement and adds up what it costs ---- */

static inline double check_conversion(const struct fixture *f, value_id value,
                                      const collage_layout *from, const collage_layout *to)
{
    double best = HUGE_VAL;
    for (size_t k = 0; k < f->transition_count; k++) {
        const struct transition *t = &f->transitions[k];
        if (t->value == value && f->enabled[t->backend] && layout_equal(&t->from, from) &&
            layout_equal(&t->to, to) && t->cost_ns + f->problem.step_ns < best)
            best = t->cost_ns + f->problem.step_ns;
    }
    return best;
}

enum { CHECK_LAYOUTS = 8 };

/* Where a value is: layouts[0] is the one it was made in. */
struct check_value {
    collage_layout layouts[CHECK_LAYOUTS];
    uint32_t count;
};

static inline double check_take(const struct fixture *f, struct check_value *values, value_id v,
                                const collage_layout *layout)
{
    struct check_value *value = &values[v];
    assert_true(value->count > 0); /* it was computed before it is used */
    for (uint32_t k = 0; k < value->count; k++)
        if (layout_equal(&value->layouts[k], layout))
            return 0;
    assert_true(value->count < CHECK_LAYOUTS);
    value->layouts[value->count++] = *layout;
    double cost = check_conversion(f, v, &value->layouts[0], layout);
    assert_true(isfinite(cost));
    return cost;
}

/* May the node be left out? Only if it makes no output and some candidate has a copy of it. That
 * nobody takes its results check_take sees. */
static inline bool check_may_be_left(const struct fixture *f, node_id node)
{
    const collage_node *base = &f->graph->nodes[node].base;
    for (uint32_t k = 0; k < base->output_count; k++)
        if (graph_is_output(f->graph, base->outputs[k]))
            return false;
    for (size_t c = 0; c < f->set.count; c++)
        for (uint32_t k = 0; k < f->set.items[c].region.copy_count; k++)
            if (f->set.items[c].region.copies[k] == node)
                return true;
    return false;
}

/* The graph of the chosen candidates, an edge for each value that one makes and another takes, has
 * no circle: those that wait for nobody are taken away until none is left. */
static inline void check_acyclic(const struct fixture *f, const struct placement *placement)
{
    size_t *maker = calloc(f->graph->value_count + 1, sizeof *maker); /* its place + 1 */
    bool *gone = calloc(placement->count + 1, sizeof *gone);
    for (size_t s = 0; s < placement->count; s++) {
        const struct region *region = &f->set.items[placement->chosen[s]].region;
        for (uint32_t k = 0; k < region->output_count; k++)
            maker[region->outputs[k]] = s + 1;
    }
    for (size_t left = placement->count; left > 0;) {
        const size_t before = left;
        for (size_t s = 0; s < placement->count; s++) {
            const struct region *region = &f->set.items[placement->chosen[s]].region;
            bool waits = gone[s];
            for (uint32_t k = 0; k < region->input_count; k++)
                waits = waits || (maker[region->inputs[k]] && !gone[maker[region->inputs[k]] - 1]);
            gone[s] = gone[s] || !waits;
            left -= !waits;
        }
        assert_true(left < before);
    }
    free(maker);
    free(gone);
}

static inline void check_placement(const struct fixture *f, const struct placement *placement)
{
    check_acyclic(f, placement);
    struct check_value *values = calloc(f->graph->value_count + 1, sizeof *values);
    bool *covered = calloc(f->graph->node_count + 1, sizeof *covered);
    double cost = 0;
    uint32_t last = UINT32_MAX;
    for (uint32_t k = 0; k < f->graph->input_count; k++)
        values[f->graph->inputs[k]].count = 1;
    for (size_t s = 0; s < placement->count; s++) {
        const struct candidate *c = &f->set.items[placement->chosen[s]];
        assert_int_equal(c->cost.state, COST_MEASURED);
        assert_true(c->view || f->enabled[c->backend]);
        for (uint32_t k = 0; k < c->region.node_count; k++) {
            node_id node = c->region.nodes[k];
            bool copy = false;
            for (uint32_t j = 0; j < c->region.copy_count; j++)
                copy = copy || c->region.copies[j] == node;
            assert_false(!copy && covered[node]);
            covered[node] = covered[node] || !copy;
        }
        for (uint32_t k = 0; k < c->region.input_count; k++)
            cost += check_take(f, values, c->region.inputs[k], &c->input_layouts[k]);
        for (uint32_t k = 0; k < c->region.output_count; k++)
            values[c->region.outputs[k]] = (struct check_value){ { c->output_layouts[k] }, 1 };
        cost += c->cost.cost_ns + (c->view ? 0 : f->problem.step_ns);
        if (!c->view && last != UINT32_MAX && f->problem.switch_ns)
            cost += f->switch_ns[last * FIXTURE_BACKENDS + c->backend];
        last = c->view ? last : c->backend;
    }
    for (node_id n = 0; n < f->graph->node_count; n++)
        assert_true(covered[n] || check_may_be_left(f, n));
    collage_layout plain = layout_plain();
    for (uint32_t k = 0; k < f->graph->output_count; k++)
        cost += check_take(f, values, f->graph->outputs[k], &plain);
    assert_true(fabs(cost - placement->cost_ns) <= 1e-9 * (1 + cost));
    free(values);
    free(covered);
}

#endif
