/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conform_ops.c: every case, and every reorder between layouts, on every available backend, in
 * every variant; what a backend refuses as a whole, node by node. Fails on a wrong result, on an
 * operator that a backend claims and no case has run on it (coverage.h), and if fewer pass than
 * floors say (a backend that quietly stops taking what it took is a regression too).
 *
 *     conform_ops PLUGIN-DIRECTORY [--avx2|--generic] [--verbose] [--backend NAME] [--case NAME]
 */
#include "cases/case_graph.h"
#include "conform.h"
#include "coverage.h"

#include "graph/subgraph.h"
#include "reference/bound.h"
#include "tensor/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PORTS = 40, MAX_BACKENDS = 16, MAX_VARIANTS = 32, MAX_SCHEDULES = 64, THREADS = 2 };

static const struct floor_row {
    const char *backend;
    unsigned passed;
} floors[] = {
    { "reference", 400 }, { "onednn", 900 }, { "native", 900 }, { "onnxruntime", 310 },
    { "openblas", 890 },  { "blis", 920 },   { "mkl", 920 },    { "onednn_graph", 480 },
};

static const struct reorder_case {
    struct tensor shape;
    const char *from, *to;
} reorder_cases[] = {
#define SHAPE4(a, b, c, d)                                                                         \
    {                                                                                              \
        COLLAGE_FLOAT32, 4, { a, b, c, d }, NULL                                                   \
    }
    { SHAPE4(1, 17, 5, 6), "", "acdb" },
    { SHAPE4(1, 17, 5, 6), "acdb", "" },
    { SHAPE4(2, 33, 5, 6), "", "aBcd16b" },
    { SHAPE4(2, 33, 5, 6), "aBcd16b", "" },
    { SHAPE4(2, 33, 5, 6), "", "aBcd8b" },
    { SHAPE4(2, 33, 5, 6), "aBcd8b", "" },
    { SHAPE4(2, 32, 5, 6), "acdb", "aBcd16b" },
    { SHAPE4(2, 17, 5, 6), "aBcd16b", "acdb" },
    { SHAPE4(2, 17, 5, 6), "aBcd16b", "aBcd8b" },
    { SHAPE4(1, 3, 5, 6), "", "aBcd16b" },
    { SHAPE4(2, 16, 1, 1), "aBcd16b", "" },
    { SHAPE4(2, 5, 3, 4), "dcba", "cabd" },
    { SHAPE4(2, 5, 3, 4), "", "" },
#undef SHAPE4
    { { COLLAGE_FLOAT32, 3, { 2, 17, 9 }, NULL }, "", "aBc16b" },
    { { COLLAGE_FLOAT32, 3, { 2, 17, 9 }, NULL }, "aBc8b", "acb" },
    { { COLLAGE_FLOAT32, 5, { 1, 17, 3, 4, 5 }, NULL }, "", "aBcde16b" },
    { { COLLAGE_FLOAT32, 5, { 1, 17, 3, 4, 5 }, NULL }, "acdeb", "aBcde8b" },
    { { COLLAGE_FLOAT32, 2, { 5, 33 }, NULL }, "ba", "" },
};

struct options {
    const char *plugins, *backend, *single, *code;
    bool avx2, generic, verbose, no_schedules;
};

struct suite {
    struct options options;
    struct registry *registry;
    collage_target target;
    struct conform_counts counts[MAX_BACKENDS];
    struct coverage coverage[MAX_BACKENDS];
    struct error error;
};

/* ---- the cases ---- */

/* The index-th variant in memory of the caller; a backend without `variant` has one. */
static bool next_variant(struct suite *suite, const struct backend_entry *backend,
                         const collage_subgraph *subgraph, size_t index, collage_variant *variant)
{
    memset(variant->inputs, 0, MAX_PORTS * sizeof *variant->inputs);
    memset(variant->outputs, 0, MAX_PORTS * sizeof *variant->outputs);
    variant->struct_size = sizeof *variant;
    variant->name[0] = '\0';
    variant->flags = 0;
    if (!backend->api->variant)
        return index == 0;
    return index < MAX_VARIANTS && backend->api->variant(subgraph, &suite->target, index, variant);
}

/* Nodes [first, first + count) of a case as one sub-graph. */
struct part {
    const struct case_graph *made;
    const char *name;
    node_id first;
    uint32_t count;
    struct region region;
    const collage_subgraph *subgraph;
};

static bool make_part(struct suite *suite, struct part *part)
{
    return case_graph_subgraph(part->made, part->first, part->count, &part->region, &part->subgraph,
                               &suite->error) == COLLAGE_OK &&
           part->region.input_count <= MAX_PORTS && part->region.output_count <= MAX_PORTS;
}

/* Graph-level backends are asked node by node. */
static bool is_supported(struct suite *suite, const struct part *part,
                         const struct backend_entry *backend, collage_message *why)
{
    if (backend->api->kind == COLLAGE_OP_LEVEL)
        return backend->api->supports(part->subgraph, &suite->target, why);
    for (uint32_t n = 0; n < part->count; n++) {
        struct part single = { .made = part->made, .first = part->first + n, .count = 1 };
        if (!make_part(suite, &single) ||
            !backend->api->supports(single.subgraph, &suite->target, why))
            return false;
    }
    return true;
}

static struct tensor value_of(const void *made, value_id id)
{
    return ((const struct case_graph *)made)->tensors[id];
}

static bool find_bounds(struct suite *suite, const struct part *part, struct arena *arena,
                        const float **out)
{
    const struct slack_values values = { value_of, part->made };
    struct bounds *bounds;
    if (bounds_create(part->made->graph, &values, &bounds, &suite->error) != COLLAGE_OK)
        return false;
    collage_status status = bounds_find(bounds, &part->region, arena, out, &suite->error);
    bounds_destroy(bounds);
    return status == COLLAGE_OK;
}

static void run_variants(struct suite *suite, const struct part *part, uint32_t backend)
{
    const struct backend_entry *entry = &suite->registry->entries[backend];
    struct conform_counts *counts = &suite->counts[backend];
    struct tensor inputs[MAX_PORTS], outputs[MAX_PORTS];
    double slack[MAX_PORTS];
    const float *bounds[MAX_PORTS] = { NULL };
    const struct slack_values values = { value_of, part->made };
    for (uint32_t k = 0; k < part->region.input_count; k++)
        inputs[k] = part->made->tensors[part->region.inputs[k]];
    for (uint32_t k = 0; k < part->region.output_count; k++)
        outputs[k] = part->made->tensors[part->region.outputs[k]];
    struct arena *arena = arena_create();
    if (slack_find(part->made->graph, &part->region, &values, slack, &suite->error) != COLLAGE_OK ||
        !arena || !find_bounds(suite, part, arena, bounds)) {
        counts->failed++;
        arena_destroy(arena);
        return;
    }
    collage_layout input_layouts[MAX_PORTS], output_layouts[MAX_PORTS];
    collage_variant variant = { .inputs = input_layouts, .outputs = output_layouts };
    unsigned before = counts->passed;
    for (size_t k = 0; next_variant(suite, entry, part->subgraph, k, &variant); k++) {
        struct conform_trial trial = { part->name, entry,          part->subgraph,
                                       &variant,   &suite->target, inputs,
                                       outputs,    slack,          suite->options.verbose,
                                       NULL,       bounds };
        conform_run(&trial, counts);
        collage_schedule schedule = { .struct_size = sizeof schedule };
        trial.schedule = schedule.text;
        for (size_t s = 0;
             s < MAX_SCHEDULES && entry->api->schedule && !suite->options.no_schedules &&
             entry->api->schedule(part->subgraph, &suite->target, &variant, s, &schedule);
             s++)
            conform_run(&trial, counts);
    }
    arena_destroy(arena);
    for (uint32_t n = 0; n < part->count && counts->passed > before; n++)
        coverage_add(&suite->coverage[backend], part->made->graph->nodes[part->first + n].op, true);
}

static void run_part(struct suite *suite, struct part *part, uint32_t backend)
{
    const struct backend_entry *entry = &suite->registry->entries[backend];
    const struct graph *graph = part->made->graph;
    collage_message why = { "" };
    if (!make_part(suite, part)) {
        printf("%s: %s\n", part->name, suite->error.text);
        suite->counts[backend].failed++;
    } else if (is_supported(suite, part, entry, &why)) {
        for (uint32_t n = 0; n < part->count; n++)
            coverage_add(&suite->coverage[backend], graph->nodes[part->first + n].op, false);
        run_variants(suite, part, backend);
    } else if (part->count > 1) {
        for (node_id n = 0; n < graph->node_count; n++) {
            struct part single = { .made = part->made, .name = part->name, .first = n, .count = 1 };
            run_part(suite, &single, backend);
        }
    } else {
        suite->counts[backend].unsupported++;
        printf("%-12s %-28s refused: %s: %s\n", entry->name, part->name,
               graph->nodes[part->first].op->name, why.text);
    }
}

static bool is_chosen(const struct suite *suite, uint32_t backend)
{
    const struct backend_entry *entry = &suite->registry->entries[backend];
    return entry->open &&
           (!suite->options.backend || strcmp(suite->options.backend, entry->name) == 0);
}

/* NaN in windows, and windows of nothing but -infinity: libraries have their own ways. */
static const struct operator_case strict_cases[] = {
    { "strict_max_nan",
      "x: 2x35x9x20; a = Log(x); y = MaxPool(a) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]",
      false },
    { "strict_max_nan_2x2", "x: 1x17x8x34; a = Log(x); y = MaxPool(a) kernel_shape=[2,2]", false },
    { "strict_max_nan_stride_3",
      "x: 1x17x9x20; a = Log(x); y = MaxPool(a) kernel_shape=[2,3] strides=[3,3]", false },
    { "strict_max_infinite",
      "x: 1x17x9x20; o = (0); a = Div(x, o); y = MaxPool(a) kernel_shape=[2,2] strides=[2,1]",
      false },
    { "strict_average_nan", "x: 1x17x9x20; a = Log(x); y = AveragePool(a) kernel_shape=[3,3]",
      false },
    { "strict_max_nan_global", "x: 2x17x3x2; a = Log(x); y = GlobalMaxPool(a)", false },
};

static bool is_strict(const struct backend_entry *entry)
{
    return strcmp(entry->name, "native") == 0 || strcmp(entry->name, "reference") == 0;
}

static bool run_case(struct suite *suite, const struct operator_case *conform, bool strict)
{
    struct case_graph made;
    if (conform->large ||
        (suite->options.single && strcmp(suite->options.single, conform->name) != 0))
        return true;
    error_clear(&suite->error);
    if (case_graph_create(conform, &made, &suite->error) != COLLAGE_OK) {
        printf("case %s cannot be made: %s\n", conform->name, suite->error.text);
        return false;
    }
    for (uint32_t b = 0; b < suite->registry->count && b < MAX_BACKENDS; b++) {
        struct part whole = { .made = &made,
                              .name = conform->name,
                              .count = (uint32_t)made.graph->node_count };
        if (is_chosen(suite, b) && (!strict || is_strict(&suite->registry->entries[b])))
            run_part(suite, &whole, b);
    }
    case_graph_destroy(&made);
    return true;
}

static bool run_cases(struct suite *suite)
{
    bool fine = true;
    for (size_t k = 0; k < operator_case_count; k++)
        fine = run_case(suite, &operator_cases[k], false) && fine;
    for (size_t k = 0; k < sizeof strict_cases / sizeof strict_cases[0]; k++)
        fine = run_case(suite, &strict_cases[k], true) && fine;
    return fine;
}

/* ---- reorders ---- */

static void run_reorder(struct suite *suite, const struct reorder_case *reorder, uint32_t backend)
{
    struct arena *arena = arena_create();
    const collage_subgraph *subgraph = NULL;
    struct tensor tensor = reorder->shape;
    collage_layout from = layout_tag(reorder->from), to = layout_tag(reorder->to);
    collage_variant variant = { .struct_size = sizeof variant, .inputs = &from, .outputs = &to };
    char name[64];
    snprintf(name, sizeof name, "reorder '%s' to '%s'", reorder->from, reorder->to);
    tensor.data = arena ? arena_alloc(arena, tensor_bytes(&tensor)) : NULL;
    if (!tensor.data ||
        subgraph_make_identity(arena, &reorder->shape, &subgraph, &suite->error) != COLLAGE_OK) {
        suite->counts[backend].failed++;
        arena_destroy(arena);
        return;
    }
    tensor_fill_example(&tensor, 1, 0);
    const struct backend_entry *entry = &suite->registry->entries[backend];
    struct conform_trial trial = { name,
                                   entry,
                                   subgraph,
                                   &variant,
                                   &suite->target,
                                   &tensor,
                                   &tensor,
                                   NULL,
                                   suite->options.verbose,
                                   NULL,
                                   NULL };
    conform_run(&trial, &suite->counts[backend]);
    arena_destroy(arena);
}

static void run_reorders(struct suite *suite)
{
    for (uint32_t b = 0; b < suite->registry->count && b < MAX_BACKENDS; b++) {
        if (!is_chosen(suite, b) || suite->registry->entries[b].api->kind != COLLAGE_OP_LEVEL)
            continue;
        for (size_t k = 0; k < sizeof reorder_cases / sizeof reorder_cases[0]; k++)
            run_reorder(suite, &reorder_cases[k], b);
    }
}

/* ---- the whole ---- */

static void open_all(struct suite *suite)
{
    registry_set_environment(suite->registry, suite->target.threads);
    for (uint32_t b = 0; b < suite->registry->count; b++) {
        struct error error = { 0 };
        if (registry_open(suite->registry, b, &suite->target, &error) != COLLAGE_OK)
            printf("%s is not available: %s\n", suite->registry->entries[b].name, error.text);
    }
}

static bool print_counts(struct suite *suite)
{
    bool fine = true, any = false;
    for (uint32_t b = 0; b < suite->registry->count && b < MAX_BACKENDS; b++) {
        const struct backend_entry *entry = &suite->registry->entries[b];
        const struct conform_counts *counts = &suite->counts[b];
        if (!is_chosen(suite, b))
            continue;
        any = true;
        if (!suite->options.single)
            fine = coverage_check(&suite->coverage[b], entry) && fine;
        printf("%s %s: %u passed, %u failed, %u unimplemented; %u nodes refused\n", entry->name,
               entry->version, counts->passed, counts->failed, counts->unimplemented,
               counts->unsupported);
        fine = fine && counts->failed == 0;
        for (size_t k = 0; k < sizeof floors / sizeof floors[0]; k++) {
            if (strcmp(floors[k].backend, entry->name) == 0 && !suite->options.single &&
                counts->passed < floors[k].passed) {
                printf("%s: at least %u should pass\n", entry->name, floors[k].passed);
                fine = false;
            }
        }
    }
    if (!any)
        printf("no backend %s is available\n",
               suite->options.backend ? suite->options.backend : "");
    return fine && any;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    memset(options, 0, sizeof *options);
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--avx2") == 0)
            options->avx2 = true;
        else if (strcmp(argv[k], "--generic") == 0)
            options->avx2 = options->generic = true;
        else if (strcmp(argv[k], "--no-schedules") == 0)
            options->no_schedules = true;
        else if (strcmp(argv[k], "--verbose") == 0)
            options->verbose = true;
        else if (strcmp(argv[k], "--backend") == 0 && k + 1 < argc)
            options->backend = argv[++k];
        else if (strcmp(argv[k], "--code") == 0 && k + 1 < argc)
            options->code = argv[++k];
        else if (strcmp(argv[k], "--case") == 0 && k + 1 < argc)
            options->single = argv[++k];
        else if (!options->plugins)
            options->plugins = argv[k];
        else
            return false;
    }
    return options->plugins != NULL;
}

int main(int argc, char **argv)
{
    static struct suite suite;
    if (!read_options(argc, argv, &suite.options)) {
        printf("usage: conform_ops PLUGIN-DIRECTORY [--avx2|--generic] [--verbose] "
               "[--no-schedules] [--backend NAME] "
               "[--case NAME] [--code FOLDER]\n");
        return 2;
    }
    if (suite.options.avx2)
        setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    suite.target = registry_host_target(THREADS);
    if (suite.options.avx2)
        suite.target.avx512 = false;
    if (suite.options.generic)
        suite.target.avx2 = false;
    if (registry_create(suite.options.plugins, NULL, NULL, &suite.registry, &suite.error) !=
            COLLAGE_OK ||
        (suite.options.code &&
         code_set_folder(suite.registry->code, suite.options.code, &suite.error) != COLLAGE_OK)) {
        printf("%s\n", suite.error.text);
        return 1;
    }
    open_all(&suite);
    bool fine = run_cases(&suite) && coverage_check_table();
    if (!suite.options.single)
        run_reorders(&suite);
    fine = print_counts(&suite) && fine;
    registry_destroy(suite.registry);
    return fine ? 0 : 1;
}
