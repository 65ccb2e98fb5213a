/* SPDX-License-Identifier: Apache-2.0 */
/* explained.h: a plan made by hand with what is known of its alternatives, and golden texts. */
#ifndef COLLAGE_TESTS_EXPLAINED_H
#define COLLAGE_TESTS_EXPLAINED_H

#include "unit/run/fake.h"

#include "report/explain.h"

enum { ALPHA, BETA, STEPS = 6, MOST_CANDIDATES = 16 };

struct sample {
    struct graph *graph;
    struct fake f;
    struct plan *plan;
    candidate_id steps[STEPS];
    struct rival rivals[STEPS * 2];
    const char *refusals[5 * 2];
    struct explanation explanation;
};

static struct plan_result results[] = {
    { .name = "mix",
      .note = "",
      .chosen = true,
      .minimum_ns = 12.31e6,
      .median_ns = 12.5e6,
      .ratio = 1,
      .ratio_low = 1,
      .ratio_high = 1,
      .predicted_ns = 12.1e6,
      .steps_ns = 12.2e6 },
    { .name = "alpha",
      .note = "",
      .minimum_ns = 13.9e6,
      .median_ns = 14.05e6,
      .ratio = 1.124,
      .ratio_low = 1.118,
      .ratio_high = 1.131 },
    { .name = "alpha + beta",
      .note = "",
      .minimum_ns = 13e6,
      .median_ns = 13.1e6,
      .ratio = 1.05,
      .ratio_low = 0.99,
      .ratio_high = 1.1 },
    { .name = "gamma (peer)", .note = "", .minimum_ns = 1e6, .median_ns = 1e6, .ratio = 0.1 },
};

/* What was not chosen. */
static inline candidate_id add(struct sample *s, uint32_t backend, const node_id *nodes,
                               uint32_t count, enum cost_state state, double cost_ns)
{
    struct candidate *candidate = fake_choose(&s->f, backend, 0, false, nodes, count);
    s->f.chosen_count--;
    candidate->cost = (struct cost){ .state = state,
                                     .cost_ns = cost_ns,
                                     .minimum_ns = cost_ns - 100,
                                     .low_ns = cost_ns + 10,
                                     .high_ns = cost_ns + 100,
                                     .sample_count = 31,
                                     .passes = 2,
                                     .error = 1.2e-7,
                                     .scratch_bytes = 4096,
                                     .weight_bytes = 3u << 20,
                                     .implementation = "fake:jit",
                                     .reason = state == COST_FAILED ? "wrong result: NaN" : "" };
    return (candidate_id)(s->f.set.count - 1);
}

static inline void add_alternatives(struct sample *s)
{
    static candidate_id pieces[2], other;
    pieces[0] = add(s, BETA, (node_id[]){ 0 }, 1, COST_MEASURED, 1500);
    pieces[1] = add(s, BETA, (node_id[]){ 1 }, 1, COST_MEASURED, 1800);
    other = add(s, ALPHA, (node_id[]){ 3 }, 1, COST_MEASURED, 2500);
    add(s, ALPHA, (node_id[]){ 4 }, 1, COST_FAILED, 0);
    add(s, ALPHA, (node_id[]){ 3, 4 }, 2, COST_UNKNOWN, 0);
    s->refusals[4 * 2 + ALPHA] = "no Relu today";
    s->f.set.refusals = s->refusals;
    s->rivals[1 * 2 + BETA] = (struct rival){
        .found = true, .proven = true, .extra_ns = 1300, .chosen = pieces, .count = 2
    };
    s->rivals[4 * 2 + ALPHA] =
        (struct rival){ .found = true, .extra_ns = -500, .chosen = &other, .count = 1 };
}

/* Relu+Add on alpha, a view, Add and Relu on beta. */
static inline void sample_setup(struct sample *s)
{
    struct tensor image = fake_image(), matrix = fake_matrix();
    *s = (struct sample){ .graph = fake_graph() };
    value_id in = fake_value(s->graph, VALUE_INPUT, &image);
    value_id other = fake_value(s->graph, VALUE_INPUT, &matrix);
    value_id a = fake_node(s->graph, FAKE_RELU, in, 0, NULL);
    a = fake_node(s->graph, FAKE_ADD, a, in, NULL);
    value_id view = fake_node(s->graph, FAKE_RESHAPE, a, 0, &matrix);
    value_id b = fake_node(s->graph, FAKE_ADD, view, other, NULL);
    value_id c = fake_node(s->graph, FAKE_RELU, b, 0, NULL);
    fake_ports(s->graph, (value_id[]){ in, other }, 2, (value_id[]){ c, view }, 2);
    fake_setup(&s->f, s->graph);
    free(s->f.set.items);
    s->f.set.items = calloc(MOST_CANDIDATES, sizeof *s->f.set.items);
    fake_choose(&s->f, ALPHA, 1, false, (node_id[]){ 0, 1 }, 2);
    for (node_id n = 2; n < 5; n++)
        fake_choose(&s->f, BETA, 0, n == 2, &n, 1);
    s->plan = fake_build(&s->f);
    s->plan->device_name = "a machine";
    s->plan->results = results;
    s->plan->result_count = 4;
    s->plan->evidence = json_pack("{s:{s:i}}", "failures", "alpha: wrong result", 3);
    const candidate_id steps[STEPS] = { GRAPH_NONE, 0, GRAPH_NONE, GRAPH_NONE, 2, 3 };
    assert_int_equal(s->plan->step_count, STEPS);
    memcpy(s->steps, steps, sizeof steps);
    add_alternatives(s);
    s->explanation = (struct explanation){ .graph = s->graph,
                                           .plan = s->plan,
                                           .set = &s->f.set,
                                           .steps = s->steps,
                                           .rivals = s->rivals,
                                           .comparable = true,
                                           .measured = 6,
                                           .failed = 1,
                                           .unmeasured = 1 };
}

static inline void sample_teardown(struct sample *s)
{
    plan_destroy(s->plan);
    fake_teardown(&s->f);
    graph_destroy(s->graph);
}

/* Golden texts: set COLLAGE_WRITE_GOLDEN to write them anew. */
static inline void check_golden(const struct text *text, const char *name)
{
    char path[512];
    struct mapping golden;
    snprintf(path, sizeof path, "%s/golden/report/%s", COLLAGE_TESTS, name);
    if (getenv("COLLAGE_WRITE_GOLDEN"))
        OK(file_write(path, text->bytes, text->count, NULL));
    OK(file_map(path, &golden, NULL));
    if (golden.bytes != text->count || memcmp(golden.data, text->bytes, text->count) != 0)
        fail_msg("differs from %s:\n%s", path, text->bytes);
    file_unmap(&golden);
}

#endif
