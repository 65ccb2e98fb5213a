/* SPDX-License-Identifier: Apache-2.0 */
/* runs.h: plans of made-up operators run on random inputs and compared with plain evaluation. */
#ifndef COLLAGE_TESTS_RUNS_H
#define COLLAGE_TESTS_RUNS_H

#include "unit/run/fake.h"

#include "run/session.h"

enum { MAX_PORTS = 8, ELEMENTS = 36 };

static uint64_t seed;

static inline uint32_t draw(uint32_t limit)
{
    return (uint32_t)(splitmix64(&seed) >> 33) % limit;
}

/* ---- running ---- */

struct buffers {
    float in[MAX_PORTS][ELEMENTS], out[MAX_PORTS][ELEMENTS];
    const void *inputs[MAX_PORTS];
    void *outputs[MAX_PORTS];
};

static inline void fill(struct buffers *b)
{
    for (int p = 0; p < MAX_PORTS; p++) {
        for (int i = 0; i < ELEMENTS; i++) {
            b->in[p][i] = (float)draw(1000) / 100 - 5;
            b->out[p][i] = 1e30f;
        }
        b->inputs[p] = b->in[p];
        b->outputs[p] = b->out[p];
    }
}

static inline void check_outputs(const struct graph *graph, const struct buffers *b)
{
    float **values = fake_evaluate(graph, b->inputs);
    for (uint32_t p = 0; p < graph->output_count; p++)
        assert_memory_equal(b->out[p], values[graph->outputs[p]], sizeof b->out[p]);
    fake_values_free(graph, values);
}

static inline void run_and_check(struct fake *f, struct plan *plan)
{
    struct session *session = NULL;
    struct error error = { 0 };
    if (session_create(f->set.graph, plan, &f->registry, &session, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    struct buffers b;
    for (int run = 0; run < 2; run++) { /* the second finds what the first left behind */
        fill(&b);
        if (session_run(session, b.inputs, b.outputs, &error) != COLLAGE_OK)
            fail_msg("%s", error.text);
        check_outputs(f->set.graph, &b);
    }
    session_destroy(session);
    assert_int_equal(f->world.alive, 0);
}

#endif
