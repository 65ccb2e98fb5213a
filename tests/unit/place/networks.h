/* SPDX-License-Identifier: Apache-2.0 */
/* networks.h: placement problems of the size and shape of real networks, with costs that make the
 * choice close. */
#ifndef COLLAGE_TESTS_PLACE_NETWORKS_H
#define COLLAGE_TESTS_PLACE_NETWORKS_H

#include "unit/place/fixture.h"

static const char *const network_tags[] = { "", "acdb", "aBcd8b" };

static inline value_id step(struct fixture *f, const char *op, value_id a)
{
    return fixture_step(f, op, &a, 1);
}

static inline value_id join(struct fixture *f, value_id a, value_id b)
{
    value_id in[2] = { a, b };
    return fixture_step(f, "Add", in, 2);
}

static inline value_id open_graph(struct fixture *f, uint64_t seed)
{
    fixture_open(f, seed);
    value_id input = fixture_value(f, VALUE_INPUT);
    graph_set_inputs(f->graph, &input, 1, NULL);
    return input;
}

/* Bottlenecks, 7 nodes and more each: 16 of them are ResNet-50. */
static inline value_id make_bottlenecks(struct fixture *f, value_id v, uint32_t blocks)
{
    v = step(f, "MaxPool", step(f, "Relu", step(f, "Conv", v)));
    for (uint32_t block = 0; block < blocks; block++) {
        value_id left = v, right = v;
        for (uint32_t k = 0; k < 3; k++) {
            right = step(f, "Conv", right);
            right = k < 2 ? step(f, "Relu", right) : right;
        }
        if (block % 4 == 0)
            left = step(f, "Conv", left);
        v = step(f, "Relu", join(f, right, left));
    }
    return step(f, "GlobalAveragePool", v);
}

/* Cells of five pairs, each of the last two cells or of earlier pairs. */
static inline value_id make_cells(struct fixture *f, value_id v, uint32_t cells)
{
    value_id before = v;
    for (uint32_t cell = 0; cell < cells; cell++) {
        value_id states[7] = { step(f, "Conv", step(f, "Relu", before)),
                               step(f, "Conv", step(f, "Relu", v)) };
        uint32_t count = 2;
        for (uint32_t pair = 0; pair < 5; pair++) {
            value_id side[2];
            for (uint32_t k = 0; k < 2; k++) {
                side[k] = states[fixture_random(f, count)];
                for (uint32_t s = 0; s < 4; s++)
                    side[k] = step(f, s % 2 ? "Conv" : "Relu", side[k]);
            }
            states[count++] = join(f, side[0], side[1]);
        }
        before = v;
        v = fixture_step(f, "Concat", states + 2, 5);
    }
    return v;
}

/* A fifth of the nodes join what came some steps before. */
static inline value_id make_random(struct fixture *f, value_id v, uint32_t nodes)
{
    value_id recent[16];
    for (uint32_t k = 0; k < 16; k++)
        recent[k] = v;
    for (uint32_t n = 0; n < nodes; n++) {
        v = fixture_random(f, 5) ? step(f, n % 2 ? "Conv" : "Relu", v)
                                 : join(f, v, recent[fixture_random(f, 16)]);
        recent[n % 16] = v;
    }
    return v;
}

/* The chain of single users that starts at a node, at most `most` long. */
static inline uint32_t chain(const struct fixture *f, node_id first, node_id *nodes, uint32_t most)
{
    uint32_t count = 0;
    for (node_id n = first; count < most;) {
        nodes[count++] = n;
        value_id out = f->graph->nodes[n].base.outputs[0];
        uint32_t begin = f->set.uses.first[out];
        if (f->set.uses.first[out + 1] - begin != 1)
            break;
        n = f->set.uses.users[begin];
    }
    return count;
}

/* Costs that make the choice close: library, layout and node matter, fusing helps a little. */
static inline double cost_of(struct fixture *f, uint32_t count, uint32_t layout)
{
    return 1000.0 * (double)count * (1.0 + 0.01 * fixture_random(f, 100)) *
           (layout == 2 ? 0.8 : 1.0) * (count > 1 ? 0.9 : 1.0);
}

/* Convex regions that grow over branches, as a graph-level backend takes them. */
static inline void add_regions(struct fixture *f, uint32_t count)
{
    uint32_t node_count = (uint32_t)f->graph->node_count;
    const struct graph_uses *uses = &f->set.uses;
    for (; count > 0; count--) {
        node_id nodes[16] = { fixture_random(f, node_count) };
        uint32_t size = 1, most = 2 + fixture_random(f, 14);
        for (uint32_t tries = 0; size < most && tries < 60; tries++) {
            const collage_node *base = &f->graph->nodes[nodes[fixture_random(f, size)]].base;
            uint32_t first = uses->first[base->outputs[0]], end = uses->first[base->outputs[0] + 1];
            if (first == end)
                continue;
            node_id next = uses->users[first + fixture_random(f, end - first)];
            value_id in = base->inputs[fixture_random(f, base->input_count)];
            if (fixture_random(f, 2) && f->graph->values[in].kind == VALUE_COMPUTED)
                next = f->graph->values[in].producer;
            uint32_t k = size;
            bool known = false;
            for (uint32_t m = 0; m < size; m++)
                known = known || nodes[m] == next;
            if (known)
                continue;
            for (; k > 0 && nodes[k - 1] > next; k--)
                nodes[k] = nodes[k - 1];
            nodes[k] = next;
            size++;
        }
        fixture_candidate(f, 2, nodes, size, cost_of(f, size, 1) * 0.95);
    }
}

static inline void add_candidates(struct fixture *f)
{
    uint32_t node_count = (uint32_t)f->graph->node_count;
    for (node_id n = 0; n < node_count; n++) {
        node_id nodes[4];
        uint32_t longest = chain(f, n, nodes, 4);
        for (uint32_t count = 1; count <= longest; count++)
            for (uint32_t layout = 0; layout < 3; layout++) {
                struct candidate *c =
                    fixture_candidate(f, 1 + layout % 2, nodes, count, cost_of(f, count, layout));
                if (c)
                    fixture_set_layouts(f, c, network_tags[layout], network_tags[layout]);
            }
        fixture_candidate(f, 0, &n, 1, 20000);
    }
    for (uint32_t first = 0; first + 16 <= node_count; first += 8) { /* graph-level */
        node_id range[16];
        for (uint32_t k = 0; k < 16; k++)
            range[k] = first + k;
        for (uint32_t count = 8; count <= 16; count *= 2)
            fixture_candidate(f, 2, range, count, cost_of(f, count, 1));
    }
    for (value_id v = 0; v < f->graph->value_count; v++)
        for (uint32_t pair = 0; pair < 9; pair++)
            if (pair / 3 != pair % 3)
                fixture_transition(f, v, network_tags[pair / 3], network_tags[pair % 3], 1,
                                   150 + fixture_random(f, 200));
}

/* From a graph whose last value is `out`: its candidates, `regions` more for each node, and what a
 * change of backend costs (0: nothing). */
static inline void seal_network(struct fixture *f, value_id out, uint32_t regions, double switch_ns)
{
    graph_set_outputs(f->graph, &out, 1, NULL);
    fixture_seal(f);
    add_candidates(f);
    add_regions(f, regions * (uint32_t)f->graph->node_count);
    f->problem.step_ns = 30;
    for (uint32_t k = 0; k < FIXTURE_BACKENDS * FIXTURE_BACKENDS; k++)
        f->switch_ns[k] = k % (FIXTURE_BACKENDS + 1) ? switch_ns : 0;
    f->problem.switch_ns = switch_ns > 0 ? f->switch_ns : NULL;
}

#endif
