/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_backends.c: the onnx package's node test cases on a backend: each node of a case that it
 * claims, in every variant, on the values of the reference run. None may be wrong; a library that
 * cannot compile what its plugin claims is counted apart.
 *
 *     conform_node_backends DIR PLUGIN-DIRECTORY BACKEND LEAST [NAME | --reasons]
 *
 * LEAST: so many variants at least must pass. --reasons: a line for each node that the backend does
 * not claim, and for each variant (bench/node_table.py counts them).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "conform.h"
#include "graph/subgraph.h"
#include "node_case.h"
#include "reference/slack.h"

enum { MAX_PORTS = 40, MAX_VARIANTS = 32, THREADS = 2 };

/* What a library does to infinities everywhere, and which is not worth refusing the operator for
 * (docs/backends.md): such a failure is counted apart. */
static const struct {
    const char *backend, *op, *what;
} limits[] = {
    { "onednn", "ReduceMax", "of nothing but -infinity is the lowest finite number" },
    { "openvino", "ReduceMax", "of nothing but -infinity is the lowest finite number" },
};
enum { LIMIT_COUNT = sizeof limits / sizeof *limits };

struct suite {
    const struct backend_entry *backend;
    collage_target target;
    struct conform_counts counts;
    bool reasons;
    int cases, claimed_cases, not_claimed, repeated;
    unsigned limited;
    bool limit_met[LIMIT_COUNT];
    struct hash *seen;
    size_t seen_count, seen_capacity;
};

/* The cases of functions written out ("_expanded") repeat the same nodes hundreds of times. */
static bool is_repeated(struct suite *suite, const struct node_case *c,
                        const collage_subgraph *subgraph)
{
    if (!strstr(c->name, "_expanded"))
        return false;
    struct hash hash = subgraph_hash(subgraph);
    for (size_t k = 0; k < suite->seen_count; k++)
        if (hash_equal(suite->seen[k], hash))
            return true;
    if (memory_grow((void **)&suite->seen, &suite->seen_capacity, suite->seen_count, sizeof hash))
        suite->seen[suite->seen_count++] = hash;
    return false;
}

static bool next_variant(const struct suite *suite, const collage_subgraph *subgraph, size_t index,
                         collage_variant *variant)
{
    memset(variant->inputs, 0, MAX_PORTS * sizeof *variant->inputs);
    memset(variant->outputs, 0, MAX_PORTS * sizeof *variant->outputs);
    variant->struct_size = sizeof *variant;
    variant->name[0] = '\0';
    const collage_backend_api *api = suite->backend->api;
    if (!api->variant)
        return index == 0;
    return index < MAX_VARIANTS && api->variant(subgraph, &suite->target, index, variant);
}

/* Takes a failure back that is a known limit. */
static void excuse(struct suite *suite, const char *op, const struct tensor *expected)
{
    bool infinite = false;
    for (int64_t i = 0; i < tensor_elements(expected) && dtype_is_float(expected->dtype); i++)
        infinite = infinite || isinf(tensor_get(expected, i));
    for (size_t k = 0; k < LIMIT_COUNT && infinite; k++)
        if (strcmp(limits[k].backend, suite->backend->name) == 0 && strcmp(limits[k].op, op) == 0) {
            printf("  a known limit: %s %s\n", op, limits[k].what);
            suite->counts.failed--;
            suite->limited++;
            suite->limit_met[k] = true;
        }
}

/* One node of a case as a sub-graph, with what the reference run had around it. */
struct part {
    const struct node_case *c;
    const struct graph *graph;
    const struct oracle *oracle;
    node_id node;
    struct region region;
    const collage_subgraph *subgraph;
};

static const char *part_op(const struct part *part)
{
    return part->graph->nodes[part->node].base.op_type;
}

static bool is_claimed(const struct suite *suite, const struct part *part, collage_message *why)
{
    if (part->region.input_count > MAX_PORTS || part->region.output_count > MAX_PORTS) {
        snprintf(why->text, sizeof why->text, "more than %d inputs or outputs", MAX_PORTS);
        return false;
    }
    return suite->backend->api->supports(part->subgraph, &suite->target, why);
}

static collage_status run_variants(struct suite *suite, const struct part *part,
                                   struct error *error)
{
    struct tensor inputs[MAX_PORTS], outputs[MAX_PORTS];
    double slack[MAX_PORTS];
    collage_layout input_layouts[MAX_PORTS], output_layouts[MAX_PORTS];
    collage_variant variant = { .inputs = input_layouts, .outputs = output_layouts };
    for (uint32_t k = 0; k < part->region.input_count; k++)
        inputs[k] = oracle_value(part->oracle, part->region.inputs[k]);
    for (uint32_t k = 0; k < part->region.output_count; k++)
        outputs[k] = oracle_value(part->oracle, part->region.outputs[k]);
    const struct slack_values values = slack_values_of(part->oracle);
    collage_status status = slack_find(part->graph, &part->region, &values, slack, error);
    char name[256];
    snprintf(name, sizeof name, "%.200s %s", part->c->name, part_op(part));
    for (size_t k = 0; status == COLLAGE_OK && next_variant(suite, part->subgraph, k, &variant);
         k++) {
        const struct conform_trial trial = {
            name,  suite->backend, part->subgraph, &variant, &suite->target, inputs, outputs,
            slack, suite->reasons, NULL,           NULL
        };
        unsigned before = suite->counts.failed;
        conform_run(&trial, &suite->counts);
        if (suite->counts.failed > before)
            excuse(suite, part_op(part), &outputs[0]);
    }
    return status;
}

/* *claimed becomes true if the backend takes the node, whether it is run here or was before. */
static collage_status run_part(struct suite *suite, const struct part *part, bool *claimed,
                               struct error *error)
{
    collage_message why = { "" };
    bool taken = is_claimed(suite, part, &why);
    *claimed = *claimed || taken;
    if (is_repeated(suite, part->c, part->subgraph)) {
        suite->repeated++;
    } else if (taken) {
        return run_variants(suite, part, error);
    } else {
        suite->not_claimed++;
        if (suite->reasons)
            printf("not claimed %s %s: %s\n", part->c->name, part_op(part), why.text);
    }
    return COLLAGE_OK;
}

static collage_status run_node(struct suite *suite, struct part *part,
                               const struct graph_uses *uses, bool *claimed, struct error *error)
{
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    collage_status status =
        region_make(arena, part->graph, uses, &part->node, 1, &part->region, error);
    if (status == COLLAGE_OK)
        status = subgraph_make(arena, part->graph, &part->region, &part->subgraph, error);
    if (status == COLLAGE_OK)
        status = run_part(suite, part, claimed, error);
    arena_destroy(arena);
    return status;
}

static collage_status run_case(struct suite *suite, const struct node_case *c, struct error *error)
{
    struct graph *graph;
    struct oracle *oracle;
    struct graph_uses uses = { 0 };
    collage_status status = node_case_run(c, &graph, &oracle, error);
    if (status == COLLAGE_OK)
        status = node_case_check(c, graph, oracle, error);
    if (status == COLLAGE_OK)
        status = graph_uses_build(graph, &uses, error);
    bool claimed = false;
    for (node_id n = 0; status == COLLAGE_OK && n < graph->node_count; n++) {
        struct part part = { .c = c, .graph = graph, .oracle = oracle, .node = n };
        status = run_node(suite, &part, &uses, &claimed, error);
    }
    suite->claimed_cases += status == COLLAGE_OK && claimed;
    graph_uses_free(&uses);
    oracle_destroy(oracle);
    graph_destroy(graph);
    return status;
}

/* What the reference cannot run is conform_node's to judge. */
static void each(const struct node_case *c, void *user)
{
    struct suite *suite = user;
    struct error error = { 0 };
    char reason[160];
    node_case_excluded(c, reason, sizeof reason);
    if (!reason[0] && run_case(suite, c, &error) == COLLAGE_OK)
        suite->cases++;
}

static bool open_backend(struct registry *registry, const char *name, struct suite *suite)
{
    struct error error = { 0 };
    uint32_t index = registry_find(registry, name);
    if (index == UINT32_MAX)
        return false;
    registry_set_environment(registry, THREADS);
    if (registry_open(registry, index, &suite->target, &error) != COLLAGE_OK) {
        printf("%s\n", error.text);
        return false;
    }
    suite->backend = &registry->entries[index];
    return true;
}

int main(int argc, char **argv)
{
    struct suite suite = { .target = registry_host_target(THREADS) };
    struct registry *registry = NULL;
    struct error error = { 0 };
    if (argc < 5) {
        fprintf(stderr, "usage: conform_node_backends DIR PLUGIN-DIRECTORY BACKEND LEAST "
                        "[NAME | --reasons]\n");
        return 2;
    }
    suite.reasons = argc > 5 && strcmp(argv[5], "--reasons") == 0;
    const char *only = argc > 5 && !suite.reasons ? argv[5] : NULL;
    if (registry_create(argv[2], NULL, NULL, &registry, &error) != COLLAGE_OK ||
        !open_backend(registry, argv[3], &suite) || !node_case_each(argv[1], only, each, &suite)) {
        fprintf(stderr, "the backend or the cases are not there %s\n", error.text);
        registry_destroy(registry);
        return 2;
    }
    const struct conform_counts *counts = &suite.counts;
    printf("%s %s, %d cases, %d claimed: %u variants passed, %u failed, %u limited by infinities, "
           "%u that the library cannot compile; %d nodes not claimed, %d repeated\n",
           suite.backend->name, suite.backend->version, suite.cases, suite.claimed_cases,
           counts->passed, counts->failed, suite.limited, counts->unimplemented, suite.not_claimed,
           suite.repeated);
    bool enough = only || counts->passed >= strtoul(argv[4], NULL, 10);
    if (!enough)
        printf("FAILED  at least %s should pass\n", argv[4]);
    bool closed = false;
    for (size_t k = 0; k < LIMIT_COUNT && !only; k++)
        if (!suite.limit_met[k] && strcmp(limits[k].backend, suite.backend->name) == 0) {
            printf("FAILED  no case meets the limit of %s any more\n", limits[k].op);
            closed = true;
        }
    bool fine = enough && !closed && counts->failed == 0;
    memory_free(suite.seen);
    registry_destroy(registry);
    return fine ? 0 : 1;
}
