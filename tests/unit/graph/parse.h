/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h: graphs for the tests of this folder, written as text. */
#ifndef COLLAGE_TESTS_GRAPH_PARSE_H
#define COLLAGE_TESTS_GRAPH_PARSE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "graph/graph_text.h"

static inline struct graph *parse(const char *text)
{
    struct graph *graph;
    struct error error = { 0 };
    if (graph_parse(text, &graph, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    return graph;
}

#endif
