/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "graph/graph.h"

/* "12" or "#12"; GRAPH_NONE if it is no number of a node. */
static node_id parse_number(const struct graph *graph, const char *text)
{
    size_t number = 0;
    if (*text == '#')
        text++;
    if (!*text)
        return GRAPH_NONE;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return GRAPH_NONE;
        number = 10 * number + (size_t)(*text - '0');
        if (number >= graph->node_count)
            return GRAPH_NONE;
    }
    return (node_id)number;
}

/* The first node of that name, and how many there are. */
static node_id find_name(const struct graph *graph, const char *text, size_t *count)
{
    node_id found = GRAPH_NONE;
    *count = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        if (!graph->nodes[n].op || strcmp(graph->nodes[n].base.name, text) != 0)
            continue;
        if (*count == 0)
            found = (node_id)n;
        ++*count;
    }
    return found;
}

collage_status graph_find_node(const struct graph *graph, const char *text, node_id *out,
                               struct error *error)
{
    size_t count = 0;
    *out = text[0] ? find_name(graph, text, &count) : GRAPH_NONE;
    if (count > 1)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "%zu nodes are called '%s', the first is #%u: give a number, or a result",
                         count, text, *out);
    if (*out != GRAPH_NONE)
        return COLLAGE_OK;
    value_id value = text[0] == '%' ? graph_find_value(graph, text + 1) : GRAPH_NONE;
    if (value == GRAPH_NONE)
        value = graph_find_value(graph, text);
    if (value != GRAPH_NONE && graph->values[value].kind == VALUE_COMPUTED)
        *out = graph->values[value].producer;
    if (*out == GRAPH_NONE)
        *out = parse_number(graph, text);
    if (*out != GRAPH_NONE)
        return COLLAGE_OK;
    if (value != GRAPH_NONE)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "'%s' is %s: no node makes it", text,
                         graph->values[value].kind == VALUE_INPUT ? "an input of the model"
                                                                  : "a constant");
    return error_set(error, COLLAGE_ERROR_ARGUMENT,
                     "there is no node '%s' among the %zu; `collage inspect MODEL --text` prints "
                     "them",
                     text, graph->node_count);
}
