/* SPDX-License-Identifier: Apache-2.0 */
/*
 * light.c: a light model of the onnx package (written by generate.py) from end to end. As it is
 * bundled: imported, simplified, run by the reference, held against the output that comes with it.
 * Then with weights that differ (light_graph.h). Both on each backend that is named, the whole
 * graph, against the reference.
 *
 *     conform_light DIR PLUGIN-DIRECTORY NAME [BACKEND...]
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "canon/canon.h"
#include "graph/verify.h"
#include "light_graph.h"
#include "light_plan.h"
#include "node_case.h"
#include "onnx/onnx.h"
#include "run/session.h"

enum { THREADS = 2, MAX_PORTS = 4, RUNS = 2 };

static const struct form {
    const char *name;
    bool scattered, blocked;
    double kernel_tolerance, tolerance;
} forms[] = {
    /* Thousands of equal terms are rounded in the same direction, layer after layer. */
    { "as bundled", false, false, 1e-3, 1e-2 },
    { "scattered weights", true, true, TENSOR_KERNEL_TOLERANCE, TENSOR_PLAN_TOLERANCE },
};

struct suite {
    struct registry *registry;
    collage_target target;
    char *const *backends;
    int backend_count, cases, failed;
};

/* A form of a model and what the reference makes of it. */
struct subject {
    const char *name;
    const struct form *form;
    struct graph *graph;
    struct oracle *oracle;
};

static double seconds_since(uint64_t start)
{
    return (double)(clock_ns() - start) * 1e-9;
}

/* ---- the reference ---- */

static collage_status load(const struct node_case *c, struct subject *subject, struct error *error)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/model.onnx", c->folder, c->name);
    collage_status status = onnx_import(path, NULL, 0, &subject->graph, error);
    if (status == COLLAGE_OK && subject->form->scattered)
        status = light_scatter(subject->graph, error);
    if (status == COLLAGE_OK)
        status = canon_run(subject->graph, error);
    return status == COLLAGE_OK ? graph_verify(subject->graph, error) : status;
}

static collage_status prepare(const struct node_case *c, struct subject *subject,
                              struct error *error)
{
    collage_status status = load(c, subject, error);
    if (status != COLLAGE_OK)
        return status;
    uint64_t start = clock_ns();
    status = node_case_compute(c, subject->graph, &subject->oracle, error);
    if (status != COLLAGE_OK)
        return status;
    printf("%s, %s: %zu nodes, reference run in %.2f s\n", c->name, subject->form->name,
           subject->graph->node_count, seconds_since(start));
    if (!subject->form->scattered)
        status = node_case_check(c, subject->graph, subject->oracle, error);
    if (status == COLLAGE_OK)
        status = light_show_logits(subject->graph, error);
    if (status == COLLAGE_OK)
        status = graph_verify(subject->graph, error);
    if (status == COLLAGE_OK &&
        (subject->graph->input_count > MAX_PORTS || subject->graph->output_count > MAX_PORTS))
        status = error_set(error, COLLAGE_ERROR_UNSUPPORTED, "more inputs or outputs than %d",
                           MAX_PORTS);
    return status;
}

/* ---- a backend ---- */

/* The second run finds what the first left behind. */
static collage_status run(const struct subject *subject, struct session *session, double *worst,
                          struct error *error)
{
    const struct graph *graph = subject->graph;
    const void *inputs[MAX_PORTS] = { NULL };
    void *outputs[MAX_PORTS] = { NULL };
    struct tensor actual[MAX_PORTS] = { { 0 } };
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < graph->input_count; k++)
        inputs[k] = oracle_value(subject->oracle, graph->inputs[k]).data;
    for (uint32_t k = 0; k < graph->output_count; k++) {
        actual[k] = oracle_value(subject->oracle, graph->outputs[k]);
        actual[k].data = outputs[k] = memory_alloc_aligned((size_t)tensor_bytes(&actual[k]));
        if (!outputs[k])
            status = error_memory(error);
    }
    for (int n = 0; n < RUNS && status == COLLAGE_OK; n++) {
        for (uint32_t k = 0; k < graph->output_count; k++)
            memset(outputs[k], 0xFF, (size_t)tensor_bytes(&actual[k])); /* NaN */
        status = session_run(session, inputs, outputs, error);
        if (status == COLLAGE_OK)
            status = light_compare(graph, subject->oracle, actual, subject->form->tolerance, worst,
                                   error);
    }
    for (uint32_t k = 0; k < graph->output_count; k++)
        memory_free_aligned(outputs[k]);
    return status;
}

struct shares {
    unsigned kernels, reorders, reference; /* steps */
};

/* What the plan consists of. With constant weights the reference has no excuse to be given a
 * convolution or a product. */
static collage_status count_steps(const struct subject *subject, const struct plan *plan,
                                  struct shares *shares, struct error *error)
{
    *shares = (struct shares){ 0 };
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        shares->reorders += step->kind == PLAN_REORDER;
        if (step->kind != PLAN_KERNEL)
            continue;
        if (strcmp(plan->backends[step->backend].name, "reference") != 0) {
            shares->kernels++;
            continue;
        }
        shares->reference++;
        const collage_node *node = &subject->graph->nodes[step->nodes[0]].base;
        if (subject->form->scattered &&
            (strcmp(node->op_type, "Conv") == 0 || strcmp(node->op_type, "Gemm") == 0))
            return error_set(error, COLLAGE_ERROR_UNSUPPORTED, "%s '%s' is left to the reference",
                             node->op_type, node->name);
    }
    return COLLAGE_OK;
}

static collage_status run_plan(const struct suite *suite, const struct subject *subject,
                               const struct plan *plan, double *worst, struct error *error)
{
    struct session *session;
    collage_status status = session_create(subject->graph, plan, suite->registry, &session, error);
    if (status != COLLAGE_OK)
        return status;
    status = run(subject, session, worst, error);
    session_destroy(session);
    return status;
}

static collage_status check_backend(const struct suite *suite, const struct subject *subject,
                                    uint32_t backend, struct error *error)
{
    const struct light_request request = { .graph = subject->graph,
                                           .oracle = subject->oracle,
                                           .registry = suite->registry,
                                           .target = &suite->target,
                                           .backend = backend,
                                           .blocked = subject->form->blocked,
                                           .tolerance = subject->form->kernel_tolerance };
    uint64_t start = clock_ns();
    struct plan *plan = NULL;
    struct shares shares = { 0 };
    size_t struck = 0;
    double worst = 0;
    collage_status status = registry_open(suite->registry, backend, &suite->target, error);
    if (status == COLLAGE_OK)
        status = light_plan(&request, &plan, &struck, error);
    if (status == COLLAGE_OK)
        status = count_steps(subject, plan, &shares, error);
    if (status == COLLAGE_OK)
        status = run_plan(suite, subject, plan, &worst, error);
    if (status == COLLAGE_OK)
        printf("%s, %s: %s, %u kernels, %u reorders, %u steps by the reference, %zu struck out, "
               "worst error %.1e, %.2f s\n",
               subject->name, subject->form->name, suite->registry->entries[backend].name,
               shares.kernels, shares.reorders, shares.reference, struck, worst,
               seconds_since(start));
    plan_destroy(plan);
    return status;
}

static void check_backends(struct suite *suite, const struct subject *subject)
{
    for (int k = 0; k < suite->backend_count; k++) {
        struct error error = { 0 };
        uint32_t backend = registry_find(suite->registry, suite->backends[k]);
        if (backend == UINT32_MAX)
            error_set(&error, COLLAGE_ERROR_ARGUMENT, "there is no such backend");
        else
            check_backend(suite, subject, backend, &error);
        if (error.status == COLLAGE_OK)
            continue;
        printf("FAILED  %s, %s: %s: %s\n", subject->name, subject->form->name, suite->backends[k],
               error.text);
        suite->failed++;
    }
}

/* ---- all ---- */

static void check_form(struct suite *suite, const struct node_case *c, const struct form *form)
{
    struct subject subject = { .name = c->name, .form = form };
    struct error error = { 0 };
    if (prepare(c, &subject, &error) == COLLAGE_OK) {
        check_backends(suite, &subject);
    } else {
        printf("FAILED  %s, %s: %s\n", c->name, form->name, error.text);
        suite->failed++;
    }
    oracle_destroy(subject.oracle);
    graph_destroy(subject.graph);
}

static void each(const struct node_case *c, void *user)
{
    struct suite *suite = user;
    suite->cases++;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        check_form(suite, c, &forms[k]);
}

static bool open_registry(const char *directory, struct suite *suite)
{
    struct error error = { 0 };
    collage_status status = registry_create(directory, NULL, NULL, &suite->registry, &error);
    if (status == COLLAGE_OK) {
        registry_set_environment(suite->registry, THREADS);
        status = registry_open(suite->registry, REGISTRY_REFERENCE, &suite->target, &error);
    }
    if (status != COLLAGE_OK)
        fprintf(stderr, "%s\n", error.text);
    return status == COLLAGE_OK;
}

int main(int argc, char **argv)
{
    struct suite suite = { .target = registry_host_target(THREADS) };
    if (argc < 4) {
        fprintf(stderr, "usage: conform_light DIR PLUGIN-DIRECTORY NAME [BACKEND...]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* a library may crash */
    suite.backends = argv + 4;
    suite.backend_count = argc - 4;
    bool read = open_registry(argv[2], &suite) && node_case_each(argv[1], argv[3], each, &suite);
    registry_destroy(suite.registry);
    if (!read || suite.cases != 1) {
        fprintf(stderr, "there is no model '%s' in %s\n", argv[3], argv[1]);
        return 2;
    }
    return suite.failed == 0 ? 0 : 1;
}
