/* SPDX-License-Identifier: Apache-2.0 */
/*
 * networks.c: the reference run of whole networks, against the figures of ONNX Runtime in
 * expected.tsv (shape, mean, mean of absolute values, extremes, first four values of each output).
 *
 *     conform_networks NETWORKS WORK NAME...
 *
 * WORK is where the weights go: WORK/NAME.weights beside a copy of the model.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
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

static bool check_graph(const char *networks, const char *network, const struct graph *graph,
                        struct error *error)
{
    struct oracle *oracle;
    uint64_t before = clock_ns();
    if (oracle_create(graph, NULL, NULL, NULL, &oracle, error) != COLLAGE_OK)
        return false;
    printf("%s: reference run in %.2f s\n", network, (double)(clock_ns() - before) * 1e-9);
    bool ok = true;
    for (uint32_t k = 0; k < graph->output_count; k++) {
        struct tensor tensor = oracle_value(oracle, graph->outputs[k]);
        ok = check_output(networks, network, graph->values[graph->outputs[k]].name, &tensor) && ok;
    }
    oracle_destroy(oracle);
    return ok;
}

static bool check_network(const char *networks, const char *work, const char *network)
{
    struct error error = { 0 };
    struct graph *graph = NULL;
    char path[1024];
    uint64_t bytes;
    snprintf(path, sizeof path, "%s/%s.onnx", networks, network);
    collage_status status = onnx_weights_fill(path, work, &bytes, &error);
    snprintf(path, sizeof path, "%s/%s.onnx", work, network);
    if (status == COLLAGE_OK)
        status = onnx_import(path, NULL, 0, &graph, &error);
    bool ok = status == COLLAGE_OK && check_graph(networks, network, graph, &error);
    if (error.status != COLLAGE_OK)
        printf("FAILED  %s: %s\n", network, error.text);
    graph_destroy(graph);
    return ok;
}

int main(int argc, char **argv)
{
    int failed = argc < 4;
    struct error error = { 0 };
    if (argc > 2 && file_make_directory(argv[2], &error) != COLLAGE_OK)
        failed++;
    for (int k = 3; k < argc; k++)
        failed += !check_network(argv[1], argv[2], argv[k]);
    return failed ? 1 : 0;
}
