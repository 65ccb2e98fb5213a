/* SPDX-License-Identifier: Apache-2.0 */
#include "node_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "onnx/onnx.h"
#include "tensor/npy.h"

/* ---- what is left out ---- */

/* Beginnings of names. */
static const struct {
    const char *begins, *reason;
} excluded[] = {
    { "ai.onnx.ml.", "ai.onnx.ml" },
    { "ai.onnx.preview.", "preview" },
    { "Bernoulli", "random" },
    { "ConcatFromSequence", "sequences" },
    { "ImageDecoder", "images" },
    { "Multinomial", "random" },
    { "Optional", "optionals" },
    { "Random", "random" },
    { "RegexFullMatch", "strings" },
    { "Sequence", "sequences" },
    { "SplitToSequence", "sequences" },
    { "String", "strings" },
    { "float4", "a type of less than 8 bits" },
    { "float6", "a type of less than 8 bits" },
    { "float8", "float8" },
    { "int2", "a type of less than 8 bits" },
    { "int4", "a type of less than 8 bits" },
    { "optional_type", "optionals" },
    { "sequence_type", "sequences" },
    { "string", "strings" },
    { "uint2", "a type of less than 8 bits" },
    { "uint4", "a type of less than 8 bits" },
};

static const char *find_exclusion(const char *name)
{
    for (size_t k = 0; k < sizeof excluded / sizeof *excluded; k++)
        if (strncmp(name, excluded[k].begins, strlen(excluded[k].begins)) == 0)
            return excluded[k].reason;
    return NULL;
}

static bool known_type(const char *name)
{
    return dtype_parse(name) != COLLAGE_UNDEFINED;
}

/* Looks through a comma-separated list. An exclusion is worth more than a gap. */
static void judge_list(const char *list, const char *what, bool (*known)(const char *),
                       char *reason, size_t size)
{
    char copy[4096], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", list);
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        const char *why = find_exclusion(name);
        if (why)
            snprintf(reason, size, "%s (%s)", why, name);
        else if (!known(name) && !reason[0])
            snprintf(reason, size, "not supported: %s %s", what, name);
        if (why)
            return;
    }
}

void node_case_excluded(const struct node_case *c, char *reason, size_t size)
{
    char by_type[128] = "";
    reason[0] = '\0';
    judge_list(c->ops, "operator", onnx_knows_operator, reason, size);
    judge_list(c->types, "type", known_type, by_type, sizeof by_type);
    if (by_type[0] && (!reason[0] || strncmp(reason, "not supported", 13) == 0))
        snprintf(reason, size, "%s", by_type);
}

/* ---- running ---- */

static collage_status read_tensor(const struct node_case *c, const char *kind, uint32_t index,
                                  struct tensor *tensor, struct error *error)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/%s_%u.npy", c->folder, c->name, kind, index);
    return npy_read(path, tensor, error);
}

collage_status node_case_compute(const struct node_case *c, const struct graph *graph,
                                 struct oracle **oracle, struct error *error)
{
    *oracle = NULL;
    struct tensor *inputs = memory_alloc(graph->input_count * sizeof *inputs);
    collage_status status = inputs ? COLLAGE_OK : error_memory(error);
    for (uint32_t k = 0; k < graph->input_count && status == COLLAGE_OK; k++)
        status = read_tensor(c, "input", k, &inputs[k], error);
    if (status == COLLAGE_OK)
        status = oracle_create(graph, inputs, NULL, NULL, oracle, error);
    for (uint32_t k = 0; k < graph->input_count && inputs; k++)
        memory_free_aligned(inputs[k].data);
    memory_free(inputs);
    return status;
}

collage_status node_case_run(const struct node_case *c, struct graph **graph,
                             struct oracle **oracle, struct error *error)
{
    char path[1024];
    *graph = NULL;
    *oracle = NULL;
    snprintf(path, sizeof path, "%s/%s/model.onnx", c->folder, c->name);
    collage_status status = onnx_import(path, NULL, 0, graph, error);
    return status == COLLAGE_OK ? node_case_compute(c, *graph, oracle, error) : status;
}

/* ---- comparing ---- */

/* The expected values were computed in the output's type: they are rounded, and what should be 0 is
 * a rounding error of the size of the others. */
static double rounding(const struct tensor *expected)
{
    double largest = 0;
    for (int64_t i = 0; i < tensor_elements(expected); i++) {
        double value = fabs(tensor_get(expected, i));
        largest = isfinite(value) ? fmax(largest, value) : largest;
    }
    switch (expected->dtype) {
    case COLLAGE_BFLOAT16:
        return 0x1p-7 * largest;
    case COLLAGE_FLOAT16:
        return 0x1p-10 * largest;
    case COLLAGE_FLOAT32:
        return 0x1p-20 * largest;
    default:
        return 0;
    }
}

static bool close_enough(double actual, double expected, double allowed, const struct node_case *c)
{
    if (isnan(expected) || isnan(actual))
        return isnan(expected) && isnan(actual);
    if (isinf(expected) || isinf(actual))
        return expected == actual;
    return fabs(actual - expected) <= allowed + c->absolute + c->relative * fabs(expected);
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
    double allowed = real ? rounding(expected) : 0;
    for (int64_t i = 0; i < count; i++)
        if (real ? !close_enough(tensor_get(actual, i), tensor_get(expected, i), allowed, c)
                 : tensor_get_int(actual, i) != tensor_get_int(expected, i))
            return error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                             "output %u, element %lld is %.9g, expected %.9g", index, (long long)i,
                             tensor_get(actual, i), tensor_get(expected, i));
    return COLLAGE_OK;
}

collage_status node_case_check(const struct node_case *c, const struct graph *graph,
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

bool node_case_each(const char *folder, const char *only,
                    void (*each)(const struct node_case *c, void *user), void *user)
{
    char path[1024], line[4096];
    snprintf(path, sizeof path, "%s/cases.tsv", folder);
    FILE *list = fopen(path, "r");
    bool fine = list != NULL;
    while (fine && fgets(line, sizeof line, list)) {
        struct node_case c = { .folder = folder };
        fine = parse_line(line, &c);
        if (fine && (!only || strcmp(only, c.name) == 0))
            each(&c, user);
    }
    if (list)
        fclose(list);
    return fine;
}
