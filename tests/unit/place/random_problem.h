/* SPDX-License-Identifier: Apache-2.0 */
/* random_problem.h: random little graphs with random candidates, conversions and switches. */
#ifndef COLLAGE_TESTS_PLACE_RANDOM_PROBLEM_H
#define COLLAGE_TESTS_PLACE_RANDOM_PROBLEM_H

#include "unit/place/fixture.h"

static const char *const random_tags[] = { "", "acdb", "aBcd8b", "abcd" };

static inline const char *random_tag(struct fixture *f)
{
    return fixture_random(f, 2) ? "" : random_tags[fixture_random(f, 4)];
}

/* Small whole numbers: ties are frequent. */
static double random_cost(struct fixture *f)
{
    return (double)fixture_random(f, fixture_random(f, 2) ? 8 : 40);
}

static void random_graph(struct fixture *f, uint32_t node_count)
{
    value_id values[64], outputs[64], inputs[2];
    uint32_t count = 0, output_count = 0, input_count = 1 + fixture_random(f, 2);
    for (uint32_t k = 0; k < input_count; k++)
        values[count++] = inputs[k] = fixture_value(f, VALUE_INPUT);
    graph_set_inputs(f->graph, inputs, input_count, NULL);
    values[count++] = fixture_value(f, VALUE_CONSTANT);
    for (uint32_t n = 0; n < node_count; n++) {
        value_id in[4], out[2];
        uint32_t reach = 1 + fixture_random(f, 4), ins = 1 + fixture_random(f, 3);
        uint32_t outs = 1 + (fixture_random(f, 4) == 0);
        for (uint32_t k = 0; k < ins; k++)
            in[k] = values[count - 1 - fixture_random(f, reach < count ? reach : count)];
        for (uint32_t k = 0; k < outs; k++)
            out[k] = values[count + k] = fixture_value(f, VALUE_COMPUTED);
        fixture_node(f, ins == 1 ? "Relu" : "Concat", in, ins, out, outs);
        count += outs;
        for (uint32_t k = 0; k < outs; k++)
            if (n + 1 == node_count || fixture_random(f, 5) == 0)
                outputs[output_count++] = out[k];
    }
    if (fixture_random(f, 20) == 0)
        outputs[output_count++] = inputs[0];
    graph_set_outputs(f->graph, outputs, output_count, NULL);
}

/* copying: nodes may be copies, all but the last. */
static void random_candidate(struct fixture *f, const node_id *nodes, uint32_t count, bool copying)
{
    node_id copies[8];
    uint32_t copy_count = 0, backend = fixture_random(f, FIXTURE_BACKENDS);
    double cost = random_cost(f) * (double)count * 0.75;
    for (uint32_t k = 0; copying && k + 1 < count; k++)
        if (fixture_random(f, 2))
            copies[copy_count++] = nodes[k];
    struct candidate *c = fixture_copying(f, backend, nodes, count, copies, copy_count, cost);
    if (!c)
        return;
    collage_layout *in = arena_array(f->set.arena, c->region.input_count, sizeof *in);
    collage_layout *out = arena_array(f->set.arena, c->region.output_count, sizeof *out);
    for (uint32_t k = 0; k < c->region.input_count; k++)
        in[k] = layout_tag(random_tag(f));
    for (uint32_t k = 0; k < c->region.output_count; k++)
        out[k] = layout_tag(random_tag(f));
    c->input_layouts = in;
    c->output_layouts = out;
    uint32_t fate = fixture_random(f, 12);
    if (fate < 2)
        c->cost.state = fate ? COST_FAILED : COST_UNKNOWN;
    else if (fate == 2 && count == 1 && c->region.input_count == 1 && c->region.output_count == 1) {
        c->view = true;
        c->cost.cost_ns = 0;
        fixture_set_layouts(f, c, "", "");
    }
}

static void random_candidates(struct fixture *f, bool copying)
{
    uint32_t node_count = (uint32_t)f->graph->node_count;
    for (node_id n = 0; n < node_count; n++)
        for (uint32_t k = 1 + fixture_random(f, 3); k > 0; k--)
            random_candidate(f, &n, 1, false);
    for (uint32_t k = fixture_random(f, 3 * node_count + 1); k > 0; k--) {
        node_id nodes[4];
        uint32_t count = 0;
        for (node_id n = fixture_random(f, node_count); n < node_count && count < 4; n++)
            if (fixture_random(f, 3))
                nodes[count++] = n;
        if (count)
            random_candidate(f, nodes, count, copying);
    }
}

static void random_transitions(struct fixture *f)
{
    uint32_t density = 1 + fixture_random(f, 6);
    for (value_id v = 0; v < f->graph->value_count; v++)
        for (uint32_t from = 0; from < 3; from++)
            for (uint32_t to = 0; to < 3; to++)
                if (from != to && fixture_random(f, density) < 4)
                    fixture_transition(f, v, random_tags[from ? from : fixture_random(f, 2) * 3],
                                       random_tags[to], fixture_random(f, FIXTURE_BACKENDS),
                                       random_cost(f) * 0.5);
}

static void random_copying_problem(struct fixture *f, uint64_t seed, uint32_t most_nodes,
                                   bool copying)
{
    fixture_open(f, seed);
    random_graph(f, 1 + fixture_random(f, most_nodes));
    fixture_seal(f);
    random_candidates(f, copying);
    random_transitions(f);
    for (uint32_t k = 1; k < FIXTURE_BACKENDS; k++)
        f->enabled[k] = fixture_random(f, 8) > 0;
    f->problem.step_ns = fixture_random(f, 2) ? 0.5 : 0;
    if (fixture_random(f, 3) == 0) {
        for (uint32_t k = 0; k < FIXTURE_BACKENDS * FIXTURE_BACKENDS; k++)
            f->switch_ns[k] = k % (FIXTURE_BACKENDS + 1) ? random_cost(f) * 0.25 : 0;
        f->problem.switch_ns = f->switch_ns;
    }
}

static inline void random_problem(struct fixture *f, uint64_t seed, uint32_t most_nodes)
{
    random_copying_problem(f, seed, most_nodes, false);
}

#endif
