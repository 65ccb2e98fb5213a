/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.c: after a kernel no thread of its library goes on spinning: the CPU time of the process
 * stands still. Every variant of a convolution and of a matrix product that the backend offers.
 *
 *     idle PLUGIN-DIRECTORY BACKEND [FOLDER FOR CODE]
 */
#include "backend/code.h"
#include "backend/registry.h"
#include "base/memory.h"
#include "cases/case_graph.h"
#include "tensor/layout.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MAX_PORTS = 4, MAX_VARIANTS = 32, THREADS = 2, RUNS = 5, WAIT_MS = 100, LIMIT_MS = 5 };

static const struct operator_case cases[] = {
    { "convolution", "x: 1x64x28x28; w = 64x64x3x3; b = 64; y = Conv(x, w, b) pads=[1,1,1,1]",
      false },
    { "product", "x: 64x512; w = 512x512; y = MatMul(x, w)", false },
    { "pool", "x: 1x64x56x56; y = MaxPool(x) kernel_shape=[3,3] strides=[2,2]", false },
};

struct suite {
    struct registry *registry;
    const struct backend_entry *backend;
    collage_target target;
    unsigned variants;
    double worst_ms;
    struct error error;
};

/* One variant with its memory. */
struct trial {
    const collage_subgraph *subgraph;
    collage_variant variant;
    collage_layout inputs[MAX_PORTS], outputs[MAX_PORTS];
    collage_kernel *kernel;
    void *ports[2 * MAX_PORTS + 1];
};

static bool complain(const struct suite *suite, const char *what, const char *detail)
{
    printf("%s: %s: %s\n", suite->backend ? suite->backend->name : "idle", what, detail);
    return false;
}

static double process_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void sleep_ms(long ms)
{
    const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&time, NULL);
}

static void *make_port(const collage_value *value, const collage_layout *layout)
{
    struct tensor tensor = { .dtype = value->dtype, .rank = value->rank };
    for (int32_t d = 0; d < value->rank; d++)
        tensor.dims[d] = value->dims[d];
    uint64_t bytes = layout_bytes(layout, &tensor);
    void *port = bytes ? memory_alloc_aligned(bytes) : NULL;
    if (port)
        memset(port, 0, bytes);
    return port;
}

static bool make_ports(struct trial *trial, uint64_t scratch_bytes)
{
    const collage_subgraph *s = trial->subgraph;
    for (uint32_t k = 0; k < s->input_count; k++)
        trial->ports[k] = make_port(s->values[s->inputs[k]], &trial->inputs[k]);
    for (uint32_t k = 0; k < s->output_count; k++)
        trial->ports[MAX_PORTS + k] = make_port(s->values[s->outputs[k]], &trial->outputs[k]);
    trial->ports[(size_t)2 * MAX_PORTS] = memory_alloc_aligned(scratch_bytes ? scratch_bytes : 1);
    return trial->ports[0] && trial->ports[MAX_PORTS] && trial->ports[(size_t)2 * MAX_PORTS];
}

/* Runs the kernel, lets a moment pass, and looks whether time is still spent. */
static bool watch(struct suite *suite, struct trial *trial)
{
    const void *inputs[MAX_PORTS];
    collage_message message = { "" };
    for (uint32_t k = 0; k < MAX_PORTS; k++)
        inputs[k] = trial->ports[k];
    for (int run = 0; run < RUNS; run++) {
        if (suite->backend->api->run(trial->kernel, NULL, inputs, trial->ports + MAX_PORTS,
                                     trial->ports[(size_t)2 * MAX_PORTS], &message) != COLLAGE_OK)
            return complain(suite, trial->variant.name, message.text);
    }
    sleep_ms(1);
    double before = process_ms();
    sleep_ms(WAIT_MS);
    double spent = process_ms() - before;
    suite->worst_ms = spent > suite->worst_ms ? spent : suite->worst_ms;
    suite->variants++;
    char text[64];
    snprintf(text, sizeof text, "%.1f ms of CPU time in %d ms of rest", spent, WAIT_MS);
    return spent < LIMIT_MS || complain(suite, trial->variant.name, text);
}

/* False: it spins. What the library cannot compile is nothing to watch. */
static bool run_variant(struct suite *suite, struct trial *trial)
{
    const collage_backend_api *api = suite->backend->api;
    collage_message message = { "" };
    const collage_compile_request request = { .struct_size = sizeof request,
                                              .subgraph = trial->subgraph,
                                              .variant = &trial->variant,
                                              .target = &suite->target };
    if (api->compile(suite->backend->open, &request, &trial->kernel, &message) != COLLAGE_OK)
        return true;
    collage_kernel_info info = { .struct_size = sizeof info };
    api->kernel_info(trial->kernel, &info);
    bool fine = make_ports(trial, info.scratch_bytes) ? watch(suite, trial)
                                                      : complain(suite, "memory", "there is none");
    api->kernel_destroy(trial->kernel);
    for (size_t k = 0; k < sizeof trial->ports / sizeof trial->ports[0]; k++)
        memory_free_aligned(trial->ports[k]);
    return fine;
}

static bool run_variants(struct suite *suite, const collage_subgraph *subgraph)
{
    const collage_backend_api *api = suite->backend->api;
    bool fine = true;
    for (size_t k = 0; k < MAX_VARIANTS; k++) {
        struct trial trial = { .subgraph = subgraph };
        trial.variant = (collage_variant){ .struct_size = sizeof trial.variant,
                                           .inputs = trial.inputs,
                                           .outputs = trial.outputs };
        if (api->variant ? !api->variant(subgraph, &suite->target, k, &trial.variant) : k > 0)
            break;
        fine = run_variant(suite, &trial) && fine;
    }
    return fine;
}

static bool run_case(struct suite *suite, const struct operator_case *row)
{
    struct case_graph made;
    struct region region;
    const collage_subgraph *subgraph = NULL;
    collage_message why = { "" };
    if (case_graph_create(row, &made, &suite->error) != COLLAGE_OK)
        return complain(suite, row->name, suite->error.text);
    bool fine = true;
    if (case_graph_subgraph(&made, 0, (uint32_t)made.graph->node_count, &region, &subgraph,
                            &suite->error) != COLLAGE_OK)
        fine = complain(suite, row->name, suite->error.text);
    else if (suite->backend->api->supports(subgraph, &suite->target, &why))
        fine = run_variants(suite, subgraph);
    case_graph_destroy(&made);
    return fine;
}

static bool open_backend(struct suite *suite, const char *plugins, const char *name)
{
    suite->target = registry_host_target(THREADS);
    if (registry_create(plugins, NULL, NULL, &suite->registry, &suite->error) != COLLAGE_OK)
        return complain(suite, name, suite->error.text);
    uint32_t index = registry_find(suite->registry, name);
    if (index == UINT32_MAX)
        return complain(suite, name, "there is no such backend");
    registry_set_environment(suite->registry, suite->target.threads);
    if (registry_open(suite->registry, index, &suite->target, &suite->error) != COLLAGE_OK)
        return complain(suite, name, suite->error.text);
    suite->backend = &suite->registry->entries[index];
    return true;
}

int main(int argc, char **argv)
{
    static struct suite suite;
    if (argc != 3 && argc != 4) {
        printf("usage: idle PLUGIN-DIRECTORY BACKEND [FOLDER FOR CODE]\n");
        return 2;
    }
    bool fine = open_backend(&suite, argv[1], argv[2]);
    if (fine && argc == 4 &&
        code_set_folder(suite.registry->code, argv[3], &suite.error) != COLLAGE_OK)
        fine = complain(&suite, argv[3], suite.error.text);
    for (size_t k = 0; fine && k < sizeof cases / sizeof cases[0]; k++)
        fine = run_case(&suite, &cases[k]);
    if (fine) {
        printf("%s %s: %u variants, at most %.2f ms of CPU time in %d ms of rest\n", argv[2],
               suite.backend->version, suite.variants, suite.worst_ms, WAIT_MS);
        fine = suite.variants > 0 || complain(&suite, "nothing", "no variant was run");
    }
    if (suite.registry)
        registry_destroy(suite.registry);
    return fine ? 0 : 1;
}
