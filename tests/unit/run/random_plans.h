/* SPDX-License-Identifier: Apache-2.0 */
/* random_plans.h: random graphs of the fake operators, and random placements of them. */
#ifndef COLLAGE_TESTS_RANDOM_PLANS_H
#define COLLAGE_TESTS_RANDOM_PLANS_H

#include "unit/run/runs.h"

static inline value_id pick(const struct graph *graph, int rank)
{
    for (;;) {
        value_id v = draw((uint32_t)graph->value_count);
        if (graph->values[v].tensor.rank == rank)
            return v;
    }
}

static const float constant_data[ELEMENTS] = { 1, -2, 3, -4, 5 };

static inline struct graph *random_graph(void)
{
    struct graph *graph = fake_graph();
    struct tensor image = fake_image(), matrix = fake_matrix(), constant = image;
    const float *data = constant_data;
    memcpy(&constant.data, &data, sizeof constant.data);
    value_id inputs[3] = { fake_value(graph, VALUE_INPUT, &image),
                           fake_value(graph, VALUE_INPUT, &matrix),
                           fake_value(graph, VALUE_INPUT, &image) };
    fake_value(graph, VALUE_CONSTANT, &constant);
    uint32_t nodes = 1 + draw(14);
    for (uint32_t n = 0; n < nodes; n++) {
        int rank = draw(4) ? 4 : 2;
        value_id a = pick(graph, rank), b = pick(graph, rank);
        int op = (int)draw(4);
        fake_node(graph, op, a, b, op != FAKE_RESHAPE ? NULL : rank == 4 ? &matrix : &image);
    }
    value_id outputs[MAX_PORTS];
    uint32_t output_count = 0;
    for (uint32_t k = 0; k < 2 + draw(3); k++)
        outputs[output_count++] = draw((uint32_t)graph->value_count); /* any: twice, an input... */
    outputs[output_count++] = (value_id)graph->value_count - 1;
    fake_ports(graph, inputs, 3, outputs, output_count);
    return graph;
}

/* Ranges of ids are convex, and in an order that can be run. */
static inline bool is_there(const struct fake *f, value_id value)
{
    bool there = f->set.graph->values[value].kind != VALUE_COMPUTED;
    for (size_t k = 0; k < f->set.count; k++)
        for (uint32_t o = 0; o < f->set.items[k].region.output_count; o++)
            there = there || f->set.items[k].region.outputs[o] == value;
    return there;
}

/* A maker of one of the node's inputs that could be made again: everything it reads is there, and
 * nodes before `node` or from `end` on use it, too. */
static inline node_id find_maker(const struct fake *f, node_id node, node_id end)
{
    const struct graph *graph = f->set.graph;
    const collage_node *base = &graph->nodes[node].base;
    value_id value = base->inputs[draw(base->input_count)];
    if (value == GRAPH_NONE || graph->values[value].kind != VALUE_COMPUTED)
        return GRAPH_NONE;
    const collage_node *made = &graph->nodes[graph->values[value].producer].base;
    for (uint32_t k = 0; k < made->input_count; k++)
        if (made->inputs[k] != GRAPH_NONE && !is_there(f, made->inputs[k]))
            return GRAPH_NONE;
    bool shared = false;
    for (uint32_t k = 0; k < made->output_count; k++) {
        value_id v = made->outputs[k];
        shared = shared || graph_is_output(graph, v);
        for (uint32_t u = f->set.uses.first[v]; u < f->set.uses.first[v + 1]; u++)
            shared = shared || f->set.uses.users[u] < node || f->set.uses.users[u] >= end;
    }
    return shared ? graph->values[value].producer : GRAPH_NONE;
}

static inline void random_placement(struct fake *f)
{
    const struct graph *graph = f->set.graph;
    for (node_id first = 0; first < graph->node_count;) {
        node_id nodes[4];
        bool view = graph->nodes[first].op->flags & OP_VIEW;
        uint32_t count = view && draw(4) ? 1 : 1 + draw(3), taken = 0;
        while (taken < count && first + taken < graph->node_count) {
            nodes[taken] = first + taken;
            taken++;
        }
        view = view && taken == 1 && draw(8);
        node_id copy = view || draw(3) ? GRAPH_NONE : find_maker(f, first, first + taken);
        first += taken;
        if (copy != GRAPH_NONE) {
            memmove(nodes + 1, nodes, taken++ * sizeof *nodes);
            nodes[0] = copy;
        }
        fake_choose_copying(f, draw(2), view ? 0 : draw(3), view, nodes, taken, &copy,
                            copy != GRAPH_NONE);
    }
}

/* Does the step read or write the memory of this root? */
static inline bool touches(const struct plan *plan, const struct plan_step *step, uint32_t root)
{
    for (uint32_t k = 0; k < step->input_count; k++)
        if (plan_tensor_root(plan, step->inputs[k]) == root)
            return true;
    for (uint32_t k = 0; k < step->output_count; k++)
        if (plan_tensor_root(plan, step->outputs[k]) == root)
            return true;
    return false;
}

#endif
