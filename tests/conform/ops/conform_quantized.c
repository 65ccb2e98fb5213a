/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conform_quantized.c: the quantized networks of cases.def (qdq_...) as they are optimised: after
 * canonicalisation, which makes float32 of their weights, whole, on one graph-level backend. The
 * backend must be shown the integers, take the network, and come within the reference's slack.
 *
 *     conform_quantized PLUGIN-DIRECTORY BACKEND
 */
#include "canon/canon.h"
#include "cases/case_graph.h"
#include "conform.h"

#include "graph/subgraph.h"
#include "reference/oracle.h"
#include "reference/slack.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PORTS = 4, THREADS = 2 };

/* Whose bias has another scale than its products: added as integers it would be wrong. */
static const struct operator_case other_bias = {
    "other_bias",
    "x: 1x3x8x8; s = (0.25); z = uint8; w = *30 uint8 16x3x3x3; i = uint8; t = (0.125); b = *99 "
    "int32 16; u = (0.5); r = (8.0); q = uint8; a = QuantizeLinear(x, s, z); c = "
    "DequantizeLinear(a, s, z); f = DequantizeLinear(w, t, i); g = DequantizeLinear(b, u); d = "
    "Conv(c, f, g) pads=[1,1,1,1]; e = QuantizeLinear(d, r, q); y = DequantizeLinear(e, r, q)",
    false
};

struct suite {
    struct registry *registry;
    const struct backend_entry *backend;
    collage_target target;
    struct conform_counts counts;
    struct error error;
};

struct network {
    struct case_graph made;
    struct oracle *oracle;
    struct region region;
    const collage_subgraph *subgraph;
    struct tensor inputs[MAX_PORTS], outputs[MAX_PORTS];
    double slack[MAX_PORTS];
};

static bool canonicalise(const struct operator_case *row, struct network *network,
                         struct error *error)
{
    struct case_graph *made = &network->made;
    if (case_graph_parse(row, made, error) != COLLAGE_OK)
        return false;
    graph_uses_free(&made->uses);
    return canon_run(made->graph, error) == COLLAGE_OK &&
           graph_uses_build(made->graph, &made->uses, error) == COLLAGE_OK &&
           case_graph_subgraph(made, 0, (uint32_t)made->graph->node_count, &network->region,
                               &network->subgraph, error) == COLLAGE_OK;
}

static bool compute(struct network *network, struct error *error)
{
    const struct graph *graph = network->made.graph;
    const struct region *region = &network->region;
    if (region->input_count > MAX_PORTS || region->output_count > MAX_PORTS ||
        oracle_create(graph, NULL, NULL, NULL, &network->oracle, error) != COLLAGE_OK)
        return false;
    for (uint32_t k = 0; k < region->input_count; k++)
        network->inputs[k] = oracle_value(network->oracle, region->inputs[k]);
    for (uint32_t k = 0; k < region->output_count; k++)
        network->outputs[k] = oracle_value(network->oracle, region->outputs[k]);
    const struct slack_values values = slack_values_of(network->oracle);
    return slack_find(graph, region, &values, network->slack, error) == COLLAGE_OK;
}

static void destroy(struct network *network)
{
    if (network->oracle)
        oracle_destroy(network->oracle);
    if (network->made.graph)
        case_graph_destroy(&network->made);
}

/* How many constants are shown with the integers that they were made of. */
static unsigned count_shown(const collage_subgraph *subgraph)
{
    unsigned count = 0;
    for (uint32_t v = 0; v < subgraph->value_count; v++)
        count += subgraph->values[v]->dequantized ? 1 : 0;
    return count;
}

/* Constants that were dequantized, each by a node of its own. */
static unsigned count_dequantized(const struct graph *graph)
{
    unsigned count = 0;
    for (size_t v = 0; v < graph->value_count; v++)
        count += graph->values[v].dequantized ? 1 : 0;
    return count;
}

/* Without VNNI, OpenVINO's kernels of integers are not exact, and ONNX Runtime takes int8 with
 * several scales only with zero points. */
static bool must_take(const struct suite *suite, const collage_subgraph *subgraph)
{
    if (suite->target.vnni)
        return true;
    bool lacks_zeros = false;
    for (uint32_t v = 0; v < subgraph->value_count; v++) {
        const collage_dequantized *from = subgraph->values[v]->dequantized;
        lacks_zeros = lacks_zeros || (from && from->zero == COLLAGE_NO_VALUE &&
                                      subgraph->values[from->integers]->dtype == COLLAGE_INT8 &&
                                      subgraph->values[from->scale]->bytes > sizeof(float));
    }
    return strcmp(suite->backend->name, "openvino") != 0 && !lacks_zeros;
}

static bool fail(const char *name, const char *what, const char *detail)
{
    printf("%s: %s%s%s\n", name, what, *detail ? ": " : "", detail);
    return false;
}

static bool run_network(struct suite *suite, const char *name, const struct network *network,
                        unsigned hidden)
{
    collage_layout inputs[MAX_PORTS] = { { "" } }, outputs[MAX_PORTS] = { { "" } };
    const collage_variant variant = { .struct_size = sizeof variant,
                                      .inputs = inputs,
                                      .outputs = outputs };
    const struct conform_trial trial = { .name = name,
                                         .backend = suite->backend,
                                         .subgraph = network->subgraph,
                                         .variant = &variant,
                                         .target = &suite->target,
                                         .inputs = network->inputs,
                                         .outputs = network->outputs,
                                         .slack = network->slack,
                                         .verbose = true };
    collage_message why = { "" };
    unsigned before = suite->counts.passed;
    if (count_shown(network->subgraph) + hidden != count_dequantized(network->made.graph) ||
        count_shown(network->subgraph) == 0)
        return fail(name, "integers are missing", "");
    bool taken = suite->backend->api->supports(network->subgraph, &suite->target, &why);
    if (taken != must_take(suite, network->subgraph))
        return fail(name, taken ? "taken" : "refused", why.text);
    if (taken)
        conform_run(&trial, &suite->counts);
    return !taken || suite->counts.passed == before + 1;
}

static bool run_case(struct suite *suite, const struct operator_case *row, unsigned hidden)
{
    struct network network = { .oracle = NULL };
    error_clear(&suite->error);
    bool made = canonicalise(row, &network, &suite->error) && compute(&network, &suite->error);
    bool fine = made ? run_network(suite, row->name, &network, hidden)
                     : fail(row->name, "cannot be made", suite->error.text);
    destroy(&network);
    return fine;
}

static bool run_cases(struct suite *suite)
{
    bool fine = run_case(suite, &other_bias, 1);
    unsigned count = 0;
    for (size_t k = 0; k < operator_case_count; k++) {
        if (strncmp(operator_cases[k].name, "qdq_", 4) != 0)
            continue;
        fine = run_case(suite, &operator_cases[k], 0) && fine;
        count++;
    }
    printf("%u quantized networks on %s %s: %u passed\n", count + 1, suite->backend->name,
           suite->backend->version, suite->counts.passed);
    return fine && count > 0;
}

static bool open_backend(struct suite *suite, const char *plugins, const char *name)
{
    struct error *error = &suite->error;
    suite->target = registry_host_target(THREADS);
    if (registry_create(plugins, NULL, NULL, &suite->registry, error) != COLLAGE_OK)
        return fail(name, "no plugins", error->text);
    uint32_t index = registry_find(suite->registry, name);
    if (index == UINT32_MAX)
        return fail(name, "there is no such backend", "");
    registry_set_environment(suite->registry, suite->target.threads);
    if (registry_open(suite->registry, index, &suite->target, error) != COLLAGE_OK)
        return fail(name, "not available", error->text);
    suite->backend = &suite->registry->entries[index];
    return true;
}

int main(int argc, char **argv)
{
    static struct suite suite;
    if (argc != 3) {
        printf("usage: conform_quantized PLUGIN-DIRECTORY BACKEND\n");
        return 2;
    }
    bool fine = open_backend(&suite, argv[1], argv[2]) && run_cases(&suite);
    if (suite.registry)
        registry_destroy(suite.registry);
    return fine ? 0 : 1;
}
