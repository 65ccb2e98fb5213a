/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_cases.c: runs the onnx package's node test cases (written by generate.py) through the
 * importer and the reference operators.
 *
 * A case is skipped, with its reason, if it uses an operator or an element type that we do not
 * have, or if it is in the table of known gaps below. Everything else must pass, and a gap that
 * has been closed must leave the table.
 *
 *     conform_node DIR [NAME]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "onnx/onnx.h"
#include "reference/oracle.h"
#include "tensor/npy.h"

/* At least so many must pass, lest a fault in the generator or the list passes for success. */
enum { LEAST_PASSED = 904 };

/* Beginnings of names. */
static const struct {
    const char *name, *reason;
} gaps[] = {
    { "test_batchnorm_epsilon_training_mode", "training" },
    { "test_batchnorm_example_training_mode", "training" },
    { "test_lstm_batchwise", "layout 1" },
    { "test_lstm_with_peepholes", "sequence_lens" },
    { "test_maxpool_with_argmax", "the output of indices" },
    /* These take the size before it is rounded down, unlike the specification and the libraries. */
    { "test_resize_downsample_scales_cubic_align_corners", "a size that is no integer" },
    { "test_resize_downsample_scales_linear_align_corners", "a size that is no integer" },
    { "test_resize_downsample_scales_cubic_antialias", "antialias" },
    { "test_resize_downsample_scales_linear_antialias", "antialias" },
    { "test_resize_downsample_sizes_cubic_antialias", "antialias" },
    { "test_resize_downsample_sizes_linear_antialias", "antialias" },
    { "test_resize_downsample_sizes_nearest_not", "keep_aspect_ratio_policy" },
    { "test_resize_upsample_sizes_nearest_not", "keep_aspect_ratio_policy" },
    { "test_resize_tf_crop_and_resize", "cropping" },
    { "test_mod_float16_mixed_sign_fmod_0", "opset 28" },
    { "test_mod_float32_mixed_sign_fmod_0", "opset 28" },
    { "test_mod_float64_mixed_sign_fmod_0", "opset 28" },
    { "test_mod_float_edge_cases_fmod_0", "opset 28" },
    { "test_spacetodepth_crd_mode_example", "opset 28" },
    { "test_spacetodepth_dcr_mode_example", "opset 28" },
    { "test_training_dropout", "training" },
};
enum { GAP_COUNT = sizeof gaps / sizeof gaps[0] };

struct tally {
    int passed, failed, skipped;
    bool gap_used[GAP_COUNT];
};

struct node_case {
    char *name, *ops, *types;
    double relative, absolute;
    const char *folder;
};

/* ---- what is skipped ---- */

/* The first name of a comma-separated list that the test does not know; NULL if it knows all. */
static const char *first_unknown(char *list, bool (*known)(const char *))
{
    char *rest = NULL;
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        if (!known(name))
            return name;
    return NULL;
}

/* The importer turns these into others. */
static bool known_op(const char *name)
{
    return op_find(name) || strcmp(name, "Constant") == 0 || strcmp(name, "ConstantOfShape") == 0;
}

static bool known_type(const char *name)
{
    return dtype_parse(name) != COLLAGE_UNDEFINED;
}

static size_t find_gap(const char *name)
{
    size_t k = 0;
    while (k < GAP_COUNT &&
           !(gaps[k].reason && strncmp(gaps[k].name, name, strlen(gaps[k].name)) == 0))
        k++;
    return k;
}

/* ---- running ---- */

static collage_status read_tensor(const struct node_case *c, const char *kind, uint32_t index,
                                  struct tensor *tensor, struct error *error)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/%s_%u.npy", c->folder, c->name, kind, index);
    return npy_read(path, tensor, error);
}

static bool close_enough(double actual, double expected, const struct node_case *c)
{
    if (isnan(expected) || isnan(actual))
        return isnan(expected) && isnan(actual);
    if (isinf(expected) || isinf(actual))
        return expected == actual;
    return fabs(actual - expected) <= c->absolute + c->relative * fabs(expected);
}

static collage_status compare(const struct node_case *c, uint32_t index,
                              const struct tensor *actual, const struct tensor *expected,
                              struct error *error)
{
    if (actual->dtype != expected->dtype || !tensor_same_shape(actual, expected)) {
        char a[160], e[160];
        dims_print(actual->dims, actual->rank, a, sizeof a);
        dims_print(expected->dims, expected->rank, e, sizeof e);
        return error_set(error, COLLAGE_ERROR_WRONG_RESULT, "output %u is %s %s, expected %s %s",
                         index, dtype_name(actual->dtype), a, dtype_name(expected->dtype), e);
    }
    int64_t count = tensor_elements(expected);
    bool real = dtype_is_float(expected->dtype);
    for (int64_t i = 0; i < count; i++)
        if (real ? !close_enough(tensor_get(actual, i), tensor_get(expected, i), c)
                 : tensor_get_int(actual, i) != tensor_get_int(expected, i))
            return error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                             "output %u, element %lld is %.9g, expected %.9g", index, (long long)i,
                             tensor_get(actual, i), tensor_get(expected, i));
    return COLLAGE_OK;
}

static collage_status check_outputs(const struct node_case *c, const struct graph *graph,
                                    const struct oracle *oracle, struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < graph->output_count && status == COLLAGE_OK; k++) {
        struct tensor expected, actual = oracle_value(oracle, graph->outputs[k]);
        status = read_tensor(c, "output", k, &expected, error);
        if (status == COLLAGE_OK) {
            status = compare(c, k, &actual, &expected, error);
            memory_free_aligned(expected.data);
        }
    }
    return status;
}

static collage_status run_graph(const struct node_case *c, const struct graph *graph,
                                struct error *error)
{
    struct tensor *inputs = memory_alloc(graph->input_count * sizeof *inputs);
    collage_status status = inputs ? COLLAGE_OK : error_memory(error);
    for (uint32_t k = 0; k < graph->input_count && status == COLLAGE_OK; k++)
        status = read_tensor(c, "input", k, &inputs[k], error);
    struct oracle *oracle = NULL;
    if (status == COLLAGE_OK)
        status = oracle_create(graph, inputs, NULL, NULL, &oracle, error);
    if (status == COLLAGE_OK)
        status = check_outputs(c, graph, oracle, error);
    oracle_destroy(oracle);
    for (uint32_t k = 0; k < graph->input_count && inputs; k++)
        memory_free_aligned(inputs[k].data);
    memory_free(inputs);
    return status;
}

static collage_status run_case(const struct node_case *c, struct error *error)
{
    char path[1024];
    struct graph *graph = NULL;
    snprintf(path, sizeof path, "%s/%s/model.onnx", c->folder, c->name);
    collage_status status = onnx_import(path, NULL, 0, &graph, error);
    if (status == COLLAGE_OK)
        status = run_graph(c, graph, error);
    graph_destroy(graph);
    return status;
}

static void judge(struct node_case *c, struct tally *tally)
{
    const char *op = first_unknown(c->ops, known_op), *type = first_unknown(c->types, known_type);
    if (op || type) {
        printf("skipped %s: %s %s is not supported\n", c->name, op ? "operator" : "type",
               op ? op : type);
        tally->skipped++;
        return;
    }
    struct error error = { 0 };
    bool passed = run_case(c, &error) == COLLAGE_OK;
    size_t gap = find_gap(c->name);
    if (gap < GAP_COUNT && !passed) {
        printf("skipped %s: %s (%s)\n", c->name, gaps[gap].reason, error.text);
        tally->gap_used[gap] = true;
        tally->skipped++;
    } else if (passed) {
        tally->passed++;
    } else {
        printf("FAILED  %s: %s\n", c->name, error.text);
        tally->failed++;
    }
}

/* ---- the list ---- */

static bool parse_line(char *line, struct node_case *c)
{
    char *rest = NULL;
    c->name = strtok_r(line, "\t\n", &rest);
    c->ops = strtok_r(NULL, "\t\n", &rest);
    c->types = strtok_r(NULL, "\t\n", &rest);
    char *relative = strtok_r(NULL, "\t\n", &rest), *absolute = strtok_r(NULL, "\t\n", &rest);
    if (!absolute)
        return false;
    c->relative = strtod(relative, NULL);
    c->absolute = strtod(absolute, NULL);
    return true;
}

static bool run_list(const char *folder, const char *only, struct tally *tally)
{
    char path[1024], line[4096];
    snprintf(path, sizeof path, "%s/cases.tsv", folder);
    FILE *list = fopen(path, "r");
    if (!list)
        return false;
    while (fgets(line, sizeof line, list)) {
        struct node_case c = { .folder = folder };
        if (!parse_line(line, &c)) {
            fclose(list);
            return false;
        }
        if (!only || strcmp(only, c.name) == 0)
            judge(&c, tally);
    }
    fclose(list);
    return true;
}

int main(int argc, char **argv)
{
    struct tally tally = { 0 };
    const char *only = argc > 2 ? argv[2] : NULL;
    if (argc < 2 || !run_list(argv[1], only, &tally)) {
        fprintf(stderr, "usage: conform_node DIR [NAME], DIR as generate.py writes it\n");
        return 2;
    }
    printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed, tally.skipped);
    if (only)
        return tally.failed ? 1 : 0;
    for (size_t k = 0; k < GAP_COUNT; k++)
        if (!tally.gap_used[k]) {
            printf("FAILED  no case fails for the known gap '%s' any more\n", gaps[k].name);
            tally.failed++;
        }
    if (tally.passed < LEAST_PASSED)
        printf("FAILED  at least %d should pass\n", LEAST_PASSED);
    return tally.failed || tally.passed < LEAST_PASSED ? 1 : 0;
}
