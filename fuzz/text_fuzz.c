/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry: any bytes as the text of a graph. What is accepted must print as something that
 * parses to the same. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "graph/graph_text.h"

int fuzz_text(const uint8_t *data, size_t size)
{
    struct graph *graph, *again;
    struct error error = { 0 };
    struct text printed = { 0 }, twice = { 0 };
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (graph_parse(text, &graph, &error) == COLLAGE_OK) {
        graph_print(graph, &printed);
        if (graph_parse(printed.bytes, &again, &error) != COLLAGE_OK)
            abort();
        graph_print(again, &twice);
        if (strcmp(printed.bytes, twice.bytes) != 0)
            abort();
        graph_destroy(again);
        graph_destroy(graph);
    }
    text_free(&printed);
    text_free(&twice);
    free(text);
    return 0;
}
