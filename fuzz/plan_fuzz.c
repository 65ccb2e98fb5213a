/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry: any bytes as a plan file of one small graph. A plan that is accepted must be
 * sound, and give the right result when it runs. */
#include <stdlib.h>
#include <string.h>

#include "backend/registry.h"
#include "fuzz.h"
#include "graph/graph_text.h"
#include "plan/plan.h"
#include "reference/oracle.h"
#include "run/session.h"

/* Has a view, a value with two users, an output that another node reads, and a second output. */
static const char text[] = "graph \"fuzz\" {\n"
                           "  input %x: float32[2x3x4]\n"
                           "  const %shape: int64[2] = {6, 4}\n"
                           "  %a: float32[2x3x4] = Relu(%x)\n"
                           "  %b: float32[6x4] = Reshape(%a, %shape)\n"
                           "  %c: float32[6x4] = Softmax(%b)\n"
                           "  %d: float32[6x4] = Mul(%c, %b)\n"
                           "  %e: float32[2x3x4] = Add(%a, %x)\n"
                           "  output %d\n"
                           "  output %e\n"
                           "}\n";

/* What all runs share; made once. */
static struct {
    struct graph *graph;
    struct oracle *oracle;
    struct registry *registry;
} fixed;

static void make_fixed(void)
{
    const collage_target target = registry_host_target(1);
    if (fixed.graph)
        return;
    if (graph_parse(text, &fixed.graph, NULL) != COLLAGE_OK ||
        oracle_create(fixed.graph, NULL, NULL, NULL, &fixed.oracle, NULL) != COLLAGE_OK ||
        registry_create("", NULL, NULL, &fixed.registry, NULL) != COLLAGE_OK ||
        registry_open(fixed.registry, REGISTRY_REFERENCE, &target, NULL) != COLLAGE_OK)
        abort();
}

static void run(struct session *session)
{
    const void *inputs[1];
    void *outputs[2];
    struct tensor actual[2];
    inputs[0] = oracle_value(fixed.oracle, fixed.graph->inputs[0]).data;
    for (size_t k = 0; k < 2; k++) {
        actual[k] = oracle_value(fixed.oracle, fixed.graph->outputs[k]);
        actual[k].data = outputs[k] = memory_alloc_aligned((size_t)tensor_bytes(&actual[k]));
        if (!outputs[k])
            abort();
    }
    if (session_run(session, inputs, outputs, NULL) == COLLAGE_OK)
        for (size_t k = 0; k < 2; k++) {
            const struct tensor expected = oracle_value(fixed.oracle, fixed.graph->outputs[k]);
            if (!(tensor_compare(&actual[k], &expected).error <= TENSOR_PLAN_TOLERANCE))
                abort(); /* a plan that was accepted computes something else */
        }
    for (size_t k = 0; k < 2; k++)
        memory_free_aligned(outputs[k]);
}

int fuzz_plan(const uint8_t *data, size_t size)
{
    struct plan *plan;
    struct session *session;
    struct error error = { 0 };
    json_t *json = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    if (!json)
        return 0;
    make_fixed();
    if (plan_from_json(json, NULL, &plan, &error) == COLLAGE_OK)
        plan_destroy(plan);
    if (plan_from_json(json, fixed.graph, &plan, &error) == COLLAGE_OK) {
        if (plan_verify(plan, fixed.graph, &error) != COLLAGE_OK)
            abort();
        if (session_create(fixed.graph, plan, fixed.registry, &session, &error) == COLLAGE_OK) {
            run(session);
            session_destroy(session);
        }
        plan_destroy(plan);
    }
    json_decref(json);
    return 0;
}
