/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/example_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static bool parse_int(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

/* The model's property for an input: "float", or "int V": ids below V. */
static collage_status read_limit(const struct graph *graph, const char *input, int64_t *limit,
                                 struct error *error)
{
    struct text key = { 0 };
    *limit = 0;
    text_format(&key, "collage.input.%s", input);
    if (key.failed)
        return error_memory(error);
    const char *rule = graph_property(graph, key.bytes);
    text_free(&key);
    if (!rule || strcmp(rule, "float") == 0)
        return COLLAGE_OK;
    if (strncmp(rule, "int ", 4) == 0 && parse_int(rule + 4, limit) && *limit > 0)
        return COLLAGE_OK;
    return error_set(error, COLLAGE_ERROR_FORMAT,
                     "the model's property collage.input.%s is '%.40s'; it must be 'float' or "
                     "'int V'",
                     input, rule);
}

collage_status example_input(const struct graph *graph, uint32_t index, struct tensor *tensor,
                             struct error *error)
{
    if (index >= graph->input_count)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "the model has no input %" PRIu32, index);
    const struct value *value = &graph->values[graph->inputs[index]];
    const char *seed_text = graph_property(graph, "collage.weights.seed");
    int64_t seed = 0, limit;
    if (seed_text && !parse_int(seed_text, &seed))
        return error_set(error, COLLAGE_ERROR_FORMAT,
                         "the model's property collage.weights.seed is '%.40s', not an integer",
                         seed_text);
    collage_status status = read_limit(graph, value->name, &limit, error);
    if (status != COLLAGE_OK)
        return status;
    void *data = tensor->data;
    *tensor = value->tensor;
    tensor->data = data;
    tensor_fill_example(tensor, (uint64_t)seed - 1 - index, limit);
    return COLLAGE_OK;
}
