/* SPDX-License-Identifier: Apache-2.0 */
/*
 * networks.c: the reference run of a whole network, simplified, against the figures of ONNX Runtime
 * in expected.tsv (shape, mean, mean of absolute values, extremes, first four values of each
 * output). With `both`, the network as it was imported runs too, and both runs must agree.
 *
 *     conform_networks NETWORKS WORK NAME [both]
 *
 * WORK is where the weights go while it runs: WORK/NAME.weights beside a copy of the model.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "canon/canon.h"
#include "graph/verify.h"
#include "onnx/onnx.h"
#include "reference/oracle.h"

/* Relative to the largest magnitude of the output. */
static const double tolerance = 2e-5;

enum { COLUMNS = 11, FIRST_NUMBER = 3, NUMBERS = 8 };

static bool find_row(const char *networks, const char *network, const char *output, char *line,
                     size_t size, char *columns[COLUMNS])
{
    char path[1024];
    snprintf(path, sizeof path, "%s/expected.tsv", networks);
    FILE *table = fopen(path, "r");
    bool found = false;
    while (table && !found && fgets(line, (int)size, table)) {
        char *rest = NULL;
        int count = 0;
        for (char *cell = strtok_r(line, "\t\n ", &rest); cell && count < COLUMNS;
             cell = strtok_r(NULL, "\t\n ", &rest))
            columns[count++] = cell;
        found =
            count == COLUMNS && strcmp(columns[0], network) == 0 && strcmp(columns[1], output) == 0;
    }
    if (table)
        fclose(table);
    return found;
}

static void measure(const struct tensor *tensor, double numbers[NUMBERS])
{
    int64_t count = tensor_elements(tensor);
    double sum = 0, absolute = 0, least = (double)INFINITY, most = (double)-INFINITY;
    for (int64_t i = 0; i < count; i++) {
        double x = tensor_get(tensor, i);
        sum += x;
        absolute += fabs(x);
        least = fmin(least, x);
        most = fmax(most, x);
        if (i < 4)
            numbers[4 + i] = x;
    }
    numbers[0] = sum / (double)count;
    numbers[1] = absolute / (double)count;
    numbers[2] = least;
    numbers[3] = most;
}

static bool check_output(const char *networks, const char *network, const char *output,
                         const struct tensor *tensor)
{
    char line[1024], *columns[COLUMNS], dims[160];
    double numbers[NUMBERS] = { 0 };
    if (!find_row(networks, network, output, line, sizeof line, columns)) {
        printf("FAILED  %s: expected.tsv has no row for '%s'\n", network, output);
        return false;
    }
    dims_print(tensor->dims, tensor->rank, dims, sizeof dims);
    if (strcmp(dims, columns[2]) != 0) {
        printf("FAILED  %s: '%s' is %s, expected %s\n", network, output, dims, columns[2]);
        return false;
    }
    measure(tensor, numbers);
    double scale = fmax(fabs(numbers[2]), fabs(numbers[3]));
    for (int k = 0; k < NUMBERS; k++) {
        double expected = strtod(columns[FIRST_NUMBER + k], NULL);
        if (!(fabs(numbers[k] - expected) <= tolerance * scale)) {
            printf("FAILED  %s: figure %d of '%s' is %.9g, expected %.9g\n", network, k + 1, output,
                   numbers[k], expected);
            return false;
        }
    }
    return true;
}

static bool check_outputs(const char *networks, const char *network, const struct graph *graph,
                          const struct oracle *oracle)
{
    bool ok = true;
    for (uint32_t k = 0; k < graph->output_count; k++) {
        struct tensor tensor = oracle_value(oracle, graph->outputs[k]);
        ok = check_output(networks, network, graph->values[graph->outputs[k]].name, &tensor) && ok;
    }
    return ok;
}

/* The outputs of two runs, of which `plain` is of the graph as it was imported. */
static bool check_agreement(const char *network, const struct graph *plain_graph,
                            const struct oracle *plain, const struct graph *graph,
                            const struct oracle *oracle)
{
    bool ok = plain_graph->output_count == graph->output_count;
    for (uint32_t k = 0; k < graph->output_count && ok; k++) {
        struct tensor a = oracle_value(oracle, graph->outputs[k]);
        struct tensor b = oracle_value(plain, plain_graph->outputs[k]);
        ok = a.dtype == b.dtype && tensor_same_shape(&a, &b) &&
             tensor_compare(&a, &b).error <= tolerance;
    }
    if (!ok)
        printf("FAILED  %s: simplification changes the outputs\n", network);
    return ok;
}

/* Nodes of which all inputs are constants: none should be left. */
static size_t count_foldable(const struct graph *graph)
{
    size_t count = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const collage_node *node = &graph->nodes[n].base;
        bool constant = true;
        for (uint32_t k = 0; k < node->input_count; k++)
            constant = constant &&
                       (node->inputs[k] == GRAPH_NONE || graph_is_constant(graph, node->inputs[k]));
        count += constant;
    }
    return count;
}

static collage_status run(const struct graph *graph, const char *network, const char *what,
                          struct oracle **oracle, struct error *error)
{
    uint64_t before = clock_ns();
    collage_status status = oracle_create(graph, NULL, NULL, NULL, oracle, error);
    printf("%s: %s, %zu nodes, reference run in %.2f s\n", network, what, graph->node_count,
           (double)(clock_ns() - before) * 1e-9);
    return status;
}

static bool check_simplified(const char *networks, const char *network, struct graph *graph,
                             const struct graph *plain_graph, const struct oracle *plain,
                             struct error *error)
{
    struct oracle *oracle = NULL;
    if (canon_run(graph, error) != COLLAGE_OK || graph_verify(graph, error) != COLLAGE_OK ||
        run(graph, network, "simplified", &oracle, error) != COLLAGE_OK)
        return false;
    bool ok = check_outputs(networks, network, graph, oracle);
    if (plain)
        ok = check_agreement(network, plain_graph, plain, graph, oracle) && ok;
    size_t foldable = count_foldable(graph);
    if (foldable > 0)
        printf("FAILED  %s: %zu nodes of constants are left\n", network, foldable);
    oracle_destroy(oracle);
    return ok && foldable == 0;
}

static bool check_model(const char *networks, const char *network, const char *path, bool both,
                        struct error *error)
{
    struct graph *graph = NULL, *plain_graph = NULL;
    struct oracle *plain = NULL;
    collage_status status = onnx_import(path, NULL, 0, &graph, error);
    if (status == COLLAGE_OK && both)
        status = onnx_import(path, NULL, 0, &plain_graph, error);
    if (status == COLLAGE_OK && both)
        status = run(plain_graph, network, "as imported", &plain, error);
    bool ok =
        status == COLLAGE_OK && (!both || check_outputs(networks, network, plain_graph, plain));
    ok = ok && check_simplified(networks, network, graph, plain_graph, plain, error);
    oracle_destroy(plain);
    graph_destroy(plain_graph);
    graph_destroy(graph);
    return ok;
}

static bool check_network(const char *networks, const char *work, const char *network, bool both)
{
    struct error error = { 0 };
    char path[1024];
    uint64_t bytes;
    snprintf(path, sizeof path, "%s/%s.onnx", networks, network);
    collage_status status = file_make_directory(work, &error);
    if (status == COLLAGE_OK)
        status = onnx_weights_fill(path, work, &bytes, &error);
    snprintf(path, sizeof path, "%s/%s.onnx", work, network);
    bool ok = status == COLLAGE_OK && check_model(networks, network, path, both, &error);
    if (error.status != COLLAGE_OK)
        printf("FAILED  %s: %s\n", network, error.text);
    unlink(path);
    snprintf(path, sizeof path, "%s/%s.weights", work, network);
    unlink(path);
    return ok;
}

int main(int argc, char **argv)
{
    bool both = argc == 5 && strcmp(argv[4], "both") == 0;
    if (argc != 4 && !both)
        return 2;
    return check_network(argv[1], argv[2], argv[3], both) ? 0 : 1;
}
